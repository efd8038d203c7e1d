"""Curves of groups over each other, as charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from experiments.compare.groups import Group
from experiments.define.charts import Chart, Line, curve
from experiments.results.over_time import PAUSE, QUEUE

_LABELS = 7
"""Sizes that an axis names at most."""


def figures(groups: Sequence[Group]) -> Mapping[str, list[Chart]]:
    """By the picture's name; without those of which no group has a curve."""
    found = {
        "slowdown": list(_slowdown(groups)),
        "completion": list(_completion(groups)),
        "over_time": list(_over_time(groups)),
    }
    return {name: charts for name, charts in found.items() if charts}


def _lines(groups: Sequence[Group], name: str) -> list[Line]:
    """Of a scheme's look where each group has another scheme."""
    schemes = [group.scheme for group in groups]
    alone = len(set(schemes)) == len(schemes)
    found = []
    for group in groups:
        if (one := group.curve(name)) is not None:
            found.append(curve(group.name, *one, group.scheme if alone else group.name))
    return found


def _slowdown(groups: Sequence[Group]) -> Iterator[Chart]:
    """Over bins of equally many flows, as HPCC's figures have it: small flows have as much room as large ones."""
    for name in ("p50", "p95", "p99"):
        lines = _lines(groups, f"{name} slowdown by size")
        if not lines:
            continue
        limits = [float(x) for x in max(lines, key=lambda line: line.x.size).x]
        places = {limit: number for number, limit in enumerate(limits)}
        every = max(1, -(-len(limits) // _LABELS))
        ticks = [_size(limit) if number % every == 0 else "" for number, limit in enumerate(limits)]
        yield Chart(
            f"Slowdown, {name.removeprefix('p')}%",
            "Flows up to (bins of equally many flows)",
            "Slowdown",
            [_at(line, places) for line in lines],
            ticks=ticks,
            columns=3,
        )


def _at(line: Line, places: Mapping[float, int]) -> Line:
    """By the number of the bin: where bins differ, by their order."""
    same = all(x in places for x in line.x)
    x = [float(places[value]) for value in line.x] if same else [float(number) for number in range(line.x.size)]
    return curve(line.label, x, list(line.y), line.scheme, points=True)


def _size(size: float) -> str:
    scale, unit = next(((s, u) for s, u in ((1e9, "G"), (1e6, "M"), (1e3, "K")) if size >= s), (1.0, ""))
    return f"{size / scale:.2g}{unit}" if size / scale < 100 else f"{size / scale:.0f}{unit}"


def _completion(groups: Sequence[Group]) -> Iterator[Chart]:
    if lines := _lines(groups, "completion time"):
        yield Chart("Completion times", "Completion time (ms)", "Flows (%)", lines, log_x=True, columns=1)


def _over_time(groups: Sequence[Group]) -> Iterator[Chart]:
    for name, title, unit in ((QUEUE, "Largest queue", "KB"), (PAUSE, "PAUSE", "frames a ms")):
        lines = [line for line in _lines(groups, name) if line.y.any()]
        if lines:
            yield Chart(title, "Time (ms)", f"{title} ({unit})", lines)
