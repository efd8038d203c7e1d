"""Which nodes of a network that is up don't keep pace: what they report on the machine's board.

A node is behind while more than a twentieth of its frames are later than `TOLERANCE_S`, or an agent sends less than its
flows' rates allow. Numbers of such an interval aren't those of the modelled network.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.record import BY_MININET, Record
from softswitch.pace import MILLION, Board, Pace

TOLERANCE_S = 10e-6
"""Nominal: twice what halves the steady queue, half of what costs two points of utilisation (docs/hosts.md)."""
MOST_REAL_S = 50e-3
"""The tolerance at the largest k: machines stop for as long as that now and then."""
_USABLE = 0.5
"""Share of the machine that the nodes may take; the rest is for what isn't steady."""
_LEAST_STEP = 1.6
_NAMES = 4


@dataclass(frozen=True)
class Late:
    """A node that doesn't keep pace. `since_s`: for so long, real. Of `share` of its frames the lateness was beyond the
    tolerance, `worst_s` at most, nominal; an agent sent `sent` of what it was allowed to: all in its last window."""

    node: str
    since_s: float
    share: float
    worst_s: float
    sent: float


@dataclass(frozen=True)
class Overload:
    """The nodes that don't keep pace, the one that has been longest first, and the k that would do."""

    nodes: tuple[Late, ...]
    k: float

    def __str__(self) -> str:
        names = [one.node for one in self.nodes]
        more = len(names) - _NAMES
        listed = f"{', '.join(names[:_NAMES])} and {more} more" if more > 0 else " and ".join(names)
        verb = "don't" if len(names) > 1 else "doesn't"
        return (
            f"NOT IN PACE: {listed} {verb} keep pace, for {self.nodes[0].since_s:.1f} s (real): these numbers aren't "
            f"the modelled network's; -k {self.k:g} would do"
        )


class Pacing:
    """What the nodes of a network report. Cheap: one look at shared memory."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._board = Board.open()
        self._since_ns = time.monotonic_ns()

    def overload(self, now_ns: int | None = None) -> Overload | None:
        """The nodes that are behind now; None: all keep pace, or don't report (BMv2)."""
        now_ns = now_ns or time.monotonic_ns()
        return overload(self._record.dilation, self._read(), now_ns, os.cpu_count() or 1)

    def behind_since_last(self) -> frozenset[str]:
        """Nodes that were behind at some time since the last call, or since this was made."""
        since_ns, self._since_ns = self._since_ns, time.monotonic_ns()
        return frozenset(
            name
            for name, pace in self._read().items()
            if pace.behind_until_ns > since_ns or pace.behind_ns(self._since_ns)
        )

    def _read(self) -> dict[str, Pace]:
        devices = {one["name"]: int(one["device_id"]) for one in self._record.topology["switches"]}
        there = {(pace.pid, pace.number): pace for pace in self._board.read()}
        if self._record.role == BY_MININET:  # whose switches are children of what is on record
            there = {(_parent(pid), number): pace for (pid, number), pace in there.items()}
        names = {
            (node.process.pid, devices.get(node.name, 0)): node.name
            for node in self._record.nodes.values()
            if node.process
        }
        return {names[key]: pace for key, pace in there.items() if key in names}


def overload(k: float, paces: dict[str, Pace], now_ns: int, cores: int) -> Overload | None:
    """As `Pacing.overload`, of what the nodes by name report."""
    late = [
        Late(
            name,
            (now_ns - since_ns) * 1e-9,
            pace.late / pace.frames if pace.frames else 0.0,
            pace.worst_ns * 1e-9 / k,
            pace.sent_ppm / MILLION,
        )
        for name, pace in paces.items()
        if (since_ns := pace.behind_ns(now_ns))
    ]
    if not late:
        return None
    late.sort(key=lambda one: -one.since_s)
    return Overload(tuple(late), _enough(k, list(paces.values()), now_ns, cores))


def _enough(k: float, paces: Sequence[Pace], now_ns: int, cores: int) -> float:
    """The k at which the nodes would take _USABLE of the machine for the frames that were due."""
    load = sum(one.cores(now_ns) for one in paces) / cores / _USABLE
    sent = max(0.01, min((one.sent_ppm / MILLION for one in paces), default=1.0))
    return rounded_up(k * max(_LEAST_STEP, load / sent))


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def rounded_up(k: float) -> float:
    """To two digits."""
    digit: float = 10.0 ** (math.floor(math.log10(k)) - 1)
    return math.ceil(k / digit - 1e-9) * digit
