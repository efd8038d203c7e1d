"""Hosts of files of flows on the topology, and its options that are texts."""

import json
import re
from pathlib import Path

import pytest

from pcn import cli
from pcn.experiments import runner
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.papers import find_experiment
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import parse_spec

RAILS = "6 2 9\n4 5\n" + "".join(
    f"{host} {switch} 100Gbps 1us 0\n" for host in range(4) for switch in (4, 5)
)
TWO_RAILS = RAILS + "4 5 100Gbps 1us 0\n"
STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))


def plan(folder: Path, topology: str, flows: str, **values: float) -> Plan:
    (folder / "net.txt").write_text(topology)
    (folder / "flows").write_text(flows)
    return Traffic(parse_spec(str(folder / "net.txt"), flows=str(folder / "flows"))).plan(
        "pcn", 1, values
    )


def test_flow_uses_the_nic_of_its_number_on_split_hosts(tmp_path):
    run_plan = plan(
        tmp_path,
        TWO_RAILS,
        "3\n2 1 3 100 4000 2\n2 0 3 100 4000 2\n3 0 3 100 4000 2\n",
        split_hosts=1,
    )
    assert [(flow.src, flow.dst) for flow in run_plan.topology.flows] == [
        ("h2-0", "h1-0"), ("h2-1", "h0-1"), ("h3-0", "h0-0"),
    ]  # fmt: skip
    assert any("NIC h2-N at each end, N its id modulo" in note for note in run_plan.notes)


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ("2\n0 1 3 1 9 2\n400 1 3 1 9 2\n", "flows:3: net has no host 'h400'; hosts are h0 to h15"),
        ("2\n0 1 3 1 9 2\n1 16 3 1 9 2\n", "flows:3: net has no host 'h16'; s16 is a switch"),
        ("2\n0 1 3 1 9 2\n1 1 3 1 9 2\n", "flows:3: a flow from h1 to itself"),
        (
            "src,dst,size\nh0,h1,9B\n\nh0,h77,9B\n",
            "flows:4: net has no host 'h77'; hosts are h0 to h15",
        ),
        (
            "Nodes 16\n0->1 start 0 size 9\n3->16 start 0 size 9\n",
            "flows:3: net has no host 'h16'; s16 is a switch",
        ),
    ],
)
def test_host_that_the_topology_lacks_is_refused_with_its_line(tmp_path, flows, message):
    star = "17 1 16\n16\n" + "".join(f"{host} 16 100Gbps 1us 0\n" for host in range(16))
    with pytest.raises(ExperimentError, match=re.escape(message)):
        plan(tmp_path, star, flows)


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--pattern", "incast"],
        ["--pattern", "permutation"],
        ["--incast", "1", "--set", "incast_period=1ms"],
    ],
)
def test_host_that_is_alone_is_refused(more, tmp_path, capsys):
    (tmp_path / "net.txt").write_text("2 1 1\n1\n0 1 100Gbps 1us 0\n")
    command = ["run", "traffic", "--clock", "virtual", "--topology", str(tmp_path / "net.txt")]
    assert cli.run([*command, *more]) == 1
    assert capsys.readouterr().err == "pcn: net has one host: flows have two ends\n"


def test_run_refuses_a_negative_seed(capsys):
    command = ["run", "traffic", "--clock", "virtual", "--topology", "star", "--seed", "-1"]
    assert cli.run(command) == 1
    assert capsys.readouterr().err == "pcn: seed -1: from 0 to 2^63 - 1 are possible\n"


def test_conversion_notes_hosts_that_get_other_numbers(tmp_path, capsys):
    source, out = tmp_path / "net.txt", f"hpcc:{tmp_path / 'out.txt'}"
    source.write_text(TWO_RAILS)
    assert cli.run(["topology", "convert", str(source), out, "--set", "split_hosts=1"]) == 0
    assert "note: hosts are numbered anew: h0-1 is node 1" in capsys.readouterr().err
    source.write_text(STAR)
    assert cli.run(["topology", "convert", str(source), out]) == 0
    assert capsys.readouterr().err == ""


def test_conversion_notes_what_the_format_lacks(tmp_path, capsys):
    """A network without its switches' latency gives other completion times."""
    source, hosts = tmp_path / "net.json", ["h0", "h1"]
    network = {
        "hosts": hosts,
        "switches": [{"name": "s0", "latency": "1us"}],
        "links": [{"a": host, "b": "s0", "rate": "1G", "delay": "1us"} for host in hosts],
        "parameters": {"xoff_bytes": "256KB", "mine": 3},
        "flows": [{"src": "h0", "dst": "h1", "size": "1KB"}],
    }
    source.write_text(json.dumps(network))
    left_out = "leaves out of switches latency_s; parameters xoff_bytes; flows (1)"
    for suffix, form in ((".graphml", "graphml"), (".graph.json", "node-link"), (".json", "")):
        assert cli.run(["topology", "convert", str(source), str(tmp_path / f"out{suffix}")]) == 0
        note = f"note: {form} {left_out}: .yaml and .json have all\n"
        assert capsys.readouterr().err == (note if form else "")


def test_run_notes_flows_without_pfc_and_takes_their_class(tmp_path, capsys):
    """Three hosts at line rate into one: without PFC packets are lost."""
    (tmp_path / "net.txt").write_text(STAR)
    (tmp_path / "flow.txt").write_text(
        "3\n0 1 1 100 40000000 2\n2 1 1 100 40000000 2\n3 1 1 100 40000000 2\n"
    )
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", str(tmp_path / "net.txt"),
        "--scheme", "pfc",
    ]  # fmt: skip
    command += ["--flows", str(tmp_path / "flow.txt")]
    lost = {}
    for name, more in (("without", []), ("with", ["--set", "lossless_classes=1,3"])):
        assert cli.run([*command, "--out", str(tmp_path / name), *more]) == 0
        printed = " ".join(capsys.readouterr().err.split())
        note = (
            "note: flows of class 1 have no PFC and may lose packets; --set lossless_classes=1,3 "
            "gives them PFC, "
        )
        assert printed.startswith(note) is (name == "without")
        lost[name] = json.loads((tmp_path / name / "summary.json").read_text())["packets"]["lost"]
    assert lost["with"] == 0 < lost["without"]


def test_note_names_a_scheme_that_repeats(tmp_path):
    """--reliability would take the place of the scheme's timeout."""
    (tmp_path / "repeats.py").write_text(
        "from pcn import ReactionPoint, Scheme\n"
        "from pcn.hosts.algorithms.parameters import Parameters\n"
        "from pcn.hosts.reliability import Reliability, Repeats\n"
        "class Rp(ReactionPoint):\n"
        "    segment_bytes = 1\n"
        "    def __init__(self, line_rate_bps, parameters):\n"
        "        self.rate_bps = line_rate_bps\n"
        "        self.reliability = Reliability(Repeats.SELECTIVE, 1e-4)\n"
        "REPEATS = Scheme('repeats', 'repeats', 'plain', Parameters, Rp)\n"
    )
    traffic = Traffic(parse_spec("star", options={"lossless_classes": "6"}))
    for scheme, means in (
        ("pfc", "--set lossless_classes=3,6 gives them PFC, --reliability 3=selective repeats"),
        (f"{tmp_path / 'repeats.py'}:REPEATS", "which repeats repeats; --set lossless_classes=3,6"),
    ):
        notes = traffic.plan(scheme, 1, {"count": 3}).notes
        assert [means in note for note in notes].count(True) == 1


def test_sweep_keeps_a_text_whole(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    (tmp_path / "net.txt").write_text(STAR)
    command = [
        "sweep", "traffic", "--topology", str(tmp_path / "net.txt"), "--set",
        "lossless_classes=1,3",
    ]  # fmt: skip
    command += ["--set", "count=5", "--load", "0.2,0.4", "--scheme", "pfc", "--jobs", "1"]
    assert cli.run([*command, "--out", str(tmp_path / "out")]) == 0
    assert "2 runs" in capsys.readouterr().err


@pytest.mark.parametrize("classes", ["9", "3,3", "x"])
def test_text_that_the_topology_refuses_is_one_line(tmp_path, classes, capsys):
    command = ["run", "traffic", "--clock", "virtual", "--set", f"lossless_classes={classes}"]
    assert cli.run([*command, "--out", str(tmp_path / "out")]) == 1
    assert (
        f"lossless_classes '{classes}': classes from 0 to 7, each once" in capsys.readouterr().err
    )


def test_reference_has_the_texts():
    spec = parse_spec("compact", options={"lossless_classes": "1,3"})
    experiment = find_experiment(spec.reference)
    assert experiment.plan("pcn", 1, {"count": 3}).topology.parameters["lossless_classes"] == "1,3"
    with pytest.raises(ExperimentError, match="no text option of the topology 'colour'"):
        parse_spec("compact", options={"colour": "red"})
    tiers = Path(__file__).parents[2] / "topologies/files/small.topo"
    with pytest.raises(
        ExperimentError,
        match="no parameter 'rate_bps': the file has each tier's rate, Downlink_speed",
    ):
        runner.run(parse_spec(str(tiers)).reference, clock="virtual", settings=["rate_bps=7G"])


SIZES = "0 0\n1000 50\n2000 100\n"
FLOWS = "1\n0 1 3 100 1000 2\n"
CSV = "src,dst,size\nh0,h1,9B\n"


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("flows", STAR, "--flows {}: this is a topology (hpcc): give it as --topology"),
        ("flows", SIZES, "--flows {}: this is a file of flow sizes: give it as --workload"),
        ("workload", STAR, "--workload {}: this is a topology (hpcc): give it as --topology"),
        (
            "workload",
            FLOWS,
            "--workload {}: this is a file of flows (flow-txt): give it as --flows",
        ),
        ("topology", SIZES, "--topology {}: this is a file of flow sizes: give it as --workload"),
        ("topology", CSV, "--topology {}: this is a file of flows (csv): give it as --flows"),
        ("flows", "shade\nred\n", "{}:1: no column 'shade'"),
    ],
)
def test_file_of_another_option_is_named(tmp_path, option, text, message):
    path = tmp_path / "given.txt"
    path.write_text(text)
    with pytest.raises(ExperimentError, match=re.escape(message.format(path))):
        parse_spec(**{option: str(path)})


def test_load_beside_a_file_of_flows_is_left_out(tmp_path):
    (tmp_path / "net.txt").write_text(STAR)
    (tmp_path / "flow.txt").write_text(FLOWS)
    spec = parse_spec(str(tmp_path / "net.txt"), flows=str(tmp_path / "flow.txt"))
    with pytest.raises(
        ExperimentError, match="no parameter 'load': --flows has all flows; leave it out"
    ):
        runner.run(spec.reference, clock="virtual", settings=["load=0.5"], out=tmp_path / "out")
