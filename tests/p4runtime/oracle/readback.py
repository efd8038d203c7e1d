"""Everything that a server holds, read and compared with what the model holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from finsy.proto import p4r

from oracle.cells import COUNTER, METER, REGISTER, answered
from oracle.forms import call_form, count_form, group_form, match_form, meter_form
from oracle.info import Info
from oracle.model import Model
from oracle.profiles import reference_form
from oracle.replication import multicast_form, session_form
from oracle.sets import digest_form
from oracle.state import Entry, EntryKey

WHOLE = 16  # cells of a larger array are looked at where something was written, and at its ends
Found = dict[tuple[Any, ...], Any]


def queries(model: Model) -> list[p4r.Entity]:
    """What to read: wildcards, but for arrays, of which the cells that matter."""
    info = model.info
    everything = p4r.Entity()
    everything.table_entry.counter_data.SetInParent()
    everything.table_entry.meter_config.SetInParent()
    wanted = [everything, p4r.Entity(action_profile_member={}), p4r.Entity(action_profile_group={})]
    for table in info.tables.values():
        default = p4r.Entity()
        default.table_entry.table_id, default.table_entry.is_default_action = table.id, True
        default.table_entry.counter_data.SetInParent()
        wanted.append(default)
        if table.counter:
            wanted.append(p4r.Entity(direct_counter_entry={"table_entry": {"table_id": table.id}}))
        if table.meter:
            wanted.append(p4r.Entity(direct_meter_entry={"table_entry": {"table_id": table.id}}))
    wanted.append(p4r.Entity(packet_replication_engine_entry={"multicast_group_entry": {}}))
    wanted.append(p4r.Entity(packet_replication_engine_entry={"clone_session_entry": {}}))
    wanted += [p4r.Entity(value_set_entry={"value_set_id": number}) for number in info.value_sets]
    wanted += [p4r.Entity(digest_entry={})] if info.digests else []
    return wanted + [_cell(*cell) for cell in _cells(model)]


def _cells(model: Model) -> Iterable[tuple[str, int, int]]:
    wanted = dict.fromkeys(model.state.cells)
    for what, number in model.state.whole:
        size = model.cells.arrays[what][number].size
        wanted.update(dict.fromkeys((what, number, i) for i in (range(size) if size <= WHOLE else (0, 1, size - 1))))
    return wanted


def _cell(what: str, number: int, index: int) -> p4r.Entity:
    entity = p4r.Entity()
    entry: Any = {
        COUNTER: entity.counter_entry,
        METER: entity.meter_entry,
        REGISTER: entity.register_entry,
    }[what]
    setattr(entry, f"{what}_id", number)
    entry.index.index = index
    return entity


def expected(model: Model) -> Found:
    """What the answer to `queries` has to be."""
    state, tables = model.state, model.info.tables
    found: Found = {("entry", key): entry for key, entry in state.entries.items()}
    for key, entry in state.entries.items():
        if key.match is not None and tables[key.table].counter:
            found["direct counter", key] = entry.counter
        if key.match is not None and tables[key.table].meter:
            found["direct meter", key] = entry.meter
    found.update({("member", key): form for key, form in state.members.items()})
    found.update({("group", key): form for key, form in state.groups.items()})
    found.update({("multicast", key): form for key, form in state.multicasts.items()})
    found.update({("session", key): form for key, form in state.sessions.items()})
    found.update({("value set", key): state.value_sets.get(key, frozenset()) for key in model.info.value_sets})
    found.update({("digest", key): form for key, form in state.digests.items()})
    found.update({("cell", cell): model.cells.value(*cell) for cell in _cells(model)})
    return found


def observed(entities: Iterable[p4r.Entity]) -> tuple[Found, list[str]]:
    """What a server answered, and what no answer may hold: something twice."""
    found: Found = {}
    wrong: list[str] = []
    for entity in entities:
        key, value = observe(entity)
        if key in found:
            wrong.append(f"{key} is answered twice")
        found[key] = value
    return found, wrong


def observe(entity: p4r.Entity) -> tuple[tuple[Any, ...], Any]:
    """What one entity of an answer is, and what it holds, in the server's own strings."""
    which = entity.WhichOneof("entity")
    if which == "table_entry":
        return ("entry", _entry_key(entity.table_entry)), _entry(entity.table_entry)
    if which == "direct_counter_entry":
        counter = entity.direct_counter_entry
        return ("direct counter", _entry_key(counter.table_entry)), count_form(counter.data)
    if which == "direct_meter_entry":
        meter = entity.direct_meter_entry
        config = meter_form(meter.config) if meter.HasField("config") else None
        return ("direct meter", _entry_key(meter.table_entry)), config
    if which == "action_profile_member":
        member = entity.action_profile_member
        return ("member", (member.action_profile_id, member.member_id)), call_form(member.action)
    if which == "action_profile_group":
        group = entity.action_profile_group
        return ("group", (group.action_profile_id, group.group_id)), (group.max_size, group_form(group))
    if which == "value_set_entry":
        members = entity.value_set_entry.members
        forms = frozenset(match_form(member.match) for member in members)
        assert len(forms) == len(members)
        return ("value set", entity.value_set_entry.value_set_id), forms
    if which == "digest_entry":
        return ("digest", entity.digest_entry.digest_id), digest_form(entity.digest_entry)
    if which == "packet_replication_engine_entry":
        engine = entity.packet_replication_engine_entry
        if engine.HasField("multicast_group_entry"):
            found = engine.multicast_group_entry
            return ("multicast", found.multicast_group_id), multicast_form(found)
        session = engine.clone_session_entry
        return ("session", session.session_id), session_form(session)
    if which in ("counter_entry", "meter_entry", "register_entry"):
        cell, value = answered(getattr(entity, which))
        return ("cell", cell), value
    return ("unexpected", str(entity)), None


def _entry_key(message: p4r.TableEntry) -> EntryKey:
    if message.is_default_action:
        return EntryKey(message.table_id, None, message.priority)
    return EntryKey(message.table_id, match_form(message.match), message.priority)


def _entry(message: p4r.TableEntry) -> Entry:
    action = None
    if message.action.WhichOneof("type") == "action":
        action = call_form(message.action.action)
    elif message.HasField("action"):
        action = reference_form(message.action, {})
    return Entry(
        action=action,
        controller_metadata=message.controller_metadata,
        metadata=message.metadata,
        idle=message.idle_timeout_ns,
        counter=count_form(message.counter_data) if message.HasField("counter_data") else None,
        meter=meter_form(message.meter_config) if message.HasField("meter_config") else None,
        const=message.is_const,
    )


def differences(want: Found, have: Found) -> Iterator[str]:
    """What is missing, what is too much, what is not as it should be."""
    if want == have:
        return
    for key in want.keys() | have.keys():
        if key not in have:
            yield f"{key} is missing: {want[key]}"
        elif key not in want:
            yield f"{key} should not be there: {have[key]}"
        elif want[key] != have[key]:
            yield f"{key} is {have[key]}, not {want[key]}"


def adopt(model: Model, found: Found) -> Iterator[str]:
    """Takes what a fresh pipeline holds as the start: a p4info doesn't list initial entries. Yields what can't be."""
    info: Info = model.info
    for (what, key), value in found.items():
        if what == "value set" and not value:
            continue
        if what == "entry":
            yield from _initial_wrong(info, key, value)
            model.state.entries[key] = value
            if key.match is None:
                model.tables.initial[key.table] = value.action
        elif not what.startswith("direct"):
            yield f"a fresh pipeline has {what} {key}: {value}"


def _initial_wrong(info: Info, key: EntryKey, entry: Entry) -> Iterator[str]:
    table = info.tables[key.table]
    if key.match is None:
        if table.default_action and (entry.action or (0, 0))[1] != table.default_action and not table.profile:
            yield f"table {table.name}: the default action is {entry.action}, not {table.default_action}"
        if entry.const != table.const_default:
            yield f"table {table.name}: is_const of its default entry is {entry.const}"
    elif not table.initial_entries:
        yield f"table {table.name} has no initial entries, but {key}"
    elif table.const and not entry.const:
        yield f"table {table.name} is const, its entry {key} isn't"
