"""Numbers of a program's points: what a covered program counts (codegen/covering.py), and what
`pcn.softswitch.coverage` reads.

A point is a branch that a packet can take. What runs between two of them follows: statements of an
action run as often as it begins, less the jumps over them.
"""

from __future__ import annotations

from pcn.softswitch.program.model import ConditionNode, Program, Table
from pcn.softswitch.program.statements import (
    Jump,
    JumpIfZero,
)

VERIFIED, WRONG, UNVERIFIED = range(3)
"""Of a checksum that is verified: what each of its three counts is of."""
UPDATED, NOT_UPDATED = 3, 4
"""Likewise of its update."""
PIPELINES = ("ingress", "egress")


class Points:
    """Where each count of a program stands. Dictionaries are by indices of the model; `count` is
    how many there are.

    `parsed`: packets that came to the parser; `deparsed`: to the deparser. `transitions`: by state
    the first of its transitions, whose default one is the last; states without a key have one.
    `failures`: by state and statement, parsing that ends there; the key's lookahead has the number
    behind the last statement. `timeouts`: by state, visits that the budget refused. `entries`: by
    table the first of its entries of the source, behind which are hits of all others; an entry that
    a client added in the place of one that it had deleted has its count. `misses`: by table.
    `actions`: how often each begins. `jumps`: by action and statement, jumps that are taken, except
    those without a condition that go forward. `conditions`: by pipeline and node, false; true is
    the next one. `checksums`: by checksum, the first of five."""

    def __init__(self, program: Program) -> None:
        self.count = 0
        self.parsed, self.deparsed = self._next(), self._next()
        states = program.parser.states
        self.transitions = {i: self._next(len(s.transitions) + 1) for i, s in enumerate(states)}
        self.failures = {
            (i, k): self._next()
            for i, state in enumerate(states)
            for k in range(len(state.statements) + 1)
        }
        self.timeouts = {i: self._next() for i in range(len(states))}
        self.hidden = {i for i, table in enumerate(program.tables) if _is_hidden(table)}
        self.entries, self.misses = {}, {}
        for i, table in enumerate(program.tables):
            if i not in self.hidden:
                self.entries[i] = self._next(len(table.const_entries) + 1)
                self.misses[i] = self._next()
        self.actions = {i: self._next() for i in range(len(program.actions))}
        self.jumps = {
            (i, k): self._next()
            for i, action in enumerate(program.actions)
            for k, statement in enumerate(action.statements)
            if isinstance(statement.operation, JumpIfZero)
            or (isinstance(statement.operation, Jump) and statement.operation.target <= k)
        }
        self.conditions = {
            (name, i): self._next(2)
            for name, control in zip(PIPELINES, (program.ingress, program.egress), strict=True)
            for i, node in enumerate(control.nodes)
            if isinstance(node, ConditionNode)
        }
        self.checksums = {i: self._next(5) for i in range(len(program.checksums))}

    def _next(self, count: int = 1) -> int:
        first, self.count = self.count, self.count + count
        return first


def _is_hidden(table: Table) -> bool:
    """Returns whether p4c made a table of statements that are in no action: it has one action,
    which counts for it, and no key."""
    return (
        not table.key
        and table.name.startswith("tbl_")
        and table.const_default
        and table.default is not None
        and len(table.actions) == 1
    )
