"""Results side by side: which runs are taken together, what is marked, and the files of a
comparison."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console

from pcn.cli import run as pcn
from pcn.experiments.compare import figures, groups, tables
from pcn.experiments.compare.groups import Group, grouped
from pcn.experiments.compare.stored_results import Kept, read
from pcn.experiments.compare.write import render, write
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define.samples import UNITS, RunSamples, Samples
from pcn.experiments.page.terminal import show_table
from pcn.experiments.results.over_time import PAUSE, QUEUE

RUN = ["run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "-q"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes with three seeds each, and one with another load."""
    folder = tmp_path_factory.mktemp("results")
    for seed in range(1, 4):
        more = [
            "--seed",
            str(seed),
            "--set",
            "count=60",
            "--scheme",
            "pcn,pfc",
            "--out",
            str(folder / f"both-{seed}"),
        ]
        assert pcn([*RUN, "--load", "0.9", *more]) == 0
    more = ["--set", "count=60", "--scheme", "pcn", "--out", str(folder / "low")]
    assert pcn([*RUN, "--load", "0.3", *more]) == 0
    return folder


def stored_run(
    seed: int, scheme: str = "pcn", number: float | None = 1.0, place: str = "a", **settings: Any
) -> Kept:
    return Kept(place, seed, scheme, "traffic", {"scheme": scheme, **settings}, {"n": number}, {})


def test_runs_that_differ_by_their_seed_are_one_group(results: Path) -> None:
    run_groups = grouped([run for seed in range(1, 4) for run in read(results / f"both-{seed}")])
    assert [(group.name, [run.seed for run in group.runs]) for group in run_groups] == [
        ("PCN", [1, 2, 3]),
        ("PFC alone", [1, 2, 3]),
    ]
    differing = groups.different_settings(run_groups)
    assert {"scheme", "w_min"} <= set(differing)
    assert not {"load", "topology", "count"} & set(differing)
    everything = grouped(read(results))
    assert [len(group.runs) for group in everything] == [3, 3, 1]
    assert [group.name for group in everything][2].startswith("PCN, load 0.3")
    rows = {row[0]: row[1:] for row in tables.settings(everything).rows}
    assert rows["load"] == ["0.9", "0.9", "0.3"]
    assert rows["seeds"] == ["1, 2, 3", "1, 2, 3", "1"]


def test_comparison_has_the_runs_that_it_names(results: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    shutil.copytree(results / "both-1", both)
    shutil.copytree(results / "both-2" / "pcn", both / "pcn.1")
    assert [(run.scheme, run.seed) for run in read(both)] == [("pcn", 1), ("pfc", 1)]
    for name in ("..", "../other", "/tmp", "."):
        (both / "comparison.json").write_text(json.dumps({"runs": {name: {}}}))
        with pytest.raises(ExperimentError, match="is no folder in it"):
            read(both)


def test_equal_runs_from_two_places_stay_apart() -> None:
    run_groups = grouped(
        [
            stored_run(1, place="a"),
            stored_run(1, place="b"),
            stored_run(2, place="a"),
            stored_run(2, place="b"),
        ]
    )
    assert [group.name for group in run_groups] == ["PCN, a", "PCN, b"]
    assert [[run.seed for run in group.runs] for group in run_groups] == [[1, 2], [1, 2]]
    (group,) = grouped([stored_run(1, number=1.0), stored_run(2, number=None)])
    assert group.mean("n") is None, "a mean over the others would be of other seeds"


def test_groups_are_named_by_what_they_need() -> None:
    """Two networks with two schemes: parameters of the schemes aren't differences."""
    dcqcn: dict[str, Any] = {"R_AI": 40e6, "cnp_interval": 50e-6, "K_max": 200_000}
    runs = [
        stored_run(1, scheme, topology=f"/a/long/way/{network}.txt", xoff_bytes=xoff, **parameters)
        for network, xoff in (("clos", 512e3), ("fat", 300e3))
        for scheme, parameters in (("dcqcn", dcqcn), ("pcn", {"w_max": 0.5}))
    ]
    run_groups = grouped(runs)
    assert [group.name for group in run_groups] == [
        "DCQCN, clos",
        "PCN, clos",
        "DCQCN, fat",
        "PCN, fat",
    ]
    rows = {row[0]: row[1:] for row in tables.settings(run_groups).rows}
    assert rows.keys() == {
        "scheme",
        "topology",
        "xoff_bytes",
        "R_AI",
        "cnp_interval",
        "K_max",
        "w_max",
        "seeds",
    }
    assert rows["R_AI"] == ["40 Mbit/s", "–", "40 Mbit/s", "–"]
    assert rows["topology"] == ["clos", "clos", "fat", "fat"]
    assert rows["xoff_bytes"] == ["512 KB", "512 KB", "300 KB", "300 KB"]
    run_groups = grouped(
        [
            runs[1],
            *(
                stored_run(seed, "dcqcn", **{**dcqcn, "R_AI": rate})
                for seed in (3, 2)
                for rate in (4e7, 8e7)
            ),
        ]
    )
    assert [group.name for group in run_groups] == [
        "PCN",
        "DCQCN, R_AI 40 Mbit/s",
        "DCQCN, R_AI 80 Mbit/s",
    ]
    rows = {row[0]: row[1:] for row in tables.settings(run_groups).rows}
    assert (rows["R_AI"], rows["seeds"]) == (["–", "40 Mbit/s", "80 Mbit/s"], ["1", "2, 3", "2, 3"])


def test_files_of_one_stem_keep_their_paths() -> None:
    run_groups = grouped([stored_run(1, topology=f"/{place}/net.txt") for place in "ab"])
    assert [group.name for group in run_groups] == ["PCN, /a/net.txt", "PCN, /b/net.txt"]


def group(name: str, *values: float, flows: str = "", number: str = "n") -> Group:
    runs = [stored_run(seed, number=value) for seed, value in enumerate(values)]
    digests = [RunSamples(f"{flows} of {run.seed}" if flows else "") for run in runs]
    return Group(
        name,
        tuple(
            replace(run, numbers={number: run.numbers["n"]}, samples=run_samples)
            for run, run_samples in zip(runs, digests, strict=True)
        ),
    )


def test_numbers_that_differ_are_marked_and_equal_ones_named() -> None:
    compared = [group("a", 1.0, 1.1, 0.9), group("b", 2.0, 2.1, 1.9), group("c", 1.0, 3.0, 0.1)]
    table = tables.numbers(compared)
    ((name, first, far, near),) = table.rows
    assert (name, first) == ("n", "1 [0.9, 1.1]")
    assert far == "2 [1.9, 2.1]\n+100%, +77% to +123%*"
    assert not near.endswith("*")
    assert [note.partition(":")[0] for note in table.notes] == [
        "Means over the seeds, also of each seed's percentiles (tables by size have those of all "
        "seeds' flows together); in brackets least and largest of 3 seeds, no 95% interval.",
        "* in b, c",
        tables.CUT,
    ]
    assert "Welch's t-test, unpaired" in table.notes[1]
    assert tables.equal([compared[0], compared[0]]) == ["n"]
    nothing = [group("a", None), group("b", None)]
    assert (tables.equal(nothing), tables.unknown(nothing)) == ([], ["n"])
    assert tables.unknown(compared) == []
    none = tables.numbers([compared[0], compared[0]])
    assert (none.title, none.rows) == ("no number differs", [])


def test_groups_with_equal_flows_are_compared_in_pairs() -> None:
    """A difference that the seeds' spread hides, unless seed is compared with seed."""
    first = (0.34, 0.39, 0.36, 0.51, 0.42)
    second = tuple(
        value * factor for value, factor in zip(first, (1.08, 1.1, 1.09, 1.11, 1.08), strict=True)
    )
    marked = {}
    for flows in (("x", "x"), ("x", "y"), ("", "")):
        compared = [group("a", *first, flows=flows[0]), group("b", *second, flows=flows[1])]
        table = tables.numbers(compared)
        marked[flows] = table.rows[0][2].endswith("*")
        assert ("paired t-test" in table.notes[1]) is (flows == ("x", "x"))
        row = rows_of(tables.as_csv(compared))["n", "b"]
        assert row["test"] == ("paired" if flows == ("x", "x") else "welch")
        assert row["beyond_spread"] == str(marked[flows]).lower()
        assert float(row["difference_low"]) < 0.09 < float(row["difference_high"])
    assert marked == {("x", "x"): True, ("x", "y"): False, ("", ""): False}
    other_seeds = Group("b", group("b", *second, flows="x").runs[1:])
    assert not groups.pairs(group("a", *first, flows="x"), other_seeds)


def test_one_seed_marks_nothing_and_a_note_names_it() -> None:
    table = tables.numbers([group("a", 1.0), group("b", 2.0), group("c", 2.0, 3.0)])
    assert table.rows == [["n", "1", "2\n+100%", "2.5 [2, 3]\n+150%"]]
    assert table.notes[-1].startswith("a, b: one seed, so nothing shows")
    row = rows_of(tables.as_csv([group("a", 1.0), group("b", 2.0)]))["n", "b"]
    assert (
        row["mean"],
        row["relative_difference"],
        row["test"],
        row["beyond_spread"],
        row["low"],
    ) == (*("2.0", "1.0", "", "", ""),)


@pytest.mark.parametrize(
    ("number", "value", "label", "text"),
    [
        ("f0_burst_bps", 36_434_262_500.0, "f0 burst, Gbit/s", "36.43"),
        ("tree_s", 0.00123456, "tree, ms", "1.235"),
        ("queue_bytes", 123_456.0, "queue, KB", "123.5"),
        ("mean_ms all", 0.123456, "mean completion time, all flows, us", "123.5"),
        ("p99.9_slowdown S", 2.5, "99.9% slowdown, flows of size S, up to 10 KB", "2.5"),
        ("largest_queue_kb", 12_345.0, "largest queue, MB", "12.35"),
        ("pause_frames", 12_345.0, "PAUSE frames", "12,345"),
        ("pause_frames leaf", 5.0, "PAUSE frames that switches leaf* sent", "5"),
        ("steady queue_bytes_mean", 691_403.2, "mean queue in the steady state, KB", "691.4"),
        ("pause_frames class 3", 2.5, "PAUSE frames, class 3", "2.5"),
    ],
)
def test_numbers_are_called_in_words_with_their_unit(
    number: str, value: float, label: str, text: str
) -> None:
    table = tables.numbers(
        [group("a", value, number=number), group("b", 0.9 * value, number=number)]
    )
    assert table.rows[0][:2] == [label, text]


def test_one_unit_holds_for_all_of_a_row() -> None:
    compared = [group(name, value, number="full_s") for name, value in (("a", 0.0202), ("b", 4e-4))]
    assert tables.numbers(compared).rows == [["full, ms", "20.2", "0.4\n-98%"]]


def test_best_run_is_tested_against_the_next() -> None:
    """By pairs, the difference is of all seeds; the worst run decides nothing."""
    name = "mean_slowdown S"
    best, near, far = (
        (1.1, 1.2, 1.3, 1.4, 1.5),
        (1.2, 1.3, 1.4, 1.51, 1.6),
        (9.0, 1.0, 5.0, 7.0, 3.0),
    )
    compared = [
        group(run, *values, flows="x", number=name)
        for run, values in (("far", far), ("near", near), ("best", best))
    ]
    ((label, *row),) = tables.best(compared).rows
    assert label == "mean slowdown, flows of size S, up to 10 KB"
    assert [row[place] for place in (0, 2, 5)] == ["best", "near", "yes"]
    assert row[4].startswith("-7.3%, ")
    assert row[6].startswith("-74%, ")  # against the first group, "far"
    sure, seeds, how, cut, slowdown = tables.best(compared).notes
    assert cut.startswith(tables.CUT)
    assert "all 3 comparisons of two runs in 1 row together" in sure
    assert seeds.startswith("Means over 5 seeds; ")
    assert "paired, seed by seed" in how
    assert slowdown.startswith("Slowdown: completion time over that")
    twin = group("twin", *best, flows="x", number=name)
    assert tables.best([*compared, twin]).rows[0][1:7:5] == ["best, twin", "equal"]
    alone = [group("a", 1.0, number=name), group("b", 2.0, number=name)]
    assert tables.best(alone).rows[0][1:] == [
        *("a", "1", "b", "2", "-50%"),
        "not tested: one seed",
    ]
    assert tables.best([group("a", 1.0), group("b", 2.0)]).rows == [], "neither is better"


def test_best_run_of_many_comparisons_is_tested_among_all_of_them() -> None:
    """A difference that holds by itself doesn't where the runs and numbers to choose from are
    many; a clear one does."""

    def run(name: str, of: Mapping[str, tuple[float, ...]]) -> Group:
        alone = group(name, *[0.0] * 5, flows="x")
        return replace(
            alone,
            runs=tuple(
                replace(kept, numbers={number: values[seed] for number, values in of.items()})
                for seed, kept in enumerate(alone.runs)
            ),
        )

    base = (1.0, 1.2, 1.4, 1.1, 1.3)
    near = tuple(
        value + more for value, more in zip(base, (0.01, 0.03, 0.02, 0.05, 0.01), strict=True)
    )
    clear = tuple(
        value + more for value, more in zip(base, (0.5, 0.501, 0.5, 0.499, 0.5), strict=True)
    )
    few = [
        run("a", {"mean_slowdown S": base, "p99_slowdown S": base}),
        run("b", {"mean_slowdown S": near, "p99_slowdown S": clear}),
    ]
    assert [row[6] for row in tables.best(few).rows] == ["yes", "yes"]
    many = [*few, *(run(name, {"mean_slowdown S": clear, "p99_slowdown S": near}) for name in "cd")]
    verdicts = {row[0].partition(",")[0]: row[6] for row in tables.best(many).rows}
    assert verdicts["mean slowdown"] == "by itself; not among 12"
    assert not tables.best(many).rows[0][7].endswith(tables.MARK)


def test_statistic_that_no_run_has_is_a_row_with_its_reason() -> None:
    numbers = {"mean_slowdown S": 2.0, "p99_slowdown S": None, "flows S": 58.0, "unfinished S": 0.0}
    compared = [
        Group(name, (replace(stored_run(1), numbers={**numbers, "mean_slowdown S": value}),))
        for name, value in (("a", 1.0), ("b", 2.0))
    ]
    assert tables.best(compared).rows[1] == [
        "99% slowdown, flows of size S, up to 10 KB",
        *["–"] * 5,
        "too few flows: 58 in a run, 100 needed",
    ]
    late = [
        replace(of.runs[0], numbers={**of.runs[0].numbers, "unfinished S": 1.0}) for of in compared
    ]
    late_groups = [Group(run.scheme + str(place), (run,)) for place, run in enumerate(late)]
    assert tables.best(late_groups).rows[1][-1] == "flows unfinished"


def test_number_that_a_seed_lacks_is_a_row_with_that_seed() -> None:
    """In-casts are drawn: a seed may have none. What isn't of flows has no reason but that."""

    def runs(name: str, best: float) -> Group:
        numbers = {"mean_slowdown S": best, "full_s": None}
        drawn = {"flows incast": 12.0, "mean_slowdown incast": 3.0, "unfinished incast": 0.0}
        kept = (
            replace(
                stored_run(seed), scenario="traffic", numbers=numbers | (drawn if seed != 3 else {})
            )
            for seed in range(1, 7)
        )
        return Group(name, tuple(kept))

    rows = {row[0]: row[6] for row in tables.best([runs("a", 1.0), runs("b", 2.0)]).rows}
    assert rows["mean slowdown, flows of in-casts"] == "no such flows in seed 3"
    several, alone = [runs("a", 1.0)], [Group("a", runs("a", 1.0).runs[:1])]
    assert tables._missing(several, "full_s") == "no value in seeds 1, 2, 3, 4, ..."
    assert tables._missing(alone, "full_s") == "no value in seed 1"


def test_interval_of_a_difference_stays_above_all_and_shows_its_sign() -> None:
    wild = [group("a", 100.0, 1.0, 1.0, 200.0), group("b", 1.0, 1.0, 90.0, 1.0)]
    table = tables.numbers(wild)
    ((_, _, text),) = table.rows
    assert f"-100%{tables.CUT} to +" in text
    assert table.notes[-1].startswith(f"{tables.CUT}: the t-test's interval begins below -100%")
    close = [
        group(name, *values, flows="x")
        for name, values in (("a", (1000.0, 1001.0, 1002.0)), ("b", (999.7, 1000.7, 1001.7)))
    ]
    table = tables.numbers(close)
    assert "-0.03%" in table.rows[0][2]
    assert not any(tables.CUT in note for note in table.notes)


def test_text_of_a_number_decides_which_run_is_best() -> None:
    runs = [
        replace(stored_run(1, number=None), scenario="victim", numbers={"f0_burst_bps": rate})
        for rate in (3.5e9, 36.4e9)
    ]
    compared = [Group(name, (run,)) for name, run in zip(("pfc", "pcn"), runs, strict=True)]
    assert tables.best(compared).rows == [
        [
            *("F0's rate during the bursts, Gbit/s", "pcn", "36.4", "pfc", "3.5", "\u00d710"),
            "not tested: one seed",
        ]
    ]


def test_settings_that_differ_are_all_and_only_those() -> None:
    run_groups = grouped(
        [
            stored_run(1, "pcn", w_min=0.025, x=5, y=1.0),
            stored_run(1, "hpcc", x=5.0, y=1.0000000001, eta=0.95),
        ]
    )
    rows = {row[0]: row[1:] for row in tables.settings(run_groups).rows}
    assert rows == {
        "scheme": ["pcn", "hpcc"],
        "w_min": ["0.025", "–"],
        "y": ["1.0", "1.0000000001"],
        "eta": ["–", "0.95"],
        "seeds": ["1", "1"],
    }


def rows_of(text: str) -> dict[tuple[str, str], Mapping[str, str]]:
    return {(row["number"], row["runs"]): row for row in csv.DictReader(io.StringIO(text))}


def test_comparison_has_tables_page_numbers_and_pictures(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [str(results / f"both-{seed}") for seed in range(1, 4)]
    out = tmp_path / "compared"
    assert pcn(["compare", *places, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert (
        printed.index("which is best")
        < printed.index("settings that differ")
        < printed.index("numbers that differ")
        < printed.index("slowdown p99, by size")
    )
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
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    for name in ("out", "out.1"):  # what is there is kept
        assert pcn(["compare", str(results / "low"), "--out", str(tmp_path / "out")]) == 0
        assert "no pictures here: " in capsys.readouterr().err
        assert {path.name for path in (tmp_path / name).iterdir()} == {
            "comparison.html",
            "numbers.csv",
        }


def test_comparison_reads_a_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # the sweep's picture
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    out = str(tmp_path / "sweep")
    command = [
        "sweep",
        "traffic",
        "--topology",
        "star",
        "--workload",
        "W1",
        "--scheme",
        "pcn,pfc",
        "--seeds",
        "1:2",
    ]
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
def test_what_holds_no_result_is_one_line(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    if name:
        (tmp_path / name).write_text(text)
    with pytest.raises(ExperimentError) as caught:
        read(tmp_path)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_summary_of_an_earlier_version_is_one_line(results: Path, tmp_path: Path) -> None:
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
    summary: dict[str, Any] = json.loads((results / "low/summary.json").read_text())
    return summary


@settings(settings.get_profile("few"))
@given(data=st.data())
def test_comparison_of_a_damaged_summary_ends_in_tables_or_one_line(
    data: st.DataObject, whole: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("damaged")
    (place / "a").mkdir()
    (place / "b").mkdir()
    (place / "a/summary.json").write_text(json.dumps(whole))
    used = (
        "reference",
        "scenario",
        "scheme",
        "clock",
        "seed",
        "parameters",
        "measures",
        "curves",
        "samples",
        "latency",
        "steady",
    )
    name = data.draw(st.sampled_from(used))
    value: Any = data.draw(JSON)
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


def test_names_with_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    samples = RunSamples(
        "a",
        {
            "[i]$": Samples.of(
                (1.0, 2.0), np.array([1.0, 2.0] * 9), dict.fromkeys(UNITS, np.ones(18))
            )
        },
    )
    runs = [
        Kept(
            "[/red]$x",
            1,
            "[bold]",
            "traffic",
            {"scheme": scheme, "[/b]": "<i>"},
            {"$n$": number},
            {},
            samples,
        )
        for scheme, number in (("$\\frac", 1.0), ("$\\nosuch{$", 2.0))
    ]
    run_groups = grouped(runs)
    console = Console(file=io.StringIO(), width=200)
    for table in tables.all_tables(run_groups):
        show_table(table, console)
    assert "[bold]" in console.file.getvalue()  # type: ignore[attr-defined]
    names = write(run_groups, tmp_path / "out")
    assert {"slowdown.pdf", "comparison.html"} <= set(names)
    assert "<i>" not in (tmp_path / "out/comparison.html").read_text().split("<body>")[1]


def test_curves_over_time_have_one_colour_in_all_pictures() -> None:
    """A run that sends no PAUSE has its line all the same; where none sends any, there is no
    chart."""
    still, busy = ([0.0, 1.0], [0.0, 0.0]), ([0.0, 1.0], [5.0, 7.0])
    runs = [
        replace(stored_run(1, scheme, load=load), curves={QUEUE: busy, PAUSE: pause})
        for scheme, load, pause in (("pcn", 0.3, still), ("pcn", 0.6, busy))
    ]
    queue, pause = figures.figures(grouped(runs))["over_time"]
    assert (
        [line.label for line in queue.lines]
        == [line.label for line in pause.lines]
        == ["PCN, load 0.3", "PCN, load 0.6"]
    )
    (alone,) = figures.figures(grouped(runs[:1]))["over_time"]
    assert alone.title == "Largest queue"


def test_curves_over_time_are_means_of_all_seeds() -> None:
    """Runs of other lengths: one that has ended has no queue."""
    curves = [([0.0, 1.0, 2.0], [0.0, 10.0, 20.0]), ([0.0, 2.0, 4.0], [4.0, 8.0, 16.0])]
    runs = [replace(stored_run(seed), curves={QUEUE: curve}) for seed, curve in enumerate(curves)]
    (chart,) = figures.figures(grouped(runs))["over_time"]
    (line,) = chart.lines
    assert line.x.tolist() == [0.0, 1.0, 2.0, 4.0]
    assert line.y.tolist() == [2.0, 8.0, 14.0, 8.0]
    assert line.low is not None
    assert line.high is not None
    assert (line.low.tolist(), line.high.tolist()) == (
        [0.0, 6.0, 8.0, 0.0],
        [4.0, 10.0, 20.0, 16.0],
    )
    assert "mean of 2 seeds" in chart.x_label
    assert "no 95% interval" in chart.x_label


def test_in_casts_are_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their one size is no bin of the others'."""
    out = str(tmp_path / "sweep")
    command = [
        "sweep",
        "traffic",
        "--topology",
        "star",
        "--workload",
        "W1",
        "--scheme",
        "pfc",
        "--seeds",
        "1:5",
    ]
    command += [
        "--incast",
        "3",
        "--set",
        "incast_period=1ms",
        "--set",
        "incast_size=20KB",
        "--set",
        "span=3ms",
    ]
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


def test_folder_that_is_named_again_and_again_is_read_once(tmp_path: Path) -> None:
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
