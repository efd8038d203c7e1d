"""What a covered program does besides: it counts the points (program/points.py) that packets pass,
in the cells of its instance. Without coverage, nothing of this is in its text."""

from __future__ import annotations

from pcn.softswitch.program.model import Program, Table
from pcn.softswitch.program.points import NOT_UPDATED, UNVERIFIED, UPDATED, VERIFIED, WRONG, Points


class Covering:
    """Lines of C that count a point; none, if the program isn't covered."""

    def __init__(self, program: Program, enabled: bool) -> None:
        self.enabled = enabled
        self._points = Points(program)

    @property
    def count(self) -> int:
        return self._points.count if self.enabled else 0

    def parsed(self) -> list[str]:
        return self._count(self._points.parsed)

    def deparsed(self) -> list[str]:
        return self._count(self._points.deparsed)

    def transition(self, state: int, number: int) -> str:
        """Counts a transition; `number` is that of the default one behind the last."""
        return "".join(f"{line} " for line in self._count(self._points.transitions[state] + number))

    def failure(self, state: int, statement: int) -> str:
        """Counts that parsing ends there."""
        return "".join(f"{line} " for line in self._count(self._points.failures[state, statement]))

    def timeout(self, state: int) -> str:
        """Counts that the budget of visits ends before this state."""
        return "".join(f"{line} " for line in self._count(self._points.timeouts[state]))

    def timeouts(self, state: str) -> str:
        """Counts the same for a state whose number C has."""
        first = self._points.timeouts[0]
        return "".join(f"{line} " for line in self._count(f"{first} + {state}"))

    def looked_up(self, index: int, table: Table) -> list[str]:
        """Counts which entry of the source `entry` is, another hit, or, NULL, a miss."""
        first, miss = self._points.entries[index], self._points.misses[index]
        n = len(table.const_entries)
        # a client's entries have further handles, any number of them
        hit = f"{first} + (entry->handle < {n}u ? entry->handle : {n}u)" if n else f"{first}"
        lines = [*self._count(hit), *self._count(miss)]
        return [f"if (entry) {lines[0]} else {lines[1]}"] if lines else []

    def missed(self, index: int) -> list[str]:
        """Counts that a table without a key is applied."""
        return self._count(self._points.misses[index]) if index in self._points.misses else []

    def action(self, index: int) -> list[str]:
        return self._count(self._points.actions[index])

    def jump(self, action: int, statement: int) -> str:
        point = self._points.jumps.get((action, statement))
        return "" if point is None else "".join(f"{line} " for line in self._count(point))

    def condition(self, pipeline: str, node: int, holds: bool) -> str:
        """Counts a side of a condition."""
        point = self._points.conditions[pipeline, node] + holds
        return "".join(f"{line} " for line in self._count(point))

    def verified(self, number: int, valid: str, condition: str, wrong: str) -> list[str]:
        first = self._points.checksums[number]
        result = f"!({valid} && {condition}) ? {UNVERIFIED} : {wrong} ? {WRONG} : {VERIFIED}"
        return self._count(f"{first} + ({result})")

    def updated(self, number: int, condition: str) -> list[str]:
        first = self._points.checksums[number]
        return self._count(f"{first} + (({condition}) ? {UPDATED} : {NOT_UPDATED})")

    def _count(self, point: object) -> list[str]:
        return [f"s->coverage[{point}]++;"] if self.enabled else []
