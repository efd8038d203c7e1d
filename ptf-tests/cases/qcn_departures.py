"""QCN's congestion point where it samples what departs, with the queue that it found: Tofino's program alone."""

from cnm import message
from qcn import QcnTest
from testbed import FRAME, PORTS, ROCE_CLASS, SLOW_PORT, data, index

from controller.tofino.model import CELL_BYTES, cells
from controller.tofino.qcn import STEP_BYTES, W, feedback_steps
from hosts import wire


class QcnDeparturesTest(QcnTest):
    def setUp(self) -> None:
        super().setUp()
        if not self.twin:
            self.skipTest("this program samples what arrives: qcn.py has its cases")

    def found(self, place: int) -> int:
        """The bytes that a packet finds if `place` packets wait, in cells of one packet each."""
        return place * cells(FRAME) * CELL_BYTES

    def departing(self, n: int) -> list[bytes]:
        """The messages of n packets that a pause held, if all are sampled, in the order of their departures."""
        old, made = 0, []
        for psn in range(n):
            queue = self.found(psn)
            above = (queue - self.q_eq) + W * (queue - old)
            old = queue
            value = next((v for first, last, v in feedback_steps(self.q_eq) if first <= above // STEP_BYTES <= last), 0)
            if above > 0 and value:
                made.append(message(1, SLOW_PORT, psn, value, queue))
        return made


class SourcesAreToldWhenPacketsDepart(QcnDeparturesTest):
    """Byte for byte; nothing while the packets wait. Data isn't changed."""

    def runTest(self) -> None:
        n = 40
        due = self.departing(n)
        self.assertGreater(len(due), n // 2)
        self.hold(n)
        self.assertEqual(self.counters("marked"), {})
        self.resume(SLOW_PORT)
        arrivals = self.receive(SLOW_PORT, n)
        self.assertEqual([arrival.data.psn for arrival in arrivals], list(range(n)))
        self.assertEqual({arrival.data.ecn for arrival in arrivals}, {wire.ECN_ECT0})
        self.expect(1, *due)
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): len(due)})


class OtherClassesAreNotSampled(QcnDeparturesTest):
    def runTest(self) -> None:
        for number in set(range(8)) - {ROCE_CLASS}:
            self.send(1, *(data(1, SLOW_PORT, psn=psn, dscp=number << 3) for psn in range(12)))
        self.receive(SLOW_PORT, 7 * 12)
        self.expect_nothing(*set(PORTS) - {SLOW_PORT})
        self.assertEqual(self.registers("sampled_bytes"), {})
