"""What a run keeps by bins of flow sizes (curves named `p95 slowdown by size`): as numbers by bin, and as charts.

Bins have equally many flows each, as in HPCC's figures: small flows have as much room on an axis as large ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.outcomes import Curve

BY_SIZE = " by size"
FLOWS = f"flows{BY_SIZE}"
"""How many a bin has, over its largest size."""
SHOWN = ("p50", "p95", "p99")
"""HPCC's columns."""
_LABELS = 7
"""Sizes that an axis names at most."""
_X = "Flows up to (bins of equally many flows)"


def by_bin(curves: Mapping[str, Curve]) -> dict[str, float]:
    """Returns the numbers of each bin by name, as `p95_slowdown bin 3`; `bytes bin 3` is the bin's largest size. A bin
    with a flow that hasn't arrived has counts alone."""
    limits, _ = curves.get(FLOWS, ([], []))
    found = {f"bytes bin {number}": limit for number, limit in enumerate(limits, start=1)}
    for name, (x, y) in curves.items():
        if name.endswith(BY_SIZE):
            values = dict(zip(x, y, strict=True))
            what = name.removesuffix(BY_SIZE).replace(" ", "_")
            known = [(number, limit) for number, limit in enumerate(limits, start=1) if limit in values]
            found |= {f"{what} bin {number}": values[limit] for number, limit in known}
    return found


def one_chart(curves: Mapping[str, Curve]) -> list[Chart]:
    """Returns the slowdown of one run: a line a percentile."""
    lines = [curve(f"{name[1:]}%", *found) for name in SHOWN if (found := curves.get(f"{name} slowdown{BY_SIZE}"))]
    return _charts([("Slowdown", lines)], 1)


def charts(lines: Mapping[str, Sequence[Line]]) -> list[Chart]:
    """Returns the slowdown of several runs: a chart a percentile, by name of its curve in `SHOWN`, with a line each."""
    return _charts([(f"Slowdown, {name[1:]}%", own) for name, own in lines.items()], 3)


def _charts(titled: Sequence[tuple[str, Sequence[Line]]], columns: int) -> list[Chart]:
    made = []
    for title, lines in titled:
        if any(line.x.size for line in lines):
            limits = [float(x) for x in max(lines, key=lambda line: line.x.size).x]
            places = {limit: number for number, limit in enumerate(limits)}
            every = max(1, -(-len(limits) // _LABELS))
            ticks = [_size(limit) if number % every == 0 else "" for number, limit in enumerate(limits)]
            own = [_at(line, places) for line in lines]
            made.append(Chart(title, _X, "Slowdown", own, ticks=ticks, columns=columns))
    return made


def _at(line: Line, places: Mapping[float, int]) -> Line:
    """Returns the line by the number of the bin: where bins differ, by their order."""
    same = all(x in places for x in line.x)
    x = [float(places[value]) for value in line.x] if same else [float(number) for number in range(line.x.size)]
    return curve(line.label, x, list(line.y), line.scheme, points=True)


def _size(size: float) -> str:
    """Returns a number of bytes on an axis: 12 KB."""
    scale, unit = next(((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= s), (1.0, "B"))
    return f"{size / scale:.2g} {unit}" if size / scale < 100 else f"{size / scale:.0f} {unit}"
