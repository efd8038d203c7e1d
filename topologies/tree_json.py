"""JSON as a tree with lines: `json` gives none."""

from __future__ import annotations

import json
import re

from pcn.topologies.tree_parts import ComposeError, Composer, ListOf, MappingOf, Scalar, Tree

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
    (?P<mark>[][{}:,])
    | (?P<text>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")
    | (?P<plain>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_VALUE, _KEY, _FIRST_KEY, _COLON, _AFTER, _FIRST_VALUE = (
    "a value",
    "a key",
    "a key or }",
    ":",
    "a comma",
    "a value or ]",
)


def compose(text: str) -> Tree | None:
    """Returns the tree of a JSON text; None of an empty one. Raises ComposeError."""
    composer, at, line, wanted = Composer(), 0, 1, _VALUE
    while True:
        match = _TOKEN.match(text, at)
        start = at if match is None else match.start(match.lastgroup or 0)
        line += text.count("\n", at, start)
        if match is None:
            line += text.count("\n", at, len(text) - len(text[at:].lstrip()))
            raise ComposeError(
                line,
                f"this is no JSON: {text[at : at + 80].strip()[:20]!r} where {wanted} is wanted",
            )
        at, token = match.end(), match[match.lastgroup or 0]
        if match["end"] is not None:
            if composer.open or (composer.root is None and text.strip()):
                raise ComposeError(line, f"this is no JSON: it ends where {wanted} is wanted")
            return composer.root
        wanted = _step(composer, match, token, wanted, line)
        line += token.count("\n")


def _step(composer: Composer, match: re.Match[str], token: str, wanted: str, line: int) -> str:
    """Adds a token; returns what may come next."""
    if not composer.open and composer.root is not None:
        raise ComposeError(line, f"this is no JSON: {token[:20]!r} behind its end")
    inner = composer.open[-1] if composer.open else None
    values = wanted in (_VALUE, _FIRST_VALUE)
    if match["text"] is not None and (values or wanted in (_KEY, _FIRST_KEY)):
        composer.add(Scalar(line, _unescaped(token, line), plain=False))
        return _COLON if composer.wants_value else _AFTER
    if match["plain"] is not None and values:
        composer.add(Scalar(line, token, plain=True))
        return _AFTER
    if values and token in ("[", "{"):
        composer.begin(ListOf(line, []) if token == "[" else MappingOf(line, []))
        return _FIRST_VALUE if token == "[" else _FIRST_KEY
    closes = "]" if isinstance(inner, ListOf) else "}"
    if inner is not None and token == closes and wanted in (_AFTER, _FIRST_VALUE, _FIRST_KEY):
        composer.end()
        return _AFTER
    if inner is not None and token == "," and wanted == _AFTER:
        return _VALUE if isinstance(inner, ListOf) else _KEY
    if token == ":" and wanted == _COLON:
        return _VALUE
    raise ComposeError(line, f"this is no JSON: {token[:20]!r} where {wanted} is wanted")


def _unescaped(token: str, line: int) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        text = str(json.loads(token))
        text.encode()  # "\ud800" is half of a character, which no file can be written with
        return text
    except ValueError as error:
        raise ComposeError(line, f"this is no JSON: {error}") from None
