"""Entries of a JSON object, each declared once: what is written, the check of a document and its
documentation are derived from the declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

_WORDS = {int: "integer", float: "number", str: "text", dict: "object", NoneType: "null"}


@dataclass(frozen=True)
class Column:
    """An entry: its name, its type, and its meaning with the unit.

    `type` is a Python type or union, Columns (an object), [TYPE] (a list) or {"*": TYPE} (an object
    by name). `read` takes the value from the object's source: a function, or the path of an
    attribute (default: the entry's name)."""

    name: str
    type: Any
    meaning: str
    read: Callable[[Any], Any] | str = ""

    def of(self, source: Any) -> Any:
        """Returns the entry's value, for `json.dumps`."""
        read = self.read if callable(self.read) else attrgetter(self.read or self.name)
        return _plain(self.type, read(source))


def declared(record: type, path: str = "") -> Iterator[Column]:
    """Yields an entry for each field of a class whose annotation has a meaning, as
    `Annotated[int, "packets lost"]`. `path`: of the record, an attribute of the object's source."""
    for name, hint in get_type_hints(record, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, meaning = get_args(hint)
            values = get_args(kind) if get_origin(kind) is tuple else ()
            yield Column(name, [values[0]] if values else kind, meaning, f"{path}{name}")


class Columns(list[Column]):
    """The entries of an object, in their order."""

    def of(self, source: Any) -> dict[str, Any]:
        """Returns the object of `source`, for `json.dumps`."""
        return {column.name: column.of(source) for column in self}

    def documented(self, path: str = "") -> Iterator[str]:
        """Yields a line of Markdown's table for each entry, those of nested objects below their
        own."""
        for column in self:
            kind, name = column.type, f"{path}{column.name}"
            yield f"| `{name}` | {_text(kind)} | {column.meaning} |"
            while not isinstance(kind, Columns) and isinstance(kind, list | dict):
                name += "[]" if isinstance(kind, list) else ".*"
                kind = kind[0] if isinstance(kind, list) else kind["*"]
            if isinstance(kind, Columns):
                yield from kind.documented(f"{name}.")


def _plain(kind: Any, value: Any) -> Any:
    if isinstance(kind, Columns):
        return kind.of(value)
    if isinstance(kind, list):
        return [_plain(kind[0], item) for item in value]
    return (
        {name: _plain(kind["*"], item) for name, item in value.items()}
        if isinstance(kind, dict)
        else value
    )


def _text(kind: Any) -> str:
    if isinstance(kind, Columns):
        return "object"
    if isinstance(kind, list):
        inner = _text(kind[0])
        return (
            "list of "
            f"{inner.replace('list', 'lists', 1) if inner.startswith('list') else f'{inner}s'}"
        )
    if isinstance(kind, dict):
        return f"{_text(kind['*'])} by name"
    return " or ".join(_WORDS[member] for member in get_args(kind) or (kind,))
