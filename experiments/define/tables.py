"""Tables of a result, apart from where they are shown: the terminal, a page, a CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcn.experiments.define.samples import RunSamples


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


@dataclass(frozen=True)
class Measured:
    """What tables are made of: numbers by name, of a run or means over seeds; of each seed the
    flows by size."""

    numbers: Mapping[str, float | None]
    samples: Sequence[RunSamples] = ()
