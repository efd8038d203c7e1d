"""A model of ours: how fast shares even out if bytes end the cycles of QCN's rate limiters, or time
does.

Messages come by the byte: each byte of any flow is as likely to be sampled, so a flow that sends
R_i loses b R_i^2 a second, with the same b for all. What it gains is a step after a number of
bytes, g R_i a second, or after a time, g a second. The queue settles where gains and losses
balance, which gives b. With shares s_i = R_i / C:

    bytes   ds_i/dt = g N s_i (1 - s_i / sum s^2)      gains grow with the rate: an equation of
                                                       replicators
    time    ds_i/dt = g (1 - N s_i^2 / sum s^2)        gains don't

g is what a flow at C / N gains of the line's rate in a second: the same in both. Close to fairness
differences fall as exp(-g N t) by bytes and exp(-2 g N t) by time: the timer is twice as fast, and
much faster for a flow that has little.
"""

from __future__ import annotations

import numpy as np

from pcn.experiments.data.series_math import Array

BYTES, TIME = "bytes", "time"


def slope(shares: Array, gain: float, by: str) -> Array:
    """Returns ds/dt of each flow; `gain` is g, a second. `by`: BYTES or TIME."""
    n, squares = shares.size, float(np.sum(shares**2))
    if by == BYTES:
        return gain * n * shares * (1 - shares / squares)
    return gain * (1 - n * shares**2 / squares)
