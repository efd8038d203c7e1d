"""Commands of registers, counters, meters and queues."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from finsy import (
    P4CounterData,
    P4CounterEntry,
    P4DirectCounterEntry,
    P4DirectMeterEntry,
    P4MeterConfig,
    P4MeterEntry,
    P4RegisterEntry,
)

from pcn.controller.control_plane import TableEntry
from pcn.p4net import values
from pcn.p4net.commands.session import MODIFY, Command, Session
from pcn.p4net.steps import Queue, Read, Step

_RATE = re.compile(r"([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+):([0-9]+)\Z")
_MICROSECONDS = 10**6
_MOST = 2**63 - 1
_ROUNDING = 0.01  # of a rate, at most


def _found(session: Session, kind: str, name: str) -> Any:
    """Returns an array of a kind, or an entry's direct counter or meter."""
    known = [*getattr(session.schema, f"{kind}s")]
    if kind in ("counter", "meter"):
        known += getattr(session.schema, f"direct_{kind}s")
    return values.find(kind, _ByName(known), name)


class _ByName:
    """Objects of several kinds, for `values.find`."""

    def __init__(self, known: Sequence[Any]) -> None:
        self._known = known

    def get(self, name: str) -> Any:
        return next((one for one in self._known if name in (one.name, one.alias)), None)

    def __iter__(self) -> Any:
        return iter(self._known)


def _direct(session: Session, found: Any, handle: str) -> TableEntry | None:
    """Returns the entry whose direct counter or meter is meant; None: `found` is an array."""
    number = getattr(found.pbuf, "direct_table_id", 0)
    if not number:
        return None
    table = session.schema.tables[number]
    entry = session.handles(table.name)[values.whole(handle)]
    return replace(entry, action=None)


def _all_direct(session: Session, found: Any) -> list[TableEntry] | None:
    """Returns all entries that have the direct counter or meter; None: `found` is an array."""
    number = getattr(found.pbuf, "direct_table_id", 0)
    if not number:
        return None
    return [replace(one, action=None) for one in session.handles(session.schema.tables[number].name).items().values()]


def _index(found: Any, word: str) -> int:
    return values.whole(word, 0, found.size - 1)


def _read(session: Session, title: str, entity: Any) -> list[Step]:
    return [Read(session.place, title, entity.encode(session.schema))]


def _register_read(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found = _found(session, "register", words[0])
    index = _index(found, words[1]) if len(words) > 1 else None
    return _read(session, words[0], P4RegisterEntry(found.name, index=index))


def _register_write(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found = _found(session, "register", words[0])
    index = None if words[1] == "all" else _index(found, words[1])
    return [_register(session, found, index, values.number(words[2], _width(found)))]


def _register_reset(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return [_register(session, _found(session, "register", words[0]), None, 0)]


def _register(session: Session, found: Any, index: int | None, value: int | str) -> Step:
    return session.write(MODIFY, P4RegisterEntry(found.name, index=index, data=value))


def _width(found: Any) -> int:
    spec = found.pbuf.type_spec
    if not spec.HasField("bitstring"):
        raise ValueError(f"{found.name} has cells of several fields, which P4Runtime writes alone")
    bits = spec.bitstring
    return int(bits.int.bitwidth or bits.bit.bitwidth or bits.varbit.max_bitwidth)


def _counter_read(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found = _found(session, "counter", words[0])
    if (entry := _direct(session, found, words[1])) is not None:
        return _read(session, f"{words[0]}[{words[1]}]", P4DirectCounterEntry(found.name, table_entry=entry))
    return _read(session, words[0], P4CounterEntry(found.name, index=_index(found, words[1])))


def _counter_write(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found = _found(session, "counter", words[0])
    packets, count = values.whole(words[2]), values.whole(words[3])
    data = P4CounterData(byte_count=count, packet_count=packets)
    if (entry := _direct(session, found, words[1])) is not None:
        return [session.write(MODIFY, P4DirectCounterEntry(found.name, table_entry=entry, data=data))]
    return [session.write(MODIFY, P4CounterEntry(found.name, index=_index(found, words[1]), data=data))]


def _counter_reset(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found, data = _found(session, "counter", words[0]), P4CounterData()
    if (entries := _all_direct(session, found)) is None:
        return [session.write(MODIFY, P4CounterEntry(found.name, data=data))]
    cells = [P4DirectCounterEntry(found.name, table_entry=one, data=data) for one in entries]
    return [session.write(MODIFY, cell) for cell in cells]


def _rates(words: Sequence[str]) -> P4MeterConfig:
    """Returns two rates in units a microsecond, each with its burst in units."""
    found: list[tuple[int, int]] = []
    for word in words:
        parts = _RATE.match(word)
        rate = float(parts[1]) * _MICROSECONDS if parts else math.inf
        if parts is None or not rate < _MOST:
            raise ValueError(f"{word!r}: write RATE:BURST, as 0.000128:9000, in units a microsecond and units")
        if abs(round(rate) - rate) > _ROUNDING * rate:
            raise ValueError(
                f"{word!r}: P4Runtime has whole units a second; simple_switch_CLI sets this rate (--thrift)"
            )
        found.append((round(rate), values.whole(parts[2])))
    (cir, cburst), (pir, pburst) = found
    return P4MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


def _meter_set(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found, config = _found(session, "meter", words[0]), _rates(words[2:])
    if (entry := _direct(session, found, words[1])) is not None:
        return [session.write(MODIFY, P4DirectMeterEntry(table_entry=entry, config=config))]
    return [session.write(MODIFY, P4MeterEntry(found.name, index=_index(found, words[1]), config=config))]


def _meter_array_set(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found, config = _found(session, "meter", words[0]), _rates(words[1:])
    if (entries := _all_direct(session, found)) is not None:
        return [session.write(MODIFY, P4DirectMeterEntry(table_entry=one, config=config)) for one in entries]
    return [session.write(MODIFY, P4MeterEntry(found.name, config=config))]


def _meter_get(session: Session, words: Sequence[str]) -> Sequence[Step]:
    found = _found(session, "meter", words[0])
    if (entry := _direct(session, found, words[1])) is not None:
        return _read(session, f"{words[0]}[{words[1]}]", P4DirectMeterEntry(table_entry=entry))
    return _read(session, words[0], P4MeterEntry(found.name, index=_index(found, words[1])))


def _queue(session: Session, words: Sequence[str], what: Any, least: int) -> Sequence[Step]:
    value = values.whole(words[0], least, 2**32 - 1)
    port = values.whole(words[1], 0, 511) if len(words) > 1 else None
    queue = values.whole(words[2], 0, 7) if len(words) > 2 else None
    return [Queue(session.place, what, value, port, queue)]


def _queue_depth(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return _queue(session, words, "depth", 1)


def _queue_rate(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return _queue(session, words, "rate", 0)


_PORT = "[PORT [QUEUE]]"
COMMANDS = {
    "register_read": Command("REGISTER [INDEX]", _register_read, 1, 2),
    "register_write": Command("REGISTER INDEX VALUE", _register_write, 3, 3),
    "register_reset": Command("REGISTER", _register_reset, 1, 1),
    "counter_read": Command("COUNTER INDEX", _counter_read, 2, 2),
    "counter_write": Command("COUNTER INDEX PACKETS BYTES", _counter_write, 4, 4),
    "counter_reset": Command("COUNTER", _counter_reset, 1, 1),
    "meter_set_rates": Command("METER INDEX RATE:BURST RATE:BURST", _meter_set, 4, 4),
    "meter_array_set_rates": Command("METER RATE:BURST RATE:BURST", _meter_array_set, 3, 3),
    "meter_get_rates": Command("METER INDEX", _meter_get, 2, 2),
    "set_queue_depth": Command(f"PACKETS {_PORT}", _queue_depth, 1, 3),
    "set_queue_rate": Command(f"PACKETS/S {_PORT}", _queue_rate, 1, 3),
}
