"""Expressions of the model. Each is of one sort: data (an integer of any size, as BMv2 computes),
bool or header."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Sort(Enum):
    DATA = "a value"
    BOOL = "a condition"
    HEADER = "a header"
    UNION = "a header union"


@dataclass(frozen=True)
class Const:
    value: int


@dataclass(frozen=True)
class BoolConst:
    value: bool


@dataclass(frozen=True)
class FieldRef:
    """Field `field` of header instance `header`."""

    header: int
    field: int


@dataclass(frozen=True)
class Valid:
    """1 if the header is valid, else 0: the hidden field `$valid$`."""

    header: HeaderExpression


@dataclass(frozen=True)
class Local:
    """A parameter of the enclosing action."""

    index: int
    width: int


@dataclass(frozen=True)
class Lookahead:
    """Bits of the packet that the parser has not extracted yet; parser only."""

    offset: int
    width: int


@dataclass(frozen=True)
class LastField:
    """Field `field` of the last valid element of a stack."""

    stack: int
    field: int


@dataclass(frozen=True)
class LastUnionField:
    """Field `field` of member `member` of the last valid element of a stack of unions."""

    stack: int
    member: int
    field: int


@dataclass(frozen=True)
class LastIndex:
    stack: int


@dataclass(frozen=True)
class StackSize:
    stack: int


@dataclass(frozen=True)
class RegisterCell:
    register: int
    index: Expression


@dataclass(frozen=True)
class HeaderRef:
    header: int


@dataclass(frozen=True)
class StackElement:
    stack: int
    index: Expression


@dataclass(frozen=True)
class UnionRef:
    union: int


@dataclass(frozen=True)
class UnionStackElement:
    stack: int
    index: Expression


@dataclass(frozen=True)
class UnionMember:
    union: UnionRef | UnionStackElement
    member: int


@dataclass(frozen=True)
class HeaderField:
    """Field `field` of a header that is known at run time; `type` is its header type."""

    header: HeaderExpression
    type: int
    field: int


@dataclass(frozen=True)
class Unary:
    """data: - ~ b2d; bool: not d2b valid valid_union (the latter two of a header and a union)."""

    op: str
    operand: Expression


@dataclass(frozen=True)
class Binary:
    """data: + - * / % << >> & | ^ two_comp_mod usat_cast sat_cast; bool: == != < <= > >= (of data),
    and or, ==b !=b (of conditions), ==h !=h (of headers), ==u !=u (of unions)."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Ternary:
    condition: Expression
    on_true: Expression
    on_false: Expression


HeaderExpression = HeaderRef | StackElement | UnionMember
UnionExpression = UnionRef | UnionStackElement
LValue = FieldRef | LastField | HeaderField
Expression = (
    Const
    | BoolConst
    | FieldRef
    | Valid
    | Local
    | Lookahead
    | LastField
    | LastUnionField
    | LastIndex
    | StackSize
    | RegisterCell
    | HeaderRef
    | StackElement
    | UnionRef
    | UnionStackElement
    | UnionMember
    | HeaderField
    | Unary
    | Binary
    | Ternary
)

_BOOL_OPS = frozenset(
    (
        "not",
        "d2b",
        "valid",
        "valid_union",
        "and",
        "or",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "==b",
        "!=b",
    )
)
_BOOL_OPS |= {"==h", "!=h", "==u", "!=u"}


def sort_of(expression: Expression) -> Sort:
    """Returns the sort of a well-formed expression."""
    if isinstance(expression, Ternary):
        return sort_of(expression.on_true)
    if isinstance(expression, BoolConst) or (
        isinstance(expression, Unary | Binary) and expression.op in _BOOL_OPS
    ):
        return Sort.BOOL
    if isinstance(expression, HeaderRef | StackElement | UnionMember):
        return Sort.HEADER
    if isinstance(expression, UnionRef | UnionStackElement):
        return Sort.UNION
    return Sort.DATA
