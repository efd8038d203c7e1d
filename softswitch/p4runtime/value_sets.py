"""Parser value sets: what the parser's transitions compare with at run time.

Source: P4Runtime specification, "ValueSetEntry". Writes return what undoes them, for batches that
roll back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.native_state import NO_ACTION
from pcn.softswitch.p4runtime import matches
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
)
from pcn.softswitch.p4runtime.matches import Key
from pcn.softswitch.p4runtime.parts import Part
from pcn.softswitch.p4runtime.schema import Match, Schema, ValueSet

Undo = Callable[[], None]


class ValueSets:
    """All value sets of one pipeline: the members of each, in the client's order, with C's
    handles."""

    def __init__(self, schema: Schema, native: NativeSwitch) -> None:
        self._schema = schema
        self._native = native
        self._members: dict[int, dict[Key, int]] = {number: {} for number in schema.value_sets}

    def modify(self, message: p4r.ValueSetEntry) -> Undo:
        """Carries out MODIFY of a ValueSetEntry: its members replace those that are there."""
        value_set = self._schema.value_set(message.value_set_id)
        keys: dict[Key, None] = {}
        for member in message.members:
            key = _pack(value_set, member)
            if key in keys:
                raise RpcError(ALREADY_EXISTS, f"{value_set.label}: a member is given twice")
            keys[key] = None
        if len(keys) > value_set.size:
            raise RpcError(
                RESOURCE_EXHAUSTED,
                f"{value_set.label} holds {value_set.size} members, not {len(keys)}",
            )
        old = list(self._members[value_set.id])
        self._replace(value_set, keys)
        return functools.partial(self._replace, value_set, old)

    def read(self, query: p4r.ValueSetEntry) -> Iterator[Part]:
        """Yields the value sets that a query selects: one, or all (id 0)."""
        wanted = [query.value_set_id] if query.value_set_id else list(self._members)
        for value_set in map(self._schema.value_set, wanted):
            keys = list(self._members[value_set.id])
            yield Part(len(keys), _entities(value_set, keys))

    def _replace(self, value_set: ValueSet, keys: Iterable[Key]) -> None:
        """New members come before old ones go: what is in both sets matches all the time."""
        old = self._members[value_set.id]
        new = {key: old[key] if key in old else self._add(value_set, key) for key in keys}
        for key in old.keys() - new.keys():
            self._native.table_delete(value_set.c_index, old[key])
        self._members[value_set.id] = new

    def _add(self, value_set: ValueSet, key: Key) -> int:
        return self._native.table_add(value_set.c_index, key.key, key.mask, 0, 1, NO_ACTION, ())


def _entities(value_set: ValueSet, keys: list[Key]) -> Iterator[p4r.Entity]:
    entity = p4r.Entity()
    entity.value_set_entry.value_set_id = value_set.id
    for key in keys:
        entity.value_set_entry.members.add(match=matches.unpack(value_set, key))
    yield entity


def _pack(value_set: ValueSet, member: p4r.ValueSetMember) -> Key:
    if any(field.match is Match.RANGE for field in value_set.fields):
        raise RpcError(
            UNIMPLEMENTED, f"{value_set.label}: ranges in value sets are not implemented"
        )
    key, mask, _ = matches.pack_fields(value_set, member.match)
    return Key(key, mask, 0, 0)
