"""The judge's own parts: a drawn run, its files as HPCC's simulation has them, and the table of two
results."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))

import hpcc

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec

HPCC = [
    "--scheme",
    "hpcc",
    *(
        f"--param={setting}"
        for setting in ("frame_per_payload=1.102", "min_rate_bps=1e9", "first_rtt=1")
    ),
]

# Two ToRs of two hosts, 100 Gb/s, and two spines behind them, 400 Gb/s.
NETWORK = """8 4 8
4 5 6 7
0 4 100Gbps 1000ns 0
1 4 100Gbps 1000ns 0
2 5 100Gbps 1000ns 0
3 5 100Gbps 1000ns 0
4 6 400Gbps 1000ns 0
4 7 400Gbps 1000ns 0
5 6 400Gbps 1000ns 0
5 7 400Gbps 1000ns 0
"""


@pytest.fixture
def network(tmp_path) -> Path:
    (tmp_path / "small.txt").write_text(NETWORK)
    return tmp_path / "small.txt"


def test_network_has_hpccs_buffers_and_thresholds(network: Path):
    tor = hpcc.network(network).switch("s4")
    assert [(share.alpha, share.headroom_bytes) for share in tor.buffer.shares[:4]] == [
        (1 / 8, 37_500)
    ] * 2 + [(0.5, 150_000)] * 2
    assert [
        (thresholds.k_min_bytes, thresholds.k_max_bytes, thresholds.rate_bps)
        for thresholds in tor.ecn
    ] == [(400e3, 1600e3, 100e9), (1600e3, 6400e3, 400e9)]


def test_run_writes_each_flows_time_and_path(network: Path, tmp_path):
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    assert (
        hpcc.main(["draw", str(network), str(flows), "--duration", "200us", "--incast", "3"]) == 0
    )
    assert hpcc.main(["run", str(network), str(flows), str(out)]) == 0
    count = int(flows.read_text().split()[0])
    lines = (out / "fct.txt").read_text().splitlines()
    assert len(lines) == count > 9
    assert sum(line.split()[3] == "200" for line in lines) == 9
    keys = {tuple(line.split()[:3]) for line in lines}
    assert len(keys) == count
    hops = [tuple(map(int, line.split())) for line in (out / "paths.txt").read_text().splitlines()]
    between = [hop for hop in hops if hop[3] in (4, 5) and hop[4] in (6, 7)]
    assert {hop[4] for hop in between} == {6, 7}
    rows = hpcc.compare(network, out / "fct.txt", out / "fct.txt")
    assert f"{count} flows in both, 0 in ns-3 alone" in rows[-1]
    assert hpcc.compare(network, out / "fct.txt", out / "fct.txt", as_ns3=True)[2].endswith(
        "+0.0 / +0.0 / +0.0 |"
    )
    assert not rows[2].endswith("+0.0 / +0.0 / +0.0 |")  # frames here have ten bytes more


def test_paths_of_acks_are_those_that_acks_take(network: Path):
    """Data leaves the first ToR alone, so what leaves the second one towards a spine are ACKs."""
    topology = find_topology(str(network)).build({})
    flows = [
        FlowSpec(i, ("h0", "h1")[i % 2], ("h2", "h3")[i // 2 % 2], i * 1e-5, 4000)
        for i in range(40)
    ]
    scheme = find_scheme("dctcp").configure()
    paths = hpcc.paths_back(topology, scheme, flows, 1)
    chosen = Counter(end for ends in paths.values() for end in ends if end.node == "s5")
    with VirtualNetwork(topology, scheme) as net:
        for flow in flows:
            net.add_flow(flow)
        net.run(until_s=2e-3)
        acks = sum(net.flows[flow.id].stats().received_packets for flow in flows)
        counted = {end: net.link_stats(end.node, end.port).packets for end in chosen}
    assert len(chosen) == 2
    assert sum(counted.values()) == acks == 160
    assert counted == {end: 4 * flows_there for end, flows_there in chosen.items()}
    lines = hpcc.hops_of(topology, flows, paths).splitlines()
    assert {tuple(line.split()[:2]) for line in lines if line.split()[3] == "5"} == {
        ("0", "2"),
        ("0", "3"),
        ("1", "2"),
        ("1", "3"),
    }


@pytest.mark.parametrize("scheme", [[], HPCC])
def test_frames_are_as_long_as_in_ns3(network: Path, tmp_path, scheme):
    """The bytes on the wire, and so a flow's time in the empty network; a last packet of few bytes
    is longer."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out), "--as-ns3", *scheme]) == 0
    topology = find_topology(str(network)).build({})
    fct = hpcc.read_fct(out / "fct.txt", topology, 90 if scheme else 48, bool(scheme))
    assert [(flow.size_bytes, flow.slowdown) for flow in fct.values()] == [
        (2500, pytest.approx(1, abs=2e-3)),
        (700, pytest.approx(1, abs=2e-3)),
    ]
    assert [hpcc._shorter(size, 10) for size in (1000, 2500, 2005, 1)] == [990, 2470, 1981, 1]


def test_slowdown_in_the_empty_network_is_one(network: Path, tmp_path):
    """Of a line as ns-3 writes it, with an ACK's way back, and of a run here."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out)]) == 0
    topology = find_topology(str(network)).build({})
    assert [
        flow.slowdown for flow in hpcc.read_fct(out / "fct.txt", topology, 58, False).values()
    ] == pytest.approx([1, 1], abs=2e-3)
    # 748 bytes over two links of 100 Gb/s and 1 us, and an ACK of 60 bytes back.
    fct_ns = round(2 * (1000 + 748 * 0.08) + 2 * (1000 + 60 * 0.08))
    (tmp_path / "ns3.txt").write_text(f"0b000101 0b000001 10000 100 700 2001000000 {fct_ns} 4120\n")
    fct = hpcc.read_fct(tmp_path / "ns3.txt", topology, 48, False)
    assert [flow.slowdown for flow in fct.values()] == pytest.approx([1], abs=1e-3)
    with pytest.raises(ValueError, match="1 flows in common"):
        hpcc.compare(network, out / "fct.txt", tmp_path / "ns3.txt")


@pytest.mark.parametrize("scheme", [["--scheme", "hpcc"], HPCC])
def test_slowdown_of_hpcc_in_the_empty_network_is_one(network: Path, tmp_path, scheme):
    """Telemetry's bytes count, ours and ns-3's."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out), *scheme, "--acks-in-data"]) == 0
    topology = find_topology(str(network)).build({})
    slowdowns = [
        flow.slowdown for flow in hpcc.read_fct(out / "fct.txt", topology, 102, True).values()
    ]
    assert slowdowns == pytest.approx([1, 1], abs=2e-3)
    # 790 bytes over two links of 100 Gb/s and 1 us, and an ACK of 102 bytes back.
    fct_ns = round(2 * (1000 + 790 * 0.08) + 2 * (1000 + 102 * 0.08))
    (tmp_path / "ns3.txt").write_text(f"0b000101 0b000001 10000 100 700 2001000000 {fct_ns} 4120\n")
    fct = hpcc.read_fct(tmp_path / "ns3.txt", topology, 90, True)
    assert [flow.slowdown for flow in fct.values()] == pytest.approx([1], abs=1e-3)
    both = ["compare", str(network), str(out / "fct.txt"), str(out / "fct.txt"), "--telemetry"]
    assert hpcc.main(both) == 0


def times(file: Path) -> NDArray[np.float64]:
    """Completion times of flows, ns."""
    return np.array([int(line.split()[6]) for line in file.read_text().splitlines()])


@pytest.mark.parametrize("scheme", [["--scheme", "dcqcn-ns3"], HPCC])
def test_run_has_completion_at_the_senders_last_ack(network: Path, tmp_path, scheme):
    """In the empty network it is what fct.txt has: the arrival of the last byte, and the ACK's way
    back."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out), *scheme, "--ack-each"]) == 0
    # an ACK here has a few more bytes
    assert times(out / "acked.txt") == pytest.approx(times(out / "fct.txt"), abs=8)
    assert hpcc.main(["run", str(network), str(flows), str(tmp_path / "other"), *scheme]) == 0
    assert not (tmp_path / "other" / "acked.txt").exists()
    assert (tmp_path / "other" / "fct.txt").read_text() == (out / "fct.txt").read_text()


def test_acks_among_data_wait_on_their_way_back(network: Path, tmp_path):
    """Behind an in-cast's queue, which ACKs of the highest class pass: they wait for one packet a
    link at most."""
    flows = tmp_path / "flow.txt"
    elephants = [f"{src} 0 3 200 500000 2.000000000" for src in (1, 2, 3)]
    mice = [f"0 {dst} 3 100 1000 2.0000{at}0000" for dst in (1, 2, 3) for at in (2, 4, 6)]
    flows.write_text("\n".join([str(len(elephants + mice)), *elephants, *mice, ""]))
    waits = []
    for options in ([], ["--acks-in-data"]):
        out = tmp_path / f"out{len(options)}"
        assert hpcc.main(["run", str(network), str(flows), str(out), "--ack-each", *options]) == 0
        assert len(times(out / "acked.txt")) == len(elephants + mice)
        mouse = ["100" in line.split()[3:4] for line in (out / "fct.txt").read_text().splitlines()]
        waits.append((times(out / "acked.txt") - times(out / "fct.txt"))[mouse])
    assert waits[0].max() < 4 * 85 + 8
    assert waits[1].min() > 10_000


def test_file_that_is_missing_is_reported_in_a_line(network: Path, tmp_path, capsys):
    assert hpcc.main(["run", str(network), str(tmp_path / "none.txt"), str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
