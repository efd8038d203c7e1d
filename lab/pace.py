"""Which nodes of a network that is up don't keep pace: what they report on its board.

A node is behind while more than a twentieth of its frames are later than `TOLERANCE_S`, or an agent
sends less than its flows' rates allow. Numbers of such an interval aren't those of the modelled
network.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pcn.base.errors import LabError
from pcn.lab.journal import Record
from pcn.softswitch.errors import StartError
from pcn.softswitch.pace import MILLION, Board, Pace

TOLERANCE_S = 10e-6
"""Nominal: twice what halves the steady queue, half of what costs two points of utilisation
(docs/hosts.md)."""
MOST_REAL_S = 50e-3
"""The tolerance at the largest k: machines stop for as long as that now and then."""
_UP_PERCENT, _RUN_PERCENT = 40, 85
"""The machine that nodes may use at real-time priority: beyond 40%, commands took three times as
long. A run has none that waits, and needs its nodes in time."""
_LEAST_STEP = 1.6
"""By how much k grows where the machine carries less than it did at the network's start."""
_NAMES = 4


@dataclass(frozen=True)
class Late:
    """A node that hasn't kept pace for `since_s` seconds (real). In its last window the share
    `share` of its frames was late beyond the tolerance, `worst_s` at most (nominal), and an agent
    sent the share `sent` of what it might send."""

    node: str
    since_s: float
    share: float
    worst_s: float
    sent: float


@dataclass(frozen=True)
class Overload:
    """The nodes that don't keep pace, the one that has been longest first, and a k that would do.
    `inside`: of a network inside one engine, all of which is late, and whose numbers are right."""

    nodes: tuple[Late, ...]
    k: float
    inside: bool = False

    def __str__(self) -> str:
        if self.inside:
            late = self.nodes[0]
            return (
                f"LATE: the network has been behind real time for {late.since_s:.1f} s, last by "
                f"{late.worst_s * 1e3:.3g} ms, which changes no number; -k {self.k:g} would do"
            )
        names = [node.node for node in self.nodes]
        more = len(names) - _NAMES
        listed = f"{', '.join(names[:_NAMES])} and {more} more" if more > 0 else " and ".join(names)
        verb = "don't" if len(names) > 1 else "doesn't"
        return (
            f"NOT IN PACE: {listed} {verb} keep pace, for {self.nodes[0].since_s:.1f} s (real): "
            f"these numbers aren't the modelled network's; -k {self.k:g} would do"
        )


class Pacing:
    """What the nodes of a network report. Cheap: one look at shared memory."""

    def __init__(self, record: Record) -> None:
        """Raises LabError where the network's process has ended, and its number is another's."""
        self._dilation = record.dilation
        self._inside = record.is_inside
        self._enough_k = record.enough_k
        self._names = _names(record.topology)
        self._board: Board | None = None
        with suppress(StartError):  # a network that ends just now
            self._board = Board.open(Path(record.board))
        if self._board is not None and self._board.slots != len(self._names):
            raise LabError(
                f"{record.board} isn't the board of network {record.name}, whose process has "
                "ended: run `pcn down`"
            )
        self._since_ns = time.monotonic_ns()

    def overload(self, now_ns: int | None = None) -> Overload | None:
        """Returns the nodes that are behind now; None: all keep pace, or don't report (BMv2)."""
        now_ns = now_ns or time.monotonic_ns()
        if self._inside:
            real = overload(1.0, self._read(), now_ns, 0.0)
            return real and replace(real, k=rounded_up(self._dilation * _LEAST_STEP), inside=True)
        return overload(self._dilation, self._read(), now_ns, self._enough_k)

    def behind_since_last(self) -> frozenset[str]:
        """Returns the nodes that were behind at some time since the last call, or since this was
        made."""
        since_ns, self._since_ns = self._since_ns, time.monotonic_ns()
        if self._inside:
            return frozenset()
        return frozenset(
            name
            for name, pace in self._read().items()
            if pace.behind_until_ns > since_ns or pace.behind_ns(self._since_ns)
        )

    def _read(self) -> dict[str, Pace]:
        return (
            {} if self._board is None else dict(zip(self._names, self._board.read(), strict=True))
        )


def tolerance_s(k: float) -> float:
    """Returns how late a frame may be, nominal."""
    return min(TOLERANCE_S, MOST_REAL_S / k)


def make_board(topology: Mapping[str, Any], role: str) -> Board:
    """Returns the board of a network that this process holds, with a slot for each node."""
    return Board.make(len(_names(topology)), _RUN_PERCENT if role == "run" else _UP_PERCENT)


def slot_of(topology: Mapping[str, Any], node: str) -> int:
    """Returns a node's slot on the board."""
    return _names(topology).index(node)


def _names(topology: Mapping[str, Any]) -> list[str]:
    """Returns the names of all nodes of a topology in the form of `pcn.topologies.serialise`,
    switches first."""
    return [node["name"] for node in (*topology["switches"], *topology["hosts"])]


def overload(k: float, paces: dict[str, Pace], now_ns: int, enough_k: float) -> Overload | None:
    """Returns the nodes that are behind, of those that report, by name; None: all keep pace.
    `enough_k`: a k at which all hosts may send at line rate (`pcn.lab.calibrate`). What a network
    does that is behind reveals no such k: late packets slow its hosts down."""
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
    late.sort(key=lambda node: -node.since_s)
    return Overload(tuple(late), max(enough_k, rounded_up(k * _LEAST_STEP)))


def rounded_up(k: float) -> float:
    """Returns k, rounded up to two digits."""
    digit: float = 10.0 ** (math.floor(math.log10(k)) - 1)
    return math.ceil(k / digit - 1e-9) * digit
