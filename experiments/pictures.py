"""Charts as PNG: one panel a view, side by side."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator

from experiments.charts import PALE_OPACITY, PALE_WIDTH, Chart, Line, View
from experiments.palette import LIGHT, Theme

_STROKES = {"solid": "-", "dashed": (0, (5, 3)), "dotted": (0, (1, 2))}
_LEGEND_COLUMNS = 4


def picture(chart: Chart, theme: Theme = LIGHT) -> bytes:
    """The chart as PNG data."""
    figure = Figure(figsize=(10.4, 3.9), dpi=160, facecolor=theme.background, layout="constrained")
    FigureCanvasAgg(figure)
    widths = [1.65, 1] if len(chart.views) == 2 else None
    grid = figure.add_gridspec(1, len(chart.views), width_ratios=widths)
    panels = [figure.add_subplot(grid[0, column]) for column in range(len(chart.views))]
    for axes, view in zip(panels, chart.views, strict=True):
        _prepare(axes, chart, view, theme)
        for band in chart.bands:
            axes.axvspan(band.start, band.end, color=theme.muted, alpha=0.1, lw=0, label=band.label)
        for line in chart.lines:
            _draw(axes, line, view, theme)
        for mark in chart.marks:
            if view.start < mark.x <= view.end:
                axes.axvline(mark.x, color=theme.accent, lw=1, ls=":", label=f"{mark.label}: {mark.x:.2g} ms")
        axes.set_ylim(0, view.top if view.top else max(axes.get_ylim()[1], 1e-9))
        if chart.empty and not any(line.y.size for line in chart.lines):
            axes.text(0.5, 0.5, chart.empty, transform=axes.transAxes, ha="center", color=theme.muted)
            axes.set_yticks([])
    panels[0].set_ylabel(chart.y_label, fontsize=9.5, color=theme.ink)
    named = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if named:
        legend = figure.legend(
            list(named.values()),
            list(named),
            loc="outside upper left",
            ncols=_LEGEND_COLUMNS,
            frameon=False,
            fontsize=9,
            handlelength=1.8,
            columnspacing=1.4,
        )
        for text in legend.get_texts():
            text.set_color(theme.ink)
    data = io.BytesIO()
    figure.savefig(data, format="png", facecolor=figure.get_facecolor())
    return data.getvalue()


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
