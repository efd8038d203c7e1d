"""What a plan has sampled of a network in virtual time: queues, counters, flows."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from pcn.controller.constants import index
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.data.records import most_samples
from pcn.experiments.data.series import Series
from pcn.experiments.run.sampler import queue_registers
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.virtualnet import Samples, Source


class PlannedSamples:
    """The samples of one run, from its start on. `ports`: of all switches; `marks`: the counters of
    marks that each of these has; `single`: flows that have separate series, though they are of a
    group."""

    def __init__(
        self,
        plan: Plan,
        network: VirtualNetwork,
        ports: Sequence[Endpoint],
        marks: Mapping[str, Sequence[str]],
        single: Container[int],
    ) -> None:
        self._plan, self._network, self._ports = plan, network, ports
        self._marks, self._single = marks, single
        self._taken: list[tuple[Samples, list[tuple[str, str]]]] = []
        self.thinned_s: list[float] = []
        """Once it is over: how far apart samples are that are farther apart than planned."""
        self._queues()
        self._counters()
        self._flows()

    def add_to(self, series: Series) -> None:
        for samples, columns in self._taken:
            times = samples.times_s + self._plan.start_s
            for (entity, metric), values in zip(columns, samples.columns, strict=True):
                series.extend(times, entity, metric, values)

    def finish(self) -> None:
        """Lets go of the samples: else the network copies them, too, when it is closed."""
        sampling = self._plan.sampling
        intervals_s = [np.diff(samples.times_s[:2]).sum() for samples, _ in self._taken]
        planned_s = (sampling.queues_s, sampling.counters_s, sampling.flows_s)
        self.thinned_s = [
            interval_s
            for interval_s, every_s in zip(intervals_s, planned_s, strict=True)
            if interval_s > 1.5 * every_s
        ]
        self._taken.clear()

    def _queues(self) -> None:
        sampling, network = self._plan.sampling, self._network
        points = network.scheme.scheme.marking
        self._take(
            sampling.queues_s,
            [
                (str(port), name, network.register(port.node, name, index(port.port)))
                for port in sampling.queues
                for name in queue_registers(network.layout(port.node).registers(), points)
            ]
            + [
                (str(port), "output_bytes", network.output_bytes(port.node, port.port))
                for port in sampling.queues
                if network.topology.switch(port.node).output is not None
            ]
            + [
                (str(port), "ingress_bytes", network.held_bytes(port.node, port.port))
                for port in sampling.inputs
            ],
            largest=True,
        )

    def _counters(self) -> None:
        network, sources = self._network, []
        for port in self._ports:
            node, cell = port.node, index(port.port)
            link = self._plan.topology.link_name(node, port.port)
            sources += [
                (
                    str(port),
                    "transmitted_packets",
                    network.counter_packets(node, "transmitted", cell),
                ),
                (str(port), "transmitted_bytes", network.counter_bytes(node, "transmitted", cell)),
                *(
                    (str(port), f"{name}_packets", network.counter_packets(node, name, cell))
                    for name in self._marks[node]
                ),
                (link, "pause", network.pause_sent(node, port.port)),
                (link, "resume", network.resume_sent(node, port.port)),
                (link, "xoff", network.xoff_sent(node, port.port)),
            ]
        for host in self._plan.topology.hosts:
            for number in self._plan.topology.ports(host.name):
                sources.append(
                    (f"{host.name}:{number}", "sent_bytes", network.link_bytes(host.name, number))
                )
        self._take(self._plan.sampling.counters_s, sources)

    def _flows(self) -> None:
        network, sources = self._network, []
        firsts: dict[str, FlowSpec] = {}
        for flow in self._plan.topology.flows:
            firsts.setdefault(flow.group or flow_entity(flow.id), flow)
        sampled = [(entity, flow, flow.group) for entity, flow in firsts.items()]
        grouped = (flow for flow in self._plan.topology.flows if flow.group)
        sampled += [(flow_entity(flow.id), flow, "") for flow in grouped if flow.id in self._single]
        for entity, flow, group in sampled:
            metrics = [
                ("sent_bytes", network.flow_sent(flow.id)),
                ("received_bytes", network.flow_received(flow.id)),
                ("received_packets", network.flow_received_packets(flow.id)),
                ("marked_packets", network.flow_marked_packets(flow.id)),
                ("marked_ue_packets", network.flow_marked_ue_packets(flow.id)),
            ]
            if group:
                metrics = [(metric, network.of_group(source, group)) for metric, source in metrics]
            sources += [(entity, metric, source) for metric, source in metrics]
        self._take(self._plan.sampling.flows_s, sources)

    def _take(
        self, every_s: float, sources: list[tuple[str, str, Source]], *, largest: bool = False
    ) -> None:
        """Takes them from the start on."""
        samples = self._network.sample(
            every_s,
            [source for _, _, source in sources],
            most=most_samples(len(sources)),
            largest=largest,
        )
        self._taken.append((samples, [(entity, metric) for entity, metric, _ in sources]))
