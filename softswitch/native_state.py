"""What a control plane writes to a running switch and reads from it: tables, profiles, counters,
registers, meters."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pcn.softswitch.native_types import CounterCell, MeterCell

PROGRAM_DEFAULT: Final = 0xFFFFFFFF  # sw_table_set_default: back to the program's own
NO_ACTION: Final = 0xFFFFFFFF  # sw_table_add: of a value set's members

REFER_MEMBER: Final = (
    0xFFFFFFFE  # instead of an action, in an entry of an indirect table: what its argument is
)
REFER_GROUP: Final = 0xFFFFFFFD

_NO_METER: Final = 2**64 - 1  # how C says that a meter is not configured

# Cells up to 64 bits are host integers; of 128 bits the host's (little-endian); wider ones
# big-endian byte strings.
_CELL_FORMATS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}


# NamedTuples, as in native.py.
class Counter(NamedTuple):
    """A counter cell."""

    packets: int
    bytes: int


class MeterConfig(NamedTuple):
    """Rates in units in `per_us` microseconds, bursts in units; the meter's unit is bytes or
    packets."""

    cir: int
    cburst: int
    pir: int
    pburst: int
    per_us: int = 10**6


_ADDITION: Final = struct.Struct("=IIIiiIII")
"""struct sw_addition."""


def addition(
    table: int,
    key: bytes,
    mask: bytes | None,
    prefix: int,
    priority: int,
    action: int,
    args: Sequence[int],
) -> bytes:
    """Returns an entry as `NativeState.table_add_all` takes it; `args` as `table_add` has them."""
    n_key = (len(key) + 7) // 8
    head = _ADDITION.pack(table, n_key, mask is not None, prefix, priority, action, len(args), 0)
    keys = key.ljust(8 * n_key, b"\0") + (b"" if mask is None else mask.ljust(8 * n_key, b"\0"))
    return head + keys + _words_of(len(args)).pack(*args)


@lru_cache(maxsize=64)
def _words_of(n: int) -> struct.Struct:
    """Returns the form of `n` arguments: to read it anew takes as long as to pack them."""
    return struct.Struct(f"={n}Q")


class NativeState:
    """The part of a NativeSwitch that writes and reads what the program forwards by."""

    _call: Callable[..., int]

    # ---- tables ----

    def table_add(
        self,
        table: int,
        key: bytes,
        mask: bytes | None,
        prefix: int,
        priority: int,
        action: int,
        args: Sequence[int],
    ) -> int:
        """Adds an entry and returns its handle. `args`: 64-bit words, each parameter's low word
        first."""
        packed, words = _words(args)
        return self._call(
            "sw_table_add", table, key, mask, prefix, priority, action, packed, words, explain=True
        )

    def table_add_all(self, additions: Sequence[bytes]) -> Sequence[int]:
        """Adds entries, each packed by `addition`. Returns by entry its handle, or minus the errno
        of why it was refused."""
        packed, n = b"".join(additions), len(additions)
        results = (ctypes.c_int64 * n)()
        self._call("sw_table_add_all", packed, len(packed), n, results)
        return results[:]

    def table_modify(self, table: int, handle: int, action: int, args: Sequence[int]) -> None:
        """Replaces an entry's action; counters go on."""
        packed, words = _words(args)
        self._call("sw_table_modify", table, handle, action, packed, words, explain=True)

    def table_delete(self, table: int, handle: int) -> None:
        """Removes an entry."""
        self._call("sw_table_delete", table, handle, explain=True)

    def table_set_default(
        self, table: int, action: int = PROGRAM_DEFAULT, args: Sequence[int] = ()
    ) -> None:
        """Sets the default action; without an action, the program's."""
        packed, words = _words(args)
        self._call("sw_table_set_default", table, action, packed, words, explain=True)

    def table_counter(self, table: int, handle: int) -> Counter:
        """Returns an entry's direct counter; handle -1: the default entry's."""
        raw = CounterCell()
        self._call("sw_table_counter_read", table, handle, ctypes.byref(raw))
        return Counter(raw.packets, raw.bytes)

    def table_idle_us(self, table: int, handle: int) -> int:
        """Returns the microseconds since a packet hit an entry, or the entry came."""
        raw = ctypes.c_uint64()
        self._call("sw_table_idle", table, handle, ctypes.byref(raw))
        return raw.value

    def set_table_counter(self, table: int, handle: int, value: Counter) -> None:
        """Writes an entry's direct counter; handle -1: the default entry's."""
        self._call(
            "sw_table_counter_write",
            table,
            handle,
            ctypes.byref(CounterCell(value.packets, value.bytes)),
        )

    # ---- action profiles ----

    def member_put(self, profile: int, action: int, args: Sequence[int], handle: int = -1) -> int:
        """Makes a member, or replaces the action of the one with this handle. Returns its handle:
        the lowest free."""
        packed, words = _words(args)
        return self._call("sw_member_put", profile, handle, action, packed, words, explain=True)

    def member_delete(self, profile: int, handle: int) -> None:
        """Removes a member."""
        self._call("sw_member_delete", profile, handle, explain=True)

    def group_put(self, profile: int, members: Sequence[int], handle: int = -1) -> int:
        """Makes a group of members by their handles, or replaces those of the group with this
        handle."""
        packed = (ctypes.c_uint32 * len(members))(*members) if members else None
        return self._call("sw_group_put", profile, handle, packed, len(members), explain=True)

    def group_delete(self, profile: int, handle: int) -> None:
        """Removes a group; its members stay."""
        self._call("sw_group_delete", profile, handle, explain=True)

    # ---- arrays ----

    def counters(self, counter: int, first: int, n: int) -> list[Counter]:
        """Returns the cells first to first + n - 1 of an indirect counter."""
        return list(self.counter_cells(counter, first, n))

    def counter_cells(self, counter: int, first: int, n: int) -> Iterator[Counter]:
        """Yields what `counters` has, as it is now; a cell takes 16 bytes until its turn comes."""
        raw = (CounterCell * n)()
        self._call("sw_counter_read", counter, first, n, raw)
        values = memoryview(raw).cast("B").cast("Q")
        return (Counter(values[i], values[i + 1]) for i in range(0, 2 * n, 2))

    def set_counters(self, counter: int, first: int, values: Sequence[Counter]) -> None:
        """Writes consecutive cells of an indirect counter."""
        raw = (CounterCell * len(values))(
            *[CounterCell(value.packets, value.bytes) for value in values]
        )
        self._call("sw_counter_write", counter, first, len(values), raw)

    def registers(self, register: int, width: int, first: int, n: int) -> list[int]:
        """Returns the cells first to first + n - 1 of a register of `width` bits, as unsigned
        numbers."""
        return list(self.register_cells(register, width, first, n))

    def register_cells(self, register: int, width: int, first: int, n: int) -> Iterator[int]:
        """Yields what `registers` has, as it is now; a cell takes `cell_bytes(width)` until its
        turn comes."""
        return _cells(self._register_bytes(register, width, first, n), cell_bytes(width))

    def nonzero_registers(self, register: int, width: int, n: int) -> dict[int, int]:
        """Returns those of the first `n` cells that aren't 0, by index. All are compared at once:
        most have none."""
        raw = self._register_bytes(register, width, 0, n)
        if raw.raw == bytes(len(raw)):
            return {}
        return {index: value for index, value in enumerate(_cells(raw, cell_bytes(width))) if value}

    def _register_bytes(
        self, register: int, width: int, first: int, n: int
    ) -> ctypes.Array[ctypes.c_char]:
        raw = ctypes.create_string_buffer(cell_bytes(width) * n)
        self._call("sw_register_read", register, first, n, raw)
        return raw

    def set_registers(self, register: int, width: int, first: int, values: Sequence[int]) -> None:
        """Writes consecutive cells of a register of `width` bits."""
        size = cell_bytes(width)
        order: Any = "little" if size <= 16 else "big"
        raw = b"".join(value.to_bytes(size, order) for value in values)
        self._call("sw_register_write", register, first, len(values), raw)

    def meter(self, meter: int, index: int) -> MeterConfig | None:
        """Returns a meter cell's rates; None: it has none, and marks every packet green."""
        raw = MeterCell()
        self._call("sw_meter_read", meter, index, ctypes.byref(raw))
        return _meter_config(raw)

    def set_meter(self, meter: int, index: int, value: MeterConfig | None) -> None:
        """Writes a meter cell's rates; it starts with full buckets."""
        self._call("sw_meter_write", meter, index, _raw_meter(value))

    def table_meter(self, table: int, handle: int) -> MeterConfig | None:
        """Returns an entry's direct meter, as `meter`."""
        raw = MeterCell()
        self._call("sw_table_meter_read", table, handle, ctypes.byref(raw))
        return _meter_config(raw)

    def set_table_meter(self, table: int, handle: int, value: MeterConfig | None) -> None:
        """Writes an entry's direct meter, as `set_meter`."""
        self._call("sw_table_meter_write", table, handle, _raw_meter(value))


def cell_bytes(width: int) -> int:
    """Returns the bytes of a register cell of `width` bits, as struct sw_register lays it out."""
    for size in (1, 2, 4, 8, 16):
        if width <= 8 * size:
            return size
    return (width + 7) // 8


def _cells(raw: ctypes.Array[ctypes.c_char], size: int) -> Iterator[int]:
    """Yields the cells of `size` bytes that a register's memory has."""
    if size in _CELL_FORMATS:
        return iter(memoryview(raw).cast("B").cast(_CELL_FORMATS[size]))  # type: ignore[call-overload]
    order: Any = "little" if size == 16 else "big"
    data = raw.raw  # a copy of all, each time
    return (int.from_bytes(data[i : i + size], order) for i in range(0, len(data), size))


def _meter_config(raw: MeterCell) -> MeterConfig | None:
    return (
        None
        if raw.cir == _NO_METER
        else MeterConfig(raw.cir, raw.cburst, raw.pir, raw.pburst, raw.per_us)
    )


def _raw_meter(value: MeterConfig | None) -> MeterCell | None:
    return None if value is None else MeterCell(*value)


def _words(args: Sequence[int]) -> tuple[Any, int]:
    return ((ctypes.c_uint64 * len(args))(*args) if args else None), len(args)
