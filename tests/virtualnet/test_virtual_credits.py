"""InfiniBand's credits: nothing is lost and no buffer overflows, on random networks too; flow control packets'
content in captures against a separate count; losses of them and of data heal; lanes don't stop each other; and who
refuses it."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import MTU, PFC_ONLY, chain, mesh, read_pcap, star, with_flows

from experiments.papers.tcd.plans import victims_plan
from experiments.run.progress import Silent
from experiments.run.virtual import run_virtual
from hosts.algorithms import find_scheme
from lab.launch import NetworkError, launch_spec
from lab.startable import require_startable
from lab.target import target as find_target
from lab.virtual import VirtualNetwork
from lab.virtual.flows import FlowMaker, VirtualFlow
from topologies.model import (
    FIFO,
    ROUND_ROBIN,
    Endpoint,
    FlowSpec,
    Link,
    OutputBuffer,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from topologies.serialise import from_dict, to_dict
from virtualnet import VirtualError

BLOCK, COUNTS, AHEAD = 64, 4096, 2048
BUFFER = 280_000
FC_TYPE = b"\x88\xb5"


def by_credits(topology: Topology, **parameters: float) -> Topology:
    return replace(topology, flow_control="credits", parameters={**topology.parameters, **parameters})


def blocks(frame_bytes: int) -> int:
    return math.ceil(frame_bytes / BLOCK)


def period_s(rate_bps: float) -> float:
    """65,536 symbol times of a 4X link, which carries 32 bits in each."""
    return 65536 * 32 / rate_bps


def ends(topology: Topology) -> list[Endpoint]:
    return [end for link in topology.links for end in (link.a, link.b)]


def nothing_inside(network: VirtualNetwork) -> bool:
    held = [network.link_stats(end.node, end.port).held_bytes for end in ends(network.topology)]
    return not any(held) and network.totals().packets == 0


@dataclass(frozen=True)
class FlowControl:
    """A flow control packet: when it had left, its lane, and its content."""

    time_s: float
    lane: int
    sent: int
    limit: int


def flow_control(path: Path) -> list[FlowControl]:
    packets = []
    for time_s, frame in read_pcap(path):
        if frame[12:14] == FC_TYPE:
            (word,) = struct.unpack(">I", frame[14:])
            assert word >> 28 == 0
            packets.append(FlowControl(time_s, word >> 12 & 15, word >> 16 & 0xFFF, word & 0xFFF))
    return packets


# ---- nothing lost, no buffer above its size ----


@pytest.mark.parametrize("response_s", [0.0, 3e-6])
@pytest.mark.parametrize(("buffer_bytes", "delay_s"), [(BUFFER, 1e-6), (BUFFER, 50e-6), (20_000, 1e-6), (1088, 0.0)])
def test_an_incast_fills_its_buffers_and_no_more(buffer_bytes: int, delay_s: float, response_s: float) -> None:
    topology = by_credits(star(4, delay_s=delay_s), buffer_bytes=buffer_bytes)
    with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
        with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=500_000) for i in range(4)])
        assert network.run(until_s=1, finish=True)
        for i in range(4):
            stats = network.link_stats(f"h{i}", 0)
            assert stats.held_max <= buffer_bytes
            assert stats.held_limit == buffer_bytes // BLOCK * BLOCK
            assert stats.starved_s > 0
            assert network.link_stats("s0", i + 1).pause == 0
            if delay_s < 50e-6:  # flows that are longer than a round trip
                assert stats.held_max > buffer_bytes - 2 * blocks(MTU) * BLOCK
        flows = [flow.stats() for flow in network.flows.values()]
        assert all((stats.received_payload, stats.out_of_order) == (500_000, 0) for stats in flows)
        assert nothing_inside(network)
        if buffer_bytes == BUFFER and delay_s < 50e-6:  # enough for the credits' round trip: the output never ran dry
            data_s = 4 * 500 * MTU * 8 / 10e9
            assert network.now_s == pytest.approx(data_s, rel=0.01, abs=1e-5)


def test_a_switch_without_credits_stops_those_before_it() -> None:
    """A slow last link: s1's buffer fills, s0 gets no credits, its own buffer fills, and h0 gets none."""
    with VirtualNetwork(by_credits(chain(2, out_bps=1e9)), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3_000_000))
        assert network.run(until_s=0.1, finish=True)
        assert (flow.stats().received_packets, flow.stats().out_of_order) == (3000, 0)
        for node, port in (("h0", 0), ("s0", 2)):
            assert network.link_stats(node, port).held_max == BUFFER // (blocks(MTU) * BLOCK) * blocks(MTU) * BLOCK
            assert network.link_stats(node, port).starved_s > 0.5 * network.now_s
        assert network.link_stats("s1", 2).starved_s == 0
        # The last link never ran dry
        assert network.now_s == pytest.approx(3000 * MTU * 8 / 1e9, rel=0.01)


def test_links_that_change_lose_nothing() -> None:
    topology = by_credits(chain(3, out_bps=1e9), buffer_bytes=50_000)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000))
        network.at(3e-3, lambda: network.set_link("s2", 2, rate_bps=5e8))
        network.at(6e-3, lambda: network.set_link("s1", 2, up=False))
        network.at(8e-3, lambda: network.set_link("s1", 2, up=True))
        assert network.run(until_s=0.2, finish=True)
        assert (flow.stats().received_packets, flow.stats().out_of_order) == (2000, 0)
        assert nothing_inside(network)


@st.composite
def trees(draw: st.DrawFn) -> Topology:
    """Without a cycle of buffers that wait for each other."""
    n = draw(st.integers(1, 4))
    ports = [0] * n
    rates, delays = st.sampled_from([1e9, 10e9, 40e9]), st.sampled_from([0.0, 0.3e-6, 5e-6])

    def end(switch: int) -> Endpoint:
        ports[switch] += 1
        return Endpoint(f"s{switch}", ports[switch])

    links = [Link(end(draw(st.integers(0, i - 1))), end(i), draw(rates), draw(delays)) for i in range(1, n)]
    hosts = make_hosts([f"h{i}" for i in range(draw(st.integers(2, 5)))])
    at = st.integers(0, n - 1)
    links += [Link(Endpoint(host.name, 0), end(draw(at)), draw(rates), draw(delays)) for host in hosts]
    used = [Switch(f"s{i}", i + 1, draw(st.sampled_from([FIFO, ROUND_ROBIN]))) for i in range(n)]
    topology = Topology("tree", hosts, tuple(used), tuple(links))
    return by_credits(
        topology,
        buffer_bytes=draw(st.sampled_from([1088, 5000, 60_000, BUFFER])),
        credit_interval_s=draw(st.sampled_from([0.2e-6, 2e-6, 10e-6])),
    )


@given(st.data())
@settings(max_examples=20)
def test_in_any_network_all_arrives_and_all_credits_come_back(data: st.DataObject) -> None:
    topology = data.draw(trees())
    names = [host.name for host in topology.hosts]
    pairs = [(a, b) for a in names for b in names if a != b]
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=6))
    sizes = st.integers(1, 150_000)
    flows = [FlowSpec(i, a, b, 0.0, data.draw(sizes)) for i, (a, b) in enumerate(chosen)]
    # All eight lanes send in turn: every second one lost would be the same lanes' for ever
    every = data.draw(st.sampled_from([0, 0, 3, 5]))
    response_s = data.draw(st.sampled_from([0.0, 1e-6]))
    with TemporaryDirectory() as directory:
        with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
            for end in ends(topology):
                network.disturb(end.node, end.port, "flow control", lose=every)
            assert with_flows(network, flows).run(until_s=2, finish=True)
            assert [flow.stats().received_payload for flow in network.flows.values()] == [f.size_bytes for f in flows]
            assert nothing_inside(network)
            buffer = int(topology.number("buffer_bytes"))
            for end in ends(topology):
                assert network.link_stats(end.node, end.port).held_max <= buffer
                network.disturb(end.node, end.port, "flow control", lose=0)
            network.run(until_s=network.now_s + 2.2 * period_s(1e9))
            for end in ends(topology):
                network.capture(end.node, end.port, Path(directory) / str(end))
            network.run(until_s=network.now_s + 1.1 * period_s(1e9))
        for end in ends(topology):
            peer = topology.peer(end.node, end.port)
            out, back = (flow_control(Path(directory) / str(which)) for which in (end, peer))
            sent = {packet.lane: packet.sent for packet in out}
            limits = {packet.lane: packet.limit for packet in back}
            assert sorted(sent) == sorted(limits) == list(range(8))
            assert {(limits[lane] - sent[lane]) % COUNTS for lane in sent} == {min(AHEAD, buffer // BLOCK)}


# ---- what flow control packets say ----


@pytest.mark.parametrize("response_s", [0.0, 3e-6])
def test_senders_keep_to_the_limits_that_flow_control_packets_give(response_s: float, tmp_path: Path) -> None:
    """A slow link behind s0. FCTBS is what we count, modulo 4096, twelve times over; h0 starts no frame that the latest
    FCCL forbids; lanes get a packet at least once in each period, and at most once an interval."""
    delay_s, interval_s = 1e-6, 3e-6
    topology = by_credits(chain(1, out_bps=2e9, delay_s=delay_s), credit_interval_s=interval_s)
    with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
        network.capture("h0", 0, tmp_path / "out")
        network.capture("s0", 1, tmp_path / "back")
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3_000_000))
        assert network.run(until_s=0.1, finish=True)
    limits = [packet for packet in flow_control(tmp_path / "back") if packet.lane == 3]
    said = {packet.time_s: packet for packet in flow_control(tmp_path / "out") if packet.lane == 3}
    assert all(packet.sent == 0 for packet in limits)
    sent, limit, at = 0, AHEAD, 0
    nearest = AHEAD
    for time_s, frame in read_pcap(tmp_path / "out"):
        if frame[12:14] == FC_TYPE:
            assert time_s not in said or said[time_s].sent == sent % COUNTS
            continue
        started_s = time_s - len(frame) * 8 / 10e9
        while at < len(limits) and limits[at].time_s + delay_s + response_s <= started_s + 1e-9:
            limit += (limits[at].limit - limit) % COUNTS  # it only grows
            at += 1
        sent += blocks(len(frame))
        nearest = min(nearest, limit - sent)
        assert limit - sent >= 0
    assert sent == 3000 * 17 > 12 * COUNTS
    assert nearest < 17
    assert len(said) > 50
    gaps = [after.time_s - before.time_s for before, after in pairwise(limits)]
    assert interval_s - 1e-8 <= min(gaps) < interval_s + 1e-8
    idle = [packet.time_s for packet in flow_control(tmp_path / "back") if packet.lane == 5]
    assert [after - before for before, after in pairwise(idle)] == pytest.approx(
        [period_s(10e9)] * (len(idle) - 1), abs=3e-9
    )


def test_programs_follow_the_switch_s_count(tmp_path: Path) -> None:
    """TCD's program at s0, before a slow link. Its FCTBS and FCCL are those of the packets on the wire, and its
    last RESUME is when a capture shows that s1's flow control packet ended a lack of credits."""
    scheme = find_scheme("tcd").configure({"max_ton_s": 1})  # a RESUME's time is kept
    first_s, cell, resumed_s = {}, 2 * 8 + 3, []
    with VirtualNetwork(by_credits(chain(2, out_bps=3e9)), scheme) as network:
        network.capture("s0", 2, tmp_path / "out")
        network.capture("s1", 1, tmp_path / "back")
        network.add_flow(FlowSpec(1, "h0", "r0"))
        network.run(until_s=20e-3)
        switch = network.switches["s0"]
        fctbs, fccl, since = (switch.read_register(name, cell) for name in ("fctbs", "fccl", "tcd_since"))
        state = switch.read_register("tcd_state", cell)
    sent, limit = 0, AHEAD
    limits = [(packet.time_s + 1e-6, packet.limit) for packet in flow_control(tmp_path / "back") if packet.lane == 3]
    frames = [(time_s - len(frame) * 8 / 10e9, len(frame)) for time_s, frame in read_pcap(tmp_path / "out")
              if frame[12:14] != FC_TYPE]  # fmt: skip
    for time_s, value in sorted([*((at, -1 - said) for at, said in limits), *frames]):
        if value > 0:
            sent += blocks(value)
            first_s[len(resumed_s)] = time_s
        elif time_s <= 20e-3:
            stopped = limit - sent < blocks(MTU)
            limit += (-1 - value - limit) % COUNTS
            if stopped and limit - sent >= blocks(MTU):
                resumed_s.append(time_s)
    assert sent > 4 * COUNTS
    assert len(resumed_s) > 1000
    assert (fctbs, (fccl + AHEAD) % COUNTS) == (sent % COUNTS, limit % COUNTS)
    heard = max(number for number in first_s if number > 0)  # the last RESUME that a departure followed
    assert (state, since) == (2, pytest.approx(resumed_s[heard - 1] * 1e6, abs=1))


# ---- losses ----


def test_lost_flow_control_packets_stop_nothing_for_longer_than_a_period() -> None:
    """All of s0's are lost for a millisecond: h0 sends what it had credits for and stops. Then, after a period at most,
    it goes on, and all of it arrives."""
    with VirtualNetwork(by_credits(chain(1)), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3_000_000))
        network.disturb("s0", 1, "flow control", lose=1)
        network.run(until_s=1e-3)
        assert flow.stats().sent_packets == AHEAD // blocks(MTU)
        assert flow.stats().received_packets == AHEAD // blocks(MTU)
        assert network.link_stats("s0", 1).lost > 8
        network.disturb("s0", 1, "flow control", lose=0)
        network.run(until_s=1e-3 + period_s(10e9) + 3e-6)
        assert flow.stats().sent_packets > AHEAD // blocks(MTU)
        assert network.run(until_s=0.1, finish=True)
        assert flow.stats().received_packets == 3000


@pytest.mark.parametrize("which", [1, 5, 20])
def test_one_lost_flow_control_packet_changes_little(which: int) -> None:
    """The next one has all of its content."""
    ended = []
    for lost in (0, which):
        with VirtualNetwork(by_credits(chain(1, out_bps=5e9)), PFC_ONLY) as network:
            network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
            network.run(until_s=100e-6)
            if lost:
                network.disturb("s0", 1, "flow control", lose=lost)
                for _ in range(1000):
                    network.run(until_s=network.now_s + 1e-7)
                    if network.link_stats("s0", 1).lost:
                        break
                network.disturb("s0", 1, "flow control", lose=0)
                assert network.link_stats("s0", 1).lost == 1
            assert network.run(until_s=0.1, finish=True)
            assert network.link_stats("h0", 0).held_max <= BUFFER
            ended.append(network.now_s)
    assert ended[1] == pytest.approx(ended[0], abs=5e-6)


def test_credits_of_lost_data_come_back(tmp_path: Path) -> None:
    """Every tenth data frame is lost on the way to s0, 2,000 blocks in all and more than the buffer of 500 has: h0
    reports what it sent, s0 takes that for received. Losses of all data stop it until then."""
    topology = by_credits(chain(1), buffer_bytes=500 * BLOCK)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0"))
        network.disturb("h0", 0, "data", lose=10)
        network.run(until_s=10 * period_s(10e9))
        stats = flow.stats()
        lost = network.link_stats("h0", 0).lost
        assert lost * blocks(MTU) > 3 * 500
        assert stats.sent_packets - stats.received_packets - lost < 5
        assert network.link_stats("h0", 0).held_max <= 500 * BLOCK
        network.disturb("h0", 0, "data", lose=1)
        network.run(until_s=network.now_s + period_s(10e9))
        before = flow.stats().sent_packets
        network.run(until_s=network.now_s + 4 * period_s(10e9))
        assert flow.stats().sent_packets - before == 4 * (500 // blocks(MTU))
        network.disturb("h0", 0, "data", lose=0)
        network.stop_flow(1)
        network.run(until_s=network.now_s + 3 * period_s(10e9))
        network.capture("h0", 0, tmp_path / "out")
        network.capture("s0", 1, tmp_path / "back")
        network.run(until_s=network.now_s + 1.1 * period_s(10e9))
        assert nothing_inside(network)
    (sent,) = {packet.sent for packet in flow_control(tmp_path / "out") if packet.lane == 3}
    (limit,) = {packet.limit for packet in flow_control(tmp_path / "back") if packet.lane == 3}
    assert (limit - sent) % COUNTS == 500


def test_acknowledgements_need_credits_of_their_lane() -> None:
    """An ACK for each packet. s0's flow control packets to r0 are lost: r0 stops sending ACKs, but not its own flow
    control packets, so data arrive. Later all ACKs do, too."""
    timely = find_scheme("timely").configure({"segment_bytes": 1000})
    with VirtualNetwork(by_credits(chain(1)), timely) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=5_000_000))
        network.disturb("s0", 2, "flow control", lose=1)
        network.run(until_s=3e-2)
        back = network.link_stats("r0", 0)
        assert flow.stats().received_packets > 4000
        assert back.packets - back.fc_packets == AHEAD - blocks(MTU) + 1  # a block each, until a long frame has no room
        network.disturb("s0", 2, "flow control", lose=0)
        network.run(until_s=6e-2)
        back = network.link_stats("r0", 0)
        assert flow.stats().received_packets == 5000
        assert back.packets - back.fc_packets == 5000


def test_messages_that_a_switch_makes_use_no_credits() -> None:
    """QCN's messages to h0 wait in s0, for h0's flow control packets are lost: more than their lane's buffer at the
    input that they are made for could hold."""
    topology = by_credits(star(4), buffer_bytes=blocks(MTU) * BLOCK)
    with VirtualNetwork(topology, find_scheme("qcn").configure({"q_eq_bytes": 1000, "sample_bytes": 3000})) as network:
        with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=1_000_000) for i in range(4)])
        waiting = network.sample(10e-6, [network.queue_packets("s0", 1, 7), network.held_bytes("s0", 1, 7)])
        network.disturb("h0", 0, "flow control", lose=1)
        assert network.run(until_s=0.5, finish=True)
        assert waiting.values[:, 0].max() > blocks(MTU)
        assert waiting.values[:, 1].max() == 0
        network.disturb("h0", 0, "flow control", lose=0)
        network.run(until_s=network.now_s + 0.1)
        assert waiting.values[-1, 0] == 0
        assert nothing_inside(network)


# ---- lanes ----


def add_flow(
    network: VirtualNetwork, spec: FlowSpec, priority: int | None = None, payload_bytes: int = 1000
) -> VirtualFlow:
    """A flow whose packets are of another size, or whose NIC takes them for those of another class."""
    maker, network._maker = network._maker, FlowMaker(network.scheme, 1, payload_bytes)
    if priority is not None:
        network._make(spec, network.now_s, spec.start_s, None, None)
        ((kind, *_),) = network._maker._kinds.values()
        kind.priority = priority
    flow = network.add_flow(spec, network.now_s)
    network._maker = maker
    return flow


def test_a_lane_without_credits_stops_no_other() -> None:
    """Lane 3 to r0 is stopped behind a slow link; lanes 1 and 5 to r1, over the same s0 and s1, share what it leaves:
    their buffers are their own."""
    hosts = make_hosts(["h0", "r0", "r1"])
    pairs = [("h0", 0, "s0", 1), ("s0", 2, "s1", 1), ("s1", 2, "r0", 0), ("s1", 3, "r1", 0)]
    links = [Link(Endpoint(a, i), Endpoint(b, j), 1e9 if b == "r0" else 10e9, 1e-6) for a, i, b, j in pairs]
    topology = by_credits(Topology("fork", hosts, (Switch("s0", 1), Switch("s1", 2)), tuple(links)))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        slow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000))
        specs = [FlowSpec(lane + 1, "h0", "r1", size_bytes=3_000_000, traffic_class=lane) for lane in (5, 1)]
        fast = [network.add_flow(spec) for spec in specs]
        network.run(until_s=8e-3)
        assert all(flow.stats().complete_s is not None for flow in fast)
        # Two flows of 3 MB, beside a gigabit: lanes' shares of the line, with what lane 3 took before it was stopped
        assert max(flow.stats().complete_s or 1 for flow in fast) == pytest.approx(6000 * MTU * 8 / 9e9, rel=0.1)
        assert slow.stats().received_packets < 1000
        assert network.run(until_s=0.1, finish=True)
        assert slow.stats().received_packets == 2000
        assert nothing_inside(network)


def test_every_lane_is_lossless() -> None:
    """Class 5, which PFC doesn't protect: an incast loses nothing, and its lane's buffer alone fills."""
    with VirtualNetwork(by_credits(star(3), buffer_bytes=20_000), PFC_ONLY) as network:
        held = network.sample(1e-6, [network.held_bytes("s0", 1, lane) for lane in range(8)])
        specs = [FlowSpec(i, f"h{i}", "r0", size_bytes=1_000_000, traffic_class=5) for i in range(3)]
        flows = [network.add_flow(spec) for spec in specs]
        assert network.run(until_s=0.1, finish=True)
        assert all(flow.stats().received_packets == 1000 for flow in flows)
        largest = held.values.max(axis=0)
        assert 20_000 - 2 * 17 * BLOCK < largest[5] <= 20_000
        assert not largest[[lane for lane in range(8) if lane != 5]].any()
        assert network.link_stats("s0", 4).refused == 0


def test_a_longer_frame_waits_for_credits_enough() -> None:
    """17 frames of the first flow wait in s0 and leave 23 blocks; a frame of the second takes 64."""
    with VirtualNetwork(by_credits(chain(1), buffer_bytes=312 * BLOCK), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=17_000))
        network.set_link("s0", 2, up=False)
        network.run(until_s=100e-6)
        assert network.link_stats("h0", 0).held_bytes == 17 * 17 * BLOCK
        later = add_flow(network, FlowSpec(2, "h0", "r0", size_bytes=100_000), payload_bytes=4000)
        network.run(until_s=200e-6)
        assert later.stats().sent_packets == 0
        network.set_link("s0", 2, up=True)
        assert network.run(until_s=0.1, finish=True)
        assert later.stats().received_payload == 100_000


def test_a_switch_that_takes_another_lane_than_was_used_ends_the_run() -> None:
    """h0 takes credits of lane 2 for what s0 queues in class 3: nothing there stops it."""
    with VirtualNetwork(by_credits(chain(1, out_bps=1e9)), PFC_ONLY) as network:
        add_flow(network, FlowSpec(1, "h0", "r0", size_bytes=3_000_000), priority=2)
        with pytest.raises(VirtualError, match="in another class than their lane"):
            network.run(until_s=0.1)


# ---- whatever is computed otherwise ----


@pytest.mark.parametrize("output", [None, OutputBuffer(20_000), OutputBuffer(20_000, reliable=True)])
@pytest.mark.parametrize("scheme", ["dcqcn", "timely", "qcn", "ibcc-tcd"])
def test_both_orders_of_events_and_both_forms_of_a_program_agree(scheme: str, output: OutputBuffer | None) -> None:
    """CNPs, ACKs and, with QCN, messages that switches make by cloning: those use no credits."""
    topology = by_credits(mesh(4, [(0, 1), (1, 2), (2, 3)], [1e-6, 2e-6]), buffer_bytes=30_000)
    switches = tuple(replace(switch, arbitration=ROUND_ROBIN, output=output) for switch in topology.switches)
    topology = replace(topology, switches=switches)
    flows = [FlowSpec(10 * i + j, f"h{i}", f"h{j}", size_bytes=200_000) for i in range(4) for j in range(4) if i != j]
    totals = []
    orders: tuple[tuple[Literal["nodes", "one"], bool], ...] = (("nodes", True), ("one", True), ("nodes", False))
    for queues, inplace in orders:
        with VirtualNetwork(topology, find_scheme(scheme).configure(), queues=queues, inplace=inplace) as network:
            for end in ends(topology):
                network.disturb(end.node, end.port, "flow control", lose=7)
            assert with_flows(network, flows).run(until_s=0.5, finish=True)
            network.run(until_s=0.501)
            assert nothing_inside(network)
            assert sum(network.link_stats(end.node, end.port).starved_s for end in ends(topology)) > 0
            totals.append(network.totals())
    assert totals[0] == totals[1] == totals[2]


def test_experiments_run_it() -> None:
    """TCD's network with credits, 1 ms of its traffic: recorded, and nothing is left."""
    drawn = victims_plan("table3", "ibcc-tcd", 1, {"bursts_load": 0.3})
    topology = by_credits(replace(drawn.topology, flows=tuple(f for f in drawn.topology.flows if f.start_s < 1e-3)))
    recording = run_virtual(replace(drawn, topology=topology, duration_s=2e-3), Silent())
    assert len(recording.flows) == len(topology.flows) > 20
    assert all(flow.received_packets == flow.sent_packets for flow in recording.flows)
    assert not recording.left_inside


# ---- what there isn't ----


def test_a_topology_with_it_can_be_written_and_read() -> None:
    topology = by_credits(star(2), credit_interval_s=1e-6)
    assert topology.number("buffer_bytes") == BUFFER
    assert from_dict(json.loads(json.dumps(to_dict(topology)))) == topology
    assert "buffer_bytes" not in star(2).parameters


def test_what_can_not_be() -> None:
    with pytest.raises(TopologyError, match="star: flow control 'fc': there is 'pfc' and 'credits'"):
        replace(star(2), flow_control="fc")
    with pytest.raises(TopologyError, match="star: buffers of 1000 bytes hold no frame of mtu_bytes, 1058"):
        by_credits(star(2), buffer_bytes=1000)
    with pytest.raises(TopologyError, match="star: credit_interval_s must be above 0"):
        by_credits(star(2), credit_interval_s=0)
    network = VirtualNetwork(by_credits(star(2), buffer_bytes=1088), PFC_ONLY, payload_bytes=1100)
    with network, pytest.raises(VirtualError, match="a frame that no lane's buffer has room for"):
        network.add_flow(FlowSpec(1, "h0", "r0"))


def test_live_networks_refuse_it_and_so_do_programs_that_emulate_pfc() -> None:
    with pytest.raises(NetworkError, match="star: flow control 'credits' is there in virtual time alone"):
        launch_spec(by_credits(star(2)), "s0", 400, Path("grpc"))
    with pytest.raises(NetworkError, match="star: flow control 'credits' is there in virtual time alone"):
        require_startable(by_credits(star(2)), find_target("bmv2"))  # whatever the machine has
    with pytest.raises(VirtualError, match="star: credits are counted by switches themselves, not by a program"):
        VirtualNetwork(by_credits(star(2)), PFC_ONLY, pfc=False)
