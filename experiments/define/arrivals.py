"""When flows arrive at their senders, beside Poisson: gaps that vary more, and bursts. Equal seeds
give equal times.

Each host is its own source. Rates are exact in the mean: over long times a source has `per_s`
arrivals a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.series_math import Array

_MORE = 1.25
"""Of the time that `count` arrivals are expected to take: how much longer is drawn at once."""


@dataclass(frozen=True)
class LogNormal:
    """Gaps whose logarithm is normal, of the standard deviation `sigma`: 0 is a clock, 2 has long
    gaps and bursts."""

    sigma: float

    def times(self, random: np.random.Generator, per_s: float, end_s: float) -> Array:
        """Returns the arrivals from 0 to `end_s`. The first one is anywhere in a gap, a long one
        more often than a short one."""
        mean = -math.log(per_s) - self.sigma**2 / 2
        # The gap that 0 falls into is drawn in proportion to its length, which moves the mean of
        # its logarithm.
        first = float(random.lognormal(mean + self.sigma**2, self.sigma)) * float(random.random())
        chunks, last = [np.array([first])], first
        while last < end_s:
            gaps = random.lognormal(
                mean, self.sigma, max(16, round(_MORE * (end_s - last) * per_s))
            )
            chunks.append(
                np.cumsum(np.append(last, gaps))[1:]
            )  # one sum, whatever is drawn at once
            last = float(chunks[-1][-1])
        times = np.concatenate(chunks)
        return times[times < end_s]


@dataclass(frozen=True)
class OnOff:
    """A Poisson process while the source is on, none while it is off; it stays so for exponentially
    distributed times with these means, in s."""

    on_s: float
    off_s: float

    def times(self, random: np.random.Generator, per_s: float, end_s: float) -> Array:
        """Returns the arrivals from 0 to `end_s`. At 0 the source is on with the probability of any
        other time."""
        share = self.on_s / (self.on_s + self.off_s)
        at_s = 0.0 if random.random() < share else float(random.exponential(self.off_s))
        bursts = []
        while at_s < end_s:
            on_s = float(random.exponential(self.on_s))
            count = int(random.poisson(on_s * per_s / share))
            bursts.append(at_s + np.sort(random.random(count)) * on_s)
            at_s += on_s + float(random.exponential(self.off_s))
        times = np.concatenate([*bursts, np.empty(0)])
        return times[times < end_s]


Arrivals = LogNormal | OnOff


def arrivals_at(
    random: np.random.Generator, arrivals: Arrivals, per_s: float, sources: int, count: int
) -> tuple[Array, NDArray[np.int64]]:
    """Returns the first `count` arrivals at `sources` sources together, in order: times in s, and
    the number of the source."""
    seeds = random.integers(0, 2**63, sources)
    end_s = _MORE * count / (per_s * sources)
    while True:  # the same arrivals again, and more behind them
        by_source = [arrivals.times(np.random.default_rng(seed), per_s, end_s) for seed in seeds]
        times = np.concatenate(by_source)
        if times.size >= count:
            owners = np.repeat(np.arange(sources), [drawn.size for drawn in by_source])
            order = np.argsort(times, kind="stable")[:count]
            return times[order], owners[order]
        end_s *= 2
