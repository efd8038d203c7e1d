"""Commands of registers, counters, meters and queues."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import TableEntry
from pcn.controller.entities import (
    CounterData,
    CounterEntry,
    DirectCounterEntry,
    DirectMeterEntry,
    MeterConfig,
    MeterEntry,
    RegisterEntry,
    ValueSetEntry,
)
from pcn.controller.p4info import MatchKind
from pcn.p4net import values
from pcn.p4net.commands.session import MODIFY, Command, Session
from pcn.p4net.steps import Queue, Read, Step

_RATE = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+):([0-9]+)\Z")
_MICROSECONDS = 10**6
_MOST = 2**63 - 1
_ROUNDING = 0.01  # of a rate, at most


def _extern(session: Session, kind: str, name: str) -> Any:
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
        return next((extern for extern in self._known if name in (extern.name, extern.alias)), None)

    def __iter__(self) -> Any:
        return iter(self._known)


def _direct(session: Session, extern: Any, handle: str) -> TableEntry | None:
    """Returns the entry whose direct counter or meter is meant; None: `extern` is an array."""
    number = getattr(extern.spec, "direct_table_id", 0)
    if not number:
        return None
    table = session.schema.tables[number]
    entry = session.handles(table.name)[values.whole(handle)]
    return replace(entry, action=None)


def _all_direct(session: Session, extern: Any) -> list[TableEntry] | None:
    """Returns all entries that have the direct counter or meter; None: `extern` is an array."""
    number = getattr(extern.spec, "direct_table_id", 0)
    if not number:
        return None
    return [
        replace(entry, action=None)
        for entry in session.handles(session.schema.tables[number].name).items().values()
    ]


def _index(extern: Any, word: str) -> int:
    return values.whole(word, 0, extern.size - 1)


def _read(session: Session, title: str, entity: Any) -> list[Step]:
    return [Read(session.place, title, entity.encode(session.schema))]


def _register_read(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern = _extern(session, "register", words[0])
    index = _index(extern, words[1]) if len(words) > 1 else None
    return _read(session, words[0], RegisterEntry(extern.name, index=index))


def _register_write(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern = _extern(session, "register", words[0])
    index = None if words[1] == "all" else _index(extern, words[1])
    return [_register(session, extern, index, _cell(words[2], _width(extern)))]


def _cell(word: str, width: int) -> int | str:
    """Returns a cell's value: of a negative number, which the CLI takes, its lowest bits."""
    if word.startswith("-") and width:
        positive = values.number(word[1:], width)
        return -int(positive) & (1 << width) - 1
    return values.number(word, width)


def _register_reset(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return [_register(session, _extern(session, "register", words[0]), None, 0)]


def _register(session: Session, extern: Any, index: int | None, value: int | str) -> Step:
    return session.write(MODIFY, RegisterEntry(extern.name, index=index, data=value))


def _width(extern: Any) -> int:
    spec = extern.spec.type_spec
    if not spec.HasField("bitstring"):
        raise ValueError(f"{extern.name} has cells of several fields, which P4Runtime writes alone")
    bits = spec.bitstring
    return int(bits.int.bitwidth or bits.bit.bitwidth or bits.varbit.max_bitwidth)


def _counter_read(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern = _extern(session, "counter", words[0])
    if (entry := _direct(session, extern, words[1])) is not None:
        return _read(
            session, f"{words[0]}[{words[1]}]", DirectCounterEntry(extern.name, table_entry=entry)
        )
    return _read(session, words[0], CounterEntry(extern.name, index=_index(extern, words[1])))


def _counter_write(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern = _extern(session, "counter", words[0])
    packets, count = values.whole(words[2]), values.whole(words[3])
    data = CounterData(byte_count=count, packet_count=packets)
    if (entry := _direct(session, extern, words[1])) is not None:
        return [
            session.write(MODIFY, DirectCounterEntry(extern.name, table_entry=entry, data=data))
        ]
    return [
        session.write(MODIFY, CounterEntry(extern.name, index=_index(extern, words[1]), data=data))
    ]


def _counter_reset(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern, data = _extern(session, "counter", words[0]), CounterData()
    if (entries := _all_direct(session, extern)) is None:
        return [session.write(MODIFY, CounterEntry(extern.name, data=data))]
    cells = [DirectCounterEntry(extern.name, table_entry=entry, data=data) for entry in entries]
    return [session.write(MODIFY, cell) for cell in cells]


def _rates(words: Sequence[str]) -> MeterConfig:
    """Returns two rates in units a microsecond, each with its burst in units."""
    rates: list[tuple[int, int]] = []
    for word in words:
        parts = _RATE.match(word)
        rate = float(parts[1]) * _MICROSECONDS if parts else math.inf
        if parts is None or not rate < _MOST:
            raise ValueError(
                f"{word!r}: write RATE:BURST, as 0.000128:9000, in units a microsecond and units"
            )
        if abs(round(rate) - rate) > _ROUNDING * rate:
            raise ValueError(
                f"{word!r}: P4Runtime has whole units a second; simple_switch_CLI sets this rate "
                "(--thrift)"
            )
        rates.append((round(rate), values.whole(parts[2])))
    (cir, cburst), (pir, pburst) = rates
    return MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


def _meter_set(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern, config = _extern(session, "meter", words[0]), _rates(words[2:])
    if (entry := _direct(session, extern, words[1])) is not None:
        return [session.write(MODIFY, DirectMeterEntry(table_entry=entry, config=config))]
    return [
        session.write(
            MODIFY, MeterEntry(extern.name, index=_index(extern, words[1]), config=config)
        )
    ]


def _meter_array_set(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern, config = _extern(session, "meter", words[0]), _rates(words[1:])
    if (entries := _all_direct(session, extern)) is not None:
        return [
            session.write(MODIFY, DirectMeterEntry(table_entry=entry, config=config))
            for entry in entries
        ]
    return [session.write(MODIFY, MeterEntry(extern.name, config=config))]


def _meter_get(session: Session, words: Sequence[str]) -> Sequence[Step]:
    extern = _extern(session, "meter", words[0])
    if (entry := _direct(session, extern, words[1])) is not None:
        return _read(session, f"{words[0]}[{words[1]}]", DirectMeterEntry(table_entry=entry))
    return _read(session, words[0], MeterEntry(extern.name, index=_index(extern, words[1])))


def _queue(session: Session, words: Sequence[str], setting: Any, least: int) -> Sequence[Step]:
    value = values.whole(words[0], least, 2**32 - 1)
    port = values.whole(words[1], 0, 511) if len(words) > 1 else None
    queue = values.whole(words[2], 0, 7) if len(words) > 2 else None
    return [Queue(session.place, setting, value, port, queue)]


def _queue_depth(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return _queue(session, words, "depth", 1)


def _queue_rate(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return _queue(session, words, "rate", 0)


def _value_set(session: Session, name: str) -> Any:
    return values.find("value set", session.schema.value_sets, name)


def _set_members(session: Session, value_set: Any, members: tuple[int, ...]) -> Sequence[Step]:
    """Members have the fields of the set one behind the other, as BMv2 has them."""
    encoded = []
    for member in members:
        fields, left = {}, sum(field.bitwidth for field in value_set.match_fields)
        for field in value_set.match_fields:
            left -= field.bitwidth
            fields[field.name] = _alone(field, member >> left & (1 << field.bitwidth) - 1)
        encoded.append(fields)
    step = session.write(MODIFY, ValueSetEntry(value_set.name, members=encoded))
    session.assign(session.value_sets, value_set.name, members)
    return [step]


def _alone(field: Any, value: int) -> Any:
    """Returns a match of this value alone, in the form of the field's kind."""
    seconds = {MatchKind.TERNARY: (1 << field.bitwidth) - 1, MatchKind.LPM: field.bitwidth}
    return (value, seconds[field.match_type]) if field.match_type in seconds else value


def _member(value_set: Any, word: str) -> int:
    return int(values.number(word, sum(field.bitwidth for field in value_set.match_fields)))


def _pvs_add(session: Session, words: Sequence[str]) -> Sequence[Step]:
    value_set = _value_set(session, words[0])
    members, member = session.value_sets.get(value_set.name, ()), _member(value_set, words[1])
    return _set_members(session, value_set, members if member in members else (*members, member))


def _pvs_remove(session: Session, words: Sequence[str]) -> Sequence[Step]:
    value_set = _value_set(session, words[0])
    member = _member(value_set, words[1])
    return _set_members(
        session,
        value_set,
        tuple(x for x in session.value_sets.get(value_set.name, ()) if x != member),
    )


def _pvs_clear(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return _set_members(session, _value_set(session, words[0]), ())


def _pvs_get(session: Session, words: Sequence[str]) -> Sequence[Step]:
    value_set = _value_set(session, words[0])
    entity = p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=value_set.id))
    return [
        Read(
            session.place,
            words[0],
            entity,
            lambda entities: [f" = {_members(value_set, entities)}"],
        )
    ]


def _members(value_set: Any, entities: Sequence[p4r.Entity]) -> str:
    shown = []
    for member in (member for entity in entities for member in entity.value_set_entry.members):
        fields, number = {field.field_id: field for field in member.match}, 0
        for field in value_set.match_fields:
            form = getattr(
                fields[field.id], fields[field.id].WhichOneof("field_match_type") or "exact"
            )
            number = number << field.bitwidth | int.from_bytes(form.value, "big")
        shown.append(f"{number:#x}")
    return ", ".join(shown) or "no members"


def _no_step(session: Session, words: Sequence[str]) -> Sequence[Step]:
    """Returns no step: ports are those of the network's links, and commands that only show or save
    something print nothing here."""
    return []


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
    "pvs_add": Command("VALUE_SET VALUE", _pvs_add, 2, 2),
    "pvs_remove": Command("VALUE_SET VALUE", _pvs_remove, 2, 2),
    "pvs_clear": Command("VALUE_SET", _pvs_clear, 1, 1),
    "pvs_get": Command("VALUE_SET", _pvs_get, 1, 1),
    "show_pvs": Command("", _no_step, 0, 0),
    "show_tables": Command("", _no_step, 0, 0),
    "show_actions": Command("", _no_step, 0, 0),
    "show_ports": Command("", _no_step, 0, 0),
    "switch_info": Command("", _no_step, 0, 0),
    "get_time_elapsed": Command("", _no_step, 0, 0),
    "get_time_since_epoch": Command("", _no_step, 0, 0),
    "table_info": Command("TABLE", _no_step, 1, 1),
    "table_show_actions": Command("TABLE", _no_step, 1, 1),
    "table_dump_entry": Command("TABLE HANDLE", _no_step, 2, 2),
    "table_dump_entry_from_key": Command("TABLE MATCH... [PRIORITY]", _no_step, 1),
    "table_dump_member": Command("TABLE MEMBER", _no_step, 2, 2),
    "table_dump_group": Command("TABLE GROUP", _no_step, 2, 2),
    "act_prof_dump_member": Command("PROFILE MEMBER", _no_step, 2, 2),
    "act_prof_dump_group": Command("PROFILE GROUP", _no_step, 2, 2),
    "write_config_to_file": Command("FILE", _no_step, 1, 1),
    "serialize_state": Command("FILE", _no_step, 1, 1),
    "port_add": Command("INTERFACE PORT [PCAP]", _no_step, 2, 3),
    "port_remove": Command("PORT", _no_step, 1, 1),
    "set_queue_depth": Command(f"PACKETS {_PORT}", _queue_depth, 1, 3),
    "set_queue_rate": Command(f"PACKETS/S {_PORT}", _queue_rate, 1, 3),
}
