"""What is computed from a run. Pure functions over arrays; times in nominal seconds, ascending.

Two kinds of series occur. *Step* series hold a value from its time until the next (a flow's rate).
*Counter* series are running totals, read now and then (bytes transmitted).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_T = TypeVar("_T", np.float64, np.int64)


def distinct(values: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """Returns the values, of one dimension, in order, each once: `numpy.unique` would load masked
    arrays, which take longer than it does."""
    ordered = np.sort(values)
    differs = np.ones(ordered.shape, bool)
    differs[1:] = ordered[1:] != ordered[:-1]
    return ordered[differs]


def percentile(values: Array, q: float) -> float:
    """Returns what `numpy.percentile` does, to the bit, of one or more values without NaN; it loads
    masked arrays, too, and takes ten times as long where values are few."""
    ordered = np.sort(values)
    rank = (ordered.size - 1) * (q / 100)
    low = min(int(rank), ordered.size - 1)
    part = rank - low
    below, above = float(ordered[low]), float(ordered[min(low + 1, ordered.size - 1)])
    step = above - below
    return above - step * (1 - part) if part >= 0.5 else below + step * part


def jain(shares: Sequence[float] | Array) -> float:
    """Returns Jain's fairness index of `shares` (any unit, not negative): 1 when all are equal, 1/n
    when one has all.

    All zero counts as fair. Raises ValueError when there are none. [Jain, Chiu, Hawe 1984]
    """
    values = np.asarray(shares, dtype=float)
    if values.size == 0:
        raise ValueError("Jain's index of no flow")
    squares = float(np.sum(values**2))
    return 1.0 if squares == 0 else float(np.sum(values)) ** 2 / (values.size * squares)


def step_at(times: Array, values: Array, at: Array, before: float = 0.0) -> Array:
    """Returns the step series (`times`, `values`) at the times `at`; `before` ahead of its first
    value."""
    index = np.searchsorted(times, at, side="right") - 1
    return (
        np.where(index < 0, before, values[np.maximum(index, 0)])
        if values.size
        else np.full(at.shape, before)
    )


def step_mean(
    times: Array, values: Array, start_s: float, end_s: float, before: float = 0.0
) -> float:
    """Returns the time-weighted mean of a step series over [`start_s`, `end_s`]. Raises ValueError
    when the interval is empty."""
    if not end_s > start_s:
        raise ValueError(f"no time between {start_s} s and {end_s} s")
    inner = times[(times > start_s) & (times < end_s)]
    edges = np.concatenate(([start_s], inner, [end_s]))
    return float(
        np.sum(step_at(times, values, edges[:-1], before) * np.diff(edges)) / (end_s - start_s)
    )


def sum_steps(series: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Returns the sum of step series: (times at which any changes, their sum from then on). Each
    counts 0 before it starts."""
    if not series:
        return np.empty(0), np.empty(0)
    times = np.unique(np.concatenate([times for times, _ in series]))
    total = np.zeros(times.shape)
    for own_times, own_values in series:
        total += step_at(own_times, own_values, times)
    return times, total


def capped(series: tuple[Array, Array], limit: float) -> tuple[Array, Array]:
    """Returns a step series with no value above `limit`: what a NIC of that rate lets through."""
    return series[0], np.minimum(series[1], limit)


def first_fall(times: Array, values: Array, level: float) -> float | None:
    """Returns when a step series that was above `level` is first at or below it. 0 if it never was
    above; None if it stays."""
    above = values > level
    if not above.any():
        return 0.0
    start = int(np.argmax(above))
    below = ~above[start:]
    return float(times[start + int(np.argmax(below))]) if below.any() else None


def counter_at(times: Array, totals: Array, at: Array) -> Array:
    """Returns a counter series at the times `at`, linear between two readings, flat outside."""
    return np.interp(at, times, totals) if totals.size else np.zeros(at.shape)


def counter_rate(times: Array, totals: Array, start_s: float, end_s: float) -> float:
    """Returns the mean increase a second of a counter series over [`start_s`, `end_s`]. Raises
    ValueError when that is empty."""
    if not end_s > start_s:
        raise ValueError(f"no time between {start_s} s and {end_s} s")
    first, last = counter_at(times, totals, np.array([start_s, end_s]))
    return float(last - first) / (end_s - start_s)


def carried(
    times: Array, started: Array, bytes_per_s: Array | float, ahead: Array | float = np.inf
) -> Array:
    """Returns the bytes that a link of this rate has carried by each time, of a counter of frames
    that have started to leave: of a frame that lasts beyond a time the part until then, so that no
    share of the link is above 1.

    Shapes: `times` (n,), `started` (n,) or (n, links), `bytes_per_s` a number or (links,). `ahead`:
    the last result less what the link could have carried by then, of an earlier part of the
    series."""
    most = times * bytes_per_s if started.ndim == 1 else times[:, None] * bytes_per_s
    behind = np.minimum(started - most, ahead)
    carried_bytes: Array = np.minimum.accumulate(behind, axis=0) + most
    return carried_bytes


def utilisation(
    times: Array, total_bytes: Array, rate_bps: float, start_s: float, end_s: float
) -> float:
    """Returns the share of a link's rate that its transmitted bytes took over [`start_s`,
    `end_s`]."""
    return counter_rate(times, total_bytes, start_s, end_s) * 8 / rate_bps


def binned_rate(
    times: Array, totals: Array, bin_s: float, end_s: float, start_s: float = 0.0
) -> tuple[Array, Array]:
    """Returns the increase a second of a counter series in bins of `bin_s` from `start_s` to
    `end_s`: (starts of bins, rates)."""
    edges = np.append(np.arange(start_s, end_s - bin_s / 1e6, bin_s), end_s)
    return edges[:-1], np.diff(counter_at(times, totals, edges)) / np.diff(edges)


def binned_events(
    times: Array, totals: Array, bin_s: float, end_s: float, start_s: float = 0.0
) -> tuple[Array, Array]:
    """Returns the rate of single events in bins, shaped as `binned_rate` returns it: events counted
    between two readings count in the bin that contains the middle of that time, and aren't spread
    over two bins."""
    edges = np.append(np.arange(start_s, end_s - bin_s / 1e6, bin_s), end_s)
    middles = (times[:-1] + times[1:]) / 2
    events, _ = np.histogram(middles, edges, weights=np.diff(totals))
    return edges[:-1], events / np.diff(edges)


def binned_share(
    part: tuple[Array, Array],
    whole: tuple[Array, Array],
    bin_s: float,
    end_s: float,
    start_s: float = 0.0,
) -> tuple[Array, Array]:
    """Returns the share that the counter series `part` has in `whole`, in bins of `bin_s`. NaN
    where `whole` did not grow."""
    starts, parts = binned_rate(*part, bin_s, end_s, start_s)
    _, wholes = binned_rate(*whole, bin_s, end_s, start_s)
    moved = wholes > 0
    return starts, np.where(moved, np.minimum(parts / np.where(moved, wholes, 1.0), 1.0), np.nan)


def binned_max(times: Array, values: Array, edges: Array) -> Array:
    """Returns the largest sample in each bin between two edges; a bin without a sample holds the
    last one before it, 0 ahead of the first."""
    last = step_at(times, values, edges[:-1])
    inside = (times >= edges[0]) & (times <= edges[-1])
    bins = np.minimum(np.searchsorted(edges, times[inside], side="right") - 1, edges.size - 2)
    most = np.full(edges.size - 1, -np.inf)
    np.maximum.at(most, bins, values[inside])
    return np.where(np.isneginf(most), last, most)


def spread(values: Array) -> float:
    """Returns the width of the band that holds the middle 90% of `values`: an oscillation's size
    without its rarest extremes."""
    low, high = np.percentile(values, [5, 95])
    return float(high - low)
