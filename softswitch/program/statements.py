"""Statements of the model: BMv2's primitives and parser operations, one class each, arguments
resolved."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.softswitch.program.errors import Source
from pcn.softswitch.program.expressions import (
    Expression,
    FieldRef,
    HeaderExpression,
    LValue,
    UnionExpression,
)


@dataclass(frozen=True)
class Assign:
    target: LValue
    value: Expression


@dataclass(frozen=True)
class AssignVarbit:
    target: LValue
    value: LValue


@dataclass(frozen=True)
class AssignHeader:
    target: HeaderExpression
    value: HeaderExpression


@dataclass(frozen=True)
class AssignMetadata:
    """A struct of metadata to another of the same type, field by field."""

    fields: tuple[Assign, ...]


@dataclass(frozen=True)
class AssignUnion:
    target: UnionExpression
    value: UnionExpression


@dataclass(frozen=True)
class AssignStack:
    target: int
    value: int


@dataclass(frozen=True)
class SetValid:
    header: HeaderExpression


@dataclass(frozen=True)
class SetInvalid:
    header: HeaderExpression


@dataclass(frozen=True)
class Push:
    stack: int
    count: int


@dataclass(frozen=True)
class Pop:
    stack: int
    count: int


@dataclass(frozen=True)
class MarkToDrop:
    """Sets `egress_spec` to the drop port and `mcast_grp` to 0 in the header that the primitive
    names: standard metadata, or a copy of it, which p4c copies back."""

    egress_spec: FieldRef
    mcast_grp: FieldRef | None


@dataclass(frozen=True)
class RegisterRead:
    target: LValue
    register: int
    index: Expression


@dataclass(frozen=True)
class RegisterWrite:
    register: int
    index: Expression
    value: Expression


@dataclass(frozen=True)
class Count:
    counter: int
    index: Expression


@dataclass(frozen=True)
class MeterExecute:
    meter: int
    index: Expression
    target: LValue


@dataclass(frozen=True)
class Hash:
    """target = base + calculation % size, in 64 bits."""

    target: LValue
    base: Expression
    calculation: int
    size: Expression


@dataclass(frozen=True)
class Random:
    target: LValue
    low: Expression
    high: Expression


@dataclass(frozen=True)
class Clone:
    session: Expression
    field_list: Expression


@dataclass(frozen=True)
class Resubmit:
    field_list: Expression


@dataclass(frozen=True)
class Recirculate:
    field_list: Expression


@dataclass(frozen=True)
class Digest:
    learn_list: int


@dataclass(frozen=True)
class Truncate:
    length: Expression


@dataclass(frozen=True)
class LogMessage:
    """`parts` has one text more than there are values; each value is written in decimal between two
    texts."""

    parts: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Assert:
    """assert or assume: BMv2 aborts when it fails; the switch logs it and goes on."""

    kind: str
    condition: Expression


@dataclass(frozen=True)
class Exit:
    pass


@dataclass(frozen=True)
class Jump:
    """To statement `target` of the enclosing action; its length is the end."""

    target: int


@dataclass(frozen=True)
class JumpIfZero:
    condition: Expression
    target: int


# ---- parser only ----


@dataclass(frozen=True)
class Extract:
    """`varbit_length`: bits of the variable field, or None if the header has none."""

    header: int
    varbit_length: Expression | None = None


@dataclass(frozen=True)
class ExtractNext:
    """Into the next element of a stack."""

    stack: int
    varbit_length: Expression | None = None


@dataclass(frozen=True)
class ExtractNextUnion:
    """Into member `member` of the next element of a stack of unions."""

    stack: int
    member: int
    varbit_length: Expression | None = None


@dataclass(frozen=True)
class Advance:
    bits: Expression


@dataclass(frozen=True)
class Verify:
    condition: Expression
    error: Expression


Operation = (
    Assign
    | AssignVarbit
    | AssignHeader
    | AssignMetadata
    | AssignUnion
    | AssignStack
    | SetValid
    | SetInvalid
    | Push
    | Pop
    | MarkToDrop
    | RegisterRead
    | RegisterWrite
    | Count
    | MeterExecute
    | Hash
    | Random
    | Clone
    | Resubmit
    | Recirculate
    | Digest
    | Truncate
    | LogMessage
    | Assert
    | Exit
    | Jump
    | JumpIfZero
    | Extract
    | ExtractNext
    | ExtractNextUnion
    | Advance
    | Verify
)


@dataclass(frozen=True)
class Statement:
    operation: Operation
    source: Source | None = None
