"""What tests of QCN's congestion points at inputs share."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from cnm import chip_feedback, feedback, messages
from frames import FRAME, host_ip, host_mac, port_mac
from testbed import NO_STEPS, PcnTest, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.qcn_cp import CNM_CLONE_SESSION
from pcn.controller.marking.qcn_in_cp import QcnInPort
from pcn.controller.pfc import PFC_CLONE_SESSION
from pcn.controller.tofino.model import CULPRITS
from pcn.controller.tofino.qcn import W
from pcn.hosts import wire

SLOTS = 1023


def packet(destination: int, qp: int, psn: int = 0, source: int = 1) -> bytes:
    """Of a flow between two ports' hosts."""
    return wire.encode_data(
        wire.DataPacket(
            host_mac(source),
            port_mac(source),
            host_ip(source),
            host_ip(destination),
            qp,
            psn,
            bytes(1000),
        )
    )


class QcnInTest(PcnTest):
    """Every packet of the point's port, 1, is sampled by default."""

    program = "qcn_in"
    q_eq, w = 5 * FRAME, 2
    point: ClassVar[QcnInPort] = QcnInPort(1, q_eq, w, sample_bytes=1)

    def plan(self) -> SwitchPlan:
        return replace(
            super().plan(),
            marking=(self.point,),
            clone_sessions=(PFC_CLONE_SESSION, CNM_CLONE_SESSION),
        )

    def load_twin(self, address: str, name: str) -> None:
        if self.live:
            self.skipTest(NO_STEPS)
        if self.point.w != W:
            self.skipTest(f"Tofino's program has {W} as the weight of the queue's growth")
        if self.point.culprit.name.lower() not in CULPRITS:
            self.skipTest(f"Tofino's program has no culprit {self.point.culprit.name}")
        super().load_twin(address, name)

    def value(self, queue: int, old: int) -> int:
        """The feedback of a queue and the one before it."""
        point = self.point
        if self.twin:
            return chip_feedback(queue, old, point.q_eq_bytes)
        return feedback(queue, old, point.q_eq_bytes, point.w)

    def tearDown(self) -> None:
        """Nothing inside is known of nothing inside."""
        super().tearDown()
        if self.twin:
            return
        port = self.point.port
        self.assertEqual(self.switch.read_register("slots_used", port), 0)
        slots = [port << 10 | slot for slot in range(SLOTS + 1)]
        self.assertEqual(set(self.switch.read_registers("occupants", slots).values()), {0})
        buckets = [port << 9 | bucket for bucket in range(512)]
        self.assertEqual(set(self.switch.read_registers("flow_bytes", buckets).values()), {0})

    def notified(self) -> int:
        """Messages because of the point's port."""
        return self.counters("notified").get(index(self.point.port), 0)

    def cnms(self, n: int) -> list[wire.CnmPacket]:
        """The next n messages to the host there."""
        cnms: list[wire.CnmPacket] = []
        while len(cnms) < n:
            cnms += messages(self.receive(self.point.port))
        return cnms
