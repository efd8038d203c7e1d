"""Flows over several paths in virtual time: by their UDP source ports, and around those whose
packets are marked."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from networks import PFC_ONLY, ConstantWindow, assert_one_outcome, read_pcap, with_flows

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, Mark, ReactionPoint, find_scheme
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError

LINE, DATA = 40e9, 1058
RTT = 12 * 1e-6 + 6 * (DATA + 62) * 8 / LINE
TREE = fat_tree(4, rate_bps=LINE, delay_s=1e-6)
SELECTIVE = {3: Reliability(Repeats.SELECTIVE, timeout_s=2e-3, reordering_s=1.0)}
PACKET, FLOWLET = Paths("packet"), Paths("flowlet", gap_s=5e-6)
UP = [("e0", 3), ("e0", 4)]


class Sprayed(ConstantWindow):
    paths = Paths("packet", 8)


def windowed(rp: type[ReactionPoint] = ConstantWindow, of: str = "pfc") -> Configured:
    return replace(find_scheme(of), name="w", reaction_point=rp).configure()


def permutation(size_bytes: int = 200_000) -> list[FlowSpec]:
    return [
        FlowSpec(i + 1, f"h{i}", f"h{(i + 8) % 16}", size_bytes=size_bytes + i) for i in range(16)
    ]


def test_packets_of_a_flow_take_all_paths_and_all_arrive(tmp_path):
    with VirtualNetwork(TREE, windowed(), reliability=SELECTIVE, paths=PACKET) as network:
        network.capture("h0", 0, tmp_path / "sent")
        network.capture("h8", 0, tmp_path / "answered")
        network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=400_000))
        assert network.run(until_s=0.1, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        up = [network.link_stats(*end).packets for end in UP]
        stats, rp = network.flows[1].stats(), network.flows[1].rp
        assert isinstance(rp, ConstantWindow)
    assert sum(up) == 400
    assert min(up) > 100
    assert (stats.received_packets, stats.repeated_packets, stats.timeouts) == (400, 0, 0)
    sent, answered = (
        [wire.decode(frame) for _, frame in read_pcap(tmp_path / name)]
        for name in ("sent", "answered")
    )
    assert len({ack.path for ack in rp.acks}) == 64
    ports = dict(zip((packet.psn for packet in sent), ports_of(tmp_path / "sent"), strict=True))
    # The last one ends the flow.
    assert {ack.psn: ack.path for ack in rp.acks} == {psn: ports[psn] for psn in range(399)}
    assert (
        dict(zip((packet.psn for packet in answered), ports_of(tmp_path / "answered"), strict=True))
        == ports
    )


def ports_of(path: Path) -> list[int]:
    return [int.from_bytes(frame[34:36], "big") for _, frame in read_pcap(path)]


def test_flow_of_a_rate_alone_sprays_without_acknowledgements():
    with with_flows(VirtualNetwork(TREE, PFC_ONLY, paths=PACKET), permutation()) as network:
        assert network.run(until_s=0.1, finish=True)
        assert all(
            flow.stats().received_packets == flow.stats().sent_packets
            for flow in network.flows.values()
        )
        assert min(network.link_stats(*end).packets for end in UP) > 150


def test_permutation_takes_less_time_with_spraying():
    times = []
    for paths in (None, PACKET):
        with with_flows(
            VirtualNetwork(TREE, windowed(), reliability=SELECTIVE, paths=paths), permutation()
        ) as network:
            assert network.run(until_s=0.1, finish=True)
            times.append(network.now_s)
    assert times[1] < 0.7 * times[0]
    assert times[1] < 200_000 * DATA / 1000 * 8 / LINE + 2 * RTT


def test_flowlet_begins_after_a_gap(tmp_path):
    """A flow paced to a packet each 8.46 us, with gaps of 5 us and 10 us for a flowlet."""
    ports = []
    for gap_s in (5e-6, 10e-6):
        with VirtualNetwork(TREE, PFC_ONLY, paths=Paths("flowlet", gap_s=gap_s)) as network:
            network.capture("h0", 0, tmp_path / str(gap_s))
            network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=30_000, rate_bps=1e9))
            network.run(until_s=1e-3)
        ports.append(len(set(ports_of(tmp_path / str(gap_s)))))
    assert ports == [30, 1]


def test_marked_path_is_avoided():
    """One of two ways up ends at slow links, where queues are marked. A mark leaves a port out
    once, so its share falls from a half towards a third."""
    shares = []
    for avoid in (True, False):
        marks = find_scheme("dctcp").configure({"k_bytes": 4 * DATA, "init_window_bytes": 60e3})
        rp = replace(marks.scheme, name="w", reaction_point=ConstantWindow).configure(
            {"k_bytes": 4 * DATA}
        )
        with VirtualNetwork(
            TREE, rp, reliability=SELECTIVE, paths=Paths("packet", avoid=avoid)
        ) as network:
            network.set_link("a0", 3, rate_bps=LINE / 10)
            network.set_link("a0", 4, rate_bps=LINE / 10)
            network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=2_000_000))
            network.run(until_s=4e-3, finish=True)
            rp_ = network.flows[1].rp
            assert isinstance(rp_, ConstantWindow)
            assert any(ack.mark is Mark.CE for ack in rp_.acks)
            left, right = (network.link_stats(*end).packets for end in UP)
            shares.append(left / (left + right))
    assert shares[1] == pytest.approx(0.5, abs=0.1)
    assert 1 / 3 < shares[0] < 0.43


def test_run_is_the_same_with_either_queue_and_form():
    def build(**options) -> VirtualNetwork:
        scheme = windowed(of="dctcp")
        network = VirtualNetwork(TREE, scheme, reliability=SELECTIVE, paths=PACKET, **options)
        return with_flows(network, permutation())

    assert_one_outcome(build, 1e-3, {"prefetch": False}, {"threads": 2})


def test_setting_of_flow_counts_before_the_networks_and_that_before_the_rps():
    def paths_of(rp: type[ReactionPoint], **more) -> int:
        with VirtualNetwork(
            TREE, windowed(rp), reliability=SELECTIVE, paths=more.pop("network", None)
        ) as network:
            flow = network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=100_000), **more)
            network.run(until_s=1e-3)
            assert isinstance(flow.rp, ConstantWindow)
            return len(Counter(ack.path for ack in flow.rp.acks))

    assert paths_of(ConstantWindow) == 1
    assert paths_of(Sprayed) == 8
    assert paths_of(Sprayed, network=Paths("packet", 4)) == 4
    assert paths_of(Sprayed, network=Paths("packet", 4), paths=Paths()) == 1


@pytest.mark.parametrize(
    ("settings", "ports"), [({}, 1), ({"paths": 8}, 8), ({"paths": 8, "flowlet_gap_s": 1e-3}, 1)]
)
def test_scheme_s_parameters_have_its_flows_spray(settings, ports, tmp_path):
    """With the selective repeat that it needs, which the network needn't set."""
    with VirtualNetwork(
        TREE, find_scheme("dctcp").configure({"init_window_bytes": 40e3, **settings})
    ) as network:
        network.capture("h0", 0, tmp_path / "sent")
        flow = network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=200_000))
        network.run(until_s=2e-3)
        assert flow.stats().received_packets == flow.stats().sent_packets == 200
    assert len(set(ports_of(tmp_path / "sent"))) == ports


def test_network_refuses_several_paths_for_scheme_with_telemetry():
    """Two packets' records would be of two links."""
    with VirtualNetwork(TREE, find_scheme("hpcc").configure(), paths=PACKET) as network:
        with pytest.raises(VirtualError, match="flow 1: hpcc compares a link's telemetry"):
            network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=1000))
        network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=1000), paths=Paths())


def test_flow_of_several_paths_needs_selective_repeat():
    for reliability in ({}, {3: Reliability(Repeats.GO_BACK_N)}):
        with (
            VirtualNetwork(TREE, windowed(), reliability=reliability, paths=PACKET) as network,
            pytest.raises(VirtualError, match="selective repeat"),
        ):
            network.add_flow(FlowSpec(1, "h0", "h8", size_bytes=1000))
