"""A program's model to one self-contained C file, against csrc/pipeline.h.

What reaches the C text from the program's strings goes through codegen/names.py; everything else is
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pcn.softswitch.codegen.calculations import Calculations
from pcn.softswitch.codegen.controls import ControlGenerator
from pcn.softswitch.codegen.covering import Covering
from pcn.softswitch.codegen.expressions import Expressions
from pcn.softswitch.codegen.inplace import InPlace
from pcn.softswitch.codegen.layout import Layout
from pcn.softswitch.codegen.names import comment, string_literal
from pcn.softswitch.codegen.packets import header_pieces, write_pieces
from pcn.softswitch.codegen.parser import ParserGenerator
from pcn.softswitch.codegen.specs import Specs, array
from pcn.softswitch.codegen.statements import Statements
from pcn.softswitch.codegen.tracing import SUPPORT as TRACING, Tracing
from pcn.softswitch.codegen.values import Limbs, wide_constant
from pcn.softswitch.program.errors import Source, UnsupportedProgram
from pcn.softswitch.program.expressions import FieldRef
from pcn.softswitch.program.limits import C_TEXT, EMITTED_BYTES, PHV_BYTES
from pcn.softswitch.program.model import Program

PART = 100  # headers that one function of the deparser emits
SUPPORT = Path(__file__).resolve().parent / "support.h"


def generate(
    program: Program, *, inplace: bool = False, traced: bool = False, covered: bool = False
) -> str:
    """Returns the C source of a program; raises UnsupportedProgram for what the generator cannot
    express. `inplace`: with its in-place form (codegen/inplace.py), if it has one; that takes the
    compiler twice as long. `traced`: it reports its steps; `covered`: it counts the points that
    packets pass; either has no in-place form."""
    return _Generator(program, inplace and not traced and not covered, traced, covered).text()


def largest_part(text: str) -> str:
    """Returns what the largest part of a generated program is: a parser, an action, a control."""
    parts = re.split(r"^/\* ---- (.+) ---- \*/$", text, flags=re.MULTILINE)
    return max(zip(parts[1::2], parts[2::2], strict=True), key=lambda part: len(part[1]))[0]


def _title(kind: str, name: str = "", source: Source | None = None) -> str:
    """Returns the comment that begins a part of the program; `largest_part` finds parts by it."""
    words = [kind, *([name] if name else []), *([f"at {source}"] if source else [])]
    return f"/* ---- {comment(' '.join(words))} ---- */\n"


class _Generator:
    def __init__(self, program: Program, inplace: bool, traced: bool, covered: bool) -> None:
        self.program = program
        self.limbs = Limbs()
        self.trace = Tracing(traced)
        self.cover = Covering(program, covered)
        self.layout = Layout(program, traced)
        self.expressions = Expressions(program, self.layout, self.limbs)
        self.statements = Statements(self.expressions)
        self.controls = ControlGenerator(self.expressions, self.statements, self.trace, self.cover)
        self.parser = ParserGenerator(self.expressions, self.statements, self.trace, self.cover)
        self.calculations = Calculations(self.expressions)
        self.specs = Specs(program)
        form = InPlace(self.expressions, self.parser) if inplace else None
        self.inplace = form if form is not None and form.possible() else None

    def text(self) -> str:
        body = self._body()
        wide = 26 * self.limbs.count  # characters of a wide constant
        if len(body) + wide * body.count("SW_CONST(") > C_TEXT:
            raise UnsupportedProgram(
                f"the program's C has more than {C_TEXT:,} characters, which the switch takes at "
                "most"
            )
        body = re.sub(
            r"SW_CONST\((-?0x[0-9a-f]+)\)",
            lambda m: wide_constant(int(m[1], 16), self.limbs.count),
            body,
        )
        parts = [
            f"/* Generated from {comment(self.program.name)}. Edit the P4 source instead. */",
            '#include "pipeline.h"',
            "#include <string.h>",
            f"#define SW_LIMBS {self.limbs.count}",
            SUPPORT.read_text(encoding="utf-8"),
            body,
        ]
        return "\n\n".join(parts)

    def _body(self) -> str:
        program = self.program
        used = sorted({a for t in program.tables for a in t.actions} | self._called_actions())
        actions = program.actions
        parts = [
            _title("headers"),
            self.layout.declarations(),
            "struct applied { uint32_t action; bool hit, exited; };\n",
            *self.trace.lines(TRACING),
            self.specs.defaults(),
            _title("calculations"),
            *(self.calculations.function(i) for i in range(len(program.calculations))),
            *(
                _title("action", actions[i].name, actions[i].source) + self.controls.action(i)
                for i in used
            ),
            *(
                _title("table", t.name, t.source) + self.controls.table(i)
                for i, t in enumerate(program.tables)
            ),
            _title("parser", program.parser.name, program.parser.source),
            self.parser.function(),
            _title("control", "ingress"),
            self.controls.control("ingress", program.ingress),
            _title("control", "egress"),
            self.controls.control("egress", program.egress),
            _title("checksums"),
            self._checksums(),
            self._pipelines(),
            _title("deparser", program.deparser.name, program.deparser.source),
            self._deparse(),
            *([_title("the in-place form"), self.inplace.text()] if self.inplace else []),
            _title("lists and tables"),
            self._copy_list(),
            self._pack_digest(),
            self.specs.text(),
            *array(
                "char *const",
                "assert_lines",
                [f"    {string_literal(text)}," for text in self.statements.asserts],
            ),
            self._program(),
        ]
        return "\n".join(parts)

    def _called_actions(self) -> set[int]:
        nodes = (*self.program.ingress.nodes, *self.program.egress.nodes)
        return {node.action for node in nodes if hasattr(node, "action")}

    @property
    def _reports(self) -> bool:
        """Whether functions without state report to the instance."""
        return self.trace.enabled or self.cover.enabled

    def _checksums(self) -> str:
        """Writes two functions: verify_checksums sets checksum_error; update_checksums writes the
        target fields."""
        verify, update = [], []
        for number, checksum in enumerate(self.program.checksums):
            self.expressions.enter(f"checksum {checksum.name!r}")
            place, storage = self.expressions.place(checksum.target)
            if storage.limbs:
                raise self.expressions.unsupported("a checksum in a field of more than 64 bits")
            call = f"calculation_{checksum.calculation}(p, h, l)"
            condition = (
                self.expressions.condition(checksum.condition) if checksum.condition else "true"
            )
            header = self.program.headers[checksum.target.header]
            valid = (
                "true" if header.metadata else f"{self.layout.header(checksum.target.header)}.valid"
            )
            if checksum.verify:
                verify.append(
                    f"    if ({valid} && {condition} && {call} != (uint64_t){place}) "
                    "p->std.checksum_error = 1;"
                )
                result = f"!{valid} ? 5 : !{condition} ? 4 : {call} != (uint64_t){place} ? 3 : 2"
                verify += self.trace.step("CHECKSUM", number, result)
                wrong = f"{call} != (uint64_t){place}"
                verify += self.cover.verified(number, valid, condition, wrong)
            if checksum.update:
                width = self.program.field_type(checksum.target).width
                mask = f" & {hex((1 << width) - 1)}" if width < 64 else ""
                update += self.trace.step("CHECKSUM", number, f"({condition}) ? 1 : 0")
                update += self.cover.updated(number, condition)
                update.append(
                    f"    if ({condition}) {place} = (uint{storage.bits}_t)({call}{mask});"
                )
        s = "struct sw_instance *s, " if self._reports else ""
        head = (
            f"({s}struct sw_packet *p, struct phv *h, struct locals *l) {{\n    (void)p; (void)h; "
            "(void)l;"
        )
        return "\n".join(
            [
                f"SW_INLINE void verify_checksums{head}",
                *verify,
                "}",
                f"SW_INLINE void update_checksums{head}",
                *update,
                "}\n",
            ]
        )

    def _pipelines(self) -> str:
        s = "s, " if self._reports else ""
        begin, end = (
            "".join(f"    {x}\n" for x in self.trace.step("STAGE", 3, number)) for number in (0, 1)
        )
        covered = "".join(f"{x}\n    " for x in self.cover.parsed())
        headers = f"""SW_INLINE void parse_headers(
    struct sw_instance *s, struct sw_packet *p, struct phv *h, struct locals *l) {{
{begin}    p->ingress_length = p->length;
    p->std.checksum_error = 0;
    {covered}run_parser(s, p, h, l);
    verify_checksums({s}p, h, l);
{end}}}

"""
        if self.trace.enabled:
            return headers + self.trace.pipelines()
        return (
            headers
            + """static void parse(struct sw_instance *s, struct sw_packet *p) {
    struct locals locals;
    memset(&locals, 0, sizeof locals);
    parse_headers(s, p, p->phv, &locals);
}

static void ingress(struct sw_instance *s, struct sw_packet *p) {
    struct locals locals;
    memset(&locals, 0, sizeof locals);
    parse_headers(s, p, p->phv, &locals);
    run_ingress(s, p, p->phv, &locals);
}

static void egress(struct sw_instance *s, struct sw_packet *p) {
    struct locals locals;
    memset(&locals, 0, sizeof locals);
    run_egress(s, p, p->phv, &locals);
}
"""
        )

    def _deparse(self) -> str:
        lines = [
            "static void deparse(struct sw_instance *s, struct sw_packet *p) {",
            "    struct phv *h = p->phv;",
            "    struct locals *l = NULL;",
            "    (void)s; (void)h; (void)l;",
            *self.trace.step("STAGE", 2, 0),
            *(f"    {line}" for line in self.cover.deparsed()),
            f"    update_checksums({'s, ' if self._reports else ''}p, h, l);",
            "    size_t size = 0;",
        ]
        self.expressions.enter(f"deparser {self.program.deparser.name!r}")
        for statement in self.program.deparser.statements:
            lines += [
                f"    {line}"
                for line in self.statements.emit(statement.operation, statement.source)
            ]
        order = self.program.deparser.order
        parts = [order[i : i + PART] for i in range(0, len(order), PART)]
        s = "struct sw_instance *s, " if self.trace.enabled else ""
        counted = [
            "static __attribute__((noinline)) size_t emitted_{}(struct phv *h) {{",
            "    size_t size = 0;",
        ]
        written = [
            (
                f"static __attribute__((noinline)) uint8_t *emit_{{}}({s}struct phv *h, uint8_t "
                f"*to) {{{{"
            )
        ]
        functions: list[str] = []
        sizes, writes = (
            [self._sizes(part) for part in parts],
            [self._writes(part) for part in parts],
        )
        if len(parts) > 1:
            for i, (size, write) in enumerate(zip(sizes, writes, strict=True)):
                functions += [*(line.format(i) for line in counted), *size, "    return size;", "}"]
                functions += [*(line.format(i) for line in written), *write, "    return to;", "}"]
            sizes = [[f"    size += emitted_{i}(h);"] for i in range(len(parts))]
            s = "s, " if self.trace.enabled else ""
            writes = [[f"    to = emit_{i}({s}h, to);"] for i in range(len(parts))]
        lines += [line for part in sizes for line in part]
        lines += [
            "    uint8_t *to = p->data - size;",
            "    p->data = to;",
            "    p->length += (uint32_t)size;",
        ]
        lines += [line for part in writes for line in part]
        lines += self.trace.sent()
        return "\n".join([*functions, *lines, "}"]) + "\n"

    def _size(self, header: int) -> str:
        """Returns the bytes that a valid header has in the packet."""
        kind = self.program.headers[header].type
        header_type = self.program.header_types[kind]
        size = f"{header_type.fixed_bits // 8}"
        if header_type.varbit is not None:
            size += (
                " + "
                f"{self.layout.header(header)}.{self.layout.member(kind, header_type.varbit)}.bits "
                "/ 8"
            )
        return size

    def _sizes(self, headers: Sequence[int]) -> list[str]:
        return [f"    if ({self.layout.header(h)}.valid) size += {self._size(h)};" for h in headers]

    def _writes(self, headers: Sequence[int]) -> list[str]:
        lines = []
        for header in headers:
            pieces = header_pieces(self.layout, self.program, header)
            lines.append(f"    if ({self.layout.header(header)}.valid) {{")
            lines += [f"        {line}" for line in write_pieces(pieces, "to", aligned=True)]
            lines += [
                f"        to += {self._size(header)};",
                *self.trace.step("EMITTED", header),
                "    }",
            ]
        return lines

    def _copy_list(self) -> str:
        lines = [
            (
                "static void copy_list(int32_t list, const struct sw_packet *from, struct "
                "sw_packet *to) {"
            ),
            "    const struct phv *a = from->phv;",
            "    struct phv *b = to->phv;",
            "    (void)a; (void)b;",
            "    switch (list) {",
        ]
        for field_list in self.program.field_lists:
            lines.append(f"    case {field_list.id}: /* {comment(field_list.name)} */")
            for ref in field_list.fields:
                to, source = self._in(ref, "b", "to"), self._in(ref, "a", "from")
                if self.layout.storage(ref).limbs or self.layout.storage(ref).varbit:
                    lines.append(f"        memcpy(&{to}, &{source}, sizeof {to});")
                else:
                    lines.append(f"        {to} = {source};")
            lines.append("        break;")
        return "\n".join([*lines, "    default: break;", "    }", "}"]) + "\n"

    def _in(self, ref: FieldRef, phv: str, packet: str) -> str:
        text = self.layout.field(ref)
        return f"{phv}{text[1:]}" if text.startswith("h->") else f"{packet}{text[1:]}"

    def _pack_digest(self) -> str:
        lines = [
            (
                "static uint32_t pack_digest(int32_t list, const struct sw_packet *p, uint8_t "
                "*out, uint32_t capacity) {"
            ),
            "    const struct phv *h = p->phv;",
            "    (void)h; (void)out; (void)capacity;",
            "    switch (list) {",
        ]
        for learn_list in self.program.learn_lists:
            size = sum((f.width + 7) // 8 for f in learn_list.fields)
            lines += [
                f"    case {learn_list.id}: /* {comment(learn_list.name)} */",
                f"        if (capacity < {size}) return 0;",
            ]
            at = 0
            for field in learn_list.fields:
                lines += [
                    f"        {line}"
                    for line in self._digest_field(field.width, at, field.expression)
                ]
                at += (field.width + 7) // 8
            lines.append(f"        return {size};")
        return "\n".join([*lines, "    default: return 0;", "    }", "}"]) + "\n"

    def _digest_field(self, width: int, at: int, expression: object) -> list[str]:
        size = (width + 7) // 8
        text = self.expressions.unsigned(expression, width)  # type: ignore[arg-type]
        if width <= 64:
            return [f"sw_store(out + {at}, {size}, {text});"]
        if width <= 128:
            return [
                (
                    f"{{ uint64_t w[2]; sw_u128_store(w, {text}); sw_put_limbs(out + {at}, 0, "
                    f"{8 * size}, w); }}"
                )
            ]
        return [f"{{ sw_wide w = {text}; sw_put_limbs(out + {at}, 0, {8 * size}, w.w); }}"]

    def _program(self) -> str:
        program = self.program
        headroom = sum(
            program.header_types[program.headers[i].type].max_bytes for i in program.deparser.order
        )
        inplace = "\n    .inplace = &inplace," if self.inplace else ""
        covered = f"\n    .n_coverage = {self.cover.count}," if self.cover.enabled else ""
        return f"""_Static_assert(sizeof(struct phv) <= {PHV_BYTES}, "headers and metadata");
_Static_assert({headroom} <= {EMITTED_BYTES}, "emitted headers");

const struct sw_program sw_program = {{
    .abi = SW_ABI,
    .name = {string_literal(program.name)},
    .phv_size = sizeof(struct phv),
    .metadata_offset = offsetof(struct phv, metadata),
    .headroom = {headroom},
    .n_tables = {len(program.tables) + len(program.value_sets)},
    .n_actions = {len(program.actions)},
    .n_counters = {len(program.counters)},
    .n_registers = {len(program.registers)},
    .n_meters = {len(program.meters)},
    .n_lists = {len(program.field_lists)},
    .n_profiles = {len(program.profiles)},
    .n_asserts = {len(self.statements.asserts)},
    .tables = table_specs,
    .actions = action_specs,
    .counters = counter_specs,
    .registers = register_specs,
    .meters = meter_specs,
    .asserts = assert_lines,
    .ingress = ingress,
    .parse = parse,
    .egress = egress,
    .deparse = deparse,
    .copy_list = copy_list,
    .pack_digest = pack_digest,{inplace}{covered}
}};
"""
