"""Entries that wait for nothing but a switch: an INSERT, read once, for any switch of the
program."""

from __future__ import annotations

from typing import NamedTuple

from pcn.softswitch.native_state import addition
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.matches import Key
from pcn.softswitch.p4runtime.references import Reference
from pcn.softswitch.p4runtime.schema import Table


class Insertion(NamedTuple):
    """An entry with a key and an action of the table's own, or a one-shot set of actions, and
    nothing else. `packed`: for C; None: the set's members come first, and are each switch's own."""

    table_id: int
    key: Key
    call: Call | Reference
    packed: bytes | None


def insertion(table: Table, key: Key, call: Call | Reference) -> Insertion:
    """Returns the entry. The caller has checked all that P4Runtime requires of an INSERT."""
    if isinstance(call, Reference):
        return Insertion(table.id, key, call, None)
    packed = addition(
        table.c_index, key.key, key.mask, key.prefix, key.priority, call.code, call.args
    )
    return Insertion(table.id, key, call, packed)
