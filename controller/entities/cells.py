"""Registers, counters and meters: arrays of cells, and those of table entries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from pcn.base.p4rt import p4r
from pcn.controller.entities.counts import CounterData, MeterConfig, MeterCounterData
from pcn.controller.entities.tables import TableEntry
from pcn.controller.p4info import Schema


def _index(message: Any) -> int | None:
    return int(message.index.index) if message.HasField("index") else None


def _set_index(message: Any, index: int | None) -> None:
    if index is not None:
        message.index.SetInParent()
        message.index.index = index


@dataclass(slots=True)
class RegisterEntry:
    """A cell of a register; index None: all. `data` as `data_types` has it."""

    register_id: str = ""
    _: KW_ONLY
    index: int | None = None
    data: Any = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.register_entry
        message.SetInParent()
        if self.register_id:
            register = schema.registers[self.register_id]
            message.register_id = register.id
            _set_index(message, self.index)
            if self.data is not None:
                message.data.CopyFrom(register.type_spec.encode_data(self.data))
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> RegisterEntry:
        message = entity.register_entry
        if not message.register_id:
            return cls()
        register = schema.registers[message.register_id]
        data = register.type_spec.decode_data(message.data) if message.HasField("data") else None
        return cls(register.alias, index=_index(message), data=data)


@dataclass(slots=True)
class CounterEntry:
    """A cell of a counter; index None: all."""

    counter_id: str = ""
    _: KW_ONLY
    index: int | None = None
    data: CounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.counter_entry
        message.SetInParent()
        if self.counter_id:
            message.counter_id = schema.counters[self.counter_id].id
            _set_index(message, self.index)
            if self.data is not None:
                message.data.CopyFrom(self.data.encode())
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> CounterEntry:
        message = entity.counter_entry
        if not message.counter_id:
            return cls()
        name = schema.counters[message.counter_id].alias
        data = CounterData.decode(message.data) if message.HasField("data") else None
        return cls(name, index=_index(message), data=data)


@dataclass(slots=True)
class DirectCounterEntry:
    """The counter of a table's entry; without an entry: of all of `counter_id`'s table."""

    counter_id: str = ""
    _: KW_ONLY
    table_entry: TableEntry | None = None
    data: CounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.direct_counter_entry
        entry = self.table_entry
        if entry is None:
            counter = schema.direct_counters[self.counter_id] if self.counter_id else None
            entry = TableEntry(counter.direct_table_name if counter is not None else "")
        entry.encode_entry(schema, message.table_entry)
        if self.data is not None:
            message.data.CopyFrom(self.data.encode())
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> DirectCounterEntry:
        message = entity.direct_counter_entry
        entry, name = None, ""
        if message.HasField("table_entry"):
            entry = TableEntry.decode_entry(message.table_entry, schema)
            if entry.table_id:
                counter = schema.tables[message.table_entry.table_id].direct_counter
                if counter is None:
                    raise ValueError(f"table {entry.table_id!r} has no direct counter")
                name = counter.alias
        data = CounterData.decode(message.data) if message.HasField("data") else None
        return cls(name, table_entry=entry, data=data)


@dataclass(slots=True)
class MeterEntry:
    """A cell of a meter; index None: all. Without a `config` every packet is green."""

    meter_id: str = ""
    _: KW_ONLY
    index: int | None = None
    config: MeterConfig | None = None
    counter_data: MeterCounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.meter_entry
        message.SetInParent()
        if self.meter_id:
            message.meter_id = schema.meters[self.meter_id].id
            _set_index(message, self.index)
            _encode_meter(message, self.config, self.counter_data)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> MeterEntry:
        message = entity.meter_entry
        if not message.meter_id:
            return cls()
        config, counts = _decode_meter(message)
        name = schema.meters[message.meter_id].alias
        return cls(name, index=_index(message), config=config, counter_data=counts)


@dataclass(kw_only=True, slots=True)
class DirectMeterEntry:
    """The meter of a table's entry."""

    table_entry: TableEntry | None = None
    config: MeterConfig | None = None
    counter_data: MeterCounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.direct_meter_entry
        message.SetInParent()
        if self.table_entry is not None:
            self.table_entry.encode_entry(schema, message.table_entry)
        _encode_meter(message, self.config, self.counter_data)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> DirectMeterEntry:
        message = entity.direct_meter_entry
        entry = None
        if message.HasField("table_entry"):
            entry = TableEntry.decode_entry(message.table_entry, schema)
        config, counts = _decode_meter(message)
        return cls(table_entry=entry, config=config, counter_data=counts)


def _encode_meter(
    message: Any, config: MeterConfig | None, counts: MeterCounterData | None
) -> None:
    if config is not None:
        message.config.CopyFrom(config.encode())
    if counts is not None:
        message.counter_data.CopyFrom(counts.encode())


def _decode_meter(message: Any) -> tuple[MeterConfig | None, MeterCounterData | None]:
    return (
        MeterConfig.decode(message.config) if message.HasField("config") else None,
        MeterCounterData.decode(message.counter_data) if message.HasField("counter_data") else None,
    )
