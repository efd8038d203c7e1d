"""Joins a p4info with the program it describes: ids on one side, C's indices on the other, by name.

Source: names are those of p4c, which writes the same ones into the p4info and the BMv2 JSON; keys and parameters have
the same order in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from finsy.proto import p4i

from softswitch.p4runtime import p4data, schema
from softswitch.p4runtime.actions import to_words
from softswitch.p4runtime.errors import INVALID_ARGUMENT, UNIMPLEMENTED, RpcError
from softswitch.program import model

_MATCHES = {
    p4i.MatchField.EXACT: schema.Match.EXACT,
    p4i.MatchField.LPM: schema.Match.LPM,
    p4i.MatchField.TERNARY: schema.Match.TERNARY,
    p4i.MatchField.RANGE: schema.Match.RANGE,
    p4i.MatchField.OPTIONAL: schema.Match.OPTIONAL,
}
_KINDS = {model.Match.EXACT: schema.Kind.EXACT, model.Match.LPM: schema.Kind.LPM}


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def bind(info: p4i.P4Info, program: model.Program) -> schema.Schema:
    """The schema of a program. Raises RpcError INVALID_ARGUMENT if p4info and program do not belong together."""
    actions = {action.preamble.id: action for action in info.actions}
    counters = _by_name(program.counters)
    registers = _by_name(program.registers)
    meters = _by_name(program.meters)
    tables = _by_name(program.tables)
    lists = _by_name(program.learn_lists)
    headers = {header.preamble.name: _header(header) for header in info.controller_packet_metadata}
    return schema.Schema(
        p4info=info,
        tables={t.preamble.id: _table(info, t, actions, program, tables) for t in info.tables},
        counters={c.preamble.id: _array("counter", c.preamble, counters) for c in info.counters},
        registers={r.preamble.id: _register(info, r, registers) for r in info.registers},
        meters={m.preamble.id: _array("meter", m.preamble, meters) for m in info.meters},
        digests={d.preamble.id: _digest(info, d, lists) for d in info.digests},
        packet_in=headers.get("packet_in", ()),
        packet_out=headers.get("packet_out", ()),
    )


def _by_name(things: Iterable[N]) -> dict[str, tuple[int, N]]:
    return {thing.name: (index, thing) for index, thing in enumerate(things)}


def _find(kind: str, name: str, things: Mapping[str, tuple[int, N]]) -> tuple[int, N]:
    if name not in things:
        raise RpcError(
            INVALID_ARGUMENT, f"the p4info has a {kind} {name} that the program lacks: are both from one compilation?"
        )
    return things[name]


def _table(
    info: p4i.P4Info,
    described: p4i.Table,
    described_actions: Mapping[int, p4i.Action],
    program: model.Program,
    tables: Mapping[str, tuple[int, model.Table]],
) -> schema.Table:
    name = described.preamble.name
    index, table = _find("table", name, tables)
    if len(described.match_fields) != len(table.key):
        raise RpcError(INVALID_ARGUMENT, f"table {name} has {len(table.key)} keys in the program, not in the p4info")
    by_name = {program.actions[number].name: number for number in table.actions}
    actions = {}
    for ref in described.action_refs:
        action = _action(described_actions[ref.id], ref.scope, by_name, program.actions, name)
        actions[ref.id] = action
    direct_counters = {counter.preamble.id for counter in info.direct_counters}
    direct_meters = {meter.preamble.id for meter in info.direct_meters}
    resources = described.direct_resource_ids
    const = described.is_const_table or (table.has_const_entries and not described.has_initial_entries)
    return schema.Table(
        id=described.preamble.id,
        name=name,
        index=index,
        kind=_KINDS.get(table.kind, schema.Kind.MASKED),
        fields=tuple(_key_field(name, a, b) for a, b in zip(described.match_fields, table.key, strict=True)),
        actions=actions,
        by_index={action.index: action for action in actions.values()},
        size=table.size,
        const=const,
        const_default=bool(described.const_default_action_id) or table.const_default,
        default_action=None if table.default is None else table.default.action,
        default_args=() if table.default is None else _words(program, table.default),
        initial=_initial(program, table, const),
        direct_counter=next((number for number in resources if number in direct_counters), 0),
        direct_meter=next((number for number in resources if number in direct_meters), 0),
        idle_timeout=described.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
        profile=described.implementation_id,
    )


def _key_field(table: str, described: p4i.MatchField, key: model.KeyField) -> schema.KeyField:
    match = _MATCHES.get(described.match_type)
    optional = match is schema.Match.OPTIONAL and key.match is model.Match.TERNARY  # how p4c writes it
    if match is None or not (optional or match.value == key.match.value):
        raise RpcError(INVALID_ARGUMENT, f"table {table}: key {described.name} is {key.match.value} in the program")
    if not described.bitwidth:
        raise RpcError(UNIMPLEMENTED, f"table {table}: key {described.name} is translated to a string")
    width = min(described.bitwidth, key.width)
    return schema.KeyField(described.id, described.name, match, width, (key.width + 7) // 8)


def _action(
    described: p4i.Action,
    scope: p4i.ActionRef.Scope.ValueType,
    by_name: Mapping[str, int],
    actions: Sequence[model.Action],
    table: str,
) -> schema.Action:
    name = described.preamble.name
    if name not in by_name:
        raise RpcError(INVALID_ARGUMENT, f"table {table} has an action {name} in the p4info, not in the program")
    index = by_name[name]
    parameters = actions[index].parameters
    if len(parameters) != len(described.params):
        raise RpcError(INVALID_ARGUMENT, f"action {name} has {len(parameters)} parameters in the program")
    for param in described.params:
        if not param.bitwidth:
            raise RpcError(UNIMPLEMENTED, f"action {name}: parameter {param.name} is translated to a string")
    return schema.Action(
        id=described.preamble.id,
        name=name,
        index=index,
        params=tuple(
            schema.Param(a.id, a.name, min(a.bitwidth, b.width), _word_count(b.width))
            for a, b in zip(described.params, parameters, strict=True)
        ),
        in_table=scope != p4i.ActionRef.DEFAULT_ONLY,
        in_default=scope != p4i.ActionRef.TABLE_ONLY,
    )


def _initial(program: model.Program, table: model.Table, const: bool) -> tuple[schema.InitialEntry, ...]:
    """The entries of the source, in its order. BMv2's priorities are turned round: in P4Runtime the higher wins."""
    masked = table.kind not in _KINDS
    last = max((entry.priority for entry in table.const_entries), default=0)
    entries = []
    for entry in table.const_entries:
        key = b"".join(_bytes(value, field) for value, field in zip(entry.keys, table.key, strict=True))
        mask = b"".join(_bytes(value, field) for value, field in zip(entry.masks, table.key, strict=True))
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


def _array(
    kind: str, preamble: p4i.Preamble, things: Mapping[str, tuple[int, model.Counter | model.Meter]]
) -> schema.Array:
    index, thing = _find(kind, preamble.name, things)
    return schema.Array(preamble.id, preamble.name, index, thing.size)


def _register(
    info: p4i.P4Info, described: p4i.Register, registers: Mapping[str, tuple[int, model.Register]]
) -> schema.Register:
    name = described.preamble.name
    index, register = _find("register", name, registers)
    kind = p4data.resolve(described.type_spec, info, f"register {name}")
    if not isinstance(kind, p4data.Scalar):
        raise RpcError(UNIMPLEMENTED, f"register {name} holds a {kind.form}")
    return schema.Register(described.preamble.id, name, index, register.size, register.width, kind)


def _digest(info: p4i.P4Info, described: p4i.Digest, lists: Mapping[str, tuple[int, model.LearnList]]) -> schema.Digest:
    name = described.preamble.name
    _, learn = _find("digest", name, lists)
    kind = p4data.resolve(described.type_spec, info, f"digest {name}")
    return schema.Digest(described.preamble.id, name, learn.id, tuple(field.width for field in learn.fields), kind)


def _header(described: p4i.ControllerPacketMetadata) -> tuple[schema.HeaderField, ...]:
    return tuple(
        schema.HeaderField(field.id, field.name, field.bitwidth, "@padding" in field.annotations)
        for field in described.metadata
    )
