"""A second, faster form of the ingress and egress pipelines, without a PHV in memory: `struct
sw_inplace`.

Headers stay in the frame. Ingress parses them into local variables and writes bridged metadata for
egress: which headers are valid, metadata that both pipelines use, header fields that ingress
changed. Egress loads the fields that it uses from the frame and stores the changed ones. Each
pipeline is generated twice: the fast path is for packets on the parser path with the most headers,
so that the compiler can derive which headers are valid; the slow path is for all others. Parser
states, tables, actions and checksums share their code with the general pipelines.

Programs that could move a header, or request more than a port and a queue, have no in-place form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pcn.softswitch.codegen.expressions import Expressions
from pcn.softswitch.codegen.layout import sort_rows
from pcn.softswitch.codegen.names import identifier
from pcn.softswitch.codegen.packets import extract_fields, header_pieces, runs, write_pieces
from pcn.softswitch.codegen.parser import ParserGenerator
from pcn.softswitch.codegen.usage import control_parts, references
from pcn.softswitch.program.expressions import FieldRef
from pcn.softswitch.program.model import ActionNode, Control, TableNode
from pcn.softswitch.program.statements import (
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

DEPTH = 128  # SW_INPLACE_DEPTH: the most bytes that a program may parse
_LINE = 64  # of a cache
BRIDGED_BYTES = 32  # SW_BRIDGED_BYTES: the most bridged metadata
_CONTROL = (
    Assign, Count, RegisterRead, RegisterWrite, MeterExecute, Hash, Random, MarkToDrop, LogMessage,
    Assert, Exit, Jump,
    JumpIfZero,
)  # fmt: skip
_PARSER = (Assign, Extract, Verify)
# Standard metadata that egress has without bridging: what sw_before_egress (pipeline.h) sets, what
# the queue measured for it, and what is 0 where a packet is neither a clone nor a replica. Other
# fields that egress reads are bridged.
SET_BEFORE_EGRESS = {
    "egress_port", "egress_spec", "packet_length", "egress_global_timestamp", "deq_timedelta",
    "deq_qdepth", "qid",
}  # fmt: skip
_KNOWN = SET_BEFORE_EGRESS | {
    "enq_timestamp",
    "enq_qdepth",
    "instance_type",
    "mcast_grp",
    "egress_rid",
}


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
        """Returns whether this program has an in-place form."""
        program = self.program
        return (
            not (program.stacks or program.unions or program.union_stacks)
            and not any(program.headers[i].metadata for i in self.layout.usage.whole)
            and not program.deparser.statements
            and not any(t.varbit is not None for t in program.header_types)
            and all(
                isinstance(s.operation, _CONTROL)
                for c in (program.ingress, program.egress)
                for s in self._of(c)
            )
            and all(
                isinstance(s.operation, _PARSER)
                for state in program.parser.states
                for s in state.statements
            )
            and not any(c.payload for c in program.calculations)
            and not any(
                program.std_fields.get(ref) in ("mcast_grp", "egress_rid")
                for ref in self.ingress_writes
            )
            and self._depth() is not None
            and sum(bits for bits, _ in self._bridged()) <= 8 * BRIDGED_BYTES
        )

    def text(self) -> str:
        bridged = self._bridged()
        rows = sort_rows([(-bits, text) for bits, text in bridged])
        fast_path = self.parser.fast_path(self._fast_path())
        functions = [fast_path, self._ingress(), self._egress(), self._struct()]
        return "\n".join(["struct bridged {", *rows, "};", "", *functions])

    # ---- analysis of the program ----

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

    def _depth(self) -> int | None:
        """Returns the most bytes that a parser path extracts. None: not every one extracts headers
        in the deparser's order, each once, DEPTH bytes at most. Then a header's offset in the frame
        follows from which headers are valid."""
        program = self.program
        if program.parser.loops:
            return None
        deepest = 0
        place = {header: i for i, header in enumerate(program.deparser.order)}
        todo: list[tuple[int | None, int, int]] = [(program.parser.start, -1, 0)]
        seen: set[tuple[int | None, int, int]] = set()  # paths that meet here go on as one
        while todo:
            index, last, size = todo.pop()
            if index is None or (index, last, size) in seen:
                continue
            seen.add((index, last, size))
            state = program.parser.states[index]
            for statement in state.statements:
                if isinstance(statement.operation, Extract):
                    header = statement.operation.header
                    if place.get(header, -1) <= last:
                        return None
                    last = place[header]
                    size += program.header_types[program.headers[header].type].fixed_bits // 8
            if size > DEPTH:
                return None
            deepest = max(deepest, size)
            todo += [
                (target, last, size)
                for target in {*(t.next_state for t in state.transitions), state.default}
            ]
        return deepest

    def _headers(self) -> list[int]:
        """Returns the headers that the parser extracts, in order."""
        extracted = {
            s.operation.header
            for state in self.program.parser.states
            for s in state.statements
            if isinstance(s.operation, Extract)
        }
        return [header for header in self.program.deparser.order if header in extracted]

    def _changed(self) -> list[FieldRef]:
        """Returns the header fields that ingress changes."""
        headers = set(self._headers())
        return sorted(
            (r for r in self.ingress_writes if r.header in headers),
            key=lambda r: (r.header, r.field),
        )

    def _read_by_egress(self) -> set[FieldRef]:
        update = [c for c in self.program.checksums if c.update]
        parts = [list(control_parts(self.program, self.program.egress)), update]
        return {ref for ref in references(self.program, parts) if isinstance(ref, FieldRef)}

    def _metadata(self) -> list[FieldRef]:
        """Returns the metadata that egress reads."""
        refs = self._read_by_egress() & self.layout.usage.in_phv
        return sorted(refs, key=lambda r: (r.header, r.field))

    def _std(self) -> list[str]:
        """Returns the members of sw_std that must be bridged."""
        names = {
            self.program.std_fields[r]
            for r in self._read_by_egress()
            if r in self.program.std_fields
        }
        return sorted(names - _KNOWN)

    def _bridged(self) -> list[tuple[int, str]]:
        """Returns the members of struct bridged: bits, and the declaration."""
        rows = []
        for ref in [*self._changed(), *self._metadata()]:
            storage = self.layout.storage(ref)
            rows.append(
                (storage.bits or 64 * storage.limbs, f"    {storage.declare(self._name(ref))}")
            )
        rows += [
            (64, f"    __typeof__(((struct sw_std *)0)->{name}) std_{name};")
            for name in self._std()
        ]
        return [*rows, (16, "    uint16_t valid;")]

    def _name(self, ref: FieldRef) -> str:
        return identifier(f"k{ref.header}", ref.field, self.program.field_type(ref).name)

    # ---- C ----

    def _ingress(self) -> str:
        h = self.layout
        bridge = [
            f"    bridged->{self._name(r)} = {h.field(r)};"
            for r in [*self._changed(), *self._metadata()]
        ]
        bridge += [f"    bridged->std_{name} = p->std.{name};" for name in self._std()]
        valid = " | ".join(
            f"(unsigned)({h.header(header)}.valid << {i})"
            for i, header in enumerate(self._headers())
        )
        return "\n".join(
            [
                "/* False: `fast`, and the packet takes another path through the parser. */",
                "SW_INLINE bool",
                (
                    "ingress_in_place(struct sw_instance *s, struct sw_inplace_packet *in_place, "
                    "bool fast) {"
                ),
                "    struct phv headers = {0}, *h = &headers;",
                "    struct locals locals = {0}, *l = &locals;",
                "    struct sw_packet packet = {0}, *p = &packet;",
                "    p->data = in_place->frame;",
                (
                    "    p->length = p->ingress_length = p->length_register = p->std.packet_length "
                    "= in_place->length;"
                ),
                "    p->std.ingress_port = in_place->port;",
                "    p->std.ingress_global_timestamp = s->now;",
                "    if (!fast) run_parser(s, p, h, l);",
                "    else if (!parse_fast_path(s, p, h, l)) return false;",
                "    verify_checksums(p, h, l);",
                "    run_ingress(s, p, h, l);",
                "    in_place->egress_spec = p->std.egress_spec;",
                "    in_place->priority = p->std.priority;",
                "    struct bridged *bridged = (struct bridged *)in_place->bridged;",
                f"    bridged->valid = (uint16_t)({valid or '0'});",
                *bridge,
                "    return true;",
                "}\n",
                "static __attribute__((noinline)) void",
                "slow_ingress(struct sw_instance *s, struct sw_inplace_packet *in_place) {",
                "    ingress_in_place(s, in_place, false);",
                "}\n",
                (
                    "static void inplace_ingress(struct sw_instance *s, struct sw_inplace_packet "
                    "*in_place) {"
                ),
                "    if (!ingress_in_place(s, in_place, true)) slow_ingress(s, in_place);",
                "}\n",
            ]
        )

    def _egress(self) -> str:
        h = self.layout
        lines = [
            "SW_INLINE void",
            (
                "egress_in_place(struct sw_instance *s, struct sw_inplace_packet *in_place, "
                "unsigned valid) {"
            ),
            "    struct phv headers = {0}, *h = &headers;",
            "    struct locals locals = {0}, *l = &locals;",
            "    struct sw_packet packet = {0}, *p = &packet;",
            "    const struct bridged *bridged = (const struct bridged *)in_place->bridged;",
            "    p->length = p->length_register = p->ingress_length = in_place->length;",
            "    p->std.enq_timestamp = in_place->enq_timestamp;",
            "    p->std.enq_qdepth = in_place->enq_qdepth;",
            "    sw_before_egress(s, p, in_place->port, in_place->priority, in_place->deq_qdepth);",
            *(f"    p->std.{name} = bridged->std_{name};" for name in self._std()),
            *(f"    {h.field(ref)} = bridged->{self._name(ref)};" for ref in self._metadata()),
            "    uint8_t *from = in_place->frame;",
        ]
        changed = self._changed()
        for i, header in enumerate(self._headers()):
            lines += [
                f"    if (valid >> {i} & 1) {{",
                *(
                    f"        {line}"
                    for line in extract_fields(
                        h, self.program, self._type(header), h.header(header)
                    )
                ),
                *(
                    f"        {h.field(r)} = bridged->{self._name(r)};"
                    for r in changed
                    if r.header == header
                ),
                f"        {h.header(header)}.valid = 1;",
                f"        from += {self._size(header)};",
                "    }",
            ]
        lines += [
            "    run_egress(s, p, h, l);",
            "    in_place->egress_spec = p->std.egress_spec;",
            "    if (p->std.egress_spec == s->drop_port) return;",
            "    update_checksums(p, h, l);",
            "    uint8_t *to = in_place->frame;",
        ]
        for i, header in enumerate(self._headers()):
            lines += [
                f"    if (valid >> {i} & 1) {{",
                *(f"        {line}" for line in self._write(header)),
                f"        to += {self._size(header)};",
                "    }",
            ]
        hot = sum(
            1 << self._headers().index(header) for header in self._extracted(self._fast_path())
        )
        lines += [
            "    (void)from; (void)to;",
            "}\n",
            "static __attribute__((noinline)) void",
            "slow_egress(struct sw_instance *s, struct sw_inplace_packet *in_place) {",
            "    egress_in_place(s, in_place, ((const struct bridged *)in_place->bridged)->valid);",
            "}\n",
            (
                "static void inplace_egress(struct sw_instance *s, struct sw_inplace_packet "
                "*in_place) {"
            ),
            "    unsigned valid = ((const struct bridged *)in_place->bridged)->valid;",
            f"    if (valid == {hot}) egress_in_place(s, in_place, {hot});",
            "    else slow_egress(s, in_place);",
            "}\n",
        ]
        return "\n".join(lines)

    def _fast_path(self) -> list[int]:
        """Returns the parser path that extracts the most headers, which most packets are expected
        to take."""
        states = self.program.parser.states
        # From each state to accept: the headers that are extracted at most, and the next state on
        # that path. There is no loop: a state's successors are done before it.
        best: dict[int, tuple[int, int | None] | None] = {}
        todo = [(self.program.parser.start, False)]
        while todo:
            index, ready = todo.pop()
            if index in best:
                continue
            state = states[index]
            targets = {*(t.next_state for t in state.transitions), state.default}
            following = sorted(t for t in targets if t is not None)
            if not ready:
                todo += [(index, True), *((target, False) for target in following)]
                continue
            ways: list[tuple[int, int | None]] = [(0, None)] if None in targets else []
            ways += [
                (continuation[0], target)
                for target in following
                if (continuation := best[target]) is not None
            ]
            most = max(
                ways,
                key=lambda way: (way[0], len(states) if way[1] is None else way[1]),
                default=None,
            )
            best[index] = most and (most[0] + len(self._extracted([index])), most[1])
        path = [self.program.parser.start]
        while (way := best[path[-1]]) is not None and way[1] is not None:
            path.append(way[1])
        return path

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
        lines = -(-(self._depth() or 1) // _LINE)
        return "\n".join(
            [
                '_Static_assert(sizeof(struct bridged) <= SW_BRIDGED_BYTES, "bridged metadata");',
                (
                    f"static const struct sw_inplace inplace = {{inplace_ingress, inplace_egress, "
                    f"{_LINE * lines}}};"
                ),
                "",
            ]
        )


def _targets(statements: Iterable[Statement]) -> Iterator[FieldRef]:
    """Yields the fields that statements name as what they write."""
    for statement in statements:
        target = getattr(statement.operation, "target", None)
        if isinstance(target, FieldRef):
            yield target
