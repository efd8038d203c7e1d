"""Reads that select something, and reads of missing entities: sections 9.1.6 and 13."""

from collections import Counter
from collections.abc import Iterator, Sequence

from google.protobuf import text_format

from oracle.draw import Draw
from oracle.known import Finding
from oracle.readback import Query, differences, observe
from oracle.rules import INVALID, NOT_FOUND, OK, RANGE
from oracle.state import Entry, EntryKey
from pcn.base.p4rt import p4r

MOST = 4  # queries of a batch
LARGE = 64  # cells of an array that is not read as a whole


Answered = tuple[list[Query], list[p4r.Entity], Sequence[p4r.Error]]


def draw_queries(draw: Draw) -> list[Query]:
    """A batch of queries, for the state that the model is in. They don't overlap: what two of them
    select may be answered once or twice (13.3)."""
    kinds = [_empty, _replication]
    if draw.info.tables:
        kinds += [_all_tables, _table, _table, _entry, _entry, _direct, _unknown_table]
    if draw.info.profiles:
        kinds += [_all_profiles, _profile, _profile]
    if any(draw.model.cells.arrays.values()):
        kinds += [_cells, _cells]
    if draw.info.value_sets:
        kinds.append(_value_set)
    if draw.info.digests:
        kinds.append(_digest)
    drawn: list[Query] = []
    for _ in range(MOST):
        query = draw.rng.choice(kinds)(draw)
        if query is not None and not any(
            query.selects.keys() & earlier.selects.keys() for earlier in drawn
        ):
            drawn.append(query)
    return drawn


def refused(queries: list[Query], errors: Sequence[p4r.Error]) -> Iterator[Finding]:
    """The queries whose outcome is another one than it may be."""
    for query, error in zip(queries, errors, strict=True):
        code = error.canonical_code
        if code not in query.codes:
            text = f"a query ended with code {code}, not {sorted(query.codes)}: {error.message}"
            yield Finding(text, _line(query.entity), (_name(query.entity),), code)


def wrong(
    queries: list[Query], entities: list[p4r.Entity], errors: Sequence[p4r.Error]
) -> Iterator[Finding]:
    """What is wrong with an answer, and the query that it is wrong of."""
    yield from refused(queries, errors)
    answered = [
        query for query, error in zip(queries, errors, strict=True) if error.canonical_code == OK
    ]
    want = {key: value for query in answered for key, value in query.selects.items()}
    have = [observe(entity) for entity in entities]
    query_lines = " ".join(_line(query.entity) for query in queries) if len(queries) <= MOST else ""
    for key, count in Counter(key for key, _ in have).items():
        if count > 1:
            yield Finding(f"{key} is answered {count} times", query_lines, (f"repeated {key[0]}",))
    by = " by a filter" if any(_filtered(query.entity.table_entry) for query in queries) else ""
    for finding in differences(want, dict(have)):
        yield finding._replace(
            message=query_lines, names=tuple(f"{name}{by}" for name in finding.names)
        )


def _filtered(message: p4r.TableEntry) -> bool:
    """Whether a query selects entries of a table by something else than their key."""
    whole = not message.match and not message.is_default_action
    return whole and bool(
        message.HasField("action")
        or message.priority
        or message.controller_metadata
        or message.metadata
    )


def _line(entity: p4r.Entity) -> str:
    return text_format.MessageToString(entity, as_one_line=True)


def _name(entity: p4r.Entity) -> str:
    """What a Difference calls a query."""
    if entity.HasField("table_entry") and not entity.table_entry.table_id:
        return "read all tables"
    if entity.table_entry.match and not entity.table_entry.priority:
        return "read by match without a priority"
    return f"read {entity.WhichOneof('entity') or 'nothing'}"


def _choices(*codes: int) -> frozenset[int]:
    return frozenset(codes)


def _shown(entry: Entry, *, counter: bool = False, meter: bool = False) -> Entry:
    """An entry as in an answer, with or without a request for its counter or meter."""
    return entry._replace(
        counter=entry.counter if counter else None, meter=entry.meter if meter else None
    )


def _empty(draw: Draw) -> Query:
    return Query(p4r.Entity(), {}, _choices(INVALID))


def _unknown_table(draw: Draw) -> Query:
    return Query(p4r.Entity(table_entry={"table_id": 1}), {}, _choices(INVALID, NOT_FOUND))


def _all_tables(draw: Draw) -> Query:
    entity = p4r.Entity()
    counter, meter = draw.rng.random() < 0.5, draw.rng.random() < 0.5
    if counter:
        entity.table_entry.counter_data.SetInParent()
    if meter:
        entity.table_entry.meter_config.SetInParent()
    entity.table_entry.SetInParent()
    held = {key: entry for key, entry in draw.model.state.entries.items() if key.match is not None}
    return Query(
        entity, {("entry", k): _shown(e, counter=counter, meter=meter) for k, e in held.items()}
    )


def _table(draw: Draw) -> Query:
    """A table's entries, by what 9.1.6 lets a client filter them."""
    table = draw.rng.choice(list(draw.info.tables.values()))
    entity = p4r.Entity()
    query = entity.table_entry
    query.table_id = table.id
    held = dict(draw.model.state.of_table(table.id))
    by = draw.rng.choice(
        ("nothing", "action", "priority", "cookie", "metadata", "counter", "meter", "time")
    )
    if by == "action" and table.actions and not table.profile:
        query.action.action.action_id = draw.rng.choice(list(table.actions))
        number = query.action.action.action_id
        held = {
            key: entry for key, entry in held.items() if entry.action and entry.action[1] == number
        }
    elif by == "priority" and table.prioritised:
        query.priority = draw.rng.choice((1, 2, 100))
        held = {key: entry for key, entry in held.items() if key.priority == query.priority}
    elif by == "cookie":
        query.controller_metadata = 1
        held = {key: entry for key, entry in held.items() if entry.controller_metadata == 1}
    elif by == "metadata":
        query.metadata = b"cookie"
        held = {key: entry for key, entry in held.items() if entry.metadata == b"cookie"}
    elif by == "time":
        query.time_since_last_hit.SetInParent()
        if not table.idle:
            return Query(entity, {}, _choices(INVALID))
    counter, meter = by == "counter", by == "meter"
    if counter:
        query.counter_data.SetInParent()
    if meter:
        query.meter_config.SetInParent()
    return Query(
        entity, {("entry", k): _shown(e, counter=counter, meter=meter) for k, e in held.items()}
    )


def _entry(draw: Draw) -> Query | None:
    """One entry by its key: an existing one, one without its priority, or a missing one."""
    drawn = _some_entry(draw)
    if drawn is None:
        return None
    key, entry = drawn
    query = draw.keyed(p4r.Update.UNSPECIFIED, key, entry).entity
    if not key.match:
        return None  # it would be a query for all
    message = query.table_entry
    kind = draw.rng.random()
    if kind < 0.3:
        same = {k: e for k, e in draw.model.state.of_table(key.table) if k.match == key.match}
        message.priority = 0
        return Query(query, {("entry", k): _shown(e) for k, e in same.items()})
    if kind < 0.5 and message.priority:
        message.priority = 77
        return Query(query, {}, _choices(OK, NOT_FOUND))
    return Query(query, {("entry", key): _shown(entry)})


def _direct(draw: Draw) -> Query | None:
    drawn = _some_entry(draw)
    if drawn is None:
        return None
    key, entry = drawn
    table, name = draw.info.tables[key.table], draw.rng.choice(("counter", "meter"))
    if not key.match:
        return None
    query = p4r.Entity()
    message = getattr(query, f"direct_{name}_entry")
    message.table_entry.CopyFrom(draw.keyed(p4r.Update.UNSPECIFIED, key, entry).entity.table_entry)
    if not getattr(table, name):
        return Query(query, {}, _choices(INVALID, NOT_FOUND))
    if message.table_entry.priority and draw.rng.random() < 0.3:
        message.table_entry.priority = 77
        return Query(query, {}, _choices(NOT_FOUND))
    return Query(query, {(f"direct {name}", key): getattr(entry, name)})


def _some_entry(draw: Draw) -> tuple[EntryKey, Entry] | None:
    held = [
        (key, entry) for key, entry in draw.model.state.entries.items() if key.match is not None
    ]
    return draw.rng.choice(held) if held else None


def _all_profiles(draw: Draw) -> Query:
    kind = draw.rng.choice(("member", "group"))
    query = p4r.Entity()
    getattr(query, f"action_profile_{kind}").SetInParent()
    held = draw.model.state.members if kind == "member" else draw.model.state.groups
    return Query(query, {(kind, key): value for key, value in held.items()})


def _profile(draw: Draw) -> Query:
    """Members or groups: all of a profile, one, or a missing one."""
    profile = draw.rng.choice(list(draw.info.profiles.values()))
    kind = draw.rng.choice(("member", "group"))
    state = draw.model.state.members if kind == "member" else dict(draw.model.state.groups)
    held = {(kind, key): value for key, value in state.items() if key[0] == profile.id}
    query = p4r.Entity()
    message = getattr(query, f"action_profile_{kind}")
    message.action_profile_id = profile.id
    if draw.rng.random() < 0.4:
        return Query(query, held)
    number = draw.rng.choice([key[1] for _, key in held] or [77])
    setattr(message, f"{kind}_id", number)
    selected = {key: value for key, value in held.items() if key[1] == (profile.id, number)}
    return Query(query, selected, _choices(OK) if selected else _choices(OK, NOT_FOUND))


def _cells(draw: Draw) -> Query | None:
    array_kind = draw.rng.choice(
        [array_kind for array_kind, arrays in draw.model.cells.arrays.items() if arrays]
    )
    array = draw.rng.choice(list(draw.model.cells.arrays[array_kind].values()))
    if array.form == "other":
        return None
    query = p4r.Entity()
    message = getattr(query, f"{array_kind}_entry")
    setattr(message, f"{array_kind}_id", array.id)
    if draw.rng.random() < 0.3 and array.size <= LARGE:
        cells = [(array_kind, array.id, index) for index in range(array.size)]
        return Query(query, {("cell", cell): draw.model.cells.value(*cell) for cell in cells})
    message.index.index = draw.rng.choice((0, array.size - 1, -1, array.size))
    index = message.index.index
    if index < 0:
        return Query(query, {}, _choices(INVALID))
    if index >= array.size:
        return Query(query, {}, _choices(RANGE))
    return Query(
        query,
        {
            ("cell", (array_kind, array.id, index)): draw.model.cells.value(
                array_kind, array.id, index
            )
        },
    )


def _value_set(draw: Draw) -> Query:
    query = p4r.Entity()
    query.value_set_entry.value_set_id = draw.rng.choice((0, *draw.info.value_sets))
    wanted = [n for n in draw.info.value_sets if query.value_set_entry.value_set_id in (0, n)]
    return Query(
        query, {("value set", n): draw.model.state.value_sets.get(n, frozenset()) for n in wanted}
    )


def _digest(draw: Draw) -> Query:
    number, held = draw.rng.choice(draw.info.digests), draw.model.state.digests
    selected = {("digest", number): held[number]} if number in held else {}
    return Query(
        p4r.Entity(digest_entry={"digest_id": number}),
        selected,
        _choices(OK) if selected else _choices(OK, NOT_FOUND),
    )


def _replication(draw: Draw) -> Query:
    query, model = p4r.Entity(), draw.model
    engine = query.packet_replication_engine_entry
    multicast = draw.rng.random() < 0.5
    held = model.state.multicasts if multicast else model.state.sessions
    number = draw.rng.choice((*held, 77))
    if multicast:
        engine.multicast_group_entry.multicast_group_id = number
        engine.multicast_group_entry.metadata = b"ignored"
    else:
        engine.clone_session_entry.session_id = number
        engine.clone_session_entry.class_of_service = 3
    selected = (
        {("multicast" if multicast else "session", number): held[number]} if number in held else {}
    )
    return Query(query, selected, _choices(OK) if selected else _choices(OK, NOT_FOUND))
