"""A cursor over untrusted JSON: every access checks type and range, and every error names the
place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from pcn.softswitch.program import limits
from pcn.softswitch.program.errors import ProgramError, Source, UnsupportedProgram

ROOT = "program"  # the place of what stands in no other
_TYPES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
}


def _kind(value: object) -> str:
    return "null" if value is None else _TYPES[type(value)]


class Place:
    """A value inside the JSON, the path to it, and the nearest P4 source position at or above
    it."""

    __slots__ = ("path", "source", "value")

    def __init__(self, value: Any, path: str, source: Source | None = None) -> None:
        self.value = value
        self.path = path
        self.source = source
        if isinstance(value, dict):
            info = value.get("source_info")
            if isinstance(info, dict):
                file, line, text = (
                    info.get("filename"),
                    info.get("line"),
                    info.get("source_fragment", ""),
                )
                if isinstance(file, str) and isinstance(line, int):
                    self.source = Source(
                        _clean(file), line, _clean(text) if isinstance(text, str) else ""
                    )

    def error(self, message: str) -> ProgramError:
        """Returns the error of malformed JSON, which names this place."""
        return ProgramError(message, self.path or ROOT, self.source)

    def unsupported(self, message: str) -> UnsupportedProgram:
        """Returns the error of a program beyond what the switch runs, which names this place."""
        return UnsupportedProgram(message, self.path or ROOT, self.source)

    def is_null(self) -> bool:
        return self.value is None

    def object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error(f"expected an object, found {_kind(self.value)}")
        return self.value

    def has(self, key: str) -> bool:
        """Returns whether `key` is there and is not null."""
        return self.object().get(key) is not None

    def at(self, key: str) -> Place:
        """Returns the member `key` of an object; it must be there."""
        members = self.object()
        if key not in members:
            raise self.error(f"{key!r} is missing")
        return Place(members[key], f"{self.path}.{key}" if self.path else key, self.source)

    def maybe(self, key: str) -> Place | None:
        """Returns the member `key`, or None if it is missing or null."""
        return self.at(key) if self.has(key) else None

    def most(self, count: int, limit: int, noun: str) -> None:
        """Refuses the program where `count` is more than the switch takes of `noun`."""
        if count > limit:
            raise self.unsupported(f"{count:,} {noun}, and the switch takes {limit:,} at most")

    def items(self, length: int | None = None) -> list[Place]:
        """Returns the elements of an array, of a given length if one is given."""
        if not isinstance(self.value, list):
            raise self.error(f"expected an array, found {_kind(self.value)}")
        if length is not None and len(self.value) != length:
            raise self.error(f"expected {length} elements, found {len(self.value)}")
        return [Place(item, f"{self.path}[{i}]", self.source) for i, item in enumerate(self.value)]

    def elements(self, key: str, most: int | None = None) -> Iterator[Place]:
        """Yields the elements of the array under `key`, of which there are `most` at most; none if
        it is missing."""
        place = self.maybe(key)
        items = place.items() if place else []
        if place and most is not None:
            place.most(len(items), most, key.replace("_", " "))
        return iter(items)

    def string(self) -> str:
        if not isinstance(self.value, str):
            raise self.error(f"expected a string, found {_kind(self.value)}")
        return self.value

    def name(self) -> str:
        """Returns a string that names something: not empty, printable, of bounded length."""
        text = self.string()
        if not text or len(text) > limits.NAME or not text.isprintable():
            raise self.error(f"expected a name: 1 to {limits.NAME:,} printable characters")
        return text

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.error(f"expected a boolean, found {_kind(self.value)}")
        return self.value

    def flag(self) -> bool:
        """Returns a boolean that p4c may write as 0 or 1."""
        return bool(self.integer(0, 1)) if type(self.value) is int else self.boolean()

    def integer(self, low: int, high: int) -> int:
        """Returns an integer in [low, high]."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.error(f"expected an integer, found {_kind(self.value)}")
        if not low <= self.value <= high:
            raise self.error(f"{self.value} is outside [{low}, {high}]")
        return self.value

    def hexadecimal(self, max_bits: int = 4096) -> int:
        """Returns a BMv2 hexstr: hexadecimal digits, optionally with 0x and, before that, a minus
        sign."""
        text = self.string()
        digits = text.removeprefix("-").removeprefix("0x")
        if (
            not digits
            or len(digits) > max_bits // 4 + 1
            or any(c not in "0123456789abcdefABCDEF" for c in digits)
        ):
            raise self.error(f"expected a hexadecimal string of at most {max_bits} bits")
        value = int(digits, 16)
        return -value if text.startswith("-") else value


def parse(text: str) -> Place:
    """Returns the root of a JSON text; it must be an object."""
    if len(text) > limits.TEXT:
        raise ProgramError(
            f"the program has {len(text):,} characters, and the switch takes {limits.TEXT:,} at "
            "most"
        )
    try:
        value = json.loads(
            text,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
            object_pairs_hook=_unique,
        )
    except json.JSONDecodeError as error:
        raise ProgramError(
            f"not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from error
    except RecursionError as error:
        raise ProgramError("not a BMv2 program: nested too deeply") from error
    except ValueError as error:
        raise ProgramError(f"not JSON: {error}") from error
    root = Place(value, "")
    root.object()
    return root


def _refuse_number(text: str) -> NoReturn:
    raise ProgramError(f"not a BMv2 program: {text} is not an integer")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ProgramError("not a BMv2 program: an object has the same member twice")
    return result


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:200]
