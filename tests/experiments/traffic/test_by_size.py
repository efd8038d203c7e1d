"""Bins of flows by size: what they hold, and the tables that a run prints."""

import io
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from pcn.cli import run as pcn
from pcn.experiments.data.series_math import Array
from pcn.experiments.define.flows_by_size import cell
from pcn.experiments.define.intervals import Interval
from pcn.experiments.define.looks import label
from pcn.experiments.define.samples import (
    BINS,
    Estimate,
    Pooled,
    RunSamples,
    Samples,
    limits_of,
    needed,
)
from pcn.experiments.define.size_bins import SHOWN
from pcn.experiments.define.tables import Measured
from pcn.experiments.page.terminal import show_table, stdout
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.traffic import by_size
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.flows import numbers as flows_numbers
from pcn.experiments.traffic.spec import parse_spec

FLOWS = st.lists(st.tuples(st.integers(1, 10**9), st.floats(1e-6, 10.0)), min_size=1, max_size=300)


def samples_of(sizes: Array, times: list[float]) -> RunSamples:
    """Completion times in s; slowdowns are a thousandfold."""
    limits = limits_of(sizes.tolist())
    values = {"ms": np.array(times) * 1e3, "slowdown": np.array(times) * 1e3}
    return RunSamples("", {"flows": Samples.of(limits, sizes, values)})


@given(FLOWS)
def test_bins_hold_each_flow_once_and_no_size_twice(flows):
    sizes = np.array([size for size, _ in flows], float)
    samples = samples_of(sizes, [time for _, time in flows])
    pooled = Pooled([samples.groups["flows"]])
    assert pooled.flows() == len(flows)
    assert len(pooled.limits) <= BINS
    below = 0.0
    for place, limit in enumerate(pooled.limits):
        slowdowns = np.array([time * 1e3 for size, time in flows if below < size <= limit])
        assert pooled.flows(place) == slowdowns.size >= 1
        for statistic, value in (("mean", slowdowns.mean()), ("p95", np.percentile(slowdowns, 95))):
            estimate = pooled.estimate("slowdown", statistic, place)
            assert (estimate is None) == (slowdowns.size < needed(statistic))
            assert estimate is None or estimate.value == pytest.approx(value, rel=1e-5)
        below = limit


def test_bin_with_an_unfinished_flow_has_no_percentile():
    sizes = np.arange(1, 401, dtype=float)
    times = [float("nan") if size == 30 else 1e-3 for size in sizes]
    samples = [samples_of(sizes, times)]
    for bins in by_size.tables({"pcn": Measured({}, samples)})[-2:]:
        assert bins.rows[1] == ["40 B", "20", *["–"] * 5]
        assert bins.rows[2][:3] == ["60 B", "20", "1"]
        assert bins.rows[2][-2:] == ["–", "–"], "20 flows have no 99%"
        assert bins.notes[0].startswith("1 seed, 400 flows, 1 unfinished. Where one is unfinished")
    (*_, bins) = by_size.tables({"pcn": Measured({}, samples), "pfc": Measured({}, samples)})
    assert bins.columns == [
        "up to",
        "flows",
        *(f"{name} {q}" for name in ("PCN", "PFC alone") for q in SHOWN[:-1]),
    ], "no bin has flows enough for 99%"
    assert bins.rows[1] == ["40 B", "20", "–", "–", "–", "–"]
    assert bins.notes[0].startswith("1 seed, 400 flows, 1 unfinished each. Where one is")


def test_bins_of_a_flow_each_have_means_beside_each_other():
    runs = {name: Measured({}, [samples_of(np.array([1.0, 9.0]), [1e-3, 2e-3])]) for name in "ab"}
    assert by_size.tables(runs)[-1].title == "slowdown mean, by size"
    assert by_size.tables(runs)[-1].rows[1] == ["9 B", "1", "2", "2"]


def test_cell_has_its_value_within_its_interval():
    interval = Interval(1.0055, 1.0063, bootstrap=True)
    assert cell(Estimate(1.00578, interval)) == "1.01 [1.01, 1.01]"
    assert cell(Estimate(1.00578, None)) == "1.006"
    assert cell(None) == "–"


def test_run_prints_what_becomes_of_its_flows(tmp_path, capsys):
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "--set",
        "count=1200",
    ]  # fmt: skip
    out = ["--set", "xoff_bytes=20KB", "--latency", "--out", str(tmp_path / "out")]
    assert pcn([*command, "--scheme", "pcn,pfc", *out]) == 0
    printed = capsys.readouterr().out
    summary = json.loads((tmp_path / "out/pcn/summary.json").read_text())
    lines = [line.split() for line in printed.splitlines()]
    flows = next(line for line in lines if line[:1] == ["PCN"] and "1,200" in line)
    assert flows[1:3] == ["1,200", "1,200"]
    assert float(flows[4].replace(",", "")) == summary["measures"]["pause_frames"]
    spans, times, slowdowns = [line for line in lines if line[:1] == ["PCN"]][1:4]
    names = ("flows_a_host", "starts_ms", "end_ms", "goodput_of_starts_gbps", "goodput_gbps")
    assert [float(span) for span in spans[1:]] == pytest.approx(
        [summary["measures"][name] for name in names], rel=1e-3
    )
    assert summary["measures"]["flows_a_host"] == 1200 / 5
    assert summary["measures"]["end_ms"] == pytest.approx(summary["duration_s"] * 1e3)
    assert times[1] == "1,200"
    assert float(times[2]) == pytest.approx(summary["measures"]["mean_ms all"], rel=1e-3)
    assert float(slowdowns[-1]) == pytest.approx(
        summary["measures"]["p99.9_slowdown all"], rel=1e-3
    )
    samples = summary["samples"]["groups"]["flows"]
    rows = [line for line in lines if len(line) == 7 and line[1] in ("B", "KB", "MB")]
    assert [float(row[2]) for row in rows] == samples["flows"]
    table = pq.read_table(tmp_path / "out/pcn/flows.parquet").to_pydict()
    low = 0
    for row, limit in zip(rows, samples["limits"], strict=True):
        of_bin = [
            slowdown
            for slowdown, size in zip(table["slowdown"], table["size_bytes"], strict=True)
            if low < size <= limit
        ]
        assert float(row[4]) == pytest.approx(np.percentile(of_bin, 95), rel=1e-3)
        assert len(of_bin) < 100, "so that no column has the 99%"
        low = limit
    assert printed.count("1 seed, 1,200 flows each.") == 3
    assert "pfc: packet latency of class 3, us: mean " in printed
    assert summary["latency"]["3"]["p50_s"] <= summary["latency"]["3"]["p99_s"]


def test_tables_fit_a_terminal_of_80_columns(tmp_path):
    """Of long times, many flows, and more schemes than one table has."""
    sizes = np.arange(1, 60_001, dtype=float) * 1e6
    samples = [samples_of(sizes, (sizes / 1e10).tolist())]
    numbers = {f"{measure} all": 60_000.0 for measure in ("flows", "unfinished")}
    numbers |= dict.fromkeys(
        ("flows_a_host", "starts_ms", "end_ms", "goodput_of_starts_gbps", "goodput_gbps"), 12345.6
    )
    for names in (["pcn"], ["pcn", "dcqcn", "timely", "qcn"]):
        console = Console(file=io.StringIO(), width=80)
        for table in by_size.tables({name: Measured(numbers, samples) for name in names}):
            show_table(table, console)
        printed = console.file.getvalue()
        assert "\N{HORIZONTAL ELLIPSIS}" not in printed
        assert all(label(name) in printed for name in names)


def test_run_draws_slowdown_by_size_of_one_scheme_or_of_several(tmp_path, monkeypatch):
    charts = tuple(chart for chart in Traffic.page.charts if "slowdown" in chart.__name__)
    monkeypatch.setattr(Traffic, "page", replace(Traffic.page, charts=charts))
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "--set",
        "count=2100",
    ]  # fmt: skip
    assert (
        pcn([*command, "--scheme", "pcn,pfc", "-q", "--pictures", "--out", str(tmp_path / "out")])
        == 0
    )
    for folder in ("", "pcn", "pfc"):
        assert (
            (tmp_path / "out" / folder / "slowdown_by_size.png").read_bytes().startswith(b"\x89PNG")
        )
    svg = (tmp_path / "out" / "slowdown_by_size.svg").read_text()
    assert all(
        f"<!-- {text} -->" in svg for text in ("PCN", "PFC alone", "Slowdown, 50%", "Slowdown, 99%")
    )
    pcn_svg = (tmp_path / "out" / "pcn" / "slowdown_by_size.svg").read_text()
    assert all(f"<!-- {text} -->" in pcn_svg for text in ("50%", "95%", "99%"))
    sizes = (tmp_path / "out" / "pcn" / "slowdown.svg").read_text()
    assert all(f"<!-- {text} -->" in sizes for text in ("S, up to 10 KB", "M, 10 to 100 KB"))


def test_chart_of_several_runs_has_a_line_a_run(tmp_path):
    sizes = np.arange(1, 4001, dtype=float) * 100
    samples = samples_of(sizes, (sizes / 1e5).tolist())
    runs = {name: Measured({}, [samples]) for name in ("pcn", "dcqcn")}
    charts = by_size.charts(runs)
    assert [chart.title for chart in charts] == ["Slowdown, 50%", "Slowdown, 95%", "Slowdown, 99%"]
    assert {chart.x_label for chart in charts} == {"Flows up to\n1 seed, 4,000 flows each"}
    limits = samples.groups["flows"].limits
    for line in charts[1].lines:
        bins = [sizes[(sizes > low) & (sizes <= high)] for low, high in pairwise([0, *limits])]
        expected = [np.percentile(bin_ / 1e2, 95) for bin_ in bins]
        assert line.y.tolist() == pytest.approx(expected, rel=1e-6)
        assert line.x.tolist() == list(range(len(limits)))
    assert [line.label for line in charts[1].lines] == ["PCN", "DCQCN"]
    (single,) = by_size.charts({"pcn": runs["pcn"]})
    assert [line.label for line in single.lines] == ["50%", "95%", "99%"]


@pytest.mark.parametrize(("starts_ms", "drains"), [(0.0, False), (0.9, True), (9.0, False)])
def test_note_names_a_run_that_is_mostly_drain(starts_ms, drains):
    numbers = {"starts_ms": starts_ms, "end_ms": 11.0}
    (spans,) = (
        table for table in by_size.tables({"pcn": Measured(numbers)}) if table.title == "time"
    )
    assert [text.startswith("Most of a run is drain") for text in spans.caveats] == [True] * drains
    (collective,) = (
        table
        for table in by_size.tables({"pcn": Measured({**numbers, "collective_ms": 11.0})})
        if table.title == "time"
    )
    assert not collective.caveats


def test_goodput_of_starts_is_that_of_the_time_in_which_flows_start(tmp_path):
    """Two flows one after the other on one link: until the second starts, the link is full."""
    file = tmp_path / "flows.csv"
    file.write_text("src,dst,start_s,size_bytes\nh0,r0,0,100000000\nh1,r0,0.01,1000\n")
    traffic = Traffic(parse_spec("star", flows=str(file)))
    plan = traffic.plan("pfc", 1, {})
    numbers = flows_numbers(plan, run_virtual(plan, Silent()))
    rate_bps = plan.topology.link_at("r0", 0).rate_bps
    assert numbers["starts_ms"] == 10
    assert numbers["goodput_of_starts_gbps"] == pytest.approx(
        rate_bps / 1e9 * 1000 / 1058, rel=0.01
    )
    received = 8 * 100_001_000 / (numbers["end_ms"] or 1) / 1e6
    assert numbers["goodput_gbps"] == pytest.approx(received)


def test_columns_of_a_pipe_are_those_of_its_environment(monkeypatch):
    for columns, width in (("80", 80), ("", 200), ("wide", 200)):
        monkeypatch.setenv("COLUMNS", columns)
        assert stdout().width == width
