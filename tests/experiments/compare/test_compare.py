"""Results side by side: which runs are taken together, what is marked, and the files of a comparison."""

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
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from pcn.cli import run as pcn
from pcn.experiments.compare import figures, groups, tables
from pcn.experiments.compare.groups import Group, beyond_seeds, grouped
from pcn.experiments.compare.kept import Kept, read
from pcn.experiments.compare.write import render, write
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.page.terminal import show_table
from pcn.experiments.results.over_time import PAUSE, QUEUE
from pcn.experiments.sweep.parameter_sweep import Mean

RUN = ["run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "-q"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes with three seeds each, and one with another load."""
    folder = tmp_path_factory.mktemp("results")
    for seed in range(1, 4):
        more = ["--seed", str(seed), "--set", "count=60", "--scheme", "pcn,pfc", "--out", str(folder / f"both-{seed}")]
        assert pcn([*RUN, "--load", "0.9", *more]) == 0
    more = ["--set", "count=60", "--scheme", "pcn", "--out", str(folder / "low")]
    assert pcn([*RUN, "--load", "0.3", *more]) == 0
    return folder


def kept(seed: int, scheme: str = "pcn", number: float | None = 1.0, place: str = "a", **settings: Any) -> Kept:
    return Kept(place, seed, scheme, "traffic", {"scheme": scheme, **settings}, {"n": number}, {})


def test_runs_that_differ_by_their_seed_are_one_group(results: Path) -> None:
    found = grouped([run for seed in range(1, 4) for run in read(results / f"both-{seed}")])
    assert [(group.name, [run.seed for run in group.runs]) for group in found] == [
        ("PCN", [1, 2, 3]),
        ("PFC alone", [1, 2, 3]),
    ]
    assert groups.different_settings(found) == ["scheme", *groups.different_settings(found)[1:]]
    assert not {"load", "topology", "count"} & set(groups.different_settings(found))
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
    found = grouped([kept(1, place="a"), kept(1, place="b"), kept(2, place="a"), kept(2, place="b")])
    assert [group.name for group in found] == ["PCN, a", "PCN, b"]
    assert [[run.seed for run in group.runs] for group in found] == [[1, 2], [1, 2]]
    (one,) = grouped([kept(1, number=1.0), kept(2, number=None)])
    assert one.mean("n") is None, "a mean over the others would be of other seeds"


def test_groups_are_named_by_what_they_need() -> None:
    """Two networks with two schemes: parameters of the schemes aren't differences."""
    dcqcn: dict[str, Any] = {"R_AI": 40e6, "cnp_interval": 50e-6, "K_max": 200_000}
    runs = [
        kept(1, scheme, topology=f"/a/long/way/{network}.txt", xoff_bytes=xoff, **own)
        for network, xoff in (("clos", 512e3), ("fat", 300e3))
        for scheme, own in (("dcqcn", dcqcn), ("pcn", {"w_max": 0.5}))
    ]
    found = grouped(runs)
    assert [group.name for group in found] == ["DCQCN, clos", "PCN, clos", "DCQCN, fat", "PCN, fat"]
    rows = {row[0]: row[1:] for row in tables.settings(found).rows}
    assert rows.keys() == {"scheme", "topology", "xoff_bytes", "seeds"}
    assert rows["topology"] == ["clos", "clos", "fat", "fat"]
    assert rows["xoff_bytes"] == ["512 KB", "512 KB", "300 KB", "300 KB"]
    found = grouped(
        [runs[1], *(kept(seed, "dcqcn", **{**dcqcn, "R_AI": rate}) for seed in (3, 2) for rate in (4e7, 8e7))]
    )
    assert [group.name for group in found] == ["PCN", "DCQCN, R_AI 40 Mbit/s", "DCQCN, R_AI 80 Mbit/s"]
    rows = {row[0]: row[1:] for row in tables.settings(found).rows}
    assert (rows["R_AI"], rows["seeds"]) == (["–", "40 Mbit/s", "80 Mbit/s"], ["1", "2, 3", "2, 3"])


def test_files_of_one_stem_keep_their_paths() -> None:
    found = grouped([kept(1, topology=f"/{place}/net.txt") for place in "ab"])
    assert [group.name for group in found] == ["PCN, /a/net.txt", "PCN, /b/net.txt"]


VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


@given(VALUES, VALUES)
def test_difference_is_marked_as_by_welch(first: list[float], second: list[float]) -> None:
    def mean(values: list[float]) -> Mean:
        return Mean(float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values))

    one, other = mean(first), mean(second)
    assert beyond_seeds(one, other) == beyond_seeds(other, one)
    variance = (one.error or 0) ** 2 + (other.error or 0) ** 2
    if variance > 1e-9:
        statistic = abs(one.value - other.value) / math.sqrt(variance)
        assert beyond_seeds(one, other) or statistic < 12.71
        assert not beyond_seeds(one, other) or statistic > 2.04
    assert beyond_seeds(Mean(1.0, None, 1), other) is None


@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 30])
def test_quantiles_are_those_of_student(freedom: int) -> None:
    """The density, integrated up to the quantile."""
    end = groups._T[freedom - 1]
    x = np.linspace(-end, end, 20_001)
    density = math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    y = density * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    assert float(np.sum((y[1:] + y[:-1]) / 2 * np.diff(x))) == pytest.approx(0.95, abs=1e-4)


def test_numbers_that_differ_are_marked_and_equal_ones_named() -> None:
    def group(name: str, *values: float) -> Group:
        return Group(name, tuple(kept(seed, number=value) for seed, value in enumerate(values)))

    compared = [group("a", 1.0, 1.1, 0.9), group("b", 2.0, 2.1, 1.9), group("c", 1.0, 3.0, 0.1)]
    ((name, first, far, near),) = tables.numbers(compared).rows
    assert (name, first) == ("n", "1 ± 0.058")
    assert far == "2 ± 0.058 (+100%)*"
    assert not near.endswith("*")
    assert tables.equal([compared[0], compared[0]]) == ["n"]
    assert tables.numbers([compared[0], compared[0]]).rows == []
    assert tables.open_question([group("a", 1.0), compared[0]])


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
        printed.index("settings that differ")
        < printed.index("numbers that differ")
        < printed.index("slowdown, by size")
    )
    names = {path.name for path in out.iterdir()}
    kinds = ("png", "svg", "pdf")
    assert names >= {"comparison.html", "numbers.csv", *(f"slowdown.{kind}" for kind in kinds)}
    found = rows_of((out / "numbers.csv").read_text())
    summaries = [json.loads((results / f"both-{seed}/pfc/summary.json").read_text()) for seed in range(1, 4)]
    means = [one["measures"]["mean_slowdown all"] for one in summaries]
    assert float(found["mean_slowdown all", "PFC alone"]["mean"]) == pytest.approx(np.mean(means))
    assert float(found["mean_slowdown all", "PFC alone"]["standard_error"]) == pytest.approx(
        np.std(means, ddof=1) / math.sqrt(3)
    )
    limits, _ = summaries[0]["curves"]["p95 slowdown by size"]
    bins = [one["curves"]["p95 slowdown by size"][1][-1] for one in summaries]
    assert float(found[f"p95_slowdown bin {len(limits)}", "PFC alone"]["mean"]) == pytest.approx(np.mean(bins))
    assert found["bytes bin 1", "PCN"]["seeds"] == "3"
    text = (out / "comparison.html").read_text()
    assert text.count("<svg") == len({name for name in names if name.endswith(".svg")})
    for picture in out.glob("*.svg"):
        ElementTree.parse(picture)
    assert (out / "slowdown.pdf").read_bytes().startswith(b"%PDF")
    assert b"/FontFile" in (out / "slowdown.pdf").read_bytes()


def test_comparison_without_matplotlib_names_its_extra(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    for name in ("out", "out.1"):  # what is there is kept
        assert pcn(["compare", str(results / "low"), "--out", str(tmp_path / "out")]) == 0
        assert "no pictures here: " in capsys.readouterr().err
        assert {path.name for path in (tmp_path / name).iterdir()} == {"comparison.html", "numbers.csv"}


def test_comparison_reads_a_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")  # the sweep's picture
    out = str(tmp_path / "sweep")
    command = ["sweep", "traffic", "--topology", "star", "--workload", "W1", "--scheme", "pcn,pfc", "--seeds", "1:2"]
    assert pcn([*command, "--set", "count=10", "--load", "0.5,0.9", "--jobs", "1", "--out", out]) == 0
    capsys.readouterr()
    assert pcn(["compare", out, "--csv"]) == 0
    printed = capsys.readouterr().out
    assert pcn(["compare", f"{out}/done.jsonl", "--csv"]) == 0
    assert capsys.readouterr().out == printed, "the file that a result is kept in is the result"
    found = rows_of(printed)
    names = {runs for _, runs in found}
    assert names == {f"{scheme}, load {load}" for scheme in ("PCN", "PFC alone") for load in ("0.5", "0.9")}
    assert {row["seeds"] for row in found.values()} == {"2"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("", "", "has no result: neither summary.json"),
        ("summary.json", "{", "no result that can be read: JSONDecodeError"),
        ("summary.json", "[]", "no result that can be read"),
        ("summary.json", "{}", "no result that can be read: KeyError"),
        ("done.jsonl", "{}\n", "no result that can be read: KeyError"),
        ("done.jsonl", '{"error": "", "keys": 1, "value": {}, "version": ""}\n', "no result that can be read"),
    ],
)
def test_what_holds_no_result_is_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def whole(results: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / "low/summary.json").read_text())
    return found


@settings(settings.get_profile("few"))
@given(data=st.data())
def test_comparison_of_a_damaged_summary_ends_in_tables_or_one_line(
    data: st.DataObject, whole: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("damaged")
    (place / "a").mkdir()
    (place / "b").mkdir()
    (place / "a/summary.json").write_text(json.dumps(whole))
    used = ("reference", "scenario", "scheme", "clock", "seed", "parameters", "measures", "curves", "latency", "steady")
    name = data.draw(st.sampled_from(used))
    value: Any = data.draw(JSON)
    if isinstance(whole[name], dict) and data.draw(st.booleans()):
        value = {**whole[name], data.draw(st.sampled_from(sorted(whole[name])) if whole[name] else st.text()): value}
    (place / "b/summary.json").write_text(json.dumps({**whole, name: value}))
    try:
        found = grouped(read(place))
    except ExperimentError as error:
        lines = str(error).splitlines()
        assert len(lines) == 1  # either is right
        return
    console = Console(file=io.StringIO())
    for table in tables.all_tables(found):
        show_table(table, console)
    assert tables.as_csv(found)
    assert "<h1>" in render(found, {})


def test_names_with_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    curve = {"p50 slowdown by size": ([1.0, 2.0], [1.0, 1.5])}
    runs = [
        Kept("[/red]$x", 1, "[bold]", "traffic", {"scheme": scheme, "[/b]": "<i>"}, {"$n$": number}, curve)
        for scheme, number in (("$\\frac", 1.0), ("$\\nosuch{$", 2.0))
    ]
    found = grouped(runs)
    console = Console(file=io.StringIO(), width=200)
    for table in tables.all_tables(found):
        show_table(table, console)
    assert "[bold]" in console.file.getvalue()  # type: ignore[attr-defined]
    names = write(found, tmp_path / "out")
    assert {"slowdown.pdf", "comparison.html"} <= set(names)
    assert "<i>" not in (tmp_path / "out/comparison.html").read_text().split("<body>")[1]


def test_curves_over_time_have_one_colour_in_all_pictures() -> None:
    """A run that sends no PAUSE has its line all the same; where none sends any, there is no chart."""
    still, busy = ([0.0, 1.0], [0.0, 0.0]), ([0.0, 1.0], [5.0, 7.0])
    runs = [
        replace(kept(1, scheme, load=load), curves={QUEUE: busy, PAUSE: pause})
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
