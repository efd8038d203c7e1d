"""Charts as pictures, PNG, SVG and PDF: the views of a run's chart side by side, or the charts of
several runs."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# before what follows, which would load it here
from pcn.experiments.draw.elsewhere import (
    matplotlib,
)

# isort: split
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator, FuncFormatter, LogFormatter
from matplotlib.transforms import ScaledTranslation

from pcn.experiments.define.charts import (
    PALE_OPACITY,
    PALE_WIDTH,
    Chart,
    Line,
    View,
    highest,
    part,
    shown,
    standard_error,
    values,
)
from pcn.experiments.define.looks import Look
from pcn.experiments.draw.line_looks import looks
from pcn.experiments.draw.palette import LIGHT, Theme

STYLE = Path(__file__).with_name("pcn.mplstyle")
"""What all pictures have in common; `matplotlib.style.use` takes it for one's own."""
_STROKES = {
    "solid": "-",
    "dashed": (0, (5, 3)),
    "dotted": (0, (1, 2)),
    "dashdot": (0, (6, 2, 1.5, 2)),
}
_MARK_EVERY = 0.11
"""Of the axes: how far apart marks are on a scheme's line without points."""
_TICKS = 8
"""The most different x on a logarithmic axis that each get a label."""
_BESIDE, _ALL_BESIDE = 0.055, 0.24
"""How far apart points of one x stand, in steps of x, and all of them: equal lines don't hide each
other."""
_HEADROOM, _FOOTROOM = 1.06, 0.05
_UNSEEN = 0.006
"""A bar of this share of the highest is no more than a line."""
_TOGETHER = 8
"""The most names that one legend above all charts has, if they mean the same in all; else each
chart has its own below."""
_OF_VIEWS = 4
"""Names a row above a run's chart."""
_HANDLE_IN, _LETTER_IN = 0.55, 0.075
"""Width of a legend's sample with its distances, and of a letter."""
_BELOW_IN, _LINE_IN = 0.36, 0.17
"""How far below its axes a chart's own legend begins, and a line of the text between them."""
_FULL, _FAINT, _FEW = 0.7, 0.3, 6
"""Opacity of intervals: of as many lines at most, and of more."""
_SEEDS = "points and bars: means over the seeds, with standard errors; dots: each seed"
_ASIDE = "points of one x stand side by side, moved by a part of a step"


def pictures(charts: Sequence[Chart], pdf: bool = False) -> dict[str, bytes]:
    """Returns the charts as data, by format: `png`, `svg`, and `pdf`, which takes as long as both.
    Equal charts give equal data."""
    with matplotlib.rc_context(fname=str(STYLE)):
        figure = draw(charts)
        # finds a place for everything, once for all formats
        if layout := figure.get_layout_engine():
            layout.execute(figure)
        figure.set_layout_engine("none")
        # By the canvases, which aren't typed: `savefig` draws twice.
        buffers = {"png": io.BytesIO(), "svg": io.BytesIO()}
        in_png: Any = FigureCanvasAgg(figure)
        in_svg: Any = FigureCanvasSVG(figure)
        in_png.print_png(buffers["png"], metadata={"Software": None})
        in_svg.print_svg(buffers["svg"], metadata={"Date": None})
        if pdf:
            # takes as long to load as a chart to draw
            from matplotlib.backends.backend_pdf import (
                FigureCanvasPdf,
            )

            in_pdf: Any = FigureCanvasPdf(figure)
            in_pdf.print_pdf(
                buffers.setdefault("pdf", io.BytesIO()), metadata={"CreationDate": None}
            )
        return {kind: data.getvalue() for kind, data in buffers.items()}


def draw(charts: Sequence[Chart]) -> Figure:
    """Returns one chart with its views, or charts side by side, at most three a row by default."""
    with matplotlib.rc_context(fname=str(STYLE)):
        return _drawn(charts)


def _drawn(charts: Sequence[Chart]) -> Figure:
    first = charts[0]
    if first.views:
        figure, columns, rows = (
            Figure(figsize=(10.4, 3.9), dpi=160, layout="constrained"),
            len(first.views),
            1,
        )
    else:
        columns = min(first.columns or (2 if len(charts) == 4 else 3), len(charts))
        rows = -(-len(charts) // columns)
        width = 4.3 if columns <= 3 else 13.6 / columns
        height = max(
            3.4 if columns <= 3 else 2.6, *(0.9 + 0.18 * len(chart.rows) for chart in charts)
        )
        figure = Figure(
            figsize=(width * columns, height * rows + 0.3), dpi=120, layout="constrained"
        )
    figure.set_facecolor(LIGHT.background)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        rows, columns, width_ratios=[1.65, 1] if len(first.views) == 2 else None
    )
    panes = [(chart, view) for chart in charts for view in chart.views or (None,)]
    drawn = [
        figure.add_subplot(grid[place // columns, place % columns]) for place in range(len(panes))
    ]
    for axes, (chart, view) in zip(drawn, panes, strict=True):
        _draw(axes, chart, view, LIGHT)
        if view is None or axes is drawn[0]:
            axes.set_ylabel(chart.y_label, color=LIGHT.ink)
    _name(figure, drawn, charts, LIGHT)
    seeds = any(
        len(values) > 1 for chart in charts for line in chart.lines for values in line.seeds
    )
    aside = any(sum(line.points for line in chart.lines) > 1 for chart in charts)
    if notes := [_SEEDS] * seeds + [_ASIDE] * aside:
        figure.supxlabel("; ".join(notes), fontsize=8, color=LIGHT.muted, x=0.01, ha="left")
    return figure


def _name(figure: Figure, drawn: Sequence[Axes], charts: Sequence[Chart], theme: Theme) -> None:
    """Legends never lie on the curves: one above all charts, or one below each."""
    named = [dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)) for axes in drawn]
    looks_of: dict[str, set[Look]] = {}
    for chart in charts:
        for line, look in zip(chart.lines, looks(chart.lines), strict=True):
            looks_of.setdefault(line.label, set()).add(look)
    together = {label: handle for handles in reversed(named) for label, handle in handles.items()}
    together = {label: together[label] for handles in named for label in handles}
    one_level = len({chart.level_text for chart in charts if chart.level_text}) <= 1
    same = (
        len(together) <= _TOGETHER
        and one_level
        and all(len(label_looks) == 1 for label_looks in looks_of.values())
    )
    if charts[0].views or same:
        room = figure.get_figwidth() / (
            _HANDLE_IN + _LETTER_IN * max(map(len, together), default=0)
        )
        most = _OF_VIEWS if charts[0].views else _TOGETHER
        _legend(figure, together, theme, max(1, min(most, int(room))), loc="outside upper left")
        return
    for axes, handles in zip(drawn, named, strict=True):
        below_in = _BELOW_IN + _LINE_IN * axes.get_xlabel().count("\n")
        below = axes.transAxes + ScaledTranslation(0, -below_in, figure.dpi_scale_trans)
        _legend(
            axes,
            handles,
            theme,
            2,
            loc="upper left",
            bbox_to_anchor=(-0.02, 0),
            bbox_transform=below,
        )


def _legend(
    where: Figure | Axes, named: Mapping[str, Any], theme: Theme, columns: int, **place: Any
) -> None:
    """Handles by their labels."""
    if not named:
        return
    legend = where.legend(
        list(named.values()),
        list(named),
        ncols=min(columns, len(named)),
        **place,
    )
    for text in legend.get_texts():
        text.set_color(theme.ink)


def _draw(axes: Axes, chart: Chart, view: View | None, theme: Theme) -> None:
    """One view of a chart, or all of it."""
    _dress(axes, theme)
    for band in chart.bands:
        axes.axvspan(band.start, band.end, color=theme.muted, alpha=0.12, lw=0, label=band.label)
    if chart.rows:
        _draw_rows(axes, chart, theme)
    else:
        _draw_lines(axes, chart, view, theme)
    axes.set_title(view.title if view else chart.title, color=theme.ink)
    axes.set_xlabel(chart.x_label, color=theme.ink)
    if chart.empty and not any(line.y.size for line in chart.lines):
        axes.text(0.5, 0.5, chart.empty, transform=axes.transAxes, ha="center", color=theme.muted)
        axes.set_yticks([])


def _dress(axes: Axes, theme: Theme) -> None:
    """Background, grid, ticks and frame."""
    axes.set_facecolor(theme.background)
    axes.grid(color=theme.grid)
    axes.tick_params(which="both", colors=theme.muted)
    for spine in axes.spines.values():
        spine.set_color(theme.muted)


def _draw_rows(axes: Axes, chart: Chart, theme: Theme) -> None:
    for line, look in zip(chart.lines, looks(chart.lines), strict=True):
        axes.barh(line.x, line.y, 0.7, color=theme.colour(look.colour), label=line.label)
        for place, value, seeds in zip(
            line.x, line.y, line.seeds or [()] * len(line.x), strict=True
        ):
            _draw_seeds(axes, place, value, seeds, theme, across=True)
    if chart.level is not None:
        axes.axvline(
            chart.level,
            color=theme.accent,
            lw=1,
            ls=_STROKES["dashed"],
            label=chart.level_text or None,
        )
    axes.set_yticks(range(len(chart.rows)), chart.rows)
    axes.invert_yaxis()


def _draw_lines(axes: Axes, chart: Chart, view: View | None, theme: Theme) -> None:
    # Points of equal lines stand side by side; other equal lines are one, which has all their
    # names.
    (chart_lines,) = shown([chart]) if view else (tuple(chart.lines),)
    lines, count = [part(line, view) for line in chart_lines], len(chart_lines)
    step = (
        _step([x for line in lines for x in line.x], chart.log_x)
        if any(line.points for line in lines)
        else 0.0
    )
    for index, (line, look) in enumerate(zip(lines, looks(lines), strict=True)):
        aside = index - (count - 1) / 2
        if chart.bars:
            _draw_bars(
                axes,
                line,
                look,
                aside * 0.8 / count,
                0.72 / count,
                _UNSEEN * _most(chart, lines),
                theme,
            )
            continue
        pointed = [drawn.points for drawn in lines]
        aside = sum(pointed[:index]) - (sum(pointed) - 1) / 2
        shift = min(_BESIDE, _ALL_BESIDE / count) * step * aside if line.points else 0.0
        places = line.x * 2**shift if chart.log_x else line.x + shift
        # over bins no line goes across one without a value
        gaps = np.flatnonzero(np.diff(line.x) > 1) + 1 if chart.bins else np.empty(0, int)
        axes.plot(
            np.insert(places, gaps, np.nan),
            np.insert(line.y, gaps, np.nan),
            drawstyle="steps-post" if line.shape == "steps" else "default",
            ls=_STROKES[look.stroke],
            color=theme.colour(look.colour),
            lw=line.width * (PALE_WIDTH if line.pale else 1),
            alpha=PALE_OPACITY if line.pale else 1.0,
            marker=look.mark if line.points or line.scheme or count > 1 else None,
            markevery=None if line.points else _MARK_EVERY,
            ms=4.5,
            clip_on=not (line.points and places.size),  # a mark on the axis is whole
            label=line.label,
        )
        if line.low is not None and line.high is not None:
            ends = [line.y - line.low, line.high - line.y]
            axes.errorbar(
                places,
                line.y,
                yerr=ends,
                fmt="none",
                color=theme.colour(look.colour),
                lw=1,
                capsize=2,
                alpha=_FULL if count <= _FEW else _FAINT,
            )
        for place, value, seeds in zip(
            places, line.y, line.seeds or [()] * len(places), strict=True
        ):
            _draw_seeds(axes, place, value, seeds, theme)
    if chart.level is not None:
        axes.axhline(
            chart.level,
            color=theme.accent,
            lw=1,
            ls=_STROKES["dashed"],
            label=chart.level_text or None,
        )
    for mark in chart.marks:
        if view is None or view.start < mark.x <= view.end:
            axes.axvline(
                mark.x, color=theme.accent, lw=1, ls=":", label=f"{mark.label}: {mark.x:.2g} ms"
            )
    _set_x(axes, chart, view)
    if chart.log_y and any((line.y > 0).any() for line in lines):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        # labels where there are few decades, without TeX
        axes.yaxis.set_minor_formatter(LogFormatter())
    else:
        _set_y(axes, chart, view, lines, theme)


def _draw_bars(
    axes: Axes, line: Line, look: Look, aside: float, width: float, unseen: float, theme: Theme
) -> None:
    """Bars; those up to `unseen` would be taken for missing ones, and have their value written
    above."""
    places = line.x + aside
    axes.bar(places, line.y, width, color=theme.colour(look.colour), label=line.label)
    for place, value, seeds in zip(places, line.y, line.seeds or [()] * len(places), strict=True):
        if value <= unseen:
            axes.plot(
                [place - width / 2, place + width / 2],
                [0, 0],
                color=theme.colour(look.colour),
                lw=3,
                solid_capstyle="butt",
            )
            axes.annotate(
                f"{value:.2g}",
                (place, 0),
                (0, 3),
                textcoords="offset points",
                ha="center",
                rotation=90 if value else 0,
                fontsize=8.5,
                color=theme.ink,
            )
        else:
            _draw_seeds(axes, place, value, seeds, theme)


def _draw_seeds(
    axes: Axes,
    place: float,
    mean: float,
    seeds: Sequence[float],
    theme: Theme,
    across: bool = False,
) -> None:
    """Each seed's value, and the standard error of their mean."""
    if len(seeds) < 2:
        return
    error = standard_error(seeds)
    x, y = ([place] * len(seeds), seeds) if not across else (seeds, [place] * len(seeds))
    axes.plot(x, y, ls="", marker="o", ms=2, color=theme.ink, alpha=0.5, zorder=4)
    if across:
        axes.errorbar(mean, place, xerr=error, color=theme.ink, lw=1, capsize=2, zorder=4)
    else:
        axes.errorbar(place, mean, yerr=error, color=theme.ink, lw=1, capsize=2, zorder=4)


def _step(places: Sequence[float], log: bool) -> float:
    """Returns the least distance between two x; in powers of two on a logarithmic axis."""
    different = sorted({math.log2(x) if log else x for x in places})
    return min((b - a for a, b in itertools.pairwise(different)), default=1.0)


def _set_x(axes: Axes, chart: Chart, view: View | None) -> None:
    if view:
        axes.set_xlim(view.start, view.end)
        axes.xaxis.set_minor_locator(AutoMinorLocator())
    if chart.log_x:
        ticks = sorted({x for line in chart.lines for x in line.x})
        axes.set_xscale("log", base=2 if len(ticks) <= _TICKS else 10)
        if len(ticks) <= _TICKS:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        else:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.minorticks_off()
    else:
        places = {float(x) for line in chart.lines if line.points for x in line.x}
        if len(places) == 1 and not view:  # else the axis is of what points are moved by
            (place,) = places
            axes.set_xlim(place - 1, place + 1)
            axes.set_xticks([place], [f"{place:g}"])
    names = chart.ticks or chart.bars
    if names:
        axes.set_xticks(range(len(names)), names)


def _most(chart: Chart, lines: Sequence[Line]) -> float:
    return max(highest(lines), chart.level or 0.0)


def _set_y(
    axes: Axes, chart: Chart, view: View | None, lines: Sequence[Line], theme: Theme
) -> None:
    """From `bottom`, or a little below what is lowest, to `top`, or to a little above what is
    highest; returns where the axis is cut below that."""
    cut, most = view.top if view else chart.top, highest(lines, view)
    top, lowest = _most(chart, lines) * _HEADROOM or 1.0, float(values(lines).min(initial=math.inf))
    bottom = lowest - (top - lowest) * _FOOTROOM if lowest < chart.bottom else chart.bottom
    axes.set_ylim(bottom, top if cut is None else cut)
    if cut is not None and most > cut:
        axes.set_title(f"cut: up to {most:,.4g}", loc="right", fontsize=8, color=theme.accent)
