"""C text from a program's strings: the only way in which they reach a source file."""

from __future__ import annotations


def identifier(prefix: str, index: int, name: str) -> str:
    """Returns a C identifier: unique by prefix and index, readable by the rest of the name."""
    readable = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:40].strip("_")
    return f"{prefix}{index}_{readable}" if readable else f"{prefix}{index}"


def string_literal(text: str) -> str:
    """Returns a C string literal of the UTF-8 text. Everything but letters, digits, space and a few
    marks is in octal, so neither quotes, backslashes, trigraphs nor line ends can end it."""
    plain = frozenset(b" _-.,:;()[]<>=+*/!&|^~#@")
    parts = [
        chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in plain else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "replace")
    ]
    return '"' + "".join(parts) + '"'


def comment(text: str) -> str:
    """Returns the text that cannot end the comment it stands in, nor its line."""
    return "".join(
        c if c.isascii() and (c.isalnum() or c in " _-.:()[]<>=+!&|^/") else "_" for c in text
    )[:100]
