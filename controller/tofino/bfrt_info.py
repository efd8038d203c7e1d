"""What a BF-RT description (bf-rt.json) names: tables, and the ids and widths of their fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pcn.controller.errors import SwitchError

_BYTES = {"uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "uint64": 8}
_MOST_BITS = 1 << 16
_MOST_BYTES = 16 << 20
"""Of a description."""
PRIORITY = "$MATCH_PRIORITY"
INDEXES = {"Counter": "$COUNTER_INDEX", "Register": "$REGISTER_INDEX"}
"""The key of a table that is an array, by the table's type."""
PACKETS, BYTES = "$COUNTER_SPEC_PKTS", "$COUNTER_SPEC_BYTES"


@dataclass(frozen=True)
class Field:
    """Of a key, or of data. `width`: bits; None for text, flags and lists of them."""

    id: int
    name: str
    kind: str
    width: int | None
    match: str = ""
    read_only: bool = False
    repeated: bool = False

    @property
    def bytes(self) -> int:
        return -(-(self.width or 0) // 8)


@dataclass(frozen=True)
class Table:
    """`data` is what entries have whatever their action; `actions`: ids and further data by
    name."""

    id: int
    name: str
    kind: str
    size: int
    keys: Mapping[str, Field]
    data: Mapping[str, Field]
    actions: Mapping[str, tuple[int, Mapping[str, Field]]] = field(default_factory=dict)

    def fields(self, action: str = "") -> Mapping[str, Field]:
        """Returns what an entry of this action holds, by name."""
        return {**self.data, **(self.actions[action][1] if action else {})}


class Info:
    """The tables of one or several descriptions, by name."""

    def __init__(self, switch: str, documents: Iterable[bytes]) -> None:
        """Raises SwitchError for what is no description."""
        self._switch = switch
        documents = list(documents)
        if (largest := max(map(len, documents), default=0)) > _MOST_BYTES:
            raise SwitchError(
                f"{switch}: a BF-RT description of {largest >> 20} MB: {_MOST_BYTES >> 20} MB are "
                "the most"
            )
        try:
            tables = [
                _table(table) for document in documents for table in json.loads(document)["tables"]
            ]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise SwitchError(
                f"{switch}: no BF-RT description: {type(error).__name__}: {error}"
            ) from None
        self.tables = {table.name: table for table in tables}
        self.by_id = {table.id: table for table in tables}

    def table(self, name: str) -> Table:
        """Returns the table whose name is `name`, or ends so: the description puts the pipeline's
        name in front. Raises SwitchError."""
        table = self.tables.get(name) or next(
            (table for whole, table in self.tables.items() if whole.endswith(f".{name}")), None
        )
        if table is None:
            raise SwitchError(
                f"{self._switch}: its BF-RT description has no table {name}: another program runs "
                "there"
            )
        return table


def _table(description: Mapping[str, Any]) -> Table:
    return Table(
        _whole(description["id"]),
        _text(description["name"]),
        _text(description["table_type"]),
        _whole(description.get("size", 0)),
        {key["name"]: _field(key) for key in description["key"]},
        _fields(description.get("data", ())),
        {
            _text(action["name"]): (_whole(action["id"]), _fields(action["data"]))
            for action in description.get("action_specs", ())
        },
    )


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise TypeError(f"{value!r} is no number of 32 bits")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _fields(descriptions: Iterable[dict[str, Any]]) -> dict[str, Field]:
    """Returns the fields by name; containers of fields, which nothing here uses, have no type."""
    singles = (description | description.get("singleton", {}) for description in descriptions)
    fields = (_field(single) for single in singles if "type" in single)
    return {field.name: field for field in fields}


def _field(description: Mapping[str, Any]) -> Field:
    kind = _text(description["type"]["type"])
    width = (
        _width(description["type"]["width"])
        if kind == "bytes"
        else 8 * _BYTES[kind]
        if kind in _BYTES
        else None
    )
    return Field(
        _whole(description["id"]),
        _text(description["name"]),
        kind,
        width,
        _text(description.get("match_type", "")),
        bool(description.get("read_only")),
        bool(description.get("repeated")),
    )


def _width(value: Any) -> int:
    if not 0 < _whole(value) <= _MOST_BITS:
        raise ValueError(f"a field of {value} bits")
    return _whole(value)
