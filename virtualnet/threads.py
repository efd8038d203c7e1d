"""How many threads a run has where its caller leaves that open, and where their time went."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pcn.topologies.model import Topology
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import MOST_THREADS

VARIABLE: Final = "PCN_THREADS"
"""In the environment: N, auto, or auto:N (at most N); default: auto."""
AUTO: Final = "auto"
_HOSTS = 32
"""For each thread of several: with fewer, threads wait for each other as long as they work."""


def cores() -> int:
    """Returns the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def commanded() -> int | None:
    """Returns the environment's number; None: auto. Raises VirtualError."""
    return _environment()[0]


def _environment() -> tuple[int | None, int]:
    """Returns the number of threads, None: auto, and the most that auto takes. Raises
    VirtualError."""
    text = os.environ.get(VARIABLE, AUTO)
    first, colon, rest = text.partition(":")
    number = rest if colon and first == AUTO else text
    if text == AUTO:
        return None, min(cores(), MOST_THREADS)
    if (
        not (number.isascii() and number.isdecimal() and len(number) < 6)
        or not 1 <= int(number) <= MOST_THREADS
    ):
        raise VirtualError(
            f"{VARIABLE}={text}: a number from 1 to {MOST_THREADS}, {AUTO}, or {AUTO}:N"
        )
    return (None, int(number)) if number != text else (int(number), int(number))


def threads_for(topology: Topology) -> int:
    """Returns the environment's number; else one a core, and one for 32 hosts at most."""
    number, most = _environment()
    return number or max(1, min(most, len(topology.hosts) // _HOSTS))


def shared(jobs: int) -> Mapping[str, str]:
    """Returns the environment of each of `jobs` processes: the cores that they leave each other."""
    return {VARIABLE: str(commanded() or f"{AUTO}:{min(max(1, cores() // jobs), MOST_THREADS)}")}


@dataclass(frozen=True)
class ThreadStats:
    """Where the time of a network's rounds went, by the wall's clock; no result. `busy_s`: by
    thread, in turns of nodes. `answering_s`: of the first thread, answers of algorithms in Python
    to `questions`, while the others wait. A round has `passes / rounds` passes: one a phase, and
    one more each time that nodes wait for answers. `longest_s`: the longest share of each pass,
    summed, which no number of cores makes shorter."""

    wall_s: float
    busy_s: tuple[float, ...]
    answering_s: float
    questions: int
    rounds: int
    passes: int
    longest_s: float

    def __str__(self) -> str:
        if not self.wall_s:
            return f"{len(self.busy_s)} threads, which had nothing to do."
        shares = ", ".join(f"{busy_s / self.wall_s:.0%}" for busy_s in self.busy_s)
        return (
            f"{len(self.busy_s)} threads, busy {shares} of {self.wall_s:.3g} s, else waiting; "
            f"longest shares {self.longest_s / self.wall_s:.0%}; {self.rounds:,} rounds of "
            f"{self.passes / max(1, self.rounds):.1f} passes; {self.questions:,} questions to "
            f"algorithms in Python took {self.answering_s / self.wall_s:.0%}."
        )
