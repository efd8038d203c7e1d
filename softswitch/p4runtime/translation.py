"""Translation to strings: a type whose values are strings for clients and numbers in the data
plane.

Source: P4Runtime specification, "User-defined types" and "Translation of Port Numbers". It leaves
the mapping to the switch's configuration. Here, as p4testgen and sonic-pins have it:
`@p4runtime_translation_mappings({{"name", 0}, ...})` beside the type fixes some; a decimal numeral
stands for its number; any other string gets a separate number.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

from pcn.base.p4rt import p4i
from pcn.softswitch.p4runtime.errors import (
    INVALID_ARGUMENT,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
)

MAX_WIDTH = 4096  # bits
_MAPPINGS = "@p4runtime_translation_mappings"
_PAIR = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)"\s*,\s*(?:\d+w)?(0[xX][0-9a-fA-F]+|\d+)\s*\}')
_NUMERAL = re.compile(rb"0|[1-9][0-9]*")


class Strings:
    """The strings of one type of `width` bits, each with a number that it keeps and shares with no
    other. One that is neither fixed nor a numeral gets the largest number that is free."""

    def __init__(self, width: int, fixed: Iterable[tuple[bytes, int]] = ()) -> None:
        self._width = width
        self._lock = threading.Lock()  # packets and requests come in on several threads
        self._fixed = dict(fixed)
        self._numbers = dict(self._fixed)
        self._texts = {number: text for text, number in self._numbers.items()}
        self._free = (1 << width) - 1

    def __reduce__(self) -> tuple[type[Strings], tuple[int, tuple[tuple[bytes, int], ...]]]:
        """Returns what makes those of a schema that is kept: the fixed strings alone."""
        return Strings, (self._width, tuple(self._fixed.items()))

    def number(self, text: bytes, label: str, *, known: bool = False) -> int:
        """Returns the number of a string. Raises RpcError: NOT_FOUND if it has to be `known` and
        isn't, RESOURCE_EXHAUSTED."""
        with self._lock:
            if text in self._numbers:
                return self._numbers[text]
            number = (
                int(text) if _NUMERAL.fullmatch(text) and 3 * len(text) <= self._width + 3 else -1
            )
            if number < 0 or number >> self._width or number in self._texts:
                if known:
                    raise RpcError(
                        NOT_FOUND,
                        f"{label}: nothing is called {text.decode(errors='backslashreplace')!r}",
                    )
                number = self._unused(label)
            return self._keep(text, number)

    def text(self, number: int) -> bytes:
        """Returns the string of a number; its numeral, if no client gave it another."""
        with self._lock:
            text = self._texts.get(number)
            if text is None:
                text = str(number).encode()
                self._keep(text, number)
            return text

    def _unused(self, label: str) -> int:
        while self._free in self._texts:
            self._free -= 1
        if self._free < 0:
            raise RpcError(
                RESOURCE_EXHAUSTED,
                f"{label}: all {1 << self._width} values of its type have a string",
            )
        return self._free

    def _keep(self, text: bytes, number: int) -> int:
        self._numbers[text], self._texts[number] = number, text
        return number


class Translations:
    """The strings of all types of one p4info that are translated to them."""

    def __init__(self, info: p4i.P4Info) -> None:
        self._types = info.type_info.new_types
        self._strings: dict[tuple[str, int], Strings] = {}

    def is_string(self, type_name: str) -> bool:
        """Returns whether the type is translated to strings."""
        return type_name in self._types and self._types[type_name].translated_type.HasField(
            "sdn_string"
        )

    def strings(self, type_name: str, width: int, label: str) -> Strings | None:
        """Returns those of a type of `width` bits; None if it has none. Raises RpcError."""
        if not self.is_string(type_name):
            return None
        if width > MAX_WIDTH:
            raise RpcError(
                UNIMPLEMENTED,
                f"{label}: {width} bits are translated to a string; {MAX_WIDTH} may be",
            )
        if (type_name, width) not in self._strings:
            pairs = _fixed(self._types[type_name].annotations, width, f"type {type_name}")
            self._strings[type_name, width] = Strings(width, pairs)
        return self._strings[type_name, width]


def _fixed(annotations: Iterable[str], width: int, label: str) -> list[tuple[bytes, int]]:
    """Returns what a type's annotations fix. Raises RpcError INVALID_ARGUMENT if that isn't one to
    one within `width` bits."""
    pairs = [
        (re.sub(r"\\(.)", r"\1", text).encode(), _parsed(number))
        for annotation in annotations
        if annotation.startswith(_MAPPINGS)
        for text, number in _PAIR.findall(annotation)
    ]
    if len(dict(pairs)) < len(pairs) or len({number for _, number in pairs}) < len(pairs):
        raise RpcError(INVALID_ARGUMENT, f"{label}: {_MAPPINGS} gives a string or a number twice")
    for _, number in pairs:
        if number >> width:
            shown = number if number < 1 << 64 else "a number"
            raise RpcError(
                INVALID_ARGUMENT, f"{label}: {_MAPPINGS}: {shown} does not fit into {width} bits"
            )
    return pairs


def _parsed(number: str) -> int:
    """Returns a number of an annotation; one that fits nowhere, where it has more digits than
    Python reads."""
    if len(number) > MAX_WIDTH:
        return 1 << MAX_WIDTH
    return int(number, 16 if number[:2] in ("0x", "0X") else 10)
