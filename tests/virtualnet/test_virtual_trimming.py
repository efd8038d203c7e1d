"""Packet trimming in virtual time: what a full queue refuses comes as headers, and its receiver
requests it at once."""

import struct
from dataclasses import replace
from itertools import pairwise

import pytest
from networks import PFC_ONLY, ConstantWindow, flow_stats, read_pcap, star, with_flows

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, Loss, find_scheme
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.softswitch.trimming import LAST_HOP_DSCP
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import Trimming
from pcn.virtualnet.errors import VirtualError

LINE, DATA, SENDERS, CLASS, DEPTH = 100e9, 1058, 8, 1, 20
SIZE = 300_000
TRIMMING = Trimming()


def windowed() -> Configured:
    return replace(find_scheme("pfc"), name="w", reaction_point=ConstantWindow).configure()


def trimming_network(
    kind: Repeats | None = Repeats.SELECTIVE,
    trimming: Trimming | None = TRIMMING,
    depth: int = DEPTH,
    senders: int = SENDERS,
    depth_trimmed: int = 2048,
    **more,
) -> VirtualNetwork:
    """An incast into r0, whose port's queue of the class holds few packets."""
    reliability = (
        {} if kind is None else {CLASS: Reliability(kind, timeout_s=300e-6, reordering_s=1.0)}
    )
    scheme = PFC_ONLY if kind is None else windowed()
    network = VirtualNetwork(star(senders, LINE), scheme, reliability=reliability, **more)
    port = senders + 1
    network.set_queue("s0", port, CLASS, depth=depth)
    if trimming is not None:
        network.set_trimming("s0", port, [CLASS], trimming, depth_trimmed)
    size = None if kind is None else SIZE
    return with_flows(
        network,
        [
            FlowSpec(i + 1, f"h{i}", "r0", size_bytes=size, traffic_class=CLASS)
            for i in range(senders)
        ],
    )


def counts(network: VirtualNetwork, senders: int = SENDERS) -> tuple[int, int]:
    """Packets that the queue refused, and trimmed."""
    stats = network.link_stats("s0", senders + 1)
    return stats.refused_by_class[CLASS], stats.trimmed_by_class[CLASS]


def test_trimmed_packets_are_repeated_without_a_timeout():
    with trimming_network() as network:
        assert network.run(until_s=0.1, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        refused, trimmed = counts(network)
        assert refused == trimmed > 200
        stats = flow_stats(network)
        assert sum(stat.lost_packets for stat in stats) == trimmed
        for flow, stat in zip(network.flows.values(), stats, strict=True):
            assert stat.received_packets == SIZE / 1000
            assert stat.repeated_packets == stat.lost_packets
            assert stat.timeouts == stat.duplicate_packets == stat.in_flight_bytes == 0
            assert isinstance(flow.rp, ConstantWindow)
            losses = flow.rp.losses
            assert [loss._replace(rtt_s=0) for loss in losses] == [Loss(DATA)] * stat.lost_packets
            # a trimmed packet passes the queue
            full_s = DEPTH * DATA * 8 / LINE
            assert all(4e-6 < loss.rtt_s < 4e-6 + full_s / 2 for loss in losses)
            assert all(ack.acked_bytes > 0 for ack in flow.rp.acks)
        assert network.totals().packets == 0


def lost_by_flow(percent: int, seed: int = 1, **more) -> list[int]:
    """Of two flows at a line's rate, whose packets come at the same instants."""
    with trimming_network(None, senders=2, **more) as network:
        trimming = Trimming(tail_percent=percent)
        network.set_trimming("s0", 3, [CLASS], trimming, seed=seed)
        network.run(until_s=1e-3)
        stats = flow_stats(network)
        assert sum(stat.lost_packets for stat in stats) <= counts(network, 2)[1]
        return [stat.lost_packets for stat in stats]


def test_coin_divides_the_loss_of_senders_in_step():
    """The queue is full whenever the second one's packet comes. Without the coin that is trimmed,
    or, where the last that waits always is, the first one's."""
    arriving, coin, waiting = (lost_by_flow(percent) for percent in (0, 50, 100))
    assert arriving[1] > 10 * arriving[0]
    assert waiting == arriving[::-1]
    assert coin[0] == pytest.approx(coin[1], rel=0.05)


def test_coin_falls_by_seed_and_port_alone():
    lost = [lost_by_flow(50, **more) for more in ({}, {"inplace": False}, {"threads": 2})]
    assert lost[0] == lost[1] == lost[2] != lost_by_flow(50, seed=2)


def test_coin_loses_nothing_of_flows_that_repeat():
    with trimming_network(trimming=Trimming(tail_percent=50)) as network:
        assert network.run(until_s=0.1, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        stats = flow_stats(network)
        assert sum(stat.lost_packets for stat in stats) == counts(network)[1] > 200
        assert all(stat.received_packets == SIZE / 1000 and not stat.timeouts for stat in stats)
        assert network.totals().packets == 0


def test_path_isnt_avoided_for_what_the_last_hop_trimmed(tmp_path):
    """Of 64 ports in turn one is left out four times for a trimmed packet, and once for a mark,
    which is left where the port to the host reports that it has trimmed."""
    skipped = []
    for dscp in (48, LAST_HOP_DSCP):
        file = tmp_path / str(dscp)
        with trimming_network(
            trimming=Trimming(dscp_value=dscp), paths=Paths("packet", 64)
        ) as network:
            network.capture("h0", 0, file)
            assert network.run(until_s=0.1, finish=True)
            assert counts(network)[1] > 200
        data = [frame for _, frame in read_pcap(file) if len(frame) > 100]
        places = [frame[35] for frame in data if frame[26:30] == data[0][26:30]]
        skipped.append(sum((b - a) % 64 - 1 for a, b in pairwise(places)))
    assert skipped[0] > 100 * skipped[1] > 0


def test_trimming_saves_the_timer():
    times = []
    for trimming in (Trimming(), None):
        with trimming_network(trimming=trimming) as network:
            assert network.run(until_s=0.1, finish=True)
            times.append(network.now_s)
    assert times[0] < 2 * SENDERS * SIZE * DATA / 1000 * 8 / LINE
    assert times[1] > times[0] + 300e-6


def test_go_back_n_goes_back_to_what_was_trimmed():
    with trimming_network(Repeats.GO_BACK_N, senders=2) as network:
        assert network.run(until_s=0.1, finish=True)
        assert counts(network, 2)[1] > 100
        assert all(flow.stats().received_packets == SIZE / 1000 for flow in network.flows.values())
        assert sum(flow.stats().timeouts for flow in network.flows.values()) == 0


@pytest.mark.parametrize("size", [64, 128])
def test_trimmed_frame_is_a_valid_packet_of_its_class(tmp_path, size):
    with trimming_network(trimming=Trimming(size=size, dscp_value=50, queue_index=5)) as network:
        network.capture("s0", SENDERS + 1, tmp_path / "out")
        network.run(until_s=100e-6)
        trimmed = counts(network)[1]
    frames = [frame for _, frame in read_pcap(tmp_path / "out") if frame[15] >> 2 == 50]
    assert 500 < len(frames) <= trimmed
    for frame in frames:
        assert len(frame) == size
        total, udp = struct.unpack_from(">H", frame, 16)[0], struct.unpack_from(">H", frame, 38)[0]
        assert (total, udp) == (size - 14, size - 34)
        assert (
            wire.ip_checksum(frame[14:24] + b"\0\0" + frame[26:34])
            == struct.unpack_from(">H", frame, 24)[0]
        )
        assert frame[42] == 0x04  # RC SEND Only: BTH is whole
        assert frame[15] & 3 == wire.ECN_ECT0 or frame[15] & 3 == wire.ECN_CE


def test_trimmed_packets_leave_data_its_share():
    """24 to 1: headers alone are 1.4 times the line."""
    utilisation = []
    for weight in (4, 16, 10**6):
        with trimming_network(None, Trimming(weight=weight), senders=24) as network:
            network.run(until_s=2e-4)
            before = sum(flow.stats().received_bytes for flow in network.flows.values())
            network.run(until_s=1.2e-3)
            after = sum(flow.stats().received_bytes for flow in network.flows.values())
            utilisation.append((after - before) * 8 / LINE / 1e-3)
    assert utilisation[:2] == pytest.approx(
        [DATA / (DATA + 4 * 64), DATA / (DATA + 16 * 64)], abs=0.01
    )
    assert utilisation[2] < 0.02, "a strict priority starves the data"


def test_trimmed_packets_of_flows_that_repeat_nothing_are_lost():
    with trimming_network(None) as network:
        network.run(until_s=2e-4)
        for number in network.flows:
            network.stop_flow(number)
        network.run(until_s=1e-3)
        stats = flow_stats(network)
        assert sum(stat.lost_packets for stat in stats) == counts(network)[0] > 1000
        assert all(stat.sent_packets == stat.received_packets + stat.lost_packets for stat in stats)


def test_lossless_class_is_not_trimmed():
    with trimming_network(depth=0) as network:
        network.set_queue("s0", SENDERS + 1, 3, depth=2)
        network.set_trimming("s0", SENDERS + 1, [1, 3])
        network.add_flow(FlowSpec(100, "h0", "r0", size_bytes=SIZE, traffic_class=3))
        network.add_flow(FlowSpec(101, "h1", "r0", size_bytes=SIZE, traffic_class=3))
        network.run(until_s=1e-3)
        assert network.link_stats("s0", SENDERS + 1).trimmed_by_class == (0,) * 8
        assert network.flows[100].stats().received_packets == SIZE / 1000


@pytest.mark.parametrize("kind", [Repeats.SELECTIVE, Repeats.GO_BACK_N])
def test_run_is_the_same_with_either_queue_and_form(kind):
    digests = set()
    for more in ({}, {"queues": "one"}, {"inplace": False}, {"threads": 2}):
        with trimming_network(kind, **more) as network:
            network.run(until_s=2e-3)
            digests.add(
                (
                    network.totals().digest,
                    counts(network),
                    *(flow.stats() for flow in network.flows.values()),
                )
            )
    assert len(digests) == 1


def test_everything_arrives_whatever_is_lost_beside():
    with trimming_network(Repeats.SELECTIVE, depth_trimmed=4) as network:
        network.disturb("s0", SENDERS + 1, "data", p_lose=0.02)
        for port in range(1, SENDERS):
            network.disturb("s0", port, "notifications", p_lose=0.05, repeat=11)
        assert network.run(until_s=0.5, finish=True)
        network.run(until_s=network.now_s + 5e-3)
        for flow in network.flows.values():
            stats = flow.stats()
            assert stats.received_packets == SIZE / 1000
            assert stats.sent_packets == SIZE / 1000 + stats.repeated_packets
            assert (
                stats.sent_packets
                == stats.received_packets + stats.duplicate_packets + stats.lost_packets
            )


def test_trimming_refuses_what_cannot_be():
    for settings in (
        {"size": 63},
        {"size": 1025},
        {"dscp_value": 64},
        {"queue_index": 8},
        {"weight": 0},
        {"tail_percent": 101},
        {"tail_percent": -1},
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            Trimming(**settings)
    with trimming_network() as network:
        for classes in ([8], [-1]):
            with pytest.raises((VirtualError, ValueError)):
                network.set_trimming("s0", 1, classes)
        with pytest.raises(VirtualError, match="a queue that doesn't trim"):
            network.set_trimming("s0", 1, [6])


@pytest.mark.parametrize(
    ("name", "payload", "size"),
    [
        ("dctcp", 5, 64),
        ("dctcp", 967, 1024),
        ("hpcc", 1, 102),
        ("hpcc", 48, 102),
        ("nscc", 6, 64),
        ("rccc", 10, 64),
    ],
)
def test_packet_cut_behind_its_payload_or_in_its_telemetry_is_trimmed(name, payload, size):
    """What is cut may be padding and ICRC alone, or telemetry with the payload behind it."""
    senders = 64
    reliability = {CLASS: Reliability(Repeats.SELECTIVE, timeout_s=2e-3, reordering_s=1.0)}
    scheme = find_scheme(name).configure()
    with VirtualNetwork(star(senders), scheme, reliability=reliability) as network:
        network.set_queue("s0", senders + 1, CLASS, depth=2)
        network.set_trimming("s0", senders + 1, [CLASS], Trimming(size=size))
        for number in range(senders):
            network.add_flow(
                FlowSpec(number, f"h{number}", "r0", size_bytes=payload, traffic_class=CLASS)
            )
        assert network.run(until_s=0.5, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        trimmed = counts(network, senders)[1]
        assert trimmed > 50
        stats = flow_stats(network)
        assert sum(stat.lost_packets for stat in stats) == trimmed
        assert all(stat.received_payload == payload for stat in stats)
