"""PFC received: what a PAUSE stops and what it doesn't, RESUME, expiry."""

from dataclasses import replace

from frames import CNP_CLASS, OTHER_CLASS, ROCE_CLASS, cnp, data, forwarded, patched, pfc
from testbed import FAST_PORTS, LONG_PAUSE, QUANTUM_US, PcnTest, index

from pcn.hosts import wire

CLASS_ENABLE = 16  # offset in a PFC frame


class StopsItsClassAlone(PcnTest):
    """A paused class waits; other classes of the port, and the class at other ports, don't."""

    def runTest(self) -> None:
        self.pause(2)
        held = [data(1, 2, psn=psn) for psn in range(5)]
        self.send(1, *held)
        self.wait_until_waiting(2, len(held))
        others = [data(1, 2, dscp=number << 3) for number in range(8) if number != ROCE_CLASS]
        for frame in others:
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
        for port in (1, 3):
            frame = data(2, port)
            self.send(2, frame)
            self.expect(port, forwarded(frame, port))
        self.expect_nothing()
        self.assertEqual(self.registers("waiting_packets"), {index(2): len(held)})
        self.assertEqual(self.registers("waiting_bytes"), {index(2): sum(map(len, held))})
        self.assertEqual(self.registers("held_bytes"), {index(1): sum(map(len, held))})
        self.resume(2)
        arrivals = self.receive(2, len(held))
        self.assertEqual(sorted(arrival.data.psn for arrival in arrivals), list(range(len(held))))
        self.assertTrue(
            all(arrival.frame == forwarded(held[arrival.data.psn], 2) for arrival in arrivals)
        )


class CnpsPassPausedPort(PcnTest):
    """Even while data is recirculated there, and even if the neighbour pauses every class: class 7
    isn't lossless."""

    def runTest(self) -> None:
        self.pause(2, classes=range(8))
        self.send(1, *(data(1, 2, psn=psn) for psn in range(50)))
        self.wait_until_waiting(2, 50)
        for number in range(50):
            notice = cnp(
                1, 2, wire.ECN_CE if number % 2 == 0 else wire.ECN_ECT0, rate_mbps=number + 1
            )
            self.send(1, notice)
            self.expect(2, forwarded(notice, 2))
        self.assertEqual(self.registers("waiting_packets"), {index(2): 50})
        cell = index(2, CNP_CLASS)
        self.assertEqual(self.counters("transmitted", [cell]), {cell: 50})


class LongPauseUnderLoadLosesNothing(PcnTest):
    """200 packets from two ports meet a pause, some before and some while it lasts: each leaves
    once."""

    def runTest(self) -> None:
        n = 100
        for psn in range(n):
            if psn == n // 4:
                self.advance(0.005)
                self.pause(2)
            self.send(1, data(1, 2, psn=psn))
            self.send(3, data(3, 2, psn=psn))
        cell = index(2)
        inside = 2 * n - self.counters("transmitted", [cell]).get(cell, 0)
        self.wait_until_waiting(2, inside)
        self.assertGreaterEqual(inside, n)
        self.advance(0.1)  # for every packet to go round, in 85 us each
        self.wait_for(lambda: self.counter("held", cell).packets >= inside, "packets to go round")
        self.resume(2)
        arrivals = self.receive(2, 2 * n)
        seen = sorted((arrival.data.src_ip[3], arrival.data.psn) for arrival in arrivals)
        self.assertEqual(seen, [(source, psn) for source in (1, 3) for psn in range(n)])
        self.wait_for_value(self.inside, {}, "left inside")
        self.assertEqual(self.counters("transmitted", [cell]), {cell: 2 * n})
        self.assertEqual(self.counter("transmitted", cell).bytes, 2 * n * len(data(1, 2)))
        self.assertEqual(self.counters("dropped"), {})


class QuantaExpire(PcnTest):
    """A PAUSE of 400 ms whose RESUME is lost lets go when 400 ms have passed, not before."""

    def runTest(self) -> None:
        quanta = 400
        start = self.wires.now
        self.send(2, pfc(2, {ROCE_CLASS: quanta}))
        self.wait_for_value(lambda: self.registers("tx_paused"), {index(2): 1}, "paused ports")
        frame = data(1, 2)
        self.send(1, frame)
        (arrival,) = self.expect(2, forwarded(frame, 2))
        self.assertGreaterEqual(arrival.at - start, quanta * QUANTUM_US / 1e6)
        self.assertEqual(self.counters("resume_received"), {})
        self.wait_for_value(self.inside, {}, "left inside")


class PauseIsProlonged(PcnTest):
    """Each PAUSE counts from its arrival, for its own time: a neighbour that refreshes it holds the
    port."""

    def runTest(self) -> None:
        self.pause(2, quanta=500)
        first = self.register("tx_pause_expiry", index(2))
        self.pause(2, quanta=LONG_PAUSE)
        second = self.register("tx_pause_expiry", index(2))
        longer_us = (LONG_PAUSE - 500) * QUANTUM_US
        self.assertGreaterEqual(second - first, longer_us)
        self.assertLess(second - first, 1.5 * longer_us)
        self.pause(2, quanta=500)
        third = self.register("tx_pause_expiry", index(2))
        self.assertLess(third, second)


class ResumeWithoutPauseChangesNothing(PcnTest):
    def runTest(self) -> None:
        for port in FAST_PORTS:
            self.resume(port, classes=range(8))
        self.assertEqual(self.inside(), {})
        frame = data(1, 2)
        self.send(1, frame)
        self.expect(2, forwarded(frame, 2))
        expected = {index(port, number): 1 for port in FAST_PORTS for number in range(8)}
        self.assertEqual(self.counters("resume_received"), expected)


class SeveralClassesInOneFrame(PcnTest):
    """One frame may pause some classes, resume others and leave the rest alone; of lossy ones it is
    only counted."""

    def runTest(self) -> None:
        self.pause(2)
        self.send(2, pfc(2, {0: 9, ROCE_CLASS: 0, 5: 1, 7: 0}))
        expected = {index(2, ROCE_CLASS): 1, index(2, 0): 1, index(2, 5): 1}
        self.wait_for_value(lambda: self.counters("pause_received"), expected, "PAUSE received")
        expected = {index(2, ROCE_CLASS): 1, index(2, 7): 1}
        self.wait_for_value(lambda: self.counters("resume_received"), expected, "RESUME received")
        self.assertEqual(self.registers("tx_paused"), {})


class EachClassHasItsOwnQuanta(PcnTest):
    """A frame that enables one class speaks of that class alone, whatever stands in the other
    fields."""

    pfc_defaults = replace(PcnTest.pfc_defaults, lossless=0xFF)

    def runTest(self) -> None:
        for number in range(8):
            cell = index(2, number)
            alone = pfc(2, {number: LONG_PAUSE})
            others = pfc(
                2, {priority: 0 if priority == number else LONG_PAUSE for priority in range(8)}
            )
            self.send(2, alone)
            self.wait_for_value(lambda: self.registers("tx_paused"), {cell: 1}, "paused ports")
            self.send(
                2,
                patched(
                    others, CLASS_ENABLE, alone[CLASS_ENABLE : CLASS_ENABLE + 2], fix_checksum=False
                ),
            )
            self.wait_for_value(lambda: self.registers("tx_paused"), {}, "paused ports")
        expected = {index(2, number): 1 for number in range(8)}
        self.assertEqual(self.counters("pause_received"), expected)
        self.assertEqual(self.counters("resume_received"), expected)


class TwoPortsAtOnce(PcnTest):
    """Two paused ports hold and release what is theirs."""

    def runTest(self) -> None:
        self.pause(2)
        self.pause(3)
        for psn in range(40):
            self.send(1, data(1, 2, psn=psn), data(1, 3, psn=1000 + psn))
        self.wait_until_waiting(2, 40)
        self.wait_until_waiting(3, 40)
        self.resume(3)
        self.assertEqual(sorted(a.data.psn for a in self.receive(3, 40)), list(range(1000, 1040)))
        self.assertEqual(self.registers("waiting_packets"), {index(2): 40})
        self.assertEqual(self.registers("tx_paused"), {index(2): 1})
        self.assertEqual(self.registers("held_bytes"), {index(1): 40 * len(data(1, 2))})
        self.expect_nothing()
        self.resume(2)
        self.assertEqual(sorted(a.data.psn for a in self.receive(2, 40)), list(range(40)))


class PortWithoutPfcObeysNone(PcnTest):
    """A port that isn't configured counts a PAUSE and goes on sending."""

    pfc_ports = (1, 3)

    def runTest(self) -> None:
        self.pause(2, classes=range(8))
        self.assertEqual(self.registers("tx_paused"), {})
        for frame in (data(1, 2), data(1, 2, dscp=OTHER_CLASS)):
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
