"""How sure a value over several seeds is: 95% intervals, and differences of two groups of runs.

A run is the unit: flows of one run meet each other, so they are no sample of independent ones. The
bootstrap draws seeds, each with all of its flows (Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, 8.5).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.series_math import Array

DRAWS, FEWEST = 2000, 5
"""Of the bootstrap; the seeds that it needs."""
_SEED = 1
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
    2.042,
)  # fmt: skip
"""Student's t: 97.5% quantiles for 1 to 30 degrees of freedom, rounded; the last one for more,
which is on the safe side."""


@dataclass(frozen=True)
class Interval:
    """From the 2.5% to the 97.5% quantile of the bootstrap over seeds; of fewer than FEWEST seeds
    (`bootstrap` is false) from the least to the largest of theirs."""

    low: float
    high: float
    bootstrap: bool

    @property
    def is_point(self) -> bool:
        """Whether it has no width: means of equal values differ in their last digit at most."""
        return math.isclose(self.low, self.high, rel_tol=1e-12)


@dataclass(frozen=True)
class Difference:
    """Of the mean over seeds of one group of runs from that of another, with its 95% interval by a
    t-test. `paired`: by the differences seed by seed; else Welch's."""

    value: float
    low: float
    high: float
    paired: bool
    p: float | None
    """How likely one as large would be by chance alone. None where each group has one value in all
    of its seeds: there was no chance in it, so no test, and the interval has no width."""

    @property
    def beyond(self) -> bool:
        """Whether a test has it as more than the seeds make likely."""
        return self.p is not None and (self.low > 0 or self.high < 0)


def is_constant(values: Sequence[float]) -> bool:
    """Returns whether all seeds have the same value."""
    return len(set(values)) <= 1


@lru_cache(maxsize=16)
def draws(seeds: int) -> NDArray[np.int64]:
    """Returns how often each seed is in each draw, a row a draw; the same ones in each process."""
    random = np.random.default_rng(_SEED)
    chosen = random.integers(seeds, size=(DRAWS, seeds))
    return np.stack([(chosen == number).sum(axis=1) for number in range(seeds)], axis=1)


def of_draws(values: Array) -> Interval:
    """Returns the interval of a statistic's values in the draws."""
    low, high = np.percentile(values, (2.5, 97.5))
    return Interval(float(low), float(high), True)


def of_mean(values: Sequence[float]) -> Interval | None:
    """Returns the interval of the mean of values, one a seed; None of one."""
    if len(values) < 2:
        return None
    if len(values) < FEWEST:
        return Interval(min(values), max(values), False)
    return of_draws(draws(len(values)) @ np.array(values, float) / len(values))


def difference(first: Sequence[float], second: Sequence[float], paired: bool) -> Difference | None:
    """Returns by how much the second values' mean is larger. `paired`: values of one place belong
    together. None where a group has one value. Of two groups without any spread nothing is
    tested."""
    if len(first) < 2 or len(second) < 2:
        return None
    if is_constant(first) and is_constant(second):
        value = second[0] - first[0]
        return Difference(value, value, value, paired, None)
    value = statistics.fmean(second) - statistics.fmean(first)
    if paired:
        differences = [b - a for a, b in zip(first, second, strict=True)]
        variance, freedom = (
            statistics.variance(differences) / len(differences),
            float(len(differences) - 1),
        )
    else:
        parts = [statistics.variance(sample) / len(sample) for sample in (first, second)]
        variance = sum(parts)
        below = sum(
            part**2 / (len(sample) - 1) for part, sample in zip(parts, (first, second), strict=True)
        )
        freedom = variance**2 / below if below else 1.0
    half = _T[min(int(freedom), len(_T)) - 1] * math.sqrt(variance)
    error = math.sqrt(variance)
    p = chance(value / error, int(freedom)) if error else float(value == 0)
    return Difference(value, value - half, value + half, paired, p)


def chance(t: float, freedom: int) -> float:
    """Returns how likely Student's t of whole degrees of freedom is as far from 0 as `t`, on either
    side: finite sums (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3, .4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(angle) ** 2
    odd = freedom % 2
    # cos, 2/3 cos^3, 2*4/(3*5) cos^5 ... of odd ones; 1, 1/2 cos^2, 1*3/(2*4) cos^4 ... of even
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for number in range(1 + odd, freedom, 2):
        total += term
        term *= cosine2 * number / (number + 1)
    within = math.sin(angle) * total
    return max(1 - abs(2 / math.pi * (angle + within) if odd else within), 0.0)


def holm(chances: Sequence[float], level: float = 0.05) -> list[bool]:
    """Returns which of several tests hold at a level that is for all of them together, whether they
    depend on each other or not (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    holds = [False] * len(chances)
    for place, number in enumerate(order):
        if chances[number] > level / (len(chances) - place):
            break
        holds[number] = True
    return holds
