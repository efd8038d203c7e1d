"""The sending side under a fake clock: flows, PSNs, CNPs, RP timers, errors; and whether pace is
kept."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, strategies as st

from pcn.hosts import wire
from pcn.hosts.algorithms import (
    Cnm,
    Cnp,
    Configured,
    Mark,
    NotificationPoint,
    ReactionPoint,
    Scheme,
    SchemeError,
    find_scheme,
)
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.nic import Nic
from pcn.hosts.pace import PaceMeter
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.sender import Sender
from pcn.hosts.sent_flow import FlowError, FlowRequest
from pcn.hosts.wire import DataPacket

LINE = 10e9
MAC, IP = wire.parse_mac("00:00:00:00:00:01"), wire.parse_ip("10.0.0.1")
PEER = wire.parse_ip("10.0.1.2")


class Bench:
    """A sender, its NIC, and the packets that left."""

    def __init__(self, configured: Configured | None = None, delay_s: float = 0.0):
        clock = DilatedClock(1, origin=0.0)
        self.nic = Nic(LINE, delay_s=delay_s, on_end=lambda flow, at: self.sender.on_end(flow, at))
        configured = configured or find_scheme("pcn").configure()
        self.sender = Sender(MAC, IP, configured, self.nic, clock, EventLog(None, clock))
        self.left: list[DataPacket] = []

    def start(self, flow: int = 1, now: float = 0.0, **limits: float):
        request = FlowRequest(flow, "10.0.1.2", "00:00:00:00:00:02", now, **limits)
        self.sender.start(request, now)

    def run(self, begin: float, until: float):
        now = begin
        while (now := max(now, min(self.nic.wake(), self.sender.timer_s))) <= until:
            self.nic.advance(now)
            if self.sender.timer_s <= now:
                self.sender.on_timer(now)
            while (item := self.nic.due(now)) is not None:
                packet = wire.decode(item.frame)
                assert isinstance(packet, DataPacket)
                self.left.append(packet)


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        (
            {"exact_marks": True},
            r"pfc: its RP has exact_marks, .*: use an acknowledgement of each packet",
        ),
        (
            {"reliability": Reliability(Repeats.SELECTIVE)},
            r"pfc: its RP has selective repeat, .*: use go-back-N",
        ),
    ],
)
def test_sender_refuses_rp_with_what_virtual_time_alone_has(requests, why):
    pfc, rp = find_scheme("pfc"), ReactionPoint()
    rp.rate_bps = LINE
    for name, value in requests.items():
        setattr(rp, name, value)
    bench = Bench(
        Configured(replace(pfc, reaction_point=lambda _line, _: rp), pfc.configure().parameters)
    )
    with pytest.raises(SchemeError, match=why):
        bench.start()
    assert bench.sender.stats() == ()


def test_sender_refuses_scheme_that_sprays():
    bench = Bench(find_scheme("nscc").configure())
    with pytest.raises(SchemeError, match=r"nscc: its RP sends .* several paths, .*: use one path"):
        bench.start()
    assert bench.sender.stats() == ()
    with pytest.raises(SchemeError, match=r"rccc: its NP grants, .*: use virtual time"):
        Bench(find_scheme("rccc").configure({"paths": 1})).start()
    single_path = Bench(find_scheme("nscc").configure({"paths": 1}))
    single_path.start()
    assert len(single_path.sender.stats()) == 1


def test_a_flow_of_a_size_sends_exactly_that():
    bench = Bench()
    bench.start(size_bytes=10_001)
    bench.run(0.0, 1.0)
    assert [len(packet.payload) for packet in bench.left] == [1000] * 10 + [1]
    assert [packet.last for packet in bench.left] == [False] * 10 + [True]
    assert [packet.psn for packet in bench.left] == list(range(11))
    (flow,) = bench.sender.stats()
    assert (flow.state, flow.packets, flow.payload_bytes, flow.bytes) == (
        "done",
        11,
        10_001,
        10 * 1058 + 62,
    )
    assert flow.end_s == pytest.approx((10 * 1058 + 62) * 8 / LINE)


def test_a_flow_number_goes_on_with_its_psns():
    bench = Bench()
    bench.start(size_bytes=3000)
    bench.run(0.0, 1.0)
    bench.sender.reset()
    bench.start(now=1.0, size_bytes=2000)
    bench.run(1.0, 2.0)
    assert [packet.psn for packet in bench.left] == [0, 1, 2, 3, 4]


@given(st.integers(1, 1500), st.integers(1, 10_000))
def test_frames_are_what_the_encoder_builds(payload, size):
    """The C side stamps each PSN and computes its ICRC."""
    bench = Bench()
    bench.start(size_bytes=size, payload_bytes=payload)
    bench.nic.advance(1.0)
    bench.run(0.0, 2.0)
    last = -(-size // payload) - 1
    assert [packet.psn for packet in bench.left] == list(range(last + 1))
    for packet in bench.left:
        length = size - last * payload if packet.psn == last else payload
        peer = wire.parse_mac("00:00:00:00:00:02")
        assert packet == DataPacket(
            MAC, peer, IP, PEER, 1, packet.psn, bytes(length), last=packet.psn == last
        )


def test_cnps_set_the_rate_of_their_flow_alone():
    bench = Bench()
    bench.start(1)
    bench.start(2)
    bench.sender.on_cnp(2, PEER, Cnp(Mark.CE, rec_rate_bps=1.28e9), 0.0)
    first, second = bench.sender.stats()
    assert (first.rate_bps, second.rate_bps) == (LINE, 1.28e9 * 127 / 128)
    assert (first.cnps, second.cnps) == (0, 1)
    assert second.rp == {"w": 1 / 128}
    assert bench.nic.flows[1].rate_bps == second.rate_bps
    bench.sender.on_cnp(2, PEER, Cnp(Mark.NONE, rec_rate_bps=1e9), 0.0)
    assert bench.nic.flows[1].rate_bps > second.rate_bps


def test_switches_messages_set_the_rate_of_their_flow_alone():
    bench = Bench(find_scheme("qcn").configure())
    bench.start(1)
    bench.start(2)
    bench.sender.on_cnm(2, PEER, Cnm(32), 0.0)
    first, second = bench.sender.stats()
    assert (first.rate_bps, second.rate_bps) == (LINE, LINE * 3 / 4)
    assert (first.cnps, second.cnps) == (0, 1)
    assert bench.nic.flows[1].rate_bps == second.rate_bps
    assert bench.sender.timer_s == 15e-3


def test_last_packet_of_each_segment_and_of_the_flow_requests_an_acknowledgement():
    bench = Bench(find_scheme("timely").configure())
    bench.start(size_bytes=150_000)
    bench.run(0.0, 1.0)
    assert [packet.psn for packet in bench.left if packet.asks] == [63, 127, 149]
    bench = Bench()
    bench.start(size_bytes=150_000)
    bench.run(0.0, 1.0)
    assert not any(packet.asks for packet in bench.left)


def test_round_trip_begins_as_the_packet_has_left_the_nic_and_ends_with_its_acknowledgement():
    delay = 125e-6
    bench = Bench(find_scheme("timely").configure(), delay)
    bench.start()
    bench.run(0.0, 400e-6)
    left = 64 * 1058 * 8 / LINE  # at line rate; the link's delay belongs to the round trip
    bench.sender.on_ack(1, PEER, 63, Mark.NONE, left + 410e-6)
    (flow,) = bench.sender.stats()
    assert flow.rp["rtt_s"] == pytest.approx(410e-6)
    assert flow.rate_bps == LINE  # no gradient yet: one step up, at most line rate
    bench.sender.on_ack(1, PEER, 127, Mark.NONE, 2 * left + 414e-6)
    (flow,) = bench.sender.stats()
    assert flow.rp["rtt_s"] == pytest.approx(414e-6)
    assert flow.rate_bps == pytest.approx(LINE * (1 - 0.8 * 0.875 * 4 / 20))
    assert bench.nic.flows[0].rate_bps == flow.rate_bps


def test_unrequested_acknowledgements_change_nothing():
    bench = Bench(find_scheme("timely").configure())
    bench.start()
    bench.run(0.0, 100e-6)
    bench.sender.on_ack(1, PEER, 62, Mark.NONE, 1.0)
    bench.sender.on_ack(2, PEER, 63, Mark.NONE, 1.0)
    bench.sender.on_ack(1, wire.parse_ip("10.0.1.3"), 63, Mark.NONE, 1.0)
    assert bench.sender.unknown_cnps == 3
    bench.sender.on_ack(1, PEER, 63, Mark.NONE, 1.0)
    bench.sender.on_ack(1, PEER, 63, Mark.NONE, 1.0)  # twice
    assert bench.sender.unknown_cnps == 4


def test_cnps_from_elsewhere_change_nothing():
    bench = Bench()
    bench.start(1)
    bench.sender.on_cnp(1, wire.parse_ip("10.0.1.3"), Cnp(Mark.CE, rec_rate_bps=1e6), 0.0)
    bench.sender.on_cnp(9, PEER, Cnp(Mark.CE, rec_rate_bps=1e6), 0.0)
    bench.sender.on_cnm(9, PEER, Cnm(63), 0.0)
    assert bench.sender.unknown_cnps == 3
    assert bench.nic.flows[0].rate_bps == LINE


def test_the_applications_limit_holds_beside_the_scheme():
    bench = Bench()
    bench.start(rate_bps=2e9)
    assert bench.nic.flows[0].rate_bps == 2e9
    bench.sender.on_cnp(1, PEER, Cnp(Mark.CE, rec_rate_bps=1.28e9), 0.0)
    assert bench.nic.flows[0].rate_bps == 1.27e9
    for _ in range(50):
        bench.sender.on_cnp(1, PEER, Cnp(Mark.NONE, rec_rate_bps=1e9), 0.0)
    assert bench.nic.flows[0].rate_bps == 2e9
    assert bench.sender.stats()[0].rate_bps == pytest.approx(LINE)


def test_stop_and_states():
    bench = Bench()
    bench.start(1, now=1.0)
    assert bench.sender.stats()[0].state == "waiting"
    bench.run(0.0, 1.0001)
    assert bench.sender.stats()[0].state == "sending"
    bench.sender.stop(1, 1.0001)
    assert bench.sender.stats()[0].state == "stopped"
    bench.sender.stop(1, 1.0002)
    bench.start(1, now=2.0, duration_s=1e-5)
    bench.run(2.0, 3.0)
    assert bench.sender.stats()[0].state == "done"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"flow": 1 << 24}, "flow is 16777216"),
        ({"payload_bytes": 0}, "payload_bytes is 0"),
        ({"payload_bytes": 9001}, "payload_bytes is 9001"),
        ({"dscp": 64}, "dscp is 64"),
        ({"size_bytes": 0}, "size_bytes is 0"),
        ({"duration_s": -1.0}, "duration_s is -1.0"),
        ({"rate_bps": float("inf")}, "rate_bps is inf"),
    ],
)
def test_bad_requests_are_named(limits, message):
    with pytest.raises(FlowError, match=message):
        Bench().start(**limits)


def test_flows_that_run_or_are_not_there():
    bench = Bench()
    bench.start(4)
    with pytest.raises(FlowError, match="flow 4 is waiting already"):
        bench.start(4)
    with pytest.raises(FlowError, match="no flow 5 here; known: 4"):
        bench.sender.stop(5, 0.0)


@dataclass(frozen=True)
class _NoParameters:
    pass


class _ClockedRp(ReactionPoint):
    """Halves its rate every 10 us from its start, four times, and after 5,290 and 10,580 bytes."""

    def __init__(self, line_rate_bps: float, parameters: _NoParameters):
        self.rate_bps = line_rate_bps
        self.due_bytes = 5290
        self.timers: list[float] = []
        self.counts: list[int] = []

    def on_start(self, now_s: float):
        self.timer_s = now_s + 10e-6

    def on_timer(self, now_s: float):
        self.rate_bps /= 2
        self.timers.append(now_s)
        self.timer_s = now_s + 10e-6 if len(self.timers) < 4 else None

    def on_bytes_sent(self, now_s: float):
        self.rate_bps /= 2
        self.counts.append(self.sent_bytes)
        self.due_bytes = 2 * 5290 if len(self.counts) == 1 else None


def clocked(delay_s: float = 0.0) -> tuple[Bench, list[_ClockedRp]]:
    """A sender of that scheme, and the RPs that it makes."""
    clocked_rps: list[_ClockedRp] = []

    def make(line_rate_bps: float, parameters: _NoParameters) -> _ClockedRp:
        clocked_rps.append(_ClockedRp(line_rate_bps, parameters))
        return clocked_rps[-1]

    scheme = Scheme(
        "clocked", "for this test", "pcn", _NoParameters, make, lambda _: NotificationPoint()
    )
    return Bench(scheme.configure(), delay_s), clocked_rps


def test_rp_timers_and_byte_counters_run():
    bench, points = clocked()
    bench.start()
    bench.run(0.0, 1e-4)
    assert bench.sender.stats()[0].rate_bps == LINE / 2**6
    assert bench.sender.timer_s == float("inf")
    # After 5 and 10 frames of 1058 B, and at the times that the RP named.
    assert points[0].counts == [5290, 10580]
    assert points[0].timers == pytest.approx([10e-6, 20e-6, 30e-6, 40e-6])


def test_rp_counts_bytes_that_wait_for_the_delay_of_their_link():
    bench, points = clocked(delay_s=1.0)
    bench.start()
    bench.run(0.0, 1e-4)
    assert (points[0].counts, bench.left) == ([5290, 10580], [])
    assert points[0].sent_bytes >= 10580


def test_rp_timers_run_at_their_time_however_late_the_process_is():
    bench, points = clocked()
    bench.start(now=1.0)
    assert bench.sender.timer_s == 1.0 + 10e-6
    bench.sender.on_timer(1.0 + 25e-6)
    assert points[0].timers == pytest.approx([1.0 + 10e-6, 1.0 + 20e-6])
    assert bench.sender.timer_s == pytest.approx(1.0 + 30e-6)


def test_the_rp_of_a_flow_that_ended_sees_nothing():
    bench, points = clocked()
    bench.start(size_bytes=5000)
    bench.run(0.0, 1e-3)
    assert points[0].counts == points[0].timers == []
    assert bench.sender.timer_s == float("inf")


def test_pace_is_judged_by_windows():
    bench = Bench()
    bench.start()
    meter = PaceMeter(bench.nic)
    assert meter.check(0.0, 0.0) is None
    bench.run(0.0, 1e-3)
    bench.nic.advance(1e-3)
    assert meter.check(1e-3, 0.5) is None  # a window takes a second of real time
    assert meter.check(1e-3, 1.1) == 1.0
    bench.nic.advance(2e-3)  # the process slept for a millisecond of nominal time
    share = meter.check(2e-3, 2.2)
    assert share is not None
    assert share < 0.1
    assert not meter.met
    assert meter.worst == share
