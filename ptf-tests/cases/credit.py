"""Flow control packets of InfiniBand's credits, as TCD follows them: what ends a lack of credits
counts as a RESUME, and where a port has no credits they are frames of an unknown type."""

import struct
from dataclasses import replace

from frames import FRAME, ROCE_CLASS, data, forwarded
from testbed import PcnTest, Reason, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.credit import BLOCK_BYTES, MOST_BLOCKS, CreditPort

PORT = 2
COUNTS = 4096
FRAME_BLOCKS = -(-FRAME // BLOCK_BYTES)


def flow_control(limit: int, lane: int = ROCE_CLASS) -> bytes:
    """From the neighbour of a port: how far it lets a lane go, in blocks."""
    return bytes(12) + b"\x88\xb5" + struct.pack(">I", lane << 12 | limit % COUNTS) + bytes(42)


class CreditTest(PcnTest):
    program = "tcd"
    not_on_chip = "there are no credits on the chip"

    def plan(self) -> SwitchPlan:
        credits = CreditPort(PORT, MOST_BLOCKS, FRAME_BLOCKS)
        return replace(super().plan(), marking=(credits,))


class CreditsForAFrameAgainAreAResume(CreditTest):
    """What departs takes credits until a frame lacks them; more of them are a RESUME, at that time,
    and yet more are none."""

    def runTest(self) -> None:
        cell = index(PORT)
        self.send(PORT, flow_control(MOST_BLOCKS))
        self.assertEqual(self.register("resumed_at", cell), 0)
        n = MOST_BLOCKS // FRAME_BLOCKS  # behind them are credits for less than a frame
        for psn in range(n):
            frame = data(1, PORT, psn=psn)
            self.send(1, frame)
            self.expect(PORT, forwarded(frame, PORT))
        self.assertEqual(self.register("fctbs", cell), n * FRAME_BLOCKS)
        self.send(PORT, flow_control(MOST_BLOCKS + 1, lane=ROCE_CLASS + 1))
        self.assertEqual(self.register("resumed_at", cell), 0)
        self.send(PORT, flow_control(MOST_BLOCKS + FRAME_BLOCKS))
        resumed = self.register("resumed_at", cell)
        self.assertGreater(resumed, 0)
        self.advance(1e-3)
        self.send(PORT, flow_control(MOST_BLOCKS + 2 * FRAME_BLOCKS))
        self.assertEqual(self.register("resumed_at", cell), resumed)
        self.assertEqual(self.register("fccl", cell), 2 * FRAME_BLOCKS)
        self.expect_nothing()
        self.assertEqual(self.counters("dropped"), {})


class APortWithoutCreditsKnowsNone(CreditTest):
    def runTest(self) -> None:
        self.send(PORT + 1, flow_control(MOST_BLOCKS))
        self.expect_nothing()
        unknown = index(PORT + 1, Reason.UNKNOWN_ETHERTYPE)
        self.assertEqual(self.counters("dropped"), {unknown: 1})
        self.assertEqual(self.registers("fccl"), {})
