"""Charts over bins of flow sizes: each bin has as much room on an axis as others. Curves of figures (`p95 slowdown by
size`) have bins of equally many flows, as HPCC's have."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.define.charts import Chart, Line

BY_SIZE = " by size"
FLOWS = f"flows{BY_SIZE}"
"""How many a bin has, over its largest size."""
SHOWN = ("p50", "p95", "p99")
"""HPCC's columns."""
_LABELS = 7
"""Sizes that an axis names at most."""
_X = "Flows up to (bins of equally many flows)"


def charts(lines: Mapping[str, Sequence[Line]]) -> list[Chart]:
    """Returns the slowdown of several runs: a chart a percentile, by name of its curve in `SHOWN`, with a line each."""
    made = []
    for name, own in lines.items():
        if any(line.x.size for line in own):
            limits = [float(x) for x in max(own, key=lambda line: line.x.size).x]
            by_order = [_by_order(line, limits) for line in own]
            made += on_bins([(f"Slowdown, {name[1:]}%", by_order)], limits, _X, 3)
    return made


def on_bins(
    titled: Sequence[tuple[str, Sequence[Line]]], limits: Sequence[float], x_label: str, columns: int
) -> list[Chart]:
    """Returns a chart of the slowdown for each title whose lines have points. Their x are some of `limits`, the largest
    sizes of the bins."""
    places = {limit: number for number, limit in enumerate(limits)}
    every = max(1, -(-len(limits) // _LABELS))
    ticks = [_size(limit) if number % every == 0 else "" for number, limit in enumerate(limits)]
    return [
        Chart(
            title,
            x_label,
            "Slowdown",
            [replace(line, x=np.array([places[x] for x in line.x.tolist()], float), points=True) for line in lines],
            ticks=ticks,
            bins=ranges(limits),
            columns=columns,
        )
        for title, lines in titled
        if any(line.x.size for line in lines)
    ]


def _by_order(line: Line, limits: Sequence[float]) -> Line:
    """Returns the line over these bins: where its own differ, by their order."""
    return line if set(line.x.tolist()) <= set(limits) else replace(line, x=np.array(limits[: line.x.size]))


def ranges(limits: Sequence[float]) -> list[str]:
    """Returns bins by both of their ends, of their largest sizes."""
    sizes = [size_text(limit) for limit in limits]
    return [
        *(f"up to {size}" for size in sizes[:1]),
        *(f"above {low}, up to {high}" for low, high in itertools.pairwise(sizes)),
    ]


def size_text(size: float) -> str:
    """Returns a number of bytes for people: 12.3 KB."""
    scale, unit = next(((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= s), (1.0, "B"))
    return f"{size / scale:.4g} {unit}"


def _size(size: float) -> str:
    """Returns a number of bytes on an axis: 12 KB."""
    scale, unit = next(((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= s), (1.0, "B"))
    return f"{size / scale:.2g} {unit}" if size / scale < 100 else f"{size / scale:.0f} {unit}"
