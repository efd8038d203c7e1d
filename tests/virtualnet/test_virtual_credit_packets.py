"""Flow control packets of InfiniBand's credits: their content in captures against a separate count,
and that losses of them and of data heal."""

from itertools import pairwise

import pytest
from credit_packets import (
    AHEAD,
    BLOCK,
    BUFFER,
    COUNTS,
    FC_TYPE,
    blocks,
    by_credits,
    flow_control,
    nothing_inside,
    period_s,
)
from networks import MTU, PFC_ONLY, chain, read_pcap, star, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

# ---- their content ----


@pytest.mark.parametrize("response_s", [0.0, 3e-6])
def test_senders_keep_to_the_limits_that_flow_control_packets_give(response_s, tmp_path):
    """A slow link behind s0. FCTBS is what we count, modulo 4096, twelve times over; h0 starts no
    frame that the latest FCCL forbids; lanes get a packet at least once in each period, and at most
    once an interval."""
    delay_s, interval_s = 1e-6, 3e-6
    topology = by_credits(chain(1, out_bps=2e9, delay_s=delay_s), credit_interval_s=interval_s)
    with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
        network.capture("h0", 0, tmp_path / "out")
        network.capture("s0", 1, tmp_path / "back")
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3_000_000))
        assert network.run(until_s=0.1, finish=True)
    limits = [packet for packet in flow_control(tmp_path / "back") if packet.lane == 3]
    announced = {
        packet.time_s: packet for packet in flow_control(tmp_path / "out") if packet.lane == 3
    }
    assert all(packet.sent == 0 for packet in limits)
    sent, limit, at = 0, AHEAD, 0
    nearest = AHEAD
    for time_s, frame in read_pcap(tmp_path / "out"):
        if frame[12:14] == FC_TYPE:
            assert time_s not in announced or announced[time_s].sent == sent % COUNTS
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
    assert len(announced) > 50
    gaps = [after.time_s - before.time_s for before, after in pairwise(limits)]
    assert interval_s - 1e-8 <= min(gaps) < interval_s + 1e-8
    idle = [packet.time_s for packet in flow_control(tmp_path / "back") if packet.lane == 5]
    assert [after - before for before, after in pairwise(idle)] == pytest.approx(
        [period_s(10e9)] * (len(idle) - 1), abs=3e-9
    )


def test_programs_follow_the_switch_s_count(tmp_path):
    """TCD's program at s0, before a slow link. Its FCTBS and FCCL are those of the packets on the
    wire, and its last RESUME is when a capture shows that s1's flow control packet ended a lack of
    credits."""
    scheme = find_scheme("tcd").configure({"max_ton_s": 1})  # a RESUME's time is kept
    first_s, cell, resumed_s = {}, 2 * 8 + 3, []
    with VirtualNetwork(by_credits(chain(2, out_bps=3e9)), scheme) as network:
        network.capture("s0", 2, tmp_path / "out")
        network.capture("s1", 1, tmp_path / "back")
        network.add_flow(FlowSpec(1, "h0", "r0"))
        network.run(until_s=20e-3)
        switch = network.switches["s0"]
        fctbs, fccl, since = (
            switch.read_register(name, cell) for name in ("fctbs", "fccl", "tcd_since")
        )
        state = switch.read_register("tcd_state", cell)
    sent, limit = 0, AHEAD
    limits = [
        (packet.time_s + 1e-6, packet.limit)
        for packet in flow_control(tmp_path / "back")
        if packet.lane == 3
    ]
    frames = [(time_s - len(frame) * 8 / 10e9, len(frame)) for time_s,
    frame in read_pcap(tmp_path / (
        "out"
    ))
              if frame[12:14] != FC_TYPE]  # fmt: skip
    for time_s, value in sorted([*((at, -1 - limit) for at, limit in limits), *frames]):
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
    # the last RESUME that a departure followed
    latest = max(number for number in first_s if number > 0)
    assert (state, since) == (2, pytest.approx(resumed_s[latest - 1] * 1e6, abs=1))


# ---- losses ----


def test_lost_flow_control_packets_stop_nothing_for_longer_than_a_period():
    """All of s0's are lost for a millisecond: h0 sends what it had credits for and stops. Then,
    after a period at most, it goes on, and all of it arrives."""
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
def test_one_lost_flow_control_packet_changes_little(which):
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


def test_credits_of_lost_data_come_back(tmp_path):
    """Every tenth data frame is lost on the way to s0, 2,000 blocks in all and more than the buffer
    of 500 has: h0 reports what it sent, s0 takes that for received. Losses of all data stop it
    until then."""
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


def test_acknowledgements_need_credits_of_their_lane():
    """An ACK for each packet. s0's flow control packets to r0 are lost: r0 stops sending ACKs, but
    not its own flow control packets, so data arrive. Later all ACKs do, too."""
    timely = find_scheme("timely").configure({"segment_bytes": 1000})
    with VirtualNetwork(by_credits(chain(1)), timely) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=5_000_000))
        network.disturb("s0", 2, "flow control", lose=1)
        network.run(until_s=3e-2)
        back = network.link_stats("r0", 0)
        assert flow.stats().received_packets > 4000
        # a block each, until a long frame has no room
        assert back.packets - back.fc_packets == AHEAD - blocks(MTU) + 1
        network.disturb("s0", 2, "flow control", lose=0)
        network.run(until_s=6e-2)
        back = network.link_stats("r0", 0)
        assert flow.stats().received_packets == 5000
        assert back.packets - back.fc_packets == 5000


def test_messages_that_a_switch_makes_use_no_credits():
    """QCN's messages to h0 wait in s0, for h0's flow control packets are lost: more than their
    lane's buffer at the input that they are made for could hold."""
    topology = by_credits(star(4), buffer_bytes=blocks(MTU) * BLOCK)
    with VirtualNetwork(
        topology, find_scheme("qcn").configure({"q_eq_bytes": 1000, "sample_bytes": 3000})
    ) as network:
        with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=1_000_000) for i in range(4)])
        waiting = network.sample(
            10e-6, [network.queue_packets("s0", 1, 7), network.held_bytes("s0", 1, 7)]
        )
        network.disturb("h0", 0, "flow control", lose=1)
        assert network.run(until_s=0.5, finish=True)
        assert waiting.values[:, 0].max() > blocks(MTU)
        assert waiting.values[:, 1].max() == 0
        network.disturb("h0", 0, "flow control", lose=0)
        network.run(until_s=network.now_s + 0.1)
        assert waiting.values[-1, 0] == 0
        assert nothing_inside(network)
