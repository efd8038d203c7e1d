"""Lvalues: fields, and headers that are known at compile time or picked at run time."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pcn.softswitch.codegen.layout import Layout, Storage, storage_of
from pcn.softswitch.codegen.ranges import field_of
from pcn.softswitch.program.expressions import (
    Expression,
    FieldRef,
    HeaderExpression,
    HeaderField,
    HeaderRef,
    LastField,
    LastUnionField,
    LValue,
    StackElement,
    UnionExpression,
    UnionMember,
    UnionRef,
    UnionStackElement,
)
from pcn.softswitch.program.model import Program


class Places(ABC):
    """Where the fields and headers of one program are."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program = program
        self.layout = layout

    @abstractmethod
    def index(self, e: Expression) -> str:
        """Returns an index as uint64_t; anything that does not fit is out of every range."""

    def place(self, e: LValue | LastUnionField) -> tuple[str, Storage]:
        """Returns an lvalue, and how it is stored."""
        match e:
            case FieldRef():
                return self.layout.field(e), self.layout.storage(e)
            case LastField(stack, index):
                member = self.layout.member(self.program.stacks[stack].type, index)
                header = f"{self.last(stack)}.{member}"
                return header, storage_of(field_of(self.program, e))
            case HeaderField(header_expression, header_type, index):
                text = f"{self.header(header_expression)}.{self.layout.member(header_type, index)}"
                return text, storage_of(field_of(self.program, e))
            case LastUnionField():
                header_type = self.program.headers[self._union_header(e.stack, e.member, 0)].type
                text = self._union_member(
                    e.stack, e.member, f"{self.layout.union_next(e.stack)} - 1u"
                )
                return f"{text}.{self.layout.member(header_type, e.field)}", storage_of(
                    field_of(self.program, e)
                )

    # ---- headers ----

    def last(self, stack: int) -> str:
        """Returns the last element that was filled; the spare one if there is none."""
        size = len(self.program.stacks[stack].headers)
        return (
            f"{self.layout.stack(stack)}[sw_index((uint64_t){self.layout.next(stack)} - 1, {size})]"
        )

    def header(self, e: HeaderExpression) -> str:
        """Returns an lvalue: the struct of a header."""
        match e:
            case HeaderRef(header):
                return self.layout.header(header)
            case StackElement(stack, index):
                size = len(self.program.stacks[stack].headers)
                return f"{self.layout.stack(stack)}[sw_index({self.index(index)}, {size})]"
            case UnionMember(UnionRef(union_), member):
                return self.layout.header(self.program.unions[union_].headers[member])
            case UnionMember(UnionStackElement(stack, index), member):
                return self._union_member(stack, member, self.index(index))
        raise AssertionError(f"not a header: {e}")

    def _union_header(self, stack: int, member: int, element: int) -> int:
        return self.program.unions[self.program.union_stacks[stack].unions[element]].headers[member]

    def _union_member(self, stack: int, member: int, index: str) -> str:
        """Picks by comparing the index with each element; the last one if it is out of range."""
        unions = self.program.union_stacks[stack].unions
        headers = [
            self.layout.header(self._union_header(stack, member, i)) for i in range(len(unions))
        ]
        if len(headers) == 1:
            return headers[0]
        text = f"&{headers[-1]}"
        for i in reversed(range(len(unions) - 1)):
            text = f"u == {i} ? &{headers[i]} : {text}"
        return f"(*({{ const uint64_t u = {index}; {text}; }}))"

    def union_valid(self, e: UnionExpression) -> str:
        match e:
            case UnionRef(union_):
                return " || ".join(
                    f"{self.layout.header(h)}.valid" for h in self.program.unions[union_].headers
                )
            case UnionStackElement(stack, _):
                members = range(
                    len(self.program.unions[self.program.union_stacks[stack].unions[0]].members)
                )
                return " || ".join(f"{self.header(UnionMember(e, m))}.valid" for m in members)


def header_type_of(program: Program, e: HeaderExpression) -> int:
    """Returns the header type of a header expression."""
    match e:
        case HeaderRef(header):
            return program.headers[header].type
        case StackElement(stack, _):
            return program.stacks[stack].type
        case UnionMember(UnionRef(union_), member):
            return program.headers[program.unions[union_].headers[member]].type
        case UnionMember(UnionStackElement(stack, _), member):
            first = program.unions[program.union_stacks[stack].unions[0]]
            return program.headers[first.headers[member]].type
    raise AssertionError(f"not a header: {e}")
