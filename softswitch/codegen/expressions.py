"""Expressions to C.

`exact` gives the value as BMv2 computes it, in a kind that holds it; `modulo` gives its low bits
only, which is cheaper wherever the result is masked or stored; `condition` gives a C truth value.
"""

from __future__ import annotations

from pcn.softswitch.codegen.array_layout import cells
from pcn.softswitch.codegen.layout import Layout, storage_of
from pcn.softswitch.codegen.lvalues import Places, header_type_of
from pcn.softswitch.codegen.ranges import Ranges, TooWide, field_of
from pcn.softswitch.codegen.values import (
    Limbs,
    Range,
    Value,
    constant,
    convert,
    kind_for,
    modular_kind,
    signed_range,
    union,
    unsigned_range,
    within,
)
from pcn.softswitch.program.errors import Source, UnsupportedProgram
from pcn.softswitch.program.expressions import (
    Binary,
    BoolConst,
    Const,
    Expression,
    FieldRef,
    HeaderField,
    HeaderRef,
    LastField,
    LastIndex,
    LastUnionField,
    Local,
    Lookahead,
    LValue,
    RegisterCell,
    StackElement,
    StackSize,
    Ternary,
    Unary,
    UnionMember,
    UnionRef,
    UnionStackElement,
    Valid,
)
from pcn.softswitch.program.limits import C_LINES, VALUE_BITS
from pcn.softswitch.program.model import Program

_C_OPERATORS = {"+", "-", "*", "&", "|", "^"}
_WIDE_NAMES = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class Expressions(Places):
    """Translates the expressions of one program; `source` is where errors point to."""

    def __init__(self, program: Program, layout: Layout, limbs: Limbs) -> None:
        super().__init__(program, layout)
        self.limbs = limbs
        self.ranges = Ranges(program)
        self.cells = cells(program)
        self.source: Source | None = None
        self.scope = "the program"
        self._lines = 0
        self._offsets: dict[int, int] = {}

    def spend(self, lines: list[str]) -> list[str]:
        """Returns the lines, counted: statements that become many lines each could make more than a
        machine's memory holds."""
        self._lines += len(lines)
        if self._lines > C_LINES:
            raise self.unsupported(
                f"the program's C has more than {C_LINES:,} lines, which the switch takes at most"
            )
        return lines

    def enter(self, scope: str) -> None:
        """Names the place of what follows, where its statements have no source."""
        self.scope, self.source = scope, None

    def in_action(self, widths: tuple[int, ...]) -> None:
        """Sets the parameters of the action whose expressions follow."""
        offset, self._offsets = 0, {}
        for index, width in enumerate(widths):
            self._offsets[index] = offset
            offset += (width + 63) // 64

    def unsupported(self, message: str) -> UnsupportedProgram:
        return UnsupportedProgram(message, "" if self.source else self.scope, self.source)

    # ---- values ----

    def exact(self, e: Expression) -> Value:
        """Returns the value of a data expression, exactly."""
        try:
            r = self.ranges.of(e)
        except TooWide:
            raise self.unsupported(
                f"an intermediate result can have more than {VALUE_BITS:,} bits"
            ) from None
        match e:
            case Const(value):
                return Value(
                    constant(value, kind_for(r, self.limbs), self.limbs), kind_for(r, self.limbs), r
                )
            case Ternary(condition, on_true, on_false):
                kind = kind_for(r, self.limbs)
                a, b = self._as(on_true, kind), self._as(on_false, kind)
                return Value(f"({self.condition(condition)} ? {a} : {b})", kind, r)
            case Unary(op, operand):
                return self._exact_unary(op, operand, r)
            case Binary(op, left, right):
                return self._exact_binary(op, left, right, r)
            case _:
                return self._leaf(e, r)

    def modulo(self, e: Expression, width: int) -> str:
        """Returns C text of kind modular_kind(width) whose low `width` bits are those of e; the
        others may be anything."""
        kind = modular_kind(width, self.limbs)
        match e:
            case Const(value):
                return constant(value & ((1 << width) - 1), kind, self.limbs)
            case Unary("-" | "~" as op, operand):
                inner = self.modulo(operand, width)
                if kind == "wide":
                    return f"sw_wide_{'neg' if op == '-' else 'not'}({inner})"
                return f"({op}{inner})"
            case Binary(op, left, right) if op in _C_OPERATORS:
                return self._apply(op, self.modulo(left, width), self.modulo(right, width), kind)
            case Binary("<<", left, right):
                count = self.index(right)
                function = "wide_shl" if kind == "wide" else f"shl_{kind}"
                return f"sw_{function}({self.modulo(left, width)}, {count})"
            case Binary("two_comp_mod", left, Const(bits)) if bits >= width:
                return self.modulo(left, width)
            case Ternary(condition, on_true, on_false):
                a, b = self.modulo(on_true, width), self.modulo(on_false, width)
                return f"({self.condition(condition)} ? {a} : {b})"
            case _:
                return convert(self.exact(e), kind, self.limbs)

    def unsigned(self, e: Expression, width: int) -> str:
        """Returns the low `width` bits of e, zero above them; of kind modular_kind(width)."""
        kind = modular_kind(width, self.limbs)
        if self.ranges.fits(e, unsigned_range(width)):
            return convert(self.exact(e), kind, self.limbs)
        return self.mask(self.modulo(e, width), kind, width)

    def mask(self, text: str, kind: str, width: int) -> str:
        """Clears what is above the low `width` bits."""
        if kind == "wide":
            return f"sw_wide_low({text}, {width})"
        if width in (64, 128):
            return text
        return f"({text} & {constant((1 << width) - 1, kind, self.limbs)})"

    def clamp(self, value: Value, bounds: Range) -> Value:
        """Returns the nearest value inside the bounds."""
        if within(value.range, bounds):
            return value
        return self._clamp(value, bounds, kind_for(union(value.range, bounds), self.limbs))

    def index(self, e: Expression) -> str:
        """Returns an index as uint64_t; anything that does not fit is out of every range."""
        if self.ranges.fits(e, unsigned_range(64)):
            return self.modulo(e, 64)
        return self._clamped(e)

    def _clamped(self, e: Expression) -> str:
        value = self.exact(e)
        top = (0, 2**64 - 1)
        if value.kind == "i64":
            return f"(uint64_t)({value.text})"
        text = self._clamp(value, top, kind_for(union(value.range, top), self.limbs))
        return convert(text, "u64", self.limbs)

    def _as(self, e: Expression, kind: str) -> str:
        return convert(self.exact(e), kind, self.limbs)

    def _apply(self, op: str, a: str, b: str, kind: str) -> str:
        if kind == "wide":
            return f"sw_wide_{_WIDE_NAMES[op]}({a}, {b})"
        return f"({a} {op} {b})"

    def _exact_unary(self, op: str, operand: Expression, r: Range) -> Value:
        if op == "b2d":
            return Value(f"(uint64_t)({self.condition(operand)})", "u64", r)
        # -(2^63) is an i64, 2^63 isn't
        kind = kind_for(union(r, self.ranges.of(operand)), self.limbs)
        inner = self._as(operand, kind)
        if kind == "wide":
            return Value(f"sw_wide_{'neg' if op == '-' else 'not'}({inner})", kind, r)
        return Value(f"({op}{inner})", kind, r)

    def _exact_binary(self, op: str, left: Expression, right: Expression, r: Range) -> Value:
        if op == "&" and r[0] >= 0:
            # One operand is in [0, r[1]] already, so nothing above its bits survives.
            bits = max(r[1].bit_length(), 1)
            kind = modular_kind(bits, self.limbs)
            fits = [self.ranges.fits(x, (0, (1 << bits) - 1)) for x in (left, right)]
            parts = [
                self.unsigned(x, bits) if fit else self.modulo(x, bits)
                for x, fit in zip((left, right), fits, strict=True)
            ]
            return Value(self._apply("&", parts[0], parts[1], kind), kind, r)
        if op == "two_comp_mod":
            return self._sign(left, self.ranges.of(right)[0], r)
        if op in ("usat_cast", "sat_cast"):
            width = self.ranges.of(right)[0]
            bounds = unsigned_range(width) if op == "usat_cast" else signed_range(width)
            return self.clamp(self.exact(left), bounds)
        if op in ("<<", ">>"):
            kind = kind_for(union(r, self.ranges.of(left)) if op == ">>" else r, self.limbs)
            a = self._as(left, kind)
            count = self.index(right)
            if kind == "wide":
                return Value(f"sw_wide_{'shl' if op == '<<' else 'shr'}({a}, {count})", kind, r)
            if op == ">>":
                return Value(f"sw_shr_{kind}({a}, {count})", kind, r)
            unsigned = "u64" if kind in ("u64", "i64") else "u128"
            shifted = (
                f"sw_shl_{unsigned}({convert(Value(a, kind, r), unsigned, self.limbs)}, {count})"
            )
            return Value(convert(Value(shifted, unsigned, r), kind, self.limbs), kind, r)
        # One that holds the operands, too: C's signed arithmetic mustn't overflow.
        kind = kind_for(union(union(self.ranges.of(left), self.ranges.of(right)), r), self.limbs)
        if op in ("/", "%"):
            kind = "i128" if kind == "i64" else kind
            a, b = self._as(left, kind), self._as(right, kind)
            if kind == "wide":
                return Value(
                    f"sw_wide_divide({a}, {b}, {'true' if op == '%' else 'false'})", kind, r
                )
            return Value(f"sw_{'div' if op == '/' else 'mod'}_{kind}({a}, {b})", kind, r)
        return Value(self._apply(op, self._as(left, kind), self._as(right, kind), kind), kind, r)

    def _sign(self, e: Expression, width: int, r: Range) -> Value:
        """Writes two_comp_mod."""
        if self.ranges.fits(e, signed_range(width)):
            return self.exact(e)
        text = self.modulo(e, width)
        kind = modular_kind(width, self.limbs)
        if width == 1:
            return Value(f"-(int64_t)({text} & 1)", "i64", r)
        if kind == "u64":
            return Value(f"sw_sign({text}, {width})", "i64", r)
        if kind == "u128":
            return Value(f"sw_sign128({text}, {width})", "i128", r)
        return Value(f"sw_wide_sign({text}, {width})", "wide", r)

    def _clamp(self, value: Value, bounds: Range, kind: str) -> Value:
        low, high = (constant(b, kind, self.limbs) for b in bounds)
        text = convert(value, kind, self.limbs)
        name = "sw_wide_clamp" if kind == "wide" else f"sw_clamp_{kind}"
        r = (
            min(max(value.range[0], bounds[0]), bounds[1]),
            min(max(value.range[1], bounds[0]), bounds[1]),
        )
        return Value(f"{name}({text}, {low}, {high})", kind, r)

    # ---- leaves ----

    def _leaf(self, e: Expression, r: Range) -> Value:
        match e:
            case FieldRef() | LastField() | LastUnionField() | HeaderField():
                return self._read(e, r)
            case Valid(header):
                return Value(f"{self.header(header)}.valid", "u64", r)
            case Local(index, width):
                return self._limb_value(f"(args + {self._offsets[index]})", (width + 63) // 64, r)
            case Lookahead(offset, width):
                if width <= 64:
                    return Value(f"sw_bits(data + pos, {offset}, {width})", "u64", r)
                count = (width + 63) // 64
                limbs = (
                    f"({{ uint64_t look[{count}]; sw_get_limbs(look, data + pos, {offset}, "
                    f"{width}); %s; }})"
                )
                inner = self._limb_value("look", count, r)
                return Value(limbs % inner.text, inner.kind, r)
            case LastIndex(stack):
                return Value(f"((int64_t){self.layout.next(stack)} - 1)", "i64", r)
            case StackSize(stack):
                return Value(f"{self.layout.next(stack)}", "u64", r)
            case RegisterCell(register, index):
                return self._register_cell(register, index, r)
        raise AssertionError(f"not a data expression: {e}")

    def _limb_value(self, pointer: str, count: int, r: Range) -> Value:
        """Returns the unsigned limbs in memory."""
        if count == 1:
            return Value(f"{pointer}[0]", "u64", r)
        if count == 2:
            return Value(f"sw_u128_from({pointer})", "u128", r)
        self.limbs.need(64 * count + 1)
        return Value(f"sw_wide_from_limbs({pointer}, {count})", "wide", r)

    def _read(self, e: FieldRef | LastField | LastUnionField | HeaderField, r: Range) -> Value:
        place, storage = self.place(e)
        if storage.varbit:
            raise self.unsupported("a varbit in an expression")
        if storage.limbs and storage.signed:
            if storage.limbs == 2:
                return Value(f"(sw_i128)sw_u128_from({place})", "i128", r)
            self.limbs.need(64 * storage.limbs)
            return Value(f"sw_wide_from_signed({place}, {storage.limbs})", "wide", r)
        if storage.limbs:
            return self._limb_value(place, storage.limbs, r)
        if storage.signed:
            return Value(f"(int64_t){place}", "i64", r)
        return Value(f"sw_value({place})", "u64", r)

    def _register_cell(self, register: int, index: Expression, r: Range) -> Value:
        """Returns a register read inside an expression (P4_14); out of range it is 0."""
        size = self.program.registers[register].size
        i = f"({{ uint64_t i = {self.index(index)}; %s; }})"
        read = self.register_read(register)
        zero = constant(0, read.kind, self.limbs)
        return Value(i % f"i < {size} ? {read.text} : {zero}", read.kind, r)

    def register_cell(self, c_type: str, register: int) -> str:
        """Returns an lvalue: cell `i` of a register of up to 128 bits; codegen/array_layout.py
        computes its place."""
        stride = self.cells.registers[register].stride
        return f"(*({c_type} *)((char *)s->registers[{register}].cells + i * {stride}))"

    def register_read(self, register: int) -> Value:
        """Returns the cell `i` of a register array; csrc/pipeline.h describes the layout of
        cells."""
        width = self.program.registers[register].width
        r = unsigned_range(width)
        if width <= 64:
            bits = next(b for b in (8, 16, 32, 64) if width <= b)
            return Value(
                f"(uint64_t){self.register_cell(f'const uint{bits}_t', register)}", "u64", r
            )
        if width <= 128:
            return Value(self.register_cell("const sw_u128", register), "u128", r)
        self.limbs.need(width + 1)
        size = (width + 7) // 8
        array = f"(const uint8_t *)s->registers[{register}].cells"
        return Value(f"sw_wide_from_bytes({array} + i * {size}, {size})", "wide", r)

    # ---- conditions ----

    def condition(self, e: Expression) -> str:
        """Returns a C truth value of a condition; of data, whether it is not zero."""
        match e:
            case BoolConst(value):
                return "true" if value else "false"
            case Unary("d2b", operand):
                return self._nonzero(operand)
            case Unary("not", operand):
                return f"!({self.condition(operand)})"
            case Unary("valid", operand) if isinstance(
                operand, HeaderRef | StackElement | UnionMember
            ):
                return f"({self.header(operand)}.valid != 0)"
            case Unary("valid_union", operand) if isinstance(operand, UnionRef | UnionStackElement):
                return f"({self.union_valid(operand)})"
            case Binary("and" | "or" as op, left, right):
                return (
                    f"({self.condition(left)} {'&&' if op == 'and' else '||'} "
                    f"{self.condition(right)})"
                )
            case Binary("==b" | "!=b" as op, left, right):
                return f"(({self.condition(left)}) {op[:2]} ({self.condition(right)}))"
            case Binary("==h" | "!=h" as op, left, right):
                return f"({'!' if op == '!=h' else ''}{self._equal_headers(left, right)})"
            case Binary("==u" | "!=u"):
                raise self.unsupported("a comparison of header unions")
            case Binary(op, left, right) if op in ("==", "!=", "<", "<=", ">", ">="):
                return self._compare(op, left, right)
            case Ternary(condition, on_true, on_false):
                parts = (self.condition(x) for x in (condition, on_true, on_false))
                return "({} ? {} : {})".format(*parts)
            case _:
                return self._nonzero(e)

    def _nonzero(self, e: Expression) -> str:
        if isinstance(e, Unary) and e.op == "b2d":
            return self.condition(e.operand)
        value = self.exact(e)
        if not value.range[0] <= 0 <= value.range[1]:
            return "true"
        if value.range == (0, 0):
            return "false"
        if value.kind == "wide":
            return f"(sw_wide_compare({value.text}, {constant(0, 'wide', self.limbs)}) != 0)"
        return f"({value.text} != 0)"

    def _compare(self, op: str, left: Expression, right: Expression) -> str:
        if (
            isinstance(left, FieldRef | LastField | HeaderField)
            and field_of(self.program, left).varbit
        ):
            return self._compare_varbits(op, left, right)
        a, b = self.exact(left), self.exact(right)
        decided = _decide(op, a.range, b.range)
        if decided is not None:
            return "true" if decided else "false"
        kind = a.kind if a.kind == b.kind else kind_for(union(a.range, b.range), self.limbs)
        x, y = convert(a, kind, self.limbs), convert(b, kind, self.limbs)
        if kind == "wide":
            return f"(sw_wide_compare({x}, {y}) {op} 0)"
        return f"({x} {op} {y})"

    def _compare_varbits(self, op: str, left: LValue, right: Expression) -> str:
        """Compares varbits. BMv2 compares the numbers in them, whatever their lengths."""
        if (
            not isinstance(right, FieldRef | LastField | HeaderField)
            or not field_of(self.program, right).varbit
        ):
            raise self.unsupported("a comparison of a varbit with something else")
        if op not in ("==", "!="):
            raise self.unsupported(f"the comparison {op} of varbits")
        a, b = self.place(left)[0], self.place(right)[0]
        call = f"sw_equal_bytes({a}.data, {a}.bits / 8, {b}.data, {b}.bits / 8)"
        return f"({'!' if op == '!=' else ''}{call})"

    def _equal_headers(self, left: Expression, right: Expression) -> str:
        """Returns both valid, of one type, and equal in every field."""
        assert isinstance(left, HeaderRef | StackElement | UnionMember)
        assert isinstance(right, HeaderRef | StackElement | UnionMember)
        types = [header_type_of(self.program, x) for x in (left, right)]
        if types[0] != types[1]:
            return "false"
        name = self.layout.type_name(types[0])
        tests = ["a->valid && b->valid"]
        for i, field in enumerate(self.program.header_types[types[0]].fields):
            member, storage = self.layout.member(types[0], i), storage_of(field)
            if storage.varbit:
                a, b = f"a->{member}", f"b->{member}"
                tests.append(f"sw_equal_bytes({a}.data, {a}.bits / 8, {b}.data, {b}.bits / 8)")
            elif storage.limbs:
                tests.append(f"memcmp(a->{member}, b->{member}, sizeof a->{member}) == 0")
            else:
                tests.append(f"a->{member} == b->{member}")
        pointers = (
            f"const {name} *a = &{self.header(left)}; const {name} *b = &{self.header(right)};"
        )
        return f"({{ {pointers} {' && '.join(tests)}; }})"


def _decide(op: str, a: Range, b: Range) -> bool | None:
    """Returns what a comparison gives for all values of two ranges, if it is always the same."""
    if op in ("==", "!="):
        if a[1] < b[0] or b[1] < a[0]:
            return op == "!="
        return op == "==" if a == b and a[0] == a[1] else None
    if op in (">", "<="):
        a, b = b, a
    # Now a < b (for < and >) or its negation.
    strict = op in ("<", ">")
    if a[1] < b[0]:
        return strict
    return not strict if a[0] >= b[1] else None
