"""`--explain` of `pcn run` and `pcn sweep`: parts of completion times, which sum to them."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import results_format

from pcn.cli import run as pcn
from pcn.experiments.data.parts import PART_TEXTS
from pcn.experiments.explain import words
from pcn.hosts.explain_log import PARTS, WINDOW_PARTS

PARTS_COLUMNS = [
    *results_format.columns("Parts of completion times"),
    *results_format.columns("Parts of windows"),
]
TRAFFIC = ["traffic", "--topology", "star", "--set", "count=20"]


def rows_of(file: Path) -> list[dict[str, int]]:
    rows: list[dict[str, int]] = pq.read_table(file).to_pylist()
    return rows


def sums_are_right(rows: list[dict[str, int]]) -> bool:
    names = results_format.columns("Parts of completion times")
    windows = results_format.columns("Parts of windows")
    assert all(
        sum(row[name] for name in windows) == row["window_ps"] for row in rows if row["fct_ps"]
    )
    there = [row for row in rows if row["fct_ps"] is not None]
    assert all(row[name] is None for row in rows if row["fct_ps"] is None for name in names)
    return bool(there) and all(
        sum(row[name] for name in names[1:]) == row["fct_ps"] for row in there
    )


def test_traffic_has_columns_of_parts_and_the_same_digest(tmp_path):
    digests = []
    for more in ([], ["--explain"]):
        out = tmp_path / f"out{len(more)}"
        assert pcn(["run", *TRAFFIC, "--clock", "virtual", "-q", "--out", str(out), *more]) == 0
        digests.append(json.loads((out / "summary.json").read_text())["digest"])
    assert digests[0] == digests[1]
    rows = rows_of(out / "flows.parquet")
    usual = results_format.columns("flows.parquet")
    assert list(rows[0]) == [*usual, *PARTS_COLUMNS]
    assert sums_are_right(rows)
    assert all(abs(row["fct_ps"] - row["fct_s"] * 1e12) < 2e3 for row in rows)


def test_victim_has_a_table_of_its_flows_parts(tmp_path):
    out, brief = tmp_path / "out", ["--set", "before=1ms", "--set", "duration=4ms"]
    assert (
        pcn(
            [
                "run", "victim", "--scheme", "pfc", *brief, "--clock", "virtual", "--explain",
                "-q", "--out", str(out),
            ]
        )
        == 0
    )  # fmt: skip
    rows = rows_of(out / "flows.parquet")
    assert list(rows[0]) == ["id", "src", "dst", "class", *PARTS_COLUMNS]
    assert sums_are_right(rows)
    assert sum(row["paused_ps"] or 0 for row in rows) > 0


def test_sweep_has_the_shares_of_parts(tmp_path):
    out = tmp_path / "out"
    assert pcn(["sweep", *TRAFFIC, "--seeds", "1:2", "--explain", "-q", "--out", str(out)]) == 0
    with (out / "means.csv").open() as file:
        means = {row["number"]: float(row["mean"]) for row in csv.DictReader(file)}
    parts = [
        name.replace("_ps", "_share")
        for name in results_format.columns("Parts of completion times")[1:]
    ]
    assert sum(means[name] for name in parts) == pytest.approx(1, abs=1e-9)
    assert means["own_share"] > 0


def test_parts_by_size_are_a_table_of_runs_and_comparisons(tmp_path, capsys):
    out = tmp_path / "out"
    assert (
        pcn(
            [
                "run", *TRAFFIC, "--scheme", "pcn,pfc", "--clock", "virtual", "--explain",
                "--out", str(out),
            ]
        )
        == 0
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert "where the time went, %" in printed
    for scheme in ("pcn", "pfc"):
        measures = json.loads((out / scheme / "summary.json").read_text())["measures"]
        for size in ("all", "S"):
            assert sum(measures[f"{name}_ms {size}"] for name in PARTS) == pytest.approx(
                measures[f"mean_ms {size}"]
            )
    assert pcn(["compare", str(out)]) == 0
    assert "where the time went, %" in capsys.readouterr().out
    assert "where the time went, %" in (out / "report.html").read_text()


def test_texts_name_the_parts_of_the_engine():
    assert tuple(PART_TEXTS) == PARTS
    assert tuple(words.WINDOW_PARTS) == WINDOW_PARTS


def test_a_live_run_is_not_explained(tmp_path, capsys):
    assert pcn(["run", *TRAFFIC, "--explain", "--out", str(tmp_path / "out")]) != 0
    assert "parts of their times" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
