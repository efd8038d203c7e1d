"""Series give back what was recorded, by time, however it came."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data import parquet, series as series_module
from pcn.experiments.data.series import Series

TIMES = st.floats(0, 10, allow_nan=False)
PIECES = st.lists(
    st.tuples(
        st.sampled_from(["flow 1", "s0:1"]),
        st.sampled_from(["rate", "queue"]),
        st.lists(TIMES, max_size=4),
    ),
    max_size=12,
)


@given(PIECES, st.lists(st.booleans(), min_size=12, max_size=12))
def test_series_has_values_in_order_of_time_and_arrival(pieces, many):
    series, expected, number = Series(), dict[tuple[str, str], list[tuple[float, float]]](), 0
    for (entity, metric, times), at_once in zip(pieces, many, strict=False):
        values = [float(number + i) for i in range(len(times))]
        number += len(times)
        if at_once:
            series.extend(np.array(times), entity, metric, np.array(values))
        else:
            for time_s, value in zip(times, values, strict=True):
                series.add(time_s, entity, metric, value)
        if times or at_once:
            expected.setdefault((entity, metric), []).extend(zip(times, values, strict=True))
    assert list(series) == list(expected)
    for key, rows in expected.items():
        columns = series.get(*key)
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == sorted(
            rows, key=lambda row: row[0]
        )
    assert series.entities("rate") == [entity for entity, metric in expected if metric == "rate"]
    with TemporaryDirectory() as folder:
        path = Path(folder, "series.parquet")
        with path.open("wb") as file:
            series.write(file)
        again = Series.read(path)
    for key in expected:
        for read_back, written in zip(again.get(*key), series.get(*key), strict=True):
            np.testing.assert_array_equal(read_back, written)


@pytest.mark.parametrize("group_rows", [1, 4, 7, 2**20])
def test_series_of_several_groups_of_rows_reads_as_of_one(group_rows, tmp_path, monkeypatch):
    """Of a large network a million rows are made in memory at a time."""
    monkeypatch.setattr(series_module, "_GROUP_ROWS", group_rows)
    sizes: list[int] = []
    rows = Series._rows

    def counted(self: Series, columns: Sequence[tuple[str, str]]) -> dict[str, Any]:
        table = rows(self, columns)
        sizes.append(table["time_s"].size)
        return table

    monkeypatch.setattr(Series, "_rows", counted)
    series = Series()
    for port in range(9, 0, -1):
        series.extend(np.arange(3.0), f"s0:{port}", "queue", np.arange(3.0) * port)
    series.add(0.5, "s0:1", "rate", 7.0)
    path = tmp_path / "series.parquet"
    with path.open("wb") as file:
        series.write(file)
    assert sum(sizes) == 28
    assert max(sizes) <= max(group_rows, 3)
    again = Series.read(path)
    assert list(again) == sorted(series)
    for key in series:
        for read_back, written in zip(again.get(*key), series.get(*key), strict=True):
            np.testing.assert_array_equal(read_back, written)


def test_series_keeps_the_arrays_that_it_is_given():
    """Thousands of ports have the same times: these are there once."""
    series, times = Series(), np.arange(5.0)
    for port in range(3):
        series.extend(times, f"s0:{port}", "queue", times * port)
    assert all(series.get(f"s0:{port}", "queue")[0] is times for port in range(3))
    assert series.get("s0:9", "queue")[0].size == 0


def test_file_of_others_that_ends_its_reader_is_refused(tmp_path, capfd):
    """A page whose length is wrong makes arro3 abort, a footer that is wrong makes it panic."""
    path = tmp_path / "a.parquet"
    with path.open("wb") as file:
        parquet.write(file, {"a": list(range(3000)), "b": ["x"] * 3000})
    assert len(parquet.read_of_others(path, ["a"], 3000)["a"]) == 3000
    assert list(parquet.read(path, ["b", "c"])) == ["b"]
    with pytest.raises(ValueError, match="more than 2,000 rows"):
        parquet.read(path, most=2000)
    whole = path.read_bytes()
    for wrong in (
        b"PAR1" + bytes(40),
        whole[:-40] + b"\xff" * 32 + whole[-8:],
        whole[: len(whole) // 2],
        b"",
    ):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match="this can't be read as Parquet"):
            parquet.read_of_others(path, None, 3000)
    assert capfd.readouterr().err == ""
