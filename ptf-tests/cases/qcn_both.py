"""QCN's congestion points at outputs, in egress, alone and beside those at inputs.

At the slow port n frames leave one by one: the one with PSN i leaves n - 1 - i behind, and is
itself the last of n - i.
"""

from dataclasses import replace
from typing import ClassVar

from cnm import feedback, message, messages
from frames import FRAME, data
from testbed import SLOW_PORT, PcnTest, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.qcn_cp import CNM_CLONE_SESSION
from pcn.controller.marking.qcn_in_cp import Culprit, QcnInPort
from pcn.controller.marking.qcn_out_cp import QcnOutPort
from pcn.controller.pfc import PFC_CLONE_SESSION
from pcn.hosts import wire

UNSURE = 4
"""On a live target packets still come when this number has left."""


class QcnOutTest(PcnTest):
    """Every packet to the slow port is sampled."""

    program = "qcn_both"
    n, q_eq = 20, 5 * FRAME
    marking: ClassVar[tuple[QcnInPort | QcnOutPort, ...]] = (
        QcnOutPort(SLOW_PORT, q_eq, 0, 1, adaptive=False),
    )

    def plan(self) -> SwitchPlan:
        return replace(
            super().plan(),
            marking=self.marking,
            clone_sessions=(PFC_CLONE_SESSION, CNM_CLONE_SESSION),
        )

    def pass_all(self) -> None:
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(self.n)))
        self.receive(SLOW_PORT, self.n)


class TheQueueIsWhatIsAheadAndItself(QcnOutTest):
    """By packets as long as this one; each message to the source of the packet that departs."""

    def runTest(self) -> None:
        self.pass_all()
        expected = []
        for psn in range(1, self.n):
            queue = (self.n - psn) * FRAME
            value = feedback(queue, 0, self.q_eq, 0)
            if value:
                expected.append(message(1, SLOW_PORT, psn, value, queue))
        unsure = 0
        if self.live:
            # One more than expected, too, where the first packet found others.
            expected = expected[UNSURE:]
            while self.receive(1)[0].frame != expected[0]:
                unsure += 1
                self.assertLessEqual(unsure, UNSURE + 1)
            del expected[0]
            unsure += 1
        self.expect(1, *expected)
        self.expect_nothing(1)
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): unsure + len(expected)})
        self.assertEqual(self.counters("notified"), {})


class WithoutAnEntryNothingIsSampled(QcnOutTest):
    marking = (QcnOutPort(2, FRAME, 0, 1, adaptive=False),)

    def runTest(self) -> None:
        self.pass_all()
        self.expect_nothing(1)
        self.assertEqual(self.counters("marked"), {})
        self.assertEqual(self.registers("out_sampled_bytes"), {})


class InputsAndOutputsBoth(QcnOutTest):
    """Each point samples for itself: the input what it has inside at each arrival, the output at
    each departure."""

    marking = (QcnInPort(1, QcnOutTest.q_eq, 0, 1), *QcnOutTest.marking)

    def runTest(self) -> None:
        self.pass_all()
        notified, marked = (self.counters(name) for name in ("notified", "marked"))
        self.assertEqual(set(notified), {index(1)})
        self.assertEqual(set(marked), {index(SLOW_PORT)})
        cnms: list[wire.CnmPacket] = []
        while len(cnms) < notified[index(1)] + marked[index(SLOW_PORT)]:
            cnms += messages(self.receive(1))
        growing = [cnm.queue_bytes for cnm in cnms if cnm.queue_bytes > self.q_eq]
        self.assertEqual(len(growing), len(cnms))
        left = {self.n * FRAME - most for most in growing}
        # What has left when the last one comes.
        self.assertGreaterEqual(min(left), FRAME)
        self.assertLessEqual(min(left), (UNSURE if self.live else 1) * FRAME)


class AnInputsMessageIsNoOutputs(QcnOutTest):
    """A departure that the input's sample chose isn't sampled by the output: its message goes, and
    the next packet is the output's. By sojourn with a draw of one value each sample notifies the
    source of the next departing packet."""

    marking = (
        QcnInPort(1, QcnOutTest.q_eq, 0, 1, culprit=Culprit.SOJOURN),
        QcnOutPort(SLOW_PORT, QcnOutTest.q_eq, 0, 1, adaptive=False),
    )

    def runTest(self) -> None:
        self.pass_all()
        notified, marked = self.counters("notified"), self.counters("marked")
        self.assertEqual(set(notified), {index(1)})
        self.assertEqual(set(marked), {index(SLOW_PORT)})
        total = notified[index(1)] + marked[index(SLOW_PORT)]
        cnms: list[wire.CnmPacket] = []
        while len(cnms) < total:
            cnms += messages(self.receive(1))
        self.expect_nothing(1)
        self.assertEqual(len({cnm.psn for cnm in cnms}), total)
