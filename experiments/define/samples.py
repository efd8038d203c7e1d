"""Flows by size, of one run or of several seeds together: what a run keeps of its flows, and
statistics of these.

Bins are of the distribution of sizes, so that they are the same in all runs of a workload; groups
of flows (drawn ones, in-casts, a collective operation's) are apart. Flows of all seeds are pooled:
a percentile is that of all of them, and its interval is the bootstrap's over seeds
(`pcn.experiments.define.intervals`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data import series_math
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import intervals
from pcn.experiments.define.intervals import Interval

MEAN, PERCENTILES = "mean", (50, 95, 99, 99.9)
STATISTICS = (MEAN, *(f"p{q:g}" for q in PERCENTILES))
UNITS = {"ms": "completion time (ms)", "slowdown": "slowdown"}
BINS = 20
"""How many a distribution has at most."""
MOST, _TOP = 512, 128
"""Values that a run keeps of a bin at most, and how many of more flows it keeps as they are: the
largest. Of the others it keeps means of equally many neighbours: their mean stays, and a percentile
moves within a part."""
_POINTS = 200
"""Of a distribution of completion times."""
_MOST_FLOWS = 1 << 26


def needed(statistic: str) -> int:
    """Returns how many flows a statistic needs: a percentile as many as leave one beyond it."""
    return 1 if statistic == MEAN else math.ceil(100 / (100 - float(statistic[1:])) - 1e-9)


def too_few(name: str, runs: Iterable[Mapping[str, float | None]]) -> str:
    """Returns that the runs, by their numbers, have too few flows for a percentile, as `p99_ms S`;
    empty where that is no reason."""
    statistic, _, of = name.partition(" ")
    percentile = statistic.partition("_")[0]
    fewest = min(numbers.get(f"flows {of}") or 0.0 for numbers in runs)
    least = needed(percentile) if re.fullmatch(r"p[0-9.]+", percentile) else 1
    few = 0 < fewest < least
    return f"too few flows: {fewest:,.0f} in a run, {least:,} needed" if few else ""


def limits_of(sizes: Iterable[float]) -> tuple[float, ...]:
    """Returns the largest size of each bin: sizes themselves where there are few, else those that
    equal shares don't exceed, rounded up to two digits."""
    values = np.sort(np.array(list(sizes), float))
    different = series_math.distinct(values)
    if different.size <= BINS:
        return tuple(different.tolist())
    # numpy's percentile by "inverted_cdf"
    places = np.ceil(values.size * (np.arange(1, BINS + 1) * 100 / BINS / 100) - 1)
    shares = values[np.maximum(places, 0).astype(np.int64)]
    return tuple(sorted({_rounded_up(size) for size in shares.tolist()}))


def _rounded_up(size: float) -> float:
    step = 10.0 ** (math.floor(math.log10(size)) - 1) if size >= 100 else 1.0
    return math.ceil(size / step - 1e-9) * step


@dataclass(frozen=True)
class Samples:
    """Flows of a group in one run, by bin: the largest size in bytes, how many there are, how many
    of them haven't arrived; by unit the sorted values of those that have (see MOST)."""

    limits: tuple[float, ...]
    flows: tuple[int, ...]
    unfinished: tuple[int, ...]
    values: Mapping[str, tuple[Array, ...]]

    @classmethod
    def of(cls, limits: Sequence[float], sizes: Array, units: Mapping[str, Array]) -> Samples:
        """Returns samples: `sizes` in bytes; `units`: values of each flow, NaN where it hasn't
        arrived."""
        which = np.minimum(np.searchsorted(np.array(limits), sizes), len(limits) - 1)
        masks = [which == number for number in range(len(limits))]
        missing = np.isnan(next(iter(units.values())))
        return cls(
            tuple(map(float, limits)),
            tuple(int(mask.sum()) for mask in masks),
            tuple(int((mask & missing).sum()) for mask in masks),
            {
                unit: tuple(_reduced(values[mask & ~missing]) for mask in masks)
                for unit, values in units.items()
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Returns JSON's terms; values as base64 of little-endian float32, of one bin after the
        other."""
        values = {
            unit: base64.b64encode(
                np.concatenate([*bins, np.empty(0)]).astype("<f4").tobytes()
            ).decode()
            for unit, bins in self.values.items()
        }
        counts = {"flows": list(self.flows), "unfinished": list(self.unfinished)}
        return {"limits": list(self.limits), **counts, "values": values}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Samples:
        """Reads what `to_json` made, from a file. Raises ValueError and others where it is
        something else."""
        limits = [float(limit) for limit in document["limits"] if type(limit) in (int, float)]
        flows, unfinished = document["flows"], document["unfinished"]
        counts = [*flows, *unfinished]
        if not all(type(count) is int and 0 <= count <= _MOST_FLOWS for count in counts):
            raise ValueError("a bin's flows are no counts")
        if not len(limits) == len(flows) == len(unfinished) == len(document["limits"]) <= 10 * BINS:
            raise ValueError("bins of flow sizes don't fit together")
        if not all(a < b for a, b in pairwise(limits)) or not all(map(math.isfinite, limits)):
            raise ValueError("bins of flow sizes are in no order")
        if set(document["values"]) != set(UNITS) or any(
            b > a for a, b in zip(flows, unfinished, strict=True)
        ):
            raise ValueError("flows by size have no such values")
        lengths = [min(MOST, all_of - left) for all_of, left in zip(flows, unfinished, strict=True)]
        ends = np.cumsum([0, *lengths])
        values = {}
        for unit, text in document["values"].items():
            try:
                numbers = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(float)
            except binascii.Error as error:
                raise ValueError(f"flows by size: {error}") from None
            if numbers.size != ends[-1] or not (np.abs(numbers) < 1e30).all():
                raise ValueError("flows by size have other values than flows")
            values[unit] = tuple(np.sort(numbers[a:b]) for a, b in pairwise(ends))
        return cls(tuple(limits), tuple(flows), tuple(unfinished), values)


def _reduced(values: Array) -> Array:
    """Returns at most MOST values, sorted; `_weights` has how many flows each is for."""
    ordered: Array = np.sort(values)
    if ordered.size <= MOST:
        return ordered
    weights = _weights(ordered.size)[: MOST - _TOP]
    starts = np.cumsum(weights) - weights
    low: Array = np.add.reduceat(ordered[: ordered.size - _TOP], starts) / weights
    return np.concatenate([low, ordered[-_TOP:]])


def _weights(flows: int) -> NDArray[np.int64]:
    if flows <= MOST:
        return np.ones(flows, np.int64)
    parts = MOST - _TOP
    edges = np.arange(parts + 1) * (flows - _TOP) // parts
    return np.concatenate([np.diff(edges), np.ones(_TOP, np.int64)])


@dataclass(frozen=True)
class RunSamples:
    """What a run keeps of its flows: by group, and a digest of their ends, sizes and starts. Empty
    of an experiment that keeps none."""

    digest: str = ""
    groups: Mapping[str, Samples] = field(default_factory=dict)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RunSamples:
        """Reads what `to_json` made. Raises ValueError and others where it is something else."""
        if not document:
            return cls()
        if not isinstance(document["digest"], str):
            raise ValueError("the flows' digest is no text")
        return cls(
            document["digest"],
            {_name(name): Samples.from_json(group) for name, group in document["groups"].items()},
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "groups": {name: group.to_json() for name, group in self.groups.items()},
        }


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable():
        raise ValueError(f"{name!r} is no name of a group")
    return name


def digest(rows: Iterable[tuple[object, ...]]) -> str:
    """Returns a digest (16 hex digits) of flows."""
    return hashlib.sha256("".join(map(repr, rows)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Estimate:
    """A statistic of pooled flows. `interval`: None of one seed, and where a seed has too few flows
    by itself for its least and largest."""

    value: float
    interval: Interval | None


class Pooled:
    """Flows of a group in runs of several seeds, which have the same bins. Raises ValueError where
    they haven't."""

    def __init__(self, runs: Sequence[Samples]) -> None:
        if len({run.limits for run in runs}) != 1:
            raise ValueError("runs with other bins of flow sizes")
        self.runs = tuple(runs)
        self.limits = runs[0].limits

    @property
    def seeds(self) -> int:
        return len(self.runs)

    def flows(self, place: int | None = None) -> int:
        """Returns how many flows all seeds have, in a bin or in all."""
        return sum(self._counts(place))

    def unfinished(self, place: int | None = None) -> int:
        return sum(
            sum(run.unfinished) if place is None else run.unfinished[place] for run in self.runs
        )

    def estimate(self, unit: str, statistic: str, place: int | None = None) -> Estimate | None:
        """Returns a statistic of a bin, or of all flows. None where a flow hasn't arrived, since
        the others are the faster ones, and where there are too few."""
        if self.flows(place) < needed(statistic) or self.unfinished(place):
            return None
        merged = self._merged(unit, place)
        ones = np.ones((1, self.seeds), np.int64)
        value = float(merged.statistic(statistic, ones)[0])
        return Estimate(value, self._interval(merged, statistic, place))

    def _interval(self, merged: _Merged, statistic: str, place: int | None) -> Interval | None:
        if self.seeds < 2:
            return None
        if self.seeds >= intervals.FEWEST:
            drawn = intervals.draws(self.seeds)
            drawn = drawn[drawn @ np.array(self._counts(place)) >= 1]
            return intervals.of_draws(merged.statistic(statistic, drawn))
        if min(self._counts(place)) < needed(statistic):
            return None
        by_seed = merged.statistic(statistic, np.eye(self.seeds, dtype=np.int64))
        return Interval(float(by_seed.min()), float(by_seed.max()), False)

    def distribution(self, unit: str) -> tuple[list[float], list[float]]:
        """Returns values, and the share of all flows in percent that don't exceed them."""
        merged, every = self._merged(unit, None), self.flows()
        total = every - self.unfinished()
        if not total:
            return [], []
        ranks = series_math.distinct(
            np.minimum(np.linspace(0, total, _POINTS + 1).astype(np.int64), total - 1)
        )
        values = merged.at(np.ones((1, self.seeds), np.int64), ranks)
        return values.tolist(), ((ranks + 1) / every * 100).tolist()

    def _counts(self, place: int | None) -> list[int]:
        return [sum(run.flows) if place is None else run.flows[place] for run in self.runs]

    def _merged(self, unit: str, place: int | None) -> _Merged:
        if (unit, place) not in self._cache:
            places = range(len(self.limits)) if place is None else (place,)
            parts = [
                (seed, run.values[unit][bin_], _weights(run.flows[bin_] - run.unfinished[bin_]))
                for seed, run in enumerate(self.runs)
                for bin_ in places
            ]
            values = np.concatenate([values for _, values, _ in parts])
            weights = np.concatenate([weights for *_, weights in parts])
            seeds = np.concatenate([np.full(values.size, seed) for seed, values, _ in parts])
            self._cache[unit, place] = _Merged(values, weights, seeds, self.seeds)
        return self._cache[unit, place]

    @cached_property
    def _cache(self) -> dict[tuple[str, int | None], _Merged]:
        return {}


class _Merged:
    """Values of all seeds in one order. A draw has each seed some number of times: a row of
    `times`."""

    def __init__(
        self, values: Array, weights: NDArray[np.int64], seeds: NDArray[np.int64], count: int
    ) -> None:
        order = np.argsort(values, kind="stable")
        self._values = values[order]
        by_seed = np.where(seeds[order][:, None] == np.arange(count), weights[order][:, None], 0)
        self._below = np.cumsum(by_seed, axis=0)
        """How many flows of each seed a value and those before it are for."""
        self._sums = (by_seed * self._values[:, None]).sum(axis=0)

    def statistic(self, name: str, times: NDArray[np.int64]) -> Array:
        """Returns a statistic of each draw, which has a flow at least. A percentile is between
        flows as numpy's is."""
        total = times @ self._below[-1]
        if name == MEAN:
            return np.asarray(times @ self._sums / total)
        rank = (total - 1) * (float(name[1:]) / 100)
        low = np.floor(rank).astype(np.int64)
        below, above = self.at(times, low), self.at(times, np.minimum(low + 1, total - 1))
        return np.asarray(below + (above - below) * (rank - low))

    def at(self, times: NDArray[np.int64], rank: NDArray[np.int64]) -> Array:
        """Returns the value of the flow of a rank, from 0 on, which halving finds: one rank in each
        draw, or any number of them in a single one."""
        if len(times) == 1:
            before = self._below @ times[0]
            return np.asarray(self._values[np.searchsorted(before, rank, side="right")])
        first, last = np.zeros(rank.size, np.int64), np.full(rank.size, self._values.size - 1)
        while (first < last).any():
            middle = (first + last) // 2
            enough = (times * self._below[middle]).sum(axis=1) > rank
            first, last = np.where(enough, first, middle + 1), np.where(enough, middle, last)
        drawn: Array = self._values[first]
        return drawn


def caption(pooled: Mapping[str, Pooled]) -> str:
    """Returns how many seeds and flows there are, of each run or group of runs by its name."""
    texts = {name: _counted(group) for name, group in pooled.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values())) + (" each" if len(texts) > 1 else "")
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


def _counted(group: Pooled) -> str:
    unfinished = group.unfinished()
    return (
        f"{group.seeds} seed{'s' * (group.seeds > 1)}, {group.flows():,} "
        f"flow{'s' * (group.flows() != 1)}" + f", {unfinished:,} unfinished" * bool(unfinished)
    )


def interval_note(seeds: Iterable[int]) -> str:
    """Returns what intervals are, of groups with these numbers of seeds; empty: there are none."""
    several = [count for count in seeds if count > 1]
    notes = []
    if any(count >= intervals.FEWEST for count in several):
        notes.append(f"95% intervals by bootstrap over the seeds ({intervals.DRAWS:,} draws)")
    if few := sorted({count for count in several if count < intervals.FEWEST}):
        notes.append(f"least and largest of {' or '.join(map(str, few))} seeds, no 95% interval")
    return "; ".join(notes)
