"""What a run recorded over time: for an entity (flow, port, link) and a metric, values at nominal
times."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from pcn.experiments.data.series_math import Array

_GROUP_ROWS = 2**17
"""Rows that are made in memory at once: their columns stay in the processor's cache, and memory is
used again, in an eighth less time than with 2^20. The file's own groups of rows are arro3's."""


_Pair = tuple[Array, Array]
"""Times, and a value each."""


class _Column:
    """Values that came many at once, in arrays, then those that came one by one: a large network
    has a million columns, most of one array."""

    __slots__ = ("arrays", "times", "values")

    def __init__(
        self,
        arrays: tuple[tuple[Array, Array], ...] = (),
        times: Sequence[float] = (),
        values: Sequence[float] = (),
    ) -> None:
        self.arrays = arrays
        self.times: list[float] | None = list(times) or None
        self.values: list[float] | None = list(values) or None

    def add(self, time_s: float, value: float) -> None:
        if self.times is None or self.values is None:
            self.times, self.values = [time_s], [value]
        else:
            self.times.append(time_s)
            self.values.append(value)

    def settled(self) -> tuple[tuple[Array, Array], ...]:
        """Returns all as arrays."""
        if self.times is not None:
            pair = np.array(self.times, dtype=float), np.array(self.values, dtype=float)
            self.arrays = (*self.arrays, pair)
            self.times = self.values = None
        return self.arrays

    def copy(self) -> _Column:
        return _Column(self.arrays, self.times or (), self.values or ())


@dataclass
class Series:
    """Columns of (time_s, value) by (entity, metric). Entities are named like `flow 1`, `s0:4`,
    `s1->s0`."""

    _columns: dict[tuple[str, str], _Column] = field(default_factory=dict)
    _ordered: Array | None = field(default=None, repr=False, compare=False)
    """The latest times that were found in order: thousands of columns have the same array."""

    def add(self, time_s: float, entity: str, metric: str, value: float) -> None:
        column = self._columns.get((entity, metric)) or self._column(entity, metric)
        column.add(time_s, value)

    def extend(self, times_s: Array, entity: str, metric: str, values: Array) -> None:
        """Many at once. The arrays are kept, and must not change."""
        column = self._columns.get((entity, metric))
        if column is None:
            self._columns[entity, metric] = _Column(((times_s, values),))
        else:
            column.arrays = (*column.settled(), (times_s, values))

    def extend_rows(
        self, times_s: Sequence[float], keys: Iterable[tuple[str, str]], values: Sequence[float]
    ) -> None:
        """Rows in any order, of (entity, metric) each: one array a key, however the rows alternate,
        so that a file of others takes memory in proportion to it. Raises ValueError for what is no
        number, or for columns of other lengths."""
        places: defaultdict[tuple[str, str], int] = defaultdict(itertools.count().__next__)
        which = np.fromiter(map(places.__getitem__, keys), np.int64)
        if not which.size == len(times_s) == len(values):
            raise ValueError("columns of different lengths")
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(places) + 1))
        times, numbers = (np.asarray(column, dtype=float)[order] for column in (times_s, values))
        for (entity, metric), place in places.items():
            rows = slice(bounds[place], bounds[place + 1])
            self.extend(times[rows], entity, metric, numbers[rows])

    def get(self, entity: str, metric: str) -> tuple[Array, Array]:
        """Returns (times in s, values), ordered by time; both empty when nothing was recorded."""
        column = self._columns.get((entity, metric))
        if column is None:
            return np.empty(0), np.empty(0)
        return self._in_order(column.settled())

    def _in_order(self, arrays: tuple[_Pair, ...]) -> _Pair:
        """Returns the times and values of a column, by time."""
        times, values = (
            arrays[0] if len(arrays) == 1 else map(np.concatenate, zip(*arrays, strict=True))
        )
        if times is self._ordered or (times[1:] >= times[:-1]).all():
            self._ordered = times
            return times, values
        order = np.argsort(times, kind="stable")
        return times[order], values[order]

    def entities(self, metric: str) -> list[str]:
        """Returns the entities that have `metric`, in the order in which they first appeared."""
        return [entity for entity, name in self._columns if name == metric]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._columns)

    def __contains__(self, key: object) -> bool:
        return key in self._columns

    def copy(self) -> Series:
        """Returns another one with the same values, which may get more."""
        return Series({key: column.copy() for key, column in self._columns.items()})

    def write(self, file: IO[bytes]) -> None:
        """Writes all as Parquet: time_s, entity, metric, value; one row a value, ordered by entity,
        metric and time."""
        from pcn.experiments.data import parquet

        parquet.write_groups(file, map(self._rows, self._groups()))

    def _rows(self, group: tuple[list[tuple[str, str]], list[_Pair]]) -> dict[str, Any]:
        """Returns the rows of a group, as columns of a table."""
        from pcn.experiments.data import parquet

        columns, data = group
        lengths = [times.size for times, _ in data]
        names = {
            name: parquet.labels(uniques, np.repeat(np.array(places, np.int32), lengths))
            for part, name in enumerate(("entity", "metric"))
            for uniques in [sorted({key[part] for key in columns})]
            for at in [{unique: place for place, unique in enumerate(uniques)}]
            for places in [[at[key[part]] for key in columns]]
        }
        times, values = (
            np.concatenate([series[part] for series in data]) if data else np.empty(0)
            for part in (0, 1)
        )
        return {"time_s": times, **names, "value": values}

    def _groups(self) -> Iterator[tuple[list[tuple[str, str]], list[_Pair]]]:
        """Yields all columns in order with their data, as many at a time as have some 2^17 rows
        together: one group of memory."""
        columns: list[tuple[str, str]] = []
        data: list[_Pair] = []
        rows = 0
        for key in sorted(self._columns):
            pair = self._in_order(self._columns[key].settled())
            size = pair[0].size
            if columns and rows + size > _GROUP_ROWS:
                yield columns, data
                columns, data, rows = [], [], 0
            columns.append(key)
            data.append(pair)
            rows += size
        yield columns, data

    @classmethod
    def read(cls, path: Path, most: int | None = None) -> Series:
        """Returns the series that `write` wrote; with `most` of any user's file. Raises ValueError
        for more rows than that, and for a file that can't be read."""
        from pcn.experiments.data import parquet

        names = ("time_s", "entity", "metric", "value")
        table = (
            parquet.read(path, names) if most is None else parquet.read_of_others(path, names, most)
        )
        series = cls()
        keys = zip(table["entity"], table["metric"], strict=True)
        series.extend_rows(table["time_s"], keys, table["value"])
        return series

    def _column(self, entity: str, metric: str) -> _Column:
        column = self._columns.get((entity, metric))
        if column is None:
            column = self._columns[entity, metric] = _Column()
        return column
