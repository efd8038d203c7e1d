"""The memory that a run in virtual time needs, stated before it is taken: a network, flows, and
what is recorded of them, as measured (docs/virtualnet.md)."""

from __future__ import annotations

from pcn.base.memory import Need
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.records import most_samples
from pcn.hosts.virtual.memory import Memory

STATED_FROM = 1e9
"""Bytes from which on a run states what it needs."""
_OF_PORT, _OF_HOST = 6, 1
"""Values that are sampled of a switch's port, of most programs, and of a host's."""
_OF_SOURCE, _OF_RECORD, _OF_FLOW = 700, 1_100, 150
"""Bytes of a sampled value's names and series, of a port's records, and of a flow's counts: its
record is made when the network is freed."""
_ITSELF = 5e6
"""Bytes of any run: code that it is the first to use, and what Python keeps free."""
_EARLY = 0.5
"""When a run has arrived whole that ends then, of the time that is planned for it: twice what the
busiest link needs."""
_VALUE, _COPIED = 8, 0.75
"""Bytes of a sample; the share that is left of as many as are kept, when they have been thinned."""


def of_run(plan: Plan, parts: int = 1) -> list[Need]:
    """Returns what a run needs beside its plan, at its peak: when its samples become series; in one
    of as many processes, each with a part. Single flows' series, and what is recorded on request,
    come on top. Raises LabError."""
    topology, sampling = plan.topology, plan.sampling
    hosts = sum(len(topology.ports(host.name)) for host in topology.hosts)
    ports = 2 * len(topology.links) - hosts
    flows = len(topology.flows)
    classes = len({flow.traffic_class for flow in topology.flows})
    sources = _OF_PORT * ports + _OF_HOST * hosts
    length_s = (plan.duration_s - plan.start_s) * (_EARLY if plan.until_complete else 1)
    samples = _samples(sources, length_s / sampling.counters_s) + _samples(
        classes * ports, length_s / (plan.records.queues_s or sampling.counters_s)
    )
    engine = Memory(plan.records.explain, parts)
    return [
        *engine.network(topology),
        Need("flows", engine.flows(flows) + flows * _OF_FLOW),
        engine.packets(topology, topology.flows, plan.payload_bytes),
        Need("series", samples + sources * _OF_SOURCE + ports * _OF_RECORD + _ITSELF),
    ]


def _samples(sources: int, planned: float) -> float:
    """Returns the bytes of samples in the engine and of their copies, of which there are fewer once
    they have been thinned."""
    most = most_samples(sources)
    share = 1.0 if planned <= most else _COPIED
    return sources * min(planned, most) * _VALUE * (1 + share)
