"""How long data packets take: counts by latency, as the engine keeps them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

STEPS, BUCKETS = 64, 40 * 64
"""VN_LATENCY_STEPS, VN_LATENCY_BUCKETS: those below STEPS are of 1 ns; of those above it, STEPS
double the time."""


def bounds_s() -> npt.NDArray[np.float64]:
    """Returns where each bucket begins, and where the last one ends."""
    number = np.arange(BUCKETS + 1)
    octave = np.maximum(number // STEPS - 1, 0)
    return np.where(number < STEPS, number, (STEPS + number % STEPS) * 2.0**octave) * 1e-9


@dataclass(frozen=True)
class Latency:
    """Data packets by latency: from when the first bit left the sender's NIC until the packet had
    arrived whole. A percentile is exact to a 64th, or to 1 ns."""

    counts: npt.NDArray[np.int64]
    """By bucket."""

    @property
    def packets(self) -> int:
        return int(self.counts.sum())

    def percentile_s(self, q: float) -> float | None:
        """Returns the latency that `q` percent of the packets don't exceed; None of no packet."""
        if not self.packets:
            return None
        bucket = int(np.searchsorted(np.cumsum(self.counts), self.packets * q / 100))
        return float(bounds_s()[bucket : bucket + 2].mean())

    def mean_s(self) -> float | None:
        """Returns the mean; None of no packet."""
        edges = bounds_s()
        middles = (edges[:-1] + edges[1:]) / 2
        return float(self.counts @ middles) / self.packets if self.packets else None
