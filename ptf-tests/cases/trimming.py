"""Packet trimming by the embedded switch's queues: `run.py --trim` has 64 packets a queue, and
classes 1 and 2 trim.

The program has no part in it, so these hold for each.
"""

from typing import Any

import ptf.testutils
from frames import CNP_CLASS, data, forwarded, patched
from testbed import SLOW_PORT, PcnTest, index

from pcn.hosts import wire

TRIMS, DROPS = 1, 4
"""Classes."""
MORE = 20


class TrimmingTest(PcnTest):
    def setUp(self) -> None:
        parameters = ptf.testutils.test_params_get()
        if "trimming" not in parameters:
            self.skipTest("the switch's queues don't trim: run.py --trim")
        self.trimming: dict[str, Any] = parameters["trimming"]
        super().setUp()

    def trimmed(self, frame: bytes, port: int) -> bytes:
        """What becomes of a frame that is trimmed on its way to the host at a port."""
        size = self.trimming["size"]
        cut = patched(
            forwarded(frame, port)[:size], 38, (size - 34).to_bytes(2, "big"), fix_checksum=False
        )
        cut = patched(
            cut, 15, bytes((self.trimming["dscp_value"] << 2 | frame[15] & 3,)), fix_checksum=False
        )
        return patched(cut, 16, (size - 14).to_bytes(2, "big"))

    def overflow(self, traffic_class: int, packets: int) -> list[bytes]:
        """Sends packets of a class to the slow port, which class 7 occupies. No program marks them:
        they aren't ECN-capable."""
        self.occupy_slow_port(2, 20)
        frames = [
            data(1, SLOW_PORT, psn=psn, ecn=wire.ECN_NOT_ECT, dscp=traffic_class << 3)
            for psn in range(packets)
        ]
        self.send(1, *frames)
        return frames

    def arrivals(self, n: int) -> list[bytes]:
        """The next frames that aren't of class 7."""
        frames: list[bytes] = []
        while len(frames) < n:
            frames += [
                arrival.frame
                for arrival in self.receive(SLOW_PORT)
                if arrival.frame[15] >> 5 != CNP_CLASS
            ]
        return frames


class FullQueueTrimsWhatItRefuses(TrimmingTest):
    """Headers come first, `weight` of them for a packet that was kept; lengths, DSCP and checksum
    fit."""

    def runTest(self) -> None:
        depth, weight = self.trimming["depth"], self.trimming["weight"]
        frames = self.overflow(TRIMS, depth + MORE)
        whole = [forwarded(frame, SLOW_PORT) for frame in frames[:depth]]
        cut = [self.trimmed(frame, SLOW_PORT) for frame in frames[depth:]]
        wanted: list[bytes] = []
        while cut:
            wanted += [*cut[:weight], whole.pop(0)]
            cut = cut[weight:]
        got = self.arrivals(depth + MORE)
        self.assertEqual(
            [frame.hex() for frame in got], [frame.hex() for frame in [*wanted, *whole]]
        )


class ProgramCountsTrimmedPacketsWhole(TrimmingTest):
    """They leave its registers as empty as others do (tearDown), and its counters have all of their
    bytes."""

    def runTest(self) -> None:
        packets = self.trimming["depth"] + MORE
        frames = self.overflow(TRIMS, packets)
        self.arrivals(packets)
        counted = self.counter("transmitted", index(SLOW_PORT, TRIMS))
        self.assertEqual((counted.packets, counted.bytes), (packets, packets * len(frames[0])))


class DroppingTest(TrimmingTest):
    """The program has admitted what a queue drops behind its ingress, and counts it still."""

    def inside(self) -> dict[str, dict[int, int]]:
        return {}


class QueueThatDoesNotTrimDrops(DroppingTest):
    def runTest(self) -> None:
        depth = self.trimming["depth"]
        frames = self.overflow(DROPS, depth + MORE)
        self.assertEqual(
            self.arrivals(depth), [forwarded(frame, SLOW_PORT) for frame in frames[:depth]]
        )
        self.expect_nothing(SLOW_PORT)


class ShortPacketIsNotTrimmed(DroppingTest):
    """What is no longer than a trimmed packet is lost."""

    def runTest(self) -> None:
        depth = self.trimming["depth"]
        self.overflow(TRIMS, depth)
        self.send(
            1,
            data(
                1,
                SLOW_PORT,
                psn=depth,
                dscp=TRIMS << 3,
                payload=self.trimming["size"] // 4 * 4 - wire.DATA_OVERHEAD - 2,
            ),
        )
        self.assertEqual({len(frame) for frame in self.arrivals(depth)}, {len(data(1, SLOW_PORT))})
        self.expect_nothing(SLOW_PORT)


class FullQueueOfTrimmedPacketsLosesMore(DroppingTest):
    def runTest(self) -> None:
        depth = self.trimming["depth"]
        self.overflow(TRIMS, 2 * depth + MORE)
        got = self.arrivals(2 * depth)
        self.assertEqual(sum(len(frame) == self.trimming["size"] for frame in got), depth)
        self.expect_nothing(SLOW_PORT)
