"""Windows in virtual time: throughput by closed forms, which packets are acknowledged, and what the
RP gets of it."""

import math
from dataclasses import replace

import pytest
from networks import PFC_ONLY, star, with_flows

from pcn.hosts import wire
from pcn.hosts.algorithms import Ack, Cnm, Configured, Mark, ReactionPoint, find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import CallbackError

LINE, DELAY, DATA, ACK = 10e9, 5e-6, 1058, 62
RTT = 4 * DELAY + 2 * (DATA + ACK) * 8 / LINE
"""Over a switch: each of two links serialises data and ACK."""
FRAME_S = DATA * 8 / LINE


class Rp(ReactionPoint):
    """A constant window, or what `wants` sets after each ACK."""

    def __init__(self, window: float, segment: int | None, rate_bps: float = LINE, wants=None):
        self.rate_bps = rate_bps
        self.window_bytes = window
        self.segment_bytes = segment
        self.wants = wants or (lambda rp: None)
        self.acks: list[tuple[Ack, float, int]] = []

    def on_ack(self, ack: Ack, now_s: float):
        self.acks.append((ack, now_s, self.sent_bytes))
        self.wants(self)


def scheme(window: float, segment: int | None = 1, **more) -> Configured:
    pfc = find_scheme("pfc")
    return replace(
        pfc, name="window", reaction_point=lambda _line, _: Rp(window, segment, **more)
    ).configure()


def windowed_network(configured: Configured, senders: int = 1, **more) -> VirtualNetwork:
    return VirtualNetwork(star(senders, LINE, delay_s=DELAY), configured, **more)


def rp_of(network: VirtualNetwork, flow: int = 1) -> Rp:
    rp = network.flows[flow].rp
    assert isinstance(rp, Rp)
    return rp


def throughputs_bps(network: VirtualNetwork, over_s: float) -> list[float]:
    """Of each flow, after ten round trips."""
    network.run(until_s=10 * RTT)
    before = [flow.stats().received_bytes for flow in network.flows.values()]
    network.run(until_s=10 * RTT + over_s)
    after = [flow.stats().received_bytes for flow in network.flows.values()]
    return [(new - old) * 8 / over_s for old, new in zip(before, after, strict=True)]


def throughput_bps(network: VirtualNetwork, over_s: float) -> float:
    (throughput,) = throughputs_bps(network, over_s)
    return throughput


@pytest.mark.parametrize("packets", [1, 10, 25, 26, 100])
def test_window_limits_throughput_to_itself_a_round_trip(packets):
    digests = set()
    for queues in ("nodes", "one"):
        with with_flows(
            windowed_network(scheme(packets * DATA), queues=queues), [FlowSpec(1, "h0", "r0")]
        ) as network:
            wanted = min(LINE, packets * DATA * 8 / RTT)
            assert throughput_bps(network, 300 * RTT) == pytest.approx(wanted, rel=1e-3)
            digests.add(network.totals().digest)
    assert len(digests) == 1


@pytest.mark.parametrize("every", [2, 4, 8])
@pytest.mark.parametrize("packets", [8, 16])
def test_acknowledgement_each_n_packets_adds_n_minus_1_frames_to_the_round_trip(every, packets):
    round_trip = RTT + (every - 1) * FRAME_S
    with with_flows(
        windowed_network(scheme(packets * DATA, every * 1000)), [FlowSpec(1, "h0", "r0")]
    ) as network:
        throughput = throughput_bps(network, 300 * round_trip)
        assert throughput == pytest.approx(packets * DATA * 8 / round_trip, rel=1e-3)
        assert {ack.acked_bytes for ack, _, _ in rp_of(network).acks} == {every * DATA}


def test_packet_that_fills_the_window_requests_an_ack_where_no_other_does():
    with with_flows(windowed_network(scheme(8 * DATA, None)), [FlowSpec(1, "h0", "r0")]) as network:
        network.run(until_s=1e-3)
        acks = [ack for ack, _, _ in rp_of(network).acks]
        assert len(acks) > 10
        assert all(
            (ack.acked_bytes, ack.psn) == (8 * DATA, 8 * i + 7) for i, ack in enumerate(acks)
        )


def test_window_below_a_packet_lets_one_out_at_a_time():
    with with_flows(windowed_network(scheme(1)), [FlowSpec(1, "h0", "r0")]) as network:
        assert throughput_bps(network, 300 * RTT) == pytest.approx(DATA * 8 / RTT, rel=1e-3)


@pytest.mark.parametrize(("rate_bps", "packets"), [(1e9, 100), (5e9, 5)])
def test_the_smaller_of_window_and_rate_holds(rate_bps, packets):
    with with_flows(
        windowed_network(scheme(packets * DATA, rate_bps=rate_bps)), [FlowSpec(1, "h0", "r0")]
    ) as network:
        wanted = min(rate_bps, packets * DATA * 8 / RTT)
        assert throughput_bps(network, 300 * RTT) == pytest.approx(wanted, rel=1e-3)


def test_data_and_acknowledgements_share_a_line_both_ways():
    flows = [FlowSpec(1, "h0", "r0"), FlowSpec(2, "r0", "h0")]
    with with_flows(windowed_network(scheme(100 * DATA)), flows) as network:
        wanted = LINE * DATA / (DATA + ACK)
        assert throughputs_bps(network, 10e-3) == pytest.approx([wanted] * 2, rel=5e-4)


def test_rp_gets_bytes_time_sequence_and_path_of_each_acknowledgement():
    size = 4 * 1000 + 1
    with with_flows(
        windowed_network(scheme(3 * DATA)), [FlowSpec(9, "h0", "r0", size_bytes=size)]
    ) as network:
        network.run(until_s=1e-3)
        acks = rp_of(network, 9).acks
        # then its last packet has started, and the flow has ended
        assert [ack.psn for ack, _, _ in acks] == [0, 1]
        for ack, now_s, _ in acks:
            assert ack == Ack(
                pytest.approx(RTT - FRAME_S), Mark.NONE, DATA, ack.psn, wire.source_port(9), None
            )
            assert now_s == pytest.approx(RTT + ack.psn * FRAME_S)
        assert [sent for _, _, sent in acks] == [3 * DATA, 4 * DATA]
        stats = network.flows[9].stats()
        assert (stats.received_packets, stats.window_bytes) == (5, 3 * DATA)
        assert stats.in_flight_bytes == 0  # what is acknowledged later counts


def test_flow_that_shrinks_its_window_below_what_is_in_flight_goes_on():
    """By its timer, while no packet in flight has requested an ACK: without one more that does it
    would stop."""

    class Shrinking(Rp):
        timer_s = 4 * FRAME_S

        def on_timer(self, now_s: float):
            self.timer_s = None
            self.window_bytes = 2 * DATA

    shrinking = replace(
        find_scheme("pfc"), name="w", reaction_point=lambda _l, _: Shrinking(50 * DATA, None)
    ).configure()
    with with_flows(windowed_network(shrinking), [FlowSpec(1, "h0", "r0")]) as network:
        wanted = 2 * DATA * 8 / (RTT + FRAME_S)
        assert throughput_bps(network, 300 * RTT) == pytest.approx(wanted, rel=2e-3)


def test_window_that_widens_lets_packets_go_at_once():
    def widen(rp: Rp):
        rp.window_bytes = math.inf

    with with_flows(
        windowed_network(scheme(DATA, wants=widen)), [FlowSpec(1, "h0", "r0")]
    ) as network:
        network.run(until_s=2 * RTT)
        ((_, first_s, _), *_) = rp_of(network).acks
        assert first_s == pytest.approx(RTT)
        assert network.flows[1].stats().sent_packets == 2 + math.floor(RTT / FRAME_S)


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_lost_packets_are_acknowledged_with_the_next_and_repeated_acknowledgements_of_nothing(
    queues,
):
    with with_flows(
        windowed_network(scheme(16 * DATA), queues=queues), [FlowSpec(1, "h0", "r0")]
    ) as network:
        network.disturb("h0", 0, "data", lose=7)
        network.disturb("s0", 1, "notifications", repeat=5, lose=11)
        network.run(until_s=5e-3)
        stats, acks = network.flows[1].stats(), [ack for ack, _, _ in rp_of(network).acks]
        assert stats.lost_packets > 100
        assert sum(ack.acked_bytes for ack in acks) + stats.in_flight_bytes == stats.sent_bytes
        assert {ack.acked_bytes // DATA for ack in acks} >= {0, 1, 2}
        assert stats.in_flight_bytes <= 16 * DATA


def test_acknowledgement_carries_the_mark_of_its_packet():
    """Two flows into one link: NP-ECN marks what waited, and each packet is acknowledged."""
    marking = replace(
        find_scheme("pcn"), name="w", reaction_point=lambda _line, _: Rp(20 * DATA, 1)
    ).configure()
    flows = [FlowSpec(1, "h0", "r0"), FlowSpec(2, "h1", "r0")]
    with with_flows(windowed_network(marking, senders=2), flows) as network:
        network.run(until_s=2e-3)
        marked = sum(ack.mark is Mark.CE for ack, _, _ in rp_of(network).acks)
        assert 0 < marked < len(rp_of(network).acks)
        assert abs(marked - network.flows[1].stats().marked_ce) <= 20  # what is on its way


def test_samples_have_window_and_bytes_in_flight():
    flows = [FlowSpec(1, "h0", "r0"), FlowSpec(2, "h0", "r0", start_s=10.0)]
    with with_flows(windowed_network(scheme(5 * DATA)), flows) as network:
        samples = network.sample(
            RTT / 3, [network.flow_window(1), network.flow_in_flight(1), network.flow_in_flight(2)]
        )
        network.run(until_s=20 * RTT)
        assert set(samples.values[:, 0]) == {5 * DATA}
        assert samples.values[:, 1].max() == 5 * DATA
        assert samples.values[:, 2].max() == 0
    with with_flows(VirtualNetwork(star(1), PFC_ONLY), [FlowSpec(1, "h0", "r0")]) as network:
        network.run(until_s=1e-4)
        stats = network.flows[1].stats()
        assert (stats.window_bytes, stats.in_flight_bytes) == (math.inf, 0)


@pytest.mark.parametrize("window", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("when", ["start", "later"])
def test_impossible_window_is_named(window, when):
    def wants(rp: Rp):
        rp.window_bytes = window

    configured = scheme(window) if when == "start" else scheme(5 * DATA, wants=wants)
    with windowed_network(configured) as network:
        message = f"window_bytes is {window:g}: a window is above 0, and infinite without one"
        if when == "start":
            with pytest.raises(Exception, match=rf"flow 1: its RP begins wrongly: .*{message}"):
                network.add_flow(FlowSpec(1, "h0", "r0"))
        else:
            network.add_flow(FlowSpec(1, "h0", "r0"))
            with pytest.raises(CallbackError, match=rf"RP of flow 1, at .*: {message}"):
                network.run(until_s=1e-3)


def test_acknowledgement_of_a_controller_is_a_stray_frame():
    """It has no send time, whatever its PSN is."""
    network = VirtualNetwork(star(1, LINE, delay_s=DELAY), scheme(2 * DATA), cpu_port=509)
    with with_flows(network, [FlowSpec(1, "h0", "r0")]):
        sender, receiver = (network.topology.host(name) for name in ("h0", "r0"))
        ends = [
            wire.parse_mac(receiver.mac),
            wire.parse_mac(sender.mac),
            wire.parse_ip(receiver.ip),
            wire.parse_ip(sender.ip),
        ]
        frame = wire.encode_ack(wire.AckPacket(*ends, flow=1, psn=1))
        network.at(RTT / 2, lambda: network.switches["s0"].packet_out(frame))
        network.run(until_s=RTT * 0.9)
        assert network.totals().stray_frames == 1
        assert (rp_of(network).acks, network.flows[1].stats().in_flight_bytes) == ([], 2 * DATA)


def test_flow_that_waits_for_its_window_ends_at_its_time_and_can_be_stopped():
    flows = [FlowSpec(1, "h0", "r0", duration_s=RTT / 2), FlowSpec(2, "h0", "r0")]
    with with_flows(windowed_network(scheme(2 * DATA)), flows) as network:
        network.at(RTT / 3, lambda: network.stop_flow(2))
        network.run(until_s=5 * RTT)
        ended = [network.flows[number].stats() for number in (1, 2)]
        assert [stats.sent_packets for stats in ended] == [2, 2]
        assert [stats.ended_s for stats in ended] == pytest.approx(
            [RTT / 2, 4 * FRAME_S + DELAY]
        )  # the last one's arrival


def test_message_of_a_switch_reaches_an_rp_with_a_window():
    """QCN's CNMs and acknowledgements come to the same RP."""

    class Both(Rp):
        cnms = 0

        def on_cnm(self, cnm: Cnm, now_s: float):
            self.cnms += 1

    qcn = replace(
        find_scheme("qcn"), name="w", reaction_point=lambda _line, _: Both(200 * DATA, 1)
    ).configure()
    flows = [FlowSpec(1, "h0", "r0"), FlowSpec(2, "h1", "r0")]
    with with_flows(windowed_network(qcn, senders=2), flows) as network:
        network.run(until_s=3e-3)
        both = [network.flows[number].rp for number in (1, 2)]
        assert all(isinstance(rp, Both) and rp.acks for rp in both)
        assert sum(rp.cnms for rp in both if isinstance(rp, Both)) > 0
