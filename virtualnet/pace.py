"""A run in real time divided by k, and how late its events came.

No event happens before its real time. As all nodes are inside the engine, lateness changes no
result: the digest is virtual time's."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from itertools import accumulate

from pcn.virtualnet import native
from pcn.virtualnet.lock import EngineLock
from pcn.virtualnet.times import picoseconds

_LATE_S = 0.05


@dataclass(frozen=True)
class Lateness:
    """How late events came, by bounds: the time since the look before, at which they weren't due
    yet. `counts[n]`: events less than 2^n ns late, and no less than half of that; `worst_s` in
    real seconds; `batches` of events, one a wake-up at most."""

    counts: tuple[int, ...]
    worst_s: float
    batches: int

    def bound_s(self, q: float) -> float | None:
        """Returns a time that `q` percent of the events weren't later than, at most twice the least
        such time; None of no event."""
        total = sum(self.counts)
        if not total:
            return None
        at_least = total * q / 100
        bits = next(n for n, sums in enumerate(accumulate(self.counts)) if sums >= at_least)
        return float(min(2.0**bits * 1e-9, self.worst_s))

    @property
    def late(self) -> bool:
        """Whether some event came so late, 50 ms, that a user who watches may see it."""
        return self.worst_s >= _LATE_S

    def __str__(self) -> str:
        bound_s = self.bound_s(99)
        if bound_s is None:
            return "no event"
        return (
            f"99% of its events came at most {bound_s * 1e3:.3g} ms of real time late, the worst "
            f"{self.worst_s * 1e3:.3g} ms"
        )


class Pace:
    """The pace of a network's runs from now on: one simulated second lasts `k` real ones.
    `slack_s`: real time between two batches of events."""

    def __init__(self, k: float, slack_s: float, now_s: float, lock: EngineLock) -> None:
        now_ns, python = time.monotonic_ns(), ctypes.pythonapi
        self.raw = native.Pace(
            k=k,
            from_ps=picoseconds(now_s),
            from_ns=now_ns,
            slack_ns=round(slack_s * 1e9),
            release=ctypes.cast(python.PyEval_SaveThread, ctypes.c_void_p),
            acquire=ctypes.cast(python.PyEval_RestoreThread, ctypes.c_void_p),
            lock=lock.handle,
            looked_ns=now_ns,
        )

    def behind_s(self, now_s: float) -> float:
        """Returns by how many real seconds a network at the simulated time `now_s` is behind."""
        passed_s = (time.monotonic_ns() - self.raw.from_ns) / 1e9
        return float(passed_s - (now_s - self.raw.from_ps / 1e12) * self.raw.k)

    def lateness(self) -> Lateness:
        """Returns how late all events so far were."""
        return Lateness(tuple(self.raw.late), self.raw.worst_ns / 1e9, self.raw.batches)
