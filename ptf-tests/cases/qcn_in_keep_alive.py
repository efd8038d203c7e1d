"""Keep-alive of QCN's congestion points at inputs: samples while PFC pauses the neighbour, when a
packet departs and, for port 2, at the packet generator's frames (run.py)."""

import itertools
import math
from collections import Counter
from dataclasses import replace

from cnm import feedback, message
from frames import CNP_CLASS, FRAME, expected_pfc, forwarded, host_ip, patched
from inputs import QcnInTest, packet
from testbed import LONG_PAUSE, SLOW_PORT, PcnTest, Reason, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.constants import GENERATOR_PORT
from pcn.controller.marking.qcn_in_cp import Culprit, QcnInPort

# Of a frame's UDP header: where its destination port stands, and one that isn't RoCE's.
UDP_PORT, OTHER_PORT = 36, b"\x12\x34"


class KeepAliveTest(QcnInTest):
    """XOFF is 30 packets, and keep-alive 20 ms, the packet generator's period, by default."""

    xoff, period_us = 30, 20_000
    point = QcnInPort(
        1, FRAME, 0, sample_bytes=10**9, culprit=Culprit.LARGEST, keep_alive_us=period_us
    )

    def plan(self) -> SwitchPlan:
        plan = super().plan()
        limits = {"xoff_bytes": self.xoff * FRAME, "xon_bytes": (self.xoff - 20) * FRAME}
        pfc = tuple(
            replace(port, **limits) if port.port == self.point.port else port for port in plan.pfc
        )
        return replace(plan, pfc=pfc)


class KeepAlive(KeepAliveTest):
    """Departures sample, once a period; without it and after it none does."""

    n = 40

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.send(1, *(packet(SLOW_PORT, 5, psn) for psn in range(self.n)))
        self.wait_until_waiting(SLOW_PORT, self.n)
        self.expect(1, expected_pfc(1, LONG_PAUSE))
        self.resume(SLOW_PORT)
        self.receive(SLOW_PORT, self.n)
        # 30 frames of 8.5 ms depart before the RESUME, every third of which is 20 ms after the
        # latest sample.
        self.assertIn(self.notified(), range(8, 12))
        cnms = self.cnms(self.notified())
        self.assertEqual({cnm.flow for cnm in cnms}, {5})
        for cnm in cnms:
            self.assertEqual(cnm.feedback, feedback(cnm.queue_bytes, 0, FRAME, 0))
            self.assertGreaterEqual(cnm.queue_bytes, (self.xoff - 20) * FRAME)


class KeepAliveOff(KeepAlive):
    point = replace(KeepAlive.point, keep_alive_us=0)

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.send(1, *(packet(SLOW_PORT, 5, psn) for psn in range(self.n)))
        self.wait_until_waiting(SLOW_PORT, self.n)
        self.expect(1, expected_pfc(1, LONG_PAUSE))
        self.resume(SLOW_PORT)
        self.receive(SLOW_PORT, self.n)
        self.expect(1, expected_pfc(1, 0))
        self.expect_nothing(1)
        self.assertEqual(self.notified(), 0)


class StoppedOutput(KeepAliveTest):
    """Nothing departs: each generated frame samples, and notifies the largest flow; none notifies
    the second, or one that waits for nothing. Nothing else is counted."""

    q_eq = 40 * FRAME
    point = replace(KeepAliveTest.point, port=2, q_eq_bytes=q_eq)
    largest, second, samples = 40, 10, 25
    every_us = KeepAliveTest.period_us

    def setUp(self) -> None:
        super().setUp()
        if self.target == "bmv2":
            self.skipTest("BMv2 has no packet generator")

    def fill(self) -> None:
        """Of the point's port: the largest flow, QP 5, waits at port 3, the second, QP 9, at port
        4."""
        source = self.point.port
        for port in (3, SLOW_PORT):
            self.pause(port)
        self.send(source, *(packet(3, 5, psn, source) for psn in range(self.largest)))
        self.send(source, *(packet(SLOW_PORT, 9, psn, source) for psn in range(self.second)))
        self.wait_until_waiting(3, self.largest)
        self.wait_until_waiting(SLOW_PORT, self.second)

    def drain(self) -> None:
        for port, n in ((3, self.largest), (SLOW_PORT, self.second)):
            self.resume(port)
            self.receive(port, n)

    def runTest(self) -> None:
        self.fill()
        self.expect(2, expected_pfc(2, LONG_PAUSE))
        inside, queue = self.inside(), (self.largest + self.second) * FRAME
        value = feedback(queue, queue, self.q_eq, 0)
        arrivals = self.expect(2, *[message(2, 3, 0, value, queue, 5)] * self.samples)
        if not self.live:
            times_us = [round(arrival.at * 1e6) for arrival in arrivals]
            self.assertEqual(
                {after - before for before, after in itertools.pairwise(times_us)}, {self.every_us}
            )
            self.assertEqual(self.notified(), self.samples)
            self.assertEqual(self.counters("transmitted"), {index(2, CNP_CLASS): self.samples})
            self.assertEqual(self.inside(), inside)
        self.assertEqual(self.counters("dropped"), {})
        self.assertEqual(
            self.counters("dropped", [index(GENERATOR_PORT, reason) for reason in Reason]), {}
        )
        self.drain()


class NoOftenerThanThePortSays(StoppedOutput):
    """Where its latest sample is younger, a generated frame makes none: every third of them
    does."""

    point = replace(StoppedOutput.point, keep_alive_us=50_000)
    every_us, samples = 60_000, 10


class AnInnocentFlowBesideIt(StoppedOutput):
    """It passes at once, and gets no message; its departures are no samples while the latest one is
    younger."""

    def runTest(self) -> None:
        self.fill()
        self.expect(2, expected_pfc(2, LONG_PAUSE))
        for psn in range(self.samples):
            free = packet(1, 3, psn, 2)
            self.send(2, free)
            self.expect(1, forwarded(free, 1))
            self.advance(1e-6 * self.every_us)
        self.assertGreaterEqual(self.notified(), self.samples - 1)
        self.assertEqual({cnm.flow for cnm in self.cnms(self.notified())}, {5})
        self.drain()


class StoppedOutputByChance(StoppedOutput):
    """Each packet inside as likely: within three standard deviations."""

    point = replace(StoppedOutput.point, culprit=Culprit.RANDOM)
    samples = 300

    def runTest(self) -> None:
        self.fill()
        self.expect(2, expected_pfc(2, LONG_PAUSE))
        counter = Counter((cnm.src_ip, cnm.flow) for cnm in self.cnms(self.samples))
        self.assertEqual(set(counter), {(host_ip(3), 5), (host_ip(SLOW_PORT), 9)})
        share = self.largest / (self.largest + self.second)
        allowed = 3 * math.sqrt(share * (1 - share) / self.samples)
        self.assertLess(abs(counter[(host_ip(3), 5)] / self.samples - share), allowed, counter)
        self.drain()


class StoppedOutputWithNobodyToNotify(StoppedOutput):
    """Nothing inside is RoCE, so no flow is known: samples above the set point notify none."""

    point = replace(StoppedOutput.point, culprit=Culprit.RANDOM)

    def runTest(self) -> None:
        n = self.largest + self.second
        self.pause(3)
        for psn in range(n):
            datagram = patched(packet(3, 5, psn, 2), UDP_PORT, OTHER_PORT, fix_checksum=False)
            self.send(2, datagram)
        self.wait_until_waiting(3, n)
        self.expect(2, expected_pfc(2, LONG_PAUSE))
        self.advance(1e-6 * self.period_us * self.samples)
        self.expect_nothing(2)
        self.assertEqual(self.register("sampled_bytes", index(2)), n * FRAME)
        self.assertEqual(self.notified(), 0)
        self.resume(3)
        self.receive(3, n)


class WithoutItsFramesAStoppedOutputIsNoSample(StoppedOutput):
    """None is generated for port 1."""

    point = KeepAliveTest.point

    def runTest(self) -> None:
        self.fill()
        self.expect(1, expected_pfc(1, LONG_PAUSE))
        self.advance(1e-6 * self.period_us * self.samples)
        self.expect_nothing(1)
        self.assertEqual(self.notified(), 0)
        self.drain()


class OnlyWhilePaused(StoppedOutput):
    """The neighbour isn't paused: its packets trigger samples."""

    largest, second = 15, 10

    def runTest(self) -> None:
        self.fill()
        self.advance(1e-6 * self.period_us * self.samples)
        self.expect_nothing(2)
        self.assertEqual(self.notified(), 0)
        self.drain()


class OtherProgramsDropThem(PcnTest):
    """As frames of an unknown type, at the internal port."""

    def runTest(self) -> None:
        if self.target == "bmv2":
            self.skipTest("BMv2 has no packet generator")
        cells = [index(GENERATOR_PORT, reason) for reason in Reason]
        unknown = index(GENERATOR_PORT, Reason.UNKNOWN_ETHERTYPE)
        before = self.counters("dropped", cells)
        self.advance(1.0)
        after = self.counters("dropped", cells)
        self.assertEqual(set(after), {unknown})
        self.assertGreater(after[unknown], before.get(unknown, 0))
        if not self.live:
            self.assertEqual(after[unknown] - before.get(unknown, 0), 50)
        self.expect_nothing()
        self.assertEqual(self.counters("dropped"), {})
