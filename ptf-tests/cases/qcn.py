"""QCN's congestion point (IEEE 802.1Qau; QCN-T paper, section 2.1): sampled packets, their sources'
messages, and the messages' way.

A pause makes the queue: the n-th packet that comes to a paused port finds n - 1 waiting. Tofino's
program samples it when it departs, with the queue that it found (docs/tofino.md): there messages
come once the port is resumed.
"""

import itertools
from dataclasses import replace

from cnm import MAX, chip_feedback, feedback, interval, message, messages
from frames import (
    CNP_CLASS,
    FRAME,
    ROCE_CLASS,
    cnp,
    data,
    expected_pfc,
    forwarded,
    host_ip,
    host_mac,
    patched,
    port_mac,
)
from testbed import CELLS, FAST_PORTS, LONG_PAUSE, NO_STEPS, SLOW_PORT, PcnTest, Reason, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.qcn_cp import CNM_CLONE_SESSION, QcnPort
from pcn.controller.pfc import PFC_CLONE_SESSION
from pcn.controller.tofino.chips import TOFINO
from pcn.controller.tofino.qcn import W
from pcn.hosts import wire


class QcnTest(PcnTest):
    """QCN's program; `qcn` of the ports that have a congestion point. By default that samples every
    packet."""

    program = "qcn"
    q_eq, w = 5 * FRAME, 2
    qcn: tuple[QcnPort, ...] = (QcnPort(SLOW_PORT, q_eq, w, sample_bytes=1),)

    def plan(self) -> SwitchPlan:
        return replace(
            super().plan(), marking=self.qcn, clone_sessions=(PFC_CLONE_SESSION, CNM_CLONE_SESSION)
        )

    def load_twin(self, address: str, name: str) -> None:
        if any(port.w != W for port in self.qcn):
            self.skipTest(f"Tofino's program has {W} as the weight of the queue's growth")
        if any(port.adaptive and port.sample_bytes > 1 for port in self.qcn):
            self.skipTest("Tofino's program has fixed intervals")
        if self.live:
            self.skipTest(NO_STEPS)
        super().load_twin(address, name)

    def messages(self, n: int, first: int = 1, old: int = 0) -> dict[int, bytes]:
        """By PSN, of those of n packets from port 1 to the slow port that get one, if all are
        sampled. `first`: packets that wait with the first of them."""
        by_psn = {}
        for psn in range(n):
            queue = self.queue(first + psn)
            value = self.feedback(queue, old)
            if value:
                by_psn[psn] = message(1, SLOW_PORT, psn, value, queue)
            old = queue
        return by_psn

    def queue(self, packets: int) -> int:
        """The bytes of a queue of `packets` packets, with the one that is sampled, as the program
        counts them."""
        return (
            (packets - 1) * TOFINO.cells(FRAME) * TOFINO.cell_bytes
            if self.twin
            else packets * FRAME
        )

    def feedback(self, queue: int, old: int) -> int:
        return (
            chip_feedback(queue, old, self.q_eq)
            if self.twin
            else feedback(queue, old, self.q_eq, self.w)
        )

    def sampled(self, port: int = SLOW_PORT) -> None:
        """Returns once the packets that wait at a paused port have been sampled."""
        if self.twin:
            self.resume(port)

    def hold(self, n: int, port: int = SLOW_PORT) -> None:
        self.pause(port)
        self.send(1, *(data(1, port, psn=psn) for psn in range(n)))
        self.wait_until_waiting(port, n)

    def received(self, n: int) -> list[wire.CnmPacket]:
        """The next n messages at port 1."""
        cnm_packets = messages(self.receive(1, n))
        self.assertEqual(len(cnm_packets), n)
        return cnm_packets


class SourcesAreToldHowFarAndHowFast(QcnTest):
    """Byte for byte, from the first packet with feedback to where 6 bits are full. Data isn't
    changed."""

    def runTest(self) -> None:
        n = 40
        expected = self.messages(n)
        values = [
            self.feedback(self.queue(count), self.queue(count - 1)) for count in range(2, n + 1)
        ]
        self.assertEqual(
            (values[2], values[3], values[-1]), (0, 3, MAX) if self.twin else (2, 5, MAX)
        )
        self.hold(n)
        if self.twin:
            self.assertEqual(self.counters("marked"), {})
        self.sampled()
        self.expect(1, *expected.values())
        self.expect_nothing(1, 2, 3)
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): len(expected)})
        self.assertEqual(self.counter("marked", index(SLOW_PORT)).bytes, len(expected) * FRAME)
        self.resume(SLOW_PORT)
        arrivals = self.receive(SLOW_PORT, n)
        self.assertEqual({arrival.data.ecn for arrival in arrivals}, {wire.ECN_ECT0})
        self.assertEqual({arrival.data.psn for arrival in arrivals}, set(range(n)))


class AQueueThatFallsTellsNothing(QcnTest):
    """Above its set point, but falling faster than that."""

    def runTest(self) -> None:
        n, left = 20, 11
        self.hold(n)
        self.resume(SLOW_PORT)
        self.receive(SLOW_PORT, n - left)
        self.pause(SLOW_PORT)
        self.advance(0.1)  # what has started leaves
        waiting = self.register("waiting_packets", index(SLOW_PORT))
        self.assertGreater(waiting + 1, 5, "not above the set point any more")
        # The first finds fewer than the sample before it. Then the queue grows again, by one
        # packet.
        self.send(1, data(1, SLOW_PORT, psn=0), data(1, SLOW_PORT, psn=1))
        self.wait_until_waiting(SLOW_PORT, waiting + 2)
        self.sampled()
        queue = self.queue(waiting + 2)
        value = self.feedback(queue, self.queue(waiting + 1))
        self.expect(1, *self.messages(n).values(), message(1, SLOW_PORT, 1, value, queue))
        self.expect_nothing(1)


class BelowTheSetPointNothingIsTold(QcnTest):
    """And what is too little for one of 63 steps isn't, either."""

    w = 0
    q_eq = 63 * FRAME
    qcn = (QcnPort(SLOW_PORT, q_eq, w, sample_bytes=1),)

    def runTest(self) -> None:
        self.hold(65)
        # One packet above the set point is one step.
        self.expect(
            1, message(1, SLOW_PORT, 63, 1, 64 * FRAME), message(1, SLOW_PORT, 64, 2, 65 * FRAME)
        )
        self.expect_nothing(1)


class SamplesAreCloserTheWorseItIs(QcnTest):
    """From one to the next, sample_bytes give or take 15%, divided by 1 + F_b / 8; and not always
    as many."""

    w = 0
    q_eq = 100 * FRAME
    sample = 100 * FRAME
    qcn = (QcnPort(2, q_eq, w, sample),)

    def runTest(self) -> None:
        n = 1000
        self.hold(n, port=2)
        cnms = self.received(self.counters("marked")[index(2)])
        gaps: dict[int, list[float]] = {}
        for before, after in itertools.pairwise(cnms):
            step = 1 + before.feedback // 8
            counted = (after.psn - before.psn) * FRAME * step
            self.assertGreaterEqual(counted, 0.85 * self.sample, before)
            self.assertLess(counted, 1.15 * self.sample + FRAME * step, before)
            gaps.setdefault(step, []).append(counted / self.sample)
        self.assertEqual(cnms[-1].feedback, MAX)
        closest = gaps[8]
        self.assertGreater(len(closest), 40)
        self.assertLess(min(closest), 0.95)
        self.assertGreater(max(closest), 1.05)
        for cnm in cnms:
            self.assertEqual(cnm.queue_bytes, (cnm.psn + 1) * FRAME)
            self.assertEqual(cnm.feedback, feedback(cnm.queue_bytes, 0, self.q_eq, self.w))


class SamplesAreAsFarApartWhereTheIntervalIsFixed(QcnTest):
    """However bad it is: sample_bytes give or take 15%; on Tofino a power of two."""

    q_eq = 20 * FRAME
    sample = 10 * FRAME
    qcn = (QcnPort(2, q_eq, QcnTest.w, sample, adaptive=False),)

    def runTest(self) -> None:
        self.hold(600, port=2)
        self.sampled(2)
        if self.twin:
            self.receive(2, 600)
        cnms = self.received(self.counters("marked")[index(2)])
        self.assertEqual(cnms[-1].feedback, MAX)
        self.assertGreater(len(cnms), 40)
        least, most = interval(self.sample, self.twin)
        for before, after in itertools.pairwise(cnms):
            gap = (after.psn - before.psn) * FRAME
            self.assertGreaterEqual(gap, least, before)
            self.assertLess(gap, most + FRAME, before)


class AnUncongestedPortIsSampledAllTheSame(QcnTest):
    """What was sampled is the old queue of the next sample."""

    def runTest(self) -> None:
        self.send(1, data(1, SLOW_PORT))
        self.receive(SLOW_PORT)
        self.assertEqual(self.register("sampled_bytes", index(SLOW_PORT)), self.queue(1))
        if not self.twin:
            self.assertEqual(self.register("sampled_feedback", index(SLOW_PORT)), 0)
        self.expect_nothing()
        self.assertEqual(self.counters("marked"), {})


class PortsHaveCongestionPointsOfTheirOwn(QcnTest):
    # Of one set point: Tofino's table has no room for the steps of two.
    qcn = (QcnPort(SLOW_PORT, 5 * FRAME, 2, 1), QcnPort(2, 5 * FRAME, 2, 10**9, adaptive=False))

    def runTest(self) -> None:
        n = 10
        self.hold(n, port=2)
        self.hold(n, port=3)
        self.hold(n)
        for port in (2, 3, SLOW_PORT):
            self.sampled(port)
        self.expect(1, *self.messages(n).values())
        self.expect_nothing(1)
        self.assertEqual(set(self.counters("marked")), {index(SLOW_PORT)})


class OnlyRoceDataIsSampled(QcnTest):
    """Neither CNPs nor what isn't RoCE; nor, by Tofino's program, what PFC doesn't stop."""

    def runTest(self) -> None:
        lossy = set(range(8)) - {ROCE_CLASS, CNP_CLASS}
        for number in lossy:
            self.send(
                1,
                *(data(1, SLOW_PORT, psn=psn, dscp=number << 3, payload=250) for psn in range(12)),
            )
        self.send(1, *(cnp(1, SLOW_PORT) for _ in range(12)))
        plain_udp = patched(data(1, SLOW_PORT), 36, (80).to_bytes(2, "big"), fix_checksum=False)
        self.pause(SLOW_PORT)
        self.send(1, *[plain_udp] * 12)
        self.wait_until_waiting(SLOW_PORT, 12)
        self.sampled()
        self.expect_nothing(1)
        self.assertEqual(self.counters("marked"), {})
        sampled = set() if self.twin else {index(SLOW_PORT, number) for number in lossy}
        self.assertEqual(set(self.registers("sampled_bytes")), sampled)


class LossyClassesAreSampled(QcnTest):
    """As lossless ones."""

    def runTest(self) -> None:
        if self.twin:
            self.skipTest("Tofino's program samples lossless classes alone")
        n, number = 12, 1
        self.occupy_slow_port(2, 40)
        self.send(1, *(data(1, SLOW_PORT, psn=psn, dscp=number << 3) for psn in range(n)))
        messages = self.messages(n)
        self.expect(1, *messages.values())
        self.receive_data(n, number)
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT, number): len(messages)})


class AMessagePassesPausedPorts(QcnTest):
    """It has the highest class, which no neighbour pauses, while data to the same host has to
    wait."""

    def runTest(self) -> None:
        n = 10
        self.pause(1)
        self.send(2, data(2, 1))
        self.wait_until_waiting(1, 1)
        self.hold(n)
        self.sampled()
        self.expect(1, *self.messages(n).values())


class AMessageFromElsewhereIsForwarded(QcnTest):
    """As any packet: this switch has nothing to add."""

    def runTest(self) -> None:
        packet = wire.CnmPacket(host_mac(1), port_mac(1), host_ip(1), host_ip(2), 7, 8, 9, 10)
        frame = wire.encode_cnm(packet)
        self.send(1, frame)
        self.expect(2, forwarded(frame, 2))
        self.expect_nothing()


class AnUnknownSourceIsToldNothing(QcnTest):
    """The message has no route: dropped, and counted at the port where the sampled packet came in;
    on Tofino at the one that it loops back from."""

    def runTest(self) -> None:
        n = 10
        self.pause(SLOW_PORT)
        self.send(
            1, *(patched(data(1, SLOW_PORT, psn=psn), 26, bytes((10, 9, 9, 9))) for psn in range(n))
        )
        self.wait_until_waiting(SLOW_PORT, n)
        self.sampled()
        # a message is recirculated once, then forwarded
        self.advance(n * 8 * FRAME / self.rates_bps[SLOW_PORT])
        cell = index(TOFINO.recirculation_port if self.twin else 1, Reason.NO_ROUTE)
        dropped = {cell: len(self.messages(n))}
        self.wait_for_value(
            lambda: self.counters("dropped", [*CELLS, cell]), dropped, "messages dropped"
        )


class PfcFramesComeFirst(QcnTest):
    """A packet can be cloned once: that which a PAUSE falls due at isn't sampled, the next one
    is."""

    pfc_ports = FAST_PORTS
    n, xoff = 12, 6

    not_on_chip = "Tofino's traffic manager sends PFC frames"

    def plan(self) -> SwitchPlan:
        plan = super().plan()
        pfc = tuple(
            replace(port, xoff_bytes=self.xoff * FRAME, xon_bytes=FRAME) for port in plan.pfc
        )
        return replace(plan, pfc=(*pfc, replace(self.pfc_defaults, port=SLOW_PORT)))

    def runTest(self) -> None:
        self.hold(self.n)
        # The PAUSE falls due at the packet that exceeds XOFF, number xoff from 0.
        after = self.messages(self.n - self.xoff - 1, first=self.xoff + 2, old=self.xoff * FRAME)
        cnm_frames = list(self.messages(self.xoff).values())
        cnm_frames += [
            message(1, SLOW_PORT, self.xoff + 1 + psn, *self.value(frame))
            for psn, frame in after.items()
        ]
        arrivals = self.receive(1, len(cnm_frames) + 1)
        self.assertEqual(
            sorted(arrival.frame.hex() for arrival in arrivals),
            sorted(frame.hex() for frame in (*cnm_frames, expected_pfc(1, LONG_PAUSE))),
        )
        self.resume(SLOW_PORT)
        self.receive(SLOW_PORT, self.n)
        self.expect(1, expected_pfc(1, 0))

    def value(self, frame: bytes) -> tuple[int, int]:
        packet = wire.decode(frame)
        assert isinstance(packet, wire.CnmPacket)
        return packet.feedback, packet.queue_bytes
