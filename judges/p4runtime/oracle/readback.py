"""Everything that a server holds, read and compared with what the model holds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from oracle.cells import COUNTER, METER, REGISTER, answered
from oracle.forms import call_form, count_form, match_form, meter_form
from oracle.info import Info, Table
from oracle.known import Finding
from oracle.model import Model
from oracle.profiles import group_form, reference_form
from oracle.replication import multicast_form, session_form
from oracle.rules import OK
from oracle.sets import digest_form
from oracle.state import Entry, EntryKey
from oracle.values import stripped
from pcn.base.p4rt import p4r

WHOLE = 16  # cells of a larger array are looked at where something was written, and at its ends
Observed = dict[tuple[Any, ...], Any]


class Query(NamedTuple):
    """A query, what it selects, and the codes that may be its outcome."""

    entity: p4r.Entity
    selects: Observed
    codes: frozenset[int] = frozenset((OK,))


def queries(model: Model) -> list[Query]:
    """All that a server has to hold, by wildcards; but of arrays the cells that matter."""
    info, state = model.info, model.state
    wanted = [
        Query(
            p4r.Entity(packet_replication_engine_entry={"multicast_group_entry": {}}),
            _all("multicast", state.multicasts),
        ),
        Query(
            p4r.Entity(packet_replication_engine_entry={"clone_session_entry": {}}),
            _all("session", state.sessions),
        ),
    ]
    for table in info.tables.values():
        wanted += _of_table(model, table)
    for number in info.profiles:
        members, groups = (
            {key: held[key] for key in held if key[0] == number}
            for held in (state.members, state.groups)
        )
        wanted.append(
            Query(
                p4r.Entity(action_profile_member={"action_profile_id": number}),
                _all("member", members),
            )
        )
        wanted.append(
            Query(
                p4r.Entity(action_profile_group={"action_profile_id": number}),
                _all("group", groups),
            )
        )
    for number in info.value_sets:
        entity = p4r.Entity(value_set_entry={"value_set_id": number})
        wanted.append(
            Query(entity, {("value set", number): state.value_sets.get(number, frozenset())})
        )
    for number, form in state.digests.items():
        wanted.append(
            Query(p4r.Entity(digest_entry={"digest_id": number}), {("digest", number): form})
        )
    return wanted + [
        Query(_cell(*cell), {("cell", cell): model.cells.value(*cell)}) for cell in _cells(model)
    ]


def _of_table(model: Model, table: Table) -> Iterator[Query]:
    entries, default = p4r.Entity(), p4r.Entity()
    entries.table_entry.table_id = default.table_entry.table_id = table.id
    entries.table_entry.counter_data.SetInParent()
    entries.table_entry.meter_config.SetInParent()
    default.table_entry.is_default_action = True
    default.table_entry.counter_data.SetInParent()
    default.table_entry.meter_config.SetInParent()
    held, key = dict(model.state.of_table(table.id)), EntryKey(table.id, None, 0)
    yield Query(entries, _all("entry", held))
    yield Query(
        default, {("entry", key): model.state.entries[key]} if key in model.state.entries else {}
    )
    if table.counter:
        counters = {key: entry.counter for key, entry in held.items()}
        yield Query(
            p4r.Entity(direct_counter_entry={"table_entry": {"table_id": table.id}}),
            _all("direct counter", counters),
        )
    if table.meter:
        meters = {key: entry.meter for key, entry in held.items()}
        yield Query(
            p4r.Entity(direct_meter_entry={"table_entry": {"table_id": table.id}}),
            _all("direct meter", meters),
        )


def _all(kind: str, held: Mapping[Any, Any]) -> Observed:
    return {(kind, key): value for key, value in held.items()}


def _cells(model: Model) -> Iterable[tuple[str, int, int]]:
    wanted = dict.fromkeys(model.state.cells)
    for array_kind, number in model.state.whole:
        size = model.cells.arrays[array_kind][number].size
        wanted.update(
            dict.fromkeys(
                (array_kind, number, i)
                for i in (range(size) if size <= WHOLE else (0, 1, size - 1))
            )
        )
    return wanted


def _cell(array_kind: str, number: int, index: int) -> p4r.Entity:
    entity = p4r.Entity()
    entry = {
        COUNTER: entity.counter_entry,
        METER: entity.meter_entry,
        REGISTER: entity.register_entry,
    }[array_kind]
    setattr(entry, f"{array_kind}_id", number)
    entry.index.index = index
    return entity


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
        return ("group", (group.action_profile_id, group.group_id)), group_form(group)
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
            multicast = engine.multicast_group_entry
            return ("multicast", multicast.multicast_group_id), multicast_form(multicast)
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


def differences(want: Observed, have: Observed) -> Iterator[Finding]:
    """What is missing, what is too much, what is not as it should be."""
    if want == have:
        return
    for key in want.keys() | have.keys():
        if key not in have:
            yield Finding(f"{key} is missing: {want[key]}", "", (f"missing {key[0]}",))
        elif key not in want:
            yield Finding(f"{key} should not be there: {have[key]}", "", (f"extra {key[0]}",))
        elif want[key] != have[key]:
            name = f"{key[1][0]} cell" if key[0] == "cell" else key[0]
            name = "default entry" if name == "entry" and key[1].match is None else name
            text = f"{key} is {have[key]}, not {want[key]}"
            yield Finding(text, "", tuple(_differing(name, want[key], have[key])))


def _differing(subject: str, want, have) -> Iterator[str]:
    """Names of what is not as it should be: fields where there are some, and whether strings have
    too many zeros."""
    parts = [(subject, want, have)]
    if isinstance(want, tuple) and hasattr(want, "_fields") and type(want) is type(have):
        parts = [
            (f"{subject} {name}", *both)
            for name, *both in zip(want._fields, want, have, strict=True)
        ]
    for name, expected, actual in parts:
        if expected == actual:
            continue
        if actual == (0, 0):
            yield f"zeroed {name}"
        else:
            yield f"padded {name}" if _shortened(expected) == _shortened(actual) else name


def _shortened(form):
    """The same without zeros in front of strings, in any order."""
    if isinstance(form, tuple):
        return sorted(map(_shortened, form), key=repr)
    return stripped(form) if isinstance(form, bytes) and form else form


def adopt(model: Model, observed: Observed) -> Iterator[Finding]:
    """Takes what a fresh pipeline holds as the start: a p4info doesn't list initial entries. Yields
    what can't be."""
    info = model.info
    for (kind, key), value in observed.items():
        if kind == "value set" and not value:
            continue
        if kind == "entry":
            yield from _initial_wrong(info, key, value)
            model.state.entries[key] = value
            if key.match is None:
                model.tables.initial[key.table] = value.action
        elif not kind.startswith("direct"):
            yield Finding(f"a fresh pipeline has {kind} {key}: {value}", "", (f"extra {kind}",))


def _initial_wrong(info: Info, key: EntryKey, entry: Entry) -> Iterator[Finding]:
    table = info.tables[key.table]
    if key.match is None:
        if (
            table.default_action
            and (entry.action or (0, 0))[1] != table.default_action
            and not table.profile
        ):
            text = (
                f"table {table.name}: the default action is {entry.action}, not "
                f"{table.default_action}"
            )
            yield Finding(text, "", ("entry action",))
        if entry.const != table.const_default:
            text = f"table {table.name}: is_const of its default entry is {entry.const}"
            yield Finding(text, "", ("entry const",))
    elif not table.initial_entries:
        yield Finding(f"table {table.name} has no initial entries, but {key}", "", ("extra entry",))
    elif table.const and not entry.const:
        yield Finding(f"table {table.name} is const, its entry {key} isn't", "", ("entry const",))
