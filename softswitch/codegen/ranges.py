"""Ranges of expressions: the smallest and largest integer that BMv2's exact arithmetic can give."""

from __future__ import annotations

from pcn.softswitch.codegen.values import Range, signed_bits, signed_range, union, unsigned_range
from pcn.softswitch.program.expressions import (
    Binary,
    Const,
    Expression,
    FieldRef,
    HeaderField,
    LastField,
    LastIndex,
    LastUnionField,
    Local,
    Lookahead,
    RegisterCell,
    StackSize,
    Ternary,
    Unary,
    Valid,
)
from pcn.softswitch.program.limits import VALUE_BITS
from pcn.softswitch.program.model import FieldType, Program


class TooWide(Exception):  # noqa: N818, a signal to the caller, not an error
    """A value can have more than VALUE_BITS bits."""


def field_of(program: Program, e: FieldRef | LastField | LastUnionField | HeaderField) -> FieldType:
    """Returns the declaration of the field that an expression reads."""
    match e:
        case FieldRef():
            return program.field_type(e)
        case LastField(stack, index):
            return program.header_types[program.stacks[stack].type].fields[index]
        case LastUnionField(stack, member, index):
            union_ = program.unions[program.union_stacks[stack].unions[0]]
            return program.header_types[program.headers[union_.headers[member]].type].fields[index]
        case HeaderField(_, header_type, index):
            return program.header_types[header_type].fields[index]


def field_range(field: FieldType) -> Range:
    """Returns the range of a field's values. A signed field may hold up to 2^width - 1: see
    layout.py."""
    if field.signed:
        return signed_range(field.width)[0], (1 << field.width) - 1
    return unsigned_range(field.width)


class Ranges:
    """Ranges in one program; remembers what it computed."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[int, tuple[Expression, Range]] = {}

    def of(self, e: Expression) -> Range:
        """Returns the range of a data expression; raises TooWide."""
        known = self._known.get(id(e))
        if known and known[0] is e:
            return known[1]
        result = self._compute(e)
        if signed_bits(result) > VALUE_BITS:
            raise TooWide
        self._known[id(e)] = (e, result)
        return result

    def fits(self, e: Expression, outer: Range) -> bool:
        """Returns whether every value of e is inside a range."""
        try:
            r = self.of(e)
        except TooWide:
            return False
        return outer[0] <= r[0] and r[1] <= outer[1]

    def _compute(self, e: Expression) -> Range:
        match e:
            case Const(value):
                return value, value
            case FieldRef() | LastField() | LastUnionField() | HeaderField():
                return field_range(field_of(self.program, e))
            case Local(_, width) | Lookahead(_, width):
                return unsigned_range(width)
            case RegisterCell(register, _):
                return unsigned_range(self.program.registers[register].width)
            case LastIndex(stack):
                return -1, len(self.program.stacks[stack].headers) - 1
            case StackSize(stack):
                return 0, len(self.program.stacks[stack].headers)
            case Valid() | Unary("b2d", _):
                return 0, 1
            case Unary("-", operand):
                low, high = self.of(operand)
                return -high, -low
            case Unary("~", operand):
                low, high = self.of(operand)
                return ~high, ~low
            case Ternary(_, on_true, on_false):
                return union(self.of(on_true), self.of(on_false))
            case Binary(op, left, right):
                return self._binary(op, left, right)
        raise AssertionError(f"not a data expression: {e}")

    def _binary(self, op: str, left: Expression, right: Expression) -> Range:
        b = self.of(right)
        if op in ("two_comp_mod", "usat_cast", "sat_cast"):
            return self._cast(op, left, b)
        if (
            op == "&"
            and (mask := min((r[1] for r in self._nonnegative(left, right)), default=None))
            is not None
        ):
            return 0, mask
        a = self.of(left)
        match op:
            case "+":
                return a[0] + b[0], a[1] + b[1]
            case "-":
                return a[0] - b[1], a[1] - b[0]
            case "*":
                products = [x * y for x in a for y in b]
                return min(products), max(products)
            case "/":
                return 0, max(a[1], 0)
            case "%":
                return 0, max(min(a[1], b[1] - 1), 0)
            case "<<":
                if b[1] > VALUE_BITS:
                    raise TooWide
                shift = max(b[1], 0)
                return min(a[0], a[0] << shift), max(a[1], a[1] << shift)
            case ">>":
                low, high = max(b[0], 0), max(b[1], 0)
                ends = [x >> min(n, VALUE_BITS) for x in a for n in (low, high)]
                return min(ends), max(ends)
        if a[0] >= 0 and b[0] >= 0:
            return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
        return signed_range(max(signed_bits(a), signed_bits(b)))

    def _nonnegative(self, *operands: Expression) -> list[Range]:
        ranges = []
        for operand in operands:
            try:
                r = self.of(operand)
            except TooWide:
                continue
            if r[0] >= 0:
                ranges.append(r)
        return ranges

    def _cast(self, op: str, left: Expression, width_range: Range) -> Range:
        width = width_range[0]
        if width_range[0] != width_range[1] or not 1 <= width <= VALUE_BITS:
            raise TooWide
        bounds = unsigned_range(width) if op == "usat_cast" else signed_range(width)
        try:
            a = self.of(left)
        except TooWide:
            return bounds
        if op == "two_comp_mod":
            return a if bounds[0] <= a[0] and a[1] <= bounds[1] else bounds
        return tuple(min(max(x, bounds[0]), bounds[1]) for x in a)  # type: ignore[return-value]
