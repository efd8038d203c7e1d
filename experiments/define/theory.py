"""Closed forms of the paper's fluid model (appendix A) and of Algorithm 1. Rates in bit/s, times in
s, queues in bytes.

N flows share a bottleneck of capacity C; CNPs come every T; w is w_min by default.
"""

from __future__ import annotations

import math
from collections.abc import Iterator


def aggregate_after_decrease(capacity_bps: float, w_min: float) -> float:
    """Returns the sum of the sending rates one loop after an overload: (1 - w_min) C. [Prop. 1, eq.
    8]"""
    return (1 - w_min) * capacity_bps


def loops_to_drain(aggregate_bps: float, capacity_bps: float, w_min: float) -> int:
    """Returns the control loops until the queue of an initial overload is empty: ceil(1 + (sum R(0)
    - C) / (w_min C)). [A.2.1]"""
    loops = 1 + (aggregate_bps - capacity_bps) / (w_min * capacity_bps)
    return math.ceil(loops - 1e-9)


def queue_oscillation(flows: int, w_min: float, capacity_bps: float, period_s: float) -> float:
    """Returns the peak of the queue in the steady state: (N - 2 + w_min) w_min C T, in bytes. [eq.
    15]"""
    return max(0.0, flows - 2 + w_min) * w_min * capacity_bps * period_s / 8


def rate_oscillation(flows: int, w_min: float, capacity_bps: float) -> float:
    """Returns the swing of one flow's rate in the steady state: w_min C (1 - (1 - w_min) / N).

    Equation 16 has w_min C: it compares a rate of eq. 9 from which it drops one factor (1 - w_min).
    [A.2.3 and A.2.2]
    """
    return w_min * capacity_bps * (1 - (1 - w_min) / flows)


def fairness_factor(flows: int, w_min: float) -> float:
    """Returns by what a flow's distance from C / N shrinks in one cycle of N loops. [A.2.2, a in
    eq. 14]"""
    remainder = (1 - w_min) ** 2
    return remainder / (remainder + flows * w_min)


def fairness_half_life_loops(flows: int, w_min: float) -> float:
    """Returns the control loops in which a flow's distance from C / N halves."""
    return flows * math.log(0.5) / math.log(fairness_factor(flows, w_min))


def increase(
    w_min: float = 1 / 128, w_max: float = 0.5, rate: float = 0.0, line: float = 1.0
) -> Iterator[tuple[float, float]]:
    """Yields (rate, w) after 1, 2, 3, ... CNPs that request an increase, without end. [Algorithm 1
    lines 10-11, Fig. 10]"""
    w = w_min
    while True:
        rate = rate * (1 - w) + line * w
        w = w * (1 - w) + w_max * w
        yield rate, w


def incast_duration(
    sources: int, frame_bytes: float, capacity_bps: float, others: int = 1
) -> float:
    """Returns how long `sources` take to bring `frame_bytes` together over one link that they share
    with `others`, equally by source: PFC by ingress port sees to that."""
    return frame_bytes * 8 / (capacity_bps * sources / (sources + others))
