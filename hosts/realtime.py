"""Real-time scheduling (sched(7)), so that an agent wakes up in time on a machine whose cores are all busy, and memory
that stays in place (mlock(2)): a page that the kernel has taken back costs tens of milliseconds just when it is wanted.

With two other processes computing on two cores, an agent of normal priority sends half of what it should; with this,
99%. An agent that needs most of a core gives it back: it would starve the switches, and can't keep pace anyway.
"""

from __future__ import annotations

import ctypes
import os
import time

_MOST_SHARE = 0.7
_WINDOW_REAL_S = 2.0
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4


class RealTime:
    """Round robin at the lowest real-time priority, where that is permitted. `active` is True if it holds."""

    def __init__(self) -> None:
        self.active = False
        self._lent = False
        self._since = (time.monotonic(), time.process_time())

    def acquire(self) -> None:
        """Takes it, and locks memory."""
        if self._take():
            ctypes.CDLL(None).mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)  # where it is refused, pages may go
        self._since = (time.monotonic(), time.process_time())

    def _take(self) -> bool:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except OSError:
            return False
        self.active = True
        return True

    def check(self, crowded: bool = False) -> None:
        """Call now and then: gives real time back if the process took too much of a core. While all nodes together take
        too much of the machine (`crowded`), it lends it."""
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
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            self.active = False
