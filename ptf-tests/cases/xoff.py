"""PFC sent: XOFF, XON and refresh, out of the port that fills the switch."""

from dataclasses import replace

from frames import CNP_CLASS, FRAME, ROCE_CLASS, cnp, data, expected_pfc, pfc
from testbed import QUANTUM_US, SLOW_PORT, PcnTest, index

XOFF, XON = 20 * FRAME, 10 * FRAME
QUANTA = 12_345


class XoffTest(PcnTest):
    not_on_chip = "Tofino's traffic manager sends PFC frames"
    pfc_defaults = replace(PcnTest.pfc_defaults, xoff_bytes=XOFF, xon_bytes=XON, quanta=QUANTA)

    def fill(self, source: int, destination: int, n: int, psn: int = 0) -> None:
        """n packets into a paused port; returns once they are inside."""
        before = self.register("waiting_packets", index(destination))
        self.send(source, *(data(source, destination, psn=psn + i) for i in range(n)))
        self.wait_until_waiting(destination, before + n)


class OnePauseAndOneResume(XoffTest):
    """The packet that takes a port past XOFF causes one PAUSE out of that port, whatever follows;
    the departure that takes it below XON one RESUME."""

    def runTest(self) -> None:
        self.pause(2)
        self.fill(1, 2, 20)
        self.expect_nothing()
        self.assertEqual(self.registers("xoff_sent"), {})
        self.fill(1, 2, 1)
        self.expect(1, expected_pfc(1, QUANTA))
        self.fill(1, 2, 30)
        self.expect_nothing()
        self.assertEqual(self.counters("pause_sent"), {index(1): 1})
        self.assertEqual(self.registers("xoff_sent"), {index(1): 1})
        self.assertEqual(self.registers("held_bytes"), {index(1): 51 * FRAME})
        self.assertEqual(self.counters("resume_sent"), {})
        self.resume(2)
        self.expect(1, expected_pfc(1, 0))
        self.receive(2, 51)
        self.wait_for_value(self.inside, {}, "left inside")
        self.expect_nothing()
        self.assertEqual(self.counters("pause_sent"), {index(1): 1})
        self.assertEqual(self.counters("resume_sent"), {index(1): 1})


class AgainAfterResume(XoffTest):
    """XOFF and XON work every time."""

    def runTest(self) -> None:
        for turn in range(1, 4):
            self.pause(2)
            self.fill(1, 2, 25)
            self.expect(1, expected_pfc(1, QUANTA))
            self.resume(2)
            self.expect(1, expected_pfc(1, 0))
            self.receive(2, 25)
            self.wait_for_value(self.inside, {}, "left inside")
            self.assertEqual(self.counters("pause_sent"), {index(1): turn})
            self.assertEqual(self.counters("resume_sent"), {index(1): turn})


class OnlyThePortThatFills(XoffTest):
    """Two ports fill one queue: only the one with more than XOFF inside is paused."""

    def runTest(self) -> None:
        self.pause(2)
        self.fill(1, 2, 10)
        self.fill(3, 2, 21)
        self.expect(3, expected_pfc(3, QUANTA))
        self.expect_nothing()
        self.assertEqual(self.counters("pause_sent"), {index(3): 1})
        self.fill(1, 2, 11)
        self.expect(1, expected_pfc(1, QUANTA))
        self.resume(2)
        self.expect(1, expected_pfc(1, 0))
        self.expect(3, expected_pfc(3, 0))
        self.receive(2, 42)
        self.assertEqual(self.counters("resume_sent"), {index(1): 1, index(3): 1})


class ThresholdCountsAllOutputs(XoffTest):
    """XOFF is on what a port has inside, wherever it is to leave. It takes more than XOFF, and less
    than XON."""

    def runTest(self) -> None:
        self.pause(2)
        self.pause(3)
        self.fill(1, 2, 10)
        self.fill(1, 3, 10)
        self.expect_nothing()
        self.fill(1, 3, 1)
        self.expect(1, expected_pfc(1, QUANTA))
        self.resume(3)
        self.receive(3, 11)
        self.assertEqual(self.registers("held_bytes"), {index(1): XON})
        self.expect_nothing(1)
        self.resume(2)
        self.expect(1, expected_pfc(1, 0))
        self.receive(2, 10)


class XonOfZero(XoffTest):
    """Then the last departure resumes: nothing is less than zero bytes."""

    pfc_defaults = replace(XoffTest.pfc_defaults, xon_bytes=0)

    def runTest(self) -> None:
        self.pause(2)
        self.fill(1, 2, 21)
        self.expect(1, expected_pfc(1, QUANTA))
        self.resume(2)
        self.receive(2, 21)
        self.expect(1, expected_pfc(1, 0))


class LossyClassesPauseNobody(XoffTest):
    differences = ("marked_by_counter",)

    def runTest(self) -> None:
        notices = [cnp(1, SLOW_PORT, rate_mbps=rate) for rate in range(1, 41)]
        frames = [data(1, SLOW_PORT, psn=psn, dscp=0) for psn in range(30)]
        self.send(1, *frames, *notices)
        self.receive(SLOW_PORT, len(frames) + len(notices))
        self.assertEqual(self.counters("pause_sent"), {})
        cell = index(SLOW_PORT, CNP_CLASS)
        self.assertEqual(self.counters("transmitted", [cell]), {cell: len(notices)})


class PortWithoutPfcSendsNone(XoffTest):
    pfc_ports = (2, 3, 4)

    def runTest(self) -> None:
        self.pause(2)
        self.fill(1, 2, 30)
        self.expect_nothing()
        self.resume(2)
        self.receive(2, 30)
        self.assertEqual(self.counters("pause_sent"), {})


class PauseIsRefreshed(XoffTest):
    """While a port stays past XON, its PAUSE is sent again, even if nothing comes in; after RESUME
    it isn't."""

    refresh_ms = 100
    pfc_defaults = replace(XoffTest.pfc_defaults, quanta=2 * refresh_ms * 1000 // QUANTUM_US)

    def runTest(self) -> None:
        self.pause(2)
        self.fill(1, 2, 30)
        frames = [expected_pfc(1, self.pfc_defaults.quanta)] * 5
        arrivals = self.expect(1, *frames)
        # The clock that decides is the switch's, at the packet that passes first: ours sees what
        # the queues add.
        self.assertGreaterEqual(
            arrivals[-1].at - arrivals[0].at, 0.9 * (len(frames) - 1) * self.refresh_ms / 1000
        )
        self.resume(2)
        self.receive(2, 30)
        self.wait_for_value(self.inside, {}, "left inside")
        sent = self.counters("pause_sent")[index(1)]
        rest = [arrival.frame for arrival in self.receive(1, sent - len(frames) + 1)]
        self.assertEqual(rest, [frames[0]] * (sent - len(frames)) + [expected_pfc(1, 0)])
        self.expect_nothing()


class AdmissionRefreshes(XoffTest):
    """Behind a higher class nothing goes out or round: what comes in refreshes the PAUSE then, as
    rarely."""

    differences = ("marked_by_time",)
    refresh_ms = 50
    pfc_defaults = replace(XoffTest.pfc_defaults, quanta=2 * refresh_ms * 1000 // QUANTUM_US)

    def runTest(self) -> None:
        n = 4
        self.pause(SLOW_PORT)
        self.occupy_slow_port(3, 200)
        self.fill(1, SLOW_PORT, 21)

        admitted = 0
        while self.counter("pause_sent", index(1)).packets < n:
            self.assertLess(admitted, 100, "packets, and no further PAUSE")
            self.advance(0.01)
            self.send(1, data(1, SLOW_PORT))
            admitted += 1
        if self.target != "bmv2":  # BMv2 shapes each queue alone
            self.assertEqual(self.counters("held"), {})
        arrivals = self.expect(1, *[expected_pfc(1, self.pfc_defaults.quanta)] * n)
        # The clock that decides is the switch's; on a busy machine the first may be late.
        self.assertGreaterEqual(
            arrivals[-1].at - arrivals[0].at, 0.6 * (n - 1) * self.refresh_ms / 1000
        )


class FrameOvertakesData(XoffTest):
    """PAUSE goes out before the data that waits at its port."""

    def runTest(self) -> None:
        waiting = 100
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(waiting)))
        self.pause(2)
        self.fill(SLOW_PORT, 2, 21)
        frames = [arrival.frame for arrival in self.receive(SLOW_PORT, waiting + 1)]
        self.assertLess(frames.index(expected_pfc(SLOW_PORT, QUANTA)), waiting - 10)


class FramePassesPausedPort(XoffTest):
    """A port that is paused itself still sends PAUSE and RESUME."""

    def runTest(self) -> None:
        self.pause(1, classes=range(8))
        self.pause(2)
        self.fill(2, 1, 5)
        self.fill(1, 2, 21)
        self.expect(1, expected_pfc(1, QUANTA))
        self.resume(2)
        self.expect(1, expected_pfc(1, 0))
        self.receive(2, 21)
        self.assertEqual(self.registers("waiting_packets"), {index(1): 5})


class LosslessClassesAreConfigured(XoffTest):
    """Another class than 3 can be the lossless one: then that one is paused, held and marked, and 3
    isn't."""

    lossless_class = 5
    pfc_defaults = replace(XoffTest.pfc_defaults, lossless=1 << lossless_class)

    def runTest(self) -> None:
        self.pause(2, classes=(ROCE_CLASS, self.lossless_class))
        self.assertEqual(self.registers("tx_paused"), {index(2, self.lossless_class): 1})
        self.send(1, *(data(1, 2, psn=psn, dscp=self.lossless_class << 3) for psn in range(21)))
        self.wait_until_waiting(2, 21, self.lossless_class)
        (frame,) = self.receive(1)
        self.assertEqual(frame.frame, expected_pfc(1, QUANTA, self.lossless_class))
        self.send(1, data(1, 2))
        self.receive(2)
        self.send(2, pfc(2, {self.lossless_class: 0}))
        self.receive(2, 21)
        self.assertEqual(self.receive(1)[0].frame, expected_pfc(1, 0, self.lossless_class))
