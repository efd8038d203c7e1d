"""What a figure shows, apart from how it is drawn: `pcn.experiments.draw.pictures` makes PNG of it,
report.js the page's plots.

Time is nominal, in ms; colours are names of `pcn.experiments.draw.palette`: `flow0`, `flow1`, ...,
`other0`, ..., `ink`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array

Shape = Literal["line", "steps"]
Stroke = Literal["solid", "dashed", "dotted", "dashdot"]
TIME = "Time (ms, nominal)"
PALE_WIDTH, PALE_OPACITY = 2.5, 0.4
"""Of a pale line: how much wider it is, and how much of its colour it has."""
_UNDER = 2.0
"""By how much a line is wider than an equal one that lies on it."""


@dataclass(frozen=True)
class Line:
    """Values over x. `steps`: each value holds until the next x. A line without a colour looks as
    its `scheme` does, or as no other line of its chart. `points` are marked; `seeds` are what each
    y is the mean of; `low` and `high` the ends of each y's interval (NaN: it has none)."""

    label: str
    x: Array
    y: Array
    colour: str = ""
    shape: Shape = "line"
    stroke: Stroke = "solid"
    width: float = 1.6
    pale: bool = False
    """Drawn wide and pale, below another run's line."""
    scheme: str = ""
    points: bool = False
    seeds: Sequence[Sequence[float]] = ()
    low: Array | None = None
    high: Array | None = None
    counts: Sequence[int] = ()
    """Of how many flows each y is, where the x are bins."""


def curve(
    label: str,
    x: Sequence[float],
    y: Sequence[float],
    scheme: str = "",
    *,
    points: bool = False,
    stroke: Stroke = "solid",
    seeds: Sequence[Sequence[float]] = (),
) -> Line:
    """Returns a line over what an experiment varies."""
    return Line(
        label,
        np.array(x, float),
        np.array(y, float),
        stroke=stroke,
        scheme=scheme,
        points=points,
        seeds=seeds,
    )


def of_seeds(lines: Sequence[Line], others: str) -> list[Line]:
    """Returns the lines of the same value of each seed: the first seed's, and below it the further
    ones', thin and pale, which are called `others`."""
    return [
        *(replace(line, label=others, width=0.4, pale=True) for line in lines[1:]),
        *lines[:1],
    ]


@dataclass(frozen=True)
class Band:
    """A shaded part of the x axis."""

    label: str
    start: float
    end: float


@dataclass(frozen=True)
class Mark:
    """A thin vertical line at x."""

    label: str
    x: float


@dataclass(frozen=True)
class View:
    """A part of the x axis, shown large. `top` cuts the y axis."""

    title: str
    start: float
    end: float
    top: float | None = None


@dataclass(frozen=True)
class Chart:
    """One pair of axes, or one a view.

    A run's chart has a `name`; its `views` are those of the page, the first is shown first, and all
    charts of a page have as many. One of several runs stands beside others, `columns` a row.

    `level` draws a thin line across, named `level_text`. `top` cuts the y axis; a text then has the
    highest value. `ticks` name x = 0, 1, 2, ..., `bins` with both ends, and lines end beside one
    without a value; `bars` do, too, and draw the lines' points as groups of bars. `rows` name them
    from top to bottom and draw bars to the right; `level` is a vertical line then.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    name: str = ""
    alt: str = ""
    """For who can't see it."""
    views: tuple[View, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    empty: str = ""
    """The text if no line has a value."""
    level: float | None = None
    level_text: str = ""
    log_x: bool = False
    log_y: bool = False
    bottom: float = 0.0
    top: float | None = None
    ticks: Sequence[str] = ()
    bins: Sequence[str] = ()
    bars: Sequence[str] = ()
    rows: Sequence[str] = ()
    columns: int = 0

    @property
    def over_time(self) -> bool:
        return self.x_label == TIME


BesidePaper = tuple[str, float, Sequence[float], float | None]
"""A pair of bars: its name, our value, that of each seed, and the paper's; None where it states
none."""


def beside_paper(
    title: str, y_label: str, values: Sequence[BesidePaper], columns: int = 0
) -> Chart:
    """Returns bars of what came out here beside the paper's own."""
    ours = curve(
        "here",
        list(range(len(values))),
        [value for _, value, _, _ in values],
        seeds=[seeds for _, _, seeds, _ in values],
    )
    stated = [(place, paper) for place, (*_, paper) in enumerate(values) if paper is not None]
    papers = curve("the paper", [place for place, _ in stated], [paper for _, paper in stated])
    # Neither is a scheme's colour, and dots of seeds are seen on ours
    lines = [replace(ours, colour="other1"), replace(papers, colour="other2")]
    names = [name for name, *_ in values]
    return Chart(title, "", y_label, lines, bars=names, columns=columns)


def constant(
    label: str, value: float, colour: str, start_s: float, end_s: float, stroke: Stroke = "dashed"
) -> Line:
    """Returns a reference line."""
    times = np.array([start_s, end_s]) * 1e3
    return Line(label, times, np.array([value, value]), colour, stroke=stroke, width=1.2)


def steps(
    label: str,
    colour: str,
    series: tuple[Array, Array],
    end_s: float,
    unit: float = 1.0,
    width: float = 1.6,
) -> Line:
    """Returns a step series up to `end_s`."""
    times, values = until(series, end_s)
    if times.size:
        times, values = np.append(times, max(end_s, times[-1])), np.append(values, values[-1])
    return Line(label, times * 1e3, values * unit, colour, "steps", width=width)


def sampled(
    label: str, colour: str, series: tuple[Array, Array], end_s: float, unit: float = 1.0
) -> Line:
    """Returns the samples, joined by straight lines."""
    times, values = until(series, end_s)
    return Line(label, times * 1e3, values * unit, colour)


def rate(
    label: str,
    colour: str,
    series: tuple[Array, Array],
    bin_s: float,
    span_s: tuple[float, float],
    unit: float = 1.0,
    stroke: Stroke = "solid",
) -> Line:
    """Returns the increase a second of a counter series, in bins."""
    starts, values = series_math.binned_rate(*series, bin_s, span_s[1], span_s[0])
    return _bins(label, colour, starts, values * unit, span_s[1], stroke)


def pause_by_link(recording: Recording, bin_s: float, views: tuple[View, ...]) -> Chart:
    """Draws PAUSE frames of all links that sent any."""
    lines = [
        events(
            name.replace("->", " to "),
            f"other{index}",
            recording.series.get(name, "pause"),
            bin_s,
            (0.0, recording.duration_s),
            1e-3,
        )
        for index, name in enumerate(name for name, link in recording.links.items() if link.pause)
    ]
    return Chart(
        name="pause",
        title="PFC",
        alt="PAUSE frames over time, by link",
        x_label=TIME,
        y_label="PAUSE frames (1/ms)",
        lines=tuple(lines),
        views=views,
        empty="no PAUSE was sent",
    )


def events(
    label: str,
    colour: str,
    series: tuple[Array, Array],
    bin_s: float,
    span_s: tuple[float, float],
    unit: float = 1.0,
) -> Line:
    """Returns the single events a second of a counter series, in bins."""
    starts, values = series_math.binned_events(*series, bin_s, span_s[1], span_s[0])
    return _bins(label, colour, starts, values * unit, span_s[1], "solid")


def share(
    label: str,
    colour: str,
    part: tuple[Array, Array],
    whole: tuple[Array, Array],
    bin_s: float,
    span_s: tuple[float, float],
    stroke: Stroke = "solid",
) -> Line:
    """Returns the share of one counter series in another, in bins, in percent; gaps where nothing
    moved."""
    starts, values = series_math.binned_share(part, whole, bin_s, span_s[1], span_s[0])
    return _bins(label, colour, starts, values * 100, span_s[1], stroke)


def overlay(below: tuple[str, Chart], above: tuple[str, Chart]) -> Chart:
    """Returns the same chart of two runs, each with the run's name, over each other: the first
    run's lines wide and pale.

    What is the same in both, as ideals are, is there once; a line has the colour that it has in the
    first run.
    """
    first, second = below[1], above[1]
    common = [
        line
        for line in first.lines
        if any(_same(line, second_line) for second_line in second.lines)
    ]
    colours = {line.label: line.colour for line in (*second.lines, *first.lines)}
    lines = [
        replace(
            line, label=f"{line.label}, {name}", colour=colours[line.label], pale=chart is first
        )
        for name, chart in (below, above)
        for line in chart.lines
        if line.label and not any(_same(line, shared) for shared in common)
    ]
    marks = [
        Mark(f"{mark.label}, {name}", mark.x)
        for name, chart in (below, above)
        for mark in chart.marks
    ]
    tops = [
        None if None in (view.top, second_view.top) else max(view.top or 0, second_view.top or 0)
        for view, second_view in zip(first.views, second.views, strict=True)
    ]
    return replace(
        first,
        lines=(*lines, *common),
        views=tuple(replace(view, top=top) for view, top in zip(first.views, tops, strict=True)),
        bands=tuple(dict.fromkeys((*first.bands, *second.bands))),
        marks=first.marks if first.marks == second.marks else tuple(marks),
    )


def shown(panels: Sequence[Chart]) -> list[tuple[Line, ...]]:
    """Returns the lines to draw of the same chart of one run or of several. Lines of the same
    values hide each other: such as are the same in all panels are one, which has all their names;
    others lie on a wider one."""
    groups = [_alike(chart.lines) for chart in panels]
    if all(group == groups[0] for group in groups):
        return [
            tuple(
                replace(
                    chart.lines[group[0]],
                    label=", ".join(chart.lines[index].label for index in group),
                )
                for group in groups[0]
            )
            for chart in panels
        ]
    return [wider(chart) for chart in panels]


def wider(chart: Chart) -> tuple[Line, ...]:
    """Returns a chart's lines, such as others of the same values lie on wider than these."""
    alike = _alike(chart.lines)
    return tuple(
        replace(line, width=line.width + _UNDER * (len(group) - 1 - group.index(index)))
        for index, line in enumerate(chart.lines)
        for group in alike
        if index in group
    )


def standard_error(seeds: Sequence[float]) -> float:
    """Returns that of the seeds' mean; NaN of fewer than two."""
    return statistics.stdev(seeds) / math.sqrt(len(seeds)) if len(seeds) > 1 else math.nan


def _alike(lines: Sequence[Line]) -> list[list[int]]:
    """Returns the lines, by number, that differ in nothing but name and colour."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, line in enumerate(lines):
        values = (line.x.tobytes(), line.y.tobytes()) if line.x.size and line.label else (index,)
        groups.setdefault((*values, line.shape, line.stroke, line.pale, line.width), []).append(
            index
        )
    return list(groups.values())


def values(lines: Sequence[Line], view: View | None = None) -> Array:
    """Returns all that lines have, their seeds and intervals too, in a view if there is one."""
    inside = [
        line.y if view is None else line.y[(line.x >= view.start) & (line.x <= view.end)]
        for line in lines
    ]
    seeds = [np.array(seed, float) for line in lines for seed in line.seeds]
    ends = [end for line in lines for end in (line.low, line.high) if end is not None]
    ys: Array = np.concatenate([*inside, *seeds, *ends, np.empty(0)])
    return np.compress(~np.isnan(ys), ys)


def highest(lines: Sequence[Line], view: View | None = None) -> float:
    """Returns the largest value; 0 where there is none."""
    return float(values(lines, view).max(initial=0.0))


def part(line: Line, view: View | None) -> Line:
    """Returns what a view shows of a line, and the points that lead there: what lies further
    outside sets no axis."""
    if view is None or not line.x.size:
        return line
    inside = np.flatnonzero((line.x >= view.start) & (line.x <= view.end))
    first = (
        max(0, inside[0] - 1)
        if inside.size
        else max(0, int(np.searchsorted(line.x, view.start)) - 1)
    )
    last = inside[-1] + 2 if inside.size else first + 2
    return replace(line, x=line.x[first:last], y=line.y[first:last])


def until(series: tuple[Array, Array], end_s: float) -> tuple[Array, Array]:
    inside = series[0] <= end_s
    return series[0][inside], series[1][inside]


def _same(first: Line, second: Line) -> bool:
    return (
        first.label == second.label
        and np.array_equal(first.x, second.x)
        and np.array_equal(first.y, second.y)
    )


def _bins(
    label: str, colour: str, starts: Array, values: Array, end_s: float, stroke: Stroke
) -> Line:
    if starts.size:
        starts, values = np.append(starts, end_s), np.append(values, values[-1])
    return Line(label, starts * 1e3, values, colour, "steps", stroke)
