"""NP-ECN by time where it errs: a case for each row of docs/tofino.md's tables of its errors that
time alone makes."""

import math
from dataclasses import dataclass, replace

from frames import CNP_CLASS, FRAME, LARGEST_FRAME, OTHER_CLASS, ROCE_CLASS, data
from np_ecn_time import NpEcnTimeTest, marks
from testbed import SLOW_PORT, PcnTest, RestPort, index

from pcn.hosts import wire

HIGHER_CLASS, LOWER_CLASS = 5, 2


class ErrorTest(NpEcnTimeTest):
    """A burst at the slow port, whose marks a test compares."""

    later = 4

    @property
    def frame_s(self) -> float:
        return 8 * FRAME / self.rates_bps[SLOW_PORT]

    def burst(self, n: int, psn: int = 0, dscp: int = wire.DSCP_DATA) -> None:
        """At an idle port the first packet leaves at once, so that the second finds none either."""
        self.send(1, *(data(1, SLOW_PORT, psn=psn + offset, dscp=dscp) for offset in range(n)))

    @property
    def outlasting(self) -> int:
        """How many frames leave the slow port for longer than a pause that a rest would show."""
        return max(20, math.ceil(3 * self.outlasts_s(SLOW_PORT) / self.frame_s))

    def alone(self, name: str) -> int:
        """Packets of the class that one of the two rules marks alone. The chip's program has only
        one."""
        return self.counters(name).get(index(SLOW_PORT), 0)

    def check_alone(self, name: str, *packets: int) -> None:
        """`packets`: the numbers that may be counted."""
        if not self.twin:
            self.assertIn(self.alone(name), packets)


class MarkedTest(ErrorTest):
    """Marked, although a pause delayed them: all but the first, which found none."""

    differences = ("marked_by_time",)

    def check_marked(self) -> None:
        arrivals = self.receive_data(self.n)
        self.assertEqual(
            [
                arrival.data.psn
                for arrival, mark in zip(arrivals, marks(arrivals), strict=True)
                if not mark
            ],
            [0],
        )
        self.check_alone("marked_by_time", self.n - 1)


class UnmarkedTest(ErrorTest):
    """Not marked, although no pause delayed them."""

    differences = ("marked_by_counter",)


class WhatCameShortlyBeforeTheResumeIsMarked(MarkedTest):
    """The port has rested for long, but no packet waited for as long as a gap."""

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.outlast(SLOW_PORT)
        self.burst(self.n)
        self.wait_until_waiting(SLOW_PORT, self.n)
        self.resume(SLOW_PORT)
        self.check_marked()


class HigherClassHidesThePause(MarkedTest):
    """It leaves without a rest from the PAUSE until after the RESUME."""

    def runTest(self) -> None:
        self.occupy_slow_port(2, self.outlasting)
        self.pause(SLOW_PORT)
        self.burst(self.n)
        self.wait_until_waiting(SLOW_PORT, self.n)
        self.outlast(SLOW_PORT)
        self.resume(SLOW_PORT)
        self.assertGreater(self.register("waiting_packets", index(SLOW_PORT, CNP_CLASS)), 0)
        self.check_marked()


class HigherLosslessClassHidesThePause(MarkedTest):
    """Likewise a class that PFC stops too, but not now."""

    hiding_class = HIGHER_CLASS

    def setUp(self) -> None:
        self.pfc_defaults = replace(
            PcnTest.pfc_defaults, lossless=1 << ROCE_CLASS | 1 << self.hiding_class
        )
        super().setUp()

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.burst(self.n)
        self.wait_until_waiting(SLOW_PORT, self.n)
        # Its first packet would end a rest, if there were one.
        self.burst(self.outlasting, dscp=self.hiding_class << 3)
        self.outlast(SLOW_PORT)
        self.resume(SLOW_PORT)
        self.assertGreater(self.register("waiting_packets", index(SLOW_PORT, self.hiding_class)), 0)
        self.check_marked()


class LowerLosslessClassHidesThePause(HigherLosslessClassHidesThePause):
    hiding_class = LOWER_CLASS

    def setUp(self) -> None:
        super().setUp()
        if not self.twin:
            self.skipTest("what a pause holds goes round here, before any lower class")


class FrameOnItsWayDelaysTheResume(UnmarkedTest):
    """The largest frame of a class that NP-ECN doesn't count is being sent when the pause ends."""

    def setUp(self) -> None:
        super().setUp()
        if not self.twin:
            self.skipTest("what a pause holds goes round here, before any lower class")

    def runTest(self) -> None:
        self.hold(self.n)
        self.outlast(SLOW_PORT)
        self.send(
            1, data(1, SLOW_PORT, dscp=OTHER_CLASS << 3, payload=LARGEST_FRAME - wire.DATA_OVERHEAD)
        )
        self.resume(SLOW_PORT)
        self.burst(self.later, psn=1000)
        seen = marks(self.receive_data(self.n + self.later))
        self.assertEqual(seen, [False] * (self.n + self.later))


class WrapTest(UnmarkedTest):
    """The program's clock has 32 bits: of ns on Tofino, of us here. A burst is in its queue when it
    has the same value as at the latest RESUME. The packets that wait then leave unmarked, those
    before and after them marked."""

    gone = 5

    def setUp(self) -> None:
        super().setUp()
        if self.live:
            self.skipTest("the clock wraps after 72 minutes: on the manual clock alone")

    @property
    def wrap_s(self) -> float:
        return 2**32 / (1e9 if self.twin else 1e6)

    def around(self, at: float) -> None:
        """`at`: on the wires' clock."""
        self.advance(at - (self.gone - 0.5) * self.frame_s - self.wires.now)
        self.burst(self.n)
        seen = marks(self.receive(SLOW_PORT, self.gone))
        self.burst(self.later, psn=1000)
        seen += marks(self.receive(SLOW_PORT, self.n - self.gone + self.later))
        waited = self.n - self.gone
        self.assertEqual(
            seen, [False] * 2 + [True] * (self.gone - 2) + [False] * waited + [True] * self.later
        )
        self.check_alone("marked_by_counter", waited)


class OldResumeIsTakenForANewOne(WrapTest):
    def runTest(self) -> None:
        self.hold(self.n)
        self.outlast(SLOW_PORT)
        self.resume(SLOW_PORT)
        arrivals = self.receive(SLOW_PORT, self.n)
        self.assertEqual(marks(arrivals), [False] * self.n)
        self.around(arrivals[0].at - self.frame_s + self.wrap_s)


class ClockOfZeroIsTakenForAResume(WrapTest):
    """At a port that had none."""

    def runTest(self) -> None:
        passed = self.wires.clock_s % self.wrap_s
        self.around(self.wires.now + self.wrap_s - passed)


class GapThatIsTooSmallIsAPause(UnmarkedTest):
    """Of a port that is shaped to less than its entries have: each frame before it takes longer
    than `gap`."""

    def rests(self) -> tuple[RestPort, ...]:
        return (RestPort(SLOW_PORT, round(0.5e6 * self.frame_s)),)

    def runTest(self) -> None:
        self.burst(self.n)
        self.assertEqual(marks(self.receive(SLOW_PORT, self.n)), [False] * self.n)
        # On a live target the second may find the first on its way out.
        self.check_alone("marked_by_counter", self.n - 2, *[self.n - 1] * self.live)


@dataclass(frozen=True)
class LosslessAlone(RestPort):
    """Leaves out the classes that go before."""

    @property
    def actions(self) -> dict[int, str]:
        return {
            number: action for number, action in super().actions.items() if action == "set_rest"
        }


class HigherClassWithoutEntryIsAPause(UnmarkedTest):
    def setUp(self) -> None:
        super().setUp()
        if self.target == "bmv2":
            self.skipTest("BMv2 shapes each queue alone: class 7 delays no other")

    def rests(self) -> tuple[RestPort, ...]:
        return (LosslessAlone(SLOW_PORT, self.gap_us(SLOW_PORT)),)

    def runTest(self) -> None:
        self.occupy_slow_port(2, 20)
        self.burst(self.n)
        seen = marks(self.receive_data(1))
        self.burst(self.later, psn=1000)
        seen += marks(self.receive_data(self.n - 1 + self.later))
        self.assertEqual(seen, [False] * self.n + [True] * self.later)
        self.check_alone("marked_by_counter", self.n - 1)
