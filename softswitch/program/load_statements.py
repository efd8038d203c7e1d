"""JSON's primitives, in actions and in parser states, to statements."""

from __future__ import annotations

from collections.abc import Callable

from pcn.softswitch.program import limits
from pcn.softswitch.program.expressions import (
    Binary,
    Const,
    Expression,
    FieldRef,
    HeaderField,
    LastField,
    LValue,
)
from pcn.softswitch.program.json_cursor import Place
from pcn.softswitch.program.load_expressions import ExpressionLoader
from pcn.softswitch.program.statements import (
    Assert,
    Assign,
    AssignHeader,
    AssignMetadata,
    AssignStack,
    AssignUnion,
    AssignVarbit,
    Clone,
    Count,
    Digest,
    Exit,
    Hash,
    Jump,
    JumpIfZero,
    LogMessage,
    MarkToDrop,
    MeterExecute,
    Operation,
    Pop,
    Push,
    Random,
    Recirculate,
    RegisterRead,
    RegisterWrite,
    Resubmit,
    SetInvalid,
    SetValid,
    Statement,
    Truncate,
)

# Primitives that P4_14 programs bring: target = left op right.
_ARITHMETIC = {
    "add": "+",
    "subtract": "-",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_UPDATES = {"add_to_field": "+", "subtract_from_field": "-"}
_ONE_VALUE: dict[str, Callable[[Expression], Operation]] = {
    "resubmit": Resubmit,
    "recirculate": Recirculate,
    "truncate": Truncate,
}


class StatementLoader:
    """Loads the statements of one action, of the parser or the deparser; `count` bounds the targets
    of an action's jumps, and is None for the others, which have neither jumps nor exit."""

    def __init__(self, expressions: ExpressionLoader, count: int | None = None) -> None:
        self.expressions = expressions
        self.names = expressions.names
        self.count = count

    def load(self, place: Place) -> Statement | None:
        """Returns one primitive, or None for one that does nothing."""
        self.note(place)
        op = place.at("op").string()
        if self.count is None and op in ("exit", "_jump", "_jump_if_zero"):
            raise place.unsupported(f"primitive {op!r} outside an action")
        operation = self._operation(op, place, place.at("parameters").items())
        return Statement(operation, place.source) if operation else None

    def note(self, place: Place) -> None:
        """Counts a statement."""
        self.names.statements += 1
        place.most(self.names.statements, limits.STATEMENTS, "statements so far")

    def _arguments(self, place: Place, arguments: list[Place], count: int) -> list[Place]:
        if len(arguments) != count:
            raise place.error(f"expected {count} parameters, found {len(arguments)}")
        return arguments

    def _operation(self, op: str, place: Place, parameters: list[Place]) -> Operation | None:
        data, lvalue = self.expressions.data, self.expressions.number

        def take(count: int) -> list[Place]:
            return self._arguments(place, parameters, count)

        if op in _ARITHMETIC:
            target, left, right = take(3)
            return Assign(lvalue(target), Binary(_ARITHMETIC[op], data(left), data(right)))
        if op in _UPDATES:
            target, value = take(2)
            field = lvalue(target)
            return Assign(field, Binary(_UPDATES[op], field, data(value)))
        if op in _ONE_VALUE:
            return _ONE_VALUE[op](data(take(1)[0]))
        match op:
            case "assign" | "modify_field":
                target, value = take(2)
                return self.assign(self.expressions.lvalue(target), value, place)
            case "assign_VL":
                target, value = take(2)
                return self.assign(self.expressions.lvalue(target), value, place)
            case "assign_header" | "copy_header":
                if all(self._is_metadata(argument) for argument in take(2)):
                    return self._assign_metadata(place, *parameters)
                to, source = (self.expressions.header(argument) for argument in parameters)
                if self.names.type_of(to) != self.names.type_of(source):
                    raise place.error("the two headers are of different types")
                return AssignHeader(to, source)
            case "assign_union":
                union_to, union_from = (self.expressions.union(argument) for argument in take(2))
                return AssignUnion(union_to, union_from)
            case "assign_header_stack":
                stack_to, stack_from = (self._stack(argument) for argument in take(2))
                a, b = self.names.stacks[stack_to], self.names.stacks[stack_from]
                if a.type != b.type or len(a.headers) != len(b.headers):
                    raise place.error("the two header stacks are of different types")
                return AssignStack(stack_to, stack_from)
            case "add_header":
                return SetValid(self.expressions.header(take(1)[0]))
            case "remove_header":
                return SetInvalid(self.expressions.header(take(1)[0]))
            case "push" | "pop":
                stack, count = take(2)
                moved = self.expressions.constant(count)
                if not 0 <= moved <= limits.STACK_MOVE:
                    raise count.error(f"{moved} is outside [0, {limits.STACK_MOVE}]")
                return (Push if op == "push" else Pop)(self._stack(stack), moved)
            case "drop":
                fields = {member: ref for ref, member in self.names.std_fields.items()}
                if "egress_spec" not in fields:
                    raise place.error("the program has no standard_metadata.egress_spec")
                return MarkToDrop(fields["egress_spec"], fields.get("mcast_grp"))
            case "mark_to_drop":
                return self._mark_to_drop(take(1)[0])
            case "no_op":
                return None
            case "exit":
                return Exit()
            case "register_read":
                target, array, index = take(3)
                return RegisterRead(
                    lvalue(target), self._named(array, "register_array"), data(index)
                )
            case "register_write":
                array, index, value = take(3)
                return RegisterWrite(self._named(array, "register_array"), data(index), data(value))
            case "count":
                array, index = take(2)
                return Count(self._named(array, "counter_array"), data(index))
            case "execute_meter":
                array, index, target = take(3)
                return MeterExecute(self._named(array, "meter_array"), data(index), lvalue(target))
            case "modify_field_with_hash_based_offset":
                target, base, calculation, size = take(4)
                return Hash(
                    lvalue(target), data(base), self._named(calculation, "calculation"), data(size)
                )
            case "modify_field_rng_uniform":
                target, low, high = take(3)
                return Random(lvalue(target), data(low), data(high))
            case "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress":
                if len(parameters) == 1:
                    return Clone(data(parameters[0]), Const(0))
                session, field_list = take(2)
                return Clone(data(session), data(field_list))
            case "generate_digest":
                list_place = take(2)[1]
                list_id = self.expressions.constant(list_place)
                if list_id not in self.names.learn_ids:
                    raise list_place.error(f"no learn list with id {list_id}")
                return Digest(self.names.learn_ids[list_id])
            case "log_msg":
                return self._log_message(*take(2))
            case "assert" | "assume":
                return Assert(op, self.expressions.any(take(1)[0]))
            case "_jump":
                return Jump(self._jump_target(take(1)[0]))
            case "_jump_if_zero":
                condition, jump_to = take(2)
                return JumpIfZero(self.expressions.any(condition), self._jump_target(jump_to))
            case _:
                raise place.unsupported(f"primitive {op[:100]!r}")

    def _mark_to_drop(self, place: Place) -> MarkToDrop:
        if place.at("type").string() != "header":
            raise place.error("expected standard metadata, or a copy of it")
        index = self.names.header_names.find(place.at("value"))
        header = self.names.headers[index]
        members = enumerate(self.names.header_types[header.type].fields)
        fields = {field.name: FieldRef(index, i) for i, field in members if not field.varbit}
        if not header.metadata or "egress_spec" not in fields:
            raise place.error(f"{header.name!r} is neither standard metadata nor a copy of it")
        return MarkToDrop(fields["egress_spec"], fields.get("mcast_grp"))

    def assign(self, target: LValue, source: Place, place: Place) -> Assign | AssignVarbit:
        """Returns a plain assignment, or that of a varbit to a varbit."""
        value = self.expressions.any(source)
        if not self.expressions.is_varbit(target):
            return Assign(target, value)
        if not isinstance(
            value, FieldRef | LastField | HeaderField
        ) or not self.expressions.is_varbit(value):
            raise place.error("only a varbit can be assigned to a varbit")
        return AssignVarbit(target, value)

    def _jump_target(self, place: Place) -> int:
        target = self.expressions.constant(place)
        assert self.count is not None  # load() has refused it
        if not 0 <= target <= self.count:
            raise place.error(f"a jump to primitive {target} of {self.count}")
        return target

    def _stack(self, place: Place) -> int:
        kind = place.at("type").string()
        if kind != "header_stack":
            raise place.unsupported(f"a {kind[:100]} here")
        return self.names.stack_names.find(place.at("value"))

    def _named(self, place: Place, kind: str) -> int:
        if place.at("type").string() != kind:
            raise place.error(f"expected a {kind}")
        indices = {
            "register_array": self.names.registers,
            "counter_array": self.names.counters,
            "meter_array": self.names.meters,
            "calculation": self.names.calculations,
        }
        return indices[kind].find(place.at("value"))

    def _is_metadata(self, place: Place) -> bool:
        if place.at("type").string() != "header":
            return False
        return self.names.headers[self.names.header_names.find(place.at("value"))].metadata

    def _assign_metadata(self, place: Place, target: Place, value: Place) -> AssignMetadata:
        """Copies a struct. p4c copies structs field by field, except standard metadata that log_msg
        prints as a whole."""
        to, source = (
            self.names.header_names.find(argument.at("value")) for argument in (target, value)
        )
        kind = self.names.headers[to].type
        if kind != self.names.headers[source].type:
            raise place.error("the two structs are of different types")
        fields = self.names.header_types[kind].fields
        if any(f.varbit for f in fields):
            raise place.unsupported("a copy of a struct with a varbit")
        self.names.expressions += len(fields)
        place.most(
            self.names.expressions, limits.EXPRESSIONS, "values, operations and conditions so far"
        )
        return AssignMetadata(
            tuple(Assign(FieldRef(to, i), FieldRef(source, i)) for i in range(len(fields)))
        )

    def _log_message(self, text: Place, vector: Place) -> LogMessage:
        if (
            text.at("type").string() != "string"
            or vector.at("type").string() != "parameters_vector"
        ):
            raise text.error("log_msg takes a string and a parameters_vector")
        arguments = vector.at("value")
        # p4c writes an empty vector as an empty object.
        values = (
            ()
            if arguments.value == {}
            else tuple(self.expressions.data(item) for item in arguments.items())
        )
        parts = split_format(text.at("value").string())
        if parts is None or len(parts) != len(values) + 1:
            raise text.error(f"the format string does not take {len(values)} values")
        return LogMessage(parts, values)


def split_format(text: str) -> tuple[str, ...] | None:
    """Returns the texts around the {} of a log_msg format, escapes (\\{ and \\}) resolved; None if
    a brace is unmatched."""
    parts, current, i = [], "", 0
    while i < len(text):
        if text[i] == "\\" and text[i + 1 : i + 2] in ("{", "}"):
            current += text[i + 1]
            i += 2
        elif text[i] == "{":
            end = text.find("}", i)
            if end < 0:
                return None
            parts.append(current)
            current, i = "", end + 1
        else:
            current += text[i]
            i += 1
    return (*parts, current)
