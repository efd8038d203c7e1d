"""Charts over bins of flow sizes: each bin has as much room on an axis as others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.define.charts import Chart, Line

SHOWN = ("p50", "p95", "p99")
"""HPCC's columns."""
_LABELS = 7
"""Sizes that an axis names at most."""


def on_bins(
    titled: Sequence[tuple[str, Sequence[Line]]],
    limits: Sequence[float],
    x_label: str,
    columns: int,
) -> list[Chart]:
    """Returns a chart of the slowdown for each title whose lines have points. Their x are some of
    `limits`, the largest sizes of the bins."""
    places = {limit: number for number, limit in enumerate(limits)}
    every = max(1, -(-len(limits) // _LABELS))
    ticks = [_size(limit) if number % every == 0 else "" for number, limit in enumerate(limits)]
    return [
        Chart(
            title,
            x_label,
            "Slowdown",
            [
                replace(line, x=np.array([places[x] for x in line.x.tolist()], float), points=True)
                for line in lines
            ],
            ticks=ticks,
            bins=ranges(limits),
            columns=columns,
        )
        for title, lines in titled
        if any(line.x.size for line in lines)
    ]


def ranges(limits: Sequence[float]) -> list[str]:
    """Returns bins by both of their ends, of their largest sizes."""
    sizes = [size_text(limit) for limit in limits]
    return [
        *(f"up to {size}" for size in sizes[:1]),
        *(f"above {low}, up to {high}" for low, high in itertools.pairwise(sizes)),
    ]


def size_text(size: float) -> str:
    """Returns a number of bytes for people: 12.3 KB."""
    scale, unit = next(
        ((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= s), (1.0, "B")
    )
    return f"{size / scale:.4g} {unit}"


def _size(size: float) -> str:
    """Returns a number of bytes on an axis: 12 KB."""
    scale, unit = next(
        ((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= s), (1.0, "B")
    )
    return f"{size / scale:.2g} {unit}" if size / scale < 100 else f"{size / scale:.0f} {unit}"
