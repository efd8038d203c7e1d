"""The judge's own parts: a drawn run, its files as HPCC's simulation has them, and the table of two results."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))

import hpcc
from hpcc_ns3 import HPCC_NS3

from hosts.algorithms import Ack, Hop, Mark, Telemetry
from topologies.found import find_topology

HPCC = str(Path(hpcc.__file__).with_name("hpcc_ns3.py")) + ":HPCC_NS3"

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
def network(tmp_path: Path) -> Path:
    (tmp_path / "small.txt").write_text(NETWORK)
    return tmp_path / "small.txt"


def test_network_has_hpccs_buffers_and_thresholds(network: Path) -> None:
    tor = hpcc.network(network).switch("s4")
    assert tor.buffer is not None
    assert [(one.alpha, one.headroom_bytes) for one in tor.buffer.shares[:4]] == [(1 / 8, 37_500)] * 2 + [
        (0.5, 150_000)
    ] * 2
    assert [(one.k_min_bytes, one.k_max_bytes, one.rate_bps) for one in tor.ecn] == [
        (400e3, 1600e3, 100e9),
        (1600e3, 6400e3, 400e9),
    ]


def test_packets_take_whole_nanoseconds_as_in_ns3(network: Path, tmp_path: Path) -> None:
    """20 at 400 Gb/s and 83 at 100; thresholds and alpha stay those of the named rates."""
    topology = hpcc.network(network)
    fast = hpcc.in_whole_ns(topology)
    assert {round(8e9 * 1058 / link.rate_bps, 6) for link in fast.links} == {20, 83}
    for switch in topology.switches:
        found = fast.switch(switch.name)
        assert found.buffer == switch.buffer
        assert [one.k_min_bytes for one in found.ecn] == [one.k_min_bytes for one in switch.ecn]
        rates = {fast.link_at(switch.name, port).rate_bps for port in fast.ports(switch.name)}
        assert rates <= {one.rate_bps for one in found.ecn}
    flows = tmp_path / "flow.txt"
    assert hpcc.main(["draw", str(network), str(flows), "--duration", "200us", "--incast", "3"]) == 0
    assert hpcc.main(["run", str(network), str(flows), str(tmp_path / "out"), "--whole-ns"]) == 0


def test_run_writes_each_flows_time_and_path(network: Path, tmp_path: Path) -> None:
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    assert hpcc.main(["draw", str(network), str(flows), "--duration", "200us", "--incast", "3"]) == 0
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
    assert hpcc.compare(network, out / "fct.txt", out / "fct.txt", whole_ns=True)[2].endswith("+0.0 / +0.0 / +0.0 |")
    assert not rows[2].endswith("+0.0 / +0.0 / +0.0 |")  # frames here have ten bytes more


def test_slowdown_in_the_empty_network_is_one(network: Path, tmp_path: Path) -> None:
    """Of a line as ns-3 writes it, with an ACK's way back, and of a run here."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out)]) == 0
    topology = find_topology(str(network)).build({})
    assert [one.slowdown for one in hpcc.read_fct(out / "fct.txt", topology, 58, False).values()] == pytest.approx(
        [1, 1], abs=2e-3
    )
    # 748 bytes over two links of 100 Gb/s and 1 us, and an ACK of 60 bytes back.
    fct_ns = round(2 * (1000 + 748 * 0.08) + 2 * (1000 + 60 * 0.08))
    (tmp_path / "ns3.txt").write_text(f"0b000101 0b000001 10000 100 700 2001000000 {fct_ns} 4120\n")
    found = hpcc.read_fct(tmp_path / "ns3.txt", topology, 48, False)
    assert [one.slowdown for one in found.values()] == pytest.approx([1], abs=1e-3)
    with pytest.raises(ValueError, match="1 flows in common"):
        hpcc.compare(network, out / "fct.txt", tmp_path / "ns3.txt")


@pytest.mark.parametrize("scheme", ["hpcc", HPCC])
def test_slowdown_of_hpcc_in_the_empty_network_is_one(network: Path, tmp_path: Path, scheme: str) -> None:
    """Telemetry's bytes count, ours and ns-3's."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out), "--scheme", scheme, "--acks-in-data"]) == 0
    topology = find_topology(str(network)).build({})
    slowdowns = [one.slowdown for one in hpcc.read_fct(out / "fct.txt", topology, 102, True).values()]
    assert slowdowns == pytest.approx([1, 1], abs=2e-3)
    # 790 bytes over two links of 100 Gb/s and 1 us, and an ACK of 102 bytes back.
    fct_ns = round(2 * (1000 + 790 * 0.08) + 2 * (1000 + 102 * 0.08))
    (tmp_path / "ns3.txt").write_text(f"0b000101 0b000001 10000 100 700 2001000000 {fct_ns} 4120\n")
    found = hpcc.read_fct(tmp_path / "ns3.txt", topology, 90, True)
    assert [one.slowdown for one in found.values()] == pytest.approx([1], abs=1e-3)
    both = ["compare", str(network), str(out / "fct.txt"), str(out / "fct.txt"), "--telemetry"]
    assert hpcc.main(both) == 0


def times(file: Path) -> NDArray[np.float64]:
    """Completion times of flows, ns."""
    return np.array([int(line.split()[6]) for line in file.read_text().splitlines()])


@pytest.mark.parametrize("scheme", ["dcqcn-ns3", HPCC])
def test_run_has_completion_at_the_senders_last_ack(network: Path, tmp_path: Path, scheme: str) -> None:
    """In the empty network it is what fct.txt has: the arrival of the last byte, and the ACK's way back."""
    flows, out = tmp_path / "flow.txt", tmp_path / "out"
    flows.write_text("2\n0 3 3 100 2500 2.000000000\n1 0 3 100 700 2.001000000\n")
    assert hpcc.main(["run", str(network), str(flows), str(out), "--scheme", scheme, "--ack-each"]) == 0
    assert times(out / "acked.txt") == pytest.approx(times(out / "fct.txt"), abs=8)  # an ACK here has a few more bytes
    assert hpcc.main(["run", str(network), str(flows), str(tmp_path / "other"), "--scheme", scheme]) == 0
    assert not (tmp_path / "other" / "acked.txt").exists()
    assert (tmp_path / "other" / "fct.txt").read_text() == (out / "fct.txt").read_text()


def test_acks_among_data_wait_on_their_way_back(network: Path, tmp_path: Path) -> None:
    """Behind an in-cast's queue, which ACKs of the highest class pass: they wait for one packet a link at most."""
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


def test_hpcc_of_ns3_counts_payload_and_has_a_least_rate() -> None:
    """153 packets first where HPCC has 138; 1 Gb/s after loads that would leave less."""
    parameters = HPCC_NS3.parameters(base_rtt_s=12.24e-6)
    rp = HPCC_NS3.reaction_point(100e9, parameters)
    assert rp.window_bytes == pytest.approx(153 * 1102)
    assert HPCC_NS3.reaction_point(100e9, parameters).rate_bps == 100e9
    rp.sent_bytes = 153 * 1102
    for number in range(1, 400):
        queued = Hop(100e9, number, number * 12_500, 16_000_000)
        rp.on_ack(Ack(1e-3, Mark.NONE, 1102, number, 0, Telemetry(1, 1e-6, (queued,))), number * 1e-6)
    assert rp.rate_bps == 1e9
    assert rp.window_bytes == pytest.approx(1.53 * 1102)


def test_file_that_is_missing_is_reported_in_a_line(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hpcc.main(["run", str(network), str(tmp_path / "none.txt"), str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
