"""Traffic of many flows on any network: what it is made of, and both commands."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.papers import find_experiment
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.run_task import task_of
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import (
    PATTERNS,
    WORKLOADS,
    TrafficSpec,
    draw,
    from_reference,
    parse_spec,
)
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.clos import clos

CSV = "src,dst,start_s,size_bytes\nh0,r0,0,64000\nh1,r1,1e-5,2000000\nh0,r1,2e-5,1\n"


def test_reference_names_its_parts(tmp_path):
    spec = parse_spec("clos", "W1", "incast")
    assert spec.reference == "traffic?topology=clos&workload=W1&pattern=incast"
    assert from_reference(spec.reference) == spec
    file = tmp_path / "my flows & more.csv"
    file.write_text(CSV)
    file_spec = parse_spec("compact", flows=str(file))
    again = from_reference(file_spec.reference)
    assert (again.flows, again.digest) == (str(file), file_spec.digest)
    experiment = find_experiment(file_spec.reference)
    assert isinstance(experiment, Traffic)
    assert len(experiment.plan("pcn", 1, {}).topology.flows) == 3
    file.write_text(CSV + "h0,r0,1,1\n")
    assert parse_spec("compact", flows=str(file)).digest != file_spec.digest
    with pytest.raises(ExperimentError, match="isn't what it was when these runs were declared"):
        from_reference(file_spec.reference)


def test_spec_holds_digest_of_topology_s_file(tmp_path):
    file, flows = tmp_path / "mine.py", tmp_path / "flows.csv"
    file.write_text("from pcn.topologies.star import star\nMINE = star(3)\n")
    flows.write_text("src,dst,start_s,size_bytes\nh0,r0,0,1000\n")
    spec = parse_spec(f"{file}:MINE", flows=str(flows))
    assert from_reference(spec.reference) == spec
    experiment = find_experiment(spec.reference)
    assert len(experiment.plan("pcn", 1, {"xoff_bytes": 100e3}).topology.hosts) == 4
    file.write_text("from pcn.topologies.star import star\nMINE = star(4)\n")
    with pytest.raises(ExperimentError, match=r"mine.py or .*flows.csv isn't what it was"):
        from_reference(spec.reference)


def test_traffic_keeps_what_the_topology_s_file_has():
    """The largest frame alone follows from the payload."""
    traffic = Traffic(parse_spec(str(Path(__file__).parents[2] / "topologies/files/racks.yaml")))
    assert traffic.plan("pcn", 1, {}).topology.number("xoff_bytes") == 256e3
    assert traffic.plan("pcn", 1, {}).topology.lossless_classes == (3, 4)
    assert (
        traffic.plan("pcn", 1, {"xoff_bytes": 100e3, "payload": 500}).topology.number("xoff_bytes")
        == 100e3
    )
    assert traffic.plan("pcn", 1, {"payload": 500}).topology.number("mtu_bytes") == 558
    assert Traffic(parse_spec("star")).plan("pcn", 1, {}).topology.number("xoff_bytes") == 512e3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nosuch",), "no topology 'nosuch'"),
        (
            ("", "W3"),
            ("no file W3. Workloads are W1, W2, Hadoop, WebSearch, FbHdp, .*, or a file of lines"),
        ),
        (("", "", "all"), "no pattern 'all'"),
        (("", "W1", "", "flows.csv"), "leave out --workload$"),
        (
            ("", "W1", "incast", "flows.csv", "onoff", "5"),
            "out --workload and --pattern and --arrivals and --incast$",
        ),
        (("", "", "", "", "never"), "never.*poisson, lognormal, onoff"),
        (("", "", "incast", "", "onoff"), "of the patterns uniform and permutation"),
        (("", "", "", "", "", "0"), "--incast 0: a number of senders, from 1"),
        (("", "", "", "/nosuch.csv"), "no file /nosuch.csv"),
    ],
)
def test_words_that_mean_nothing(words, message):
    with pytest.raises(ExperimentError, match=message):
        parse_spec(*words)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern):
    topology = clos(pods=1, spines=0)
    drawn = draw(TrafficSpec("clos", "W1", pattern), topology, 3, 0.5, 2000, 1000)
    assert drawn == draw(TrafficSpec("clos", "W1", pattern), topology, 3, 0.5, 2000, 1000)
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


SCHEME = """
from pcn.hosts.algorithms import ReactionPoint, Scheme
from pcn.hosts.algorithms.parameters import Parameters

class Slow(ReactionPoint):
    def __init__(self, line_bps, parameters):
        self.rate_bps = {rate}

SLOW = Scheme("{name}", "one rate", "pcn", Parameters, Slow)
"""


@pytest.mark.parametrize(("rate", "unfinished"), [("line_bps / 50", 0), ("1.0", 2)])
def test_run_goes_on_until_all_flows_have_arrived_or_nothing_moves(tmp_path, rate, unfinished):
    name = f"slow{unfinished}"
    (tmp_path / "slow.py").write_text(SCHEME.format(rate=rate, name=name))
    file = tmp_path / "flows.csv"
    file.write_text(CSV)
    scheme = find_scheme(f"{tmp_path / 'slow.py'}:SLOW").name
    traffic = Traffic(parse_spec("compact", flows=str(file)))
    plan = traffic.plan(scheme, 1, {})
    assert plan.until_complete
    recording = run_virtual(plan, Silent())
    assert sum(flow.fct_s is None for flow in recording.flows) == unfinished
    ends = [flow.start_s + flow.fct_s for flow in recording.flows if flow.fct_s is not None]
    assert recording.duration_s > plan.duration_s
    assert unfinished or recording.duration_s == pytest.approx(max(ends))
    limited = run_virtual(traffic.plan(scheme, 1, {"duration": plan.duration_s}), Silent())
    assert limited.duration_s == plan.duration_s
    assert sum(flow.fct_s is None for flow in limited.flows) > 0


def test_its_parameters_are_the_topologys_too():
    experiment = find_experiment("traffic?topology=clos&workload=W2&pattern=uniform")
    names = {parameter.name for parameter in experiment.parameters("pcn")}
    assert {"load", "count", "pods", "host_bps", "T"} <= names
    assert not names & {"lossless_classes", "mtu_bytes"}
    plan = Traffic(TrafficSpec("compact")).plan("timely", 1, {"payload": 4000, "count": 5})
    assert plan.topology.number("mtu_bytes") == 4058
    with pytest.raises(ExperimentError, match="k = 3 must be even"):
        Traffic(TrafficSpec("fat-tree")).plan("pcn", 1, {"k": 3})
    with pytest.raises(ExperimentError, match="rate_bps=0 bit/s: must be 1 bit/s to 100000 Gbit/s"):
        Traffic(TrafficSpec("star")).plan("pcn", 1, {"rate_bps": 0.0})


def test_k_of_a_fat_tree_is_a_parameter_and_no_dilation(tmp_path, capsys):
    command = ["run", "traffic", "--clock", "virtual", "--topology", "fat-tree", "--workload", "W1"]
    out = ["--json", "--out", str(tmp_path / "out")]
    assert pcn([*command, "--set", "k=2", "--set", "count=1", *out]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["parameters"]["k"], summary["k"]) == (2, 1)
    assert pcn([*command, "--dilation", "6", *out]) == 1
    assert "--dilation 6: virtual time isn't stretched" in capsys.readouterr().err


@pytest.mark.parametrize("switched", [False, True])
def test_run_measures_ports_of_switches_alone(tmp_path, capsys, switched):
    file, ends = tmp_path / "net.json", [("h0", "h1"), *[("h0", "s"), ("h1", "s")] * switched]
    links = [{"a": a, "b": b, "rate": "10G", "delay": "1us"} for a, b in ends]
    hosts = {"hosts": ["h0", "h1"], "switches": ["s"] * switched}
    file.write_text(json.dumps({**hosts, "links": links}))
    words = ["run", "traffic", "--clock", "virtual", "--topology", str(file), "--set", "count=9"]
    assert pcn([*words, "--out", str(tmp_path / "out")]) == (not switched)
    assert ("no switch is next to h" in capsys.readouterr().err) == (not switched)


def test_a_run_of_two_schemes(tmp_path, capsys):
    file, out = tmp_path / "flows.csv", tmp_path / "out"
    file.write_text(CSV)
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "compact", "--flows", str(file),
    ]  # fmt: skip
    assert pcn([*command, "--scheme", "pcn,pfc", "--out", str(out)]) == 0
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
    assert summary["measures"]["pause_frames class 3"] == 0, "a number to compare with"
    assert summary["parameters"]["duration"] is None
    text = (out / "report.html").read_text()
    assert "99% slowdown" in text
    assert 'id="play"' not in text, "nothing is replayed of many flows"
    assert "the run ends when all have arrived" in text
    assert "1: decides when receivers&#39; windows begin" in text
    assert "1: decides nothing" in text, "of PFC's run"


def test_check_s_exit_code_counts_unfinished_flows(tmp_path, capsys):
    file, out = tmp_path / "flows.csv", tmp_path / "out"
    file.write_text(CSV)
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "compact", "--flows", str(file),
        "--check",
    ]  # fmt: skip
    assert pcn([*command, "--set", "duration=100us", "--out", str(out)]) == 3
    assert "pcn: not met: flows unfinished at the run's end" in capsys.readouterr().err
    rows = pq.read_table(out / "flows.parquet").to_pylist()
    assert [(row["finished"], row["fct_s"] is None) for row in rows] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    text = (out / "report.html").read_text()
    assert "1 of 3 flows unfinished" in text
    assert pcn([*command, "--out", str(tmp_path / "whole")]) == 0


def test_a_sweep_over_the_load(tmp_path, capsys):
    out = tmp_path / "out"
    command = [
        "sweep", "traffic", "--topology", "star", "--workload", "W1", "--load", "0.3,0.6",
        "--set", "count=50",
    ]  # fmt: skip
    assert pcn([*command, "--jobs", "1", "--show", "p99_slowdown all", "--out", str(out)]) == 0
    rows = pq.read_table(out / "runs.parquet").to_pylist()
    assert [row["load"] for row in rows] == [0.3, 0.6]
    assert all(row["lost"] == 0 and row["flows all"] == 50 for row in rows)
    traffic = Traffic(TrafficSpec("star", "W2"))
    run = next(iter(Traffic(TrafficSpec("star", "W1")).runs(("pcn",))))
    assert (
        task_of(traffic, run).identity != task_of(Traffic(TrafficSpec("star", "W1")), run).identity
    )


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_its_options_are_its_own(command, capsys):
    assert pcn([command, "dumbbell", "--topology", "clos", "--load", "0.5"]) == 2
    assert "--topology, --load: for traffic alone, not for dumbbell" in capsys.readouterr().err
