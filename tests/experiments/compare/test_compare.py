"""The files of a comparison, and results that it refuses in one line."""

import io
import json
import math
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from compared_runs import rows_of
from hypothesis import given, settings, strategies as st
from rich.console import Console

from pcn.cli import run as pcn
from pcn.experiments.compare import tables
from pcn.experiments.compare.groups import grouped
from pcn.experiments.compare.stored_results import StoredRun, read
from pcn.experiments.compare.write import render, write
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define.samples import UNITS, RunSamples, Samples
from pcn.experiments.page.terminal import show_table


def test_comparison_has_the_runs_that_it_names(results: Path, tmp_path):
    both = tmp_path / "both"
    shutil.copytree(results / "both-1", both)
    shutil.copytree(results / "both-2" / "pcn", both / "pcn.1")
    assert [(run.scheme, run.seed) for run in read(both)] == [("pcn", 1), ("pfc", 1)]
    for name in ("..", "../other", "/tmp", "."):
        (both / "comparison.json").write_text(json.dumps({"runs": {name: {}}}))
        with pytest.raises(ExperimentError, match="is no folder in it"):
            read(both)


def test_comparison_has_tables_page_numbers_and_pictures(results: Path, tmp_path, capsys):
    places = [str(results / f"both-{seed}") for seed in range(1, 4)]
    out = tmp_path / "compared"
    assert pcn(["compare", *places, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert (
        printed.index("which is best")
        < printed.index("settings that differ")
        < printed.index("numbers that differ")
        < printed.index("slowdown p50, by size")
    )
    assert "p99, by size" not in printed, "no bin has the 100 flows that it needs"
    names = {path.name for path in out.iterdir()}
    kinds = ("png", "svg", "pdf")
    assert names >= {"comparison.html", "numbers.csv", *(f"slowdown.{kind}" for kind in kinds)}
    rows = rows_of((out / "numbers.csv").read_text())
    summaries = [
        json.loads((results / f"both-{seed}/pfc/summary.json").read_text()) for seed in range(1, 4)
    ]
    means = [summary["measures"]["mean_slowdown all"] for summary in summaries]
    assert float(rows["mean_slowdown all", "PFC alone"]["mean"]) == pytest.approx(np.mean(means))
    assert float(rows["mean_slowdown all", "PFC alone"]["standard_error"]) == pytest.approx(
        np.std(means, ddof=1) / math.sqrt(3)
    )
    assert rows["mean_slowdown all", "PFC alone"]["interval"] == "range"
    assert rows["mean_slowdown all", "PFC alone"]["test"] == "paired"
    flows = pd.concat(
        [
            pq.read_table(results / f"both-{seed}/pfc/flows.parquet").to_pandas()
            for seed in range(1, 4)
        ]
    )
    low = 0.0
    limits = json.loads((results / "both-1/pfc/summary.json").read_text())["samples"]["groups"][
        "flows"
    ]["limits"]
    for limit in limits:
        in_bin = flows[(flows["size_bytes"] > low) & (flows["size_bytes"] <= limit)]
        low = limit
        row = rows[f"p50_slowdown flows up to {limit:.0f} B", "PFC alone"]
        assert int(row["flows"]) == len(in_bin)
        assert (row["mean"] == "") == (len(in_bin) < 2)
        if row["mean"]:
            assert float(row["mean"]) == pytest.approx(in_bin["slowdown"].quantile(0.5), rel=1e-6)
    assert low >= flows["size_bytes"].max()
    whole = rows["p95_ms flows", "PFC alone"]
    assert float(whole["mean"]) == pytest.approx(flows["fct_s"].quantile(0.95) * 1e3, rel=1e-6)
    assert (whole["seeds"], whole["flows"]) == ("3", "180")
    assert rows["p99.9_slowdown flows", "PCN"]["mean"] == "", "180 flows have no 99.9%"
    assert "3 seeds, 180 flows each" in printed
    assert "paired t-test" in printed
    text = (out / "comparison.html").read_text()
    assert "<svg" not in text
    assert {name for name in ("slowdown", "completion", "over_time") if f'id="{name}"' in text} == {
        Path(name).stem for name in names if name.endswith(".svg")
    }
    assert "3 seeds, 180 flows each" in (out / "slowdown.svg").read_text()
    for picture in out.glob("*.svg"):
        ElementTree.parse(picture)
    assert (out / "slowdown.pdf").read_bytes().startswith(b"%PDF")
    assert b"/FontFile" in (out / "slowdown.pdf").read_bytes()


def test_comparison_without_matplotlib_names_its_extra(
    results: Path, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    for name in ("out", "out.1"):  # what is there is kept
        assert pcn(["compare", str(results / "low"), "--out", str(tmp_path / "out")]) == 0
        assert "no pictures here: " in capsys.readouterr().err
        assert {path.name for path in (tmp_path / name).iterdir()} == {
            "comparison.html",
            "numbers.csv",
        }


def test_comparison_reads_a_sweep(tmp_path, capsys, monkeypatch):
    # the sweep's picture
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    out = str(tmp_path / "sweep")
    command = [
        "sweep", "traffic", "--topology", "star", "--workload", "W1", "--scheme", "pcn,pfc",
        "--seeds", "1:2",
    ]  # fmt: skip
    assert (
        pcn([*command, "--set", "count=10", "--load", "0.5,0.9", "--jobs", "1", "--out", out]) == 0
    )
    capsys.readouterr()
    assert pcn(["compare", out, "--csv"]) == 0
    printed = capsys.readouterr().out
    assert pcn(["compare", f"{out}/done.jsonl", "--csv"]) == 0
    assert capsys.readouterr().out == printed, "the file that a result is kept in is the result"
    rows = rows_of(printed)
    names = {runs for _, runs in rows}
    assert names == {
        f"{scheme}, load {load}" for scheme in ("PCN", "PFC alone") for load in ("0.5", "0.9")
    }
    assert {row["seeds"] for row in rows.values()} == {"2"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("", "", "has no result: neither summary.json"),
        ("summary.json", "{", "no result that can be read: JSONDecodeError"),
        ("summary.json", "[]", "no result that can be read"),
        ("summary.json", "{}", "no result that can be read: KeyError"),
        ("done.jsonl", "{}\n", "no result that can be read: KeyError"),
        (
            "done.jsonl",
            '{"error": "", "keys": {}, "value": {"numbers": {}, "curves": {}}, "version": ""}\n',
            (
                "a sweep of an earlier version, without its flows by size: the same `pcn sweep` "
                "with --fresh"
            ),
        ),
        (
            "done.jsonl",
            '{"error": "", "keys": 1, "value": {}, "version": ""}\n',
            "no result that can be read",
        ),
    ],
)
def test_what_holds_no_result_is_one_line(name, text, message, tmp_path):
    if name:
        (tmp_path / name).write_text(text)
    with pytest.raises(ExperimentError) as caught:
        read(tmp_path)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_summary_of_an_earlier_version_is_one_line(results: Path, tmp_path):
    shutil.copytree(results / "low", tmp_path / "old")
    summary = json.loads((tmp_path / "old/summary.json").read_text())
    del summary["curves"]
    (tmp_path / "old/summary.json").write_text(json.dumps(summary))
    with pytest.raises(ExperimentError, match="KeyError: 'curves'"):
        read(tmp_path / "old")
    del summary["samples"]
    summary["curves"] = {}
    (tmp_path / "old/summary.json").write_text(json.dumps(summary))
    with pytest.raises(
        ExperimentError, match="earlier version, without its flows by size: run it again"
    ):
        read(tmp_path / "old")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def whole(results: Path) -> dict[str, Any]:
    return json.loads((results / "low/summary.json").read_text())


@settings(settings.get_profile("few"))
@given(data=st.data())
def test_comparison_of_a_damaged_summary_ends_in_tables_or_one_line(
    data, whole: dict[str, Any], tmp_path_factory
):
    place = tmp_path_factory.mktemp("damaged")
    (place / "a").mkdir()
    (place / "b").mkdir()
    (place / "a/summary.json").write_text(json.dumps(whole))
    used = (
        "reference", "scenario", "scheme", "clock", "seed", "parameters", "measures", "curves",
        "samples", "latency", "steady",
    )  # fmt: skip
    name = data.draw(st.sampled_from(used))
    value = data.draw(JSON)
    if isinstance(whole[name], dict) and data.draw(st.booleans()):
        value = {
            **whole[name],
            data.draw(st.sampled_from(sorted(whole[name])) if whole[name] else st.text()): value,
        }
    (place / "b/summary.json").write_text(json.dumps({**whole, name: value}))
    try:
        run_groups = grouped(read(place))
    except ExperimentError as error:
        lines = str(error).splitlines()
        assert len(lines) == 1  # either is right
        return
    console = Console(file=io.StringIO())
    for table in tables.all_tables(run_groups):
        show_table(table, console)
    assert tables.as_csv(run_groups)
    assert "<h1>" in render(run_groups, {})


def test_names_with_markup_are_shown_as_they_are(tmp_path):
    samples = RunSamples(
        "a",
        {
            "[i]$": Samples.of(
                (1.0, 2.0), np.array([1.0, 2.0] * 9), dict.fromkeys(UNITS, np.ones(18))
            )
        },
    )
    runs = [
        StoredRun(
            "[/red]$x", 1, "[bold]", "traffic", {"scheme": scheme, "[/b]": "<i>"},
            {"$n$": number}, {}, samples,
        )
        for scheme, number in (("$\\frac", 1.0), ("$\\nosuch{$", 2.0))
    ]  # fmt: skip
    run_groups = grouped(runs)
    console = Console(file=io.StringIO(), width=200)
    for table in tables.all_tables(run_groups):
        show_table(table, console)
    assert "[bold]" in console.file.getvalue()
    names = write(run_groups, tmp_path / "out")
    assert {"slowdown.pdf", "comparison.html"} <= set(names)
    assert "<i>" not in (tmp_path / "out/comparison.html").read_text().split("<body>")[1]


def test_in_casts_are_apart(tmp_path, capsys):
    """Their one size is no bin of the others'."""
    out = str(tmp_path / "sweep")
    command = [
        "sweep", "traffic", "--topology", "star", "--workload", "W1", "--scheme", "pfc",
        "--seeds", "1:5",
    ]  # fmt: skip
    command += [
        "--incast", "3", "--set", "incast_period=1ms", "--set", "incast_size=20KB", "--set",
        "span=3ms",
    ]  # fmt: skip
    command += ["--show", "mean_ms all"]
    assert pcn([*command, "--jobs", "1", "--out", out]) == 0
    capsys.readouterr()
    assert pcn(["compare", out, "--out", str(tmp_path / "compared")]) == 0
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    assert [row[:4] for row in rows if row[2:3] == ["in-casts"]] == [
        ["PFC", "alone,", "in-casts", "60"]
    ] * 2
    numbers = rows_of((tmp_path / "compared/numbers.csv").read_text())
    (incasts,) = (row for (name, _), row in numbers.items() if name == "mean_ms incast")
    assert (incasts["flows"], incasts["seeds"], incasts["interval"]) == ("60", "5", "bootstrap")
    background = {
        name: row for (name, _), row in numbers.items() if name.startswith("p50_ms flows up to")
    }
    flows = sum(int(row["flows"]) for row in background.values())
    assert flows == int(numbers["mean_ms flows", "PFC alone"]["flows"])
    assert f"5 seeds, {flows:,} flows" in printed
    svg = (tmp_path / "compared/slowdown.svg").read_text()
    assert "2,000 draws" in svg
    assert "in-casts" not in svg


def test_folder_that_is_named_again_and_again_is_read_once(tmp_path):
    """Else 20 folders, or two links, are more reads than a machine does in a life."""
    place = tmp_path
    for _ in range(20):
        place.mkdir(exist_ok=True)
        (place / "comparison.json").write_text(json.dumps({"runs": ["in", "./in", "x", "y"]}))
        for name in ("x", "y"):
            (place / name).symlink_to(".")
        place = place / "in"
    with pytest.raises(ExperimentError, match="has no result"):
        read(tmp_path)
