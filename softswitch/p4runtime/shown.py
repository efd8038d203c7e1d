"""Table entries as a Read answers them: their state at one moment, and its message.

Source: P4Runtime specification, "TableEntry".
"""

from __future__ import annotations

from typing import NamedTuple

from pcn.base.p4rt import p4r
from pcn.softswitch.native_state import Counter, MeterConfig
from pcn.softswitch.p4runtime import matches
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.arrays import fill_meter
from pcn.softswitch.p4runtime.matches import Key
from pcn.softswitch.p4runtime.references import Reference
from pcn.softswitch.p4runtime.schema import Table


class Shown(NamedTuple):
    """An entry as it was when it was read. None: not requested, or it has none."""

    key: Key | None
    call: Call | Reference | None
    const: bool
    controller_metadata: int
    metadata: bytes
    idle_timeout_ns: int
    counter: Counter | None
    meter: MeterConfig | None
    quiet_ns: int | None


def entity_of(table: Table, shown: Shown) -> p4r.Entity:
    """Returns what a Read answers."""
    entity = p4r.Entity()
    message = entity.table_entry
    fill_key(message, table, shown.key)
    if shown.call is not None:
        shown.call.fill(message.action)
    message.controller_metadata, message.metadata = shown.controller_metadata, shown.metadata
    message.is_const = shown.const
    message.idle_timeout_ns = shown.idle_timeout_ns
    if shown.counter is not None:
        fill_counter(message.counter_data, shown.counter)
    if shown.meter is not None:
        fill_meter(message.meter_config, shown.meter)
    if shown.quiet_ns is not None:
        message.time_since_last_hit.elapsed_ns = shown.quiet_ns
    return entity


def fill_key(message: p4r.TableEntry, table: Table, key: Key | None) -> None:
    """Writes what identifies an entry into a message; None: the default entry."""
    message.table_id = table.id
    if key is None:
        message.is_default_action = True
    else:
        message.match.extend(matches.unpack(table, key))
        message.priority = key.priority


def fill_counter(message: p4r.CounterData, value: Counter) -> None:
    """Writes a count into a message."""
    message.SetInParent()
    message.packet_count, message.byte_count = value.packets, value.bytes
