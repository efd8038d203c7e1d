"""JSON's "type value objects" to expressions, sorts checked."""

from __future__ import annotations

from pcn.softswitch.program import limits
from pcn.softswitch.program.expressions import (
    Binary,
    BoolConst,
    Const,
    Expression,
    FieldRef,
    HeaderExpression,
    HeaderField,
    HeaderRef,
    LastField,
    LastIndex,
    LastUnionField,
    Local,
    Lookahead,
    LValue,
    RegisterCell,
    Sort,
    StackElement,
    StackSize,
    Ternary,
    Unary,
    UnionExpression,
    UnionMember,
    UnionRef,
    UnionStackElement,
    sort_of,
)
from pcn.softswitch.program.json_cursor import Place
from pcn.softswitch.program.names import Names

_DATA_UNARY = {"-", "~"}
_DATA_BINARY = {
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "two_comp_mod",
    "usat_cast",
    "sat_cast",
}
_COMPARISONS = {"<", "<=", ">", ">="}


class ExpressionLoader:
    """Loads expressions in one context: `locals_` are the widths of the enclosing action's
    parameters; `pure`: there is no switch, whose registers could be read."""

    def __init__(
        self,
        names: Names,
        locals_: tuple[int, ...] = (),
        *,
        in_parser: bool = False,
        pure: bool = False,
    ) -> None:
        self.names = names
        self.locals = locals_
        self.in_parser = in_parser
        self.pure = pure

    def data(self, place: Place) -> Expression:
        """Returns an expression that is a value. A condition is refused: BMv2 converts none
        implicitly."""
        return self._of(place, Sort.DATA)

    def condition(self, place: Place) -> Expression:
        return self._of(place, Sort.BOOL)

    def header(self, place: Place) -> HeaderExpression:
        expression = self._of(place, Sort.HEADER)
        assert isinstance(expression, HeaderRef | StackElement | UnionMember)
        return expression

    def union(self, place: Place) -> UnionExpression:
        expression = self._of(place, Sort.UNION)
        assert isinstance(expression, UnionRef | UnionStackElement)
        return expression

    def any(self, place: Place) -> Expression:
        """Returns a value or a condition."""
        expression = self._load(place, 0)
        if sort_of(expression) not in (Sort.DATA, Sort.BOOL):
            raise place.error(f"expected a value or a condition, found {sort_of(expression).value}")
        return expression

    def lvalue(self, place: Place) -> LValue:
        """Returns a field that can be assigned to, a varbit too."""
        expression = self._load(place, 0)
        if not isinstance(expression, FieldRef | LastField | HeaderField):
            raise place.error("expected a field, which can be assigned to")
        return expression

    def number(self, place: Place) -> LValue:
        """Returns a field that takes a number: no varbit."""
        field = self.lvalue(place)
        if self.is_varbit(field):
            raise place.error("a varbit cannot be used here")
        return field

    def is_varbit(self, field: LValue) -> bool:
        match field:
            case FieldRef():
                return self.names.is_varbit(field)
            case LastField(stack, index):
                return self.names.header_types[self.names.stacks[stack].type].fields[index].varbit
            case HeaderField(_, header_type, index):
                return self.names.header_types[header_type].fields[index].varbit

    def constant(self, place: Place) -> int:
        expression = self._load(place, 0)
        if not isinstance(expression, Const):
            raise place.error("expected a constant")
        return expression.value

    def _of(self, place: Place, sort: Sort) -> Expression:
        return self._check(place, self._load(place, 0), sort)

    def _check(self, place: Place, expression: Expression, sort: Sort) -> Expression:
        actual = sort_of(expression)
        if actual is not sort:
            raise place.error(f"expected {sort.value}, found {actual.value}")
        return expression

    def _load(self, place: Place, depth: int) -> Expression:
        if depth > limits.DEPTH:
            raise place.unsupported(f"an expression is nested more than {limits.DEPTH} deep")
        self.names.expressions += 1
        place.most(
            self.names.expressions, limits.EXPRESSIONS, "values, operations and conditions so far"
        )
        kind = place.at("type").string()
        value = place.at("value")
        match kind:
            case "expression":
                if "op" in value.object():
                    return self._operation(value, depth + 1)
                return self._load(value, depth + 1)
            case "hexstr":
                return Const(value.hexadecimal())
            case "bool":
                return BoolConst(value.boolean())
            case "field":
                return self.names.field_or_valid(value)
            case "runtime_data" | "local":
                if not self.locals:
                    raise value.error("no action parameters here")
                index = value.integer(0, len(self.locals) - 1)
                return Local(index, self.locals[index])
            case "header":
                header = self.names.header_names.find(value)
                if self.names.headers[
                    header
                ].metadata:  # p4c copies and compares structs field by field
                    raise value.unsupported("metadata as a whole")
                return HeaderRef(header)
            case "header_union":
                return UnionRef(self.names.union_names.find(value))
            case "stack_field":
                stack_place, field_place = value.items(2)
                stack = self.names.stack_names.find(stack_place)
                return LastField(
                    stack, self.names.member(self.names.stacks[stack].type, field_place)
                )
            case "union_stack_field":
                return self._last_union_field(value)
            case "lookahead":
                if not self.in_parser:
                    raise value.error("lookahead is possible in a parser only")
                offset, width = value.items(2)
                most = limits.LOOKAHEAD_BITS
                return Lookahead(offset.integer(0, most), width.integer(1, most))
            case "register":
                if self.pure:
                    raise value.unsupported("a register in a checksum's condition or a digest")
                array, index_place = value.items(2)
                register = self.names.registers.find(array)
                return RegisterCell(register, self._sub(index_place, depth, Sort.DATA))
            case _:
                raise place.unsupported(f"a value of type {kind[:100]!r}")

    def _last_union_field(self, value: Place) -> LastUnionField:
        stack_place, member_place, field_place = value.items(3)
        stack = self.names.union_stack_names.find(stack_place)
        member = self.union_member(stack, member_place)
        first = self.names.unions[self.names.union_stacks[stack].unions[0]]
        header_type = self.names.headers[first.headers[member]].type
        return LastUnionField(stack, member, self.names.member(header_type, field_place))

    def union_member(self, stack: int, place: Place) -> int:
        """Returns the index of the member that `place` names in the unions of a stack."""
        union = self.names.unions[self.names.union_stacks[stack].unions[0]]
        name = place.string()
        if name not in union.members:
            raise place.error(f"the header union has no member {name[:100]!r}")
        return union.members.index(name)

    def _sub(self, place: Place, depth: int, sort: Sort) -> Expression:
        return self._check(place, self._load(place, depth + 1), sort)

    def _operation(self, place: Place, depth: int) -> Expression:
        op = place.at("op").string()
        right = place.at("right")

        def left_of(sort: Sort) -> Expression:
            return self._sub(place.at("left"), depth, sort)

        def right_of(sort: Sort) -> Expression:
            return self._sub(right, depth, sort)

        if op in ("-", "~") and not place.has("left"):
            return Unary(op, right_of(Sort.DATA))
        if op == "+" and not place.has("left"):
            return right_of(Sort.DATA)
        if op in _DATA_BINARY:
            return Binary(op, left_of(Sort.DATA), right_of(Sort.DATA))
        if op in _COMPARISONS:
            return Binary(op, left_of(Sort.DATA), right_of(Sort.DATA))
        match op:
            case "==" | "!=":
                left = self._load(place.at("left"), depth + 1)
                sort = sort_of(left)
                suffix = {Sort.DATA: "", Sort.BOOL: "b", Sort.HEADER: "h", Sort.UNION: "u"}[sort]
                return Binary(op + suffix, left, right_of(sort))
            case "and" | "or":
                return Binary(op, left_of(Sort.BOOL), right_of(Sort.BOOL))
            case "not":
                return Unary(op, right_of(Sort.BOOL))
            case "d2b":
                return Unary(op, right_of(Sort.DATA))
            case "b2d":
                return Unary(op, right_of(Sort.BOOL))
            case "valid":
                return Unary("valid", right_of(Sort.HEADER))
            case "valid_union":
                return Unary("valid_union", right_of(Sort.UNION))
            case "?":
                on_true = self._load(place.at("left"), depth + 1)
                if sort_of(on_true) not in (Sort.DATA, Sort.BOOL):
                    raise place.unsupported(
                        f"a choice between {sort_of(on_true).value} and another"
                    )
                condition = self._sub(place.at("cond"), depth, Sort.BOOL)
                return Ternary(condition, on_true, right_of(sort_of(on_true)))
            case "last_stack_index" | "size_stack":
                return (LastIndex if op == "last_stack_index" else StackSize)(self._stack(right))
            case "dereference_header_stack" | "dereference_stack":
                return StackElement(self._stack(place.at("left")), right_of(Sort.DATA))
            case "dereference_union_stack":
                stack_place = place.at("left")
                if stack_place.at("type").string() != "header_union_stack":
                    raise stack_place.error("expected a header union stack")
                stack = self.names.union_stack_names.find(stack_place.at("value"))
                return UnionStackElement(stack, right_of(Sort.DATA))
            case "access_union_header":
                return self._access_union(left_of(Sort.UNION), right)
            case "access_field":
                header = left_of(Sort.HEADER)
                assert isinstance(header, HeaderRef | StackElement | UnionMember)
                header_type = self.names.type_of(header)
                index = right.integer(0, len(self.names.header_types[header_type].fields) - 1)
                if isinstance(header, HeaderRef):
                    return FieldRef(header.header, index)
                return HeaderField(header, header_type, index)
            case _:
                raise place.unsupported(f"operation {op[:100]!r}")

    def _access_union(self, union: Expression, right: Place) -> UnionMember:
        assert isinstance(union, UnionRef | UnionStackElement)
        first = (
            union.union
            if isinstance(union, UnionRef)
            else self.names.union_stacks[union.stack].unions[0]
        )
        return UnionMember(union, right.integer(0, len(self.names.unions[first].headers) - 1))

    def _stack(self, place: Place) -> int:
        if place.at("type").string() != "header_stack":
            raise place.error("expected a header stack")
        return self.names.stack_names.find(place.at("value"))
