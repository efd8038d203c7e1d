"""What a virtual run records on request: events, queues, series of flows, captures, and files for
HPCC's scripts."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.records import FlowChoice, parse_port
from pcn.topologies.formats.hpcc import write
from pcn.topologies.star import star

RUN = [
    "run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "--pattern",
    "incast",
]  # fmt: skip
SET = ["--set", "count=80", "--set", "xoff_bytes=20KB", "--scheme", "pfc", "-q"]
EVERY = [
    "--events", "--latency", "--queues", "5us", "--series", "flows=worst:2", "--capture", "s0:5",
    "--export", "hpcc",
]  # fmt: skip


@dataclass(frozen=True)
class RunFiles:
    """A run's folder."""

    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_text())

    def table(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.folder / f"{name}.parquet").to_pylist()
        return rows

    def lines(self, name: str) -> list[list[str]]:
        return [line.split() for line in (self.folder / name).read_text().splitlines()]

    def links(self) -> Mapping[str, Mapping[str, int]]:
        return self.summary["pfc"]["links"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> RunFiles:
    """A run that records all, with much PAUSE."""
    folder = tmp_path_factory.mktemp("records") / "all"
    assert pcn([*RUN, *SET, *EVERY, "--out", str(folder)]) == 0
    return RunFiles(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> RunFiles:
    """The same run, which records nothing more than others."""
    folder = tmp_path_factory.mktemp("records") / "plain"
    assert pcn([*RUN, *SET, "--out", str(folder)]) == 0
    return RunFiles(folder)


def test_what_is_recorded_changes_no_result(recorded: RunFiles, plain: RunFiles):
    assert recorded.table("flows") == plain.table("flows")
    for entry in ("packets", "pfc", "ports", "measures"):
        if entry == "measures":  # the largest queue is seen more often here
            assert (
                recorded.summary[entry].pop("largest_queue_kb")
                >= plain.summary[entry]["largest_queue_kb"]
            )
            continue
        assert recorded.summary[entry] == plain.summary[entry]
    assert not {"events.parquet", "queues.parquet", "fct.txt", "s0-5.pcapng"} & {
        path.name for path in plain.folder.iterdir()
    }


def test_events_are_what_links_count(recorded: RunFiles):
    rows = recorded.table("events")
    counts = Counter((row["node"], row["port"], row["event"]) for row in rows)
    topology = star()
    for port in topology.ports("s0"):
        link = recorded.links()[topology.link_name("s0", port)]
        peer = topology.peer("s0", port)
        assert (
            counts["s0", port, "PAUSE queued"]
            == counts[peer.node, peer.port, "paused"]
            == link["pause"]
        )
        assert (
            counts["s0", port, "RESUME queued"]
            == counts[peer.node, peer.port, "resumed"]
            == link["resume"]
        )
    assert sum(link["pause"] for link in recorded.links().values()) > 10
    times = [row["time_s"] for row in rows]
    assert times == sorted(times)
    assert {row["class"] for row in rows} == {3}


def test_queues_are_those_of_all_ports(recorded: RunFiles):
    rows = recorded.table("queues")
    times = sorted({row["time_s"] for row in rows})
    assert np.diff(times) == pytest.approx(5e-6)
    assert Counter(row["port"] for row in rows) == {
        f"s0:{port}": len(times) for port in star().ports("s0")
    }
    most = max(row["queue_bytes"] for row in rows)
    assert most / 1e3 == recorded.summary["measures"]["largest_queue_kb"]
    assert most > 20e3


def test_series_of_the_worst_flows_are_those_of_the_largest_slowdown(recorded: RunFiles):
    flows = sorted(recorded.table("flows"), key=lambda row: -row["slowdown"])
    expected = {f"flow {row['id']}" for row in flows[:2]}
    series = recorded.table("series")
    assert {row["entity"] for row in series if row["entity"].startswith("flow ")} == expected
    for entity in expected:
        last = {row["metric"]: row["value"] for row in series if row["entity"] == entity}
        flow = next(row for row in flows if f"flow {row['id']}" == entity)
        assert last["rate_bps"] == 0, "it has ended"
        assert last["received_bytes"] <= flow["size_bytes"]
        assert last["sent_bytes"] > 0


def test_capture_has_both_ways_in_order(recorded: RunFiles):
    frames = [
        (meta.tshigh << 32 | meta.tslow, Ether(data))
        for data, meta in RawPcapNgReader(str(recorded.folder / "s0-5.pcapng"))
    ]
    times = [time for time, _ in frames]
    assert times == sorted(times)
    topology = star()
    macs = Counter(frame.src for _, frame in frames if frame.type == 0x0800)
    host = topology.host(topology.peer("s0", 5).node)
    flows = recorded.table("flows")
    assert macs[host.mac] >= sum(row["sent_packets"] for row in flows if row["src"] == host.name)
    assert sum(macs.values()) >= sum(
        row["sent_packets"] for row in flows if host.name in (row["src"], row["dst"])
    )
    pauses = [frame for _, frame in frames if frame.type == 0x8808]
    link = recorded.links()[topology.link_name("s0", 5)]
    assert len(pauses) == link["pause"] + link["resume"]
    assert (
        sorted(path.name for path in recorded.folder.iterdir() if path.name.startswith(".")) == []
    )


def test_fct_of_hpcc_has_our_slowdowns(recorded: RunFiles):
    """Its script divides the seventh column by the eighth, of the flows with 100 in the fourth."""
    rows = recorded.lines("fct.txt")
    flows = {
        (row["src"], row["dst"], row["size_bytes"], round(row["start_s"] * 1e9)): row
        for row in recorded.table("flows")
    }
    numbers = numbers_in_topology_txt()
    assert len(rows) == len(flows) == 80
    for row in rows:
        src, dst = (
            numbers[(int(word, 16) >> 8 & 0xFF) + (int(word, 16) >> 16 & 0xFF) * 256]
            for word in row[:2]
        )
        flow = flows.pop((src, dst, int(row[4]), int(row[5])))
        assert row[3] == "100"
        assert int(row[6]) / int(row[7]) == pytest.approx(flow["slowdown"], rel=2e-3)
        assert int(row[6]) == pytest.approx(flow["fct_s"] * 1e9, abs=1)
    ends = [int(row[5]) + int(row[6]) for row in rows]
    assert all(second >= first - 1 for first, second in pairwise(ends))


def numbers_in_topology_txt() -> dict[int, str]:
    """Names of hosts by their number in the topology.txt that is written for HPCC: hosts come
    first."""
    topology = star()
    head = write(topology).split()[:3]
    assert int(head[0]) == len(topology.hosts) + 1
    return {number: host.name for number, host in enumerate(topology.hosts)}


def test_pfc_of_hpcc_is_at_the_port_that_stops(recorded: RunFiles):
    rows = [tuple(map(int, row)) for row in recorded.lines("pfc.txt")]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert {row[2:4] for row in rows} == {(0, 1)}, (
        "hosts alone are stopped here, at their one interface"
    )
    assert sum(row[4] for row in rows) == sum(link["pause"] for link in recorded.links().values())
    assert sum(1 - row[4] for row in rows) == sum(
        link["resume"] for link in recorded.links().values()
    )
    hosts = {
        number: star().peer(name, 0).port for number, name in numbers_in_topology_txt().items()
    }
    stopped = Counter(hosts[row[1]] for row in rows if row[4])
    assert stopped == {
        port: count
        for port in star().ports("s0")
        if (count := recorded.links()[star().link_name("s0", port)]["pause"])
    }


def test_qlen_of_hpcc_counts_samples_by_kilobyte(recorded: RunFiles):
    lines = recorded.lines("qlen.txt")
    last = lines[len(lines) - 1 - [line[0] for line in lines[::-1]].index("time:") + 1 :]
    queues: dict[int, list[float]] = {}
    for row in recorded.table("queues"):
        queues.setdefault(int(row["port"].partition(":")[2]), []).append(row["queue_bytes"])
    assert {int(line[1]) for line in last} == set(queues)
    for line in last:
        expected = np.bincount((np.array(queues[int(line[1])]) / 1000).astype(int))
        assert list(map(int, line[2:]))[: expected.size] == expected.tolist()
        assert line[0] == str(len(star().hosts))


def test_number_in_a_gap_is_named_with_those_beside_it():
    with pytest.raises(ExperimentError, match="1 to 8, with gaps: next to it are 2 and 7"):
        FlowChoice(ids=(2, 5)).among([1, 2, 7, 8])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--series", "flows=99"], "--series: no flow 99: flows are numbered 0 to 79"),
        (["--series", "1,2"], "--series 1,2: write it as --series flows=1,7"),
        (["--capture", "s0:17"], "--capture s0:17: s0 has no port 17"),
        (["--capture", "s0"], "--capture s0: write it as NODE:PORT"),
        (["--export", "hpc"], "no format to export 'hpc'; did you mean 'hpcc'"),
        (["--queues", "0.01ns"], "samples of 5 ports are too many"),
        (["--clock", "live", "--events"], "need --clock virtual"),
        (["--clock", "live", "--export", "hpcc"], "files of --export need --clock virtual"),
    ],
)
def test_requests_that_no_run_can_meet(options, message, tmp_path, capsys):
    assert pcn([*RUN, *SET, *options, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_choices_of_flows():
    assert FlowChoice.parse("flows=3,1,3").ids == (3, 1)
    assert FlowChoice.parse("flows=all").among([5, 7]) == {5, 7}
    assert FlowChoice.parse("flows=worst:10").worst == 10
    for text in (
        "flows=",
        "flows=worst:0",
        "flows=1,",
        "flows=-1",
        "rate=all",
        "flows=\N{ARABIC-INDIC DIGIT ONE}",
    ):
        with pytest.raises(ExperimentError, match="write it as"):
            FlowChoice.parse(text)
    for text in ("s0", "s0:", ":1", "s0:x", "s0:123456", "s0:\N{ARABIC-INDIC DIGIT ONE}"):
        with pytest.raises(ExperimentError, match="write it as NODE:PORT"):
            parse_port(text)


def test_choice_of_all_flows_has_what_single_flows_have(tmp_path):
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "star", "--set", "count=4",
        "--scheme", "dcqcn",
    ]  # fmt: skip
    assert pcn([*command, "-q", "--series", "flows=all", "--out", str(tmp_path / "out")]) == 0
    rows = RunFiles(tmp_path / "out").table("series")
    metrics = {row["metric"] for row in rows if row["entity"] == "flow 2"}
    assert {"rate_bps", "alpha", "received_bytes", "marked_packets"} <= metrics
    assert {row["entity"] for row in rows if row["entity"].startswith("flow")} == {
        f"flow {number}" for number in range(4)
    }


def test_report_draws_recorded_flows(recorded: RunFiles, plain: RunFiles):
    flows = sorted(recorded.table("flows"), key=lambda row: -row["slowdown"])[:2]
    page = (recorded.folder / "report.html").read_text()
    for flow in flows:
        assert f"flow {flow['id']}: {flow['src']} to {flow['dst']}" in page
    assert 'id="single_rates"' in page
    assert 'id="single_alpha"' not in page, "PFC alone has no such variable"
    assert 'id="single_rates"' not in (plain.folder / "report.html").read_text()


def test_run_takes_the_paths_of_a_file(tmp_path):
    """Of a run whose switches number their ports in another order; without CNPs, whose paths are
    ECMP's."""
    tree = [
        "run", "traffic", "--clock", "virtual", "--topology", "fat-tree", "--set", "count=60",
        "--scheme", "pfc",
    ]  # fmt: skip

    def run(name: str, *more: str) -> tuple[str, list[dict[str, Any]]]:
        files = RunFiles(tmp_path / name)
        assert pcn([*tree, "--log-paths", *more, "-q", "--out", str(files.folder)]) == 0
        return (files.folder / "paths.csv").read_text(), files.table("flows")

    first = run("first", "--set", "ecmp_seed=1")
    assert first[0] != run("other", "--set", "ecmp_seed=2")[0]
    file = str(tmp_path / "first" / "paths.csv")
    assert run("again", "--set", "ecmp_seed=2", "--paths", file) == first


@pytest.mark.parametrize(
    ("text", "clock", "why"),
    [
        (None, "virtual", "no such file"),
        ("flow,switch,next\n1,s9,r0\n", "virtual", "paths.csv:2: no switch 's9'"),
        ("flow,switch,next\n99,s0,r0\n", "virtual", "a path of flow 99: no such flow"),
        ("flow,switch,next\n1,s0,r0\n", "live", "--paths: in virtual time alone"),
    ],
)
def test_run_refuses_paths_that_it_can_not_take(text, clock, why, tmp_path, capsys):
    file = tmp_path / "paths.csv"
    if text is not None:
        file.write_text(text)
    few = [
        "run", "traffic", "--topology", "star", "--set", "count=5", "--out",
        str(tmp_path / "out"), "-q",
    ]  # fmt: skip
    assert pcn([*few, "--clock", clock, "--paths", str(file)]) != 0
    assert why in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
