"""A p4info as the oracle sees it: what a client may name, and the limits that come with it."""

from dataclasses import dataclass
from functools import cached_property

from pcn.base.p4rt import p4i, p4t

EXACT, LPM, TERNARY, RANGE, OPTIONAL = "exact", "lpm", "ternary", "range", "optional"
ONE_RATE = p4i.MeterSpec.SINGLE_RATE_TWO_COLOR
_KINDS = {
    p4i.MatchField.EXACT: EXACT,
    p4i.MatchField.LPM: LPM,
    p4i.MatchField.TERNARY: TERNARY,
    p4i.MatchField.RANGE: RANGE,
    p4i.MatchField.OPTIONAL: OPTIONAL,
}


@dataclass(frozen=True)
class Field:
    """A match field. `string`: clients see a translated string; `width` bits otherwise."""

    id: int
    kind: str
    width: int
    string: bool


@dataclass(frozen=True)
class Param:
    """An action parameter, as Field."""

    id: int
    width: int
    string: bool


@dataclass(frozen=True)
class Action:
    """An action as one table offers it."""

    id: int
    params: dict[int, Param]
    in_table: bool
    in_default: bool


@dataclass(frozen=True)
class Table:
    """A table. `profile`: the id of its action profile, or 0. `counter`: what its direct counter
    counts, as of an Array, or "" without one. `single_rate`: of its direct meter, as of an
    Array."""

    id: int
    name: str
    fields: dict[int, Field]
    actions: dict[int, Action]
    size: int
    const: bool
    const_default: bool
    default_action: int
    initial_entries: bool
    counter: str
    meter: bool
    idle: bool
    profile: int
    single_rate: bool

    @cached_property
    def prioritised(self) -> bool:
        """Whether its entries have a priority."""
        return any(field.kind in (TERNARY, RANGE, OPTIONAL) for field in self.fields.values())


@dataclass(frozen=True)
class Profile:
    """An action profile, with the actions of its tables. `members`: sizes count members, not
    weights."""

    id: int
    selector: bool
    size: int
    group_size: int
    members: bool
    member_weight: int
    actions: dict[int, Action]
    tables: tuple[int, ...]

    def measure(self, weights: list[int]) -> int:
        """The size of a group or one-shot whose members have these weights."""
        return len(weights) if self.members else sum(weights)


@dataclass(frozen=True)
class Array:
    """A counter, meter or register. `single_rate`: a meter of one rate and two colours. `form` of a
    register's cells: bits, signed, bool, or other (not drawn); of a counter's: BYTES, PACKETS or
    BOTH."""

    id: int
    size: int
    single_rate: bool = False
    form: str = ""
    width: int = 0


@dataclass(frozen=True)
class ValueSet:
    """A parser's value set of at most `size` members."""

    id: int
    fields: dict[int, Field]
    size: int


@dataclass(frozen=True)
class Info:
    """All of a p4info that a Write can name, by id."""

    tables: dict[int, Table]
    profiles: dict[int, Profile]
    counters: dict[int, Array]
    meters: dict[int, Array]
    registers: dict[int, Array]
    value_sets: dict[int, ValueSet]
    digests: tuple[int, ...]

    @cached_property
    def ids(self) -> frozenset[int]:
        """Every id that a Write can name."""
        named = (
            self.tables, self.profiles, self.counters, self.meters, self.registers,
            self.value_sets,
        )  # fmt: skip
        return frozenset((*(number for things in named for number in things), *self.digests))


def read(info: p4i.P4Info) -> Info:
    """The content of a p4info."""
    described = {action.preamble.id: action for action in info.actions}
    direct_counters = {counter.preamble.id: _unit(counter.spec) for counter in info.direct_counters}
    direct_meters = {meter.preamble.id: meter.spec.type == ONE_RATE for meter in info.direct_meters}
    tables = {}
    for table in info.tables:
        scopes = {ref.id: ref.scope for ref in table.action_refs}
        tables[table.preamble.id] = Table(
            id=table.preamble.id,
            name=table.preamble.alias,
            fields={field.id: _field(info, field) for field in table.match_fields},
            actions={
                number: _action(info, described[number], scope) for number, scope in scopes.items()
            },
            size=table.size,
            const=table.is_const_table,
            const_default=table.const_default_action_id != 0,
            default_action=table.const_default_action_id or table.initial_default_action.action_id,
            initial_entries=table.has_initial_entries,
            counter="".join(
                direct_counters.get(number, "") for number in table.direct_resource_ids
            ),
            meter=any(number in direct_meters for number in table.direct_resource_ids),
            idle=table.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
            profile=table.implementation_id,
            single_rate=any(
                direct_meters.get(number, False) for number in table.direct_resource_ids
            ),
        )
    return Info(
        tables=tables,
        profiles={
            profile.preamble.id: _profile(profile, tables) for profile in info.action_profiles
        },
        counters={
            c.preamble.id: Array(c.preamble.id, c.size, form=_unit(c.spec)) for c in info.counters
        },
        meters={
            m.preamble.id: Array(m.preamble.id, m.size, m.spec.type == ONE_RATE)
            for m in info.meters
        },
        registers={
            r.preamble.id: Array(r.preamble.id, r.size, False, *_form(r.type_spec))
            for r in info.registers
        },
        value_sets={
            v.preamble.id: ValueSet(
                v.preamble.id, {field.id: _field(info, field) for field in v.match}, v.size
            )
            for v in info.value_sets
        },
        digests=tuple(digest.preamble.id for digest in info.digests),
    )


def _string(info: p4i.P4Info, type_name: str) -> bool:
    types = info.type_info.new_types
    return type_name in types and types[type_name].translated_type.HasField("sdn_string")


def _field(info: p4i.P4Info, field: p4i.MatchField) -> Field:
    return Field(
        field.id, _KINDS[field.match_type], field.bitwidth, _string(info, field.type_name.name)
    )


def _action(info: p4i.P4Info, action: p4i.Action, scope: p4i.ActionRef.Scope.ValueType) -> Action:
    params = {p.id: Param(p.id, p.bitwidth, _string(info, p.type_name.name)) for p in action.params}
    both = scope == p4i.ActionRef.TABLE_AND_DEFAULT
    in_table, in_default = scope == p4i.ActionRef.TABLE_ONLY, scope == p4i.ActionRef.DEFAULT_ONLY
    return Action(action.preamble.id, params, both or in_table, both or in_default)


def _profile(profile: p4i.ActionProfile, tables: dict[int, Table]) -> Profile:
    users = tuple(
        number for number, table in tables.items() if table.profile == profile.preamble.id
    )
    return Profile(
        id=profile.preamble.id,
        selector=profile.with_selector,
        size=profile.size,
        group_size=profile.max_group_size,
        members=profile.HasField("sum_of_members"),
        member_weight=profile.sum_of_members.max_member_weight,
        actions={
            number: action for user in users for number, action in tables[user].actions.items()
        },
        tables=users,
    )


def _unit(spec: p4i.CounterSpec) -> str:
    return p4i.CounterSpec.Unit.Name(spec.unit)


def _form(spec: p4t.P4DataTypeSpec) -> tuple[str, int]:
    kind = spec.WhichOneof("type_spec")
    if kind == "bool":
        return "bool", 1
    if kind == "bitstring" and spec.bitstring.HasField("bit"):
        return "bits", spec.bitstring.bit.bitwidth
    if kind == "bitstring" and spec.bitstring.HasField("int"):
        return "signed", spec.bitstring.int.bitwidth
    return "other", 0
