"""NP-ECN (PCN, section 5.1): what a pause held up leaves unmarked, and real congestion is marked.

"Exactly those" holds to the packet in the embedded switch, whose queues keep their order. In BMv2 a
packet that is recirculated may be overtaken, so the tests there check how many leave unmarked, not
which.
"""

from frames import CNP_CLASS, ROCE_CLASS, cnp, data, forwarded
from testbed import SLOW_PORT, Arrival, PcnTest, index

from pcn.hosts import wire

CE = wire.ECN_CE


def ecn(arrivals: list[Arrival]) -> list[int]:
    return [arrival.data.ecn for arrival in arrivals]


class PausedTest(PcnTest):
    """A slow port that holds some packets."""

    n = 20

    def hold(self) -> None:
        self.pause(SLOW_PORT)
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(self.n)))
        self.wait_until_waiting(SLOW_PORT, self.n)
        self.outlast(SLOW_PORT)


class ResumeSetsPn(PausedTest):
    """To exactly what waits: the next PAUSE freezes the departures, so that it can be read."""

    def runTest(self) -> None:
        cell = index(SLOW_PORT)
        self.hold()
        self.assertEqual(self.register("pn", cell), 0)
        self.resume(SLOW_PORT)
        self.pause(SLOW_PORT)
        # One departure may be between two reads.
        self.wait_for(
            lambda: self.register("pn", cell) == self.register("waiting_packets", cell),
            "pn of what waits",
        )
        left = self.register("waiting_packets", cell)
        self.assertGreater(left, 0)
        gone = self.receive(SLOW_PORT, self.n - left) if left < self.n else []
        self.assertNotIn(CE, ecn(gone))
        # What comes during the second pause is counted at the second RESUME.
        self.send(2, *(data(2, SLOW_PORT, psn=psn) for psn in range(5)))
        self.wait_until_waiting(SLOW_PORT, left + 5)
        self.outlast(SLOW_PORT)
        self.assertEqual(self.register("pn", cell), left)
        self.resume(SLOW_PORT)
        self.assertNotIn(CE, ecn(self.receive(SLOW_PORT, left + 5)))
        self.assertEqual(self.registers("pn"), {})


class PausedLeaveUnmarkedAndTheNextIsMarked(PausedTest):
    def runTest(self) -> None:
        self.hold()
        self.resume(SLOW_PORT)
        later = 4
        arrivals = self.receive(SLOW_PORT, 1)  # which is the RESUME to NP-ECN by time
        self.send(1, *(data(1, SLOW_PORT, psn=1000 + psn) for psn in range(later)))
        arrivals += self.receive(SLOW_PORT, self.n + later - 1)
        marks = {arrival.data.psn: arrival.data.ecn == CE for arrival in arrivals}
        self.assertEqual(len(marks), self.n + later)
        self.assertFalse(
            any(mark for psn, mark in marks.items() if psn < 1000), "a paused packet was marked"
        )
        if self.target != "bmv2":
            self.assertTrue(
                all(mark for psn, mark in marks.items() if psn >= 1000),
                "a later packet wasn't marked",
            )
        else:
            self.assertTrue(
                any(mark for psn, mark in marks.items() if psn >= 1000),
                "no later packet was marked",
            )
        marked = sum(marks.values())
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): marked})


class ExpiryCountsAsResume(PausedTest):
    """Packets that a pause held until its quanta ran out leave unmarked as well."""

    def runTest(self) -> None:
        self.hold()
        self.pause(SLOW_PORT, quanta=100)
        self.assertNotIn(CE, ecn(self.receive(SLOW_PORT, self.n)))
        self.assertEqual(self.counters("resume_received"), {})


class ExpirySetsPn(PcnTest):
    """To exactly what waits at the first departure after it: that leaves unmarked even if it never
    went round, and what comes later is marked. Class 7 keeps the port busy all the while: nothing
    shows the pause."""

    differences = ("marked_by_time",)

    def runTest(self) -> None:
        n, later = 20, 4
        self.occupy_slow_port(2)
        self.pause(SLOW_PORT, quanta=100)
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(n)))
        self.wait_until_waiting(SLOW_PORT, n)
        arrivals = self.receive_data(1)
        self.send(1, *(data(1, SLOW_PORT, psn=1000 + psn) for psn in range(later)))
        arrivals += self.receive_data(n + later - 1)
        marks = {arrival.data.psn: arrival.data.ecn == CE for arrival in arrivals}
        self.assertEqual(len(marks), n + later)
        if self.by_time:
            self.assertEqual([psn for psn, mark in marks.items() if not mark], [0])
            return
        self.assertFalse(
            any(mark for psn, mark in marks.items() if psn < 1000), "a paused packet was marked"
        )
        if self.target != "bmv2":
            self.assertEqual(self.counters("held"), {})
            self.assertTrue(
                all(mark for psn, mark in marks.items() if psn >= 1000),
                "a later packet wasn't marked",
            )


class ResumeWithoutPauseUnmarksNothing(PcnTest):
    def runTest(self) -> None:
        n = 40
        self.occupy_slow_port(2)
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(n)))
        self.wait_for(
            lambda: self.register("waiting_packets", index(SLOW_PORT)) >= n // 2, "data waiting"
        )
        self.resume(SLOW_PORT)
        self.check_marks([code == CE for code in ecn(self.receive_data(n))])


class CongestedPortMarks(PcnTest):
    """A queue without a pause: who finds it empty isn't marked, who finds a packet waiting is."""

    def runTest(self) -> None:
        n = 12
        frames = [data(1, SLOW_PORT, psn=psn) for psn in range(n)]
        arrivals = self.congest(*frames)
        marks = [arrival.data.ecn == CE for arrival in arrivals]
        self.check_marks(marks)
        for arrival, frame, mark in zip(arrivals, frames, marks, strict=True):
            self.assertEqual(
                arrival.frame,
                forwarded(frame, SLOW_PORT, ce=mark),
                "checksum and all else after marking",
            )
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): sum(marks)})
        self.assertEqual(
            self.counter("marked", index(SLOW_PORT)).bytes, sum(marks) * len(frames[0])
        )


class UncongestedPortMarksNothing(PcnTest):
    def runTest(self) -> None:
        for psn in range(50):
            frame = data(1, 2, psn=psn)
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
        self.assertEqual(self.counters("marked"), {})


class CongestionElsewhereMarksNothing(PcnTest):
    """Packets that cross a port at ease, while another port and another class of theirs are
    congested."""

    def runTest(self) -> None:
        self.send(1, *(data(1, SLOW_PORT, psn=psn) for psn in range(20)))
        self.pause(3)
        self.send(1, *(data(1, 3, psn=psn) for psn in range(20)))
        for psn in range(20):
            frame = data(1, 2, psn=psn)
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
        self.receive(SLOW_PORT, 20)
        self.assertEqual(set(self.counters("marked")), {index(SLOW_PORT)})


class NotEcnCapable(PcnTest):
    """Packets without ECT are never marked, nor counted as marked."""

    def runTest(self) -> None:
        n = 12
        frames = [data(1, SLOW_PORT, psn=psn, ecn=wire.ECN_NOT_ECT) for psn in range(n)]
        self.send(1, *frames)
        self.expect(SLOW_PORT, *(forwarded(frame, SLOW_PORT) for frame in frames))
        self.assertEqual(self.counters("marked"), {})


class BothEctCodepoints(PcnTest):
    def runTest(self) -> None:
        for codepoint in (wire.ECN_ECT0, wire.ECN_ECT1):
            seen = ecn(
                self.congest(*(data(1, SLOW_PORT, psn=psn, ecn=codepoint) for psn in range(6)))
            )
            self.assertEqual((seen[0], seen[-1]), (codepoint, CE))


class CeStays(PcnTest):
    """A CE of an earlier switch isn't taken back, at ease or after a pause."""

    def runTest(self) -> None:
        frame = data(1, 2, ecn=CE)
        self.send(1, frame)
        self.expect(2, forwarded(frame, 2))
        self.pause(2)
        self.send(1, frame)
        self.wait_until_waiting(2, 1)
        self.resume(2)
        self.expect(2, forwarded(frame, 2))
        self.assertEqual(self.counters("marked"), {})


class CeCountsAsMarked(PcnTest):
    """Packets that come with CE to a congested port are counted there like those that get it
    there."""

    def runTest(self) -> None:
        n = 12
        frames = [data(1, SLOW_PORT, psn=psn, ecn=CE) for psn in range(n)]
        for _ in self.tries():
            before = self.counter("marked", index(SLOW_PORT)).packets
            arrivals = self.congest(*frames)
            self.assertEqual(
                [arrival.frame for arrival in arrivals],
                [forwarded(frame, SLOW_PORT) for frame in frames],
            )
            # The first finds nothing; on a live target the second may find the first on its way
            # out.
            counted = self.counter("marked", index(SLOW_PORT)).packets - before
            if counted in ((n - 1, n - 2) if self.live else (n - 1,)):
                return


class PortWithoutPfcMarks(PcnTest):
    """RoCE data is marked from a port that isn't configured as well."""

    pfc_ports = (2, 3, SLOW_PORT)

    def runTest(self) -> None:
        arrivals = self.congest(*(data(1, SLOW_PORT, psn=psn) for psn in range(12)))
        self.check_marks([code == CE for code in ecn(arrivals)])


class LossyClassesAreMarked(PcnTest):
    """As lossless ones, but by NP-ECN by time, which watches lossless classes alone."""

    differences = ("marked_by_counter",)

    def runTest(self) -> None:
        for number in set(range(8)) - {ROCE_CLASS, CNP_CLASS}:
            frames = [data(1, SLOW_PORT, psn=psn, dscp=number << 3) for psn in range(4)]
            arrivals = self.congest(*frames, traffic_class=number)
            marks = [code == CE for code in ecn(arrivals)]
            if self.by_time:
                self.assertFalse(any(marks), number)
            else:
                self.check_marks(marks)


class HighestClassIsNotMarked(PcnTest):
    """CNPs, whose ECN field has another meaning."""

    def runTest(self) -> None:
        notices = [cnp(1, SLOW_PORT, wire.ECN_ECT0, rate_mbps=rate) for rate in range(1, 20)]
        self.send(1, *notices)
        self.expect(SLOW_PORT, *(forwarded(notice, SLOW_PORT) for notice in notices))
        self.assertEqual(self.counters("marked"), {})
