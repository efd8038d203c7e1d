"""Flows by size as tables and charts: of one run, of several side by side, of groups of several
seeds. Groups of flows are apart, and each table and chart has the seeds and flows that it is of."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.define import samples, size_bins
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import number_text
from pcn.experiments.define.samples import STATISTICS, UNITS, Estimate, Pooled, RunSamples
from pcn.experiments.define.size_bins import SHOWN, size_text
from pcn.experiments.define.tables import Measured, Table

FLOWS, COLLECTIVE, INCAST, CLASSES = "flows", "collective", "incast", "classes"
"""Groups: those that are drawn or of a file, messages of a collective operation, flows of in-casts;
the first ones once more, with classes of sizes as bins."""
_NAMES = {FLOWS: "", COLLECTIVE: "collective operation", INCAST: "in-casts", CLASSES: "classes"}
_ACROSS = 60
"""Letters below a chart."""
_UNFINISHED = (
    " Where one is unfinished there is a dash, as the others are the faster ones: a longer run has "
    "them all."
)
_BESIDE = 9
"""Columns of statistics in one table."""

ByRun = Mapping[str, Pooled]
"""A group's flows by the name of the run, or of the runs of several seeds."""


def pooled(runs: Mapping[str, Sequence[RunSamples]]) -> dict[str, ByRun]:
    """Returns the flows by group and name, of the seeds that have such a group; but none of seeds
    with other bins each, as they can't be taken together."""
    by_group: dict[str, dict[str, Pooled]] = {}
    for name, seeds in runs.items():
        for group in dict.fromkeys(group for run in seeds for group in run.groups):
            seed_samples = [run.groups[group] for run in seeds if group in run.groups]
            if len({sample.limits for sample in seed_samples}) == 1:
                by_group.setdefault(group, {})[name] = Pooled(seed_samples)
    return {
        group: by_group[group]
        for group in sorted(by_group, key=lambda name: (*_NAMES, name).index(name))
    }


def of_measured(runs: Mapping[str, Measured]) -> dict[str, ByRun]:
    return pooled({name: run.samples for name, run in runs.items()})


def tables(groups: Mapping[str, ByRun]) -> list[Table]:
    """Returns completion times and slowdown of each group, then by size."""
    if not groups:
        return []
    whole = [_whole(groups, unit) for unit in UNITS]
    return [*whole, *(table for group, runs in groups.items() for table in _by_size(group, runs))]


def charts(groups: Mapping[str, ByRun], shown: Sequence[str] = SHOWN) -> list[Chart]:
    """Returns the slowdown by size of each group: of one run a line a percentile, of several runs,
    or of a single percentile, a chart a percentile with a line a run, as far as they have the same
    bins."""
    return [
        replace(chart, log_y=True, bottom=1.0)
        for group, runs in groups.items()
        if _has_bins(group, runs)
        for chart in _charts(group, runs, shown)
    ]


def figure_charts(
    title: str, runs: Mapping[str, Sequence[RunSamples]], statistic: str
) -> list[Chart]:
    """Returns a percentile of the slowdown by size for a figure, a chart a group, two a row; one
    without lines where no bin has enough flows. `runs`: of each scheme the seeds."""
    groups = {group: of for group, of in pooled(runs).items() if group != CLASSES}
    slowdown_charts = charts(groups, [statistic])
    none = Chart(
        f"Slowdown, {statistic[1:]}%", "Flows up to", "Slowdown", [], empty="too few flows"
    )
    return [
        replace(chart, title=f"{title}: {chart.title.lower()}", columns=2)
        for chart in slowdown_charts or [none]
    ]


def completion(groups: Mapping[str, ByRun], looks: Mapping[str, str]) -> list[Chart]:
    """Returns the distribution of completion times of each group, a line a run. `looks`: schemes by
    name."""
    completion_charts = []
    for group, runs in groups.items():
        lines = [
            curve(label(name), *run.distribution("ms"), looks.get(name, name))
            for name, run in runs.items()
        ]
        x_label = f"Completion time (ms)\n{wrapped(caption(runs))}"
        completion_charts.append(
            Chart(
                _titled("Completion times", group),
                x_label,
                "Flows (%)",
                lines,
                log_x=True,
                columns=1,
            )
        )
    return [chart for chart in completion_charts if any(line.x.size for line in chart.lines)]


def rows(groups: Mapping[str, ByRun]) -> Iterator[tuple[str, str, int, Estimate | None]]:
    """Yields each statistic of each bin: its name, as `p95_slowdown flows up to 1000 B`, the run's
    name, the number of flows, and the value if there is one."""
    for group, runs in groups.items():
        for name, run in runs.items():
            for unit in UNITS:
                for place, limit in [(None, None), *enumerate(run.limits)]:
                    where = group if limit is None else f"{group} up to {limit:.0f} B"
                    for statistic in STATISTICS:
                        estimate = run.estimate(unit, statistic, place)
                        yield f"{statistic}_{unit} {where}", name, run.flows(place), estimate


def caption(runs: ByRun) -> str:
    return samples.caption({label(name): run for name, run in runs.items()})


def wrapped(text: str) -> str:
    """Returns a caption in lines that fit below a chart."""
    return textwrap.fill(text, _ACROSS)


def _titled(title: str, group: str) -> str:
    named = _NAMES.get(group, group)
    return f"{title}, {named}" if named else title


def _notes(runs: ByRun) -> list[str]:
    note = samples.interval_note(run.seeds for run in runs.values())
    counted = f"{caption(runs)}; in brackets {note}." if note else f"{caption(runs)}."
    return [counted + _UNFINISHED * any(run.unfinished() for run in runs.values())]


def _whole(groups: Mapping[str, ByRun], unit: str) -> Table:
    table_rows = [
        [
            _titled(label(name), group),
            f"{run.flows():,}",
            *(cell(run.estimate(unit, statistic)) for statistic in STATISTICS),
        ]
        for group, runs in groups.items()
        for name, run in runs.items()
    ]
    notes = [
        f"{_NAMES.get(group, group) or 'flows'}: {_notes(runs)[0]}"
        for group, runs in groups.items()
    ]
    return Table(
        f"{UNITS[unit]}, {'by group' if len(groups) > 1 else 'all flows'}",
        ["", "flows", *STATISTICS],
        table_rows,
        notes if len(groups) > 1 else _notes(next(iter(groups.values()))),
    )


def _has_bins(group: str, runs: ByRun) -> bool:
    """Returns whether a group has more than one bin."""
    return group == FLOWS or any(len(run.limits) > 1 for run in runs.values())


def _by_size(group: str, runs: ByRun) -> Iterator[Table]:
    if not _has_bins(group, runs):
        return
    if len(runs) == 1:
        yield from (_of_one(group, runs, unit) for unit in UNITS)
    elif any(run.seeds > 1 for run in runs.values()):
        yield from (_beside(group, same, [name]) for same in _alike(runs) for name in _shown(same))
    else:
        for same in _alike(runs):
            names, shown = list(same), _shown(same)
            beside = _BESIDE // len(shown)
            for place in range(0, len(names), beside):
                part = {name: same[name] for name in names[place : place + beside]}
                yield _beside(group, part, shown)


def _shown(runs: ByRun) -> Sequence[str]:
    """Returns the percentiles for which some bin has enough flows; else the mean."""
    most = max(run.flows(place) for run in runs.values() for place in range(len(run.limits)))
    return [name for name in SHOWN if samples.needed(name) <= most] or [samples.MEAN]


def _alike(runs: ByRun) -> list[ByRun]:
    """Returns the runs with the same bins together."""
    by_limits: dict[tuple[float, ...], dict[str, Pooled]] = {}
    for name, run in runs.items():
        by_limits.setdefault(run.limits, {})[name] = run
    return list(by_limits.values())


def _of_one(group: str, runs: ByRun, unit: str) -> Table:
    (run,) = runs.values()
    return Table(
        _titled(f"{UNITS[unit]}, by size", group),
        ["up to", "flows", *STATISTICS],
        [
            [
                size_text(limit),
                f"{run.flows(place):,}",
                *(cell(run.estimate(unit, statistic, place)) for statistic in STATISTICS),
            ]
            for place, limit in enumerate(run.limits)
            if run.flows(place)
        ],
        _notes(runs),
    )


def _beside(group: str, runs: ByRun, shown: Sequence[str]) -> Table:
    """Returns the slowdown side by side."""
    first = next(iter(runs.values()))
    places = [
        place
        for place in range(len(first.limits))
        if any(run.flows(place) for run in runs.values())
    ]
    same = all(run.flows(place) == first.flows(place) for run in runs.values() for place in places)
    counted = (
        {"flows": first} if same else {f"flows {label(name)}": run for name, run in runs.items()}
    )
    of_one = f" {shown[0]}" if len(shown) == 1 else ""
    return Table(
        _titled(f"slowdown{of_one}, by size", group),
        [
            "up to",
            *counted,
            *(
                label(name) if of_one else f"{label(name)} {statistic}"
                for name in runs
                for statistic in shown
            ),
        ],
        [
            [
                size_text(first.limits[place]),
                *(f"{run.flows(place):,}" for run in counted.values()),
                *(
                    cell(run.estimate("slowdown", statistic, place))
                    for run in runs.values()
                    for statistic in shown
                ),
            ]
            for place in places
        ],
        _notes(runs),
    )


def cell(estimate: Estimate | None) -> str:
    """Returns a statistic for people, with its interval, whose ends have as many digits: else it
    could lie outside."""
    if estimate is None:
        return "–"
    interval = estimate.interval
    if interval is None or interval.is_point:
        return number_text(estimate.value, digits=4)
    return (
        f"{number_text(estimate.value)} [{number_text(interval.low)}, {number_text(interval.high)}]"
    )


def _charts(group: str, runs: ByRun, shown: Sequence[str]) -> Iterator[Chart]:
    for same in _alike(runs):
        limits = next(iter(same.values())).limits
        note = samples.interval_note(run.seeds for run in same.values())
        below = filter(None, (caption(same) + ";" * bool(note), note))
        x_label = "\n".join(["Flows up to", *map(wrapped, below)])
        if len(runs) == 1 and len(shown) > 1:
            (run,) = same.values()
            lines = [replace(_line(run, name), label=f"{name[1:]}%") for name in shown]
            yield from size_bins.on_bins([(_titled("Slowdown", group), lines)], limits, x_label, 1)
            continue
        titled = [
            (
                _titled(f"Slowdown, {name[1:]}%", group),
                [
                    replace(_line(run, name), label=label(scheme), scheme=scheme)
                    for scheme, run in same.items()
                ],
            )
            for name in shown
        ]
        yield from size_bins.on_bins(titled, limits, x_label, 3)


def _line(run: Pooled, statistic: str) -> Line:
    """Returns a statistic by size, over the largest sizes of the bins."""
    estimates = [
        (place, run.estimate("slowdown", statistic, place)) for place in range(len(run.limits))
    ]
    known = [(place, estimate) for place, estimate in estimates if estimate]
    line = curve(
        "",
        [run.limits[place] for place, _ in known],
        [estimate.value for _, estimate in known],
        points=True,
    )
    line = replace(line, counts=[run.flows(place) for place, _ in known])
    if run.seeds < 2:
        return line
    ends = [(estimate.value, estimate.interval) for _, estimate in known]
    low = [np.nan if end is None else min(end.low, value) for value, end in ends]
    high = [np.nan if end is None else max(end.high, value) for value, end in ends]
    return replace(line, low=np.array(low, float), high=np.array(high, float))
