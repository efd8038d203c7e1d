"""Calls of counters, registers and parser value sets."""

from __future__ import annotations

from typing import Any, Final

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime import matches
from pcn.softswitch.p4runtime.bytestring import encode
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.schema import Array, Register, ValueSet
from pcn.softswitch.thrift.face import MODIFY, Face, named

_NAME, _INDEX, _ERROR = 1, 2, 3  # of BMv2's error codes
_SIGNED: Final = 1 << 63


class ArrayCalls(Face):
    """bm_counter_*, bm_register_*, bm_parse_vset_*."""

    # ---- counters ----

    def bm_counter_read(self, _context: int, name: str, index: int) -> Any:
        counter = self._counter(name, index)
        with self.service.locally() as state:
            (value,) = state.arrays.counters(counter, index, 1)
        return self.idl.CounterValue(value.bytes, value.packets)

    def bm_counter_write(self, _context: int, name: str, index: int, value: Any) -> None:
        counter = self._counter(name, index)
        message = p4r.CounterEntry(counter_id=counter.id, index=p4r.Index(index=index))
        self._set_counter(message, value.packets, value.bytes)

    def bm_counter_reset_all(self, _context: int, name: str) -> None:
        counter = self._counter(name, 0)
        if counter.size:
            self._set_counter(p4r.CounterEntry(counter_id=counter.id), 0, 0)

    # ---- registers ----

    def bm_register_read(self, _context: int, name: str, index: int) -> int:
        return self._cells(self._register(name, index), index, 1)[0]

    def bm_register_read_all(self, _context: int, name: str) -> list[int]:
        register = self._register(name, 0)
        return self._cells(register, 0, register.size)

    def bm_register_write(self, _context: int, name: str, index: int, value: int) -> None:
        self._set_cells(self._register(name, index), index, 1, value)

    def bm_register_write_range(
        self, _context: int, name: str, first: int, behind: int, value: int
    ) -> None:
        register = self._register(name, first)
        if not first <= behind <= register.size:
            raise self.idl.RegisterFailure(_INDEX)
        self._set_cells(register, first, behind - first, value)

    def bm_register_reset(self, _context: int, name: str) -> None:
        register = self._register(name, 0)
        self._set_cells(register, 0, register.size, 0)

    # ---- value sets ----

    def bm_parse_vset_add(self, _context: int, name: str, value: bytes) -> None:
        value_set = self._value_set(name)
        self._set_members(value_set, [*self._values(value_set), self._member(value_set, value)])

    def bm_parse_vset_remove(self, _context: int, name: str, value: bytes) -> None:
        value_set = self._value_set(name)
        member, values = self._member(value_set, value), self._values(value_set)
        if member not in values:
            raise self.idl.ValueSetFailure(2)
        self._set_members(value_set, [value for value in values if value != member])

    def bm_parse_vset_get(self, _context: int, name: str) -> list[bytes]:
        value_set = self._value_set(name)
        bits = sum(field.width for field in value_set.fields)
        return [
            _joined(value_set, value).to_bytes((bits + 7) // 8, "big")
            for value in self._values(value_set)
        ]

    def bm_parse_vset_clear(self, _context: int, name: str) -> None:
        self._set_members(self._value_set(name), [])

    # ---- inside ----

    def _counter(self, name: str, index: int) -> Array:
        with self.service.locally() as state:
            counter = named(state.schema.counters, name)
        if counter is None:
            raise self.idl.CounterFailure(_NAME)
        if not 0 <= index < max(counter.size, 1):
            raise self.idl.CounterFailure(_INDEX)
        return counter

    def _set_counter(self, message: p4r.CounterEntry, packets: int, octets: int) -> None:
        message.data.packet_count, message.data.byte_count = packets, octets
        try:
            self.write(MODIFY, counter_entry=message)
        except RpcError:
            raise self.idl.CounterFailure(_ERROR) from None

    def _register(self, name: str, index: int) -> Register:
        with self.service.locally() as state:
            register = named(state.schema.registers, name)
        if register is None:
            raise self.idl.RegisterFailure(_NAME)
        if not 0 <= index < max(register.size, 1):
            raise self.idl.RegisterFailure(_INDEX)
        return register

    def _cells(self, register: Register, first: int, count: int) -> list[int]:
        """Returns the lower 64 bits of cells, as i64 has them."""
        with self.service.locally() as state:
            cells = state.arrays.registers(register, first, count)
        return [(cell + _SIGNED) % (1 << 64) - _SIGNED for cell in cells]

    def _set_cells(self, register: Register, first: int, count: int, value: int) -> None:
        with self.service.locally() as state:
            state.arrays.set_registers(register, first, [value & (1 << register.width) - 1] * count)

    def _value_set(self, name: str) -> ValueSet:
        with self.service.locally() as state:
            value_set = named(state.schema.value_sets, name)
        if value_set is None:
            raise self.idl.ValueSetFailure(1)
        return value_set

    def _values(self, value_set: ValueSet) -> list[tuple[int, ...]]:
        (value_set_entry,) = self.read(value_set_entry=p4r.ValueSetEntry(value_set_id=value_set.id))
        packed = [
            matches.pack_fields(value_set, member.match)[0] for member in value_set_entry.members
        ]
        values = []
        for key in packed:
            parts, at = [], 0
            for field in value_set.fields:
                parts.append(int.from_bytes(key[at : at + field.size], "big"))
                at += field.size
            values.append(tuple(parts))
        return values

    def _member(self, value_set: ValueSet, value: bytes) -> tuple[int, ...]:
        """Returns the fields of a value, which has them without gaps."""
        number, left = int.from_bytes(value, "big"), sum(field.width for field in value_set.fields)
        if number >> left:
            raise self.idl.ValueSetFailure(2)
        parts = []
        for field in value_set.fields:
            left -= field.width
            parts.append(number >> left & (1 << field.width) - 1)
        return tuple(parts)

    def _set_members(self, value_set: ValueSet, values: list[tuple[int, ...]]) -> None:
        message = p4r.ValueSetEntry(value_set_id=value_set.id)
        for value in dict.fromkeys(values):
            member = message.members.add()
            for field, part in zip(value_set.fields, value, strict=True):
                member.match.add(field_id=field.id).exact.value = encode(part)
        try:
            self.write(MODIFY, value_set_entry=message)
        except RpcError:
            raise self.idl.ValueSetFailure(2) from None


def _joined(value_set: ValueSet, value: tuple[int, ...]) -> int:
    number = 0
    for field, part in zip(value_set.fields, value, strict=True):
        number = number << field.width | part
    return number
