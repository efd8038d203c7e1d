"""Copies of whole header unions, which p4c writes member by member.

A member that is assigned an invalid header leaves no member of its union valid (P4_16), so the
order of such a copy would decide what is valid. BMv2's `assign_union` takes the valid member over,
whichever it is: so do these copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcn.softswitch.program.expressions import (
    HeaderExpression,
    HeaderRef,
    UnionExpression,
    UnionMember,
    UnionRef,
)
from pcn.softswitch.program.names import Names
from pcn.softswitch.program.statements import AssignHeader, AssignUnion, Jump, JumpIfZero, Statement


def with_whole_unions(
    statements: Sequence[Statement], names: Names, jumps: bool = False
) -> tuple[Statement, ...]:
    """Returns the statements with one assignment in place of those of all members, in any order.
    `jumps`: as many as before, since jumps go to numbers of statements."""
    rewritten = list(statements)
    targets = {
        statement.operation.target
        for statement in rewritten
        if isinstance(statement.operation, Jump | JumpIfZero)
    }
    start = 0
    while start < len(rewritten):
        pair = _members(rewritten[start], names)
        count = 0 if pair is None else len(names.unions[_first(pair[0][0], names)].headers)
        copies = [_members(statement, names) for statement in rewritten[start : start + count]]
        whole = (
            pair is not None
            and _is_whole(copies, count)
            and targets.isdisjoint(range(start + 1, start + count))
        )
        if pair is not None and whole:
            rewritten[start] = replace(
                rewritten[start], operation=AssignUnion(pair[0][0], pair[1][0])
            )
            rest = range(start + 1, start + count)
            rewritten[start + 1 : start + count] = (
                [replace(rewritten[i], operation=Jump(i + 1)) for i in rest] if jumps else []
            )
            start += count - 1 if jumps else 0
        start += 1
    return tuple(rewritten)


_Member = tuple[UnionExpression, int]


def _is_whole(copies: Sequence[tuple[_Member, _Member] | None], count: int) -> bool:
    """Returns whether these copy each member of one union to the same one of another."""
    pairs = [pair for pair in copies if pair is not None]
    unions = {(to[0], source[0]) for to, source in pairs}
    members = {to[1] for to, source in pairs if to[1] == source[1]}
    return len(pairs) == len(copies) == count and len(unions) == 1 and len(members) == count


def _members(statement: Statement, names: Names) -> tuple[_Member, _Member] | None:
    """Returns the members of which a statement assigns the second to the first."""
    operation = statement.operation
    if not isinstance(operation, AssignHeader):
        return None
    to, source = (_member(header, names) for header in (operation.target, operation.value))
    return None if to is None or source is None else (to, source)


def _member(header: HeaderExpression, names: Names) -> _Member | None:
    if isinstance(header, UnionMember):
        return header.union, header.member
    if isinstance(header, HeaderRef) and (union := names.headers[header.header].union) is not None:
        return UnionRef(union[0]), union[1]
    return None


def _first(union: UnionExpression, names: Names) -> int:
    """Returns a union, of those in a stack the first one."""
    return union.union if isinstance(union, UnionRef) else names.union_stacks[union.stack].unions[0]
