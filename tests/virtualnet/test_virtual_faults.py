"""Faults of links: what is lost, comes twice or comes late, what that does, and that every packet
is accounted for."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from networks import MTU, PFC_ONLY, chain, flow_stats, read_pcap, star, with_flows

from pcn.controller.configure import plan
from pcn.controller.routes import route_entry
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import VirtualError

PFC_TYPE = b"\x88\x08"


def accounted(network: VirtualNetwork) -> bool:
    """What was sent has come, is lost, or is on its way."""
    under_way = 0
    for flow in network.flows.values():
        stats = flow.stats()
        under_way += stats.sent_packets - stats.received_packets - stats.lost_packets
    return 0 <= under_way <= network.totals().packets


@pytest.mark.parametrize("every", [1, 2, 7])
def test_every_nth_data_packet_is_lost(every):
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=100_000))
        network.disturb("h0", 0, "data", lose=every)
        network.run(until_s=1e-3)
        stats = flow.stats()
        assert (stats.sent_packets, stats.lost_packets) == (100, 100 // every)
        assert stats.received_packets == 100 - 100 // every
        assert stats.complete_s is None
        assert network.link_stats("h0", 0).lost == 100 // every
        assert network.totals().packets == 0


def lost_at_random(p_lose: float, seed: int = 1, port: int = 0, packets: int = 20_000) -> list[int]:
    """PSNs of the packets that random faults of the first link take."""
    with TemporaryDirectory() as folder:
        with VirtualNetwork(star(1), PFC_ONLY) as network:
            flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=packets * 1000))
            end = ("h0", 0) if port == 0 else ("s0", 2)
            network.disturb(*end, "data", p_lose=p_lose, seed=seed)
            network.capture("s0", 2, Path(folder, "out.pcap"))
            network.capture("h0", 0, Path(folder, "in.pcap"))
            network.run(until_s=packets * 1058 * 8 / 10e9 + 1e-3)
            stats = flow.stats()
            assert (
                network.link_stats(*end).lost
                == stats.lost_packets
                == packets - stats.received_packets
            )
            lost = stats.lost_packets
        if port != 0:
            return [lost]
        left = {frame[51:54] for _, frame in read_pcap(Path(folder, "out.pcap"))}
        psns = [
            int.from_bytes(frame[51:54], "big") for _, frame in read_pcap(Path(folder, "in.pcap"))
        ]
    return [psn for psn in psns if psn.to_bytes(3, "big") not in left]


@pytest.mark.parametrize("p_lose", [0.001, 0.01, 0.3])
def test_random_faults_take_each_packet_with_their_probability(p_lose):
    """Within four standard deviations; and as often right after a loss as otherwise, which no
    period does."""
    packets = 20_000
    lost = lost_at_random(p_lose)
    deviation = math.sqrt(packets * p_lose * (1 - p_lose))
    assert abs(len(lost) - packets * p_lose) < 4 * deviation
    pairs = sum(after - before == 1 for before, after in itertools.pairwise(lost))
    assert abs(pairs - len(lost) * p_lose) < 4 * math.sqrt(len(lost) * p_lose) + 1


def test_random_faults_depend_on_seed_and_link_alone():
    lost = lost_at_random(0.01, packets=4000)
    assert lost == lost_at_random(0.01, packets=4000)
    assert lost != lost_at_random(0.01, packets=4000, seed=2)
    assert lost_at_random(0.01, packets=4000, port=2) != [len(lost)]


def test_random_faults_of_probability_0_and_1_take_nothing_and_everything():
    assert lost_at_random(0, packets=100) == []
    assert lost_at_random(1, packets=100) == list(range(100))


def test_a_packet_that_a_program_drops_is_its_flow_s_loss():
    """r0's route is gone while half of the flow comes."""
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
        network.run(until_s=400e-6)
        routes = plan(network.topology, "s0", 1.0, PFC_ONLY).routes
        network.switches["s0"].delete(map(route_entry, routes))
        network.run(until_s=2e-3)
        stats = flow.stats()
        assert stats.lost_packets == network.totals().dropped > 400
        assert stats.received_packets == 1000 - stats.lost_packets > 400
        assert network.totals().packets == 0


def test_without_pause_headroom_overruns_and_no_more_is_lost():
    """All PAUSE to h0 is lost: what comes when XOFF and headroom are full is lost, and counted."""
    topology = chain(1, out_bps=1e9, xoff_bytes=50e3)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
        network.disturb("s0", 1, "flow control", lose=1)
        network.run(until_s=20e-3)
        stats, held = flow.stats(), network.link_stats("h0", 0)
        assert held.held_limit - MTU < held.held_max <= held.held_limit
        assert held.overrun == stats.lost_packets > 500
        assert stats.received_packets == 1000 - held.overrun
        assert (
            network.link_stats("s0", 1).lost
            == network.link_stats("s0", 1).pause + network.link_stats("s0", 1).resume
        )
        assert (held.held_bytes, network.totals().packets) == (0, 0)


def test_a_pause_that_is_late_stops_later_by_as_much():
    """Each PFC frame takes effect 20 us later: until then h0 goes on, into its headroom and
    beyond."""
    paused_at_s = []
    for late_s in (0.0, 20e-6):
        with VirtualNetwork(chain(1, out_bps=1e9, xoff_bytes=50e3), PFC_ONLY) as network:
            network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
            network.disturb("s0", 1, "flow control", late=1, late_s=late_s)
            sent = network.sample(
                0.1e-6, [network.link_bytes("h0", 0), network.pause_sent("s0", 1)]
            )
            network.run(until_s=100e-6)
            count, pauses = sent.values[:, 0], sent.values[:, 1]
            begun = int((pauses > 0).argmax())
            still = next(i for i in range(begun, len(count) - 20) if count[i] == count[i + 20])
            paused_at_s.append(sent.times_s[still] - sent.times_s[begun])
            assert accounted(network)
            assert (network.link_stats("h0", 0).overrun > 0) == (late_s > 0)
    # to the end of a frame
    assert paused_at_s[1] - paused_at_s[0] == pytest.approx(20e-6, abs=1.1e-6)


def test_a_pause_that_a_link_keeps_back_is_late():
    """The cable is down while h0's PAUSE runs out; when it is up again, h0 goes on until it
    receives the next one."""
    topology = chain(1, out_bps=1e9, delay_s=20e-6, xoff_bytes=50e3, pause_quanta=1000)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
        while network.link_stats("s0", 1).pause == 0:
            network.run(until_s=network.now_s + 1e-6)
        network.run(until_s=network.now_s + 45e-6)  # until all that was under way has come
        network.set_link("s0", 1, up=False)
        network.run(until_s=network.now_s + 80e-6)
        network.set_link("s0", 1, up=True)
        network.run(until_s=50e-3)
        assert network.link_stats("h0", 0).expired == 1
        assert network.link_stats("h0", 0).overrun > 0
        assert accounted(network)
        assert network.totals().packets == 0


def test_a_late_pause_is_not_overtaken_by_its_resume():
    """Every second PFC frame is 500 us late, longer than a pause; the last one always opens the
    gate."""
    with VirtualNetwork(chain(1, out_bps=9e9, xoff_bytes=50e3), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=5_000_000))
        network.disturb("s0", 1, "flow control", late=2, late_s=500e-6)
        network.run(until_s=50e-3)
        stats, held = flow.stats(), network.link_stats("h0", 0)
        assert stats.sent_packets == 5000
        assert stats.received_packets + stats.lost_packets == 5000
        assert held.expired == 0
        assert held.overrun == stats.lost_packets


def test_pfc_frames_that_come_twice_change_nothing_for_data():
    seen = []
    for repeat in (0, 1):
        with VirtualNetwork(chain(1, out_bps=1e9, xoff_bytes=50e3), PFC_ONLY) as network:
            flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
            network.disturb("s0", 1, "flow control", repeat=repeat)
            assert network.run(until_s=0.1, finish=True)
            frames = network.link_stats("s0", 1)
            assert frames.repeated == repeat * (frames.pause + frames.resume) >= 0
            seen.append((flow.stats(), network.link_stats("h0", 0)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("how", ["lose", "repeat"])
def test_cnps_are_lost_and_come_twice(how):
    """On h0's own link: counted where they are sent, and where they come."""
    received = []
    for every in (0, 2):
        with VirtualNetwork(
            star(2, xoff_bytes=1e9), find_scheme("pcn").configure({"period_s": 50e-6})
        ) as network:
            flows = [
                network.add_flow(FlowSpec(i, f"h{i}", "r0", size_bytes=2_000_000)) for i in range(2)
            ]
            network.disturb("s0", 1, "notifications", **{how: every})
            network.run(until_s=0.1, finish=True)
            network.run(until_s=network.now_s + 1e-3)
            stats, link = flows[0].stats(), network.link_stats("s0", 1)
            assert stats.cnps_sent > 10
            assert stats.cnps_received - stats.cnps_sent == link.repeated - link.lost
            assert link.repeated + link.lost == (stats.cnps_sent // 2 if every else 0)
            received.append(stats.cnps_received / stats.cnps_sent)
            assert network.totals().packets == 0
    assert received == [1, pytest.approx(0.5 if how == "lose" else 1.5, abs=0.06)]


def test_late_cnps_come_in_order_and_all():
    """RPs get notifications 200 us later, some of the time, and queues grow higher."""
    longest = []
    for late_s in (0.0, 200e-6):
        with VirtualNetwork(
            star(2, xoff_bytes=1e9), find_scheme("pcn").configure({"period_s": 50e-6})
        ) as network:
            flows = [
                network.add_flow(FlowSpec(i, f"h{i}", "r0", size_bytes=2_000_000)) for i in range(2)
            ]
            for port in (1, 2):
                network.disturb("s0", port, "notifications", late=3, late_s=late_s)
            queue = network.sample(5e-6, [network.queue_bytes("s0", 3)])
            assert network.run(until_s=0.1, finish=True)
            network.run(until_s=network.now_s + 1e-3)
            assert all(flow.stats().cnps_received == flow.stats().cnps_sent > 10 for flow in flows)
            assert network.totals().packets == 0
            longest.append(queue.values.max())
    assert longest[1] > longest[0]


@pytest.mark.parametrize("how", [{"repeat": 2}, {"late": 3, "late_s": 30e-6}, {"lose": 3}])
def test_credits_lost_late_or_twice_lose_nothing(how):
    topology = replace(chain(2), flow_control="credits", parameters={"buffer_bytes": 20_000})
    ended = []
    for disturbed in (False, True):
        with VirtualNetwork(topology, PFC_ONLY) as network:
            flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000))
            for node, port in (("s0", 1), ("s1", 1)) if disturbed else ():
                network.disturb(node, port, "flow control", **how)
            assert network.run(until_s=0.1, finish=True)
            assert (flow.stats().received_packets, flow.stats().out_of_order) == (2000, 0)
            assert network.link_stats("h0", 0).held_max <= 20_000
            assert network.totals().packets == 0
            fault = network.link_stats("s0", 1)
            assert (fault.lost + fault.repeated > 0) == (disturbed and "late" not in how)
            ended.append(network.now_s)
    if "late" in how:
        assert ended[1] > ended[0]


def test_both_queues_and_both_forms_agree_about_faults():
    seen = []
    for options in ({}, {"queues": "one"}, {"inplace": False}, {"prefetch": False}):
        topology = star(3, xoff_bytes=40e3)
        with VirtualNetwork(
            topology, find_scheme("qcn").configure(), response_s=1e-6, **options
        ) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=500_000) for i in range(3)])
            for i in range(3):
                network.disturb("s0", i + 1, "flow control", lose=5, repeat=3, late=4, late_s=7e-6)
                network.disturb("s0", i + 1, "notifications", lose=4, repeat=3, late=2, late_s=3e-6)
                network.disturb(f"h{i}", 0, "data", lose=100 + i, p_lose=0.003 * (i + 1))
            network.run(until_s=20e-3)
            links = [network.link_stats("s0", i + 1) for i in range(3)] + [
                network.link_stats(f"h{i}", 0) for i in range(3)
            ]
            seen.append((network.totals(), flow_stats(network), links))
            assert network.totals().packets == 0
    assert all(outcome == seen[0] for outcome in seen)
    assert all(min(link.lost, link.repeated) > 0 for link in seen[0][2][:3])


def test_frames_with_faults_are_on_the_wire_once(tmp_path):
    """A fault is the link's: the sender doesn't detect it."""
    with VirtualNetwork(chain(1, out_bps=1e9, xoff_bytes=50e3), PFC_ONLY) as network:
        network.capture("s0", 1, tmp_path / "back")
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
        network.disturb("s0", 1, "flow control", repeat=2, lose=3)
        network.run(until_s=20e-3)
        frames = network.link_stats("s0", 1)
    sent = [frame for _, frame in read_pcap(tmp_path / "back") if frame[12:14] == PFC_TYPE]
    assert len(sent) == frames.pause + frames.resume


def test_faults_that_can_not_be():
    by_credits = replace(star(1), flow_control="credits")
    with VirtualNetwork(by_credits, PFC_ONLY) as network:
        with pytest.raises(VirtualError, match="data can be lost; it comes once, and in time"):
            network.disturb("h0", 0, "data", repeat=2)
        with pytest.raises(
            VirtualError, match="over a link with credits a notification comes once, and in time"
        ):
            network.disturb("h0", 0, "notifications", late=1, late_s=1e-6)
        with pytest.raises(VirtualError, match="late_s: -1e-06 s: some time after it comes"):
            network.disturb("h0", 0, "flow control", late=1, late_s=-1e-6)
        for p_lose in (-0.1, 1.1, math.nan):
            with pytest.raises(VirtualError, match=r"p_lose: .*: a probability, from 0 to 1"):
                network.disturb("h0", 0, "data", p_lose=p_lose)
        with pytest.raises(VirtualError, match="lose: -1: a number from 1, or 0"):
            network.disturb("h0", 0, "data", lose=-1)
        with pytest.raises(
            VirtualError, match="frames 'cnp': choose from flow control, notifications and data"
        ):
            network.disturb("h0", 0, "cnp", lose=1)
