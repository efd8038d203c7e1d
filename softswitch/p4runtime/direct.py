"""Direct counters and meters by their own entities, DirectCounterEntry and DirectMeterEntry.

Source: P4Runtime specification, "DirectCounterEntry", "DirectMeterEntry". Writes return what undoes
them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

from pcn.base.p4rt import p4r
from pcn.softswitch.native_state import Counter, MeterConfig
from pcn.softswitch.p4runtime.arrays import fill_meter, meter_config
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, UNIMPLEMENTED, RpcError
from pcn.softswitch.p4runtime.matches import Key
from pcn.softswitch.p4runtime.parts import Part
from pcn.softswitch.p4runtime.schema import Schema, Table
from pcn.softswitch.p4runtime.shown import fill_counter, fill_key
from pcn.softswitch.p4runtime.tables import Tables

Undo = Callable[[], None]


class DirectResources:
    """The direct resources of one pipeline's tables."""

    def __init__(self, schema: Schema, tables: Tables) -> None:
        self._schema = schema
        self._tables = tables

    def modify_counter(self, message: p4r.DirectCounterEntry) -> Undo:
        """Carries out MODIFY of a DirectCounterEntry; without data it changes nothing."""
        self._check("counter", message.table_entry)
        table, entry = self._tables.find(message.table_entry)
        old = self._tables.counter(table, entry)
        if message.HasField("data"):
            if message.data.packet_count < 0 or message.data.byte_count < 0:
                raise RpcError(INVALID_ARGUMENT, f"table {table.name}: counts must not be negative")
            self._tables.set_counter(
                table, entry, Counter(message.data.packet_count, message.data.byte_count)
            )
        return functools.partial(self._tables.set_counter, table, entry, old)

    def read_counters(self, query: p4r.DirectCounterEntry) -> Iterator[Part]:
        """Yields the direct counters that a query selects: of all tables, of one, or of one
        entry."""
        if query.table_entry.table_id:
            self._check("counter", query.table_entry)
        for table, entries, looked_at in self._tables.select(query.table_entry):
            if table.direct_counter:
                counters = [(entry.key, self._tables.counter(table, entry)) for entry in entries]
                yield Part(
                    looked_at,
                    itertools.starmap(functools.partial(_counter_entity, table), counters),
                )

    def modify_meter(self, message: p4r.DirectMeterEntry) -> Undo:
        """Carries out MODIFY of a DirectMeterEntry; without a configuration the meter marks
        everything green again."""
        self._check("meter", message.table_entry)
        table, entry = self._tables.find(message.table_entry)
        if message.HasField("counter_data"):
            raise RpcError(
                UNIMPLEMENTED, f"table {table.name}: colour counters of meters are not implemented"
            )
        value = (
            meter_config(table.label, message.config, table.single_rate)
            if message.HasField("config")
            else None
        )
        old = self._tables.meter(table, entry)
        self._tables.set_meter(table, entry, value)
        return functools.partial(self._tables.set_meter, table, entry, old)

    def read_meters(self, query: p4r.DirectMeterEntry) -> Iterator[Part]:
        """Yields the direct meters that a query selects; `config` is unset where it is the
        default."""
        if query.HasField("counter_data"):
            raise RpcError(UNIMPLEMENTED, "colour counters of meters are not implemented")
        if query.table_entry.table_id:
            self._check("meter", query.table_entry)
        for table, entries, looked_at in self._tables.select(query.table_entry):
            if table.direct_meter:
                meters = [(entry.key, self._tables.meter(table, entry)) for entry in entries]
                yield Part(
                    looked_at, itertools.starmap(functools.partial(_meter_entity, table), meters)
                )

    def _check(self, kind: str, message: p4r.TableEntry) -> None:
        table = self._schema.table(message.table_id)
        if not (table.direct_counter if kind == "counter" else table.direct_meter):
            raise RpcError(INVALID_ARGUMENT, f"table {table.name} has no direct {kind}")


def _counter_entity(table: Table, key: Key | None, value: Counter) -> p4r.Entity:
    entity = p4r.Entity()
    fill_key(entity.direct_counter_entry.table_entry, table, key)
    fill_counter(entity.direct_counter_entry.data, value)
    return entity


def _meter_entity(table: Table, key: Key | None, value: MeterConfig | None) -> p4r.Entity:
    entity = p4r.Entity()
    fill_key(entity.direct_meter_entry.table_entry, table, key)
    if value is not None:
        fill_meter(entity.direct_meter_entry.config, value)
    return entity
