"""Parser states, their operations and transitions."""

from __future__ import annotations

from dataclasses import replace

from pcn.softswitch.program import limits
from pcn.softswitch.program.expressions import (
    Const,
    Expression,
    FieldRef,
    LastField,
    LastUnionField,
    Lookahead,
    Valid,
)
from pcn.softswitch.program.json_cursor import Place
from pcn.softswitch.program.load_expressions import ExpressionLoader
from pcn.softswitch.program.load_statements import StatementLoader
from pcn.softswitch.program.model import KeyPart, Parser, ParseState, Transition, ValueSet
from pcn.softswitch.program.names import Index, Names
from pcn.softswitch.program.statements import (
    Advance,
    Extract,
    ExtractNext,
    ExtractNextUnion,
    Operation,
    Statement,
    Verify,
)
from pcn.softswitch.program.union_copies import with_whole_unions


class ParserLoader:
    def __init__(self, names: Names, value_sets: tuple[ValueSet, ...]) -> None:
        self.names = names
        self.value_sets = list(value_sets)  # with the parts of the keys that are compared with them
        self._seen: set[int] = set()
        self.expressions = ExpressionLoader(names, in_parser=True)
        self.statements = StatementLoader(self.expressions)
        self._transitions = 0
        self.states = Index("parse state")

    def load(self, place: Place) -> Parser:
        places = place.at("parse_states").items()
        place.at("parse_states").most(len(places), limits.STATES, "parser states")
        for state in places:
            self.states.add(state.at("name"))
        states = tuple(self._state(state) for state in places)
        start = self.states.find(place.at("init_state"))
        return Parser(place.at("name").name(), states, start, _loops(states), place.source)

    def _state(self, place: Place) -> ParseState:
        statements = tuple(
            statement
            for op in place.at("parser_ops").items()
            if (statement := self._operation(op)) is not None
        )
        key = tuple(self._key_part(part) for part in place.at("transition_key").items())
        transitions: list[Transition] = []
        default: int | None = None
        places = place.at("transitions").items()
        self._transitions += len(places)
        place.most(self._transitions, limits.TRANSITIONS, "transitions so far")
        for transition in places:
            next_place = transition.at("next_state")
            next_state = None if next_place.is_null() else self.states.find(next_place)
            kind = transition.maybe("type")
            if transition.at("value").value == "default" or (
                kind is not None and kind.string() == "default"
            ):
                default = next_state
                break
            transitions.append(self._transition(transition, key, next_state))
        statements = with_whole_unions(statements, self.names)
        return ParseState(
            place.at("name").name(), statements, key, tuple(transitions), default, place.source
        )

    def _key_part(self, place: Place) -> KeyPart:
        expression = self.expressions.any(place)
        match expression:
            case FieldRef() | Valid():
                if isinstance(expression, FieldRef) and self.names.is_varbit(expression):
                    raise place.error("a varbit cannot be selected on")
                return KeyPart(expression, self.names.width(expression))
            case Lookahead(_, width):
                return KeyPart(expression, width)
            case LastField(stack, index):
                fields = self.names.header_types[self.names.stacks[stack].type].fields
                return KeyPart(expression, fields[index].width)
            case LastUnionField(stack, member, index):
                union = self.names.unions[self.names.union_stacks[stack].unions[0]]
                header_type = self.names.headers[union.headers[member]].type
                return KeyPart(expression, self.names.header_types[header_type].fields[index].width)
            case _:
                raise place.unsupported("a transition key that is not a field or lookahead")

    def _transition(
        self, place: Place, key: tuple[KeyPart, ...], next_state: int | None
    ) -> Transition:
        kind = place.maybe("type")
        mask = place.maybe("mask")
        if kind is not None and kind.string() == "parse_vset":
            if mask is not None:
                raise mask.unsupported("a value set with a mask")
            vset = self.names.value_sets.find(place.at("value"))
            if sum(part.width for part in key) != self.value_sets[vset].width:
                raise place.error("the transition key and the value set differ in width")
            parts = tuple(part.width for part in key)
            if vset in self._seen and parts != self.value_sets[vset].parts:
                raise place.unsupported("a value set for keys of different parts")
            self._seen.add(vset)
            self.value_sets[vset] = replace(self.value_sets[vset], parts=parts)
            return Transition(next_state, vset=vset)
        if kind is not None and kind.string() != "hexstr":
            raise kind.unsupported(f"a transition of type {kind.string()[:100]!r}")
        values = self._split(place.at("value"), key)
        masks = self._split(mask, key) if mask else tuple((1 << part.width) - 1 for part in key)
        return Transition(
            next_state, tuple(v & m for v, m in zip(values, masks, strict=True)), masks
        )

    def _split(self, place: Place, key: tuple[KeyPart, ...]) -> tuple[int, ...]:
        """Cuts the concatenation of the key's byte-padded parts."""
        total = sum((part.width + 7) // 8 for part in key)
        value = place.hexadecimal(max_bits=8 * total)
        if not key or value < 0 or value >> (8 * total):
            raise place.error(f"expected {total} bytes")
        parts = []
        for part in reversed(key):
            bits = 8 * ((part.width + 7) // 8)
            parts.append(value & ((1 << bits) - 1))
            value >>= bits
        return tuple(reversed(parts))

    def _operation(self, place: Place) -> Statement | None:
        op = place.at("op").string()
        parameters = place.at("parameters").items()
        if op == "primitive":
            if len(parameters) != 1:
                raise place.error("expected 1 parameter")
            return self.statements.load(parameters[0])
        self.statements.note(place)
        return Statement(self._parser_operation(op, parameters, place), place.source)

    def _parser_operation(self, op: str, parameters: list[Place], place: Place) -> Operation:
        counts = {"extract": 1, "extract_VL": 2, "set": 2, "verify": 2, "shift": 1, "advance": 1}
        if op not in counts:
            raise place.unsupported(f"parser operation {op[:100]!r}")
        if len(parameters) != counts[op]:
            raise place.error(f"expected {counts[op]} parameters, found {len(parameters)}")
        match op:
            case "extract":
                return self._extract(parameters[0], None)
            case "extract_VL":
                return self._extract(parameters[0], self.expressions.data(parameters[1]))
            case "set":
                target = self.expressions.lvalue(parameters[0])
                return self.statements.assign(target, parameters[1], place)
            case "verify":
                return Verify(
                    self.expressions.condition(parameters[0]), self.expressions.data(parameters[1])
                )
            case "shift":
                return Advance(Const(8 * parameters[0].integer(0, limits.SHIFT_BYTES)))
            case _:
                bits = self.expressions.data(parameters[0])
                if isinstance(bits, Const) and bits.value < 0:
                    raise parameters[0].error("the parser cannot go back")
                return Advance(bits)

    def _extract(self, place: Place, length: Expression | None) -> Operation:
        kind = place.at("type").string()
        value = place.at("value")
        match kind:
            case "regular":
                header = self.names.header_names.find(value)
                if self.names.headers[header].metadata:
                    raise place.error("metadata cannot be extracted")
                self._check_varbit(place, self.names.headers[header].type, length)
                return Extract(header, length)
            case "stack":
                stack = self.names.stack_names.find(value)
                self._check_varbit(place, self.names.stacks[stack].type, length)
                return ExtractNext(stack, length)
            case "union_stack":
                stack_place, member_place = value.items(2)
                union_stack = self.names.union_stack_names.find(stack_place)
                member = self.expressions.union_member(union_stack, member_place)
                first = self.names.unions[self.names.union_stacks[union_stack].unions[0]]
                self._check_varbit(place, self.names.headers[first.headers[member]].type, length)
                return ExtractNextUnion(union_stack, member, length)
            case _:
                raise place.unsupported(f"extraction into a {kind[:100]!r}")

    def _check_varbit(self, place: Place, header_type: int, length: Expression | None) -> None:
        if (self.names.header_types[header_type].varbit is None) != (length is None):
            raise place.error("extract_VL is for headers with a varbit, extract for the others")


def _loops(states: tuple[ParseState, ...]) -> bool:
    """Returns whether a state can follow itself."""
    successors = [[t.next_state for t in s.transitions] + [s.default] for s in states]
    state_of = [0] * len(states)  # 0: not seen, 1: on the path, 2: done
    for root in range(len(states)):
        stack: list[tuple[int, int]] = [(root, 0)] if state_of[root] == 0 else []
        while stack:
            state, position = stack.pop()
            state_of[state] = 1
            if position == len(successors[state]):
                state_of[state] = 2
                continue
            stack.append((state, position + 1))
            following = successors[state][position]
            if following is not None:
                if state_of[following] == 1:
                    return True
                if state_of[following] == 0:
                    stack.append((following, 0))
    return False
