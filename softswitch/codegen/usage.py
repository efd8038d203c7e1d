"""Which metadata must be stored with a packet.

p4c writes every local variable as a field of one metadata header. A field that only ingress uses
(its parser and checksum verification included), or only egress, and that no list copies, isn't
stored in the packet: it becomes a member of `struct locals`, on the stack of one pipeline, so that
the compiler can keep it in a register or drop it. It starts as zero, as metadata does. A field that
nothing uses isn't stored at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pcn.softswitch.program.expressions import FieldRef, HeaderRef
from pcn.softswitch.program.model import ActionNode, ConditionNode, Control, Program, TableNode
from pcn.softswitch.program.statements import Hash


@dataclass(frozen=True)
class Usage:
    """`local`: fields of struct locals. `in_phv`: metadata fields of the PHV. `whole`: metadata
    headers that are used as a whole, so that all their fields are stored."""

    local: frozenset[FieldRef]
    in_phv: frozenset[FieldRef]
    whole: frozenset[int]


def analyse(program: Program) -> Usage:
    """Sorts the metadata fields of a program that are not the switch's own."""
    verify = [c for c in program.checksums if c.verify]
    update = [c for c in program.checksums if c.update]
    ingress = set(
        references(program, [program.parser, verify, list(control_parts(program, program.ingress))])
    )
    egress = set(references(program, list(control_parts(program, program.egress))))
    stored = set(
        references(
            program, [update, program.deparser.statements, program.field_lists, program.learn_lists]
        )
    )
    whole = {r.header for r in (*ingress, *egress, *stored) if isinstance(r, HeaderRef)}
    stored |= ingress & egress
    local = {
        r
        for r in (ingress | egress) - stored
        if isinstance(r, FieldRef) and program.headers[r.header].metadata and r.header not in whole
    }
    local -= set(program.std_fields)
    in_phv = {r for r in stored if isinstance(r, FieldRef) and program.headers[r.header].metadata}
    return Usage(frozenset(local), frozenset(in_phv - set(program.std_fields)), frozenset(whole))


def control_parts(program: Program, control: Control) -> Iterator[Any]:
    """Yields everything that a control's nodes can evaluate."""
    for node in control.nodes:
        match node:
            case ConditionNode():
                yield node.condition
            case ActionNode():
                yield program.actions[node.action].statements
            case TableNode(_, index):
                table = program.tables[index]
                yield table.key
                yield [program.actions[a].statements for a in table.actions]
                if (
                    table.profile is not None
                    and (selector := program.profiles[table.profile].selector) is not None
                ):
                    yield program.calculations[selector].inputs
                if table.direct_meter is not None:
                    yield program.meters[table.direct_meter].result


def references(program: Program, item: Any) -> Iterator[FieldRef | HeaderRef]:
    """Yields every field and header that a part of the model refers to, through calculations
    too."""
    stack = [item]
    while stack:
        top = stack.pop()
        if isinstance(top, FieldRef | HeaderRef):
            yield top
            continue
        if isinstance(top, Hash) or hasattr(top, "calculation"):
            stack.append(program.calculations[top.calculation].inputs)
        if hasattr(top, "header") and isinstance(top.header, int):
            yield HeaderRef(top.header)  # extraction and whole-header inputs
        if dataclasses.is_dataclass(top):
            stack += [getattr(top, f.name) for f in dataclasses.fields(top)]
        elif isinstance(top, Iterable) and not isinstance(top, str):
            stack += list(top)
