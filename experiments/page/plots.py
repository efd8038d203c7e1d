"""What the page's script draws: the charts of each run, those that have lines of all runs, and what
is replayed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from pcn.experiments.data.series_math import Array
from pcn.experiments.define.charts import (
    PALE_OPACITY,
    PALE_WIDTH,
    Chart,
    Line,
    View,
    shown,
    standard_error,
    wider,
)
from pcn.experiments.define.experiment import RunPage
from pcn.experiments.define.looks import Look
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.define.tables import Measured
from pcn.experiments.draw.line_looks import apart, looks
from pcn.experiments.results import agreement, replay
from pcn.experiments.results.judged_run import Result, by_scheme
from pcn.topologies.picture.load import STEPS

TOGETHER = "slowdown_by_size"
"""The name of the charts that have lines of all runs."""
_ROW_PX, _AXIS_PX = 22, 60
"""Of a bar to the right, and of what is beside all of them."""
_SEEDS = (
    "Values are means over the seeds, with standard errors (at the pointer: in brackets); rings "
    "are each seed's."
)
_ROOM, _LOG_ROOM = 0.03, 1.25
"""Beside points: of the axis's length, and a factor where it is logarithmic."""


def drawn(results: Sequence[Result]) -> list[tuple[Chart, ...]]:
    """Returns the charts that all runs have: of each one a scheme."""
    panels = [agreement.charts(runs) for runs in by_scheme(results)]
    common = set.intersection(*({chart.name for chart in charts} for charts in panels))
    return list(
        zip(
            *([chart for chart in charts if chart.name in common] for charts in panels), strict=True
        )
    )


def page_of(result: Result) -> RunPage:
    assert result.experiment.page is not None
    return result.experiment.page


def together(results: Sequence[Result]) -> list[Chart]:
    """Charts that have lines of all runs."""
    draw = page_of(results[0]).together
    return (
        (results[0].failures.attempt(f"chart {TOGETHER}", lambda: draw(measured(results))) or [])
        if draw
        else []
    )


def measured(results: Sequence[Result]) -> dict[str, Measured]:
    """Returns the runs by name: several runs of one scheme have the folder beside its name."""
    return {
        (result.folder or result.plan.scheme): Measured(
            result.outcome.numbers, [RunSamples.from_json(result.outcome.samples)]
        )
        for result in results
    }


def data(results: Sequence[Result]) -> dict[str, Any]:
    """Returns what the page's script draws."""
    common = drawn(results)
    charts = {panels[0].name: _chart(panels, shown(panels)) for panels in map(apart, common)}
    if beside := [
        _named(chart, len(common[0][0].views) if common else 1) for chart in together(results)
    ]:
        charts[TOGETHER] = _chart(beside, [chart.lines for chart in beside])
    return {"charts": charts, "replay": replay.data(results), "steps": STEPS}


def alone(charts: Sequence[Chart], name: str) -> dict[str, Any]:
    """Returns what the script draws of charts beside each other: each with its own axes, by
    `name` and its place. Lines of equal values lie on wider ones. Text below an axis's name is
    among the notes of `section`."""
    return {
        f"{name}-{place}": _chart(
            [
                replace(
                    chart,
                    views=chart.views or (whole(chart),),
                    x_label=chart.x_label.partition("\n")[0],
                )
            ],
            [wider(chart)],
        )
        for place, chart in enumerate(charts)
    }


def section(
    name: str, title: str, charts: Sequence[Chart], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns what a template needs of charts that stand beside each other."""
    seeds = any(len(runs) > 1 for chart in charts for line in chart.lines for runs in line.seeds)
    return {
        "name": name,
        "title": title,
        "titles": [chart.title or chart.y_label for chart in charts],
        "together": same_looks(charts),
        "heights": [_ROW_PX * len(chart.rows) + _AXIS_PX if chart.rows else 0 for chart in charts],
        "notes": [
            *dict.fromkeys(filter(None, map(_below_axis, charts))),
            *notes,
            *[_SEEDS] * seeds,
        ],
    }


def _below_axis(chart: Chart) -> str:
    """Returns the lines below the name of the x axis as a sentence."""
    text = " ".join(chart.x_label.split("\n")[1:])
    return f"{text[0].upper()}{text[1:]}." if text else ""


def axis_name(chart: Chart) -> str:
    """Returns the name of the x axis: charts of equal names show the same part of it."""
    return "time" if chart.x_label.startswith("Time") else "|".join([chart.x_label, *_names(chart)])


def as_json(value: Any) -> Markup:
    """Returns what a page's script reads, within an element of the page."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def same_looks(charts: Sequence[Chart]) -> bool:
    """Returns whether a name means the same look in all charts, so that one legend serves them."""
    known: dict[str, Look] = {}
    return all(
        known.setdefault(line.label, look) == look
        for chart in charts
        for line, look in zip(chart.lines, looks(chart.lines), strict=True)
    )


def whole(chart: Chart) -> View:
    """Returns all of a chart that has no views, with room beside its points and bars."""
    places = [float(x) for line in chart.lines for x in line.x]
    if names := _names(chart):
        aside = 0.5 if chart.bars or chart.rows else 0.3
        return View("", -aside, len(names) - 1 + aside, chart.top)
    first, last = min(places, default=0.0), max(places, default=1.0)
    if chart.log_x:
        return View("", first / _LOG_ROOM, last * _LOG_ROOM, chart.top)
    room = _ROOM * (last - first) if any(line.points for line in chart.lines) else 0.0
    if last + room <= first - room:
        return View("", first - 0.5, last + 0.5, chart.top)
    return View("", first - room, last + room, chart.top)


def _names(chart: Chart) -> Sequence[str]:
    return chart.ticks or chart.bars or chart.rows


def _chart(panels: Sequence[Chart], lines: Sequence[Sequence[Line]]) -> dict[str, Any]:
    return {
        "x": panels[0].x_label,
        "y": panels[0].y_label,
        "axis": axis_name(panels[0]),
        "overTime": panels[0].x_label.startswith("Time (ms"),
        "stops": bool(_names(panels[0]) or panels[0].bins)
        or all(line.points for chart in panels for line in chart.lines),
        "logX": panels[0].log_x,
        "logY": panels[0].log_y,
        "bottom": panels[0].bottom,
        "ticks": list(panels[0].ticks),
        "bins": list(panels[0].bins),
        "bars": list(panels[0].bars),
        "rows": list(panels[0].rows),
        "panels": [
            _panel(chart, chart_lines) for chart, chart_lines in zip(panels, lines, strict=True)
        ],
    }


def _named(chart: Chart, views: int) -> Chart:
    """Returns a chart over named x with as many views as the page's others."""
    whole = View("", -0.3, max(len(chart.ticks), 1) - 0.7)
    return replace(chart, views=(whole,) * views)


def _panel(chart: Chart, lines: Sequence[Line]) -> dict[str, Any]:
    shown = [_line(line, look) for line, look in zip(lines, looks(lines), strict=True)]
    # Most lines have the x of the one before: they are half of a page's bytes, and left out
    same = [before["x"] == line["x"] for before, line in pairwise(shown)]
    for line, is_same in zip(shown[1:], same, strict=True):
        if is_same:
            del line["x"]
    return {
        "views": [[view.start, view.end, view.top] for view in chart.views],
        "lines": shown,
        "bands": [[band.label, band.start, band.end] for band in chart.bands],
        "marks": [[mark.label, mark.x] for mark in chart.marks],
        "empty": chart.empty,
        "level": chart.level,
        "levelText": chart.level_text,
    }


def _line(line: Line, look: Look) -> dict[str, Any]:
    return {
        "label": line.label,
        "colour": look.colour,
        "steps": line.shape == "steps",
        "stroke": look.stroke,
        "mark": look.mark,
        "points": line.points,
        "counts": list(line.counts),
        "ends": _ends(line),
        "seeds": [[_number(seed) for seed in seeds] for seeds in line.seeds]
        if any(len(seeds) > 1 for seeds in line.seeds)
        else [],
        "width": line.width * (PALE_WIDTH if line.pale else 1),
        "opacity": PALE_OPACITY if line.pale else 1,
        "x": _numbers(line.x, 4),
        "y": _numbers(line.y, 4),
    }


def _ends(line: Line) -> list[list[float | None]]:
    """Returns both ends of each value's interval: its own, or a standard error of the seeds' mean
    to either side; none where there are none."""
    if line.low is not None and line.high is not None:
        return [_numbers(line.low, 4), _numbers(line.high, 4)]
    if not any(len(seeds) > 1 for seeds in line.seeds):
        return []
    errors = np.array([standard_error(seeds) for seeds in line.seeds])
    return [_numbers(line.y - errors, 4), _numbers(line.y + errors, 4)]


def _number(value: float) -> float:
    return _shortest(float(f"{value:.6g}"))


def _shortest(value: float) -> float:
    """Returns a whole number as one: a twentieth of what pages of many flows weigh was `.0`."""
    return int(value) if value.is_integer() else value


def _numbers(values: Array, digits: int) -> list[float | None]:
    """Returns values with `digits` after the point, 0.1 us and less than a line's width; small ones
    with six digits in all, as shares of a logarithmic axis have."""
    return [
        None
        if math.isnan(value)
        else _shortest(round(float(value), digits))
        if abs(value) >= 1
        else _number(float(value))
        for value in values
    ]
