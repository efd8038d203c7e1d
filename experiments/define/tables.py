"""Tables of a result, apart from where they are shown: the terminal, a page, a CSV file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcn.experiments.define.samples import RunSamples

_NUMBER = re.compile(r"[-+]?[0-9][0-9,]*(?:\.([0-9]*))?")
_DIGIT_SPACE, _POINT_SPACE = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
"""As wide as a digit, and as a point: no zero claims a digit that wasn't measured."""


_NONE = "–"


@dataclass(frozen=True)
class Table:
    """Texts in rows; the first column names the row, all others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    """Sentences below it."""
    bars: Sequence[Sequence[tuple[str, float]]] = field(default_factory=list)
    """By row, where the last columns are parts of a whole: their names and shares of 1, which a
    page draws as one bar."""
    caveats: Sequence[str] = field(default_factory=list)
    """Sentences below its notes, of what limits all numbers of these runs."""


@dataclass(frozen=True)
class Measured:
    """What tables are made of: numbers by name, of a run or means over seeds; of each seed the
    flows by size."""

    numbers: Mapping[str, float | None]
    samples: Sequence[RunSamples] = ()


def aligned(cells: Sequence[str]) -> list[str]:
    """Returns a column's texts with room behind shorter numbers, so that right-aligned points stand
    below each other. Texts that aren't one number stay as they are, and so do all where some have
    a number in it, as units differ there."""
    numbers = [_NUMBER.fullmatch(cell) for cell in cells]
    if any(
        any(map(str.isdigit, cell)) for cell, match in zip(cells, numbers, strict=True) if not match
    ):
        return list(cells)
    digits = [len(match[1] or "") if match else 0 for match in numbers]
    most = max(digits, default=0)
    pointed = [bool(match) and "." in cell for match, cell in zip(numbers, cells, strict=True)]
    return [
        cell + ("" if point else _POINT_SPACE) + _DIGIT_SPACE * (most - count)
        if match and most
        else cell
        for cell, match, count, point in zip(cells, numbers, digits, pointed, strict=True)
    ]


def aligned_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Returns a table's rows with each column but the first aligned."""
    columns = [
        list(column) if place == 0 else aligned(column)
        for place, column in enumerate(zip(*rows, strict=True))
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def with_unit(heading: str, cells: Sequence[str]) -> tuple[str, list[str]]:
    """Returns a column whose cells have all one unit with it in the heading, and aligned; a dash
    has none."""
    parts = [cell.partition(" ") for cell in cells]
    known = [(part, unit) for part, _, unit in parts if part != _NONE]
    units = {unit for _, unit in known}
    if len(units) == 1 and "" not in units and all(_NUMBER.fullmatch(part) for part, _ in known):
        return f"{heading}, {units.pop()}", aligned([number for number, _, _ in parts])
    return heading, aligned(cells)
