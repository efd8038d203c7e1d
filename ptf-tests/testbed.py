"""What every data-plane test starts from: a freshly programmed switch, frames to send, and a check
at the end.

Four ports, a host behind each. Port 4 is slow, so that packets wait there (run.py has its rate).
Every test ends with the same check: once all pauses are lifted and everything has left, whatever
counts what is inside is zero.

A test is written in the switch's time: `advance` lets time pass, `receive` until frames have left.
On the manual clock (run.py) nothing else moves time, what a frame causes at once has been done when
it is sent, and every check is of that moment: so the test's result is a function of its text. On a
live target `advance` sleeps, `wait_for`s poll, and `tries` tries again if the machine was too slow
for a result.
"""

from __future__ import annotations

import time
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

import ptf
import ptf.testutils
from frames import (
    CHIP,
    CNP_CLASS,
    LARGEST_FRAME,
    ROCE_CLASS,
    data,
    device_port,
    forwarded,
    host_ip,
    host_mac,
    pfc,
)
from steps import Control, SteppedWires
from twin import TWINS, lab, sessions, twin_entries
from wires import Arrival, ClockWires, LiveWires, Wires

from pcn.controller.configure import SwitchPlan, clone_sessions, program_switch
from pcn.controller.constants import RECIRCULATION_PORT
from pcn.controller.control_plane import ControlPlane, Counter
from pcn.controller.marking import rest
from pcn.controller.marking.rest import RestPort, gap_us
from pcn.controller.pfc import PfcPort
from pcn.controller.programs import Program
from pcn.controller.routes import Route
from pcn.controller.switch import SwitchClient
from pcn.controller.tofino.bfrt import BfRuntimeSwitch
from pcn.controller.tofino.buffers import PORT_TABLE, port_settings
from pcn.controller.tofino.counters import of_frames
from pcn.controller.tofino.package import Package
from pcn.hosts import wire
from pcn.lab.target import target
from pcn.softswitch.clock import ManualClock

FAST_PORTS = (1, 2, 3)
SLOW_PORT = 4
PORTS = (*FAST_PORTS, SLOW_PORT)
# Long enough for anything that has to happen; only a failing test waits that long.
LIMIT_S = 20.0
TRIES = 50
# Cells of these ports, and of those where nothing may ever count.
CELLS = [
    port * 8 + second
    for port in (0, *map(device_port, PORTS), RECIRCULATION_PORT, 511)
    for second in range(8)
]
# A pause quantum here lasts a millisecond, so that a PAUSE frame can say up to 65 s.
QUANTUM_US = 1000
# so long a busy machine may keep a switch from its core, before NP-ECN by time takes it for a pause
LIVE_LATE_US = 100_000
LONG_PAUSE = 60_000
# Counters of packets that only one of two rules marks.
COMPARING = ("marked_by_", "marked_ue_by_")
WAITING = "waiting_packets"
NO_STEPS = "the model pauses a queue on the manual clock alone: see docs/tofino.md"
INSIDE = (
    WAITING,
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


def index(port: int, second: int = ROCE_CLASS) -> int:
    """Of a register or counter cell: port and class, or port and reason."""
    return device_port(port) * 8 + second


@lru_cache
def _program(name: str) -> Program:
    """What it declares is read once, not for each test."""
    return Program.find(name)


@lru_cache
def _package(name: str) -> Package:
    return Package.compiled(name, CHIP)


class PcnTest(unittest.TestCase):
    """Loads the program and programs it before each test. Tests have one method, runTest, as ptf
    wants."""

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
    # By time the same packets are marked as where PFC tells. Where not, a test says why and names
    # what may count; on a live target so many may be marked by one of the two alone where what is
    # told later ends later, too.
    differences: tuple[str, ...] = ()
    live_differences = 0
    # A test that Tofino's programs, or the chip, can't have says why.
    not_on_chip = ""

    def setUp(self) -> None:
        parameters = ptf.testutils.test_params_get()
        self.target: str = parameters["target"]
        self.live: bool = parameters["clock"] == "live"
        self.record: str = parameters.get("record", "")
        self.rates_bps: dict[int, float] = parameters["rates"]
        self.program = self.program or parameters["program"]
        self.switch: ControlPlane
        self.twin = self.target == "tofino-model"
        if self.twin:
            self.load_twin(parameters["address"], self.program)
        else:
            self.load(parameters, self.program)
        self.wires: Wires
        if not self.live and self.twin:
            control = Control(Path(parameters["control"]))
            self.addCleanup(control.close)
            self.wires = SteppedWires(ptf.dataplane_instance, control, self.rates_bps)
        elif self.live:
            self.wires = LiveWires(ptf.dataplane_instance)
        else:
            clock = ManualClock(parameters["address"])
            self.addCleanup(clock.close)
            self.wires = ClockWires(clock)
        if self.record and not self.live:
            self.addCleanup(self.write_record, self.wires.record)

    def load(self, parameters: dict[str, Any], name: str) -> None:
        """Loads a v1model program over P4Runtime, and programs it."""
        registers = target(self.target).registers(parameters["switch_pid"])
        switch = SwitchClient.connect(
            "ptf", parameters["address"], parameters["device_id"], registers
        )
        self.switch = switch
        self.addCleanup(switch.close)
        switch.become_primary()
        program = _program(name)
        self.by_time = any(table.alias == rest.TABLE for table in program.schema.tables)
        self.compared = {
            counter.alias
            for counter in program.schema.counters
            if counter.alias.startswith(COMPARING)
        }
        switch.set_pipeline(program)
        plan = self.plan()
        program_switch(switch, plan)
        # BMv2 keeps the copies of a session that its new program doesn't know any more, and would
        # clone once for each.
        self.addCleanup(switch.delete, clone_sessions(plan))

    def load_twin(self, address: str, name: str) -> None:
        """Loads its Tofino twin over BF Runtime, and programs that with the plan."""
        if self.not_on_chip:
            self.skipTest(self.not_on_chip)
        if name not in TWINS:
            self.skipTest(f"{name} has no twin for Tofino with the same rule")
        self.by_time, self.compared = True, set()
        switch = BfRuntimeSwitch.connect("ptf", address)
        self.switch = switch
        self.addCleanup(switch.close)
        switch.set_pipeline(_package(TWINS[name]))
        chip = lab(PORTS, LARGEST_FRAME, self.pfc_defaults.lossless)
        switch.insert(
            [*sessions(TWINS[name], chip), *twin_entries(self.plan(), self.pfc_defaults.lossless)]
        )
        switch.apply(port_settings(chip))
        ports = [{"$DEV_PORT": device_port(port)} for port in PORTS]
        up = lambda: [switch.held(PORT_TABLE, port)["$PORT_UP"] for port in ports]  # noqa: E731
        self.wait_in_real_time(up, [True] * len(ports), "ports that are up")

    def plan(self) -> SwitchPlan:
        hosts = (
            (wire.format_ip(host_ip(port)), wire.format_mac(host_mac(port)), port) for port in PORTS
        )
        routes = [Route(address, mac, device_port(port)) for address, mac, port in hosts]
        pfc = tuple(replace(self.pfc_defaults, port=port) for port in self.pfc_ports)
        return SwitchPlan("ptf", tuple(routes), pfc, marking=self.rests() if self.by_time else ())

    def rests(self) -> tuple[RestPort, ...]:
        return tuple(
            RestPort(port, self.gap_us(port), self.pfc_defaults.lossless) for port in PORTS
        )

    def gap_us(self, port: int) -> int:
        """How far apart two dequeues of a port can be while packets wait."""
        return gap_us(self.rates_bps[port], LARGEST_FRAME, LIVE_LATE_US if self.live else 0)

    def tearDown(self) -> None:
        """Lifts every pause, waits until everything has left, and checks the switch's state."""
        if not (self.twin and self.live):
            for port in PORTS:
                self.send(port, pfc(port, dict.fromkeys(range(8), 0)))
            self.drained()
        if self.by_time:
            for name in self.compared - set(self.differences):
                counted, most = self.counters(name), self.live_differences if self.live else 0
                self.assertLessEqual(max(counted.values(), default=0), most, (name, counted))

    def inside(self) -> dict[str, dict[int, int]]:
        """Cells that aren't zero, by register; of those that are zero in an idle switch."""
        if self.twin:
            return {
                name: cells
                for name in INSIDE[: 0 if self.live else 1]
                if (cells := self.registers(name))
            }
        _, held = self.switch.read_cells((), INSIDE, CELLS)
        nonzero = {
            name: {cell: value for cell, value in cells.items() if value}
            for name, cells in held.items()
        }
        return {name: cells for name, cells in nonzero.items() if cells}

    def drained(self) -> None:
        """Lets everything leave that may."""
        if not self.live:
            self.advance(LIMIT_S)
        self.wait_for_value(self.inside, {}, "cells of registers that count what is inside")

    def write_record(self, frames: list[str]) -> None:
        """Adds what the test sent, received and counted to a file."""
        lines = [f"== {type(self).__module__}.{type(self).__qualname__}", *frames]
        lines += [f"{name} {self.counters(name)}" for name in self.switch.counters()]
        with Path(self.record).open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    # ---- frames, time ----

    def send(self, port: int, *frames: bytes) -> None:
        self.wires.send(port, *frames)

    def advance(self, seconds: float) -> None:
        """Lets time pass: the switch's, or on a live target everybody's."""
        self.wires.advance(seconds)

    def receive(self, port: int, n: int = 1, limit_s: float = LIMIT_S) -> list[Arrival]:
        """The next n frames out of a port. Time goes on until the last of them has left."""
        arrivals = self.wires.receive(port, n, limit_s)
        if len(arrivals) < n:
            self.fail(f"port {port}: {len(arrivals)} of {n} frames within {limit_s:g} s")
        return arrivals

    def tries(self) -> Iterator[None]:
        """For what a live target may be too slow to show: turns to try again in, and a failure if
        none is the last. On the manual clock there is one."""
        for _ in range(TRIES if self.live else 1):
            yield
        self.fail(
            f"{TRIES} times too slow for a result"
            if self.live
            else "it is not as the test needs it"
        )

    def expect(self, port: int, *frames: bytes) -> list[Arrival]:
        """Exactly these frames next, in order, byte for byte."""
        arrivals = self.receive(port, len(frames))
        for number, (arrival, frame) in enumerate(zip(arrivals, frames, strict=True)):
            self.assertEqual(arrival.frame.hex(), frame.hex(), f"frame {number} out of port {port}")
        return arrivals

    def expect_nothing(self, *ports: int) -> None:
        """These ports, by default all, have sent nothing that wasn't received, nor will they.

        Instead of waiting for what mustn't come, a packet of the lowest class follows it: that
        stays behind all others. What precedes it has to be in the switch already.
        """
        for port in ports or PORTS:
            probe = data(FAST_PORTS[0], port, psn=0xABCDEF, dscp=0, payload=8)
            self.send(FAST_PORTS[0], probe)
            self.expect(port, forwarded(probe, port))

    # ---- state ----

    def register(self, name: str, cell: int) -> int:
        if isinstance(self.wires, SteppedWires) and name == WAITING:
            return self.wires.packets(*divmod(cell, 8))
        self.need("register", name, self.switch.registers())
        return self.switch.read_register(name, cell)

    def registers(self, name: str) -> dict[int, int]:
        """Cells that aren't zero, of the ports there are and of the internal one."""
        if isinstance(self.wires, SteppedWires) and name == WAITING:
            held = {
                index(port, number): self.wires.packets(port, number)
                for port in PORTS
                for number in range(8)
            }
        else:
            self.need("register", name, self.switch.registers())
            held = self.switch.read_registers(name, CELLS)
        return {cell: value for cell, value in held.items() if value}

    def counter(self, name: str, cell: int) -> Counter:
        self.need("counter", name, self.switch.counters())
        counted = self.switch.read_counter(name, cell)
        return of_frames(self.switch.counter_name(name), counted) if self.twin else counted

    def counters(self, name: str, cells: Iterable[int] | None = None) -> dict[int, int]:
        """Packets in the cells that aren't zero: the given ones, or as `registers`."""
        self.need("counter", name, self.switch.counters())
        counts = self.switch.read_counters(name, CELLS if cells is None else list(cells))
        return {cell: count.packets for cell, count in counts.items() if count.packets}

    def need(self, kind: str, name: str, there: Sequence[str]) -> None:
        """Skips the test on a twin that leaves to the chip what it looks at."""
        if self.twin and name not in there:
            self.skipTest(f"Tofino's program has no {kind} {name}")

    def wait_for(self, condition: Callable[[], bool], description: str) -> None:
        """Until it is so; on the manual clock it has to be so now."""
        end = time.monotonic() + LIMIT_S
        while not condition():
            if not self.live:
                self.fail(f"at {self.wires.now:.9f} s not so: {description}")
            if time.monotonic() > end:
                self.fail(f"waited {LIMIT_S:g} s for {description}")

    def wait_in_real_time(self, read: Callable[[], Any], expected: Any, description: str) -> None:
        """For what doesn't go by the switch's clock."""
        end = time.monotonic() + LIMIT_S
        while (value := read()) != expected:
            if time.monotonic() > end:
                self.assertEqual(value, expected, f"{description}, for {LIMIT_S:g} s")
            time.sleep(0.01)

    def wait_for_value(self, read: Callable[[], Any], expected: Any, description: str) -> None:
        """Likewise. Fails with the value there is."""
        end = time.monotonic() + LIMIT_S
        while (value := read()) != expected:
            if not self.live:
                self.assertEqual(value, expected, f"{description}, at {self.wires.now:.9f} s")
            if time.monotonic() > end:
                self.assertEqual(value, expected, f"{description}, for {LIMIT_S:g} s")

    # ---- pauses ----

    def pause(
        self, port: int, quanta: int = LONG_PAUSE, classes: Iterable[int] = (ROCE_CLASS,)
    ) -> None:
        """The host at a port pauses it; returns once the switch has counted the PAUSE."""
        if self.paused_by_steps(port, quanta, classes):
            return
        before = self.counters("pause_received")
        self.send(port, pfc(port, dict.fromkeys(classes, quanta)))
        expected = {
            index(port, number): before.get(index(port, number), 0) + 1 for number in classes
        }
        self.wait_for_value(
            lambda: self.counters("pause_received", expected), expected, "PAUSE received"
        )

    def resume(self, port: int, classes: Iterable[int] = (ROCE_CLASS,)) -> None:
        """Likewise resumes it."""
        if self.paused_by_steps(port, 0, classes):
            return
        before = self.counters("resume_received")
        self.send(port, pfc(port, dict.fromkeys(classes, 0)))
        expected = {
            index(port, number): before.get(index(port, number), 0) + 1 for number in classes
        }
        self.wait_for_value(
            lambda: self.counters("resume_received", expected), expected, "RESUME received"
        )

    def paused_by_steps(self, port: int, quanta: int, classes: Iterable[int]) -> bool:
        """Whether the traffic manager that a test moves has taken the frame, which no program sees
        there."""
        if isinstance(self.wires, SteppedWires):
            self.send(port, pfc(port, dict.fromkeys(classes, quanta)))
        elif self.twin:
            self.skipTest(NO_STEPS)
        return isinstance(self.wires, SteppedWires)

    def held(
        self, n: int, port: int = SLOW_PORT, ecn: int = wire.ECN_ECT0, dscp: int = wire.DSCP_DATA
    ) -> list[Arrival]:
        """n packets that a pause held, in the order in which they leave."""
        self.pause(port)
        self.send(1, *(data(1, port, psn=psn, ecn=ecn, dscp=dscp) for psn in range(n)))
        self.wait_until_waiting(port, n)
        self.resume(port)
        return self.receive(port, n)

    def outlast(self, port: int) -> None:
        """A pause that a rest is to show lasts longer than any frame does at that port."""
        if self.by_time:
            self.advance(self.outlasts_s(port))

    def outlasts_s(self, port: int) -> float:
        return 1.5e-6 * self.gap_us(port)

    def wait_until_waiting(self, port: int, packets: int, number: int = ROCE_CLASS) -> None:
        """Waits until `packets` packets wait at an egress port. At a fast port they wait because of
        a pause."""
        self.wait_for_value(
            lambda: self.register("waiting_packets", index(port, number)),
            packets,
            f"waiting at {port}",
        )
        if port in FAST_PORTS:
            self.outlast(port)

    def occupy_slow_port(self, source: int, packets: int = 150) -> None:
        """With class 7, 8.5 ms a packet. In the embedded switch, no other class has a turn at the
        slow port meanwhile; BMv2 shapes each queue alone."""
        self.send(
            source,
            *(data(source, SLOW_PORT, psn=psn, dscp=CNP_CLASS << 3) for psn in range(packets)),
        )
        self.wait_for(
            lambda: self.register("waiting_packets", index(SLOW_PORT, CNP_CLASS)) > 0,
            "class 7 waiting",
        )

    def receive_data(self, n: int, traffic_class: int = ROCE_CLASS) -> list[Arrival]:
        """The next n packets of a class out of the slow port."""
        arrivals: list[Arrival] = []
        while len(arrivals) < n:
            some = self.receive(SLOW_PORT, n - len(arrivals))
            arrivals += [arrival for arrival in some if arrival.data.dscp >> 3 == traffic_class]
        return arrivals

    def check_marks(self, marks: Sequence[bool]) -> None:
        """Of packets that come one after the other to a port where none of their class waits: each
        but the first finds others. On a live target the second may find the first on its way
        out."""
        self.assertFalse(marks[0])
        sure = 2 if self.live else 1
        self.assertEqual(list(marks[sure:]), [True] * (len(marks) - sure))

    def congest(self, *frames: bytes, traffic_class: int = ROCE_CLASS) -> list[Arrival]:
        """What becomes of a class's packets from port 1, each of which finds the one before it at
        the slow port."""
        self.occupy_slow_port(2, 40)
        self.send(1, *frames)
        return self.receive_data(len(frames), traffic_class)
