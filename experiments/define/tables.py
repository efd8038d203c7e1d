"""Tables of a result, apart from where they are shown: the terminal, a page, a CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcn.experiments.define.outcomes import Curve


@dataclass(frozen=True)
class Table:
    """Texts in rows; the first column names the row, all others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    """Sentences below it."""


@dataclass(frozen=True)
class Measured:
    """What a run's summary keeps for tables: numbers and curves by name."""

    numbers: Mapping[str, float | None]
    curves: Mapping[str, Curve] = field(default_factory=dict)
