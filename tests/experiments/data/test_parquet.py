"""Parquet files that PCN Lab writes, read by the library that most readers have: pyarrow."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data import parquet

TYPES = {
    "truth": (pa.bool_(), st.booleans()),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "number": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns of one length, each of one kind of value and with some that are missing."""
    rows = draw(st.integers(0, 20))
    column = {
        name: st.lists(st.none() | values, min_size=rows, max_size=rows)
        for name, (_, values) in TYPES.items()
    }
    return draw(st.fixed_dictionaries(column))


def reread(columns: dict[str, Any], metadata: dict[str, str] | None = None) -> pa.Table:
    file = io.BytesIO()
    parquet.write(file, columns, metadata)
    return pq.read_table(io.BytesIO(file.getvalue()))


@given(tables())
def test_pyarrow_reads_every_value_and_its_type(columns):
    table = reread(columns)
    assert table.to_pydict() == columns
    for name, values in columns.items():
        missing = all(value is None for value in values)
        assert table.schema.field(name).type == (pa.float64() if missing else TYPES[name][0])


def test_whole_numbers_beside_others_are_numbers():
    assert reread({"k": [1, 2.5, None]}).to_pydict() == {"k": [1.0, 2.5, None]}


def test_labels_are_a_dictionary_as_pandas_categories():
    table = reread(
        {
            "port": parquet.labels(["s0:1", "s0:2"], np.array([1, 0, 1], np.int32)),
            "value": np.arange(3.0),
        }
    )
    assert table.schema.field("port").type == pa.dictionary(pa.int32(), pa.string())
    assert table.to_pydict() == {"port": ["s0:2", "s0:1", "s0:2"], "value": [0.0, 1.0, 2.0]}


def test_metadata_is_the_files():
    assert reread({"a": [1]}, {"commit": "4f2a"}).schema.metadata == {b"commit": b"4f2a"}


def test_read_returns_what_write_wrote(tmp_path):
    columns = {"n": [1, None], "name": ["a", "b"]}
    with (tmp_path / "own.parquet").open("wb") as file:
        parquet.write(file, columns)
    assert parquet.read(tmp_path / "own.parquet") == columns


def test_full_disk_raises_an_os_error():
    with (
        pytest.raises(OSError, match="No space"),
        Path("/dev/full").open("wb", buffering=0) as file,
    ):
        parquet.write(file, {"a": [1]})


def test_file_of_others_takes_bounded_memory(tmp_path, monkeypatch):
    """Kilobytes hold 20,000 times the same text of 100 KB; a column that the reader leaves out
    takes none."""
    path, rows = tmp_path / "others.parquet", 20_000
    texts = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array(["z" * 100_000]))
    pq.write_table(pa.table({"text": texts, "number": np.zeros(rows)}), path)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(parquet, "_PROBE_BYTES", 2**30)
    assert parquet.read_of_others(path, ["number"], rows) == {"number": [0.0] * rows}
    with pytest.raises(ValueError, match="or not with 1 GiB of memory"):
        parquet.read_of_others(path, ["text"], rows)
    with pytest.raises(parquet.TooManyRowsError, match="more than 9 rows"):
        parquet.read_of_others(path, ["text"], 9)
