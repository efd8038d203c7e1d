"""A p4info of a program that came without one: what the BMv2 JSON has of it, with ids of our own.

What it lacks is what P4 sources have beside: annotations, scopes of actions, types, headers of
packet-ins and packet-outs.
"""

from __future__ import annotations

from pcn.base.aliases import aliases
from pcn.base.p4rt import p4i
from pcn.softswitch.program.model import ActionCall, Match, Program, Table

_MATCHES = {
    Match.EXACT: p4i.MatchField.EXACT,
    Match.LPM: p4i.MatchField.LPM,
    Match.TERNARY: p4i.MatchField.TERNARY,
    Match.RANGE: p4i.MatchField.RANGE,
    Match.OPTIONAL: p4i.MatchField.OPTIONAL,
}
# The upper bytes of ids, as p4c gives them (P4Ids.Prefix).
_ACTION, _TABLE, _VALUE_SET, _PROFILE = 0x01, 0x02, 0x03, 0x11
_COUNTER, _DIRECT_COUNTER, _METER, _DIRECT_METER, _REGISTER, _DIGEST = (
    0x12,
    0x13,
    0x14,
    0x15,
    0x16,
    0x17,
)


def _id(prefix: int, number: int) -> int:
    return prefix << 24 | number + 1


def describe(program: Program, *, added: bool = True) -> p4i.P4Info:
    """Returns the p4info. Names are those of the JSON, an alias is a name's shortest end that no
    other name has. `added`: with the tables that p4c adds for single actions, which its own p4info
    lacks."""
    info = p4i.P4Info(pkg_info=p4i.PkgInfo(name=program.name, arch="v1model"))
    actions = _actions(info, program)
    for number, table in enumerate(program.tables):
        _table(info, program, number, table, actions)
    for number, profile in enumerate(program.profiles):
        users = [i for i, table in enumerate(program.tables) if table.profile == number]
        info.action_profiles.add(
            preamble=_preamble(_PROFILE, number, profile.name),
            table_ids=[_id(_TABLE, i) for i in users],
            with_selector=profile.selector is not None,
            size=max((program.tables[i].size for i in users), default=1024),
        )
    for number, counter in enumerate(program.counters):
        info.counters.add(
            preamble=_preamble(_COUNTER, number, counter.name),
            spec=_both_units(),
            size=counter.size,
        )
    for number, meter in enumerate(program.meters):
        if meter.table is None:
            info.meters.add(
                preamble=_preamble(_METER, number, meter.name),
                spec=_meter(meter.bytes),
                size=meter.size,
            )
    for number, register in enumerate(program.registers):
        register_info = info.registers.add(
            preamble=_preamble(_REGISTER, number, register.name), size=register.size
        )
        register_info.type_spec.bitstring.bit.bitwidth = register.width
    for number, value_set in enumerate(program.value_sets):
        described = info.value_sets.add(
            preamble=_preamble(_VALUE_SET, number, value_set.name), size=value_set.size
        )
        for index, width in enumerate(value_set.parts, start=1):
            described.match.add(
                id=index, name=f"part{index}", bitwidth=width, match_type=p4i.MatchField.EXACT
            )
    for number, digest in enumerate(program.learn_lists):
        spec = info.digests.add(preamble=_preamble(_DIGEST, number, digest.name)).type_spec
        for field in digest.fields:
            spec.tuple.members.add().bitstring.bit.bitwidth = field.width
    preambles = [
        entity.preamble
        for field, things in info.ListFields()
        if field.name != "pkg_info"
        for entity in things
    ]
    for preamble, alias in zip(
        preambles, aliases([preamble.name for preamble in preambles]), strict=True
    ):
        preamble.alias = alias
    if not added:
        _leave_out_added(info)
    return info


def _leave_out_added(info: p4i.P4Info) -> None:
    hidden = {number for number, table in enumerate(info.tables) if _is_added(table)}
    for number in sorted(hidden, reverse=True):
        del info.tables[number]
    used = {ref.id for table in info.tables for ref in table.action_refs}
    for number in range(len(info.actions) - 1, -1, -1):
        if info.actions[number].preamble.id not in used:
            del info.actions[number]


def _is_added(table: p4i.Table) -> bool:
    """Names of a source's tables begin with their control's, or are the user's @name."""
    return (
        table.preamble.name.startswith("tbl_")
        and not table.match_fields
        and bool(table.const_default_action_id)
    )


def _actions(info: p4i.P4Info, program: Program) -> dict[str, int]:
    """Describes actions. p4c gives each table its own copy of an action: those of one name are one
    here."""
    ids: dict[str, int] = {}
    used = {number for table in program.tables for number in table.actions}
    for number in sorted(used):
        action = program.actions[number]
        if action.name in ids:
            continue
        ids[action.name] = _id(_ACTION, number)
        action_info = info.actions.add(preamble=_preamble(_ACTION, number, action.name))
        for index, parameter in enumerate(action.parameters, start=1):
            action_info.params.add(id=index, name=parameter.name, bitwidth=parameter.width)
    return ids


def _table(
    info: p4i.P4Info, program: Program, number: int, table: Table, actions: dict[str, int]
) -> None:
    table_info = info.tables.add(
        preamble=_preamble(_TABLE, number, table.name),
        size=table.size,
        is_const_table=table.has_const_entries,
        implementation_id=0 if table.profile is None else _id(_PROFILE, table.profile),
    )
    for index, field in enumerate(table.key, start=1):
        table_info.match_fields.add(
            id=index, name=field.name, bitwidth=field.width, match_type=_MATCHES[field.match]
        )
    names = dict.fromkeys(program.actions[action].name for action in table.actions)
    for name in names:
        table_info.action_refs.add(id=actions[name])
    if table.const_default and table.default is not None:
        table_info.const_default_action_id = actions.get(_name(program, table.default), 0)
    if table.idle_timeout:
        table_info.idle_timeout_behavior = p4i.Table.NOTIFY_CONTROL
    if table.direct_counter:
        counter = _id(_DIRECT_COUNTER, number)
        table_info.direct_resource_ids.append(counter)
        described = info.direct_counters.add(
            spec=_both_units(), direct_table_id=_id(_TABLE, number)
        )
        described.preamble.CopyFrom(_preamble(_DIRECT_COUNTER, number, f"{table.name}.counter"))
    if table.direct_meter is not None:
        meter = program.meters[table.direct_meter]
        table_info.direct_resource_ids.append(_id(_DIRECT_METER, number))
        metered = info.direct_meters.add(
            spec=_meter(meter.bytes), direct_table_id=_id(_TABLE, number)
        )
        metered.preamble.CopyFrom(_preamble(_DIRECT_METER, number, meter.name))


def _name(program: Program, call: ActionCall) -> str:
    return program.actions[call.action].name


def _preamble(prefix: int, number: int, name: str) -> p4i.Preamble:
    return p4i.Preamble(id=_id(prefix, number), name=name, alias=name)


def _both_units() -> p4i.CounterSpec:
    return p4i.CounterSpec(unit=p4i.CounterSpec.BOTH)


def _meter(in_bytes: bool) -> p4i.MeterSpec:
    return p4i.MeterSpec(unit=p4i.MeterSpec.BYTES if in_bytes else p4i.MeterSpec.PACKETS)
