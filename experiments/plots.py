"""Pictures of several runs: lines over what was varied or over time, one look a scheme everywhere."""

from __future__ import annotations

import itertools
import math
import statistics
import zlib
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from experiments.palette import LIGHT, Theme
from experiments.panels import Line, Panel
from experiments.papers.looks import LOOKS, Look
from experiments.pictures import cut, dress, legend, saved

_TICKS = 8
"""Up to so many different x on a logarithmic axis are named themselves."""
_BESIDE, _ALL_BESIDE = 0.055, 0.24
"""How far apart points of one x stand, in steps of x, and all of them: equal lines don't hide each other."""
_HEADROOM = 1.06
_FOOTROOM = 0.05
_UNSEEN = 0.006
"""A bar of this share of the highest is no more than a line."""
_TOGETHER = 8
"""So many names, if they mean the same in all panels, stand above these; else each panel has its own below it."""
_DASHED = (0, (5, 3))
_SEEDS = "points and bars: means over the seeds, with standard errors; dots: each seed"


_MARKS = ("P", "<", ">", "h", "*", "d", "p")


def looks(theme: Theme, lines: Sequence[Line]) -> list[Look]:
    """Each line's: its scheme's, or one that no scheme of this panel has. A scheme that has none of its own begins to
    look for it at a place that its name decides."""
    named = [LOOKS.get(line.scheme) for line in lines]
    taken = {theme.colour(look.colour) for look in named if look}
    free = [one for one in dict.fromkeys((*theme.others, *theme.flows)) if one not in taken]
    used: list[int] = []
    found = []
    for line, look in zip(lines, named, strict=True):
        if look:
            colour, mark, dashes = theme.colour(look.colour), look.mark, look.dashes
        else:
            first = zlib.crc32(line.scheme.encode()) if line.scheme else 0
            order = [(first + step) % len(free) for step in range(len(free))]
            place = min(order, key=used.count)  # the first of those that are used least
            used.append(place)
            colour, mark, dashes = free[place], _MARKS[place % len(_MARKS)], "-"
        found.append(Look(colour, mark, _DASHED if line.dashed else dashes))
    return found


def pictures(panels: Sequence[Panel], theme: Theme = LIGHT) -> dict[str, bytes]:
    """The panels as data, by format: `png` and `svg`."""
    return saved(draw(panels, theme))


def draw(panels: Sequence[Panel], theme: Theme = LIGHT) -> Figure:
    """The panels side by side, at most three a row unless they say otherwise."""
    columns = panels[0].columns or (2 if len(panels) == 4 else min(len(panels), 3))
    rows = -(-len(panels) // columns)
    width = 4.3 if columns <= 3 else 13.6 / columns
    height = max(3.4 if columns <= 3 else 2.6, *(0.9 + 0.18 * len(panel.rows) for panel in panels))
    figure = Figure(
        figsize=(width * columns, height * rows + 0.3), dpi=120, facecolor=theme.background, layout="constrained"
    )
    FigureCanvasAgg(figure)
    drawn = [figure.add_subplot(rows, columns, place) for place in range(1, len(panels) + 1)]
    for axes, panel in zip(drawn, panels, strict=True):
        _draw(axes, panel, theme)
    _name(figure, drawn, panels, theme)
    if any(len(values) > 1 for panel in panels for line in panel.lines for values in line.seeds):
        figure.supxlabel(_SEEDS, fontsize=8, color=theme.muted, x=0.01, ha="left")
    return figure


def _name(figure: Figure, drawn: Sequence[Axes], panels: Sequence[Panel], theme: Theme) -> None:
    """Legends never lie on the curves: one above all panels, or one below each."""
    named = [dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)) for axes in drawn]
    looks_of: dict[str, set[Look]] = {}
    for panel in panels:
        for line, look in zip(panel.lines, looks(theme, panel.lines), strict=True):
            looks_of.setdefault(line.label, set()).add(look)
    together = {label: handle for one in reversed(named) for label, handle in one.items()}
    together = {label: together[label] for one in named for label in one}
    one_level = len({panel.level_text for panel in panels if panel.level_text}) <= 1
    if len(together) <= _TOGETHER and one_level and all(len(found) == 1 for found in looks_of.values()):
        legend(figure, together, theme, columns=_TOGETHER, loc="outside upper left")
        return
    for axes, own in zip(drawn, named, strict=True):
        legend(axes, own, theme, columns=2, loc="upper left", bbox_to_anchor=(-0.02, -0.17))


def _draw(axes: Axes, panel: Panel, theme: Theme) -> None:
    dress(axes, theme, 8.5)
    if panel.band is not None:
        start, end, name = panel.band
        axes.axvspan(start, end, color=theme.muted, alpha=0.15, lw=0, label=name)
    if panel.rows:
        _draw_rows(axes, panel, theme)
    else:
        _draw_lines(axes, panel, theme)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=theme.ink)
    axes.set_xlabel(panel.x_label, fontsize=9, color=theme.ink)
    axes.set_ylabel(panel.y_label, fontsize=9, color=theme.ink)


def _draw_rows(axes: Axes, panel: Panel, theme: Theme) -> None:
    for line, look in zip(panel.lines, looks(theme, panel.lines), strict=True):
        axes.barh(line.x, line.y, 0.7, color=look.colour, label=line.label)
        for place, value, seeds in zip(line.x, line.y, line.seeds or [()] * len(line.x), strict=True):
            _draw_seeds(axes, place, value, seeds, theme, across=True)
    if panel.level is not None:
        axes.axvline(panel.level, color=theme.accent, lw=1, ls=_DASHED, label=panel.level_text or None)
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.invert_yaxis()


def _draw_lines(axes: Axes, panel: Panel, theme: Theme) -> None:
    count = len(panel.lines)
    step = _step([x for line in panel.lines for x in line.x], panel.log_x)
    for index, (line, look) in enumerate(zip(panel.lines, looks(theme, panel.lines), strict=True)):
        aside = index - (count - 1) / 2
        if panel.bars:
            _draw_bars(axes, line, look, aside * 0.8 / count, 0.72 / count, _UNSEEN * _highest(panel), theme)
            continue
        shift = min(_BESIDE, _ALL_BESIDE / count) * step * aside if line.points else 0.0
        places = [x * 2**shift if panel.log_x else x + shift for x in line.x]
        axes.plot(
            places,
            line.y,
            ls=look.dashes,
            color=look.colour,
            lw=0.8 if line.pale else 1.5,
            alpha=0.55 if line.pale else 1.0,
            marker=look.mark if line.points else None,
            ms=4.5,
            clip_on=not (line.points and places),  # a mark on the axis is whole
            label=line.label,
        )
        for place, value, seeds in zip(places, line.y, line.seeds or [()] * len(places), strict=True):
            _draw_seeds(axes, place, value, seeds, theme)
    if panel.level is not None:
        axes.axhline(panel.level, color=theme.accent, lw=1, ls=_DASHED, label=panel.level_text or None)
    _set_x(axes, panel)
    if panel.log_y:
        axes.set_yscale("log")
    else:
        _set_y(axes, panel, theme)


def _draw_bars(axes: Axes, line: Line, look: Look, aside: float, width: float, unseen: float, theme: Theme) -> None:
    """Bars; those up to `unseen` would be taken for missing ones, and have their value written above."""
    places = [x + aside for x in line.x]
    axes.bar(places, line.y, width, color=look.colour, label=line.label)
    for place, value, seeds in zip(places, line.y, line.seeds or [()] * len(places), strict=True):
        if value <= unseen:
            axes.plot([place - width / 2, place + width / 2], [0, 0], color=look.colour, lw=3, solid_capstyle="butt")
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
    axes: Axes, place: float, mean: float, seeds: Sequence[float], theme: Theme, across: bool = False
) -> None:
    """Each seed's value, and the standard error of their mean."""
    if len(seeds) < 2:
        return
    error = statistics.stdev(seeds) / math.sqrt(len(seeds))
    x, y = ([place] * len(seeds), seeds) if not across else (seeds, [place] * len(seeds))
    axes.plot(x, y, ls="", marker="o", ms=2, color=theme.ink, alpha=0.5, zorder=4)
    if across:
        axes.errorbar(mean, place, xerr=error, color=theme.ink, lw=1, capsize=2, zorder=4)
    else:
        axes.errorbar(place, mean, yerr=error, color=theme.ink, lw=1, capsize=2, zorder=4)


def _step(places: Sequence[float], log: bool) -> float:
    """The least distance between two x; in powers of two on a logarithmic axis."""
    different = sorted({math.log2(x) if log else x for x in places})
    return min((b - a for a, b in itertools.pairwise(different)), default=1.0)


def _set_x(axes: Axes, panel: Panel) -> None:
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


def _values(panel: Panel) -> list[float]:
    values = [y for line in panel.lines for y in (*line.y, *(one for seeds in line.seeds for one in seeds))]
    return values if panel.level is None else [*values, panel.level]


def _highest(panel: Panel) -> float:
    return max(_values(panel), default=1.0)


def _set_y(axes: Axes, panel: Panel, theme: Theme) -> None:
    """From `bottom`, or a little below what is lowest, to `top`, or to a little above what is highest."""
    highest, lowest = _highest(panel), min(_values(panel), default=0.0)
    top = highest * _HEADROOM or 1.0
    bottom = panel.bottom
    if bottom is not None and lowest < bottom:
        bottom = lowest - (top - lowest) * _FOOTROOM
    axes.set_ylim(bottom, top if panel.top is None else panel.top)
    if panel.top is not None and highest > panel.top:
        cut(axes, highest, theme)
