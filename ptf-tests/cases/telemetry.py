"""In-band telemetry (HPCC, 3.2): what each hop writes into a data packet that has room for it.

A pause gathers a known queue: the k-th of n packets that it held leaves n - k behind. The slow
port's next packet starts when the one before has left, so time stamps are a packet's duration
apart.
"""

import itertools
from dataclasses import replace

from frames import FRAME, data, expected_pfc, forwarded, patched
from testbed import SLOW_PORT, Arrival, PcnTest, Reason, index

from pcn.controller.configure import SwitchPlan
from pcn.controller.constants import TELEMETRY_RATES_BPS
from pcn.controller.marking.telemetry import TelemetryPort
from pcn.hosts import telemetry, wire
from pcn.hosts.algorithms.base import Hop, Telemetry

RATE_BPS = 40e9  # as telemetry has it: the test bed's ports are slower
LONG = FRAME + wire.TELEMETRY_BYTES
ROOM = bytes(wire.TELEMETRY_BYTES)
EARLIER = Hop(100e9, 77, 1280, 640)
BTH_RESERVED = 46


def with_room(psn: int = 0, port: int = SLOW_PORT, room: bytes = ROOM) -> bytes:
    return wire.encode_data(replace(wire.decode(data(1, port, psn)), telemetry=room))  # type: ignore[arg-type]


def at(port: int = SLOW_PORT, hop_id: int = 0x1234) -> TelemetryPort:
    return TelemetryPort(port, RATE_BPS, hop_id)


def read(arrival: Arrival) -> Telemetry:
    """What a packet has brought. Its ICRC fits, as that of each arrival is checked."""
    assert arrival.data.telemetry is not None
    return telemetry.decode(arrival.data.telemetry, 1e-6)


def earlier(hops: int, path_id: int = 0) -> Telemetry:
    """Of a packet that has passed this number of hops."""
    return Telemetry(path_id, 1e-6, (EARLIER,) * hops)


class TelemetryTest(PcnTest):
    """HPCC's program; `ports` of those that push."""

    program = "hpcc"
    ports: tuple[TelemetryPort, ...] = (at(),)

    def plan(self) -> SwitchPlan:
        return replace(super().plan(), marking=self.ports)

    def held_with_room(self, n: int) -> list[Arrival]:
        self.pause(SLOW_PORT)
        self.send(1, *(with_room(psn) for psn in range(n)))
        self.wait_until_waiting(SLOW_PORT, n)
        self.resume(SLOW_PORT)
        return self.receive(SLOW_PORT, n)

    def forwarded_telemetry(self, room: bytes, port: int = SLOW_PORT) -> Telemetry:
        """What becomes of a packet's telemetry."""
        self.send(1, with_room(port=port, room=room))
        return read(self.receive(port)[0])


class HopFillsTheFirstEmptyRecord(TelemetryTest):
    """And no other, and adds its id to the path's."""

    def runTest(self) -> None:
        for hops in range(telemetry.MOST_HOPS):
            received = self.forwarded_telemetry(telemetry.encode(earlier(hops, path_id=0xFFFF)))
            self.assertEqual(received.hops[:hops], (EARLIER,) * hops)
            self.assertEqual(len(received.hops), hops + 1)
            self.assertEqual(
                (received.hops[hops].rate_bps, received.hops[hops].queue_bytes), (RATE_BPS, 0)
            )
            self.assertEqual(received.path_id, 0xFFFF ^ 0x1234)


class SixthHopIsCountedAlone(TelemetryTest):
    def runTest(self) -> None:
        full = telemetry.encode(earlier(5))
        self.send(1, with_room(room=full))
        brought = self.receive(SLOW_PORT)[0].data.telemetry
        assert brought is not None
        self.assertEqual((brought[0], brought[4:]), (6, full[4:]))


class HopsAreCountedUpTo255(TelemetryTest):
    def runTest(self) -> None:
        self.send(1, with_room(room=b"\xff" + ROOM[1:]))
        brought = self.receive(SLOW_PORT)[0].data.telemetry
        assert brought is not None
        self.assertEqual(brought[0], 255)


class QueueIsWhatWaitsBehind(TelemetryTest):
    def runTest(self) -> None:
        queues = sorted(read(arrival).hops[0].queue_bytes for arrival in self.held_with_room(20))
        self.assertEqual(queues, [packets * LONG // 64 * 64 for packets in range(20)])


class BytesSentAreThoseOfAllThatLeftBefore(TelemetryTest):
    """The packet itself isn't among them; packets without room are."""

    def runTest(self) -> None:
        self.send(1, data(1, SLOW_PORT))
        self.receive(SLOW_PORT)
        sent = sorted(read(arrival).hops[0].sent_bytes for arrival in self.held_with_room(20))
        self.assertEqual(sent, [(FRAME + packets * LONG) // 128 * 128 for packets in range(20)])
        self.assertEqual(self.register("sent_bytes", SLOW_PORT), FRAME + 20 * LONG)


class TimeStampsAreThoseOfDepartures(TelemetryTest):
    """On the manual clock a packet takes its length at the port's rate."""

    def runTest(self) -> None:
        hops = sorted(
            (read(arrival).hops[0] for arrival in self.held_with_room(10)),
            key=lambda hop: hop.sent_bytes,
        )
        gaps = [after.since(before)[0] for before, after in itertools.pairwise(hops)]
        duration_us = round(LONG * 8 / self.rates_bps[SLOW_PORT] * 1e6)
        if self.live:
            self.assertGreaterEqual(sum(gaps), 0)
        else:
            self.assertLessEqual(max(abs(gap - duration_us) for gap in gaps), 1)


class PortsHaveRatesAndIdsOfTheirOwn(TelemetryTest):
    ports = tuple(
        TelemetryPort(port, TELEMETRY_RATES_BPS[-port], port) for port in (1, 2, 3, SLOW_PORT)
    )

    def runTest(self) -> None:
        for port in (2, 3, SLOW_PORT):
            received = self.forwarded_telemetry(ROOM, port)
            self.assertEqual(
                (received.hops[0].rate_bps, received.path_id), (TELEMETRY_RATES_BPS[-port], port)
            )


class PortWithoutAnEntryPushesNothing(TelemetryTest):
    ports = ()

    def runTest(self) -> None:
        self.assertEqual(self.forwarded_telemetry(ROOM), Telemetry(0, 1e-6, ()))
        self.assertEqual(self.register("sent_bytes", SLOW_PORT), LONG)


class PacketWithoutRoomIsForwardedAsItIs(TelemetryTest):
    def runTest(self) -> None:
        frame = data(1, SLOW_PORT)
        self.send(1, frame)
        self.expect(SLOW_PORT, forwarded(frame, SLOW_PORT))


class PacketTooShortForItsRoomIsDropped(TelemetryTest):
    """Whether the frame ends there, or UDP's length does."""

    def runTest(self) -> None:
        for payload in (8, 40):
            short = wire.encode_data(
                replace(wire.decode(data(1, SLOW_PORT)), payload=bytes(payload))
            )  # type: ignore[arg-type]
            self.send(1, patched(short, BTH_RESERVED, b"\x01"))
        udp_length = (wire.TELEMETRY_BYTES + 23).to_bytes(2, "big")
        self.send(1, patched(with_room(), 38, udp_length))
        cell = index(1, Reason.ROCE_MALFORMED)
        self.wait_for_value(lambda: self.counters("dropped"), {cell: 3}, "dropped by reason")
        self.expect_nothing(SLOW_PORT)


class PauseFrameHasNoTelemetry(TelemetryTest):
    """It is made of a clone of the packet that exceeds XOFF."""

    def plan(self) -> SwitchPlan:
        pfc = tuple(
            replace(self.pfc_defaults, port=port, xoff_bytes=2 * FRAME, xon_bytes=FRAME)
            for port in (1, 2, 3, 4)
        )
        return replace(super().plan(), pfc=pfc)

    def runTest(self) -> None:
        self.pause(SLOW_PORT)
        self.send(1, *(with_room(psn) for psn in range(3)))
        self.expect(1, expected_pfc(1, self.pfc_defaults.quanta))
        self.resume(SLOW_PORT)
        self.receive(SLOW_PORT, 3)
        self.expect(1, expected_pfc(1, 0))
