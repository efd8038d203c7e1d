"""NP-ECN by time: which pauses a port shows, and which it doesn't (docs/tofino.md). All else it
shares with NP-ECN, and its tests, which run with this program as well: `run.py --program
pcn_time`."""

from frames import (
    CNP_CLASS,
    FRAME,
    LARGEST_FRAME,
    OTHER_CLASS,
    PAYLOAD,
    ROCE_CLASS,
    cnp,
    data,
    forwarded,
)
from testbed import SLOW_PORT, Arrival, PcnTest, RestPort, index

from pcn.hosts import wire


def marks(arrivals: list[Arrival]) -> list[bool]:
    return [arrival.data.ecn == wire.ECN_CE for arrival in arrivals]


class NpEcnTimeTest(PcnTest):
    program = "pcn_time"
    n = 12

    def hold(self, n: int) -> None:
        """The slow port is paused, and n packets wait there in the end."""
        self.pause(SLOW_PORT)
        missing = n - self.register("waiting_packets", index(SLOW_PORT))
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(missing)))
        self.wait_until_waiting(SLOW_PORT, n)

    def marked_by_time(self) -> int:
        return self.counters("marked_by_time").get(index(SLOW_PORT), 0)


class RestShowsEveryPause(NpEcnTimeTest):
    """Not the first alone. Between two of them the queue needn't run empty."""

    def runTest(self) -> None:
        for turn in range(3):
            self.hold(self.n * (turn + 1))
            self.outlast(SLOW_PORT)
            self.resume(SLOW_PORT)
            self.assertEqual(marks(self.receive(SLOW_PORT, 1)), [False])
            self.pause(SLOW_PORT)
            gone = self.n * (turn + 1) - self.register("waiting_packets", index(SLOW_PORT)) - 1
            self.assertEqual(marks(self.receive(SLOW_PORT, gone)), [False] * gone)


class FirstDepartureIsTheResume(NpEcnTimeTest):
    """Class 7 has the port when the pause ends. What comes until it is done is taken for paused: a
    packet that the counter marks isn't marked."""

    differences = ("marked_by_counter",)

    def runTest(self) -> None:
        later = 4
        self.hold(self.n)
        self.outlast(SLOW_PORT)
        self.occupy_slow_port(2, 20)
        self.resume(SLOW_PORT)
        self.send(1, *(data(1, SLOW_PORT, psn=1000 + psn) for psn in range(later)))
        seen = marks(self.receive_data(self.n + later))
        self.assertEqual(seen[: self.n], [False] * self.n)
        # BMv2 shapes each queue alone: there the pause may be over by then
        if self.target != "bmv2":
            self.assertEqual(seen[self.n :], [False] * later)
            self.assertEqual(self.counters("marked_by_counter"), {index(SLOW_PORT): later})


class CnpsHideNoPause(NpEcnTimeTest):
    """They pass while the port is paused, until it isn't any more."""

    def runTest(self) -> None:
        self.hold(self.n)
        for rate in range(1, 6):
            self.outlast(SLOW_PORT)
            self.send(1, cnp(1, SLOW_PORT, rate_mbps=rate))
            self.receive(SLOW_PORT, 1)
        self.resume(SLOW_PORT)
        self.assertEqual(marks(self.receive(SLOW_PORT, self.n)), [False] * self.n)


class ShortPauseIsNotSeen(NpEcnTimeTest):
    """With a largest frame of ten seconds a shorter rest is none. Packets that found others are
    marked."""

    differences = ("marked_by_time",)
    gap = 10_000_000

    def rests(self) -> tuple[RestPort, ...]:
        return (RestPort(SLOW_PORT, self.gap),)

    def runTest(self) -> None:
        self.send(1, data(1, SLOW_PORT))
        self.receive(SLOW_PORT, 1)
        begun = self.wires.now
        self.hold(self.n)
        self.resume(SLOW_PORT)
        seen = marks(self.receive(SLOW_PORT, self.n))
        self.assertLess(self.wires.now - begun, self.gap * 1e-6, "too slow for a result")
        self.assertEqual((sum(seen), self.marked_by_time()), (self.n - 1, self.n - 1))


class WhatGoesRoundIsFound(ShortPauseIsNotSeen):
    """A packet that a pause sends round is in no queue while it is on its way, and waits all the
    same: one that comes then finds it. (On the manual clock it comes just then.)"""

    def runTest(self) -> None:
        turn_s = 8 * FRAME / self.rates_bps[SLOW_PORT]
        self.send(1, data(1, SLOW_PORT))
        self.receive(SLOW_PORT, 1)
        self.pause(SLOW_PORT)
        self.send(1, data(1, SLOW_PORT, psn=1))
        self.wait_until_waiting(SLOW_PORT, 1)
        self.advance(turn_s)
        self.send(1, data(1, SLOW_PORT, psn=2))
        self.resume(SLOW_PORT)
        arrivals = self.receive(SLOW_PORT, 2)
        self.assertEqual(
            {arrival.data.psn for arrival in arrivals if arrival.data.ecn == wire.ECN_CE}, {2}
        )


class LongestFrameIsNoPause(NpEcnTimeTest):
    """A packet that waits behind a frame of the largest size, of the same class or a lower one, is
    marked. That frame is on its way for 12 ms."""

    def runTest(self) -> None:
        expected = [False, False, True, True, True]
        for number in (ROCE_CLASS, OTHER_CLASS):
            for _ in self.tries():
                arrivals, in_time = self.behind_longest(number, len(expected) - 1)
                if in_time:
                    break
            self.assertEqual(marks(arrivals), expected)

    def behind_longest(self, number: int, n: int) -> tuple[list[Arrival], bool]:
        """A frame of the largest size in a class and n data packets after it, and whether these
        came in time.

        They did if all n are seen waiting.
        """
        cell = index(SLOW_PORT, number)
        before = self.counter("transmitted", cell).packets
        self.send(
            1, data(1, SLOW_PORT, dscp=number << 3, payload=LARGEST_FRAME - wire.DATA_OVERHEAD)
        )
        self.wait_for_value(
            lambda: self.counter("transmitted", cell).packets, before + 1, "on its way"
        )
        self.send(1, *(data(1, SLOW_PORT, psn=psn, payload=250) for psn in range(n)))
        in_time = self.register("waiting_packets", index(SLOW_PORT)) == n
        return self.receive(SLOW_PORT, 1 + n), in_time


class RestWithoutPacketsIsNoPause(NpEcnTimeTest):
    """A port at ease between two bursts; the second is marked as the first."""

    def runTest(self) -> None:
        for _ in range(3):
            arrivals = self.congest(*(data(1, SLOW_PORT, psn=psn) for psn in range(8)))
            self.check_marks(marks(arrivals))
            self.outlast(SLOW_PORT)


class HigherClassIsNoPause(NpEcnTimeTest):
    """However long it keeps the port. If it weren't known to go before, it would be taken for
    one."""

    def runTest(self) -> None:
        self.occupy_slow_port(2, 30)
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(self.n)))
        self.check_marks(marks(self.receive_data(self.n)))


class ClassWithoutEntryIsNotMarked(NpEcnTimeTest):
    """Here NP-ECN is for class 5; class 3 is lossless, and the counter would mark it."""

    marked_class = 5

    def rests(self) -> tuple[RestPort, ...]:
        return (RestPort(SLOW_PORT, self.gap_us(SLOW_PORT), 1 << self.marked_class),)

    def runTest(self) -> None:
        arrivals = self.congest(*(data(1, SLOW_PORT, psn=psn) for psn in range(8)))
        self.assertEqual(marks(arrivals), [False] * 8)
        self.assertEqual(set(self.counters("marked_by_counter")), {index(SLOW_PORT, ROCE_CLASS)})
        self.occupy_slow_port(2, 20)
        self.send(
            1, *(data(1, SLOW_PORT, psn=psn, dscp=self.marked_class << 3) for psn in range(8))
        )
        arrivals = [
            arrival
            for arrival in self.receive(SLOW_PORT, 28)
            if arrival.data.dscp == self.marked_class << 3
        ]
        self.check_marks(marks(arrivals))

    def tearDown(self) -> None:
        self.drained()


class CnpsAreNotMarked(NpEcnTimeTest):
    """They only go before. A switch that took them for data would break them: their ECN field is
    theirs."""

    def runTest(self) -> None:
        notices = [cnp(1, SLOW_PORT, wire.ECN_ECT0, rate_mbps=rate) for rate in range(1, 20)]
        self.send(1, *notices)
        arrivals = self.receive(SLOW_PORT, len(notices))
        self.assertEqual(
            [arrival.frame[15] & 3 for arrival in arrivals], [frame[15] & 3 for frame in notices]
        )
        self.assertEqual(self.counters("marked"), {})
        cell = index(SLOW_PORT, CNP_CLASS)
        self.assertEqual(self.counters("transmitted", [cell]), {cell: len(notices)})


class LossyClassesAreNotMarked(NpEcnTimeTest):
    """CNPs, whose ECN field has another meaning, and every other class that PFC doesn't stop."""

    differences = ("marked_by_counter",)

    def runTest(self) -> None:
        for number in set(range(8)) - {ROCE_CLASS, CNP_CLASS}:
            frames = [
                data(1, SLOW_PORT, psn=psn, dscp=number << 3, payload=PAYLOAD // 4)
                for psn in range(4)
            ]
            self.send(1, *frames)
            self.expect(SLOW_PORT, *(forwarded(frame, SLOW_PORT) for frame in frames))
        notices = [cnp(1, SLOW_PORT, wire.ECN_ECT0, rate_mbps=rate) for rate in range(1, 20)]
        self.send(1, *notices)
        self.expect(SLOW_PORT, *(forwarded(notice, SLOW_PORT) for notice in notices))
        self.assertEqual(self.counters("marked"), {})
