"""Lossy networks in virtual time: what go-back-N and selective repeat achieve by closed forms, and
that all arrives."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from networks import ConstantWindow, read_pcap, star, with_flows

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, Loss, Mark, find_scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

DATA, ACK = 1058, 62
LINE, DELAY = 100e9, 2e-6
RTT = 4 * DELAY + 2 * (DATA + ACK) * 8 / LINE
BDP = LINE * RTT / 8
SIZE = 50_000_000
GOODPUT = LINE * 1000 / DATA
KINDS = (Repeats.GO_BACK_N, Repeats.SELECTIVE)


class Rp(ConstantWindow):
    def __init__(self, line_bps: float, window: float, segment: int | None):
        super().__init__(line_bps, None)
        self.window_bytes, self.segment_bytes = window, segment


def scheme(window: float = 1.2 * BDP, segment: int | None = 1, of: str = "pfc") -> Configured:
    return replace(
        find_scheme(of), name="w", reaction_point=lambda line, _: Rp(line, window, segment)
    ).configure()


def lossy_network(
    kind: Repeats, configured: Configured | None = None, timeout_s: float = 100e-6, **more
) -> VirtualNetwork:
    return VirtualNetwork(
        star(1, LINE, delay_s=DELAY),
        configured or scheme(),
        reliability={3: Reliability(kind, timeout_s)},
        **more,
    )


def accounted(network: VirtualNetwork):
    """All has arrived once, and every packet sent is counted once."""
    assert network.totals().packets == 0
    for flow in network.flows.values():
        stats = flow.stats()
        packets = math.ceil(stats.sent_payload / 1000)
        assert stats.received_packets == packets
        assert stats.sent_packets == packets + stats.repeated_packets
        came = stats.received_packets + stats.duplicate_packets + stats.refused_packets
        assert stats.sent_packets == came + stats.lost_packets
        assert stats.in_flight_bytes == 0
        assert stats.ended_s is not None


def run(kind: Repeats, p_lose: float, seed: int, **more) -> tuple[float, VirtualNetwork]:
    """Goodput of 50 MB over a link that loses at random; the network is to be closed."""
    network = with_flows(lossy_network(kind, **more), [FlowSpec(1, "h0", "r0", size_bytes=SIZE)])
    network.disturb("s0", 2, "data", p_lose=p_lose, seed=seed)
    assert network.run(until_s=1, finish=True)
    network.run(until_s=network.now_s + 1e-3)
    accounted(network)
    complete_s = network.flows[1].stats().complete_s
    assert complete_s is not None
    return SIZE * 8 / complete_s, network


@pytest.mark.parametrize(("p_lose", "least_bps"), [(1e-4, 94e9), (1e-3, 94e9), (1e-2, 93e9)])
def test_selective_repeat_costs_a_packet_a_loss(p_lose, least_bps):
    for seed in (1, 2):
        goodput_bps, network = run(Repeats.SELECTIVE, p_lose, seed)
        with network:
            stats = network.flows[1].stats()
            assert goodput_bps >= least_bps
            assert goodput_bps == pytest.approx(GOODPUT * (1 - p_lose), rel=0.01)
            assert stats.repeated_packets == stats.lost_packets
            assert stats.duplicate_packets == stats.timeouts == 0


@pytest.mark.parametrize(("p_lose", "least_bps"), [(1e-4, 93e9), (1e-3, 85e9)])
def test_go_back_n_costs_a_bdp_a_loss(p_lose, least_bps):
    for seed in (1, 2):
        goodput_bps, network = run(Repeats.GO_BACK_N, p_lose, seed)
        with network:
            stats, packets = network.flows[1].stats(), SIZE / 1000
            assert goodput_bps >= least_bps
            losses = (stats.sent_packets - packets) / (BDP / DATA)  # that it went back for
            assert losses <= stats.lost_packets * 1.02
            assert goodput_bps == pytest.approx(
                GOODPUT / (1 + losses * BDP / DATA / packets), rel=0.01
            )
            assert 90 * losses < stats.refused_packets < 100 * losses


@pytest.mark.parametrize("kind", KINDS)
def test_lossy_run_is_the_same_with_either_queue(kind):
    digests = set()
    for queues in ("nodes", "one"):
        with with_flows(
            lossy_network(kind, queues=queues), [FlowSpec(1, "h0", "r0", size_bytes=3_000_000)]
        ) as network:
            network.disturb("s0", 2, "data", p_lose=0.02)
            network.disturb("s0", 1, "notifications", p_lose=0.02)
            network.run(until_s=5e-3)
            accounted(network)
            assert network.flows[1].stats().repeated_packets > 50
            digests.add((network.totals().digest, network.flows[1].stats()))
    assert len(digests) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("window", "segment"), [(1.0, 1), (1.2 * BDP, 8000), (math.inf, None), (20 * DATA, None)]
)
def test_everything_arrives_whatever_is_lost(kind, window, segment):
    """Data, acknowledgements and NAKs, the last packet among them, by either transport and every
    kind of window."""
    flows = [FlowSpec(number, "h0", "r0", size_bytes=300_000 + number) for number in range(1, 5)]
    with with_flows(lossy_network(kind, scheme(window, segment)), flows) as network:
        for end in (("h0", 0), ("s0", 2)):
            network.disturb(*end, "data", p_lose=0.05)
        for end in (("r0", 0), ("s0", 1)):
            network.disturb(*end, "notifications", p_lose=0.1, repeat=7)
        assert network.run(until_s=1, finish=True)
        network.run(until_s=network.now_s + 0.1)
        accounted(network)
        assert min(flow.stats().lost_packets for flow in network.flows.values()) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_last_packet_is_repeated_after_the_timer(kind):
    timeout_s, frame_s = 300e-6, DATA * 8 / LINE
    with with_flows(
        lossy_network(kind, timeout_s=timeout_s), [FlowSpec(1, "h0", "r0", size_bytes=20_000)]
    ) as network:
        network.disturb("s0", 2, "data", lose=20)
        network.run(until_s=10e-3)
        accounted(network)
        stats, rp = network.flows[1].stats(), network.flows[1].rp
        assert isinstance(rp, Rp)
        assert (stats.timeouts, stats.repeated_packets, rp.losses) == (1, 1, [Loss(DATA, True)])
        # The timer runs from the latest acknowledgement of something new, which is of the packet
        # before.
        assert stats.complete_s == pytest.approx(
            RTT + 18 * frame_s + timeout_s + 2 * DELAY + 2 * frame_s, abs=1e-9
        )


def test_rp_gets_each_loss_once_and_all_bytes_acknowledged():
    _, network = run(Repeats.SELECTIVE, 1e-2, 1)
    with network:
        rp, stats = network.flows[1].rp, network.flows[1].stats()
        assert isinstance(rp, Rp)
        assert sum(loss.lost_bytes for loss in rp.losses) == stats.lost_packets * DATA
        assert {loss.timeout for loss in rp.losses} == {False}
        # The flow has ended when its last acknowledgement comes: no RP gets that.
        assert sum(ack.acked_bytes for ack in rp.acks) == pytest.approx(
            SIZE / 1000 * DATA, abs=2 * DATA
        )
        assert min(ack.rtt_s for ack in rp.acks) == pytest.approx(RTT - DATA * 8 / LINE, rel=1e-6)


def test_nothing_is_lost_or_repeated_without_faults():
    """A network without loss: reliable flows have the throughput of lossless ones."""
    for kind in KINDS:
        goodput_bps, network = run(kind, 0, 1)
        with network:
            assert goodput_bps == pytest.approx(GOODPUT, rel=1e-3)
            stats = network.flows[1].stats()
            assert (
                stats.repeated_packets, stats.timeouts, stats.refused_packets,
                stats.duplicate_packets,
            ) == (0,) * 4  # fmt: skip


def test_frames_of_a_reliable_flow_are_a_reliable_connection_s(tmp_path):
    with with_flows(
        lossy_network(Repeats.GO_BACK_N), [FlowSpec(1, "h0", "r0", size_bytes=20_000)]
    ) as network:
        network.disturb("h0", 0, "data", lose=6)
        network.at(DELAY + 6.5 * DATA * 8 / LINE, lambda: network.disturb("h0", 0, "data"))
        network.capture("h0", 0, tmp_path / "out.pcap")
        network.capture("s0", 1, tmp_path / "back.pcap")
        network.run(until_s=1e-3)
        accounted(network)
    sent = [wire.decode(frame) for _, frame in read_pcap(tmp_path / "out.pcap")]
    answers = [wire.decode(frame) for _, frame in read_pcap(tmp_path / "back.pcap")]
    assert all(
        isinstance(packet, wire.DataPacket) and packet.reliable and packet.asks for packet in sent
    )
    assert all(isinstance(packet, wire.AckPacket) for packet in answers)
    first = [(packet.psn, packet.in_order, packet.nak) for packet in answers[:6]]
    assert first == [*((psn, psn + 1, False) for psn in range(5)), (5, 5, True)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", [Repeats.NOTHING, Repeats.SELECTIVE])
def test_acknowledgement_goes_at_each_change_of_the_mark(exact, kind, tmp_path):
    """Four packets to an acknowledgement: with exact marks the bytes acknowledged as marked are
    those marked."""

    class Exact(Rp):
        exact_marks = exact

    exact_scheme = replace(
        find_scheme("pcn"), name="w", reaction_point=lambda line, _: Exact(line, 11 * DATA, 4000)
    )
    topology = star(2, 10e9, delay_s=DELAY)
    flows = [FlowSpec(1, "h0", "r0"), FlowSpec(2, "h1", "r0", start_s=1e-4, size_bytes=100_000)]
    reliability = {3: Reliability(Repeats(kind), 1.0)}
    with with_flows(
        VirtualNetwork(topology, exact_scheme.configure(), reliability=reliability), flows
    ) as network:
        network.capture("s0", 3, tmp_path / "in.pcap")
        network.run(until_s=1e-3)
        rp = network.flows[1].rp
        assert isinstance(rp, Rp)
    data = [wire.decode(frame) for _, frame in read_pcap(tmp_path / "in.pcap")]
    marks = [
        packet.ecn == wire.ECN_CE
        for packet in data
        if isinstance(packet, wire.DataPacket) and packet.flow == 1
    ]
    acked = [(ack.psn, ack.acked_bytes // DATA, ack.mark is Mark.CE) for ack in rp.acks]
    assert sum(before != after for before, after in pairwise(marks)) >= 2
    right = [set(marks[psn - n + 1 : psn + 1]) == {mark} for psn, n, mark in acked]
    assert all(right) == exact
    assert sum(n for _, n, _ in acked) == acked[-1][0] + 1
