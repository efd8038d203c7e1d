"""What a figure of several runs shows, apart from how it is drawn: `experiments.plots` makes pictures of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line. `scheme` gives its colour, dashes and mark; `dashed` where it stands for no run; points are marked if
    asked. `seeds` are what each y is the mean of; pale lines are those of further seeds."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    scheme: str = ""
    dashed: bool = False
    points: bool = False
    seeds: Sequence[Sequence[float]] = ()
    pale: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `level` draws a thin horizontal line there, named `level_text`; `band` shades a part of the x
    axis. `top` cuts the y axis: how high the lines go is said then. `columns`: so many panels a row in the picture.

    `ticks` name x = 0, 1, 2, ...; `bars` do, too, and draw the lines' points as groups of bars. `rows` name
    them from top to bottom and draw bars to the right; `level` is a vertical line then.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    level: float | None = None
    level_text: str = ""
    bottom: float | None = 0.0
    top: float | None = None
    ticks: Sequence[str] = ()
    bars: Sequence[str] = ()
    rows: Sequence[str] = ()
    band: tuple[float, float, str] | None = None
    columns: int = 0
