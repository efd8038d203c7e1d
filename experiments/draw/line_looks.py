"""How lines look, in pictures and on pages alike: by their own colour, their scheme, or as no other
line of a chart."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import replace

from pcn.experiments.define.charts import Chart, Line
from pcn.experiments.define.looks import LOOKS, MARKS, Look
from pcn.experiments.draw.palette import LIGHT, palette_name, stroke_of

_OTHERS = 4 * len(LIGHT.others)
"""Looks of ports and links."""


def looks(lines: Sequence[Line]) -> list[Look]:
    """Returns each line's: its own colour, its scheme's look, or one that no other of these lines
    has. A scheme that has no look begins to search for one at a place that its name decides. A
    line's own stroke is in place of another one's."""
    named = [_look_of(line) for line in lines]
    colours = dict.fromkeys(f"other{number}" for number in range(len(LIGHT.others)))
    colours |= dict.fromkeys(f"flow{number}" for number in range(len(LIGHT.flows)))
    values: dict[str, str] = {}
    for name in colours:
        values.setdefault(LIGHT.colour(name), name)
    taken = {LIGHT.colour(look.colour) for look in named if look}
    free = [name for value, name in values.items() if value not in taken] or list(values.values())
    marks = [mark for mark in MARKS if mark not in {look.mark for look in named if look}] or list(
        MARKS
    )
    used: list[int] = []
    chosen = []
    for line, look in zip(lines, named, strict=True):
        if not look:
            first = zlib.crc32(line.scheme.encode()) if line.scheme else 0
            order = [(first + step) % len(free) for step in range(len(free))]
            place = min(order, key=used.count)  # the first of those that are used least
            used.append(place)
            look = Look(
                free[place],
                marks[(place + len(free) * (used.count(place) - 1)) % len(marks)],
                "solid",
            )
        chosen.append(look if line.stroke == "solid" else look._replace(stroke=line.stroke))
    return chosen


def _look_of(line: Line) -> Look | None:
    if line.colour:
        return Look(palette_name(line.colour), _mark_of(line.colour), stroke_of(line.colour))
    return LOOKS.get(line.scheme)


def _mark_of(colour: str) -> str:
    """Returns the mark that goes with a colour's name, so that no two of a chart differ by colour
    alone; those of ports and links follow those of flows."""
    number = colour.lstrip("abcdefghijklmnopqrstuvwxyz")
    first = len(LIGHT.flows) if colour.startswith("other") else 0
    return MARKS[(first + int(number)) % len(MARKS)] if number else MARKS[-1]


def apart(panels: Sequence[Chart]) -> list[Chart]:
    """Returns the same chart of several runs, with another look for each port and link that its
    lines name."""
    colours: dict[str, str] = {}
    free = itertools.cycle(f"other{number}" for number in range(_OTHERS))
    known = {
        line.label: line.colour
        for chart in panels
        for line in chart.lines
        if line.colour.startswith("other")
    }
    if len(set(known.values())) == len(known):
        return list(panels)
    for label in known:
        colours[label] = next(free)
    return [
        replace(
            chart,
            lines=tuple(
                replace(line, colour=colours.get(line.label, line.colour)) for line in chart.lines
            ),
        )
        for chart in panels
    ]
