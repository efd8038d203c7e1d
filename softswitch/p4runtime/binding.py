"""Joins a p4info with the program it describes: ids on one side, C's indices on the other, by name.

Source: names are those of p4c, which writes the same ones into the p4info and the BMv2 JSON; keys
and parameters have the same order in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from pcn.base.p4rt import p4i
from pcn.softswitch.p4runtime import p4data, schema
from pcn.softswitch.p4runtime.actions import to_words
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, UNIMPLEMENTED, RpcError
from pcn.softswitch.p4runtime.p4data import MAX_WIDTH, Types
from pcn.softswitch.p4runtime.replication import MAX_GROUP
from pcn.softswitch.p4runtime.translation import Translations
from pcn.softswitch.program import model

_MATCHES = {
    p4i.MatchField.EXACT: schema.Match.EXACT,
    p4i.MatchField.LPM: schema.Match.LPM,
    p4i.MatchField.TERNARY: schema.Match.TERNARY,
    p4i.MatchField.RANGE: schema.Match.RANGE,
    p4i.MatchField.OPTIONAL: schema.Match.OPTIONAL,
}
MAX_THINGS = 1 << 16  # tables, actions and the like of a p4info
_KINDS = {model.Match.EXACT: schema.Kind.EXACT, model.Match.LPM: schema.Kind.LPM}


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def bind(info: p4i.P4Info, program: model.Program) -> schema.Schema:
    """Returns the schema of a program. Raises RpcError INVALID_ARGUMENT if p4info and program do
    not belong together.

    What p4c describes in the p4info and then optimises away stays without effect: it is in the
    schema's `missing`.
    """
    wanted = info.pkg_info.platform_properties.multicast_group_table_size
    if wanted > MAX_GROUP:
        raise RpcError(
            INVALID_ARGUMENT,
            f"the p4info requires {wanted} multicast groups; the switch has {MAX_GROUP}",
        )
    _check_unique(info)
    types = Translations(info)
    values = Types(info)
    actions = {action.preamble.id: action for action in info.actions}
    profiles = _by_name(program.profiles)
    value_sets = _by_name(program.value_sets)
    counters = _by_name(program.counters)
    registers = _by_name(program.registers)
    meters = _by_name(program.meters)
    tables = _by_name(program.tables)
    lists = _by_name(program.learn_lists)
    headers = {
        header.preamble.name: _header(types, header, program)
        for header in info.controller_packet_metadata
    }
    described = (
        (info.tables, tables),
        (info.action_profiles, profiles),
        (info.value_sets, value_sets),
        (info.counters, counters),
        (info.registers, registers),
        (info.meters, meters),
        (info.digests, lists),
    )
    named = [
        (thing.preamble, thing.preamble.name in of_program)
        for things, of_program in described
        for thing in things
    ]
    # what p4c adds itself has plain names
    qualified = any("." in name for _, of_program in described for name in of_program)
    if qualified and named and not any(present for _, present in named):
        raise RpcError(
            INVALID_ARGUMENT,
            f"the program has nothing of what the p4info describes (as {named[0][0].name}): "
            "are both from one compilation?",
        )
    bound = {
        t.preamble.id: _table(info, types, t, actions, program, *tables[t.preamble.name])
        for t in info.tables
        if t.preamble.name in tables
    }
    return schema.Schema(
        p4info=info,
        missing={preamble.id: preamble.name for preamble, present in named if not present},
        tables=bound,
        profiles={
            p.preamble.id: _profile(p, profiles[p.preamble.name], bound)
            for p in info.action_profiles
            if p.preamble.name in profiles
        },
        value_sets={
            v.preamble.id: _value_set(types, v, len(program.tables), *value_sets[v.preamble.name])
            for v in info.value_sets
            if v.preamble.name in value_sets
        },
        counters=_arrays(info.counters, counters),
        registers={
            r.preamble.id: _register(values, r, *registers[r.preamble.name])
            for r in info.registers
            if r.preamble.name in registers
        },
        meters=_arrays(info.meters, meters),
        digests={
            d.preamble.id: _digest(values, d, lists[d.preamble.name][1])
            for d in info.digests
            if d.preamble.name in lists
        },
        packet_in=headers.get("packet_in", ()),
        packet_out=headers.get("packet_out", ()),
    )


def _check_unique(info: p4i.P4Info) -> None:
    """Raises RpcError INVALID_ARGUMENT where an id or a name stands for two things, or there are
    too many of them."""
    described = [
        (field.name, things)
        for field, things in info.ListFields()
        if field.message_type is not None and "preamble" in field.message_type.fields_by_name
    ]
    total = sum(len(things) for _, things in described)
    if total > MAX_THINGS:
        raise RpcError(
            INVALID_ARGUMENT, f"the p4info describes {total} things; {MAX_THINGS} may be"
        )
    preambles = [(kind, thing.preamble) for kind, things in described for thing in things]
    _check_once("the p4info", "id", (preamble.id for _, preamble in preambles))
    _check_once("the p4info", "name", (f"{kind} {preamble.name}" for kind, preamble in preambles))
    for table in info.tables:
        where = f"table {table.preamble.name}"
        _check_once(where, "match field", (field.id for field in table.match_fields))
        _check_once(where, "action", (ref.id for ref in table.action_refs))
    for value_set in info.value_sets:
        _check_once(
            f"value set {value_set.preamble.name}",
            "match field",
            (field.id for field in value_set.match),
        )
    for action in info.actions:
        _check_once(
            f"action {action.preamble.name}", "parameter", (param.id for param in action.params)
        )
    for header in info.controller_packet_metadata:
        _check_once(header.preamble.name, "metadata field", (field.id for field in header.metadata))


def _check_once(where: str, kind: str, keys: Iterable[int | str]) -> None:
    seen: set[int | str] = set()
    for key in keys:
        if key in seen:
            raise RpcError(INVALID_ARGUMENT, f"{where} has the {kind} {key} twice")
        seen.add(key)


def _by_name(things: Iterable[N]) -> dict[str, tuple[int, N]]:
    return {thing.name: (index, thing) for index, thing in enumerate(things)}


def _table(
    info: p4i.P4Info,
    types: Translations,
    described: p4i.Table,
    described_actions: Mapping[int, p4i.Action],
    program: model.Program,
    index: int,
    table: model.Table,
) -> schema.Table:
    name = described.preamble.name
    if len(described.match_fields) != len(table.key):
        raise RpcError(
            INVALID_ARGUMENT,
            f"table {name} has {len(table.key)} keys in the program, not in the p4info",
        )
    by_name = {program.actions[number].name: number for number in table.actions}
    actions = {}
    for ref in described.action_refs:
        if ref.id not in described_actions:
            raise RpcError(
                INVALID_ARGUMENT, f"table {name}: the p4info has no action with id {ref.id}"
            )
        action = _action(
            types, described_actions[ref.id], ref.scope, by_name, program.actions, name
        )
        actions[ref.id] = action
    profile = None if table.profile is None else program.profiles[table.profile].name
    names = {0: None, **{p.preamble.id: p.preamble.name for p in info.action_profiles}}
    if names.get(described.implementation_id, "") != profile:
        raise RpcError(
            INVALID_ARGUMENT, f"table {name}: p4info and program differ in its action profile"
        )
    direct_counters = {counter.preamble.id for counter in info.direct_counters}
    direct_meters = {meter.preamble.id: meter for meter in info.direct_meters}
    resources = described.direct_resource_ids
    counter = next((number for number in resources if number in direct_counters), 0)
    meter = next((number for number in resources if number in direct_meters), 0)
    if (counter and not table.direct_counter) or (meter and table.direct_meter is None):
        raise RpcError(
            INVALID_ARGUMENT, f"table {name} has no such direct counter or meter in the program"
        )
    const = described.is_const_table or (
        table.has_const_entries and not described.has_initial_entries
    )
    return schema.Table(
        id=described.preamble.id,
        name=name,
        c_index=index,
        kind=_KINDS.get(table.kind, schema.Kind.MASKED),
        fields=tuple(
            _key_field(types, name, a, b)
            for a, b in zip(described.match_fields, table.key, strict=True)
        ),
        actions=actions,
        by_index={action.c_index: action for action in actions.values()},
        size=table.size,
        const=const,
        const_default=bool(described.const_default_action_id) or table.const_default,
        default_action=None if table.default is None else table.default.action,
        default_args=() if table.default is None else _words(program, table.default),
        initial=_initial(program, table, const),
        direct_counter=counter,
        direct_meter=meter,
        single_rate=bool(meter) and _single_rate(direct_meters[meter]),
        idle_timeout=table.idle_timeout
        and described.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
        profile=described.implementation_id,
    )


def _profile(
    described: p4i.ActionProfile,
    numbered: tuple[int, model.ActionProfile],
    tables: Mapping[int, schema.Table],
) -> schema.Profile:
    index, profile = numbered
    name = described.preamble.name
    if described.with_selector != (profile.selector is not None):
        raise RpcError(
            INVALID_ARGUMENT,
            f"action profile {name}: only one of p4info and program has a selector",
        )
    users = [table for table in tables.values() if table.profile == described.preamble.id]
    return schema.Profile(
        id=described.preamble.id,
        name=name,
        c_index=index,
        selector=described.with_selector,
        actions={number: action for table in users for number, action in table.actions.items()},
        size=described.size,
        max_group_size=described.max_group_size,
        by_members=described.HasField("sum_of_members"),
        max_member_weight=described.sum_of_members.max_member_weight,
        weights_disallowed=described.weights_disallowed,
    )


def _value_set(
    types: Translations, described: p4i.ValueSet, tables: int, index: int, value_set: model.ValueSet
) -> schema.ValueSet:
    name = described.preamble.name
    if len(described.match) != len(value_set.parts):
        raise RpcError(
            INVALID_ARGUMENT, f"value set {name} has {len(value_set.parts)} fields in the program"
        )
    fields = []
    for match, width in zip(described.match, value_set.parts, strict=True):
        if match.match_type not in _MATCHES:
            raise RpcError(
                INVALID_ARGUMENT, f"value set {name}: field {match.name} has no match type"
            )
        fields.append(_match_field(types, match, width, f"value set {name}, field {match.name}"))
    return schema.ValueSet(
        described.preamble.id, name, tables + index, tuple(fields), described.size
    )


def _width(described: p4i.MatchField | p4i.Action.Param, width: int) -> int:
    """Returns the bits that a client may use, of the `width` in the program. A p4info has none if
    the type is `error`."""
    if described.bitwidth < 0:
        raise RpcError(
            INVALID_ARGUMENT, f"{described.name} has {described.bitwidth} bits in the p4info"
        )
    return min(described.bitwidth or width, width)


def _match_field(
    types: Translations, described: p4i.MatchField, width: int, label: str
) -> schema.KeyField:
    """Returns a field of a table's key or of a value set, of `width` bits in the program."""
    match = _MATCHES[described.match_type]
    strings = types.strings(described.type_name.name, width, label)
    if strings is not None and match not in (schema.Match.EXACT, schema.Match.OPTIONAL):
        raise RpcError(
            UNIMPLEMENTED,
            f"{label} is translated to a string, so it can't be matched by {match.value}",
        )
    return schema.KeyField(
        described.id, described.name, match, _width(described, width), (width + 7) // 8, strings
    )


def _key_field(
    types: Translations, table: str, described: p4i.MatchField, key: model.KeyField
) -> schema.KeyField:
    match = _MATCHES.get(described.match_type)
    # how p4c writes it
    optional = match is schema.Match.OPTIONAL and key.match is model.Match.TERNARY
    if match is None or not (optional or match.value == key.match.value):
        raise RpcError(
            INVALID_ARGUMENT,
            f"table {table}: key {described.name} is {key.match.value} in the program",
        )
    return _match_field(types, described, key.width, f"table {table}, key {described.name}")


def _action(
    types: Translations,
    described: p4i.Action,
    scope: p4i.ActionRef.Scope.ValueType,
    by_name: Mapping[str, int],
    actions: Sequence[model.Action],
    table: str,
) -> schema.Action:
    name = described.preamble.name
    if name not in by_name:
        raise RpcError(
            INVALID_ARGUMENT,
            f"table {table} has an action {name} in the p4info, not in the program",
        )
    index = by_name[name]
    parameters = actions[index].parameters
    if len(parameters) != len(described.params):
        raise RpcError(
            INVALID_ARGUMENT, f"action {name} has {len(parameters)} parameters in the program"
        )
    return schema.Action(
        id=described.preamble.id,
        name=name,
        c_index=index,
        params=tuple(
            schema.Param(
                a.id,
                a.name,
                _width(a, b.width),
                _word_count(b.width),
                types.strings(a.type_name.name, b.width, f"action {name}, parameter {a.name}"),
            )
            for a, b in zip(described.params, parameters, strict=True)
        ),
        in_table=scope in (p4i.ActionRef.TABLE_AND_DEFAULT, p4i.ActionRef.TABLE_ONLY),
        in_default=scope in (p4i.ActionRef.TABLE_AND_DEFAULT, p4i.ActionRef.DEFAULT_ONLY),
    )


def _initial(
    program: model.Program, table: model.Table, const: bool
) -> tuple[schema.InitialEntry, ...]:
    """Returns the entries of the source, in its order. BMv2's priorities are turned round: in
    P4Runtime the higher wins."""
    masked = table.kind not in _KINDS
    last = max((entry.priority for entry in table.const_entries), default=0)
    entries = []
    for entry in table.const_entries:
        key = b"".join(
            _bytes(value, field) for value, field in zip(entry.keys, table.key, strict=True)
        )
        mask = b"".join(
            _bytes(value, field) for value, field in zip(entry.masks, table.key, strict=True)
        )
        entries.append(
            schema.InitialEntry(
                key=key,
                mask=mask if masked else None,
                prefix=entry.prefix if table.kind is model.Match.LPM else 0,
                priority=last + 1 - entry.priority if masked else 0,
                action=entry.call.action,
                args=_words(program, entry.call),
                const=const,
            )
        )
    return tuple(entries)


def _bytes(value: int, field: model.KeyField) -> bytes:
    return value.to_bytes((field.width + 7) // 8, "big")


def _word_count(width: int) -> int:
    return (width + 63) // 64


def _words(program: model.Program, call: model.ActionCall) -> tuple[int, ...]:
    parameters = program.actions[call.action].parameters
    words: list[int] = []
    for value, parameter in zip(call.arguments, parameters, strict=True):
        words += to_words(value, _word_count(parameter.width))
    return tuple(words)


def _arrays(
    described: Iterable[p4i.Counter | p4i.Meter],
    things: Mapping[str, tuple[int, model.Counter | model.Meter]],
) -> dict[int, schema.Array]:
    arrays = {}
    for entry in described:
        number, name = entry.preamble.id, entry.preamble.name
        if name in things:
            index, thing = things[name]
            single_rate = isinstance(entry, p4i.Meter) and _single_rate(entry)
            arrays[number] = schema.Array(number, name, index, thing.size, single_rate=single_rate)
    return arrays


def _single_rate(described: p4i.Meter | p4i.DirectMeter) -> bool:
    """Returns whether a meter has one rate and two colours. Raises RpcError UNIMPLEMENTED for one
    rate and three colours."""
    kind = described.spec.type
    if kind == p4i.MeterSpec.SINGLE_RATE_THREE_COLOR:
        name = described.preamble.name
        raise RpcError(
            UNIMPLEMENTED, f"meter {name}: a single rate with three colours is not implemented"
        )
    return kind == p4i.MeterSpec.SINGLE_RATE_TWO_COLOR


def _register(
    types: Types, described: p4i.Register, index: int, register: model.Register
) -> schema.Register:
    name = described.preamble.name
    kind = types.resolve(described.type_spec, f"register {name}")
    if not isinstance(kind, p4data.Scalar):
        raise RpcError(UNIMPLEMENTED, f"register {name} holds a {kind.form}")
    if kind.bits > register.width:
        raise RpcError(
            INVALID_ARGUMENT,
            f"register {name} has {register.width} bits in the program, not {kind.bits}",
        )
    return schema.Register(described.preamble.id, name, index, register.size, register.width, kind)


def _digest(types: Types, described: p4i.Digest, learn: model.LearnList) -> schema.Digest:
    name = described.preamble.name
    kind = types.resolve(described.type_spec, f"digest {name}")
    if kind.leaves != len(learn.fields):
        raise RpcError(
            INVALID_ARGUMENT, f"digest {name} has {len(learn.fields)} fields in the program"
        )
    return schema.Digest(
        described.preamble.id, name, learn.id, tuple(field.width for field in learn.fields), kind
    )


def _header(
    types: Translations, described: p4i.ControllerPacketMetadata, program: model.Program
) -> tuple[schema.HeaderField, ...]:
    """Returns the fields of a controller header. The p4info doesn't have the width of one that is a
    string: that is of the program's header type with the same fields."""
    widths = [field.bitwidth for field in described.metadata]
    for field in described.metadata:
        if not 0 <= field.bitwidth <= MAX_WIDTH:
            raise RpcError(
                INVALID_ARGUMENT,
                f"metadata field {field.name} has {field.bitwidth} bits in the p4info",
            )
    if any(types.is_string(field.type_name.name) for field in described.metadata):
        widths = _program_widths(types, described, program)
    return tuple(
        schema.HeaderField(
            field.id,
            field.name,
            width,
            "@padding" in field.annotations,
            types.strings(field.type_name.name, width, f"metadata field {field.name}"),
        )
        for field, width in zip(described.metadata, widths, strict=True)
    )


def _program_widths(
    types: Translations, described: p4i.ControllerPacketMetadata, program: model.Program
) -> list[int]:
    """Returns the widths of a controller header's fields in the program. Raises RpcError
    UNIMPLEMENTED where no header type has its fields, or several that differ."""
    names = [field.name for field in described.metadata]
    fitting = {
        tuple(field.width for field in kind.fields)
        for kind in program.header_types
        if [field.name for field in kind.fields] == names
        and all(
            types.is_string(a.type_name.name) or a.bitwidth == b.width
            for a, b in zip(described.metadata, kind.fields, strict=True)
        )
    }
    if len(fitting) != 1:
        reason = (
            "header types of different widths have its fields"
            if fitting
            else "no header type has its fields"
        )
        raise RpcError(
            UNIMPLEMENTED,
            (
                f"{described.preamble.name}: a field is translated to a string; {reason} in the "
                "program"
            ),
        )
    return list(fitting.pop())
