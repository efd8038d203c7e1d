"""RED (DCQCN, section 3.1, equation 5): what a departing packet leaves behind decides whether it is
marked.

A pause gathers a known queue. Once it is lifted, the k-th of n packets leaves n - k behind, in
whatever order a switch sends what it held.
"""

import math
from dataclasses import replace

from frames import CNP_CLASS, FRAME, ROCE_CLASS, cnp, data, forwarded
from testbed import SLOW_PORT, Arrival, PcnTest, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.red_ecn import RedPort
from pcn.hosts import wire

CE = wire.ECN_CE


def packets(n: int) -> int:
    """In bytes of queue."""
    return n * FRAME


def always(port: int) -> RedPort:
    """Marks whatever leaves a packet behind."""
    return RedPort(port, 0, 0, 1.0)


def never(port: int) -> RedPort:
    return RedPort(port, 2**32 - 1, 2**32 - 1, 1.0)


def marks(arrivals: list[Arrival]) -> list[bool]:
    return [arrival.data.ecn == CE for arrival in arrivals]


class RedTest(PcnTest):
    """DCQCN's program; `red` of the ports that have it."""

    program = "dcqcn"
    red: tuple[RedPort, ...] = (always(SLOW_PORT),)

    def plan(self) -> SwitchPlan:
        return replace(super().plan(), marking=self.red)


class AboveKMaxAllAreMarked(RedTest):
    """And with K_min = K_max none below: a threshold, as for DCTCP. A queue of exactly K_max is not
    above."""

    n, k = 20, 5
    red = (RedPort(SLOW_PORT, packets(k), packets(k), 0.0),)

    def runTest(self) -> None:
        left = [self.n - number for number in range(1, self.n + 1)]
        self.assertEqual(marks(self.held(self.n)), [behind > self.k for behind in left])
        marked = self.n - 1 - self.k
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): marked})
        self.assertEqual(self.counter("marked", index(SLOW_PORT)).bytes, packets(marked))


class OneByteAboveKMaxIsMarked(RedTest):
    """A byte more than K_max, however little P_max."""

    red = (RedPort(SLOW_PORT, 0, packets(3) - 1, 0.0),)

    def runTest(self) -> None:
        self.assertEqual(marks(self.held(6)), [True, True, True, False, False, False])


class WithPMaxOfZeroNothingIsMarkedUpToKMax(RedTest):
    red = (RedPort(SLOW_PORT, 0, packets(10), 0.0),)

    def runTest(self) -> None:
        self.assertEqual(marks(self.held(14)), [True] * 3 + [False] * 11)


class BetweenTheThresholdsTheShareRisesLinearly(RedTest):
    """In each quarter of the queue between K_min and K_max within five standard deviations of
    equation 5."""

    n, k_min, p_max = 800, 200, 0.8
    red = (RedPort(2, packets(k_min), packets(n), p_max),)

    def runTest(self) -> None:
        marked = marks(self.held(self.n, port=2))
        chances = [
            max(0, behind - self.k_min) / (self.n - self.k_min) * self.p_max
            for behind in range(self.n - 1, -1, -1)
        ]
        quarter = (self.n - self.k_min) // 4
        for begin in range(0, self.n - self.k_min, quarter):
            part = slice(begin, begin + quarter)
            expected = sum(chances[part])
            deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances[part]))
            self.assertLess(abs(sum(marked[part]) - expected), 5 * deviation, f"{part} of {self.n}")
        self.assertFalse(any(marked[-self.k_min :]), "marked below K_min")


class EmptyQueueMarksNothing(RedTest):
    """A packet that leaves nothing behind, though every queue above 0 marks."""

    red = (always(2), always(SLOW_PORT))

    def runTest(self) -> None:
        for psn in range(30):
            frame = data(1, 2, psn=psn)
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
        self.assertEqual(self.counters("marked"), {})


class QueueWithoutPauseMarks(RedTest):
    """Marked packets differ from others in nothing but CE and the checksum."""

    def runTest(self) -> None:
        frames = [data(1, SLOW_PORT, psn=psn) for psn in range(12)]
        arrivals = self.congest(*frames)
        # BMv2 shapes each queue alone: the first may leave before the others come.
        sure = 1 if self.target == "bmv2" else 0
        self.assertEqual(
            [arrival.frame for arrival in arrivals[sure:]],
            [forwarded(frame, SLOW_PORT, ce=frame != frames[-1]) for frame in frames[sure:]],
        )


class QueueOfAnotherClassOrPortDoesNotCount(RedTest):
    red = (always(2), always(SLOW_PORT))

    def runTest(self) -> None:
        self.occupy_slow_port(2, 20)
        self.pause(3)
        self.send(1, *(data(1, 3, psn=psn) for psn in range(20)))
        self.send(1, data(1, SLOW_PORT))
        self.assertEqual(marks(self.receive_data(1)), [False])
        frame = data(1, 2)
        self.send(1, frame)
        self.expect(2, forwarded(frame, 2))
        self.assertEqual(self.counters("marked"), {})


class PortsHaveThresholdsOfTheirOwn(RedTest):
    red = (never(SLOW_PORT), always(2))

    def runTest(self) -> None:
        self.assertEqual(marks(self.held(10)), [False] * 10)
        self.assertEqual(marks(self.held(10, port=2)), [True] * 9 + [False])
        self.assertEqual(set(self.counters("marked")), {index(2)})


class ColoursHaveThresholdsOfTheirOwn(RedTest):
    """By AF's drop precedence; yellow packets of a port without yellow thresholds have those of
    green ones."""

    coloured = (
        ("yellow", RedPort(SLOW_PORT, packets(5), packets(5), 0.0)),
        ("red", never(SLOW_PORT)),
    )
    red = (
        replace(always(SLOW_PORT), coloured=coloured),
        RedPort(2, 0, 0, 1.0, (("red", never(2)),)),
    )

    def runTest(self) -> None:
        every = [True] * 9 + [False]
        by_port = {
            SLOW_PORT: {26: every, 28: [True] * 4 + [False] * 6, 30: [False] * 10},
            2: {26: every, 28: every, 30: [False] * 10},
        }
        for port, by_dscp in by_port.items():
            for dscp, expected in by_dscp.items():
                self.assertEqual(
                    marks(self.held(10, port, dscp=dscp)), expected, f"{port}, DSCP {dscp}"
                )


class PortWithoutRedMarksNothing(RedTest):
    red = (always(2),)

    def runTest(self) -> None:
        self.assertEqual(marks(self.held(10)), [False] * 10)
        self.assertEqual(self.counters("marked"), {})


class NotEcnCapable(RedTest):
    """Packets without ECT are never marked, nor counted as marked."""

    def runTest(self) -> None:
        self.assertEqual(
            {arrival.data.ecn for arrival in self.held(10, ecn=wire.ECN_NOT_ECT)},
            {wire.ECN_NOT_ECT},
        )
        self.assertEqual(self.counters("marked"), {})


class BothEctCodepointsAndCe(RedTest):
    """CE stays, and counts as marked where RED would mark."""

    def runTest(self) -> None:
        for codepoint in (wire.ECN_ECT0, wire.ECN_ECT1, CE):
            before = self.counters("marked").get(index(SLOW_PORT), 0)
            seen = [arrival.data.ecn for arrival in self.held(6, ecn=codepoint)]
            self.assertEqual(seen, [CE] * 5 + [codepoint])
            self.assertEqual(self.counters("marked"), {index(SLOW_PORT): before + 5})


class LossyClassesAreMarked(RedTest):
    """As lossless ones: each packet that leaves others of its class behind."""

    def runTest(self) -> None:
        for number in set(range(8)) - {ROCE_CLASS, CNP_CLASS}:
            self.occupy_slow_port(2, 40)
            self.send(1, *(data(1, SLOW_PORT, psn=psn, dscp=number << 3) for psn in range(4)))
            self.assertEqual(marks(self.receive_data(4, number)), [True, True, True, False])
            self.assertEqual(self.counter("marked", index(SLOW_PORT, number)).packets, 3)


class HighestClassIsNotMarked(RedTest):
    """CNPs, whose ECN field has another meaning."""

    def runTest(self) -> None:
        notices = [cnp(1, SLOW_PORT, wire.ECN_ECT0, rate_mbps=rate) for rate in range(1, 20)]
        self.send(1, *notices)
        self.expect(SLOW_PORT, *(forwarded(notice, SLOW_PORT) for notice in notices))
        self.assertEqual(self.counters("marked"), {})
