"""Checks whether the machine carried the run's load. A run that it couldn't carry is no result."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.series_math import Array, counter_at

if TYPE_CHECKING:
    from pcn.hosts.stats import AgentStats

BUSY_PACKETS = 20
"""A port with at least this many waiting has something to send all the time."""


class TooFastError(ExperimentError):
    """The agents or the switches can't keep pace at this k."""

    def __init__(self, k: float, cause: str) -> None:
        self.k = k
        self.cause = cause
        self.suggestion = max(10.0, round(k * 1.6, -1))
        super().__init__(
            f"this machine can't carry k={k:g}: {cause}. Leave k out, and it is chosen; or try "
            f"k={self.suggestion:g}"
        )


def how_it_fell_behind(name: str, agent: AgentStats, plan: Plan, k: float) -> str | None:
    """Returns how an agent was late beyond what the plan bears, for TooFastError: by one long stall
    (machines stop for 0.1 s now and then, at any k), by one frame, which may be a CNP, or by too
    much in all. None if it wasn't."""
    assert plan.live
    stall_real_s = plan.live.stall_s * k
    if 1 - agent.worst_pace > stall_real_s:  # of a window of a second
        return (
            f"the agent of {name} sent {agent.worst_pace:.0%} of what it should have in its worst "
            "second"
        )
    if agent.late_real_s > stall_real_s:
        return f"a frame left the agent of {name} {agent.late_real_s * 1e3:.0f} ms (real) late"
    if agent.lag_real_s > plan.live.most_lag * (plan.duration_s - plan.start_s) * k:
        return f"the agent of {name} fell {agent.lag_real_s * 1e3:.0f} ms (real) behind"
    return None


def carried_share(
    queue: tuple[Array, Array],
    paused: tuple[Array, Array],
    sent_bytes: tuple[Array, Array],
    rate_bps: float,
) -> float | None:
    """Returns what a port sent while packets waited and no pause held it, over what it could send
    in that time.

    Counts the spans between two readings of `sent_bytes` in which every sample of the queue
    (packets) is at least BUSY_PACKETS and none is paused. None if these are too few.
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
