"""Real-time scheduling (sched(7)), so that an agent wakes up in time on a machine whose cores are
all busy, and memory that stays in place (mlock(2)): a page that the kernel has taken back costs
tens of milliseconds just when it is wanted.

With two other processes computing on two cores, an agent of normal priority sends half of what it
should; with this, 99%. An agent that needs most of a core gives it back: it would starve the
switches, and can't keep pace anyway.
"""

from __future__ import annotations

import time

from pcn.base import priority

_MOST_SHARE = 0.7
_WINDOW_REAL_S = 2.0


class RealTime:
    """Round robin at the lowest real-time priority, where that is permitted. `active` is True if it
    holds."""

    def __init__(self) -> None:
        self.active = False
        self._lent = False
        self._since = (time.monotonic(), time.process_time())

    def acquire(self) -> None:
        """Takes it, and locks memory."""
        if self._take():
            priority.lock_memory()
        self._since = (time.monotonic(), time.process_time())

    def _take(self) -> bool:
        self.active = priority.real_time(True)
        return self.active

    def check(self, crowded: bool = False) -> None:
        """Is called now and then: gives real time back if the process took too much of a core.
        While all nodes together take too much of the machine (`crowded`), it lends it."""
        if crowded and self.active:
            self.release()
            self._lent = True
        elif self._lent and not crowded:
            self._lent = False
            self._take()
        began, used = self._since
        now, cpu = time.monotonic(), time.process_time()
        if now - began < _WINDOW_REAL_S:
            return
        self._since = (now, cpu)
        if self.active and cpu - used > _MOST_SHARE * (now - began):
            self.release()

    def release(self) -> None:
        if self.active:
            self.active = not priority.real_time(False)
