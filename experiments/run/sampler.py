"""Reads the switches while a run goes on, and fills the series. Real time comes in, nominal goes
out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from pcn.controller import marking
from pcn.controller.constants import CLASSES, ROCE_CLASS, WAITING, index
from pcn.controller.control_plane import ControlPlane
from pcn.experiments.data.recording import PortRecord
from pcn.experiments.data.series import Series
from pcn.topologies.model import Endpoint, Topology

_QUEUE = ("waiting_bytes", "waiting_packets", "pn", "tx_paused")
"""By port and class, the queue first; what a marking point names (`SAMPLED`) comes after them."""
INSIDE = (*WAITING, "held_bytes", "pn")
"""Registers that count what is inside a switch, and must be back at 0 when nothing is."""
MARKS = PortRecord.marks()
"""Counters of which a program has some."""


def queue_registers(there: Iterable[str], points: Sequence[str]) -> list[str]:
    """Returns those of a sampled port, of those that its switch's program has. `points`: the
    scheme's marking points."""
    names = set(there)
    named = [name for point in points for name in getattr(marking.find(point), "SAMPLED", ())]
    return [name for name in (*_QUEUE, *named) if name in names]


class Clock:
    """Nominal time: 0 at `epoch`, a monotonic time in real seconds; one nominal second takes `k`
    real ones."""

    def __init__(self, epoch: float, k: float) -> None:
        self.epoch = epoch
        self.k = k

    def now(self) -> float:
        return (time.monotonic() - self.epoch) / self.k

    def real(self, nominal_s: float) -> float:
        """Returns the monotonic time of a nominal one."""
        return self.epoch + nominal_s * self.k


class Sampler:
    """Samples of one network's switches, in the terms of `pcn.experiments.data.recording`."""

    def __init__(
        self,
        topology: Topology,
        switches: Mapping[str, ControlPlane],
        queues: Sequence[Endpoint],
        clock: Clock,
        points: Sequence[str] = (),
    ) -> None:
        """`points`: the scheme's marking points."""
        self.series = Series()
        self.pauses: dict[str, tuple[int, ...]] = {}
        """PAUSE frames by link and class, of the classes that flows have, at the latest
        `counters`."""
        self._topology = topology
        self._switches = switches
        self._queues = [
            (port, queue_registers(switches[port.node].registers(), points)) for port in queues
        ]
        self._clock = clock
        self._cells = {
            name: {port: index(port) for port in topology.ports(name)} for name in switches
        }
        self._classes = sorted({flow.traffic_class for flow in topology.flows} | {ROCE_CLASS})
        self._base: dict[tuple[str, str, int], tuple[int, int]] = {}

    def queues(self) -> int:
        """Reads the registers of the ports whose queues are sampled; the bytes that wait at the
        first of them."""
        seen: list[int] = []
        for port, registers in self._queues:
            switch, cell = self._switches[port.node], index(port.port)
            for register in registers:
                before = self._clock.now()
                value = switch.read_register(register, cell)
                self.series.add((before + self._clock.now()) / 2, str(port), register, value)
                seen.append(value)
        return seen[_QUEUE.index("waiting_bytes")]

    def counters(self) -> None:
        """Reads what every port transmitted and marked, and the PFC frames that it sent."""
        for name, switch in self._switches.items():
            # A part of the packets before all of them: what is transmitted meanwhile is not more
            # marked than sent.
            marks = {
                counter: self._read(name, counter)
                for counter in MARKS
                if counter in switch.counters()
            }
            transmitted = self._read(name, "transmitted")
            for port in self._cells[name]:
                entity = str(Endpoint(name, port))
                at, packets, size = transmitted[port]
                self.series.add(at, entity, "transmitted_packets", packets)
                self.series.add(at, entity, "transmitted_bytes", size)
                for counter, counts in marks.items():
                    self.series.add(counts[port][0], entity, f"{counter}_packets", counts[port][1])
            for counter, metric in (("pause_sent", "pause"), ("resume_sent", "resume")):
                read = {number: self._read(name, counter, number) for number in self._classes}
                for port, (at, _, _) in read[ROCE_CLASS].items():
                    link = self._topology.link_name(name, port)
                    frames = tuple(
                        read[number][port][1] if number in read else 0 for number in range(CLASSES)
                    )
                    self.series.add(at, link, metric, sum(frames))
                    if metric == "pause":
                        self.pauses[link] = frames
            before = self._clock.now()
            xoff = switch.read_registers("xoff_sent", list(self._cells[name].values()))
            at = (before + self._clock.now()) / 2
            for port, cell in self._cells[name].items():
                self.series.add(at, self._topology.link_name(name, port), "xoff", xoff[cell])

    def inside(self) -> dict[str, int]:
        """Returns the cells of INSIDE that aren't 0, of all switches, ports and classes, by
        name."""
        left: dict[str, int] = {}
        for name, switch in self._switches.items():
            for register in INSIDE:
                for cell, value in switch.read_registers(register).items():
                    if value:
                        left[f"{name}:{cell // 8} class {cell % 8} {register}"] = value
        return left

    def _read(
        self, name: str, counter: str, number: int = ROCE_CLASS
    ) -> dict[int, tuple[float, int, int]]:
        """Returns the readings of a class's counter by port: (time in s, packets, bytes), both
        counted from the sampler's first reading."""
        wanted = {port: index(port, number) for port in self._cells[name]}
        before = self._clock.now()
        cells = self._switches[name].read_counters(counter, list(wanted.values()))
        at = (before + self._clock.now()) / 2
        readings: dict[int, tuple[float, int, int]] = {}
        for port, cell in wanted.items():
            packets, size = cells[cell].packets, cells[cell].bytes or 0
            base = self._base.setdefault((name, counter, cell), (packets, size))
            readings[port] = (at, packets - base[0], size - base[1])
        return readings
