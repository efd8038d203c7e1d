"""The parser to one C function: a label a state, and gotos. Of a parser of many statements each
state is a function, which returns the next state, and PART statements of a state are one: a
compiler's time and memory grow faster than a function.

`pos` is how many bytes of `data` are extracted, `length` how many there are: no read goes past it.
A program whose states can loop has a budget of state visits; one that runs out of it ends with
ParserTimeout, where BMv2 would hang.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

from pcn.softswitch.codegen.controls import SIGNATURE, UNUSED, store_key
from pcn.softswitch.codegen.covering import Covering
from pcn.softswitch.codegen.expressions import Expressions
from pcn.softswitch.codegen.names import comment
from pcn.softswitch.codegen.packets import extract_fields
from pcn.softswitch.codegen.statements import Statements
from pcn.softswitch.codegen.tracing import Tracing
from pcn.softswitch.codegen.values import constant, modular_kind, unsigned_range
from pcn.softswitch.program.errors import Source
from pcn.softswitch.program.expressions import (
    Const,
    Expression,
    HeaderRef,
    Lookahead,
)
from pcn.softswitch.program.limits import STATE_VISITS
from pcn.softswitch.program.model import KeyPart, ParseState, Transition
from pcn.softswitch.program.statements import (
    Advance,
    Extract,
    ExtractNext,
    ExtractNextUnion,
    Operation,
    Statement,
    Verify,
)

MANY = 300  # statements of a parser
PART = 100
AT = ", struct parsing *at"


class ParserGenerator:
    def __init__(
        self, expressions: Expressions, statements: Statements, trace: Tracing, cover: Covering
    ) -> None:
        self.trace = trace
        self.cover = cover
        self._here = 0, 0  # the state, and the statement in it, that failures are counted of
        self.e = expressions
        self.statements = statements
        self.program = expressions.program
        self.layout = expressions.layout
        self._following: dict[int | None, str] | None = None
        reached = (self.program.parser.states[i] for i in self._reachable())
        self._in_parts = sum(len(state.statements) for state in reached) > MANY

    def fast_path(self, path: list[int]) -> str:
        """Writes bool parse_fast_path(s, p, h, l): parses packets that take exactly this path
        through the states to accept; false for others. It has no joins, so the compiler can derive
        which headers are valid."""
        lines = [
            f"SW_INLINE bool parse_fast_path{SIGNATURE}) {{",
            UNUSED,
            "    const uint8_t *data = p->data;",
            "    const size_t length = p->length;",
            "    size_t pos = 0;",
            f"    uint32_t error = {self.program.errors['NoError']};",
        ]
        for index, following in zip(path, [*path[1:], None], strict=True):
            self._following = {following: f"goto after_{index};"}
            lines += [
                *self._state(index, self.program.parser.states[index], False),
                f"after_{index}:;",
            ]
        self._following = None
        lines += [
            "    p->data += pos;",
            "    p->length -= (uint32_t)pos;",
            *(["    p->std.parser_error = error;"] if "parser_error" in self._std() else []),
            "    return true;",
            "done:",
            "    (void)error;",
            "    return false;",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def function(self) -> str:
        """Writes run_parser(s, p, h, l), and what it calls."""
        self.e.enter(f"parser {self.program.parser.name!r}")
        return self._functions() if self._in_parts else self._one_function()

    def _one_function(self) -> str:
        parser = self.program.parser
        reached = self._reachable()
        targets = self._targets(reached)
        no_error = self.program.errors["NoError"]
        lines = [
            f"SW_INLINE void run_parser{SIGNATURE}) {{",
            UNUSED,
            "    const uint8_t *data = p->data;",
            "    const size_t length = p->length;",
            "    size_t pos = 0;",
            f"    uint32_t error = {no_error};",
            "    (void)data; (void)length;",
        ]
        if parser.loops:
            lines.append("    uint32_t visits = 0;")
        order = [parser.start, *(i for i in reached if i != parser.start)]
        for index in order:
            lines += self._state(index, parser.states[index], index in targets)
        body = "\n".join(lines)
        if "goto done" in body:
            lines.append("done:")
        lines += [
            "    p->data += pos;",
            "    p->length -= (uint32_t)pos;",
            *(
                ["    p->std.parser_error = error;"]
                if "parser_error" in self._std()
                else ["    (void)error;"]
            ),
            *self.trace.step("PARSED", "error", "pos"),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _functions(self) -> str:
        parser = self.program.parser
        no_error = self.program.errors["NoError"]
        parts = ["struct parsing { const uint8_t *data; size_t length, pos; uint32_t error; };"]
        cases = []
        for index in self._reachable():
            state = parser.states[index]
            *first, last = [
                (i, state.statements[i : i + PART])
                for i in range(0, len(state.statements) or 1, PART)
            ]
            names = [f"state_{index}_{number}" for number in range(len(first))]
            parts += [
                self._part("bool", name, self._statements(index, *part), "true")
                for name, part in zip(names, first, strict=True)
            ]
            calls = [f"    if (!{name}(s, p, h, l, at)) return -1;" for name in names]
            title = f"/* {comment(state.name)} */"
            body = [*self._statements(index, *last), *self._select(index, state)]
            entered = self.trace.step("STATE", index)
            parts.append(
                self._part("int32_t", f"state_{index}", body, "-1", [title, *entered, *calls])
            )
            cases.append(f"        case {index}: next = state_{index}(s, p, h, l, &at); break;")
        counted = self.cover.timeouts("next")
        visits = f"{{ {counted}at.error = {self.program.errors['ParserTimeout']}; break; }}"
        lines = [
            f"SW_INLINE void run_parser{SIGNATURE}) {{",
            f"    struct parsing at = {{p->data, p->length, 0, {no_error}}};",
            *(["    uint32_t visits = 0;"] if parser.loops else []),
            f"    for (int32_t next = {parser.start}; next >= 0;) {{",
            *([f"        if (++visits > {STATE_VISITS}) {visits}"] if parser.loops else []),
            "        switch (next) {",
            *cases,
            "        default: next = -1;",
            "        }",
            "    }",
            "    p->data += at.pos;",
            "    p->length -= (uint32_t)at.pos;",
            *(["    p->std.parser_error = at.error;"] if "parser_error" in self._std() else []),
            *self.trace.step("PARSED", "at.error", "at.pos"),
            "}",
        ]
        return "\n".join([*parts, *lines]) + "\n"

    def _part(
        self, kind: str, name: str, body: list[str], result: str, head: Sequence[str] = ()
    ) -> str:
        """Returns a function of some statements, which go to `done` where the parser ends. It
        returns whether to go on, or the next state, -1 if there is none."""
        ended = "false" if kind == "bool" else "-1"
        return "\n".join(
            [
                f"static __attribute__((noinline)) {kind} {name}{SIGNATURE}{AT}) {{",
                UNUSED,
                *head,
                "    const uint8_t *data = at->data;",
                "    const size_t length = at->length;",
                "    size_t pos = at->pos;",
                "    uint32_t error = at->error;",
                f"    {kind} next = {ended};",
                "    (void)data; (void)length;",
                "    {",
                *(f"        {line}" for line in body),
                "    }",
                *([f"    next = {result};"] if kind == "bool" else []),
                "    goto done;",
                "done:",
                "    at->pos = pos;",
                "    at->error = error;",
                "    return next;",
                "}",
            ]
        )

    def _statements(self, state: int, first: int, statements: Sequence[Statement]) -> list[str]:
        """Statements of a state, from number `first` on."""
        lines = []
        for number, statement in enumerate(statements, first):
            self._here = state, number
            if not isinstance(statement.operation, Extract | ExtractNext | ExtractNextUnion):
                lines += self.trace.step("PARSER_STEP", state, number)
            lines += self._statement(statement)
        return lines

    def _std(self) -> set[str]:
        return set(self.program.std_fields.values())

    def _reachable(self) -> list[int]:
        states = self.program.parser.states
        seen, order, stack = {self.program.parser.start}, [], [self.program.parser.start]
        while stack:
            index = stack.pop()
            order.append(index)
            following = [*(t.next_state for t in states[index].transitions), states[index].default]
            for target in following:
                if target is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
        return order

    def _targets(self, reached: list[int]) -> set[int]:
        states = self.program.parser.states
        following = (
            t
            for i in reached
            for t in (*(x.next_state for x in states[i].transitions), states[i].default)
        )
        return {state for state in following if state is not None}

    def _state(self, index: int, state: ParseState, labelled: bool) -> list[str]:
        lines = [f"state_{index}: /* {comment(state.name)} */"] if labelled else []
        lines.append("    {")
        lines += self.trace.step("STATE", index)
        if self.program.parser.loops:
            ended = f"error = {self.program.errors['ParserTimeout']}; goto done;"
            counted = self.cover.timeout(index)
            lines.append(f"        if (++visits > {STATE_VISITS}) {{ {counted}{ended} }}")
        lines += [f"        {line}" for line in self._statements(index, 0, state.statements)]
        lines += [f"        {line}" for line in self._select(index, state)]
        return [*lines, "    }"]

    def _fail(self, name: str) -> str:
        return f"{{ {self._failed()}error = {self.program.errors[name]}; goto done; }}"

    def _failed(self) -> str:
        return self.cover.failure(*self._here)

    def _need(self, size: str) -> str:
        return f"if (length - pos < {size}) {self._fail('PacketTooShort')}"

    def _statement(self, statement: Statement) -> list[str]:
        lines = [
            *self._checks(statement.operation),
            *self._operation(statement.operation, statement.source),
        ]
        return self.e.spend(lines)

    def _operation(self, operation: Operation, source: Source | None) -> list[str]:
        self.e.source = source
        match operation:
            case Extract(header, varbit):
                to = self.layout.header(header)
                lines = self._extract(self.program.headers[header].type, to, varbit)
                lines += self._extracted(header)
                return [*lines, *self.statements.make_valid(HeaderRef(header), to), "}"]
            case ExtractNext(stack, varbit):
                size = len(self.program.stacks[stack].headers)
                next_, header_type = self.layout.next(stack), self.program.stacks[stack].type
                lines = self._extract(header_type, "(*to)", varbit)
                to = (
                    f"{self.layout.type_name(header_type)} *to = "
                    f"&{self.layout.stack(stack)}[{next_}];"
                )
                full = f"if ({next_} >= {size}) {self._fail('StackOutOfBounds')}"
                lines += self._extracted(stack, f"1 + {next_}")
                return [full, "{", to, *lines, f"to->valid = 1; {next_}++;", "} }"]
            case ExtractNextUnion(stack, member, varbit):
                return self._extract_union(stack, member, varbit)
            case Advance(bits):
                return self._advance(bits)
            case Verify(condition, error):
                value = self.e.modulo(error, 32)
                return [
                    (
                        f"if (!{self.e.condition(condition)}) {{ {self._failed()}error = "
                        f"(uint32_t){value}; goto done; }}"
                    )
                ]
            case _:
                return self.statements.emit(operation, source)

    def _checks(self, item: object) -> list[str]:
        """Returns the bounds of every lookahead in a statement or an expression, in order, wherever
        it stands."""
        lines, todo = [], [item]
        while todo:
            top = todo.pop()
            if isinstance(top, Lookahead):
                lines.append(self._need(str((top.offset + top.width + 7) // 8)))
            elif isinstance(top, tuple):
                todo += reversed(top)
            elif is_dataclass(top):
                todo += [getattr(top, f.name) for f in reversed(fields(top))]
        return lines

    def _extract(self, header_type: int, to: str, varbit: Expression | None) -> list[str]:
        """Opens a block that the caller closes."""
        kind = self.program.header_types[header_type]
        fixed = kind.fixed_bits // 8
        if varbit is None:
            lines = ["{", self._need(str(fixed)), "const uint8_t *from = data + pos; (void)from;"]
            return [
                *lines,
                *extract_fields(self.layout, self.program, header_type, to),
                f"pos += {fixed};",
            ]
        return [
            "{",
            f"const uint64_t bits = {self.e.index(varbit)};",
            f"if (bits % 8) {self._fail('ParserInvalidArgument')}",
            (
                f"if (bits / 8 > length || length - pos < {fixed} + bits / 8) "
                f"{self._fail('PacketTooShort')}"
            ),
            f"if (bits / 8 > {kind.max_bytes - fixed}) {self._fail('HeaderTooShort')}",
            "const uint8_t *from = data + pos; (void)from;",
            *extract_fields(self.layout, self.program, header_type, to, "bits"),
            f"pos += {fixed} + bits / 8;",
        ]

    def _extracted(self, number: int, element: str = "0") -> list[str]:
        """Reports a header's extraction. `from` is the header's first byte; `pos` is behind its
        last one."""
        return self.trace.step("EXTRACTED", number, element, "from", "(size_t)(data + pos - from)")

    def _extract_union(self, stack: int, member: int, varbit: Expression | None) -> list[str]:
        unions = self.program.union_stacks[stack].unions
        next_ = self.layout.union_next(stack)
        lines = [
            f"if ({next_} >= {len(unions)}) {self._fail('StackOutOfBounds')}",
            f"switch ({next_}) {{",
        ]
        for i, union in enumerate(unions):
            header = self.program.unions[union].headers[member]
            to = self.layout.header(header)
            body = self._extract(self.program.headers[header].type, to, varbit)
            body += self._extracted(header)
            lines += [
                f"case {i}:",
                *body,
                *self.statements.make_valid(HeaderRef(header), to),
                "break; }",
            ]
        return [*lines, "}", f"{next_}++;"]

    def _advance(self, bits: Expression) -> list[str]:
        if isinstance(bits, Const):
            if bits.value % 8:
                return [self._fail("ParserInvalidArgument")]
            return [self._need(str(bits.value // 8)), f"pos += {bits.value // 8};"]
        return [
            f"{{ const uint64_t bits = {self.e.index(bits)};",
            f"  if (bits % 8) {self._fail('ParserInvalidArgument')}",
            f"  if (length - pos < bits / 8) {self._fail('PacketTooShort')}",
            "  pos += bits / 8; }",
        ]

    # ---- transitions ----

    def _goto(self, state: int | None) -> str:
        if self._following is not None:
            return self._following.get(state, "goto done;")
        if self._in_parts and state is not None:
            return f"{{ next = {state}; goto done; }}"
        return "goto done;" if state is None else f"goto state_{state};"

    def _select(self, index: int, state: ParseState) -> list[str]:
        self.e.source = state.source
        self._here = index, len(state.statements)
        counted = self.cover.transition(index, len(state.transitions))
        default = [*([counted.strip()] if counted else []), self._goto(state.default)]
        if not state.key or (not state.transitions and not self.trace.enabled):
            return [*self.trace.step("KEY", index, "pos"), *default]
        lines: list[str] = []
        for i, part in enumerate(state.key):
            lines += self._checks(part.expression)
            kind = modular_kind(part.width, self.e.limbs)
            text = self.e.unsigned(part.expression, part.width)
            c_type = {"u64": "uint64_t", "u128": "sw_u128", "wide": "sw_wide"}[kind]
            lines.append(f"const {c_type} k{i} = {text};")
        if self.trace.enabled or any(
            transition.vset is not None for transition in state.transitions
        ):
            sizes = [(part.width + 7) // 8 for part in state.key]
            lines.append(f"uint8_t key[{sum(sizes)}];")
            for i, part in enumerate(state.key):
                lines += store_key(
                    f"k{i}", modular_kind(part.width, self.e.limbs), sizes[i], sum(sizes[:i])
                )
            lines += self.trace.step("KEY", index, "pos", "key", sum(sizes))
        for number, transition in enumerate(state.transitions):
            jump = self._goto(transition.next_state)
            if counted := self.cover.transition(index, number):
                jump = f"{{ {counted}{jump} }}"
            lines.append(f"if ({self._test(state.key, transition)}) {jump}")
        return [*lines, *default]

    def _test(self, key: tuple[KeyPart, ...], transition: Transition) -> str:
        if transition.vset is not None:
            size = sum((part.width + 7) // 8 for part in key)
            return (
                f"sw_lookup(s->tables[{len(self.program.tables) + transition.vset}], key, {size})"
            )
        tests = []
        for i, (part, value, mask) in enumerate(
            zip(key, transition.values, transition.masks, strict=True)
        ):
            if mask & unsigned_range(part.width)[1] == 0 and value == 0:
                continue
            kind = modular_kind(part.width, self.e.limbs)
            wanted, mask_text = (constant(x, kind, self.e.limbs) for x in (value, mask))
            full = mask & unsigned_range(part.width)[1] == unsigned_range(part.width)[1]
            if kind == "wide":
                left = f"k{i}" if full else f"sw_wide_and(k{i}, {mask_text})"
                tests.append(f"sw_wide_compare({left}, {wanted}) == 0")
            else:
                tests.append(f"k{i} == {wanted}" if full else f"(k{i} & {mask_text}) == {wanted}")
        return " && ".join(tests) or "true"
