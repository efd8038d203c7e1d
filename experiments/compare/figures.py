"""Curves of groups over each other, as charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.compare.groups import Group
from pcn.experiments.define import size_bins
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.results.over_time import PAUSE, QUEUE


def figures(groups: Sequence[Group]) -> Mapping[str, list[Chart]]:
    """Returns charts by the picture's name; without those of which no group has a curve."""
    found = {
        "slowdown": _slowdown(groups),
        "completion": list(_completion(groups)),
        "over_time": list(_over_time(groups)),
    }
    return {name: charts for name, charts in found.items() if charts}


def _lines(groups: Sequence[Group], name: str) -> list[Line]:
    """Returns lines of a scheme's look where each group has another scheme."""
    schemes = [group.scheme for group in groups]
    alone = len(set(schemes)) == len(schemes)
    found = []
    for group in groups:
        if (one := group.curve(name)) is not None:
            found.append(curve(group.name, *one, group.scheme if alone else group.name))
    return found


def _slowdown(groups: Sequence[Group]) -> list[Chart]:
    return size_bins.charts({name: _lines(groups, f"{name} slowdown{size_bins.BY_SIZE}") for name in size_bins.SHOWN})


def _completion(groups: Sequence[Group]) -> Iterator[Chart]:
    if lines := _lines(groups, "completion time"):
        yield Chart("Completion times", "Completion time (ms)", "Flows (%)", lines, log_x=True, columns=1)


def _over_time(groups: Sequence[Group]) -> Iterator[Chart]:
    for name, title, unit in ((QUEUE, "Largest queue", "KB"), (PAUSE, "PAUSE", "frames a ms")):
        lines = _lines(groups, name)
        if any(line.y.any() for line in lines):
            yield Chart(title, "Time (ms)", f"{title} ({unit})", lines)
