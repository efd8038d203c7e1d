"""Indexed state: counters, registers and meters, whole or cell by cell.

Source: P4Runtime specification, "CounterEntry", "RegisterEntry", "MeterEntry". A read or write
without an index means the whole array; a read with id 0 all arrays of that kind. Writes return what
undoes them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.native_state import Counter, MeterConfig
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, UNIMPLEMENTED, RpcError
from pcn.softswitch.p4runtime.parts import Part
from pcn.softswitch.p4runtime.schema import Array, Register, Schema

Undo = Callable[[], None]
A = TypeVar("A", Array, Register)


class Arrays:
    """The counters, registers and meters of one pipeline."""

    def __init__(self, schema: Schema, native: NativeSwitch) -> None:
        self._schema = schema
        self._native = native

    def counters(self, array: Array, first: int, n: int) -> list[Counter]:
        """Returns the cells of a counter."""
        return self._native.counters(array.c_index, first, n)

    def registers(self, array: Register, first: int, n: int) -> list[int]:
        """Returns the cells of a register, as unsigned numbers."""
        return self._native.registers(array.c_index, array.width, first, n)

    def set_registers(self, array: Register, first: int, values: Sequence[int]) -> None:
        """Writes cells of a register."""
        self._native.set_registers(array.c_index, array.width, first, values)

    def write_counter(self, message: p4r.CounterEntry) -> Undo:
        """Carries out MODIFY of a CounterEntry."""
        array = self._schema.counter(message.counter_id)
        first, n = _cells("counter", array, message)
        old = self._native.counters(array.c_index, first, n)
        if message.HasField("data"):
            value = Counter(message.data.packet_count, message.data.byte_count)
            if value.packets < 0 or value.bytes < 0:
                raise RpcError(
                    INVALID_ARGUMENT, f"counter {array.name}: counts must not be negative"
                )
            self._native.set_counters(array.c_index, first, [value] * n)
        return functools.partial(self._native.set_counters, array.c_index, first, old)

    def read_counters(self, query: p4r.CounterEntry) -> Iterator[Part]:
        """Yields the cells that a CounterEntry query selects, array by array."""
        for array in _selected(self._schema.counters, query.counter_id, self._schema.counter):
            first, n = _cells("counter", array, query)
            yield Part(
                n,
                _counter_entities(
                    array, first, self._native.counter_cells(array.c_index, first, n)
                ),
            )

    def write_register(self, message: p4r.RegisterEntry) -> Undo:
        """Carries out MODIFY of a RegisterEntry."""
        array = self._schema.register(message.register_id)
        first, n = _cells("register", array, message)
        value = array.type.decode(message.data, f"register {array.name}")
        old = self._native.registers(array.c_index, array.width, first, n)
        self._native.set_registers(array.c_index, array.width, first, [value] * n)
        return functools.partial(self._native.set_registers, array.c_index, array.width, first, old)

    def read_registers(self, query: p4r.RegisterEntry) -> Iterator[Part]:
        """Yields the cells that a RegisterEntry query selects, array by array."""
        for array in _selected(self._schema.registers, query.register_id, self._schema.register):
            first, n = _cells("register", array, query)
            values = self._native.register_cells(array.c_index, array.width, first, n)
            yield Part(n, _register_entities(array, first, values))

    def write_meter(self, message: p4r.MeterEntry) -> Undo:
        """Carries out MODIFY of a MeterEntry. Without `config` the meter is unconfigured again, and
        marks everything green."""
        array = self._schema.meter(message.meter_id)
        first, n = _cells("meter", array, message)
        if message.HasField("counter_data"):
            raise RpcError(
                UNIMPLEMENTED, f"meter {array.name}: colour counters are not implemented"
            )
        value = None
        if message.HasField("config"):
            value = meter_config(f"meter {array.name}", message.config, array.single_rate)
        return self.set_meters(array, first, n, value)

    def meter(self, array: Array, index: int) -> MeterConfig | None:
        """Returns a meter cell's rates; None: it has none."""
        return self._native.meter(array.c_index, index)

    def set_meters(self, array: Array, first: int, n: int, value: MeterConfig | None) -> Undo:
        """Writes the rates of consecutive cells; None: they have none."""
        old = [self._native.meter(array.c_index, index) for index in range(first, first + n)]

        def write(values: Iterable[MeterConfig | None]) -> None:
            for index, config in enumerate(values, first):
                self._native.set_meter(array.c_index, index, config)

        write([value] * n)
        return functools.partial(write, old)

    def read_meters(self, query: p4r.MeterEntry) -> Iterator[Part]:
        """Yields the cells that a MeterEntry query selects, array by array; `config` is unset where
        it is the default."""
        if query.HasField("counter_data"):
            raise RpcError(UNIMPLEMENTED, "colour counters of meters are not implemented")
        for array in _selected(self._schema.meters, query.meter_id, self._schema.meter):
            first, n = _cells("meter", array, query)
            values = [self._native.meter(array.c_index, index) for index in range(first, first + n)]
            yield Part(n, _meter_entities(array, first, values))


def meter_config(label: str, config: p4r.MeterConfig, single_rate: bool) -> MeterConfig:
    """Returns a two-rate three-colour configuration; of a single-rate two-colour meter both rates
    are the same. Raises RpcError INVALID_ARGUMENT."""
    if config.eburst:
        raise RpcError(INVALID_ARGUMENT, f"{label}: eburst must not be set")
    return checked_meter(
        label, MeterConfig(config.cir, config.cburst, config.pir, config.pburst), single_rate
    )


def checked_meter(label: str, value: MeterConfig, single_rate: bool) -> MeterConfig:
    """Returns a configuration that the meter can have. Raises RpcError INVALID_ARGUMENT."""
    if min(value) < 0:
        raise RpcError(INVALID_ARGUMENT, f"{label}: rates and bursts must not be negative")
    if value.cir > value.pir:
        raise RpcError(INVALID_ARGUMENT, f"{label}: cir {value.cir} exceeds pir {value.pir}")
    if single_rate and (value.cir, value.cburst) != (value.pir, value.pburst):
        raise RpcError(
            INVALID_ARGUMENT, f"{label} has a single rate: pir and pburst have to be cir and cburst"
        )
    return value


def fill_meter(message: p4r.MeterConfig, value: MeterConfig) -> None:
    """Writes a configuration into a message, which has whole units a second."""
    message.SetInParent()
    message.cir, message.pir = (
        (rate * 10**6 + value.per_us // 2) // value.per_us for rate in (value.cir, value.pir)
    )
    message.cburst, message.pburst = value.cburst, value.pburst


def _selected(arrays: Mapping[int, A], array_id: int, find: Callable[[int], A]) -> list[A]:
    return [find(array_id)] if array_id else list(arrays.values())


def _cells(
    kind: str,
    array: Array | Register,
    message: p4r.CounterEntry | p4r.RegisterEntry | p4r.MeterEntry,
) -> tuple[int, int]:
    """Returns the first cell and number of cells that a message means."""
    if not message.HasField("index"):
        return 0, array.size
    index = message.index.index
    if index < 0:
        raise RpcError(INVALID_ARGUMENT, f"{kind} {array.name}: index {index} is negative")
    if index >= array.size:
        raise RpcError(
            OUT_OF_RANGE, f"{kind} {array.name} has {array.size} cells: no index {index}"
        )
    return index, 1


def _counter_entities(array: Array, first: int, values: Iterable[Counter]) -> Iterator[p4r.Entity]:
    for index, value in enumerate(values, first):
        entity = p4r.Entity()
        entry = entity.counter_entry
        entry.counter_id = array.id
        entry.index.index = index
        entry.data.SetInParent()
        entry.data.packet_count, entry.data.byte_count = value.packets, value.bytes
        yield entity


def _meter_entities(
    array: Array, first: int, values: Iterable[MeterConfig | None]
) -> Iterator[p4r.Entity]:
    for index, value in enumerate(values, first):
        entity = p4r.Entity()
        entry = entity.meter_entry
        entry.meter_id = array.id
        entry.index.index = index
        if value is not None:
            fill_meter(entry.config, value)
        yield entity


def _register_entities(array: Register, first: int, values: Iterable[int]) -> Iterator[p4r.Entity]:
    fill = array.type.fill
    for index, value in enumerate(values, first):
        entity = p4r.Entity()
        entry = entity.register_entry
        entry.register_id = array.id
        entry.index.index = index
        fill(entry.data, value)
        yield entity
