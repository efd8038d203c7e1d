"""QCN's congestion points at inputs (RZ 3880): what they count, when they sample, and which flow
they notify.

A pause keeps packets inside: the n-th packet from port 1 finds n - 1 of that port's, at whichever
outputs they wait.
"""

import itertools
import math
from collections import Counter
from dataclasses import replace

from cnm import feedback, interval, message, messages
from frames import FRAME, cnp, data, expected_pfc, forwarded, host_ip
from inputs import SLOTS, QcnInTest, packet
from testbed import LONG_PAUSE, SLOW_PORT, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.qcn_in_cp import Culprit, QcnInPort

# A flow that has nothing inside for long: back out of the port that it came in at.
FREE_PORT = 1


class TheQueueIsWhatTheInputHasInside(QcnInTest):
    """Whichever outputs it waits for; not what others have there. Byte for byte, each to its own
    source."""

    def runTest(self) -> None:
        for port in (2, 3):
            self.pause(port)
        self.send(3, *(data(3, 2, psn=psn) for psn in range(20)))
        self.wait_until_waiting(2, 20)
        n, expected = 30, []
        for number in range(n):
            value = self.value((number + 1) * FRAME, number * FRAME)
            if value:
                expected.append(
                    message(1, 2 + number % 2, number, value, (number + 1) * FRAME, 7 + number)
                )
        self.send(1, *(packet(2 + number % 2, 7 + number, number) for number in range(n)))
        self.expect(1, *expected)
        self.expect_nothing(1)
        self.assertEqual(self.counters("notified"), {index(1): len(expected)})
        if not self.twin:
            self.assertEqual(self.register("held_bytes", index(1)), n * FRAME)
        self.assertEqual(self.register("sampled_bytes", index(1)), n * FRAME)
        self.assertEqual(self.counters("dropped"), {})


class OnlyLosslessRoceOfItsPortIsSampled(QcnInTest):
    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.send(2, *(data(2, SLOW_PORT, psn=psn) for psn in range(12)))
        self.send(1, *(data(1, SLOW_PORT, psn=psn, dscp=0, payload=250) for psn in range(12)))
        self.send(1, *(cnp(1, SLOW_PORT) for _ in range(12)))
        self.wait_until_waiting(SLOW_PORT, 12)
        self.advance(0.1)
        self.assertEqual(self.counters("notified"), {})
        self.assertEqual(self.registers("sampled_bytes"), {})


class SamplesAreAsFarApart(QcnInTest):
    """However bad it is: the interval is fixed by default; an entry can make it adaptive."""

    adaptive = False
    sample = 20 * FRAME
    point = QcnInPort(1, 20 * FRAME, QcnInTest.w, sample)

    def load_twin(self, address: str, name: str) -> None:
        if self.adaptive:
            self.skipTest("Tofino's program has fixed intervals")
        super().load_twin(address, name)

    def plan(self) -> SwitchPlan:
        return replace(super().plan(), marking=(replace(self.point, adaptive=self.adaptive),))

    def runTest(self) -> None:
        # In BMv2 not at port 2: it shares a thread with the recirculation port (both are 2 modulo
        # 4), and what goes round there, of a higher priority than clones, leave these no turn.
        n, port = 600, 3
        self.pause(port)
        self.send(1, *(data(1, port, psn=psn) for psn in range(n)))
        self.wait_until_waiting(port, n)
        cnms = self.cnms(self.notified())
        self.assertEqual(cnms[-1].feedback, 63)
        least, most = interval(self.sample, self.twin)
        for before, after in itertools.pairwise(cnms):
            step = 1 + before.feedback // 8 if self.adaptive else 1
            counted = (after.psn - before.psn) * FRAME * step
            self.assertGreaterEqual(counted, least, before)
            self.assertLess(counted, most + FRAME * step, before)
        self.assertGreater(len(cnms), n * (0.28 if self.adaptive else 0.04))


class SamplesAreCloserTheWorseItIs(SamplesAreAsFarApart):
    adaptive = True


class Occupancy(QcnInTest):
    """Two flows wait behind pauses, at two outputs, and packets of a third one, which never waits,
    are sampled."""

    n, more, samples = 60, 20, 150
    q_eq = FRAME
    point = QcnInPort(1, q_eq, 0, sample_bytes=1)

    def fill(self) -> None:
        """Without a message: the set point is out of reach."""
        self.reprogram(replace(self.point, q_eq_bytes=10**9))
        for port in (2, 3):
            self.pause(port)
        self.send(
            1,
            *(packet(2, 5, psn) for psn in range(self.n)),
            *(packet(3, 9, psn) for psn in range(self.more)),
        )
        self.wait_until_waiting(2, self.n)
        self.wait_until_waiting(3, self.more)
        self.assertEqual(self.notified(), 0)
        self.reprogram(self.point)

    def reprogram(self, point: QcnInPort) -> None:
        self.switch.modify(point.entries())

    def sample(self, n: int) -> Counter[tuple[bytes, int]]:
        """Flows notified by n packets that find the others waiting: the flow's destination and
        QP."""
        counter: Counter[tuple[bytes, int]] = Counter()
        before = self.notified()
        for psn in range(n):
            frame = packet(FREE_PORT, 3, psn)
            self.send(1, frame)
            passed = False
            while not passed:
                (arrival,) = self.receive(1)
                passed = arrival.frame == forwarded(frame, FREE_PORT)
                counter.update((cnm.src_ip, cnm.flow) for cnm in messages([arrival]))
        while sum(counter.values()) < self.notified() - before:
            counter.update((cnm.src_ip, cnm.flow) for cnm in messages(self.receive(1)))
        return counter


class ByChance(Occupancy):
    """A flow is notified with probability q_n / q: within three standard deviations of the binomial
    distribution."""

    point = QcnInPort(1, FRAME, 0, sample_bytes=1, culprit=Culprit.RANDOM)

    def runTest(self) -> None:
        self.fill()
        self.assertEqual(self.switch.read_register("slots_used", 1), self.n + self.more)
        by_flow = self.sample(self.samples)
        total = sum(by_flow.values())
        self.assertEqual(total, self.samples)
        share = self.n / (self.n + self.more + 1)
        allowed = 3 * math.sqrt(share * (1 - share) / total)
        self.assertLess(abs(by_flow[(host_ip(2), 5)] / total - share), allowed, by_flow)
        self.assertLess(by_flow[(host_ip(FREE_PORT), 3)], total * 0.05, by_flow)
        self.assertEqual({flow for _, flow in by_flow} - {3}, {5, 9})


class ByChanceAfterAPeak(ByChance):
    """However many were inside once: those that are left, the last ones of them, too."""

    peak = 300

    def fill(self) -> None:
        self.reprogram(replace(self.point, q_eq_bytes=10**9))
        for port in (2, 3):
            self.pause(port)
        self.send(1, *(packet(2, 4, psn) for psn in range(self.peak)))
        self.send(1, *(packet(3, 9, psn) for psn in range(self.more)))
        self.wait_until_waiting(2, self.peak)
        self.wait_until_waiting(3, self.more)
        self.resume(2)
        self.receive(2, self.peak)
        self.pause(2)
        self.send(1, *(packet(2, 5, psn) for psn in range(self.n)))
        self.wait_until_waiting(2, self.n)
        self.assertEqual(self.notified(), 0)
        self.reprogram(self.point)


class TheLargestAlone(Occupancy):
    """None to the innocent, and none to the second. When the largest has left, the next one is
    notified."""

    point = QcnInPort(1, FRAME, 0, sample_bytes=1, culprit=Culprit.LARGEST)

    def runTest(self) -> None:
        self.fill()
        by_flow = self.sample(20)
        self.assertEqual(by_flow, {(host_ip(2), 5): 20})
        self.resume(2)
        self.receive(2, self.n)
        self.send(1, packet(3, 9, self.more))
        self.assertEqual([(cnm.src_ip, cnm.flow) for cnm in self.cnms(1)], [(host_ip(3), 9)])
        self.assertEqual(self.sample(20), {(host_ip(3), 9): 20})


class WhatWasCountedIsWhateverTheTableHas(QcnInTest):
    """Entries come and go while packets are inside: those that were counted as they came are as
    they go, and no others (tearDown)."""

    point = QcnInPort(1, 10**9, 0, sample_bytes=1, culprit=Culprit.LARGEST)

    def runTest(self) -> None:
        n = 10
        self.pause(2)
        self.send(1, *(packet(2, 5, psn) for psn in range(n)))
        self.wait_until_waiting(2, n)
        self.switch.delete(self.point.entries())
        self.send(1, *(packet(2, 9, psn) for psn in range(n)))
        self.wait_until_waiting(2, 2 * n)
        self.assertEqual(self.switch.read_register("largest_bytes", index(1)), n * FRAME)
        self.resume(2)
        self.receive(2, n)
        self.switch.insert(self.point.entries())
        self.receive(2, n)
        self.assertEqual(self.switch.read_register("largest_bytes", index(1)), 0)


class AFullArray(Occupancy):
    """A packet without a slot can't be sampled; all others can, and slots become free again
    (tearDown). Not in BMv2, which has no room for more recirculating packets than slots, and drops
    further packets."""

    n, more = 700, 400
    point = QcnInPort(1, FRAME, 0, sample_bytes=1, culprit=Culprit.RANDOM)

    def runTest(self) -> None:
        if self.target == "bmv2":
            self.skipTest("BMv2 recirculates 1,024 packets at most")
        self.fill()
        self.assertEqual(self.switch.read_register("slots_used", 1), SLOTS)
        by_flow = self.sample(self.samples)
        share = self.n / SLOTS
        allowed = 3 * math.sqrt(share * (1 - share) / self.samples)
        self.assertLess(abs(by_flow[(host_ip(2), 5)] / self.samples - share), allowed, by_flow)
        self.assertEqual(set(by_flow), {(host_ip(2), 5), (host_ip(3), 9)})


class ByTheTimeThatPacketsWait(QcnInTest):
    """A sample notifies the source of the next departure that the random draw selects: one that
    waited w of D us with probability w / D, one that waited for nothing never."""

    rounds, wait_s, longest_s = 40, 0.5, 1.0
    point = QcnInPort(
        1, FRAME // 2, 2, sample_bytes=1, culprit=Culprit.SOJOURN, sojourn_us=round(longest_s * 1e6)
    )

    def runTest(self) -> None:
        for psn in range(self.rounds):
            self.pause(2)
            self.send(1, packet(2, 5, psn))
            self.advance(self.wait_s)
            free = packet(FREE_PORT, 3, psn)
            self.send(1, free)
            self.expect(1, forwarded(free, FREE_PORT))
            before = self.notified()
            self.assertNotEqual(self.register("pending_feedback", index(1)), 0)
            self.resume(2)
            self.receive(2)
            if self.notified() > before:
                (cnm,) = self.cnms(1)
                self.assertEqual(
                    (cnm.src_ip, cnm.flow, cnm.queue_bytes), (host_ip(2), 5, 2 * FRAME)
                )
                self.assertEqual(self.register("pending_feedback", index(1)), 0)
        longest_s = (
            2 ** (round(1e9 * self.longest_s) - 1).bit_length() / 1e9
            if self.twin
            else self.longest_s
        )
        share = self.wait_s / longest_s
        allowed = 3 * math.sqrt(share * (1 - share) / self.rounds)
        self.assertLess(abs(self.notified() / self.rounds - share), allowed)


class ASampleThatWaitsIsReplaced(QcnInTest):
    """By the next one; so packets that come together cause one message, by the first that
    leaves."""

    point = QcnInPort(1, FRAME, 2, sample_bytes=1, culprit=Culprit.SOJOURN)

    def runTest(self) -> None:
        n = 10
        self.pause(2)
        self.send(1, *(packet(2, 5, psn) for psn in range(n)))
        self.wait_until_waiting(2, n)
        self.advance(0.001)
        self.resume(2)
        self.receive(2, n)
        (cnm,) = self.cnms(1)
        self.assertEqual((cnm.flow, cnm.feedback, cnm.queue_bytes), (5, 63, n * FRAME))
        self.expect_nothing(1)


class PfcFramesComeFirst(QcnInTest):
    """A packet can be cloned once: that which a PAUSE falls due at isn't sampled, the next one
    is."""

    pfc_ports = (1, 2)
    n, xoff = 12, 8

    not_on_chip = "Tofino's traffic manager sends PFC frames"

    def plan(self) -> SwitchPlan:
        plan = super().plan()
        pfc = tuple(
            replace(port, xoff_bytes=self.xoff * FRAME, xon_bytes=FRAME) for port in plan.pfc
        )
        return replace(plan, pfc=pfc)

    def runTest(self) -> None:
        self.pause(2)
        self.send(1, *(data(1, 2, psn=psn) for psn in range(self.n)))
        self.wait_until_waiting(2, self.n)
        expected, old = [expected_pfc(1, LONG_PAUSE)], 0
        for psn in range(self.n):
            queue = (psn + 1) * FRAME
            value = feedback(queue, old, self.q_eq, self.w)
            if psn != self.xoff:
                old = queue
                if value:
                    expected.append(message(1, 2, psn, value, queue))
        arrivals = self.receive(1, len(expected))
        self.assertEqual(
            sorted(a.frame.hex() for a in arrivals), sorted(frame.hex() for frame in expected)
        )
        self.resume(2)
        self.receive(2, self.n)
        self.expect(1, expected_pfc(1, 0))
