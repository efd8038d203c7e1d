"""Traffic of many flows on any network: what it is made of, what becomes of the flows, and both commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from experiments.errors import ExperimentError
from experiments.measure import EmptyPath
from experiments.papers import find_experiment
from experiments.progress import Silent
from experiments.tasks import task_of
from experiments.traffic import Traffic, flows
from experiments.traffic.words import PATTERNS, WORKLOADS, Words, draw, from_reference, read_flows, words
from experiments.virtual import run_virtual
from hosts.algorithms import find_scheme
from pcn.cli import run as pcn
from topologies.clos import clos
from topologies.model import FlowSpec
from virtualnet import VirtualNetwork

CSV = "src,dst,start_s,size_bytes\nh0,r0,0,64000\nh1,r1,1e-5,2000000\nh0,r1,2e-5,1\n"


def test_a_reference_says_what_it_is_made_of(tmp_path: Path) -> None:
    made = words("clos", "W1", "incast")
    assert made.reference == "traffic?topology=clos&workload=W1&pattern=incast"
    assert from_reference(made.reference) == made
    file = tmp_path / "my flows & more.csv"
    file.write_text(CSV)
    given = words("compact", flows=str(file))
    again = from_reference(given.reference)
    assert (again.flows, again.digest) == (str(file), given.digest)
    found = find_experiment(given.reference)
    assert isinstance(found, Traffic)
    assert len(found.plan("pcn", 1, {}).topology.flows) == 3
    file.write_text(CSV + "h0,r0,1,1\n")
    assert words("compact", flows=str(file)).digest != given.digest
    with pytest.raises(ExperimentError, match="isn't what it was when these runs were declared"):
        from_reference(given.reference)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("nosuch",), "no topology 'nosuch'"),
        (("", "W3"), "there is no file W3. Workloads are W1, W2, Hadoop, WebSearch, or a file of lines"),
        (("", "", "all"), "no pattern 'all'"),
        (("", "W1", "", "flows.csv"), "leave out --workload and --pattern"),
        (("", "", "", "/nosuch.csv"), "there is no file /nosuch.csv"),
    ],
)
def test_words_that_mean_nothing(given: tuple[str, ...], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        words(*given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line must be src,dst,start_s,size_bytes"),
        ("src,dst,start_s,size_bytes\n", "has no flow"),
        (CSV + "h0,r0,-1,5\n", ":5: start_s must be 0 or more, size_bytes a whole number above 0"),
        (CSV + "h0,r0,1,2.5\n", ":5: "),
        (CSV + "h0,r0\n", ":5: "),
    ],
)
def test_files_of_flows_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(text)
    with pytest.raises(ExperimentError, match=message):
        read_flows(path)


@pytest.mark.parametrize("line", ["h0,h99,0,1", "h0,h0,0,1"])
def test_flows_between_hosts_that_there_are(tmp_path: Path, line: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(CSV + line + "\n")
    with pytest.raises(ExperimentError, match=r"has no host 'h99'; it has h0|a flow from h0 to itself"):
        Traffic(words("compact", flows=str(path))).plan("pcn", 1, {})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern: str) -> None:
    topology = clos(pods=1, spines=0)
    drawn = draw(Words("clos", "W1", pattern), topology, 3, 0.5, 2000, 1000)
    assert drawn == draw(Words("clos", "W1", pattern), topology, 3, 0.5, 2000, 1000)
    assert len(drawn) >= 2000
    assert all(flow.src != flow.dst for flow in drawn)
    ends: dict[str, set[str]] = {}
    for flow in drawn:
        ends.setdefault(flow.src, set()).add(flow.dst)
    if pattern == "permutation":
        assert all(len(others) == 1 for others in ends.values())
        assert len(set.union(*ends.values())) == len(ends) == len(topology.hosts)
    else:
        assert max(map(len, ends.values())) > 10
    expected = 0.5 * 10e9 * 1000 / 1058 / 8 / WORKLOADS["W1"].mean_bytes * len(topology.hosts)
    assert len(drawn) / max(flow.start_s for flow in drawn) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("size", [1, 999, 1000, 1001, 25_000, 25_003])
@pytest.mark.parametrize("dst", ["h1", "h20", "h40"])
def test_in_the_empty_network_the_slowdown_is_one(size: int, dst: str) -> None:
    """Links of 10 and 40 Gb/s, by one, three or five of them."""
    topology = clos(pods=2)
    with VirtualNetwork(topology, find_scheme("pfc").configure()) as network:
        flow = network.add_flow(FlowSpec(1, "h0", dst, 0.0, size))
        network.run(until_s=1e-2)
        complete_s = flow.stats().complete_s
    assert complete_s == pytest.approx(EmptyPath.of(topology, "h0", dst).fct_s(size, 1000), rel=1e-6)


def test_what_becomes_of_the_flows() -> None:
    traffic = Traffic(Words("clos", "W1", "incast"))
    plan = traffic.plan("pfc", 2, {"pods": 1, "spines": 0, "count": 300, "xoff_bytes": 50_000, "load": 0.8})
    recording = run_virtual(plan, Silent())
    found = flows.numbers(plan, recording)
    assert found["unfinished"] == 0
    assert sum(found[f"flows {size}"] or 0 for size, _ in flows.SIZES) == found["flows all"] == len(recording.flows)
    slowest = found["p99_slowdown all"] or 0
    assert 1 <= (found["p50_slowdown all"] or 0) <= (found["p95_slowdown all"] or 0) <= slowest
    assert np.nanmin(flows.ended(plan, recording).slowdown) == pytest.approx(1, abs=1e-3)
    tiers = flows.pause_by_tier(recording)
    assert set(tiers) == {"l", "t"}
    assert tiers["t"] > 0
    assert sum(tiers.values()) == found["pause_frames"] == found["pause_frames class 3"]
    assert traffic.settled(plan, recording)[0].verdict == "met"
    short = traffic.plan("pfc", 2, {"pods": 1, "spines": 0, "count": 300, "duration": 1e-3})
    assert (flows.numbers(short, run_virtual(short, Silent()))["unfinished"] or 0) > 0


def test_its_parameters_are_the_topologys_too() -> None:
    names = {one.name for one in find_experiment("traffic?topology=clos&workload=W2&pattern=uniform").parameters}
    assert {"load", "count", "pods", "host_bps", "T", "cnp_interval"} <= names
    assert not names & {"lossless_classes", "mtu_bytes"}
    plan = Traffic(Words("compact")).plan("timely", 1, {"payload": 4000, "count": 5})
    assert plan.topology.number("mtu_bytes") == 4058
    with pytest.raises(ExperimentError, match="k = 3 must be even"):
        Traffic(Words("fat-tree")).plan("pcn", 1, {"k": 3})


def test_a_run_of_two_schemes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "flows.csv", tmp_path / "out"
    file.write_text(CSV)
    command = ["run", "traffic", "--clock", "virtual", "--topology", "compact", "--flows", str(file)]
    assert pcn([*command, "--scheme", "pcn,pfc", "--no-pictures", "--out", str(out)]) == 0
    rows = pq.read_table(out / "pcn" / "flows.parquet").to_pylist()
    assert [(row["src"], row["dst"], row["size_bytes"], row["size"]) for row in rows] == [
        ("h0", "r0", 64000, "M"),
        ("h1", "r1", 2000000, "XL"),
        ("h0", "r1", 1, "S"),
    ]
    assert all(row["slowdown"] >= 0.999 for row in rows)
    summary = json.loads((out / "pcn" / "summary.json").read_text())
    assert summary["steady"]["jain"] is None
    assert summary["measures"]["flows all"] == 3
    page = (out / "report.html").read_text()
    assert "99% slowdown" in page
    assert 'id="play"' not in page, "nothing is replayed of many flows"


def test_a_sweep_over_the_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["sweep", "traffic", "--topology", "star", "--workload", "W1", "--load", "0.3,0.6", "--set", "count=50"]
    assert pcn([*command, "--jobs", "1", "--show", "p99_slowdown all", "--out", str(out)]) == 0
    rows = pq.read_table(out / "runs.parquet").to_pylist()
    assert [row["load"] for row in rows] == [0.3, 0.6]
    assert all(row["lost"] == 0 and row["flows all"] == 50 for row in rows)
    other = Traffic(Words("star", "W2"))
    run = next(iter(Traffic(Words("star", "W1")).runs(("pcn",))))
    assert task_of(other, run).identity != task_of(Traffic(Words("star", "W1")), run).identity


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_its_options_are_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pcn([command, "dumbbell", "--topology", "clos", "--load", "0.5"]) == 2
    assert "--topology, --load: for traffic alone, not for dumbbell" in capsys.readouterr().err
