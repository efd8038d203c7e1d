"""Charts as pictures, PNG and SVG: one panel a view, side by side. What all pictures have is here."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator

from experiments.charts import PALE_OPACITY, PALE_WIDTH, Chart, Line, View, highest, shown
from experiments.palette import LIGHT, Theme

_STROKES = {"solid": "-", "dashed": (0, (5, 3)), "dotted": (0, (1, 2))}
_LEGEND_COLUMNS = 4


def pictures(chart: Chart, theme: Theme = LIGHT) -> dict[str, bytes]:
    """The chart as data, by format: `png` and `svg`."""
    figure = Figure(figsize=(10.4, 3.9), dpi=160, facecolor=theme.background, layout="constrained")
    FigureCanvasAgg(figure)
    widths = [1.65, 1] if len(chart.views) == 2 else None
    grid = figure.add_gridspec(1, len(chart.views), width_ratios=widths)
    panels = [figure.add_subplot(grid[0, column]) for column in range(len(chart.views))]
    (lines,) = shown([chart])
    for axes, view in zip(panels, chart.views, strict=True):
        _prepare(axes, chart, view, theme)
        for band in chart.bands:
            axes.axvspan(band.start, band.end, color=theme.muted, alpha=0.1, lw=0, label=band.label)
        for line in lines:
            _draw(axes, line, view, theme)
        for mark in chart.marks:
            if view.start < mark.x <= view.end:
                axes.axvline(mark.x, color=theme.accent, lw=1, ls=":", label=f"{mark.label}: {mark.x:.2g} ms")
        axes.set_ylim(0, view.top if view.top else max(axes.get_ylim()[1], 1e-9))
        if view.top and (most := highest(lines, view)) > view.top:
            cut(axes, most, theme)
        if chart.empty and not any(line.y.size for line in chart.lines):
            axes.text(0.5, 0.5, chart.empty, transform=axes.transAxes, ha="center", color=theme.muted)
            axes.set_yticks([])
    panels[0].set_ylabel(chart.y_label, fontsize=9.5, color=theme.ink)
    named = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    legend(figure, named, theme, columns=_LEGEND_COLUMNS, loc="outside upper left")
    return saved(figure)


def saved(figure: Figure) -> dict[str, bytes]:
    """The figure as data, by format. Equal figures give equal data."""
    found = {}
    for kind, nothing in (("png", "Software"), ("svg", "Date")):
        data = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "pcn-lab"}):
            figure.savefig(data, format=kind, facecolor=figure.get_facecolor(), metadata={nothing: None})
        found[kind] = data.getvalue()
    return found


def legend(where: Figure | Axes, named: Mapping[str, Any], theme: Theme, columns: int, **place: Any) -> None:
    """Handles by their labels, where they cover nothing."""
    if not named:
        return
    made = where.legend(
        list(named.values()),
        list(named),
        ncols=min(columns, len(named)),
        frameon=False,
        fontsize=8.5,
        handlelength=2.2,
        columnspacing=1.4,
        **place,
    )
    for text in made.get_texts():
        text.set_color(theme.ink)


def cut(axes: Axes, highest: float, theme: Theme) -> None:
    """Says that the axis ends below what is highest."""
    axes.set_title(f"cut: up to {highest:,.4g}", loc="right", fontsize=8, color=theme.accent)


def dress(axes: Axes, theme: Theme, label_size: float) -> None:
    """Background, grid, ticks and frame of a pair of axes, as all pictures have them. Ticks' labels are in points."""
    axes.set_facecolor(theme.background)
    axes.grid(True, color=theme.grid, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", colors=theme.muted, labelsize=label_size)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.muted)


def _prepare(axes: Axes, chart: Chart, view: View, theme: Theme) -> None:
    dress(axes, theme, 9)
    axes.set_title(view.title, loc="left", fontsize=9.5, color=theme.muted)
    axes.set_xlim(view.start, view.end)
    axes.set_xlabel(chart.x_label, fontsize=9.5, color=theme.ink)
    axes.xaxis.set_minor_locator(AutoMinorLocator())


def _draw(axes: Axes, line: Line, view: View, theme: Theme) -> None:
    """The part of a line that the view shows: what lies outside must not set the y axis."""
    shown = np.flatnonzero((line.x >= view.start) & (line.x <= view.end))
    if not line.x.size:
        return
    first = max(0, shown[0] - 1) if shown.size else max(0, int(np.searchsorted(line.x, view.start)) - 1)
    last = shown[-1] + 2 if shown.size else first + 2
    axes.plot(
        line.x[first:last],
        line.y[first:last],
        drawstyle="steps-post" if line.shape == "steps" else "default",
        color=theme.colour(line.colour),
        lw=line.width * (PALE_WIDTH if line.pale else 1),
        alpha=PALE_OPACITY if line.pale else 1,
        ls=_STROKES[line.stroke],
        label=line.label,
    )
