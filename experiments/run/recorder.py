"""Records what a virtual run was requested to, and the largest queue of each port."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np

from experiments.data.errors import ExperimentError
from experiments.data.plan import Plan
from experiments.data.records import MOST_SAMPLES, Queues, Recorded
from experiments.data.series import Series
from lab.pcapng import PcapngWriter
from lab.virtual import VirtualNetwork
from topologies.model import Endpoint
from virtualnet import Samples

NETWORK = "network"
"""The entity of what holds for all ports together."""
_PCAP_HEADER, _PCAP_RECORD = 24, struct.Struct("=IIII")


class _Capture:
    """What passes a port, both ways, as `pcn pcap` has it of a live network; the engine writes each way by itself."""

    def __init__(self, plan: Plan, network: VirtualNetwork, port: Endpoint, folder: Path) -> None:
        topology, peer = plan.topology, plan.topology.peer(port.node, port.port)
        link = topology.link_at(port.node, port.port)
        self._port, self._delay_ns = port, round(link.delay_s * 1e9)
        self._what = f"{port} to {peer} in {topology.name}, {link.rate_bps / 1e9:g} Gb/s"
        self._file = folder / f"{port.node}-{port.port}.pcapng"
        self._ways = {incoming: folder / f".{self._file.name}.{incoming:d}" for incoming in (False, True)}
        for incoming, end in ((False, port), (True, peer)):
            network.capture(end.node, end.port, self._ways[incoming])

    def write(self) -> None:
        with self._file.open("xb") as file, ExitStack() as stack:
            writer = PcapngWriter(file, self._port.interface, self._what, "virtual time, from the run's start")
            ways = [
                _frames(stack.enter_context(path.open("rb")), incoming, self._delay_ns * incoming)
                for incoming, path in self._ways.items()
            ]
            for at_ns, incoming, frame in heapq.merge(*ways):
                writer.write(at_ns, frame, incoming)
        for path in self._ways.values():
            path.unlink()


def _frames(file: BinaryIO, incoming: bool, delay_ns: int) -> Iterator[tuple[int, bool, bytes]]:
    """The records of a pcap file of the engine."""
    file.seek(_PCAP_HEADER)
    while head := file.read(_PCAP_RECORD.size):
        seconds, ns, length, _ = _PCAP_RECORD.unpack(head)
        yield seconds * 10**9 + ns + delay_ns, incoming, file.read(length)


class Recorder:
    """Made before the run, read after it. `folder`: where captures go. Raises LabError."""

    def __init__(self, plan: Plan, network: VirtualNetwork, ports: Sequence[Endpoint], folder: Path | None) -> None:
        records = plan.records
        self._plan, self._network, self._ports = plan, network, tuple(ports)
        self._classes = sorted({flow.traffic_class for flow in plan.topology.flows})
        self.singles = records.flows.among(flow.id for flow in plan.topology.flows)
        """Numbers of flows that have series apart from their groups'."""
        self._log = network.log_pfc() if records.events else None
        if records.latency:
            network.measure_latency()
        self._captures = [_Capture(plan, network, port, folder) for port in records.captures if folder]
        self._samples = self._sample(records.queues_s)

    def _sample(self, every_s: float | None) -> Samples:
        plan, network = self._plan, self._network
        samples = (plan.duration_s - plan.start_s) / every_s if every_s else 0
        if samples * len(self._ports) > MOST_SAMPLES:
            raise ExperimentError(
                f"--queues: {samples * len(self._ports):,.0f} samples of {len(self._ports)} ports are too many "
                f"({MOST_SAMPLES:,} at most): read them less often"
            )
        sources = []
        for port in self._ports:
            buffered = plan.topology.switch(port.node).output is not None
            for number in self._classes:
                sources.append(network.queue_bytes(port.node, port.port, number))
                if buffered:
                    sources.append(network.output_bytes(port.node, port.port, number))
        return network.sample(every_s or plan.sampling.counters_s, sources)

    def finish(self, series: Series) -> Recorded:
        """Returns what was recorded; the largest queue of all ports over time goes into `series`."""
        plan = self._plan
        times, values = self._samples.times_s + plan.start_s, self._samples.values
        if len(self._samples.sources) > len(self._ports):
            starts = np.cumsum([0, *(self._columns(port) for port in self._ports[:-1])])
            values = np.add.reduceat(values, starts, axis=1)
        if values.size:
            series.extend(times, NETWORK, "largest_queue_bytes", values.max(axis=1))
        most = values.max(axis=0, initial=0.0)
        return Recorded(
            events=self._log.read() if self._log else None,
            queues=Queues(times, self._ports, values) if plan.records.queues_s else None,
            latency={one: self._network.latency(one) for one in self._classes} if plan.records.latency else {},
            queue_max={str(port): float(most[place]) for place, port in enumerate(self._ports)},
        )

    def write_captures(self) -> None:
        """After the network was closed: the files of `captures`."""
        for capture in self._captures:
            capture.write()

    def _columns(self, port: Endpoint) -> int:
        """Sources of a port."""
        return len(self._classes) * (2 if self._plan.topology.switch(port.node).output is not None else 1)
