"""Curves of groups over each other, as charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pcn.experiments.compare.groups import Group
from pcn.experiments.define import flows_by_size
from pcn.experiments.define.charts import Chart, Line
from pcn.experiments.define.samples import interval_note
from pcn.experiments.results.over_time import PAUSE, QUEUE

OVER_TIME = "over_time"
_LITTLE, _ROOM = 0.01, 1.1
_MOST = 0.8
"""A share of the highest value, after which nothing happens any more; how much more is shown; the
share of the time from which all of it is."""


def shown_ms(charts: Sequence[Chart]) -> tuple[float, float] | tuple[()]:
    """Returns the part of the time in which something happens: runs are of other lengths, and some
    begin long before the others. Empty where that is nearly all."""
    lines = [line for chart in charts for line in chart.lines if line.x.size]
    if not lines:
        return ()
    first, last = min(line.x[0] for line in lines), max(line.x[-1] for line in lines)
    start = max(line.x[0] for line in lines)
    ends = [
        float(line.x[line.y > _LITTLE * max(peer.y.max() for peer in chart.lines)][-1])
        for chart in charts
        for line in chart.lines
        if line.x.size and (line.y > _LITTLE * max(peer.y.max() for peer in chart.lines)).any()
    ]
    end = min(start + _ROOM * (max(ends, default=last) - start), last)
    return (float(start), float(end)) if start < end < first + _MOST * (last - first) else ()


def figures(groups: Sequence[Group]) -> Mapping[str, list[Chart]]:
    """Returns charts by the picture's name; without those of which no group has a curve."""
    looks = _looks(groups)
    by_group = flows_by_size.pooled({group.name: group.samples for group in groups})
    slowdown = [
        replace(
            chart,
            lines=[
                replace(line, scheme=looks.get(line.scheme, line.scheme)) for line in chart.lines
            ],
        )
        for chart in flows_by_size.charts(by_group)
    ]
    chart_lists = {
        "slowdown": slowdown,
        "completion": flows_by_size.completion(by_group, looks),
        OVER_TIME: list(_over_time(groups, looks)),
    }
    return {name: charts for name, charts in chart_lists.items() if charts}


def _looks(groups: Sequence[Group]) -> dict[str, str]:
    """Returns schemes by group, whose look its lines have where each group has another scheme; else
    its own name."""
    schemes = [group.scheme for group in groups]
    alone = len(set(schemes)) == len(schemes)
    return {group.name: group.scheme if alone else group.name for group in groups}


def _lines(groups: Sequence[Group], name: str, looks: Mapping[str, str]) -> list[Line]:
    return [
        replace(line, label=group.name, scheme=looks[group.name])
        for group in groups
        if (line := group.curve(name)) is not None
    ]


def _over_time(groups: Sequence[Group], looks: Mapping[str, str]) -> Iterator[Chart]:
    counts = {len(group.runs) for group in groups}
    seeds = f"{' or '.join(map(str, sorted(counts)))} seed{'s' * (counts != {1})}"
    note = interval_note(counts)
    for name, title, unit in ((QUEUE, "Largest queue", "KB"), (PAUSE, "PAUSE", "frames a ms")):
        lines = _lines(groups, name, looks)
        if any(line.y.any() for line in lines):
            x_label = "\n".join(
                [f"Time (ms); mean of {seeds}", *[flows_by_size.wrapped(note)] * bool(note)]
            )
            yield Chart(title, x_label, f"{title} ({unit})", lines)
