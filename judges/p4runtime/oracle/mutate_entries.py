"""Mutations of table entries: keys, matches, actions, and what hangs on an entry."""

from oracle.draw import DELETE, INSERT, MODIFY, Draw
from oracle.info import EXACT, LPM, OPTIONAL, RANGE, TERNARY
from oracle.mutate import breaks, call_of, entity, field_of
from oracle.values import shortest
from pcn.base.p4rt import p4r

# ---- table entries ----


@breaks("is-const")
def _is_const(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None:
        return False
    entry.is_const = True
    return True


@breaks("priority-unset", "priority-set", "priority-negative")
def _priority(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None:
        return False
    entry.priority = draw.rng.choice((0, 1, -1, 2**31 - 1))
    return True


@breaks("default-insert", "default-delete", "default-match", "default-priority", "idle-default")
def _default(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None:
        return False
    if not entry.is_default_action:
        entry.is_default_action = True
    elif draw.rng.random() < 0.3:
        update.type = draw.rng.choice((INSERT, DELETE))
    elif draw.rng.random() < 0.3:
        entry.priority = 5
    elif draw.rng.random() < 0.5:
        entry.match.add(field_id=1).exact.value = b"\1"
    else:
        entry.idle_timeout_ns = 10**9
    return True


@breaks(
    "default-const",
    "default-const-same",
    "default-indirect",
    "default-indirect-same",
    "default-meter",
)
def _default_const(draw: Draw, update: p4r.Update) -> bool:
    tables = list(draw.info.tables.values())
    wanted = [table for table in tables if table.const_default or table.profile or table.meter]
    if not wanted:
        return False
    table = draw.rng.choice(wanted)
    update.Clear()
    update.type = MODIFY
    entry = update.entity.table_entry
    entry.table_id, entry.is_default_action = table.id, True
    if draw.rng.random() < 0.7:
        draw.fill_call(entry.action.action, table.actions, default=True)
    if table.meter:
        entry.meter_config.cir = entry.meter_config.pir = 7
    return True


@breaks("keyless-insert", "keyless-entry")
def _keyless(draw: Draw, update: p4r.Update) -> bool:
    wanted = [table for table in draw.info.tables.values() if not table.fields]
    if not wanted:
        return False
    table = draw.rng.choice(wanted)
    update.Clear()
    update.type = draw.rng.choice((INSERT, MODIFY, DELETE))
    update.entity.table_entry.table_id = table.id
    return draw.fill_action(table, update.entity.table_entry.action)


@breaks("const-table", "const-entry", "const-exists")
def _const(draw: Draw, update: p4r.Update) -> bool:
    state = draw.model.state
    held = [
        (key, entry)
        for key, entry in state.entries.items()
        if entry.const and key.match is not None
    ]
    empty = [table for table in draw.info.tables.values() if table.const and table.fields]
    if held and draw.rng.random() < 0.8:
        kind = draw.rng.choice((INSERT, MODIFY, DELETE))
        update.CopyFrom(draw.keyed(kind, *draw.rng.choice(held)))
    elif empty:
        table = draw.rng.choice(empty)
        update.Clear()
        update.type = draw.rng.choice((INSERT, DELETE))
        update.entity.table_entry.table_id = table.id
        update.entity.table_entry.match.extend(draw.matches(list(table.fields.values())))
        update.entity.table_entry.priority = 3 if table.prioritised else 0
    else:
        return False
    entry = update.entity.table_entry
    return update.type == DELETE or draw.fill_action(draw.info.tables[entry.table_id], entry.action)


# ---- matches ----


@breaks("field-unknown")
def _field_unknown(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update)
    if not matched:
        return False
    field, match, matches = matched
    (
        match
        if draw.rng.random() < 0.5 and field.kind != EXACT
        else matches.add(exact={"value": b"\1"})
    ).field_id = 99
    return True


@breaks("field-twice")
def _field_twice(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update)
    if not matched:
        return False
    matched[2].add().CopyFrom(matched[1])
    return True


@breaks("field-missing")
def _field_missing(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update, EXACT)
    if not matched:
        return False
    matched[2].remove(matched[1])
    return True


@breaks("field-empty")
def _field_empty(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update)
    if not matched:
        return False
    matched[1].ClearField(matched[1].WhichOneof("field_match_type"))
    return True


@breaks("field-kind")
def _field_kind(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update)
    if not matched:
        return False
    kind = draw.rng.choice(
        [kind for kind in (EXACT, LPM, TERNARY, RANGE, OPTIONAL) if kind != matched[0].kind]
    )
    inner = getattr(matched[1], kind)
    if kind == RANGE:
        inner.low, inner.high = b"\0", b"\1"
    else:
        inner.value = b"\1"
    if kind == LPM:
        inner.prefix_len = matched[0].width
    elif kind == TERNARY:
        inner.mask = b"\1"
    return True


@breaks("value-empty", "value-wide")
def _value(draw: Draw, update: p4r.Update) -> bool:
    call = call_of(draw, update)
    if call is not None and call.params and draw.rng.random() < 0.5:
        param = draw.rng.choice(call.params)
        width = draw.width(call, param.param_id)
        param.value = draw.rng.choice(
            (b"", shortest(2**width), shortest(2 ** (width + 9)), b"\0" + shortest(2**width))
        )
        return True
    matched = field_of(draw, update)
    if not matched or matched[0].string:
        return False
    field, match, _ = matched
    wrong = draw.rng.choice(
        (b"", shortest(2**field.width), b"\0" + shortest(2 ** (field.width + 8)))
    )
    if field.kind in (EXACT, OPTIONAL, LPM):
        getattr(match, field.kind).value = wrong
    elif field.kind == TERNARY:
        setattr(match.ternary, draw.rng.choice(("value", "mask")), wrong)
    else:
        setattr(match.range, draw.rng.choice(("low", "high")), wrong)
    return True


@breaks("lpm-length", "lpm-dont-care", "lpm-bits")
def _lpm(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update, LPM)
    if not matched:
        return False
    field, match = matched[0], matched[1].lpm
    match.prefix_len = draw.rng.choice((0, -1, field.width + 1, max(1, match.prefix_len - 1)))
    if 0 < match.prefix_len < field.width:
        match.value = shortest(
            int.from_bytes(match.value, "big") | 1 << (field.width - match.prefix_len - 1)
        )
    return True


@breaks("ternary-dont-care", "ternary-bits")
def _ternary(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update, TERNARY)
    if not matched:
        return False
    match, full = matched[1].ternary, 2 ** matched[0].width - 1
    if draw.rng.random() < 0.5:
        match.mask, match.value = bytes(draw.rng.randint(1, 3)), draw.rng.choice((b"\0", b"\1"))
    else:
        mask = draw.rng.getrandbits(matched[0].width)
        match.mask, match.value = shortest(mask), shortest(full & ~mask)
    return True


@breaks("range-order", "range-dont-care")
def _range(draw: Draw, update: p4r.Update) -> bool:
    matched = field_of(draw, update, RANGE)
    if not matched:
        return False
    match, full = matched[1].range, 2 ** matched[0].width - 1
    match.low, match.high = draw.rng.choice(
        ((shortest(full), b"\0"), (b"\2", b"\1"), (b"\0", shortest(full)))
    )
    return True


# ---- actions ----


@breaks("action-unset", "action-empty", "member-action")
def _no_action(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry", "action_profile_member")
    if entry is None or not entry.HasField("action"):
        return False
    entry.ClearField("action")
    if draw.rng.random() < 0.5 and isinstance(entry, p4r.TableEntry):
        entry.action.SetInParent()
    return True


@breaks("action-kind")
def _action_kind(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None or not entry.HasField("action"):
        return False
    kind = draw.rng.choice([field.name for field in entry.action.DESCRIPTOR.fields])
    if kind == entry.action.WhichOneof("type"):
        return False
    entry.action.Clear()
    if kind in ("action_profile_member_id", "action_profile_group_id"):
        setattr(entry.action, kind, 1)
    else:
        getattr(entry.action, kind).SetInParent()
    return True


@breaks("action-unknown", "action-scope", "member-scope")
def _action_unknown(draw: Draw, update: p4r.Update) -> bool:
    call = call_of(draw, update)
    if call is None:
        return False
    numbers = {number for table in draw.info.tables.values() for number in table.actions}
    number = draw.rng.choice((0, call.action_id ^ 1, *sorted(numbers)))
    action = next(
        (t.actions[number] for t in draw.info.tables.values() if number in t.actions), None
    )
    call.Clear()
    call.action_id = number
    for param in action.params.values() if action else ():
        call.params.add(param_id=param.id, value=b"\1")
    return True


@breaks("param-missing")
def _param_missing(draw: Draw, update: p4r.Update) -> bool:
    call = call_of(draw, update)
    if call is None or not call.params:
        return False
    del call.params[draw.rng.randrange(len(call.params))]
    return True


@breaks("param-twice")
def _param_twice(draw: Draw, update: p4r.Update) -> bool:
    call = call_of(draw, update)
    if call is None or not call.params:
        return False
    call.params.add().CopyFrom(draw.rng.choice(call.params))
    return True


@breaks("param-unknown")
def _param_unknown(draw: Draw, update: p4r.Update) -> bool:
    call = call_of(draw, update)
    if call is None:
        return False
    call.params.add(param_id=draw.rng.choice((0, 99)), value=b"\1")
    return True


# ---- what hangs on entries ----


@breaks("idle-unsupported", "idle-default", "idle-negative", "last-hit")
def _idle(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None or update.type == DELETE:
        return False
    entry.idle_timeout_ns = draw.rng.choice((0, 1, 10**9, -1))
    if not entry.idle_timeout_ns:
        entry.time_since_last_hit.SetInParent()
    return True


@breaks("counter-none", "meter-none", "colour-none", "colour", "colour-nonzero", "direct-none")
def _hung(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None or update.type == DELETE:
        return _direct_none(draw, update)
    which = draw.rng.choice(("counter_data", "meter_config", "meter_counter_data"))
    getattr(entry, which).SetInParent()
    if which == "meter_counter_data" and draw.rng.random() < 0.5:
        entry.meter_counter_data.red.packet_count = 1
    return True


def _direct_none(draw: Draw, update: p4r.Update) -> bool:
    direct, meter = (
        entity(update, "direct_counter_entry"),
        entity(update, "direct_meter_entry", "meter_entry"),
    )
    if meter is not None:
        meter.counter_data.SetInParent()
        meter.counter_data.green.byte_count = draw.rng.choice((0, 1))
        return True
    if direct is None:
        return False
    direct_meter_entry = p4r.DirectMeterEntry(table_entry=direct.table_entry)
    update.entity.direct_meter_entry.CopyFrom(direct_meter_entry)
    return True


@breaks("eburst", "single-rate", "meter-rates", "meter-negative", "count-negative")
def _numbers(draw: Draw, update: p4r.Update) -> bool:
    if update.type == DELETE:
        return False
    entry = entity(
        update, "table_entry", "meter_entry", "direct_meter_entry", "counter_entry",
        "direct_counter_entry",
    )  # fmt: skip
    for name in ("meter_config", "config"):
        if entry is not None and name in entry.DESCRIPTOR.fields_by_name and entry.HasField(name):
            which = draw.rng.choice(("eburst", "cir", "pburst"))
            setattr(getattr(entry, name), which, {"eburst": 1, "cir": 2**40, "pburst": -1}[which])
            return True
    for name in ("counter_data", "data"):
        if isinstance(getattr(entry, name, None), p4r.CounterData) and entry.HasField(name):
            data = getattr(entry, name)
            counted = [
                count_name
                for count_name in ("packet_count", "byte_count")
                if getattr(data, count_name)
            ]
            for count_name in counted:
                setattr(data, count_name, -1)
            return bool(counted)
    return False
