"""What the page's script draws: the charts of each run, those that have lines of all runs, and what
is replayed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pcn.experiments.data.series_math import Array
from pcn.experiments.define.charts import PALE_OPACITY, PALE_WIDTH, Chart, Line, View, shown
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


def _chart(panels: Sequence[Chart], lines: Sequence[Sequence[Line]]) -> dict[str, Any]:
    return {
        "x": panels[0].x_label,
        "y": panels[0].y_label,
        "overTime": panels[0].over_time,
        "logX": panels[0].log_x,
        "logY": panels[0].log_y,
        "bottom": panels[0].bottom,
        "ticks": list(panels[0].ticks),
        "bins": list(panels[0].bins),
        "panels": [
            _panel(chart, chart_lines) for chart, chart_lines in zip(panels, lines, strict=True)
        ],
    }


def _named(chart: Chart, views: int) -> Chart:
    """Returns a chart over named x with as many views as the page's others."""
    whole = View("", -0.3, max(len(chart.ticks), 1) - 0.7)
    return replace(chart, views=(whole,) * views)


def _panel(chart: Chart, lines: Sequence[Line]) -> dict[str, Any]:
    return {
        "views": [[view.start, view.end, view.top] for view in chart.views],
        "lines": [_line(line, look) for line, look in zip(lines, looks(lines), strict=True)],
        "bands": [[band.label, band.start, band.end] for band in chart.bands],
        "marks": [[mark.label, mark.x] for mark in chart.marks],
        "empty": chart.empty,
    }


def _line(line: Line, look: Look) -> dict[str, Any]:
    return {
        "label": line.label,
        "colour": look.colour,
        "steps": line.shape == "steps",
        "stroke": look.stroke,
        "mark": look.mark if line.points else "",
        "counts": list(line.counts),
        "ends": []
        if line.low is None or line.high is None
        else [_numbers(line.low, 4), _numbers(line.high, 4)],
        "width": line.width * (PALE_WIDTH if line.pale else 1),
        "opacity": PALE_OPACITY if line.pale else 1,
        "x": _numbers(line.x, 4),
        "y": _numbers(line.y, 4),
    }


def _numbers(values: Array, digits: int) -> list[float | None]:
    """Returns the digits after the point to which values are rounded: 0.1 us, and less than a
    line's width."""
    return [None if math.isnan(value) else round(float(value), digits) for value in values]
