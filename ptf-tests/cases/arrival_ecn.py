"""Marks by the queue on arrival (DCTCP, 3.1 (1)): what a packet finds decides, and itself.

A pause gathers a known queue: the k-th of the packets that it holds makes the queue k packets long.
"""

from dataclasses import replace

from frames import CNP_CLASS, FRAME, cnp, data, forwarded
from testbed import SLOW_PORT, Arrival, PcnTest, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.marking.arrival_ecn import ArrivalPort
from pcn.hosts import wire

CE = wire.ECN_CE


def above(packets: int, port: int = SLOW_PORT) -> ArrivalPort:
    """Marks what makes the queue longer than this number of packets."""
    return ArrivalPort(port, packets * FRAME)


def marked(arrivals: list[Arrival]) -> list[int]:
    """PSNs of those that are marked."""
    return sorted(arrival.data.psn for arrival in arrivals if arrival.data.ecn == CE)


class ArrivalTest(PcnTest):
    """DCTCP's program; `ports` of those that mark."""

    program = "dctcp"
    ports: tuple[ArrivalPort, ...] = (above(5),)

    def plan(self) -> SwitchPlan:
        return replace(super().plan(), marking=self.ports)


class WhatArrivesAboveKIsMarked(ArrivalTest):
    """And stays so while a pause holds it; a queue of exactly K is not above."""

    def runTest(self) -> None:
        self.assertEqual(marked(self.held(20)), list(range(5, 20)))
        self.assertEqual(self.counters("marked"), {index(SLOW_PORT): 15})
        self.assertEqual(self.counter("marked", index(SLOW_PORT)).bytes, 15 * FRAME)


class OneByteLessMarksOnePacketMore(ArrivalTest):
    ports = (ArrivalPort(SLOW_PORT, 5 * FRAME - 1),)

    def runTest(self) -> None:
        self.assertEqual(marked(self.held(8)), [4, 5, 6, 7])


class QueueThatHasDrainedMarksNothing(ArrivalTest):
    """The first packets after a queue was full find it empty."""

    def runTest(self) -> None:
        self.held(20)
        self.assertEqual(marked(self.held(5)), [])


class QueueOfAnotherClassOrPortDoesNotCount(ArrivalTest):
    ports = (above(1), above(1, port=2))

    def runTest(self) -> None:
        self.occupy_slow_port(2, 20)
        frame = data(1, 2)
        self.send(1, frame)
        self.expect(2, forwarded(frame, 2))
        self.send(1, data(1, SLOW_PORT))
        self.assertEqual(marked(self.receive_data(1)), [])
        self.assertEqual(self.counters("marked"), {})


class PortsHaveThresholdsOfTheirOwn(ArrivalTest):
    ports = (above(8), above(2, port=2))

    def runTest(self) -> None:
        self.assertEqual(marked(self.held(10)), [8, 9])
        self.assertEqual(marked(self.held(10, port=2)), list(range(2, 10)))


class PortWithoutThresholdMarksNothing(ArrivalTest):
    ports = ()

    def runTest(self) -> None:
        self.assertEqual(marked(self.held(10)), [])


class NotEcnCapable(ArrivalTest):
    def runTest(self) -> None:
        self.assertEqual(
            {arrival.data.ecn for arrival in self.held(10, ecn=wire.ECN_NOT_ECT)},
            {wire.ECN_NOT_ECT},
        )
        self.assertEqual(self.counters("marked"), {})


class CnpsAreNotMarked(ArrivalTest):
    """Their ECN field has another meaning."""

    ports = (above(0),)

    def runTest(self) -> None:
        notices = [cnp(1, SLOW_PORT, wire.ECN_ECT0, rate_mbps=rate) for rate in range(1, 20)]
        self.send(1, *notices)
        self.expect(SLOW_PORT, *(forwarded(notice, SLOW_PORT) for notice in notices))
        self.assertEqual(self.counters("marked"), {})
        self.assertEqual(CNP_CLASS, 7)
