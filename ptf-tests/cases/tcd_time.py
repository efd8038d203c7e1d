"""TCD with RESUMEs detected by a port's rest: the states that PFC's RESUME gives, and which RESUMEs
aren't seen (docs/tofino.md). Those that are TimeTold are tcd.py's, with this program and pauses
that last."""

from dataclasses import replace

import tcd
from frames import ROCE_CLASS, data
from tcd import NON_CONGESTION, UE, ecn
from testbed import SLOW_PORT, RestPort, index

from pcn.controller.configure import SwitchPlan


class ByTime(tcd.TcdTest):
    program = "tcd_time"
    # BMv2 sends round what it held: it departs a while after the RESUME, and shows it then
    live_differences = tcd.LATE

    def plan(self) -> SwitchPlan:
        plan = super().plan()
        return replace(plan, marking=(*self.rests(), *plan.marking))

    def hold(self, n: int, quanta: int | None = None, **fields: int) -> None:
        super().hold(n, quanta, **fields)
        self.outlast(SLOW_PORT)


class TimeToldUndeterminedThenDrainingThenRed(ByTime, tcd.UndeterminedThenDrainingThenRed):
    pass


class TimeToldQueueThatDoesNotFallIsCongestion(ByTime, tcd.AQueueThatDoesNotFallIsCongestion):
    pass


class TimeToldSoManyLooksMakeCongestion(ByTime, tcd.SoManyLooksMakeCongestion):
    pass


class TimeToldExpiryCountsAsResume(ByTime, tcd.ExpiryCountsAsResume):
    """From the first departure: what goes round when the pause runs out comes later than that."""

    differences = ("marked_ue_by_time",)


class TimeToldNeverPausedIsPlainRed(ByTime, tcd.NeverPausedIsPlainRed):
    pass


class TimeToldClassesAndPortsHaveStatesOfTheirOwn(ByTime, tcd.ClassesAndPortsHaveStatesOfTheirOwn):
    pass


class ShortPauseIsNotSeen(ByTime):
    """With a largest frame of ten seconds a shorter rest is none. RED decides throughout."""

    differences = ("marked_ue_by_pfc",)

    def rests(self) -> tuple[RestPort, ...]:
        return (RestPort(SLOW_PORT, 10_000_000),)

    def outlast(self, port: int) -> None:
        pass

    def runTest(self) -> None:
        self.send(1, data(1, SLOW_PORT))
        self.receive(SLOW_PORT, 1)
        self.hold(self.n)
        self.resume(SLOW_PORT)
        marks = ecn(self.receive(SLOW_PORT, self.n))
        self.assertNotIn(UE, marks)
        self.check_state(NON_CONGESTION)
        by_pfc = self.counter("marked_ue_by_pfc", index(SLOW_PORT)).packets
        self.assertLessEqual(abs(by_pfc - self.undetermined), tcd.LATE if self.live else 1)


class ResumeThatNothingWaitedForIsNotSeen(ByTime):
    """The port was paused without a packet. PFC reports its RESUME all the same."""

    differences = ("marked_ue_by_pfc",)

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.outlast(SLOW_PORT)
        self.resume(SLOW_PORT)
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(3)))
        self.assertNotIn(UE, ecn(self.receive(SLOW_PORT, 3)))
        self.assertEqual(self.counters("marked_ue_by_pfc"), {index(SLOW_PORT, ROCE_CLASS): 3})
