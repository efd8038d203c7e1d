"""The receiving side under a fake clock: windows, CNPs, sequence numbers, broken frames."""

import pytest
from hypothesis import given, strategies as st
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from pcn.hosts import wire
from pcn.hosts.algorithms import NotificationPoint, find_scheme, window_phase
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.loop import Loop, LoopPort
from pcn.hosts.native import Events
from pcn.hosts.nic import Nic
from pcn.hosts.receiver import Receiver
from pcn.hosts.stats import ReceivedFlow
from pcn.hosts.wire import AckPacket, CnpPacket, DataPacket

T = 500e-6
SENDER = (wire.parse_mac("00:00:00:00:00:01"), wire.parse_ip("10.0.0.1"))
HOST = (wire.parse_mac("00:00:00:00:00:02"), wire.parse_ip("10.0.1.2"))


class Bench:
    """A receiver, and the CNPs and acknowledgements that it sent."""

    def __init__(self, scheme: str = "pcn", **parameters: float):
        clock = DilatedClock(1, origin=0.0)
        configured = find_scheme(scheme).configure(parameters)
        self.cnps: list[tuple[float, CnpPacket]] = []
        self.acks: list[tuple[float, AckPacket]] = []
        events = Events()
        self.receiver = Receiver(
            *HOST, configured, clock, EventLog(None, clock), events, self._sent
        )
        self.loop = Loop(
            HOST[1], clock, [LoopPort(Nic(10e9, events=events))], self.receiver, events
        )

    def _sent(self, frame: bytes, now: float):
        packet = wire.decode(frame)
        if isinstance(packet, AckPacket):
            self.acks.append((now, packet))
            return
        assert isinstance(packet, CnpPacket)
        self.cnps.append((now, packet))

    def packet(
        self,
        now: float,
        psn: int = 0,
        ecn: int = wire.ECN_ECT0,
        flow: int = 1,
        last: bool = False,
        asks: bool = False,
    ):
        packet = DataPacket(
            SENDER[0], HOST[0], SENDER[1], HOST[1], flow, psn, bytes(1000), ecn, last=last,
            asks=asks,
        )  # fmt: skip
        self.loop.frame(wire.encode_data(packet), now)

    def timers(self, until: float):
        while self.receiver.timer_s <= until:
            self.receiver.on_timer(self.receiver.timer_s)

    @property
    def only(self) -> ReceivedFlow:
        (flow,) = self.receiver.stats()
        return flow


def reply() -> tuple[bytes, bytes, bytes, bytes]:
    return HOST[0], SENDER[0], HOST[1], SENDER[1]


def test_flow_whose_first_packets_came_two_ways_at_once_is_one():
    """By a link in memory and by its interface, as where a capture begins, or at two ports: each
    waits for the flow."""
    bench = Bench()
    packet = wire.encode_data(
        DataPacket(SENDER[0], HOST[0], SENDER[1], HOST[1], 1, 0, bytes(1000), wire.ECN_ECT0)
    )
    for _ in range(2):
        assert not bench.loop._library.loop_frame(bench.loop._handle, 0, packet, len(packet), 1.0)
    for psn in range(2):
        bench.packet(1.0, psn)
    assert (bench.only.packets, bench.only.gaps, bench.only.duplicates) == (2, 0, 0)
    bench.timers(1.0 + T)
    assert len(bench.cnps) <= 1


def test_each_of_many_flows_is_found_again():
    """Some of them each time that the place for them grows: all of its slots are taken over."""
    bench = Bench()
    flows = range(1, 1001)
    for psn in range(2):
        for flow in flows:
            bench.packet(1.0 + psn, psn, flow=flow)
    assert [(flow.flow, flow.packets, flow.gaps) for flow in bench.receiver.stats()] == [
        (flow, 2, 0) for flow in flows
    ]


def test_receiver_acknowledges_packets_with_ack_request_on_arrival():
    bench = Bench("timely")
    for psn in range(10):
        bench.packet(1.0 + psn * 1e-6, psn, asks=psn in (0, 4, 9))
    bench.packet(2.0, 77, flow=5, asks=True)
    assert [(at, ack.flow, ack.psn) for at, ack in bench.acks] == [
        (1.0, 1, 0),
        (1.0 + 4e-6, 1, 4),
        (1.0 + 9e-6, 1, 9),
        (2.0, 5, 77),
    ]
    assert bench.acks[0][1] == AckPacket(*reply(), flow=1, psn=0)
    assert not bench.cnps


def test_an_acknowledgement_carries_the_worst_mark_since_the_one_before():
    bench = Bench("timely")
    marks = [
        wire.ECN_CE, wire.ECN_ECT1, wire.ECN_ECT0, wire.ECN_ECT1, wire.ECN_ECT0, wire.ECN_ECT0,
        wire.ECN_ECT1,
    ]  # fmt: skip
    for psn, ecn in enumerate(marks):
        bench.packet(1.0 + psn * 1e-6, psn, ecn, asks=psn in (1, 2, 4, 5, 6))
    assert [ack.ecn for _, ack in bench.acks] == [
        wire.ECN_CE, wire.ECN_ECT0, wire.ECN_ECT1, wire.ECN_ECT0, wire.ECN_ECT1
    ]  # fmt: skip


def phase(flow: int = 1, seed: int = 1) -> float:
    return window_phase(
        NotificationPoint.phase_spread, seed, int.from_bytes(SENDER[1], "big"), flow
    )


def test_windows_follow_every_t_from_the_flows_phase():
    bench = Bench(period_s=T)
    for n in range(100):
        at = 1.0 + n * T / 10
        bench.timers(at)
        bench.packet(at, n)
    bench.timers(2.0)
    assert [at for at, _ in bench.cnps] == pytest.approx(
        [1.0 + (n - phase()) * T for n in range(1, 12)]
    )
    # 9, 10 or 11 frames a window
    assert {cnp.rec_rate_mbps for _, cnp in bench.cnps[1:-1]} <= {152, 169, 186}
    assert sum(cnp.rec_rate_mbps for _, cnp in bench.cnps) == pytest.approx(1693, abs=11)
    assert bench.cnps[1][1] == CnpPacket(*reply(), flow=1, ecn=wire.ECN_ECT0, rec_rate_mbps=169)


def test_phases_are_spread_and_decided_by_seed_and_flow():
    phases = [phase(flow, seed) for flow in range(50) for seed in range(4)]
    assert len(set(phases)) == 200
    assert all(0 <= value < 1 for value in phases)
    assert sum(phases) / 200 == pytest.approx(0.5, abs=0.1)
    assert phase(3, 4) == phase(3, 4)


def test_flows_that_start_together_can_be_notified_in_step():
    bench = Bench(period_s=T, phase_spread=0.0)
    for n in range(25):
        for flow in (1, 2):
            bench.packet(1.0 + n * T / 10, n, flow=flow)
    bench.timers(2.0)
    times = {flow: [at for at, cnp in bench.cnps if cnp.flow == flow] for flow in (1, 2)}
    assert times[1] == pytest.approx([1.0 + T, 1.0 + 2 * T, 1.0 + 3 * T])
    assert times[1] == times[2]


def test_a_silent_flow_gets_no_cnp_and_comes_back_on_its_grid():
    bench = Bench(period_s=T)
    start = 1.0 + phase() * T  # windows end at whole periods after 1.0
    bench.packet(start)
    back = 1.0 + 20.3 * T
    bench.timers(back)
    assert len(bench.cnps) == 1
    assert bench.receiver.timer_s == float("inf")
    bench.packet(back, 1)
    bench.timers(1.0 + 40 * T)
    assert [at for at, _ in bench.cnps] == pytest.approx([1.0 + T, 1.0 + 21 * T])
    assert bench.cnps[1][1].rec_rate_mbps == max(1, round(1058 * 8 / (back - start) / 1e6))


@given(
    st.lists(st.tuples(st.floats(1e-7, 3 * T), st.booleans()), min_size=1, max_size=60),
    st.booleans(),
)
def test_every_packet_counts_in_exactly_one_window(arrivals, punctual):
    """Whether or not timers are called in time; a CNP requests a decrease when 95% of its window is
    marked."""
    bench = Bench(period_s=T)
    now, windows = 1.0, {}
    for n, (gap, marked) in enumerate(arrivals):
        now += gap if n else 0
        if punctual:
            bench.timers(now)
        bench.packet(now, n, wire.ECN_CE if marked else wire.ECN_ECT0)
        index = int((now - 1.0) / T + phase())
        windows.setdefault(index, []).append((now, marked))
    bench.timers(now + 2 * T)
    assert len(bench.cnps) == len(windows)
    for (_, cnp), packets in zip(bench.cnps, windows.values(), strict=True):
        congested = sum(marked for _, marked in packets) >= 0.95 * len(packets)
        assert cnp.ecn == (wire.ECN_CE if congested else wire.ECN_ECT0)
        if len(packets) > 1:
            assert cnp.rec_rate_mbps == int(len(packets) * 1058 * 8 / T / 1e6 + 0.5)
    assert bench.only.packets == len(arrivals)
    assert bench.only.marked_ce == sum(marked for _, marked in arrivals)
    assert bench.only.cnps == len(windows)


def test_flows_have_separate_windows():
    bench = Bench(period_s=T)
    bench.packet(1.0, flow=1)
    bench.packet(1.0 + 0.4 * T, flow=2, ecn=wire.ECN_CE)
    bench.timers(2.0)
    assert [(at, cnp.flow, cnp.ecn) for at, cnp in bench.cnps] == [
        (pytest.approx(1.0 + (1 - phase(1)) * T), 1, wire.ECN_ECT0),
        (pytest.approx(1.0 + (1.4 - phase(2)) * T), 2, wire.ECN_CE),
    ]


def test_pfc_sends_no_cnp():
    bench = Bench("pfc")
    for n in range(10):
        bench.packet(1.0 + n, n, wire.ECN_CE)
    assert bench.receiver.timer_s == float("inf")
    assert bench.cnps == []
    assert bench.only.marked_ce == 10


@pytest.mark.parametrize(
    ("psns", "gaps", "reordered", "duplicates"),
    [
        ([0, 1, 2, 3], 0, 0, 0),
        ([5, 6, 7], 0, 0, 0),  # the first packet seen is the first
        ([0, 3, 4], 2, 0, 0),
        ([0, 2, 1, 3], 0, 1, 0),
        ([0, 1, 1, 2], 0, 0, 1),
        ([0, 4, 2, 2, 5], 2, 1, 1),
        ([0xFFFFFE, 0xFFFFFF, 0, 1], 0, 0, 0),
        ([0xFFFFFE, 1, 0xFFFFFF, 0], 0, 2, 0),
        ([0, 100000], 99999, 0, 0),
        ([2, 0, 1, 3], 0, 2, 0),  # older than the first that came: late, not there twice
        ([2, 1, 1, 2, 4], 1, 1, 2),
        ([9000, 1, 9001], 0, 0, 1),  # so old that nobody can tell
        ([0xFFFFFF, 0xFFFFFE, 1, 0], 0, 2, 0),
    ],
)
def test_sequence_numbers(psns, gaps, reordered, duplicates):
    bench = Bench()
    for psn in psns:
        bench.packet(1.0, psn)
    flow = bench.only
    assert (flow.packets, flow.gaps, flow.reordered, flow.duplicates) == (
        len(psns),
        gaps,
        reordered,
        duplicates,
    )


def test_broken_frames_are_counted_not_believed():
    bench = Bench()
    packet = DataPacket(SENDER[0], HOST[0], SENDER[1], HOST[1], 1, 0, bytes(1000))
    good = wire.encode_data(packet)
    for offset in (60, 28, 24, 51, 1056):  # payload, source address, checksum, PSN, ICRC
        for first in (True, False):
            bad = bytearray(good)
            bad[offset] ^= 1
            if first:
                bench.receiver.reset()
            else:
                bench.loop.frame(good, 1.0)
            bench.loop.frame(bytes(bad), 1.0)
            assert bench.loop.state.bad_frames == 1
            bench.receiver.reset()
            bench.loop.reset_counters()
    bench.loop.frame(good, 1.0)
    assert bench.only.packets == 1
    assert bench.loop.state.bad_frames == 0


@pytest.mark.parametrize("padding", range(4))
@pytest.mark.parametrize("length", range(5))
def test_padding_alone_is_no_payload(length, padding):
    """To neither reader of frames, that in C and `wire.decode`."""
    ends = IP(src=wire.format_ip(SENDER[1]), dst=wire.format_ip(HOST[1]), flags="DF")
    bth = BTH(opcode="UC_SEND_ONLY", dqpn=1, padcount=padding)
    frame = bytes(Ether() / ends / UDP(dport=wire.ROCE_PORT, chksum=0) / bth / Raw(bytes(length)))
    bench = Bench()
    bench.loop.frame(frame, 1.0)
    if length > padding:
        assert bench.only.payload_bytes == length - padding
        assert wire.decode(frame).payload == bytes(length - padding)
    else:
        assert bench.loop.state.bad_frames == 1
        with pytest.raises(wire.WireError, match="without payload"):
            wire.decode(frame)


def test_bytes_payload_and_the_last_packet():
    bench = Bench()
    bench.packet(1.0, 0)
    packet = DataPacket(SENDER[0], HOST[0], SENDER[1], HOST[1], 1, 1, b"tail!", last=True)
    bench.loop.frame(wire.encode_data(packet), 1.5)
    flow = bench.only
    assert (flow.packets, flow.bytes, flow.payload_bytes) == (2, 1058 + 66, 1005)
    assert (flow.first_s, flow.last_s, flow.complete_s) == (1.0, 1.5, 1.5)


def test_receiver_distinguishes_marks():
    bench = Bench()
    for psn, ecn in enumerate(
        (wire.ECN_CE, wire.ECN_CE, wire.ECN_ECT1, wire.ECN_ECT0, wire.ECN_NOT_ECT)
    ):
        bench.packet(1.0, psn, ecn)
    assert (bench.only.marked_ce, bench.only.marked_ue) == (2, 1)
