"""Statements to C, one method each. Names in scope: s (instance), p (packet), h (struct phv), l
(struct locals), args (parameters)."""

from __future__ import annotations

from pcn.softswitch.codegen.expressions import Expressions
from pcn.softswitch.codegen.lvalues import header_type_of
from pcn.softswitch.codegen.names import string_literal
from pcn.softswitch.codegen.ranges import field_of, field_range
from pcn.softswitch.codegen.values import Value, convert, modular_kind, unsigned_range
from pcn.softswitch.program.errors import Source
from pcn.softswitch.program.expressions import (
    Expression,
    HeaderExpression,
    HeaderRef,
    LValue,
    Sort,
    StackElement,
    Unary,
    UnionExpression,
    UnionMember,
    UnionRef,
    sort_of,
)
from pcn.softswitch.program.model import FieldType
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
    Truncate,
)

MIRROR_SESSIONS = 0x7FFF  # BMv2 keeps 15 bits of a session's number
DROP_PORT = 511  # the largest


class Statements:
    def __init__(self, expressions: Expressions) -> None:
        self.e = expressions
        self.program = expressions.program
        self.layout = expressions.layout
        self.asserts: dict[str, int] = {}  # what the line about each says, and its number

    def emit(self, operation: Operation, source: Source | None) -> list[str]:
        """Returns the lines of one statement. Jumps and parser operations are their callers'
        business."""
        return self.e.spend(self._emit(operation, source))

    def _emit(self, operation: Operation, source: Source | None) -> list[str]:
        self.e.source = source
        match operation:
            case Assign(target, value):
                return [self.assign(target, value)]
            case AssignVarbit(target, value):
                to, source_place = self.e.place(target)[0], self.e.place(value)[0]
                return [
                    f"{to}.bits = {source_place}.bits;",
                    *self._copy_varbit(to, source_place, target, value),
                ]
            case AssignHeader(to_header, from_header):
                return self.assign_header(to_header, from_header)
            case AssignMetadata(fields):
                return [self.assign(field.target, field.value) for field in fields]
            case AssignUnion(to_union, from_union):
                return self._assign_union(to_union, from_union)
            case AssignStack(to_stack, from_stack):
                return self._assign_stack(to_stack, from_stack)
            case SetValid(header):
                return self._set_valid(header)
            case SetInvalid(header):
                return [
                    line
                    for invalidated in (header, *self._siblings(header))
                    for line in self._set_invalid(invalidated)
                ]
            case Push(stack, count):
                return self._push(stack, count)
            case Pop(stack, count):
                return self._pop(stack, count)
            case MarkToDrop(egress_spec, mcast_grp):
                drop_port = Value("s->drop_port", "u64", (0, DROP_PORT))
                cleared = (
                    [] if mcast_grp is None else [self.store(mcast_grp, Value("0", "u64", (0, 0)))]
                )
                return [self.store(egress_spec, drop_port), *cleared]
            case RegisterRead() | RegisterWrite() | Count() | MeterExecute():
                return self._state(operation)
            case Hash(target, base, calculation, size):
                return self._hash(target, base, calculation, size)
            case Random(target, low, high):
                store = self.store(target, Value("v", "u64", unsigned_range(64)))
                return [
                    (
                        f"{{ uint64_t low = {self.e.modulo(low, 64)}, high = "
                        f"{self.e.modulo(high, 64)};"
                    ),
                    f"  if (low <= high) {{ uint64_t v = sw_random(s, low, high); {store} }} }}",
                ]
            case Exit():
                return ["exited = true;"]
            case LogMessage(parts, values):
                return self._log(parts, values)
            case Assert(kind, condition):
                return self._assert(kind, condition, source)
            case _:
                return self._request(operation)

    def _request(self, operation: Operation) -> list[str]:
        match operation:
            case Clone(session, field_list):
                return [
                    (
                        f"p->req.clone_session = (int32_t)({self.e.modulo(session, 64)} & "
                        f"{MIRROR_SESSIONS});"
                    ),
                    f"p->req.clone_list = (int32_t)({self.e.modulo(field_list, 64)} & 0xffff);",
                ]
            case Resubmit(field_list):
                return self._list_request("resubmit_list", field_list)
            case Recirculate(field_list):
                return self._list_request("recirculate_list", field_list)
            case Digest(index):
                return [f"p->req.digest_list = {self.program.learn_lists[index].id};"]
            case Truncate(length):
                return [
                    f"{{ uint64_t n = {self.e.modulo(length, 64)};",
                    "  if (n < p->req.truncate_to) p->req.truncate_to = (uint32_t)n; }",
                ]
        raise self.e.unsupported(f"{type(operation).__name__} outside a parser")

    def _list_request(self, member: str, field_list: Expression) -> list[str]:
        """Requests a field list. BMv2 takes list 0 for no request at all."""
        value = f"(int32_t)({self.e.modulo(field_list, 64)} & 0xffff)"
        return [f"{{ int32_t list = {value}; if (list) p->req.{member} = list; }}"]

    # ---- fields ----

    def assign(self, target: LValue, value: Expression) -> str:
        """Writes target = value, by the rules of the target's type."""
        if sort_of(value) is Sort.BOOL:
            value = Unary("b2d", value)
        field = field_of(self.program, target)
        place, storage = self.e.place(target)
        if field.signed or field.saturating:
            return self.store(target, self.e.exact(value))
        text = self.e.unsigned(value, field.width)
        kind = modular_kind(field.width, self.e.limbs)
        if storage.limbs == 0:
            return f"{place} = (uint{storage.bits}_t){text};"
        return self._store_limbs(place, storage.limbs, text, kind)

    def store(self, target: LValue, value: Value) -> str:
        """Stores a value that is exact."""
        field = field_of(self.program, target)
        place, storage = self.e.place(target)
        if field.saturating:
            low, high = field_range(FieldType(field.name, field.width, field.signed))
            if field.signed:
                high = (1 << (field.width - 1)) - 1
            value = self.e.clamp(value, (low, high))
        if field.signed:
            return self._store_signed(place, field, storage.limbs, storage.bits, value)
        width = field.width
        kind = modular_kind(width, self.e.limbs)
        text = convert(value, kind, self.e.limbs)
        if not (value.range[0] >= 0 and value.range[1] < 1 << width):
            text = self.e.mask(text, kind, width)
        if storage.limbs == 0:
            return f"{place} = (uint{storage.bits}_t)({text});"
        return self._store_limbs(place, storage.limbs, text, kind)

    def _store_limbs(self, place: str, limbs: int, text: str, kind: str) -> str:
        if kind == "u64":
            return f"{place}[0] = {text};"
        if kind == "u128":
            return f"sw_u128_store({place}, {text});"
        return f"{{ sw_wide v = {text}; memcpy({place}, v.w, {8 * limbs}); }}"

    def _store_signed(
        self, place: str, field: FieldType, limbs: int, bits: int, value: Value
    ) -> str:
        low, high = field_range(field)
        inside = low <= value.range[0] and value.range[1] <= high
        if limbs == 0:
            if inside:
                return f"{place} = (int{bits}_t)({convert(value, 'i64', self.e.limbs)});"
            if value.kind == "wide":
                text = f"(int64_t)sw_wide_signed_field({value.text}, {field.width}).w[0]"
            else:
                text = f"sw_signed_field({convert(value, 'i128', self.e.limbs)}, {field.width})"
            return f"{place} = (int{bits}_t){text};"
        self.e.limbs.need(64 * limbs)
        wide = convert(value, "wide", self.e.limbs)
        text = wide if inside else f"sw_wide_signed_field({wide}, {field.width})"
        return f"{{ sw_wide v = {text}; memcpy({place}, v.w, {8 * limbs}); }}"

    def _copy_varbit(self, to: str, source: str, target: LValue, value: LValue) -> list[str]:
        sizes = [field_of(self.program, x).width // 8 for x in (target, value)]
        if sizes[0] < sizes[1]:
            raise self.e.unsupported("a varbit assigned to a shorter one")
        return [f"memcpy({to}.data, {source}.data, {source}.bits / 8);"]

    # ---- headers ----

    def make_valid(self, header: HeaderExpression, text: str) -> list[str]:
        """Marks a header valid; a member of a union makes the others invalid."""
        lines = [f"{text}.valid = 1;"]
        for sibling in self._siblings(header):
            lines.append(f"{self.e.header(sibling)}.valid = 0;")
        return lines

    def _siblings(self, header: HeaderExpression) -> list[HeaderExpression]:
        """Returns the other members of the union that a header is a member of."""
        match header:
            case HeaderRef(index):
                union = self.program.headers[index].union
                if union is None:
                    return []
                return [HeaderRef(x) for x in self.program.unions[union[0]].headers if x != index]
            case UnionMember(of, member):
                if isinstance(of, UnionRef):
                    return self._siblings(HeaderRef(self.program.unions[of.union].headers[member]))
                first = self.program.unions[self.program.union_stacks[of.stack].unions[0]]
                return [UnionMember(of, m) for m in range(len(first.headers)) if m != member]
            case StackElement():
                return []

    def _packet_bytes(self, header: HeaderExpression) -> str:
        """Returns the bytes that a header takes in the packet."""
        header_type = header_type_of(self.program, header)
        fixed = self.program.header_types[header_type].fixed_bits // 8
        varbit = self.program.header_types[header_type].varbit
        if varbit is None:
            return f"{fixed}u"
        return (
            f"({fixed}u + {self.e.header(header)}.{self.layout.member(header_type, varbit)}.bits / "
            "8)"
        )

    def _set_valid(self, header: HeaderExpression) -> list[str]:
        text = self.e.header(header)
        return [
            f"if (!{text}.valid) {{",
            f"    memset(&{text}, 0, sizeof {text});",
            *(f"    {line}" for line in self.make_valid(header, text)),
            f"    p->length_register += {self._packet_bytes(header)};",
            "}",
        ]

    def _set_invalid(self, header: HeaderExpression) -> list[str]:
        text = self.e.header(header)
        size = self._packet_bytes(header)
        return [
            f"if ({text}.valid) {{",
            f"    p->length_register -= {size};",
            f"    {text}.valid = 0;",
            "}",
        ]

    def assign_header(self, target: HeaderExpression, value: HeaderExpression) -> list[str]:
        """Copies a header. An invalid source makes the target invalid and leaves its fields, as in
        BMv2. Where the target is a member of a union, no other member is valid then, whatever the
        source (P4_16; BMv2 leaves another one valid)."""
        return self._copy_header(target, value, self._siblings(target))

    def _copy_header(
        self, target: HeaderExpression, value: HeaderExpression, invalid: list[HeaderExpression]
    ) -> list[str]:
        """Copies a header. `invalid`: headers that aren't valid afterwards."""
        if target == value and not invalid:
            return []
        name = self.layout.type_name(header_type_of(self.program, target))
        cleared = [f"{self.e.header(header)}.valid = 0;" for header in invalid]
        return [
            (
                f"{{ {name} *to = &{self.e.header(target)}; const {name} *from = "
                f"&{self.e.header(value)};"
            ),
            f"  if (from->valid) {{ {name} copy = *from; *to = copy; }}",
            "  else to->valid = 0;",
            *(f"  {line}" for line in cleared),
            "}",
        ]

    def _assign_union(self, target: UnionExpression, value: UnionExpression) -> list[str]:
        first = (
            target.union
            if isinstance(target, UnionRef)
            else self.program.union_stacks[target.stack].unions[0]
        )
        second = (
            value.union
            if isinstance(value, UnionRef)
            else self.program.union_stacks[value.stack].unions[0]
        )
        types = [
            [self.program.headers[x].type for x in self.program.unions[u].headers]
            for u in (first, second)
        ]
        if types[0] != types[1]:
            raise self.e.unsupported("an assignment between header unions of different types")
        lines: list[str] = []
        for member in range(len(types[0])):
            lines += self._copy_header(UnionMember(target, member), UnionMember(value, member), [])
        return lines

    def _assign_stack(self, target: int, value: int) -> list[str]:
        lines = [f"{self.layout.next(target)} = {self.layout.next(value)};"]
        pairs = zip(
            self.program.stacks[target].headers, self.program.stacks[value].headers, strict=True
        )
        for to, source in pairs:
            lines += self.assign_header(HeaderRef(to), HeaderRef(source))
        return lines

    def _push(self, stack: int, count: int) -> list[str]:
        size, array, next_ = self._stack(stack)
        if count == 0:
            return []
        swap = self._swap(stack, f"{array}[i]", f"{array}[i - {count}]")
        return [
            f"{next_} = {next_} + {count} < {size} ? {next_} + {count} : {size};",
            (
                f"for (uint32_t i = {size - 1}; {count} <= {size - 1} && i >= {count}; i--) {{ "
                f"{swap} }}"
            ),
            f"for (uint32_t i = 0; i < {min(size, count)}; i++) {array}[i].valid = 0;",
        ]

    def _pop(self, stack: int, count: int) -> list[str]:
        size, array, next_ = self._stack(stack)
        if count == 0:
            return []
        remaining = max(size - count, 0)
        swap = self._swap(stack, f"{array}[i]", f"{array}[i + {count}]")
        lines = [f"{next_} -= {next_} < {count} ? {next_} : {count};"]
        if remaining:
            lines.append(f"for (uint32_t i = 0; i < {remaining}; i++) {{ {swap} }}")
        return [*lines, f"for (uint32_t i = {remaining}; i < {size}; i++) {array}[i].valid = 0;"]

    def _stack(self, stack: int) -> tuple[int, str, str]:
        return (
            len(self.program.stacks[stack].headers),
            self.layout.stack(stack),
            self.layout.next(stack),
        )

    def _swap(self, stack: int, a: str, b: str) -> str:
        name = self.layout.type_name(self.program.stacks[stack].type)
        return f"{name} swap = {a}; {a} = {b}; {b} = swap;"

    # ---- state ----

    def _state(self, operation: RegisterRead | RegisterWrite | Count | MeterExecute) -> list[str]:
        """Accesses a cell of a register, counter or meter. An index out of range does nothing, as
        in BMv2's debug build."""
        body: list[str]
        match operation:
            case RegisterRead(target, register, index):
                array = self.program.registers[register]
                body, size = (
                    [self.store(target, self.e.register_read(register))],
                    array.size,
                )
            case RegisterWrite(register, index, value):
                array = self.program.registers[register]
                body, size = [self._register_write(register, array.width, value)], array.size
            case Count(counter, index):
                size = self.program.counters[counter].size
                stride = self.e.cells.counters[counter].stride
                body = [
                    (
                        "struct sw_counter *c = (struct sw_counter *)((char "
                        f"*)s->counters[{counter}] + i * {stride});"
                    ),
                    "c->packets++;",
                    "c->bytes += p->ingress_length;",
                ]
            case MeterExecute(meter, index, target):
                size = self.program.meters[meter].size
                call = f"sw_meter_execute(s->meters[{meter}], i, p->ingress_length, sw_us(s))"
                body = [
                    f"uint64_t colour = {call};",
                    self.store(target, Value("colour", "u64", (0, 2**32 - 1))),
                ]
        opening = f"{{ uint64_t i = {self.e.index(index)};"
        return [opening, f"  if (i < {size}) {{", *(f"      {line}" for line in body), "  } }"]

    def _register_write(self, register: int, width: int, value: Expression) -> str:
        text = self.e.unsigned(value, width)
        if width <= 64:
            bits = next(b for b in (8, 16, 32, 64) if width <= b)
            return f"{self.e.register_cell(f'uint{bits}_t', register)} = (uint{bits}_t){text};"
        if width <= 128:
            return f"{self.e.register_cell('sw_u128', register)} = {text};"
        size = (width + 7) // 8
        return (
            f"sw_wide_to_bytes((uint8_t *)s->registers[{register}].cells + i * {size}, {size}, "
            f"{text});"
        )

    def _hash(
        self, target: LValue, base: Expression, calculation: int, size: Expression
    ) -> list[str]:
        return [
            f"{{ uint64_t size = {self.e.modulo(size, 64)};",
            (
                f"  uint64_t v = calculation_{calculation}(p, h, l) % (size ? size : 1) + "
                f"{self.e.modulo(base, 64)};"
            ),
            f"  {self.store(target, Value('v', 'u64', unsigned_range(64)))} }}",
        ]

    # ---- messages ----

    def _log(self, parts: tuple[str, ...], values: tuple[Expression, ...]) -> list[str]:
        lines = ["if (s->log) {", "    char text[SW_TEXT];", "    size_t n = 0;"]
        for i, part in enumerate(parts):
            if part:
                lines.append(f"    n = sw_text(text, n, {string_literal(part)});")
            if i < len(values):
                value = self.e.exact(values[i])
                if value.kind == "wide":
                    raise self.e.unsupported("log_msg of a value of more than 127 bits")
                negative = (
                    f"(sw_i128)({value.text}) < 0" if value.kind in ("i64", "i128") else "false"
                )
                lines.append(f"    n = sw_decimal(text, n, (sw_u128)({value.text}), {negative});")
        return [*lines, "    s->log(s->log_context, text);", "}"]

    def _assert(self, kind: str, condition: Expression, source: Source | None) -> list[str]:
        message = f"{kind} failed " + (f"at {source}" if source else f"in {self.e.scope}")
        number = self.asserts.setdefault(message, len(self.asserts))
        return [f"if (!{self.e.condition(condition)}) sw_assert_failed(s, {number});"]
