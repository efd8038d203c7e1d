"""The paper's fluid model (appendix A, equations 3 to 7): N flows on one bottleneck, all notified
at once, every T.

Rates in bit/s, times in s, queues in bytes. Loop k lasts from k T to (k + 1) T; rates and weights
hold over it. What the appendix derives from the model stands in `pcn.experiments.define.theory`;
the tests hold each against the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pcn.experiments.data.series_math import Array

EMPTY = 1e-9
"""A queue below this share of C T is empty: what rounding leaves of one."""


@dataclass(frozen=True)
class Fluid:
    """The model's constants: C, T and the weights of Algorithm 1."""

    capacity_bps: float
    period_s: float
    w_min: float
    w_max: float = 0.5

    def run(self, rates_bps: Sequence[float] | Array, loops: int) -> Loops:
        """Runs `loops` loops from an empty queue, the sending rates `rates_bps` and w = w_min."""
        rates = np.asarray(rates_bps, dtype=float)
        queue, w = 0.0, self.w_min
        sent = np.empty((loops, rates.size))
        received, queues, weights = np.empty_like(sent), np.empty(loops + 1), np.empty(loops)
        congested = np.empty(loops, dtype=bool)
        loop_bytes = self.capacity_bps * self.period_s / 8
        for k in range(loops):
            sent[k], queues[k], weights[k] = rates, queue, w
            total = float(rates.sum())
            queue = max(0.0, queue + (total - self.capacity_bps) * self.period_s / 8)  # eq. 3
            congested[k] = queue > EMPTY * loop_bytes  # eq. 4
            if congested[k]:
                received[k] = rates / total * self.capacity_bps  # eq. 5
                rates = received[k] * (1 - self.w_min)  # eq. 6
                w = self.w_min  # eq. 7
            else:
                queue = 0.0
                received[k] = rates
                rates = rates * (1 - w) + self.capacity_bps * w
                w = w * (1 - w) + self.w_max * w
        queues[loops] = queue
        return Loops(self.period_s, sent, received, queues, weights, congested)


@dataclass(frozen=True)
class Loops:
    """What the model did. `rates`, `received`: [loop, flow]; `w`, `congested`: [loop]; `queue`: at
    the start of each loop, and at the end of the last."""

    period_s: float
    rates: Array
    received: Array
    queue: Array
    w: Array
    congested: npt.NDArray[np.bool_]

    @property
    def aggregate(self) -> Array:
        """Sum of the sending rates, by loop."""
        total: Array = self.rates.sum(axis=1)
        return total

    @property
    def shares(self) -> Array:
        """Each flow's share in the sum, by loop: eta of appendix A. [loop, flow]"""
        shares: Array = self.rates / self.aggregate[:, None]
        return shares

    def queue_at(self, times_s: Array) -> Array:
        """Returns the queue at these times: between the starts of two loops it changes evenly."""
        return np.interp(times_s, np.arange(self.queue.size) * self.period_s, self.queue)
