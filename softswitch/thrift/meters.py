"""Calls of meters: arrays, and those of entries. Rates are BMv2's, in units a microsecond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pcn.base.p4rt import p4r
from pcn.softswitch.native_state import MeterConfig
from pcn.softswitch.p4runtime.arrays import checked_meter
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.schema import Array, Schema, Table
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.p4runtime.table_state import Entry
from pcn.softswitch.thrift.face import named
from pcn.softswitch.thrift.tables import TableCalls

_NAME, _INDEX, _RATE = 1, 2, 4  # of BMv2's error codes
_US: Final = 10**6
_FINE_US: Final = 10**12
_MOST: Final = 2**63 - 1


class MeterCalls(TableCalls):
    """bm_meter_*, and bm_mt_* of direct meters. Rates of a whole array of direct ones are also
    those of entries that this face adds later, as in BMv2."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._later: tuple[Schema | None, dict[int, MeterConfig | None]] = (None, {})

    def bm_meter_array_set_rates(self, _context: int, name: str, rates: Sequence[Any]) -> None:
        table, config = self._table_of(name), self._config(rates)
        if table is None:
            meter = self._meter(name, 0)
            self._set(meter, 0, meter.size, config)
            return
        for entry in self._entries(table):
            self._set_direct(table, entry, config)
        self._of_later()[table.id] = config

    def bm_meter_set_rates(
        self, _context: int, name: str, index: int, rates: Sequence[Any]
    ) -> None:
        self._set(self._meter(name, index), index, 1, self._config(rates))

    def bm_meter_get_rates(self, _context: int, name: str, index: int) -> list[Any]:
        meter = self._meter(name, index)
        with self.service.locally() as state:
            return self._shown(state.arrays.meter(meter, index))

    def bm_mt_set_meter_rates(
        self, _context: int, name: str, handle: int, rates: Sequence[Any]
    ) -> None:
        table = self._metered(name)
        try:
            self._set_direct(table, self._entry(table, handle), meter_config(rates))
        except (ValueError, self.idl.MeterFailure):
            raise self.table_error("INVALID_METER_OPERATION") from None

    def bm_mt_get_meter_rates(self, _context: int, name: str, handle: int) -> list[Any]:
        table = self._metered(name)
        with self.service.locally() as state:
            return self._shown(state.tables.meter(table, self._entry(table, handle)))

    # ---- inside ----

    def _add(self, table: Table, key: Sequence[Any], options: Any, action: p4r.TableAction) -> int:
        number = super()._add(table, key, options, action)
        if (config := self._of_later().get(table.id)) is not None:
            self._set_direct(table, self._entry(table, number), config)
        return number

    def _of_later(self) -> dict[int, MeterConfig | None]:
        """Returns what entries to come have, by table of the program that runs."""
        with self.service.locally() as state:
            if self._later[0] is not state.schema:
                self._later = (state.schema, {})
            return self._later[1]

    def _meter(self, name: str, index: int) -> Array:
        with self.service.locally() as state:
            meter = named(state.schema.meters, name)
        if meter is None:
            raise self.idl.MeterFailure(_NAME)
        if not 0 <= index < max(meter.size, 1):
            raise self.idl.MeterFailure(_INDEX)
        return meter

    def _metered(self, name: str) -> Table:
        table = self._table(name)
        if not table.direct_meter:
            raise self.table_error("METERS_DISABLED")
        return table

    def _table_of(self, name: str) -> Table | None:
        """Returns the table whose entries have this direct meter; None: there is no such one."""
        with self.service.locally() as state:
            ids = {
                meter.preamble.id
                for meter in state.schema.p4info.direct_meters
                if meter.preamble.name == name
            }
            return next(
                (table for table in state.schema.tables.values() if table.direct_meter in ids), None
            )

    def _config(self, rates: Sequence[Any]) -> MeterConfig | None:
        try:
            return meter_config(rates)
        except ValueError:
            raise self.idl.MeterFailure(_RATE) from None

    def _set(self, meter: Array, first: int, count: int, config: MeterConfig | None) -> None:
        try:
            with self.service.locally() as state:
                if config is not None:
                    checked_meter(meter.name, config, meter.single_rate)
                state.arrays.set_meters(meter, first, count, config)
        except RpcError:
            raise self.idl.MeterFailure(_RATE) from None

    def _set_direct(self, table: Table, entry: Entry, config: MeterConfig | None) -> None:
        try:
            with self.service.locally() as state:
                if config is not None:
                    checked_meter(table.label, config, table.single_rate)
                state.tables.set_meter(table, entry, config)
        except RpcError:
            raise self.idl.MeterFailure(_RATE) from None

    def _shown(self, config: MeterConfig | None) -> list[Any]:
        if config is None:
            return []
        pairs = ((config.cir, config.cburst), (config.pir, config.pburst))
        return [self.idl.Rate(rate / config.per_us, burst) for rate, burst in pairs]


def meter_config(rates: Sequence[Any]) -> MeterConfig | None:
    """Returns BMv2's rates, committed and peak, to a millionth of a unit a second if they aren't
    whole; None: there are none. Raises ValueError for rates that no meter has."""
    if not rates:
        return None
    committed, peak = rates[0], rates[-1]
    rates_us = (committed.units_per_micros, peak.units_per_micros)
    if not all(map(math.isfinite, rates_us)):
        raise ValueError("a rate isn't a number")
    whole = all((rate * _US).is_integer() for rate in rates_us)
    per_us = _US if whole or max(rates_us) * _FINE_US > _MOST else _FINE_US
    config = MeterConfig(
        round(rates_us[0] * per_us),
        committed.burst_size,
        round(rates_us[1] * per_us),
        peak.burst_size,
        per_us,
    )
    if not all(0 <= number <= _MOST for number in config):
        raise ValueError("a rate or a burst is negative, or too large")
    return config
