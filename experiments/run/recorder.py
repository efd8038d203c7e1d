"""Records what a virtual run was requested to, and the largest queue of each port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pcn.experiments.data.capture import Capture
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parts import NO_FLOW, Logs, Parts
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.records import (
    MOST_SAMPLES,
    LogChoice,
    Queues,
    Recorded,
    most_samples,
)
from pcn.experiments.data.series import Series
from pcn.experiments.data.series_math import Array
from pcn.hosts.explain_log import LOG_CAUSE, LOG_HOP, LOG_LINE, LOG_SENT, PARTS
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import Endpoint
from pcn.virtualnet import Samples

NETWORK = "network"
"""The entity of what holds for all ports together."""
_LARGEST = 4
"""Ports that have series of their queues."""


class Recorder:
    """Made before the run, read after it. `folder`: where captures go. Raises LabError."""

    def __init__(
        self, plan: Plan, network: VirtualNetwork, ports: Sequence[Endpoint], folder: Path | None
    ) -> None:
        records = plan.records
        self._plan, self._network, self._ports = plan, network, tuple(ports)
        self._classes = sorted({flow.traffic_class for flow in plan.topology.flows})
        self.singles = records.flows.among(flow.id for flow in plan.topology.flows)
        """Numbers of flows that have series apart from their groups'."""
        self._log = network.log_pfc() if records.events else None
        if records.latency:
            network.measure_latency()
        # Where each PAUSE comes from, and whom it held, is for the report of an explained run
        self._logged = records.logs or (LogChoice() if records.explain else None)
        self._ways = records.paths or records.explain
        if self._ways:
            network.log_paths()
        self._captures = [
            Capture.of(port, plan.topology, folder) for port in records.captures if folder
        ]
        for port, capture in zip(records.captures, self._captures, strict=False):
            for incoming, end in ((False, port), (True, plan.topology.peer(port.node, port.port))):
                network.capture(end.node, end.port, capture.ways[incoming])
        self._samples = self._sample(records.queues_s)

    def _sample(self, every_s: float | None) -> Samples:
        plan, network = self._plan, self._network
        samples = (plan.duration_s - plan.start_s) / every_s if every_s else 0
        if samples * len(self._ports) > MOST_SAMPLES:
            raise ExperimentError(
                f"--queues: {samples * len(self._ports):,.0f} samples of {len(self._ports)} ports "
                f"are too many ({MOST_SAMPLES:,} at most): read them less often"
            )
        sources = []
        for port in self._ports:
            buffered = plan.topology.switch(port.node).output is not None
            for number in self._classes:
                sources.append(network.queue_bytes(port.node, port.port, number))
                if buffered:
                    sources.append(network.output_bytes(port.node, port.port, number))
        return network.sample(
            every_s or plan.sampling.counters_s,
            sources,
            most=None if every_s else most_samples(len(sources)),
            largest=True,
        )

    def finish(self, series: Series) -> Recorded:
        """Returns what was recorded; the largest queue of all ports over time goes into `series`,
        and the queues of the ports that had the largest ones."""
        plan = self._plan
        times, values = self._queues()
        if values.size:
            series.extend(times, NETWORK, "largest_queue_bytes", values.max(axis=1))
        most = values.max(axis=0, initial=0.0)
        for place in np.argsort(-most, kind="stable")[:_LARGEST]:
            if most[place]:
                series.extend(
                    times, str(self._ports[place]), "queue_bytes", np.array(values[:, place])
                )
        events = self._log.read() if self._log else None
        return Recorded(
            parts=self._parts() if plan.records.explain else None,
            logs=self._logs() if self._logged else None,
            events=events and replace(events, times_s=events.times_s + plan.start_s),
            queues=Queues(times, self._ports, values) if plan.records.queues_s else None,
            latency={
                traffic_class: self._network.latency(traffic_class)
                for traffic_class in self._classes
            }
            if plan.records.latency
            else {},
            captures=tuple(self._captures),
            paths=self._network.paths() if plan.records.paths else None,
            ways=self._network.paths() if self._ways else {},
            queue_max={str(port): float(most[place]) for place, port in enumerate(self._ports)},
        )

    def begin(self) -> None:
        """Once the network has its flows: chooses what is logged of them."""
        chosen, start_s = self._logged, self._plan.start_s
        if chosen is not None:
            from_s, to_s = max(chosen.from_s - start_s, 0.0), chosen.to_s - start_s
            flows = {*chosen.flows, *(self.singles if chosen.series else ())}
            self._network.explain_log(
                sorted(flows), chosen.ports, from_s, to_s, chosen.causes, chosen.marks
            )

    def _logs(self) -> Logs:
        network = self._network
        ids = np.zeros(len(network.flows), np.uint32)
        ids[[*network.flows.places.values()]] = [*network.flows.places]
        sent, hops, lines, causes = (
            network.explain_entries(log) for log in (LOG_SENT, LOG_HOP, LOG_LINE, LOG_CAUSE)
        )
        for log in (sent, hops, lines):
            there = log["flow"] != NO_FLOW
            log["flow"][there] = ids[log["flow"][there]]
        ends = [end for link in network.topology.links for end in (link.a, link.b)]
        ports = tuple(sorted(ends, key=lambda end: network.link(end.node, end.port)))
        choice = self._logged
        marks = network.explain_marks() if choice is not None and choice.marks else None
        return Logs(sent, hops, lines, causes, ports, marks)

    def _parts(self) -> Parts:
        network = self._network
        indices = [network.flows.place(flow.id) for flow in self._plan.topology.flows]
        rows = network.explained()[indices]
        complete = rows["complete_ps"] != 0
        fct_ps = np.where(complete, rows["complete_ps"] - rows["start_ps"], 0)
        start_ps = np.where(complete, rows["start_ps"], 0)
        return Parts(
            PARTS,
            start_ps.astype(np.int64),
            fct_ps.astype(np.int64),
            rows["parts_ps"].astype(np.int64),
            rows["window_ps"].astype(np.int64),
        )

    def add_queues(self, series: Series) -> None:
        """Adds the queues of all ports, as far as they were read, to `series`."""
        times, values = self._queues()
        for place, port in enumerate(self._ports):
            series.extend(times, str(port), "queue_bytes", np.array(values[:, place]))

    def _queues(self) -> tuple[Array, Array]:
        """Returns times, and a row each with what waits at every port."""
        times, values = self._samples.times_s + self._plan.start_s, self._samples.values
        if len(self._samples.sources) > len(self._ports):
            starts = np.cumsum([0, *(self._columns(port) for port in self._ports[:-1])])
            values = np.add.reduceat(values, starts, axis=1)
        return times, values

    def _columns(self, port: Endpoint) -> int:
        """Returns the sources of a port."""
        return len(self._classes) * (
            2 if self._plan.topology.switch(port.node).output is not None else 1
        )
