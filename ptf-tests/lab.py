"""What every data-plane test starts from: a freshly programmed switch, frames to send, and a check at the end.

Four ports, a host behind each. Port 4 is slow, so that packets wait there (run.py says how slow). Every test ends with
the same check: once all pauses are lifted and everything has left, whatever counts what is inside is zero.
"""

from __future__ import annotations

import socket
import struct
import time
import unittest
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import ptf
import ptf.testutils

from controller.configure import (
    RECIRCULATION_PORT,
    NpEcnPort,
    PfcPort,
    SwitchPlan,
    clone_sessions,
    gap_us,
    program_switch,
)
from controller.routes import Route
from controller.switch import Counter, Program, SwitchClient
from controller.target import target
from hosts import wire

FAST_PORTS = (1, 2, 3)
SLOW_PORT = 4
PORTS = (*FAST_PORTS, SLOW_PORT)
ROCE_CLASS, CNP_CLASS, OTHER_CLASS = 3, 7, 0
PAYLOAD = 1000
FRAME = PAYLOAD + wire.DATA_OVERHEAD
LARGEST_FRAME = 1514
# Long enough for anything that has to happen; only a failing test waits that long.
LIMIT_S = 20.0
# Cells of these ports, and of those where nothing may ever count.
CELLS = [port * 8 + second for port in (0, *PORTS, RECIRCULATION_PORT, 511) for second in range(8)]
# A pause quantum here lasts a millisecond, so that a PAUSE frame can say up to 65 s.
QUANTUM_US = 1000
LATE_US = 100_000  # so long a busy machine may keep a switch from its core, before NP-ECN by time takes it for a pause
LONG_PAUSE = 60_000
# ptf's own sockets would lose some of a burst that it is slow to read.
RECEIVE_BUFFER_BYTES = 64 << 20
_SO_RCVBUFFORCE = 33  # socket(7); the socket module has no name for it
INSIDE = (
    "waiting_packets",
    "waiting_bytes",
    "held_bytes",
    "tx_paused",
    "tx_pause_expiry",
    "xoff_sent",
    "xoff_sent_at",
    "pn",
)


class Reason(IntEnum):
    """drop_reason_t of p4src/shared/constants.p4."""

    NO_ROUTE = 0
    TTL_EXPIRED = 1
    IPV4_MALFORMED = 2
    IPV4_CHECKSUM = 3
    ROCE_MALFORMED = 4
    PFC_MALFORMED = 5
    UNKNOWN_ETHERTYPE = 6


@dataclass(frozen=True)
class Arrival:
    """A frame that left the switch; `at` in seconds."""

    frame: bytes
    at: float

    @property
    def data(self) -> wire.DataPacket:
        packet = wire.decode(self.frame)
        if not isinstance(packet, wire.DataPacket):
            raise AssertionError(f"not a data packet: {packet}")
        return packet


def index(port: int, second: int = ROCE_CLASS) -> int:
    """Of a register or counter cell: port and class, or port and reason."""
    return port * 8 + second


def host_ip(port: int) -> bytes:
    return bytes((10, 0, 0, port))


def host_mac(port: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, port))


def port_mac(port: int) -> bytes:
    """PORT_MAC_BASE of p4src/shared/constants.p4 and the port."""
    return bytes.fromhex("0250434e0000")[:5] + bytes((port,))


def data(
    source: int,
    destination: int,
    psn: int = 0,
    ecn: int = wire.ECN_ECT0,
    dscp: int = wire.DSCP_DATA,
    payload: int = PAYLOAD,
) -> bytes:
    """A data packet from the host at a port to the host at another."""
    return wire.encode_data(
        wire.DataPacket(
            host_mac(source), port_mac(source), host_ip(source), host_ip(destination), 1, psn, bytes(payload), ecn, dscp
        )
    )


def cnp(source: int, destination: int, decrease: bool = True, rate_mbps: int = 1000) -> bytes:
    return wire.encode_cnp(
        wire.CnpPacket(
            host_mac(source), port_mac(source), host_ip(source), host_ip(destination), 1, decrease, rate_mbps
        )
    )


def pfc(source: int, quanta: dict[int, int]) -> bytes:
    """From the host at a port: quanta by class, 0 resumes."""
    return wire.encode_pfc(wire.PfcFrame(host_mac(source), quanta))


def patched(frame: bytes, offset: int, value: bytes, fix_checksum: bool = True) -> bytes:
    """A frame with other bytes somewhere, and an IPv4 checksum that fits."""
    changed = bytearray(frame)
    changed[offset : offset + len(value)] = value
    if fix_checksum:
        changed[24:26] = bytes(2)
        changed[24:26] = struct.pack("!H", wire.ip_checksum(changed[14:34]))
    return bytes(changed)


def forwarded(frame: bytes, port: int, ce: bool = False) -> bytes:
    """What becomes of an IPv4 frame that the switch sends to the host at `port`: addresses, TTL, CE, checksum."""
    expected = patched(frame, 0, host_mac(port) + port_mac(port), fix_checksum=False)
    expected = patched(expected, 22, bytes((frame[22] - 1,)))
    return patched(expected, 15, bytes((frame[15] | 3,))) if ce else expected


def expected_pfc(port: int, quanta: int, number: int = ROCE_CLASS) -> bytes:
    """A PFC frame of the switch's own for one class, out of a port."""
    return wire.encode_pfc(wire.PfcFrame(port_mac(port), {number: quanta}))


class PcnTest(unittest.TestCase):
    """Loads the program and programs it before each test. Tests have one method, runTest, as ptf wants."""

    program: str | None = None  # the one that run.py names

    # A test that needs other thresholds overrides this. XOFF is never reached by default.
    pfc_defaults = PfcPort(
        port=0,
        xoff_bytes=10**9,
        xon_bytes=10**9 - 1,
        quanta=LONG_PAUSE,
        quantum_q16_us=QUANTUM_US << 16,
    )
    pfc_ports: tuple[int, ...] = PORTS
    # NP-ECN by time marks what the counter of paused packets does. Where not, a test says why and names what may count.
    differences: tuple[str, ...] = ()

    def setUp(self) -> None:
        parameters = ptf.testutils.test_params_get()
        self.target: str = parameters["target"]
        self.rates_bps: dict[int, float] = parameters["rates"]
        self.program = self.program or parameters["program"]
        registers = target(self.target).registers(parameters["switch_pid"])
        self.switch = SwitchClient.connect("ptf", parameters["address"], parameters["device_id"], registers)
        self.addCleanup(self.switch.close)
        self.switch.become_primary()
        self.switch.set_pipeline(Program.compiled(self.program))
        program_switch(self.switch, self.plan())
        # BMv2 keeps the copies of a session that its new program doesn't know any more, and would clone once for each.
        self.addCleanup(self.switch.delete, clone_sessions())
        self.dataplane = ptf.dataplane_instance
        for port in self.dataplane.ports.values():
            port.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        self.dataplane.flush()

    def plan(self) -> SwitchPlan:
        routes = [Route(wire.format_ip(host_ip(port)), wire.format_mac(host_mac(port)), port) for port in PORTS]
        pfc = tuple(replace(self.pfc_defaults, port=port) for port in self.pfc_ports)
        return SwitchPlan("ptf", tuple(routes), pfc, np_ecn=self.np_ecn() if self.program == "pcn_time" else ())

    def np_ecn(self) -> tuple[NpEcnPort, ...]:
        gaps = {port: gap_us(self.rates_bps[port], LARGEST_FRAME, LATE_US) for port in PORTS}
        return tuple(NpEcnPort(port, gap, self.pfc_defaults.lossless) for port, gap in gaps.items())

    def tearDown(self) -> None:
        """Lifts every pause, waits until everything has left, and checks that the switch knows."""
        for port in PORTS:
            self.send(port, pfc(port, dict.fromkeys(range(8), 0)))
        self.wait_for_value(self.inside, {}, "cells of registers that count what is inside")
        if self.program == "pcn_time":
            # BMv2's egress threads take packets out of the queue that the counter still counts as waiting.
            allowed = {*self.differences, *(["marked_by_counter"] if self.target == "bmv2" else [])}
            for name in {"marked_by_time", "marked_by_counter"} - allowed:
                self.assertEqual(self.counters(name), {}, name)

    def inside(self) -> dict[str, dict[int, int]]:
        """Cells that aren't zero, by register; of those that are zero in an idle switch."""
        return {name: cells for name in INSIDE if (cells := self.registers(name))}

    # ---- frames ----

    def send(self, port: int, *frames: bytes) -> None:
        for frame in frames:
            self.dataplane.send(0, port, frame)

    def receive(self, port: int, n: int = 1, limit_s: float = LIMIT_S) -> list[Arrival]:
        """The next n frames out of a port."""
        arrivals: list[Arrival] = []
        end = time.monotonic() + limit_s
        while len(arrivals) < n:
            result = self.dataplane.poll(device_number=0, port_number=port, timeout=max(0.0, end - time.monotonic()))
            if not isinstance(result, self.dataplane.PollSuccess):
                self.fail(f"port {port}: {len(arrivals)} of {n} frames within {limit_s:g} s")
            arrivals.append(Arrival(bytes(result.packet), result.time))
        return arrivals

    def expect(self, port: int, *frames: bytes) -> list[Arrival]:
        """Exactly these frames next, in order, byte for byte."""
        arrivals = self.receive(port, len(frames))
        for number, (arrival, frame) in enumerate(zip(arrivals, frames, strict=True)):
            self.assertEqual(arrival.frame.hex(), frame.hex(), f"frame {number} out of port {port}")
        return arrivals

    def expect_nothing(self, *ports: int) -> None:
        """These ports, by default all, have sent nothing that wasn't received, nor will they.

        Instead of waiting for what mustn't come, a packet of the lowest class follows it: that stays behind all others.
        What precedes it has to be in the switch already.
        """
        for port in ports or PORTS:
            probe = data(FAST_PORTS[0], port, psn=0xABCDEF, dscp=0, payload=8)
            self.send(FAST_PORTS[0], probe)
            self.expect(port, forwarded(probe, port))

    # ---- state ----

    def register(self, name: str, cell: int) -> int:
        return self.switch.read_register(name, cell)

    def registers(self, name: str) -> dict[int, int]:
        """Cells that aren't zero, of the ports there are and of the internal one."""
        return {cell: value for cell, value in self.switch.read_registers(name, CELLS).items() if value}

    def counter(self, name: str, cell: int) -> Counter:
        return self.switch.read_counter(name, cell)

    def counters(self, name: str, cells: Iterable[int] | None = None) -> dict[int, int]:
        """Packets in the cells that aren't zero: the given ones, or as `registers`."""
        counts = self.switch.read_counters(name, CELLS if cells is None else list(cells))
        return {cell: count.packets for cell, count in counts.items() if count.packets}

    def wait_for(self, condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                self.fail(f"waited {limit_s:g} s for {what}")

    def wait_for_value(self, read: Callable[[], Any], expected: Any, what: str) -> None:
        """Fails with the value there is."""
        end = time.monotonic() + LIMIT_S
        while (value := read()) != expected:
            if time.monotonic() > end:
                self.assertEqual(value, expected, f"{what}, for {LIMIT_S:g} s")

    # ---- pauses ----

    def pause(self, port: int, quanta: int = LONG_PAUSE, classes: Iterable[int] = (ROCE_CLASS,)) -> None:
        """The host at a port pauses it; returns once the switch knows."""
        before = self.counters("pause_received")
        self.send(port, pfc(port, dict.fromkeys(classes, quanta)))
        expected = {index(port, number): before.get(index(port, number), 0) + 1 for number in classes}
        self.wait_for_value(lambda: self.counters("pause_received", expected), expected, "PAUSE received")

    def resume(self, port: int, classes: Iterable[int] = (ROCE_CLASS,)) -> None:
        """Likewise resumes it."""
        before = self.counters("resume_received")
        self.send(port, pfc(port, dict.fromkeys(classes, 0)))
        expected = {index(port, number): before.get(index(port, number), 0) + 1 for number in classes}
        self.wait_for_value(lambda: self.counters("resume_received", expected), expected, "RESUME received")

    def outlast(self, port: int) -> None:
        """A pause that NP-ECN by time is to notice lasts longer than any frame does at that port."""
        if self.program == "pcn_time":
            rested = time.monotonic() + 1.5e-6 * gap_us(self.rates_bps[port], LARGEST_FRAME, LATE_US)
            self.wait_for(lambda: time.monotonic() > rested, "the port's rest")

    def wait_until_waiting(self, port: int, packets: int, number: int = ROCE_CLASS) -> None:
        """Until so many packets wait at an egress port. At a fast one it is a pause that they wait for."""
        self.wait_for_value(
            lambda: self.register("waiting_packets", index(port, number)), packets, f"waiting at {port}"
        )
        if port in FAST_PORTS:
            self.outlast(port)

    def occupy_slow_port(self, source: int, packets: int = 150) -> None:
        """With class 7, 8.5 ms a packet. In the embedded switch, no other class has a turn at the slow port meanwhile;
        BMv2 shapes each queue alone."""
        self.send(source, *(data(source, SLOW_PORT, psn=psn, dscp=CNP_CLASS << 3) for psn in range(packets)))
        self.wait_for(lambda: self.register("waiting_packets", index(SLOW_PORT, CNP_CLASS)) > 0, "class 7 waiting")

    def receive_data(self, n: int) -> list[Arrival]:
        """The next n packets of the RoCE class out of the slow port."""
        arrivals: list[Arrival] = []
        while len(arrivals) < n:
            arrivals += [arrival for arrival in self.receive(SLOW_PORT) if arrival.data.dscp == wire.DSCP_DATA]
        return arrivals

    def congest(self, *frames: bytes) -> list[Arrival]:
        """What becomes of data packets from port 1 of which each finds the one before it waiting at the slow port."""
        self.occupy_slow_port(2, 40)
        self.send(1, *frames)
        return self.receive_data(len(frames))
