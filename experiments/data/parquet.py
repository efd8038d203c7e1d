"""Tables as Parquet files, by arro3, which is a fifth of pyarrow. Tables are made in memory first: arro3 panics on an
OSError of a file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from arro3.core import Array, DataType, Table
from arro3.io import read_parquet, write_parquet
from numpy.typing import NDArray

Column = NDArray[Any] | Sequence[Any]


def write(file: IO[bytes], columns: Mapping[str, Column | Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write columns of one length: numbers, texts or truth values, None for those that are missing. Raises OSError."""
    table = Table.from_pydict({name: _array(column) for name, column in columns.items()}, metadata=dict(metadata or {}))
    buffer = io.BytesIO()
    write_parquet(table, buffer, compression="zstd(1)")
    file.write(buffer.getbuffer())


def read(path: Path) -> dict[str, list[Any]]:
    """Return the columns of a file. Raises OSError."""
    table = read_parquet(io.BytesIO(path.read_bytes())).read_all()
    return {name: list(table[name].to_pylist()) for name in table.column_names}


def labels(names: Sequence[str], which: NDArray[np.int32]) -> Array:
    """Return a column of texts that repeat (a dictionary in Parquet): row i has names[which[i]]."""
    repeating = DataType.dictionary(DataType.int32(), DataType.string())
    return Array(list(names), DataType.string()).take(Array.from_numpy(which)).cast(repeating)


def _array(column: Column | Array) -> Array:
    if isinstance(column, Array):
        return column
    if isinstance(column, np.ndarray):
        return Array.from_numpy(np.ascontiguousarray(column))
    return Array(column, _type(column))


def _type(column: Sequence[Any]) -> DataType:
    """The narrowest of bool, int64, float64 and string that has all values; float64 where all are missing."""
    kinds = {type(value) for value in column if value is not None}
    for kind, made in ((bool, DataType.bool), (int, DataType.int64), (str, DataType.string)):
        if kinds == {kind}:
            return made()
    return DataType.float64()
