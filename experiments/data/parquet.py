"""Tables as Parquet files, by arro3, which is a fifth of pyarrow. Tables are made in memory first:
arro3 panics on an OSError of a file."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import IO, Any

import numpy as np
from arro3.core import Array, DataType, RecordBatchReader, Table
from arro3.io import read_parquet, write_parquet
from numpy.typing import NDArray

from pcn.base import inputs
from pcn.base.python_process import python_command

Column = NDArray[Any] | Sequence[Any]

_PROBE_BYTES, _PROBE_S = 2**32, 60


class TooManyRowsError(ValueError):
    """A file has more rows than its reader takes."""


def write(
    file: IO[bytes],
    columns: Mapping[str, Column | Array],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes columns of one length: numbers, texts or truth values, None for those that are
    missing. Raises OSError."""
    write_groups(file, [columns], metadata)


def write_groups(
    file: IO[bytes],
    groups: Iterable[Mapping[str, Column | Array]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a table that comes in groups of rows, at least one, each made when those before it are
    written: all have the same columns, of the same types. Raises OSError."""
    tables = (
        Table.from_pydict(
            {name: _array(column) for name, column in columns.items()},
            metadata=dict(metadata or {}),
        )
        for columns in groups
    )
    first = next(tables)
    # Times and rates hardly repeat: a dictionary of them makes files larger, and takes a fifth of
    # the time.
    repeats: dict[str | Sequence[str], bool] = {
        name: False for name in first.column_names if first.column(name).type == DataType.float64()
    }
    batches = (batch for table in chain([first], tables) for batch in table.to_batches())
    try:
        reader = RecordBatchReader.from_batches(first.schema, batches)  # it takes them one by one
    except TypeError:  # arro3 0.8, the newest for Python 3.10, takes no iterator
        reader = RecordBatchReader.from_batches(first.schema, list(batches))
    buffer = io.BytesIO()
    write_parquet(reader, buffer, compression="zstd(1)", column_dictionary_enabled=repeats)
    file.write(buffer.getbuffer())


def read(
    path: Path, names: Sequence[str] | None = None, most: int | None = None
) -> dict[str, list[Any]]:
    """Returns the columns of a file of ours; of these names those that it has. Raises OSError;
    TooManyRowsError for more than `most`."""
    reader = read_parquet(io.BytesIO(inputs.read_bytes(path)))
    columns: dict[str, list[Any]] = {
        name: [] for name in reader.schema.names if names is None or name in names
    }
    rows = 0
    for batch in reader:
        rows += batch.num_rows
        if most is not None and rows > most:
            raise TooManyRowsError(f"more than {most:,} rows")
        for name, values in columns.items():
            values += _values(batch.column(name))
    return columns


def _values(column: Array) -> list[Any]:
    """Returns a column as Python's values: of numbers through NumPy, in a fifth of the time."""
    plain = column.type == DataType.float64() and not column.null_count
    values: list[Any] = column.to_numpy().tolist() if plain else list(column.to_pylist())
    return values


def read_of_others(path: Path, names: Sequence[str] | None, most: int) -> dict[str, list[Any]]:
    """Returns what `read` does of a file that any user may have written. Raises OSError;
    ValueError where it can't be read within bounds of memory and time."""
    _probe(path, names, most)
    return read(path, names, most)


def _probe(path: Path, names: Sequence[str] | None, most: int) -> None:
    """Reads a file in a separate process as `read` does, with bounds of memory and time: wrong
    lengths make arro3 end the process that it is in, and a short file may have a long text in each
    of many rows. Raises ValueError."""
    arguments = json.dumps([str(path.absolute()), names, most, _PROBE_BYTES])
    command = python_command("pcn.experiments.data.parquet_probe", arguments)
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PROBE_S, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"this isn't read as Parquet within {_PROBE_S} s") from None
    if done.returncode != 0:
        raise ValueError(
            f"this can't be read as Parquet, or not with {_PROBE_BYTES // 2**30} GiB of memory"
        )


def labels(names: Sequence[str], which: NDArray[np.int32]) -> Array:
    """Returns a column of texts that repeat (a dictionary in Parquet): row i has
    names[which[i]]."""
    repeating = DataType.dictionary(DataType.int32(), DataType.string())
    # takes numbers alone
    return Array(list(names), DataType.string()).cast(repeating).take(_numbers(which))


def numbers(values: Sequence[Any], kind: type[int] | type[float]) -> Array:
    """Returns a column of numbers of one kind, None for those that are missing, be it all."""
    return Array(values, DataType.int64() if kind is int else DataType.float64())


def _array(column: Column | Array) -> Array:
    if isinstance(column, Array):
        return column
    if isinstance(column, np.ndarray):
        return _numbers(column)
    return Array(column, _type(column))


def _numbers(column: NDArray[Any]) -> Array:
    """Returns a column of an array's numbers. arro3 0.8, the newest for Python 3.10, takes no array
    without any."""
    if column.size == 0:
        return Array.from_numpy(np.zeros(1, column.dtype)).slice(0, 0)
    return Array.from_numpy(np.ascontiguousarray(column))


def _type(column: Sequence[Any]) -> DataType:
    """Returns the narrowest of bool, int64, float64 and string that has all values; float64 where
    all are missing."""
    kinds = set(map(type, column)) - {NoneType}
    for kind, data_type in ((bool, DataType.bool), (int, DataType.int64), (str, DataType.string)):
        if kinds == {kind}:
            return data_type()
    return DataType.float64()
