"""Whether the machine carried what the run asked of it. A run that it couldn't carry is no result."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from experiments.errors import ExperimentError
from experiments.metrics import Array, counter_at
from hosts.stats import AgentStats

BUSY_PACKETS = 20
"""A port with at least this many waiting has something to send all the time."""
KEPT_SHARE = 0.95
"""Of what a busy port could send."""
MOST_STALL_S = 0.25e-3
"""Nominal: what an agent may miss of any one second (real). Machines stop for 0.1 s now and then, at any k; at k = 400
that is half an RTT of the dumbbell. Runs with stalls of 0.4 ms missed Jain's index and utilisation by some percent."""
MOST_LAG = 0.01
"""Of the run's real time, by which an agent's schedule may have moved since the process was late."""


class TooFastError(ExperimentError):
    """The agents or the switches can't keep pace at this k."""

    def __init__(self, k: float, who: str) -> None:
        self.k = k
        self.who = who
        self.suggestion = round(k * 1.6, -1)
        super().__init__(
            f"this machine can't carry k={k:g}: {who}. Leave k out, and it is chosen; or try k={self.suggestion:g}"
        )


def stalled(agent: AgentStats, k: float) -> bool:
    return 1 - agent.worst_pace > MOST_STALL_S * k


def fell_behind(agent: AgentStats, duration_s: float, k: float) -> bool:
    """Whether an agent was late beyond what `duration_s` (nominal) bears: by one long stall, or by too much in all."""
    return stalled(agent, k) or agent.lag_real_s > MOST_LAG * duration_s * k


def how_it_fell_behind(name: str, agent: AgentStats, k: float) -> str:
    """For TooFastError."""
    if stalled(agent, k):
        return f"the agent of {name} sent {agent.worst_pace:.0%} of what it should have in its worst second"
    return f"the agent of {name} fell {agent.lag_real_s * 1e3:.0f} ms (real) behind"


def carried_share(
    queue: tuple[Array, Array], paused: tuple[Array, Array], sent_bytes: tuple[Array, Array], rate_bps: float
) -> float | None:
    """Of what a port could send while packets waited and no pause held it, the share that it did send.

    Counts the spans between two readings of `sent_bytes` in which every sample of the queue (packets) is at least
    BUSY_PACKETS and none is paused. None if these are too few to tell.
    """
    times, totals = sent_bytes
    busy = could = 0.0
    for start, end in pairwise(times):
        inside = (queue[0] >= start) & (queue[0] <= end)
        held = (paused[0] >= start) & (paused[0] <= end) & (paused[1] > 0)
        if inside.sum() < 2 or (queue[1][inside] < BUSY_PACKETS).any() or held.any():
            continue
        first, last = counter_at(times, totals, np.array([start, end]))
        busy += 8 * float(last - first)
        could += rate_bps * (end - start)
    return busy / could if could > 2e-3 * rate_bps else None
