"""The two halves once more, for a caller that moves many packets and has time for none: `struct sw_inplace`.

The frame's headers stay where they are. Ingress parses them into variables of its own and leaves behind the few values
that egress needs: which headers there are, metadata that both halves use, fields that ingress changed. Egress reads
from the frame what it uses and writes what was changed, and nothing else is loaded or stored. Each half is there twice:
for the packets with most headers, where the compiler knows all that depends on which headers there are, and for others.
The code of parser states, tables, actions and checksums is the same text as that of the general halves.

Programs that could change where a header stands, or ask for more than a port and a queue, have no such form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softswitch.codegen.expressions import Expressions
from softswitch.codegen.layout import sort_rows
from softswitch.codegen.names import identifier
from softswitch.codegen.packets import extract_fields, header_pieces, runs, write_pieces
from softswitch.codegen.parser import ParserGenerator
from softswitch.codegen.usage import control_parts, references
from softswitch.program.expressions import FieldRef
from softswitch.program.model import ActionNode, Control, TableNode
from softswitch.program.statements import (
    Assert,
    Assign,
    Count,
    Exit,
    Extract,
    Hash,
    Jump,
    JumpIfZero,
    LogMessage,
    MarkToDrop,
    MeterExecute,
    Random,
    RegisterRead,
    RegisterWrite,
    Statement,
    Verify,
)

DEPTH = 64  # SW_INPLACE_DEPTH: a program may parse so many bytes
KEPT = 32  # SW_INPLACE_KEPT: and leave so many between its halves
_CONTROL = (
    Assign, Count, RegisterRead, RegisterWrite, MeterExecute, Hash, Random, MarkToDrop, LogMessage, Assert, Exit, Jump,
    JumpIfZero,
)  # fmt: skip
_PARSER = (Assign, Extract, Verify)
# What egress gets from the caller or is set before it; other fields it reads are left for it by ingress.
_GIVEN = {
    "egress_port", "egress_spec", "packet_length", "egress_global_timestamp", "enq_timestamp", "enq_qdepth",
    "deq_timedelta", "deq_qdepth", "qid", "instance_type", "mcast_grp", "egress_rid",
}  # fmt: skip


class InPlace:
    def __init__(self, expressions: Expressions, parser: ParserGenerator) -> None:
        self.parser = parser
        self.program = expressions.program
        self.layout = expressions.layout
        parsing = (s for state in self.program.parser.states for s in state.statements)
        self.ingress_writes = {*_targets(parsing), *self._written(self.program.ingress)}
        self.egress_writes = set(self._written(self.program.egress))
        self.egress_writes |= {c.target for c in self.program.checksums if c.update}

    def possible(self) -> bool:
        """Whether this program has an in-place form."""
        program = self.program
        return (
            not (program.stacks or program.unions or program.union_stacks)
            and not any(program.headers[i].metadata for i in self.layout.usage.whole)
            and not program.deparser.statements
            and not any(t.varbit is not None for t in program.header_types)
            and all(isinstance(s.operation, _CONTROL) for c in (program.ingress, program.egress) for s in self._of(c))
            and all(isinstance(s.operation, _PARSER) for state in program.parser.states for s in state.statements)
            and not any(c.payload for c in program.calculations)
            and not any(program.std_fields.get(ref) in ("mcast_grp", "egress_rid") for ref in self.ingress_writes)
            and self._in_order()
            and sum(bits for bits, _ in self._kept()) <= 8 * KEPT
        )

    def text(self) -> str:
        kept = self._kept()
        rows = sort_rows([(-bits, text) for bits, text in kept])
        straight = self.parser.straight(self._straight())
        functions = [straight, self._ingress(), self._egress(), self._struct()]
        return "\n".join(["struct kept {", *rows, "};", "", *functions])

    # ---- what must be known of the program ----

    def _of(self, control: Control) -> Iterator[Statement]:
        for node in control.nodes:
            match node:
                case ActionNode():
                    yield from self.program.actions[node.action].statements
                case TableNode(_, table):
                    for action in self.program.tables[table].actions:
                        yield from self.program.actions[action].statements

    def _written(self, control: Control) -> Iterator[FieldRef]:
        yield from _targets(self._of(control))
        for node in control.nodes:
            if isinstance(node, TableNode):
                meter = self.program.tables[node.table].direct_meter
                result = None if meter is None else self.program.meters[meter].result
                if result is not None:
                    yield result

    def _in_order(self) -> bool:
        """Whether every way through the parser extracts headers in the deparser's order, each once, DEPTH bytes at
        most. Then a header's place in the frame follows from which headers are valid."""
        program = self.program
        if program.parser.loops:
            return False
        place = {header: i for i, header in enumerate(program.deparser.order)}
        todo: list[tuple[int | None, int, int]] = [(program.parser.start, -1, 0)]
        while todo:
            index, last, size = todo.pop()
            if index is None:
                continue
            state = program.parser.states[index]
            for statement in state.statements:
                if isinstance(statement.operation, Extract):
                    header = statement.operation.header
                    if place.get(header, -1) <= last:
                        return False
                    last = place[header]
                    size += program.header_types[program.headers[header].type].fixed_bits // 8
            if size > DEPTH:
                return False
            todo += [(target, last, size) for target in {*(t.next_state for t in state.transitions), state.default}]
        return True

    def _headers(self) -> list[int]:
        """Those that the parser extracts, in order."""
        extracted = {
            s.operation.header
            for state in self.program.parser.states
            for s in state.statements
            if isinstance(s.operation, Extract)
        }
        return [header for header in self.program.deparser.order if header in extracted]

    def _changed(self) -> list[FieldRef]:
        """Header fields that ingress changes."""
        headers = set(self._headers())
        return sorted((r for r in self.ingress_writes if r.header in headers), key=lambda r: (r.header, r.field))

    def _read_later(self) -> set[FieldRef]:
        update = [c for c in self.program.checksums if c.update]
        parts = [list(control_parts(self.program, self.program.egress)), update]
        return {ref for ref in references(self.program, parts) if isinstance(ref, FieldRef)}

    def _metadata(self) -> list[FieldRef]:
        """Metadata that egress reads."""
        refs = self._read_later() & self.layout.usage.kept
        return sorted(refs, key=lambda r: (r.header, r.field))

    def _std(self) -> list[str]:
        """Members of sw_std that egress reads and ingress has to leave for it."""
        names = {self.program.std_fields[r] for r in self._read_later() if r in self.program.std_fields}
        return sorted(names - _GIVEN)

    def _kept(self) -> list[tuple[int, str]]:
        """Members of struct kept: bits, and the declaration."""
        rows = []
        for ref in [*self._changed(), *self._metadata()]:
            storage = self.layout.storage(ref)
            rows.append((storage.bits or 64 * storage.limbs, f"    {storage.declare(self._name(ref))}"))
        rows += [(64, f"    __typeof__(((struct sw_std *)0)->{name}) std_{name};") for name in self._std()]
        return [*rows, (16, "    uint16_t valid;")]

    def _name(self, ref: FieldRef) -> str:
        return identifier(f"k{ref.header}", ref.field, self.program.field_type(ref).name)

    # ---- C ----

    def _ingress(self) -> str:
        h = self.layout
        keep = [f"    kept->{self._name(r)} = {h.field(r)};" for r in [*self._changed(), *self._metadata()]]
        keep += [f"    kept->std_{name} = p->std.{name};" for name in self._std()]
        valid = " | ".join(f"(unsigned)({h.header(header)}.valid << {i})" for i, header in enumerate(self._headers()))
        return "\n".join(
            [
                "/* False: `straight`, and the packet doesn't take that way through the parser. */",
                "SW_INLINE bool ingress_in_place(struct sw_instance *s, struct sw_hop *hop, bool straight) {",
                "    struct phv headers = {0}, *h = &headers;",
                "    struct locals locals = {0}, *l = &locals;",
                "    struct sw_packet packet = {0}, *p = &packet;",
                "    p->data = hop->frame;",
                "    p->length = p->ingress_length = p->length_register = p->std.packet_length = hop->length;",
                "    p->std.ingress_port = hop->port;",
                "    p->std.ingress_global_timestamp = s->now_us;",
                "    if (!straight) run_parser(s, p, h, l);",
                "    else if (!parse_straight(s, p, h, l)) return false;",
                "    verify_checksums(p, h, l);",
                "    run_ingress(s, p, h, l);",
                "    hop->egress_spec = p->std.egress_spec;",
                "    hop->priority = p->std.priority;",
                "    struct kept *kept = (struct kept *)hop->kept;",
                f"    kept->valid = (uint16_t)({valid or '0'});",
                *keep,
                "    return true;",
                "}\n",
                "static __attribute__((noinline)) void other_ingress(struct sw_instance *s, struct sw_hop *hop) {",
                "    ingress_in_place(s, hop, false);",
                "}\n",
                "static void inplace_ingress(struct sw_instance *s, struct sw_hop *hop) {",
                "    if (!ingress_in_place(s, hop, true)) other_ingress(s, hop);",
                "}\n",
            ]
        )

    def _egress(self) -> str:
        h = self.layout
        lines = [
            "SW_INLINE void egress_in_place(struct sw_instance *s, struct sw_hop *hop, unsigned valid) {",
            "    struct phv headers = {0}, *h = &headers;",
            "    struct locals locals = {0}, *l = &locals;",
            "    struct sw_packet packet = {0}, *p = &packet;",
            "    const struct kept *kept = (const struct kept *)hop->kept;",
            "    p->length = p->length_register = p->ingress_length = p->std.packet_length = hop->length;",
            "    p->std.egress_port = hop->port;",
            "    p->std.egress_spec = hop->egress_spec;",
            "    p->std.egress_global_timestamp = s->now_us;",
            "    p->std.qid = hop->priority;",
            "    p->std.enq_timestamp = hop->enq_timestamp;",
            "    p->std.deq_timedelta = (uint32_t)s->now_us - hop->enq_timestamp;",
            "    p->std.enq_qdepth = hop->enq_qdepth;",
            "    p->std.deq_qdepth = hop->deq_qdepth;",
            *(f"    p->std.{name} = kept->std_{name};" for name in self._std()),
            *(f"    {h.field(ref)} = kept->{self._name(ref)};" for ref in self._metadata()),
            "    uint8_t *from = hop->frame;",
        ]
        changed = self._changed()
        for i, header in enumerate(self._headers()):
            lines += [
                f"    if (valid >> {i} & 1) {{",
                *(f"        {line}" for line in extract_fields(h, self.program, self._type(header), h.header(header))),
                *(f"        {h.field(r)} = kept->{self._name(r)};" for r in changed if r.header == header),
                f"        {h.header(header)}.valid = 1;",
                f"        from += {self._size(header)};",
                "    }",
            ]
        lines += [
            "    run_egress(s, p, h, l);",
            "    hop->egress_spec = p->std.egress_spec;",
            "    if (p->std.egress_spec == s->drop_port) return;",
            "    update_checksums(p, h, l);",
            "    uint8_t *to = hop->frame;",
        ]
        for i, header in enumerate(self._headers()):
            lines += [
                f"    if (valid >> {i} & 1) {{",
                *(f"        {line}" for line in self._write(header)),
                f"        to += {self._size(header)};",
                "    }",
            ]
        hot = sum(1 << self._headers().index(header) for header in self._extracted(self._straight()))
        lines += [
            "    (void)from; (void)to;",
            "}\n",
            "static __attribute__((noinline)) void other_egress(struct sw_instance *s, struct sw_hop *hop) {",
            "    egress_in_place(s, hop, ((const struct kept *)hop->kept)->valid);",
            "}\n",
            "static void inplace_egress(struct sw_instance *s, struct sw_hop *hop) {",
            "    unsigned valid = ((const struct kept *)hop->kept)->valid;",
            f"    if (valid == {hot}) egress_in_place(s, hop, {hot});",
            "    else other_egress(s, hop);",
            "}\n",
        ]
        return "\n".join(lines)

    def _straight(self) -> list[int]:
        """The way through the parser that extracts most headers: most packets are taken to go it."""
        states, best = self.program.parser.states, list[int]()
        todo = [[self.program.parser.start]]
        while todo:
            path = todo.pop()
            state = states[path[-1]]
            targets = {*(t.next_state for t in state.transitions), state.default}
            if None in targets and len(self._extracted(path)) > len(self._extracted(best)):
                best = path
            todo += [[*path, target] for target in sorted(t for t in targets if t is not None)]
        return best or [self.program.parser.start]

    def _extracted(self, path: list[int]) -> list[int]:
        statements = (s for index in path for s in self.program.parser.states[index].statements)
        return [s.operation.header for s in statements if isinstance(s.operation, Extract)]

    def _write(self, header: int) -> list[str]:
        """Stores the bytes that hold changed fields."""
        fields = [r.field for r in self.ingress_writes | self.egress_writes if r.header == header]
        pieces = header_pieces(self.layout, self.program, header)
        changed = {pieces[field].text for field in fields}
        lines = []
        for run, start, end in runs(pieces):
            if any(piece.text in changed for piece in run):
                assert start % 8 == 0
                lines += write_pieces(run, f"(to + {start // 8})", aligned=True)
                assert end > start
        return lines

    def _type(self, header: int) -> int:
        return self.program.headers[header].type

    def _size(self, header: int) -> int:
        return self.program.header_types[self._type(header)].fixed_bits // 8

    def _struct(self) -> str:
        return "\n".join(
            [
                '_Static_assert(sizeof(struct kept) <= SW_INPLACE_KEPT, "kept");',
                "static const struct sw_inplace inplace = {inplace_ingress, inplace_egress};",
                "",
            ]
        )


def _targets(statements: Iterable[Statement]) -> Iterator[FieldRef]:
    """The fields that statements name as what they write."""
    for statement in statements:
        target = getattr(statement.operation, "target", None)
        if isinstance(target, FieldRef):
            yield target
