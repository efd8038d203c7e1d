"""Hosts that misbehave harm themselves: floods of PFC frames, and frames made to look like the
switch's own."""

from frames import ROCE_CLASS, cnp, data, expected_pfc, forwarded, pfc, port_mac
from testbed import FAST_PORTS, PcnTest, index

from pcn.hosts import wire


class PfcFloodHarmsItsOwnPort(PcnTest):
    """A host sends PFC frames as fast as it can, for every class: traffic between the others goes
    on, unmarked and complete, and CNPs reach the flooding host itself."""

    not_on_chip = "Tofino's MACs take PFC frames"

    def runTest(self) -> None:
        flood = [pfc(3, dict.fromkeys(range(8), quanta)) for quanta in (0xFFFF, 0, 60_000, 1)]
        n = 50
        for psn in range(n):
            self.send(3, *flood)
            self.send(1, data(1, 2, psn=psn))
            self.send(2, data(2, 1, psn=psn))
        for port in (1, 2):
            arrivals = self.receive(port, n)
            self.assertEqual([arrival.data.psn for arrival in arrivals], list(range(n)))
        notice = cnp(1, 3)
        self.send(1, notice)
        self.expect(3, forwarded(notice, 3))
        pauses = self.counters("pause_received")
        expected = {index(3, number): 3 * n for number in range(8)}
        self.wait_for_value(
            lambda: self.counters("pause_received"), expected, f"PAUSE received, first {pauses}"
        )
        self.assertEqual({cell >> 3 for cell in self.registers("tx_paused")} - {3}, set())
        self.assertEqual(self.counters("dropped"), {})


class OwnFramesFromOutside(PcnTest):
    """The switch's own PFC frames and addresses, sent back to it, are a neighbour's frames like any
    other; and what a host sends as if it had been forwarded already is a new packet."""

    not_on_chip = "Tofino's MACs take PFC frames"

    def runTest(self) -> None:
        self.send(1, expected_pfc(1, 60_000))
        self.wait_for_value(lambda: self.registers("tx_paused"), {index(1): 1}, "paused ports")
        self.expect_nothing(2, 3)
        self.assertEqual(self.counters("pause_sent"), {})
        again = forwarded(forwarded(data(1, 2), 2), 2)
        self.send(1, again)
        self.expect(2, forwarded(again, 2))
        self.assertEqual(self.counters("transmitted", [index(2)]), {index(2): 1})


class SpoofedSourceIsNobody(PcnTest):
    """What counts is the port a frame came in by, not the addresses in it."""

    not_on_chip = "Tofino's MACs take PFC frames"

    def runTest(self) -> None:
        frame = wire.encode_pfc(wire.PfcFrame(port_mac(2), {ROCE_CLASS: 60_000}))
        self.send(3, frame)
        self.wait_for_value(lambda: self.registers("tx_paused"), {index(3): 1}, "paused ports")
        for port in FAST_PORTS[:2]:
            packet = data(3, port)
            self.send(3, packet)
            self.expect(port, forwarded(packet, port))
