"""Pictures of several runs: lines over what was varied or over time, one colour a scheme everywhere."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from experiments.palette import LIGHT, Theme
from experiments.paper.panels import Line, Panel
from experiments.pictures import dress

_TICKS = 8
"""Up to so many different x on a logarithmic axis are named themselves."""
_COLOURS = {
    "pcn": "flow0",
    "dcqcn": "flow1",
    "qcn": "flow2",
    "timely": "flow3",
    "pfc": "other3",
    "pcn-x": "other4",
}


def colours(theme: Theme, lines: Sequence[Line]) -> list[str]:
    """Each line's: its scheme's, or one that no scheme of this panel has."""
    named = [theme.colour(_COLOURS[line.scheme]) if line.scheme in _COLOURS else None for line in lines]
    left = [one for one in (*theme.others, *theme.flows) if one not in named]
    free = itertools.cycle(dict.fromkeys(left))
    return [one or next(free) for one in named]


def png(panels: Sequence[Panel], theme: Theme = LIGHT) -> bytes:
    """The panels side by side, at most three a row."""
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    height = max(3.4, *(0.9 + 0.18 * len(panel.rows) for panel in panels))
    figure = Figure(
        figsize=(4.3 * columns, height * rows + 0.2), dpi=120, facecolor=theme.background, layout="constrained"
    )
    FigureCanvasAgg(figure)
    for place, panel in enumerate(panels, start=1):
        _draw(figure.add_subplot(rows, columns, place), panel, theme)
    data = io.BytesIO()
    figure.savefig(data, format="png", facecolor=figure.get_facecolor(), metadata={"Software": None})
    return data.getvalue()


def _draw(axes: Axes, panel: Panel, theme: Theme) -> None:
    dress(axes, theme, 8.5)
    if panel.rows:
        _draw_rows(axes, panel, theme)
    else:
        _draw_lines(axes, panel, theme)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=theme.ink)
    axes.set_xlabel(panel.x_label, fontsize=9, color=theme.ink)
    axes.set_ylabel(panel.y_label, fontsize=9, color=theme.ink)
    if panel.lines:
        legend = axes.legend(facecolor=theme.background, edgecolor="none", framealpha=0.8, fontsize=8)
        for text in legend.get_texts():
            text.set_color(theme.ink)


def _draw_rows(axes: Axes, panel: Panel, theme: Theme) -> None:
    for line, colour in zip(panel.lines, colours(theme, panel.lines), strict=True):
        axes.barh(line.x, line.y, 0.7, color=colour, label=line.label)
    if panel.level is not None:
        axes.axvline(panel.level, color=theme.accent, lw=1, ls=(0, (5, 3)), label=panel.level_text or None)
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.invert_yaxis()


def _draw_lines(axes: Axes, panel: Panel, theme: Theme) -> None:
    for index, (line, colour) in enumerate(zip(panel.lines, colours(theme, panel.lines), strict=True)):
        if panel.bars:
            width = 0.8 / len(panel.lines)
            places = [x - 0.4 + (index + 0.5) * width for x in line.x]
            axes.bar(places, line.y, 0.9 * width, color=colour, label=line.label)
            continue
        axes.plot(
            line.x,
            line.y,
            line.style,
            color=colour,
            lw=1.5,
            marker="o" if line.points else None,
            ms=4,
            label=line.label,
        )
    if panel.level is not None:
        axes.axhline(panel.level, color=theme.accent, lw=1, ls=(0, (5, 3)), label=panel.level_text or None)
    if panel.log_x:
        axes.set_xscale("log", base=2)
        ticks = sorted({x for line in panel.lines for x in line.x})
        if len(ticks) <= _TICKS:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        else:
            axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.minorticks_off()
    names = panel.ticks or panel.bars
    if names:
        axes.set_xticks(range(len(names)), names)
    if panel.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(panel.bottom, panel.top)
