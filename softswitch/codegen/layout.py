"""Where fields live in memory: `struct phv`, and the members of `struct sw_std`.

Headers come first, each a struct with its fields as host-order integers of the smallest type, and
`valid`; a stack is an array with one spare element, which takes accesses that are out of range.
User metadata follows, and is what a clone resets; variables of one pipeline are in `struct locals`
instead (usage.py). A field of more than 64 bits is an array of limbs, low limb first.

A signed field of w bits is stored in w + 1 bits: BMv2 stores values up to 2^w - 1 in it as they are
(its Field::export_bytes), and comparisons see them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pcn.softswitch.codegen.names import comment, identifier
from pcn.softswitch.codegen.usage import analyse
from pcn.softswitch.program.expressions import FieldRef
from pcn.softswitch.program.load_headers import STD_FIELDS
from pcn.softswitch.program.model import FieldType, Program

STD_BITS = dict(STD_FIELDS.values())


@dataclass(frozen=True)
class Storage:
    """How a field is stored: an integer of `bits`, or `limbs` 64-bit limbs, or a varbit."""

    bits: int = 0
    limbs: int = 0
    signed: bool = False
    varbit: bool = False

    def declare(self, name: str, max_bytes: int = 0) -> str:
        if self.varbit:
            return f"struct {{ uint32_t bits; uint8_t data[{max(max_bytes, 1)}]; }} {name};"
        if self.limbs:
            return f"uint64_t {name}[{self.limbs}];"
        return f"{'' if self.signed else 'u'}int{self.bits}_t {name};"


def storage_of(field: FieldType) -> Storage:
    if field.varbit:
        return Storage(varbit=True)
    need = field.width + (1 if field.signed else 0)
    if need <= 64:
        return Storage(bits=next(b for b in (8, 16, 32, 64) if need <= b), signed=field.signed)
    return Storage(limbs=(need + 63) // 64, signed=field.signed)


class Layout:
    """Names and storage of every field of a program."""

    def __init__(self, program: Program, traced: bool = False) -> None:
        self.traced = traced
        self.program = program
        self.usage = analyse(program)
        self._types = [identifier("t", i, t.name) for i, t in enumerate(program.header_types)]
        self._fields = [
            [identifier("f", j, f.name) for j, f in enumerate(t.fields)]
            for t in program.header_types
        ]

    def type_name(self, header_type: int) -> str:
        return f"struct {self._types[header_type]}"

    def header(self, index: int) -> str:
        """Returns an lvalue: the struct of a header instance."""
        header = self.program.headers[index]
        if header.stack:
            return f"{self.stack(header.stack[0])}[{header.stack[1]}]"
        return f"h->{identifier('h', index, header.name)}"

    def stack(self, index: int) -> str:
        return f"h->{identifier('s', index, self.program.stacks[index].name)}"

    def next(self, index: int) -> str:
        """Returns the number of elements that a stack's push_back and push have filled."""
        return f"h->next{index}"

    def union_next(self, index: int) -> str:
        return f"h->union_next{index}"

    def member(self, header_type: int, field: int) -> str:
        return self._fields[header_type][field]

    def field(self, ref: FieldRef) -> str:
        """Returns an lvalue: a field of a header instance, or the switch's own."""
        std = self.program.std_fields.get(ref)
        if std:
            return f"p->std.{std}"
        if ref in self.usage.local:
            return f"l->{self._local(ref)}"
        header_type = self.program.headers[ref.header].type
        return f"{self.header(ref.header)}.{self.member(header_type, ref.field)}"

    def _local(self, ref: FieldRef) -> str:
        header = self.program.headers[ref.header]
        return f"m{ref.header}_{self.member(header.type, ref.field)}"

    def storage(self, ref: FieldRef) -> Storage:
        std = self.program.std_fields.get(ref)
        if std:
            return Storage(bits=STD_BITS[std])
        return storage_of(self.program.field_type(ref))

    def declarations(self) -> str:
        """Returns the header structs, struct phv and struct locals."""
        whole = [
            i for i, h in enumerate(self.program.headers) if not h.metadata or i in self.usage.whole
        ]
        lines = [
            self._header_struct(i) for i in sorted({self.program.headers[i].type for i in whole})
        ]
        body = ["    uint64_t trace_packet;"] if self.traced else []
        body += [
            f"    {self.type_name(h.type)} {identifier('h', i, h.name)};"
            for i, h in enumerate(self.program.headers)
            if not h.metadata and not h.stack
        ]
        for i, stack in enumerate(self.program.stacks):
            name = identifier("s", i, stack.name)
            body.append(f"    {self.type_name(stack.type)} {name}[{len(stack.headers) + 1}];")
        body += [f"    uint32_t next{i};" for i in range(len(self.program.stacks))]
        body += [f"    uint32_t union_next{i};" for i in range(len(self.program.union_stacks))]
        body.append("    char metadata[0] __attribute__((aligned(8)));")
        for i, header in enumerate(self.program.headers):
            if header.metadata:
                body += self._metadata(i)
        local = sorted(self.usage.local, key=lambda ref: (ref.header, ref.field))
        rows = [self._row(self.program.field_type(ref), self._local(ref)) for ref in local]
        return "\n".join(
            [
                *lines,
                "struct phv {",
                *body,
                "};",
                "struct locals {",
                *sort_rows(rows),
                "    char end[0];",
                "};",
                "",
            ]
        )

    def _metadata(self, index: int) -> list[str]:
        """Returns a metadata header: as a whole, or what is used of it."""
        header = self.program.headers[index]
        name = identifier("h", index, header.name)
        if index in self.usage.whole:
            return [f"    {self.type_name(header.type)} {name};"]
        fields = self.program.header_types[header.type].fields
        rows = [
            self._row(f, self.member(header.type, j))
            for j, f in enumerate(fields)
            if FieldRef(index, j) in self.usage.in_phv
        ]
        return (
            [f"    struct {{ /* {comment(header.name)} */", *sort_rows(rows), f"    }} {name};"]
            if rows
            else []
        )

    def _row(self, field: FieldType, name: str) -> tuple[int, str]:
        """Returns a member, and what it sorts by."""
        storage = storage_of(field)
        text = (
            f"    {storage.declare(name, field.width // 8)} /* {comment(field.name)}, "
            f"{field.width} bits */"
        )
        return -(storage.bits or 64), text

    def _header_struct(self, index: int) -> str:
        header_type = self.program.header_types[index]
        rows = [
            self._row(field, self.member(index, j)) for j, field in enumerate(header_type.fields)
        ]
        title = f"/* {comment(header_type.name)} */"
        return "\n".join(
            [f"{self.type_name(index)} {{ {title}", *sort_rows(rows), "    uint8_t valid;", "};"]
        )


def sort_rows(rows: list[tuple[int, str]]) -> list[str]:
    """Returns the largest members first, which avoids holes."""
    return [text for _, text in sorted(rows, key=lambda row: row[0])]
