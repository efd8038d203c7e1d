"""RED by the traffic manager's depth: the packets that a departing one leaves in its queue decide
whether it is marked.

Class 7 keeps the slow port busy while the others come in, so the k-th of n packets leaves n - k
behind.
"""

from dataclasses import replace

from frames import CNP_CLASS, ROCE_CLASS, cnp, data, forwarded
from testbed import SLOW_PORT, Arrival, PcnTest, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.red_depth import RedDepthPort
from pcn.hosts import wire

CE = wire.ECN_CE


def marks(arrivals: list[Arrival]) -> list[bool]:
    return [arrival.data.ecn == CE for arrival in arrivals]


class RedDepthTest(PcnTest):
    """NSCC's program; `ports` of those that mark."""

    program = "nscc"
    ports: tuple[RedDepthPort, ...] = (RedDepthPort(SLOW_PORT, 5, 5),)

    def plan(self) -> SwitchPlan:
        return replace(super().plan(), marking=self.ports)

    def queued(self, n: int, dscp: int = wire.DSCP_DATA) -> list[bool]:
        """Marks of n packets of a class. BMv2 shapes each queue alone, and may send the first
        before all are there."""
        self.occupy_slow_port(2, 40)
        self.send(1, *(data(1, SLOW_PORT, psn=psn, dscp=dscp) for psn in range(n)))
        arrivals: list[Arrival] = []
        while len(arrivals) < n:
            arrivals += [
                arrival
                for arrival in self.receive(SLOW_PORT, n - len(arrivals))
                if arrival.data.dscp == dscp
            ]
        return marks(arrivals)


class AboveKMaxAllAreMarked(RedDepthTest):
    """And with K_min = K_max none below; a queue of exactly K_max is not above."""

    def runTest(self) -> None:
        got = self.queued(20)
        self.assertEqual(got[1:], [left > 5 for left in range(18, -1, -1)])
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): sum(got)})


class LossyClassIsMarked(RedDepthTest):
    """Of a port without PFC."""

    pfc_ports = ()

    def runTest(self) -> None:
        got = self.queued(20, dscp=1 << 3)
        self.assertEqual(got[1:], [left > 5 for left in range(18, -1, -1)])
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT, 1): sum(got)})


class ProbabilityRisesFromKMinToKMax(RedDepthTest):
    """Of 4 times 100 packets between them, half are marked: 200, and three and a half standard
    deviations."""

    ports = (RedDepthPort(SLOW_PORT, 0, 100),)

    def runTest(self) -> None:
        marked = 0
        for _ in range(4):
            marked += sum(self.queued(101))
            self.drained()
        self.assertLess(abs(marked - 202), 30)


class HighestClassAndOtherPortsAreNotMarked(RedDepthTest):
    ports = (RedDepthPort(SLOW_PORT, 0, 0),)

    def runTest(self) -> None:
        notifications = [
            cnp(1, SLOW_PORT, ecn=wire.ECN_ECT0, rate_mbps=number + 1) for number in range(5)
        ]
        self.send(1, *notifications)
        self.expect(SLOW_PORT, *(forwarded(frame, SLOW_PORT) for frame in notifications))
        frames = [data(1, 2, psn=psn) for psn in range(10)]
        self.send(1, *frames)
        self.expect(2, *(forwarded(frame, 2) for frame in frames))
        self.assertEqual(self.counters("marked"), {})
        self.assertEqual(self.queued(3)[1:], [True, False])
        self.assertEqual(self.counter("marked", index(SLOW_PORT, CNP_CLASS)).packets, 0)
        self.assertGreater(self.counter("marked", index(SLOW_PORT, ROCE_CLASS)).packets, 0)


class NotEctIsNeverMarked(RedDepthTest):
    ports = (RedDepthPort(SLOW_PORT, 0, 0),)

    def runTest(self) -> None:
        self.assertEqual(
            marks(self.congest(*(data(1, SLOW_PORT, psn=psn, ecn=0) for psn in range(10)))),
            [False] * 10,
        )
