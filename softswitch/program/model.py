"""A P4 program as the switch sees it: BMv2's JSON, resolved and typed.

References are indices into the tuples of `Program`, so a model that was loaded has no dangling
names. Everything is immutable. Expressions and statements have their own modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from pcn.softswitch.program.errors import Source
from pcn.softswitch.program.expressions import Expression, FieldRef, Valid
from pcn.softswitch.program.statements import Statement


@dataclass(frozen=True)
class FieldType:
    """A header field. A varbit's `width` is its largest; its own length is known at run time."""

    name: str
    width: int
    signed: bool = False
    saturating: bool = False
    varbit: bool = False

    @property
    def stored_bytes(self) -> int:
        """The most that it takes in memory, padding included."""
        if self.varbit:
            return self.width // 8 + 16  # behind its length
        need = self.width + self.signed
        return next((size for size in (1, 2, 4, 8) if need <= 8 * size), (need + 63) // 64 * 8)


@dataclass(frozen=True)
class HeaderType:
    name: str
    fields: tuple[FieldType, ...]

    @property
    def fixed_bits(self) -> int:
        """Bits on the wire without the variable part."""
        return sum(f.width for f in self.fields if not f.varbit)

    @property
    def stored_bytes(self) -> int:
        """The most that it takes in memory, validity and padding included."""
        return (sum(f.stored_bytes for f in self.fields) + 1 + 15) // 8 * 8

    @property
    def max_bytes(self) -> int:
        return (sum(f.width for f in self.fields) + 7) // 8

    @property
    def varbit(self) -> int | None:
        """Index of the variable field."""
        return next((i for i, f in enumerate(self.fields) if f.varbit), None)


@dataclass(frozen=True)
class Header:
    """A header or metadata instance. `stack` and `union`: the stack or union that it is an element
    or a member of, and which one."""

    name: str
    type: int
    metadata: bool
    stack: tuple[int, int] | None = None
    union: tuple[int, int] | None = None


@dataclass(frozen=True)
class HeaderStack:
    name: str
    type: int
    headers: tuple[int, ...]


@dataclass(frozen=True)
class HeaderUnion:
    name: str
    headers: tuple[int, ...]
    members: tuple[str, ...]
    stack: tuple[int, int] | None = None


@dataclass(frozen=True)
class HeaderUnionStack:
    name: str
    unions: tuple[int, ...]


# ---- parser ----


@dataclass(frozen=True)
class KeyPart:
    """A part of a transition key: an expression, of which `width` bits are compared."""

    expression: Expression
    width: int


@dataclass(frozen=True)
class Transition:
    """Taken when (key & mask) == value, both one integer a key part; or when the key is in value
    set `vset`."""

    next_state: int | None
    values: tuple[int, ...] = ()
    masks: tuple[int, ...] = ()
    vset: int | None = None


@dataclass(frozen=True)
class ParseState:
    name: str
    statements: tuple[Statement, ...]
    key: tuple[KeyPart, ...]
    transitions: tuple[Transition, ...]  # in order; the first that matches is taken
    default: int | None  # None: accept
    source: Source | None = None


@dataclass(frozen=True)
class Parser:
    name: str
    states: tuple[ParseState, ...]
    start: int
    loops: bool  # whether a state can be reached from itself
    source: Source | None = None


@dataclass(frozen=True)
class ValueSet:
    """What transitions of the parser compare with at run time. `parts`: bits of each part of their
    key."""

    name: str
    width: int
    size: int
    parts: tuple[int, ...]


# ---- tables and controls ----


class Match(Enum):
    EXACT = "exact"
    LPM = "lpm"
    TERNARY = "ternary"
    RANGE = "range"
    OPTIONAL = "optional"


@dataclass(frozen=True)
class KeyField:
    """`mask`: a constant that the P4 source ands with the field, or None."""

    name: str
    match: Match
    field: FieldRef | Valid
    width: int
    mask: int | None = None


@dataclass(frozen=True)
class ActionCall:
    """An action with the values of its parameters."""

    action: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class ConstEntry:
    """`keys` and `masks`: one integer a key field. mask: see sw_const_entry in csrc/pipeline.h.
    `prefix`: of the lpm field. `priority`: the lower wins."""

    keys: tuple[int, ...]
    masks: tuple[int, ...]
    prefix: int
    priority: int
    call: ActionCall
    source: Source | None = None


@dataclass(frozen=True)
class ActionProfile:
    """What the entries of indirect tables refer to. `selector`: the calculation that selects a
    member of a group; None: it has no groups."""

    name: str
    selector: int | None


@dataclass(frozen=True)
class Table:
    """`id` is p4c's in the JSON, not P4Runtime's. `next_by_action` maps each of `actions` to a
    node. `profile`: None for a table whose entries hold their actions themselves."""

    name: str
    id: int
    kind: Match  # of the lookup: EXACT, LPM, TERNARY or RANGE
    key: tuple[KeyField, ...]
    size: int
    actions: tuple[int, ...]
    default: ActionCall | None
    const_default: bool
    const_entries: tuple[ConstEntry, ...]
    has_const_entries: bool
    direct_counter: bool
    direct_meter: int | None
    idle_timeout: bool
    next_hit: int | None
    next_miss: int | None
    by_hit: bool  # next_hit and next_miss decide; else next_by_action does
    next_by_action: tuple[int | None, ...]
    base_next: int | None  # after a miss without a default action
    source: Source | None = None
    profile: int | None = None

    @property
    def key_bytes(self) -> int:
        return sum((f.width + 7) // 8 for f in self.key)


@dataclass(frozen=True)
class TableNode:
    """Applies a table. The next node is the table's business."""

    name: str
    table: int


@dataclass(frozen=True)
class ConditionNode:
    name: str
    condition: Expression
    on_true: int | None
    on_false: int | None
    source: Source | None = None


@dataclass(frozen=True)
class ActionNode:
    name: str
    action: int
    next: int | None


Node = TableNode | ConditionNode | ActionNode


@dataclass(frozen=True)
class Control:
    """A pipeline: nodes that lead to each other without a cycle. None: the end."""

    name: str
    nodes: tuple[Node, ...]
    start: int | None


@dataclass(frozen=True)
class Parameter:
    name: str
    width: int


@dataclass(frozen=True)
class Action:
    name: str
    id: int
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    source: Source | None = None


# ---- state ----


@dataclass(frozen=True)
class Counter:
    """An indirect counter array; direct ones are a property of their table."""

    name: str
    size: int


@dataclass(frozen=True)
class Register:
    name: str
    size: int
    width: int


@dataclass(frozen=True)
class Meter:
    """`table`: the table that a direct meter belongs to; its `result` field receives the colour."""

    name: str
    size: int
    bytes: bool
    table: int | None = None
    result: FieldRef | None = None


# ---- calculations, checksums, lists ----


@dataclass(frozen=True)
class InputField:
    field: FieldRef | Valid
    width: int


@dataclass(frozen=True)
class InputConstant:
    value: int
    width: int


@dataclass(frozen=True)
class InputHeader:
    header: int


@dataclass(frozen=True)
class Calculation:
    """A hash over the bits of `inputs` (those of invalid headers are left out), then of the payload
    if it is in."""

    name: str
    algorithm: str
    inputs: tuple[InputField | InputConstant | InputHeader, ...]
    payload: bool


@dataclass(frozen=True)
class Checksum:
    name: str
    target: FieldRef
    calculation: int
    condition: Expression | None
    update: bool
    verify: bool
    source: Source | None = None


@dataclass(frozen=True)
class FieldList:
    """Fields that clone, resubmit and recirculate preserve."""

    name: str
    id: int
    fields: tuple[FieldRef, ...]


@dataclass(frozen=True)
class LearnField:
    expression: Expression
    width: int


@dataclass(frozen=True)
class LearnList:
    """What a digest holds."""

    name: str
    id: int
    fields: tuple[LearnField, ...]


@dataclass(frozen=True)
class Deparser:
    name: str
    order: tuple[int, ...]
    statements: tuple[Statement, ...] = ()
    source: Source | None = None


@dataclass(frozen=True)
class Program:
    """A whole program. Tables, profiles, counters, registers, meters, actions and learn lists have
    the order that they have in the generated specs (csrc/pipeline.h). `std_fields` maps fields to
    members of `struct sw_std`."""

    name: str
    header_types: tuple[HeaderType, ...]
    headers: tuple[Header, ...]
    stacks: tuple[HeaderStack, ...]
    unions: tuple[HeaderUnion, ...]
    union_stacks: tuple[HeaderUnionStack, ...]
    std_fields: dict[FieldRef, str] = field(hash=False)
    errors: dict[str, int] = field(hash=False)
    parser: Parser
    value_sets: tuple[ValueSet, ...]
    deparser: Deparser
    ingress: Control
    egress: Control
    tables: tuple[Table, ...]
    profiles: tuple[ActionProfile, ...]
    actions: tuple[Action, ...]
    counters: tuple[Counter, ...]
    registers: tuple[Register, ...]
    meters: tuple[Meter, ...]
    calculations: tuple[Calculation, ...]
    checksums: tuple[Checksum, ...]
    field_lists: tuple[FieldList, ...]
    learn_lists: tuple[LearnList, ...]

    def field_type(self, ref: FieldRef) -> FieldType:
        return self.header_types[self.headers[ref.header].type].fields[ref.field]
