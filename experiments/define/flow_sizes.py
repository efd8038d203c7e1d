"""How large flows are, in payload bytes: distributions by classes, by percentiles, of a file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pcn.base import inputs
from pcn.base.units import quantity
from pcn.experiments.data.series_math import Array

SMALLEST_BYTES, LARGEST_BYTES = 100.0, 10e6
"""Table 1's classes are open at both ends; 10 MB is where the published Hadoop distribution of its
source [44] ends."""


@dataclass(frozen=True)
class SizeClass:
    """Sizes from `low` to `high` with the mean `mean`: a bounded Pareto distribution, its exponent
    found from these."""

    low: float
    high: float
    mean: float

    @cached_property
    def exponent(self) -> float:
        """a in the density's x^(-a-1). 0 is log-uniform, -1 uniform. Raises ValueError if no a
        gives the mean."""
        if not self.low < self.mean < self.high:
            raise ValueError(
                f"a mean of {self.mean:g} B isn't between {self.low:g} and {self.high:g} B"
            )
        low, high = -500.0, 500.0
        for _ in range(200):
            middle = (low + high) / 2
            if self._mean(middle) > self.mean:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def _mean(self, a: float) -> float:
        """Returns E[x] = low * integral(r^-a) / integral(r^(-a-1)) over r from 1 to high / low."""
        span = math.log(self.high / self.low)
        # In logarithms and relative to the larger end: r^500 has no float.
        shift = max((1 - a) * span, -a * span, 0.0)
        return self.low * _power_integral(1 - a, span, shift) / _power_integral(-a, span, shift)

    def quantile(self, u: Array) -> Array:
        """Returns the size below which a share `u` of the class lies."""
        a, span = self.exponent, math.log(self.high / self.low)
        if abs(a) * span < 1e-9:
            exponents = u * span
        else:
            exponents = -np.log1p(u * np.expm1(-a * span)) / a
        sizes: Array = self.low * np.exp(exponents)
        return sizes


def _power_integral(b: float, span: float, shift: float) -> float:
    """Returns the integral of r^(b-1) over r from 1 to e^span, times e^-shift."""
    if abs(b) * span < 1e-9:
        return span * math.exp(-shift)
    return (math.exp(b * span - shift) - math.exp(-shift)) / b


@dataclass(frozen=True)
class FixedSizes:
    """Certain sizes alone, each with its share of the flows."""

    name: str
    shares: tuple[tuple[int, float], ...]

    @property
    def mean_bytes(self) -> float:
        return sum(size * share for size, share in self.shares)

    draws: ClassVar[int] = 1

    def sizes(self, drawn: Array) -> list[int]:
        sizes, shares = zip(*self.shares, strict=True)
        return [int(size) for size in np.array(sizes)[_chosen(shares, drawn[0])]]


def _chosen(shares: Sequence[float], u: Array) -> NDArray[np.int64]:
    """Returns the places that these draws choose: those of Generator.choice."""
    cumulative = np.cumsum(shares)
    return np.searchsorted(cumulative / cumulative[-1], u, side="right")


class FlowSizes(Protocol):
    """A distribution of flow sizes, in bytes. `draws`: how many random numbers a size needs."""

    draws: ClassVar[int]

    @property
    def name(self) -> str: ...

    @property
    def mean_bytes(self) -> float: ...

    def sizes(self, drawn: Array) -> list[int]:
        """Returns a size a column of `drawn`, which has `draws` rows of numbers from 0 to 1; in
        whole bytes."""


def sample(sizes: FlowSizes, random: np.random.Generator, count: int) -> list[int]:
    """Draws `count` sizes, in whole bytes."""
    return sizes.sizes(random.random((sizes.draws, count)))


@dataclass(frozen=True)
class ClassSizes:
    """A share of the flows is in each class."""

    name: str
    shares: tuple[float, ...]
    classes: tuple[SizeClass, ...]

    @property
    def mean_bytes(self) -> float:
        return sum(
            share * size_class.mean
            for share, size_class in zip(self.shares, self.classes, strict=True)
        )

    draws: ClassVar[int] = 2

    def sizes(self, drawn: Array) -> list[int]:
        chosen, u = _chosen(self.shares, drawn[0]), drawn[1]
        sizes = np.empty(u.size)
        for index, size_class in enumerate(self.classes):
            sizes[chosen == index] = size_class.quantile(u[chosen == index])
        whole: list[int] = np.rint(sizes).astype(np.int64).tolist()
        return whole


@dataclass(frozen=True)
class CdfSizes:
    """By percentiles, between which sizes are uniform. `points`: a size, and the share of the flows
    up to it.

    Raises ValueError where they make no distribution.
    """

    name: str
    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        sizes, shares = zip(*self.points, strict=True) if self.points else ((), ())
        if len(sizes) < 2 or shares[0] != 0 or shares[-1] != 1:
            raise ValueError(f"{self.name}: shares must begin with 0 and end with 1")
        if min(sizes) < 0 or any(b < a for a, b in (*pairwise(sizes), *pairwise(shares))):
            raise ValueError(f"{self.name}: neither sizes nor shares may fall")

    @property
    def mean_bytes(self) -> float:
        return sum((b - a) * (low + high) / 2 for (low, a), (high, b) in pairwise(self.points))

    draws: ClassVar[int] = 1

    def sizes(self, drawn: Array) -> list[int]:
        sizes, shares = np.array(self.points).T
        return [max(1, round(size)) for size in np.interp(drawn[0], shares, sizes).tolist()]


_WHOLE = (100.0, 1.0, 1000.0)
"""Shares end with: percent, fractions or per mille."""


def read_cdf(path: Path) -> CdfSizes:
    """Returns a file of lines `SIZE SHARE`, as traffic generators have them: bytes, or with a unit
    (`64KB`); shares in percent, as fractions or per mille, which the last one decides; `,` between
    them or not; `#` begins a comment, and the first line may be a header of words. Raises
    ValueError that names the file, and the line."""
    points: list[tuple[float, float]] = []
    numbers: list[int] = []
    try:
        lines = inputs.read_text(path).splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: this is no text in UTF-8: {error}") from None
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words or (not points and not re.search("[0-9]", line)):
            continue
        if len(words) != 2:
            raise ValueError(
                f"{path}:{number}: a size in bytes and a share are needed, not {' '.join(words)!r}"
            )
        size, share = words
        try:
            points.append(
                (quantity("size", size, si=True), quantity("number", share.removesuffix("%")))
            )
        except ValueError as error:
            raise ValueError(
                f"{path}:{number}: a size in bytes and a share are needed: {error}"
            ) from None
        numbers.append(number)
        if len(points) > 1 and not (
            points[-2][0] <= points[-1][0] and points[-2][1] <= points[-1][1]
        ):
            raise ValueError(
                f"{path}:{number}: {line.strip()[:40]!r}: neither sizes nor shares may fall"
            )
    if not points:
        raise ValueError(f"{path}: no line SIZE SHARE")
    for at, verb, right in ((0, "begins", (0.0,)), (-1, "ends", _WHOLE)):
        if (ends_with := points[at][1]) not in right:
            text = f"{verb} with {ends_with:g}: shares begin with 0 and end with 100, 1 or 1,000"
            raise ValueError(f"{path}:{numbers[at]}: {text}")
    try:
        return CdfSizes(path.stem, tuple((size, share / points[-1][1]) for size, share in points))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def from_table(name: str, number: Sequence[float], traffic: Sequence[float]) -> ClassSizes:
    """Returns the distribution with Table 1's shares by number and by traffic (percent; they
    needn't add up to 100 exactly).

    The shares fix each class's mean up to one factor, the mean of all. It is bounded by the
    classes' ends: its value is the geometric mean of these bounds. Raises ValueError where the
    table leaves none.
    """
    ends = (SMALLEST_BYTES, 10e3, 100e3, 1e6, LARGEST_BYTES)
    shares = [share / sum(number) for share in number]
    ratios = [part / sum(traffic) / share for part, share in zip(traffic, shares, strict=True)]
    least = max(low / ratio for low, ratio in zip(ends, ratios, strict=False))
    most = min(high / ratio for high, ratio in zip(ends[1:], ratios, strict=True))
    if not least < most:
        raise ValueError(f"{name}: shares by number and by traffic contradict each other")
    mean = math.sqrt(least * most)
    classes = [
        SizeClass(low, high, mean * ratio)
        for low, high, ratio in zip(ends, ends[1:], ratios, strict=False)
    ]
    return ClassSizes(name, tuple(shares), tuple(classes))


W1 = from_table("W1", (80.14, 10.32, 9.12, 0.41), (3.08, 5.89, 83.8, 7.04))
"""Web-server rack at Facebook. [Table 1]"""
W2 = from_table("W2", (70.79, 16.59, 3.52, 9.1), (0.22, 1.56, 1.53, 96.7))
"""Hadoop cluster at Facebook. [Table 1]"""
HADOOP = CdfSizes("Hadoop", (
    (0, 0), (100, 0.01), (200, 0.02), (300, 0.05), (350, 0.15), (400, 0.2), (500, 0.3), (600, 0.4),
    (700, 0.5),
    (1e3, 0.6), (2e3, 0.67), (7e3, 0.7), (30e3, 0.72), (50e3, 0.82), (80e3, 0.87), (120e3, 0.9),
    (300e3, 0.95),
    (1e6, 0.975), (2e6, 0.99), (10e6, 1),
))  # fmt: skip
"""Hadoop at Facebook, by the percentiles that HPCC's authors publish with their simulator;
SIGCOMM'21's names one, 90% below 120 KB."""
WEB_SEARCH = CdfSizes("WebSearch", (
    (0, 0), (10e3, 0.15), (20e3, 0.2), (30e3, 0.3), (50e3, 0.4), (80e3, 0.53), (200e3, 0.6), (1e6,
    0.7), (2e6, 0.8),
    (5e6, 0.9), (10e6, 0.97), (30e6, 1),
))  # fmt: skip
"""Web search (DCTCP), likewise; SIGCOMM'21: 90% below 5 MB."""
