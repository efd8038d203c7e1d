"""Idle timeouts: which entries have not been hit for as long as their clients allow.

Source: P4Runtime specification, "Idle-timeout", "Table Idle Timeout Notification". Times are
nanoseconds of the switch's clock. Entries wait in a heap for the earliest moment at which they can
be idle: there is no scan of tables.
"""

from __future__ import annotations

import heapq
from typing import Final, Protocol

from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime.schema import Table

SHORTEST_NS: Final = 10_000_000  # shorter timeouts count as this one
NEVER: Final = 2**63
SWEEP: Final = 4096  # watches


class Timed(Protocol):
    """What is watched. `timer`: which of its watches counts; 0: none."""

    handle: int
    idle_timeout_ns: int
    timer: int


class IdleTimers:
    """The timers of one pipeline's entries. Callers serialise their calls; `next_ns` may be read at
    any time."""

    def __init__(self, native: NativeSwitch) -> None:
        self._native = native
        self._heap: list[
            tuple[int, int, int, Table, Timed]
        ] = []  # due, number of the watch, since when, whose
        self._watches = 0
        self.next_ns = NEVER  # when `due` has something to look at

    def watch(self, table: Table, entry: Timed) -> None:
        """Starts an entry's time anew, or ends it where it has no timeout."""
        self._push(table, entry, self._native.now_ns)

    def due(self, now_ns: int) -> list[tuple[Table, Timed]]:
        """Returns the entries that have become idle; their time starts anew."""
        idle = []
        while self._heap and self._heap[0][0] <= now_ns:
            _, number, since_ns, table, entry = heapq.heappop(self._heap)
            if entry.timer != number:
                continue  # removed, or changed since
            quiet_ns = min(self.quiet_ns(table, entry), now_ns - since_ns)
            if quiet_ns >= entry.idle_timeout_ns:
                idle.append((table, entry))
                quiet_ns = 0
            self._push(table, entry, now_ns - quiet_ns)
        self._settle()
        return idle

    def quiet_ns(self, table: Table, entry: Timed) -> int:
        """Returns how long ago a packet hit the entry, or the entry came."""
        return 1000 * self._native.table_idle_us(table.c_index, entry.handle)

    def _push(self, table: Table, entry: Timed, since_ns: int) -> None:
        entry.timer = 0
        if entry.idle_timeout_ns:
            self._watches += 1
            # what was removed or changed would stay until its time comes
            if self._watches % SWEEP == 0:
                self._heap = [item for item in self._heap if item[4].timer == item[1]]
                heapq.heapify(self._heap)
            entry.timer = self._watches
            due_ns = since_ns + max(entry.idle_timeout_ns, SHORTEST_NS)
            heapq.heappush(self._heap, (due_ns, self._watches, since_ns, table, entry))
        self._settle()

    def _settle(self) -> None:
        self.next_ns = self._heap[0][0] if self._heap else NEVER
