"""TCD: after a RESUME packets leave with UE, then unmarked as long as the queue falls, then RED
decides again.

A pause gathers a known queue. Once it is lifted, the k-th of n packets leaves n - k behind, a
frame's time after the one before, in whatever order a switch sends what it held.
"""

from dataclasses import replace

from frames import FRAME, OTHER_CLASS, ROCE_CLASS, data
from testbed import SLOW_PORT, Arrival, PcnTest, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.red_ecn import RedPort
from pcn.controller.marking.tcd_port import TcdPort
from pcn.hosts import wire

UE, ECT0, CE = 1, wire.ECN_ECT0, wire.ECN_CE
NON_CONGESTION, DRAINING, UNDETERMINED, CONGESTION = range(4)
MAX_TON_S = 0.1
LATE = 3
"""Tolerance of a live switch, in packets."""


def always(port: int) -> RedPort:
    """Marks whatever leaves a packet behind."""
    return RedPort(port, 0, 0, 1.0)


def ecn(arrivals: list[Arrival]) -> list[int]:
    return [arrival.data.ecn for arrival in arrivals]


class TcdTest(PcnTest):
    """RED would mark whatever leaves a packet behind. A queue of up to two frames is none."""

    program = "tcd"
    n, looks = 40, 1
    marking: tuple[RedPort | TcdPort, ...] = ()

    def plan(self) -> SwitchPlan:
        tcd = TcdPort(SLOW_PORT, round(MAX_TON_S * 1e6), 2 * FRAME, self.looks)
        return replace(
            super().plan(), marking=(self.marking or (tcd, *map(always, (2, SLOW_PORT))))
        )

    @property
    def frame_s(self) -> float:
        """That a frame takes at the slow port."""
        return FRAME * 8 / self.rates_bps[SLOW_PORT]

    @property
    def undetermined(self) -> int:
        """Packets that leave within max(Ton) of a RESUME."""
        return round(MAX_TON_S / self.frame_s)

    def hold(self, n: int, quanta: int | None = None, **fields: int) -> None:
        self.pause(SLOW_PORT, **({} if quanta is None else {"quanta": quanta}))
        self.send(1, *(data(1, SLOW_PORT, psn=psn, **fields) for psn in range(n)))
        self.wait_until_waiting(SLOW_PORT, n)

    def as_much_comes_as_leaves(self, n: int) -> list[int]:
        """The marks of the next n packets, behind which the queue stays as long as behind the
        first."""
        marks = ecn(self.receive(SLOW_PORT))
        self.send(2, data(2, SLOW_PORT, psn=1000))  # for the one that left meanwhile
        for psn in range(1, n):
            self.send(2, data(2, SLOW_PORT, psn=1000 + psn))
            marks += ecn(self.receive(SLOW_PORT))
        return marks

    def state(self, port: int = SLOW_PORT, number: int = ROCE_CLASS) -> int:
        return self.register("tcd_state", index(port, number))

    def check_state(self, expected: int) -> None:
        """Of the slow port. The Tofino twin has one state for both in which RED marks."""
        if self.twin:
            cell = index(SLOW_PORT)
            settled = (
                not self.register("tcd_undetermined", cell)
                and not self.register("tcd_queue", cell) & 0xFFFFFFFF
            )
            self.assertEqual(settled, expected in (NON_CONGESTION, CONGESTION))
        else:
            self.assertEqual(self.state(), expected)

    def check_runs(self, marks: list[int], *expected: tuple[int, int]) -> None:
        """A number of packets with the first mark, then a number with the second."""
        runs: list[tuple[int, int]] = []
        for mark in marks:
            runs = (
                [*runs[:-1], (mark, runs[-1][1] + 1)]
                if runs and runs[-1][0] == mark
                else [*runs, (mark, 1)]
            )
        self.assertEqual([mark for mark, _ in runs], [mark for mark, _ in expected], runs)
        late = LATE if self.live else 1  # what goes round may miss its turn
        for (_, count), (_, wanted) in zip(runs, expected, strict=True):
            self.assertLessEqual(abs(count - wanted), late, runs)


class UndeterminedThenDrainingThenRed(TcdTest):
    """UE until max(Ton), nothing above K_max while the queue falls, and RED once two frames are
    left."""

    def runTest(self) -> None:
        self.hold(self.n)
        self.resume(SLOW_PORT)
        marks = ecn(self.receive(SLOW_PORT, self.n))
        self.check_runs(
            marks,
            (UE, self.undetermined), (ECT0, self.n - 3 - self.undetermined), (CE, 2), (ECT0, 1),
        )  # fmt: skip
        self.check_state(NON_CONGESTION)
        self.assertEqual(self.counters("marked_ue"), {index(SLOW_PORT): marks.count(UE)})
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): marks.count(CE)})


class AQueueThatDoesNotFallIsCongestion(TcdTest):
    """As much comes as leaves: at the first look, with `looks` 1, RED marks."""

    def runTest(self) -> None:
        self.hold(self.n)
        self.resume(SLOW_PORT)
        marks = self.as_much_comes_as_leaves(2 * self.undetermined)
        self.check_runs(marks, (UE, self.undetermined), (CE, self.undetermined))
        self.check_state(CONGESTION)


class SoManyLooksMakeCongestion(TcdTest):
    """With `looks` 3 the port drains for two max(Ton) more."""

    looks = 3

    def runTest(self) -> None:
        self.hold(self.n)
        self.resume(SLOW_PORT)
        marks = self.as_much_comes_as_leaves(4 * self.undetermined)
        self.check_runs(
            marks, (UE, self.undetermined), (ECT0, 2 * self.undetermined), (CE, self.undetermined)
        )


class ExpiryCountsAsResume(TcdTest):
    """From when the pause ran out."""

    quanta = 500  # ms

    def runTest(self) -> None:
        self.hold(self.n, quanta=self.quanta)
        marks = ecn(self.receive(SLOW_PORT, self.n))
        self.assertEqual(self.counters("resume_received"), {})
        self.check_runs(
            marks,
            (UE, self.undetermined),
            (ECT0, self.n - 3 - self.undetermined),
            (CE, 2),
            (ECT0, 1),
        )


class NeverPausedIsPlainRed(TcdTest):
    """Also after a RESUME without a PAUSE."""

    def runTest(self) -> None:
        self.resume(SLOW_PORT)
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(self.n)))
        marks = ecn(self.receive(SLOW_PORT, self.n))
        self.assertEqual(marks[-1], ECT0)
        self.assertEqual(set(marks[LATE:-1]), {CE})
        self.assertEqual(self.counters("marked_ue"), {})


class CeStaysAndSoDoesNotEct(TcdTest):
    """UE takes the place of ECT(0) alone; UE from elsewhere stays, and counts."""

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        sent = [CE, wire.ECN_NOT_ECT, UE, ECT0]
        self.send(1, *(data(1, SLOW_PORT, psn=psn, ecn=mark) for psn, mark in enumerate(sent)))
        self.wait_until_waiting(SLOW_PORT, len(sent))
        self.resume(SLOW_PORT)
        marks = {
            arrival.data.psn: arrival.data.ecn for arrival in self.receive(SLOW_PORT, len(sent))
        }
        self.assertEqual(marks, {0: CE, 1: wire.ECN_NOT_ECT, 2: UE, 3: UE})
        self.assertEqual(self.counters("marked_ue"), {index(SLOW_PORT): 2})


class ClassesAndPortsHaveStatesOfTheirOwn(TcdTest):
    """Another class of the port was paused, and another port: RED marks as ever."""

    def runTest(self) -> None:
        for port, number in ((SLOW_PORT, OTHER_CLASS), (2, ROCE_CLASS)):
            self.pause(port, classes=(number,))
            self.resume(port, classes=(number,))
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(self.n)))
        self.assertEqual(set(ecn(self.receive(SLOW_PORT, self.n))[LATE:-1]), {CE})
        self.assertEqual(self.counters("marked_ue"), {})


class WithoutAnEntryThereIsNoState(TcdTest):
    """Of TCD: RED alone."""

    marking = (always(SLOW_PORT),)

    def runTest(self) -> None:
        self.hold(self.n)
        self.resume(SLOW_PORT)
        self.assertEqual(ecn(self.receive(SLOW_PORT, self.n)), [CE] * (self.n - 1) + [ECT0])
        self.check_state(NON_CONGESTION)
