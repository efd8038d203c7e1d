"""Indexed counters, meters and registers: sections 9.3.2, 9.4.2 and 9.7."""

from collections.abc import Iterator
from typing import Any

from oracle.check import wrong_colours, wrong_counts, wrong_meter
from oracle.forms import count_form, meter_form
from oracle.info import Array, Info
from oracle.state import State
from oracle.values import fits, fits_signed, shortest, shortest_signed, stripped, stripped_signed
from pcn.base.p4rt import p4d, p4r

MODIFY = p4r.Update.MODIFY
Type = p4r.Update.Type.ValueType
Cell = p4r.CounterEntry | p4r.MeterEntry | p4r.RegisterEntry
COUNTER, METER, REGISTER = "counter", "meter", "register"


class Cells:
    """The arrays of one p4info. What was never written is 0, or a meter that marks all packets
    green."""

    def __init__(self, info: Info, state: State):
        self._state = state
        self.arrays = {COUNTER: info.counters, METER: info.meters, REGISTER: info.registers}

    def wrong(self, kind: Type, message: Cell) -> Iterator[str]:
        """The rules that a write of one cell or of a whole array breaks."""
        if kind != MODIFY:
            yield "modify-only"
        array_kind, number = _named(message)
        array = self.arrays[array_kind].get(number)
        if array is None:
            yield "id-unknown" if number else "id-zero"
            return
        if message.index.index < 0:
            yield "index-negative"
        elif message.HasField("index") and message.index.index >= array.size:
            yield "index-large"
        if isinstance(message, p4r.CounterEntry):
            yield from wrong_counts(message.data)
        elif isinstance(message, p4r.MeterEntry):
            yield from wrong_meter(message.config, array.single_rate)
            if message.HasField("counter_data"):
                yield from wrong_colours(message.counter_data)
        else:
            yield from _wrong_data(array, message.data)

    def apply(self, message: Cell):
        """Carries out a write that breaks no rule."""
        array_kind, number = _named(message)
        if isinstance(message, p4r.CounterEntry):
            if not message.HasField("data"):
                return  # without data, nothing changes
            value = count_form(message.data)
        elif isinstance(message, p4r.MeterEntry):
            value = meter_form(message.config) if message.HasField("config") else None
        else:
            value = _data(self.arrays[array_kind][number], message.data)
        if message.HasField("index"):
            self._state.cells[array_kind, number, message.index.index] = value
        else:
            for key in [key for key in self._state.cells if key[:2] == (array_kind, number)]:
                del self._state.cells[key]
            self._state.whole[array_kind, number] = value

    def value(self, array_kind: str, number: int, index: int):
        """What a cell holds."""
        whole = self._state.whole.get(
            (array_kind, number), _initial(array_kind, self.arrays[array_kind][number])
        )
        return self._state.cells.get((array_kind, number, index), whole)


def answered(message: Cell) -> tuple[tuple[str, int, int], Any]:
    """A cell of a server's answer: which it is, and what it holds, as the server wrote it."""
    array_kind, number = _named(message)
    if isinstance(message, p4r.CounterEntry):
        value = count_form(message.data)
    elif isinstance(message, p4r.MeterEntry):
        value = meter_form(message.config) if message.HasField("config") else None
    else:
        kind = message.data.WhichOneof("data")
        value = (kind, getattr(message.data, kind)) if kind else None
    return (array_kind, number, message.index.index), value


def _named(message: Cell) -> tuple[str, int]:
    if isinstance(message, p4r.CounterEntry):
        return COUNTER, message.counter_id
    if isinstance(message, p4r.MeterEntry):
        return METER, message.meter_id
    return REGISTER, message.register_id


def _initial(array_kind: str, array: Array):
    if array_kind == COUNTER:
        return (0, 0)
    if array_kind == METER:
        return None
    return ("bool", False) if array.form == "bool" else ("bitstring", b"\0")


def _wrong_data(array: Array, data: p4d.P4Data) -> Iterator[str]:
    kind = data.WhichOneof("data")
    if kind != ("bool" if array.form == "bool" else "bitstring"):
        yield "data-form"
    elif kind == "bitstring" and not (fits_signed if array.form == "signed" else fits)(
        data.bitstring, array.width
    ):
        yield "data-value"


def _data(array: Array, data: p4d.P4Data):
    if array.form == "bool":
        return ("bool", data.bool)
    return (
        "bitstring",
        stripped_signed(data.bitstring) if array.form == "signed" else stripped(data.bitstring),
    )


def encoded(array: Array, value: int) -> p4d.P4Data:
    """The P4Data of a number in a register's cell."""
    if array.form == "bool":
        return p4d.P4Data(bool=bool(value))
    if array.form == "signed":
        return p4d.P4Data(bitstring=shortest_signed(value))
    return p4d.P4Data(bitstring=shortest(value))
