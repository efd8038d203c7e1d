"""Table entries by the program's names, read for its switches in this process without P4Runtime's
messages between: a message costs ten times what its numbers do, to make and to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pcn.base import p4values
from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.actions import Call, to_words
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.insertions import Insertion, insertion
from pcn.softswitch.p4runtime.matches import Key, pack
from pcn.softswitch.p4runtime.references import SET, Reference
from pcn.softswitch.p4runtime.schema import Action, Kind, Match, Profile, Schema, Table


class PlainEntry(Protocol):
    """What is read of a controller's entry."""

    @property
    def table_id(self) -> str:
        """The table's name."""

    @property
    def match(self) -> Mapping[str, Any] | None:
        """By the key fields' names."""

    @property
    def action(self) -> Any:
        """With `name` and `args`, or what stands for an action."""

    @property
    def plain(self) -> bool:
        """Whether it has a match and an action alone."""

    def encode_entry(self, schema: Any, message: p4r.TableEntry) -> None:
        """Writes it into a message. Raises ValueError."""


class _Field(NamedTuple):
    width: int
    size: int
    lpm: bool


class _ActionReader(NamedTuple):
    """`params`: the place and the width of each, by name. `wide`: one has several words."""

    action: Action
    params: Mapping[str, tuple[int, int]]
    wide: bool


class _SetReader(NamedTuple):
    """Of a table with an action profile."""

    table: Table
    profile: Profile


class _TableReader(NamedTuple):
    """`fields`: in the key's order; `places`: by name and by alias."""

    table: Table
    fields: tuple[_Field, ...]
    places: Mapping[str, int]
    actions: Mapping[str, _ActionReader]


class EntryReader:
    """Reads the entries that programs are mostly filled with: of exact and LPM tables, with an
    action or a one-shot set of them, and nothing beside it. `read` returns None for all others,
    wrong ones too: P4Runtime's messages are for them, with an error that names the fault."""

    def __init__(self, names: Any, schema: Schema) -> None:
        self._names = names
        self._schema = schema
        self._tables: dict[str, _TableReader | _SetReader | None] = {}

    def read(self, entry: PlainEntry) -> Insertion | None:
        """Returns what an INSERT of the entry is to any switch of the program."""
        name, call = entry.table_id, entry.action
        reader = self._tables[name] if name in self._tables else self._new_reader(name)
        if reader is None or not entry.plain:
            return None
        if isinstance(reader, _SetReader):
            return self._read_set(reader, entry)
        args: Mapping[str, Any] | None = getattr(call, "args", None)
        action = reader.actions.get(call.name) if args is not None else None
        if args is None or action is None or args.keys() != action.params.keys():
            return None
        try:
            key = _key(reader, entry.match or {})
            words = [0] * len(action.params)
            for param, argument in args.items():
                place, width = action.params[param]
                words[place] = _exact(argument, width)
        except (ValueError, KeyError, TypeError):
            return None
        if action.wide:
            words = [
                word
                for param, number in zip(action.action.params, words, strict=True)
                for word in to_words(number, param.words)
            ]
        return insertion(reader.table, key, Call(action.action, tuple(words)))

    def _read_set(self, reader: _SetReader, entry: PlainEntry) -> Insertion | None:
        """Reads the entry by a message, once for all switches."""
        try:
            message = p4r.TableEntry()
            entry.encode_entry(self._names, message)
            reference = Reference.parse(reader.profile, message.action)
            key = pack(reader.table, message.match, message.priority)
        except (ValueError, RpcError):
            return None
        return insertion(reader.table, key, reference) if reference.kind == SET else None

    def _new_reader(self, name: str) -> _TableReader | _SetReader | None:
        names = self._names.tables.get(name)
        table = None if names is None else self._schema.tables.get(names.id)
        reader: _TableReader | _SetReader | None = None
        if (
            names is not None
            and table is not None
            and table.fields
            and table.kind is not Kind.MASKED
            and not table.const
            and all(field.strings is None for field in table.fields)
        ):
            reader = (
                _SetReader(table, self._schema.profile(table.profile))
                if table.profile
                else _table_reader(names, table)
            )
        self._tables[name] = reader
        return reader


def _table_reader(names: Any, table: Table) -> _TableReader:
    places = {field.id: place for place, field in enumerate(table.fields)}
    return _TableReader(
        table,
        tuple(_Field(field.width, field.size, field.match is Match.LPM) for field in table.fields),
        {
            name: places[field.id]
            for field in names.match_fields
            for name in (field.name, field.alias)
        },
        {
            name: reader
            for reference in names.actions
            if (reader := _action_reader(reference, table)) is not None
            for name in (reference.name, reference.alias)
        },
    )


def _action_reader(names: Any, table: Table) -> _ActionReader | None:
    action = table.actions.get(names.id)
    if action is None or not action.in_table:
        return None
    if any(param.strings is not None for param in action.params):
        return None
    places = {param.id: (place, param.width) for place, param in enumerate(action.params)}
    wide = any(param.words != 1 for param in action.params)
    return _ActionReader(action, {param.name: places[param.id] for param in names.params}, wide)


def _key(reader: _TableReader, match: Mapping[str, Any]) -> Key:
    """Raises KeyError, or ValueError, for what isn't a key of the table."""
    lows: list[int | None] = [None] * len(reader.fields)
    prefix = 0
    for name, pattern in match.items():
        place = reader.places[name]
        if lows[place] is not None:
            raise ValueError(f"{name} is given twice")
        field = reader.fields[place]
        if field.lpm:
            lows[place], prefix = _lpm(pattern, field.width)
        else:
            lows[place] = _exact(pattern, field.width)
    key = b""
    for low, field in zip(lows, reader.fields, strict=True):
        key += (_low(field) if low is None else low).to_bytes(field.size, "big")
    return Key(key, None, prefix, 0)


def _lpm(pattern: Any, width: int) -> tuple[int, int]:
    """Raises ValueError."""
    if type(pattern) is tuple and len(pattern) == 2:
        low, prefix = pattern
        if (
            type(low) is int
            and type(prefix) is int
            and 0 <= prefix <= width
            and 0 <= low >> width < 1
        ):
            return low & p4values.mask_of(prefix, width), prefix
    start, prefix = p4values.lpm(pattern, width)
    return int.from_bytes(start, "big"), prefix


def _low(field: _Field) -> int:
    """Returns what a field has that an entry leaves out. Raises ValueError."""
    if not field.lpm:
        raise ValueError("an exact field is missing")
    return 0


def _exact(number: Any, width: int) -> int:
    """Raises ValueError."""
    if type(number) is int and 0 <= number < 1 << width:
        return number
    return p4values.integer(number, width)
