"""TCP in virtual time: the two state machines over any path, windows against closed forms, frames,
networks."""

import heapq
import math
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from exercise import EXAMPLE
from hypothesis import given, strategies as st
from p4net_switches import error_of

from pcn.p4net import sending, tcp
from pcn.p4net.packets import checksum
from pcn.p4net.tcp.congestion import ALGORITHMS, Acked, Cubic, Dctcp, Reno
from pcn.p4net.tcp.receiver import Receiver
from pcn.p4net.tcp.segments import (
    ACK,
    CE,
    CWR,
    ECE,
    ECT,
    FIN,
    SYN,
    Addresses,
    Segment,
    decode,
    encode,
)
from pcn.p4net.tcp.sender import Sender
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4

MSS, RTT_S = 1000, 0.1
Path_ = Callable[[Segment], list[tuple[float, Segment]]]
"""What arrives of a segment: with extra delays."""


class Wire:
    """A sender and a receiver, `RTT_S` from each other and back; `forth` and `back` may lose, mark,
    delay, repeat."""

    def __init__(
        self,
        algorithm: str,
        size: int | None,
        forth: Path_,
        back: Path_ | None = None,
        ecn: bool = False,
    ):
        congestion = ALGORITHMS[algorithm](MSS)
        self.sender = Sender(congestion, MSS, size, ecn)
        self.receiver = Receiver(congestion.exact_echo)
        self.now_s = 0.0
        self.sent: list[tuple[float, Segment]] = []
        self._forth, self._back = forth, back or (lambda segment: [(0.0, segment)])
        self._events: list[tuple[float, int, bool, Segment]] = []
        self._order = count()
        self._send(self.sender.start(0.0))

    def run(self, until_s: float = math.inf, most: int = 100_000):
        """Until nothing is under way."""
        for _ in range(most):
            due = self.sender.due_s
            if not self._events and due is None:
                return
            if not self._events or (due is not None and due <= self._events[0][0]):
                assert due is not None
                if due > until_s:
                    return
                self.now_s = due
                self._send(self.sender.expire(due))
                continue
            if self._events[0][0] > until_s:
                return
            self.now_s, _, to_receiver, segment = heapq.heappop(self._events)
            assert self.sender.first <= self.sender.next, "what was acknowledged isn't sent again"
            if not to_receiver:
                self._send(self.sender.take(segment, self.now_s))
            elif (answer := self.receiver.take(segment)) is not None:
                self._put(self._back(answer), False)
        raise AssertionError("it doesn't end")

    def _send(self, segments: list[Segment]):
        for segment in segments:
            self.sent.append((self.now_s, segment))
            self._put(self._forth(segment), True)

    def _put(self, arrivals: list[tuple[float, Segment]], to_receiver: bool):
        for extra_s, segment in arrivals:
            heapq.heappush(
                self._events,
                (self.now_s + RTT_S / 2 + extra_s, next(self._order), to_receiver, segment),
            )


def clear(segment: Segment) -> list[tuple[float, Segment]]:
    return [(0.0, segment)]


def losing(*numbers: int) -> Path_:
    """Loses the segments of data with these numbers, from 1 on."""
    seen = count(1)
    return lambda segment: [] if segment.payload and next(seen) in numbers else [(0.0, segment)]


def marked(segment: Segment) -> Segment:
    return Segment(segment.sequence, segment.acknowledgement, segment.flags, segment.payload, CE)


@given(
    algorithm=st.sampled_from(sorted(ALGORITHMS)),
    size=st.integers(1, 40_000),
    ecn=st.booleans(),
    fates=st.lists(st.tuples(st.integers(0, 5), st.floats(0, 0.3)), max_size=60),
    fates_back=st.lists(st.tuples(st.integers(0, 5), st.floats(0, 0.3)), max_size=60),
)
def test_stream_arrives_whole_over_any_path(algorithm, size, ecn, fates, fates_back):
    """Segments and acknowledgements are lost, repeated, late and marked; in the end all bytes are
    there, in order."""

    def path(fate: Iterator[tuple[int, float]]) -> Path_:
        def arrivals(segment: Segment) -> list[tuple[float, Segment]]:
            kind, extra_s = next(fate, (5, 0.0))
            if kind == 0:
                return []
            if kind == 1 and segment.ecn == ECT:
                return [(0.0, marked(segment))]
            return [(extra_s, segment)] * (2 if kind == 2 else 1) if kind < 5 else [(0.0, segment)]

        return arrivals

    wire = Wire(algorithm, size, path(iter(fates)), path(iter(fates_back)), ecn)
    wire.run()
    assert wire.receiver.delivered == size == wire.sender.acknowledged
    assert wire.receiver.intact
    assert wire.receiver.finished
    assert wire.sender.finished_s is not None
    assert wire.sender.congestion.window >= MSS
    assert (wire.sender.retransmitted == 0) or any(
        kind in (0, 2, 3, 4) for kind, _ in (*fates, *fates_back)
    )


def test_slow_start_doubles_the_window_in_a_round_trip():
    wire = Wire("reno", 200 * MSS, clear)
    wire.run()
    by_round: dict[int, int] = {}
    for at_s, segment in wire.sent:
        if segment.payload:
            by_round[round(at_s / RTT_S)] = by_round.get(round(at_s / RTT_S), 0) + 1
    assert list(by_round.values()) == [10, 20, 40, 80, 50]
    assert wire.sender.rtt_s == pytest.approx(RTT_S)
    assert wire.sender.finished_s == pytest.approx(6 * RTT_S)


def test_lost_segment_is_sent_again_by_three_duplicates():
    wire = Wire("reno", 60 * MSS, losing(12))
    wire.run()
    assert (wire.sender.retransmitted, wire.sender.timeouts) == (1, 0)
    again = [at_s for at_s, segment in wire.sent if segment.sequence == 1 + 11 * MSS]
    assert again == pytest.approx([2 * RTT_S, 3 * RTT_S])


def test_each_lost_segment_of_a_window_costs_a_round_trip():
    """NewReno: partial acknowledgements name the next hole."""
    wire = Wire("reno", 100 * MSS, losing(12, 15, 18))
    wire.run()
    assert (wire.sender.retransmitted, wire.sender.timeouts) == (3, 0)
    assert wire.sender.congestion.window < 20 * MSS


def test_last_segment_is_sent_again_by_a_timeout():
    wire = Wire("reno", 5 * MSS, losing(5, 6))
    wire.run()
    assert (wire.sender.retransmitted, wire.sender.timeouts) == (2, 2)
    waits = [at_s for at_s, segment in wire.sent if segment.flags & FIN]
    assert (waits[2] - waits[1]) / (waits[1] - waits[0]) == pytest.approx(2, rel=0.35), (
        "the timeout doubles"
    )


def test_lost_syn_is_sent_again_after_a_second():
    syns = count()
    wire = Wire(
        "reno",
        MSS,
        lambda segment: [] if segment.flags & SYN and next(syns) < 2 else [(0.0, segment)],
    )
    wire.run()
    assert [at_s for at_s, segment in wire.sent if segment.flags & SYN] == [0.0, 1.0, 3.0]
    assert wire.sender.established_s == pytest.approx(3.0 + RTT_S)


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_echoed_mark_reduces_the_window_once(algorithm):
    """Receivers echo until the sender has shown that it reacted: once a window, however many
    acknowledgements."""
    seen = count(1)
    wire = Wire(
        algorithm, 300 * MSS, lambda s: [(0.0, marked(s) if s.payload and next(seen) == 15 else s)],
        ecn=True
    )  # fmt: skip
    wire.run()
    assert wire.sender.echoes > 1
    assert sum(bool(segment.flags & CWR) for _, segment in wire.sent if segment.payload) == 1
    factor = {"reno": 0.5, "cubic": 0.7}[algorithm]
    assert wire.sender.congestion.threshold == pytest.approx((10 + 14) * MSS * factor, rel=0.01)
    assert wire.sender.retransmitted == 0


def test_reno_s_rate_is_the_square_root_law():
    """One of 1/p segments is lost: on average the window has sqrt(3/(2p)) segments (Mathis et al.
    1997)."""
    for lost in (200, 800):
        seen = count(1)
        wire = Wire(
            "reno",
            None,
            lambda s, n=seen, p=lost: [] if s.payload and next(n) % p == 0 else [(0.0, s)],
        )
        wire.run(until_s=200.0, most=10**7)
        rate = wire.sender.acknowledged / MSS / (200.0 / RTT_S)
        assert rate == pytest.approx(math.sqrt(1.5 * lost), rel=0.1)


def test_cubic_s_window_is_the_cubic_function():
    """After a loss at 1,000 segments, far from Reno's window: C (t - K)^3 + W with K = (0.3 W /
    C)^(1/3)."""
    congestion = Cubic(MSS)
    congestion.window = 1000.0 * MSS
    congestion.reduce(0.0)
    assert congestion.window == 700 * MSS
    k = (300 / 0.4) ** (1 / 3)
    now_s, first, measured = 0.0, 0, []
    while now_s < 12.0:
        for _ in range(100):
            first += round(congestion.window / 100)
            congestion.acknowledged(
                Acked(round(congestion.window / 100), False, now_s, 0.0, first, first)
            )
            now_s += 0.001
        measured.append((now_s, congestion.window / MSS))
    for at_s, window in measured[5:]:
        assert window == pytest.approx(0.4 * (at_s - k) ** 3 + 1000, rel=0.03), at_s


@given(share=st.integers(0, 8), windows=st.integers(1, 120))
def test_dctcp_s_alpha_approaches_the_share_of_marks(share, windows):
    """alpha = share + (1 - g)^n (1 - share) after n windows of 8 segments."""
    congestion = Dctcp(MSS)
    first, end = 0, 8 * MSS
    congestion.acknowledged(Acked(1, False, 0.0, RTT_S, 1, end))  # the first window begins
    for _ in range(windows):
        for number in range(8):
            first += MSS
            last = number == 7
            congestion.acknowledged(
                Acked(MSS, number < share, 0.0, RTT_S, first + last, end + 8 * MSS if last else end)
            )
        end += 8 * MSS
    start = 1 - 1 / 16  # that first one had no mark
    assert congestion.alpha == pytest.approx(share / 8 + (15 / 16) ** windows * (start - share / 8))
    assert congestion.window >= 2 * MSS


def test_dctcp_reduces_by_half_of_alpha():
    congestion = Dctcp(MSS)
    congestion.window = congestion.threshold = 100.0 * MSS
    congestion.alpha = 0.5
    congestion.acknowledged(Acked(MSS, True, 0.0, RTT_S, 1, 100 * MSS))
    assert congestion.alpha == pytest.approx(0.5 + (1 - 0.5) / 16)
    assert congestion.window == pytest.approx(100 * MSS * (1 - congestion.alpha / 2))


NUMBERS = st.integers(0, 2**34)


@given(
    NUMBERS,
    NUMBERS,
    st.integers(0, 255),
    st.binary(max_size=100),
    st.integers(0, 3),
    st.integers(-(2**20), 2**20),
)
def test_segments_survive_their_frames(sequence, acknowledgement, flags, payload, ecn, near):
    """Numbers beyond 2^32 too, by a number that is near."""
    segment = Segment(sequence, acknowledgement, flags, payload, ecn)
    with network() as simulation:
        frame = encode(simulation, Addresses("h1", "h2", 7, 9), segment, MSS)
    decoded = decode(frame, max(sequence + near, 0), max(acknowledgement + near, 0))
    assert decoded == (7, 9, segment)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_segment_or_none(data):
    head = bytes(12) + b"\x08\x00\x45"
    for frame in (data, head + data):
        assert decode(frame, 0, 0) is None or len(frame) >= 54


@given(st.binary(min_size=1, max_size=99).filter(any))
def test_checksum_verifies_itself(data):
    even = data if len(data) % 2 == 0 else data + b"\0"
    assert checksum(even + checksum(even).to_bytes(2, "big")) == 0


def test_damaged_frame_is_dropped():
    with network() as simulation:
        frame = encode(simulation, Addresses("h1", "h2", 7, 9), Segment(5, 6, ACK, b"payload"), MSS)
    assert decode(frame, 0, 0) is not None
    for at in range(26, len(frame)):
        damaged = frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]
        assert decode(damaged, 0, 0) is None, at


# ---- networks ----


def network() -> VirtualP4:
    return VirtualP4(read_exercise(EXAMPLE))


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_connection_uses_its_link_and_arrives_whole(algorithm):
    """8 Mbit/s between the switches; 20 segments beyond what path and queue hold are lost in slow
    start."""
    with network() as simulation:
        connection = tcp.connect(simulation, "h1", "h3", algorithm=algorithm, size=2_000_000)
        simulation.run(until_s=10.0)
        summary = connection.summary()
        assert connection.receiver.delivered == summary["acknowledged_bytes"] == 2_000_000
        assert connection.receiver.intact
        assert 0.9 * 8e6 * 1460 / 1514 < summary["goodput_bps"] < 8e6 * 1460 / 1514
        assert summary["retransmitted_segments"] >= sum(simulation.tail_drops("s1", 3)) > 0
        assert summary["finished_s"] is not None


def test_connections_share_a_link_and_are_equal_twice():
    def run() -> tuple[list[dict[str, object]], int]:
        with network() as simulation:
            for number, src in enumerate(("h1", "h2")):
                tcp.connect(simulation, src, "h3", sport=7000 + number, until_s=4.0)
            simulation.run(until_s=4.0)
            return [
                connection.summary() for connection in simulation.connections
            ], simulation.totals().digest

    first, second = run(), run()
    assert first == second
    rates = [float(str(summary["goodput_bps"])) for summary in first[0]]
    assert sum(rates) > 0.95 * 8e6 * 1460 / 1514
    assert min(rates) > 0.25 * sum(rates)


def test_other_frames_and_ports_leave_a_connection_alone():
    """Traffic by words of another host to the same port, and datagrams."""
    with network() as simulation:
        connection = tcp.connect(simulation, "h1", "h3", size=100_000)
        for text in (
            "h2,h3,tcp=reno,bytes=50KB,sport=49152",
            "h2,h3,rate=1M,length=500",
            "h3,h1,rate=1M",
        ):
            sending.read(text).start(simulation, 2.0, 1)
        simulation.run(until_s=5.0)
        assert [connection.receiver.delivered for connection in simulation.connections] == [
            100_000,
            50_000,
        ]
        assert all(connection.receiver.intact for connection in simulation.connections)
        assert connection.summary()["finished_s"] < 2.0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("h1,h2,tcp=vegas", "reno, cubic, dctcp are possible"),
        ("h1,h2,tcp=reno,rate=1M", "rate: a TCP connection has no such value"),
        ("h1,h2,bytes=1MB", "bytes: for TCP alone"),
        ("h1,h2,ecn=1", "ecn: for TCP alone"),
        ("h1,h2,tcp=reno,ecn=2", "out of range"),
    ],
)
def test_wrong_words_of_a_connection_are_refused(words, why):
    assert why in error_of(lambda: sending.read(words))


def test_connections_that_cannot_be_are_refused():
    with network() as simulation:
        assert "too long for the network" in error_of(
            lambda: tcp.connect(simulation, "h1", "h2", mss=5000)
        )
        assert "has two hosts" in error_of(lambda: tcp.connect(simulation, "h1", "h1"))
        assert "at least one byte" in error_of(lambda: tcp.connect(simulation, "h1", "h2", size=0))
        assert "'bbr'" in error_of(lambda: tcp.connect(simulation, "h1", "h2", algorithm="bbr"))
        assert simulation.connections == []


def opened(algorithm: str, size: int = 200_000) -> tuple[Sender, list[Segment]]:
    """Returns a sender after the handshake, with ECN, and the data that it sends at once."""
    sender = Sender(ALGORITHMS[algorithm](MSS), MSS, size, ecn=True)
    sender.start(0.0)
    answers = sender.take(Segment(0, 1, SYN | ACK | ECE), 0.01)
    return sender, [answer for answer in answers if answer.payload]


@pytest.mark.parametrize(
    ("algorithm", "capable"), [("reno", False), ("cubic", False), ("dctcp", True)]
)
def test_what_is_sent_again_is_not_ect(algorithm, capable):
    """RFC 3168, 6.1.5; RFC 8311, 4.3 exempts DCTCP."""
    sender, data = opened(algorithm)
    assert {segment.ecn for segment in data} == {ECT}
    again = [
        segment
        for number in range(3)
        for segment in sender.take(Segment(1, 1, ACK), 0.02 + number * 1e-3)
    ]
    assert [segment.ecn == ECT for segment in again if segment.sequence == 1] == [capable]
    sender, data = opened(algorithm)
    assert sender.due_s is not None
    again = [segment for segment in sender.expire(sender.due_s) if segment.sequence < data[-1].end]
    assert [segment.ecn == ECT for segment in again] == [capable]


@pytest.mark.parametrize("losses", [1, 2, 3])
def test_lost_syn_leaves_a_window_of_one_segment_and_three_seconds(losses):
    """RFC 5681, 3.1; RFC 6298, 5.7."""
    sender = Sender(Reno(MSS), MSS, 200_000, ecn=False)
    sender.start(0.0)
    for _ in range(losses):
        assert sender.due_s is not None
        now_s = sender.due_s
        assert sender.expire(now_s)
    data = [
        segment
        for segment in sender.take(Segment(0, 1, SYN | ACK), now_s + 0.01)
        if segment.payload
    ]
    assert len(data) == 1
    assert sender.due_s == pytest.approx(now_s + 0.01 + 3.0)


def test_loss_halves_what_is_under_way_not_the_window():
    """RFC 5681, equation 4: at a flow's end less than the window is. A second timeout of a segment
    changes nothing."""
    congestion = Reno(MSS)
    congestion.window = congestion.threshold = 60.0 * MSS
    sender = Sender(congestion, MSS, 20 * MSS - 1, ecn=False)  # and the FIN
    sender.start(0.0)
    sender.take(Segment(0, 1, SYN | ACK), 0.01)
    assert sender.under_way == 20 * MSS
    for _ in range(3):
        assert sender.due_s is not None
        sender.expire(sender.due_s)
        assert (congestion.threshold, congestion.window) == (10 * MSS, MSS)
    sender, _ = opened("reno", size=8 * MSS)
    sender.congestion.window = 60.0 * MSS
    for number in range(3):
        sender.take(Segment(1, 1, ACK), 0.02 + number * 1e-3)
    assert sender.congestion.threshold == pytest.approx(4 * MSS, abs=1)


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_marked_acknowledgements_do_not_raise_the_window(algorithm):
    """RFC 3168, 6.1.2; one reaction a window, and one CWR, on new data."""
    sender, data = opened(algorithm)
    windows, sent = [], []
    for number in range(1, 10):
        sent += sender.take(
            Segment(1, 1 + number * MSS, ACK | (ECE if number < 6 else 0)), 0.03 + number * 1e-3
        )
        windows.append(sender.congestion.window)
    assert windows[:5] == [windows[0]] * 5
    assert windows[0] < 10 * MSS
    assert windows[-1] > windows[0]
    assert [segment.sequence >= data[-1].end for segment in sent if segment.flags & CWR] == [True]


def test_reno_never_falls_below_two_segments():
    congestion = Reno(MSS)
    for _ in range(20):
        congestion.reduce(0.0)
    assert congestion.window == 2 * MSS
    congestion.timed_out(1.0, again=False)
    assert congestion.window == MSS
