"""One run, with all values filled in: what a runner runs, on whichever clock."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.records import Records
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.reliability import Reliability
from pcn.topologies.model import Endpoint, Link, Topology

PAYLOAD_BYTES, HEADER_BYTES = 1000, 58
"""Of a data frame as the switch counts it: what figures send, and Ethernet, IPv4, UDP, BTH and
ICRC."""


@dataclass(frozen=True)
class Sampling:
    """What a runner samples, and how often: nominal seconds from one reading to the next.

    `queues` are the ports whose registers are read, the most interesting first; counters are those
    of all ports, flows the progress of all flows. `inputs`, in virtual time: the ports of which the
    ingress occupancy is read, as often as queues.
    """

    queues: tuple[Endpoint, ...]
    inputs: tuple[Endpoint, ...] = ()
    queues_s: float = 0.25e-3
    counters_s: float = 1e-3
    flows_s: float = 1e-3


@dataclass(frozen=True)
class LinkRate:
    """From `at_s` on the link at a port has another rate, both ways."""

    at_s: float
    port: Endpoint
    rate_bps: float


@dataclass(frozen=True)
class LiveLimits:
    """What a live run has to bear, and what would spoil it. Nominal.

    `load_bps`: frames that all hosts together receive at the busiest time that lasts. k is chosen
    from `least_k`, at which a late process distorts little, to `most_k`, where a run still ends
    soon. `stall_s`: by how much an agent may be late, once. `most_lag`: of the run's time, by which
    its schedule may have moved since the process was late. `kept_share`: what a port has to send of
    what it could, while packets wait.
    """

    load_bps: float
    least_k: float
    most_k: float
    stall_s: float
    most_lag: float = 0.01
    kept_share: float = 0.95


@dataclass(frozen=True)
class Plan:
    """An experiment with all values filled in. Nominal units.

    The run lasts from `start_s` (at most 0), when its first flow starts, to `duration_s`: time 0 is
    the event that the experiment is about.
    """

    scenario: str
    scheme: str
    seed: int
    values: Mapping[str, Value]
    """All parameters of the experiment by name, derived ones included."""
    scheme_parameters: Mapping[str, float]
    """The algorithm's parameters, by the names that `pcn.hosts.algorithms` gives them."""
    derived: tuple[str, ...] = field(default=(), kw_only=True)
    """Those of them that follow from the network by the scheme's rules."""
    port_parameters: Mapping[float, Mapping[str, float]] = field(default_factory=dict, kw_only=True)
    """By the rate of a switch's port, bit/s, those of them that it has instead."""
    topology: Topology
    bottleneck: Endpoint
    duration_s: float
    payload_bytes: int
    sampling: Sampling
    until_complete: bool = False
    """The run ends when all flows have arrived, whenever that is; `duration_s` is how long it is
    expected to last."""
    live: LiveLimits | None = None
    """None: it is for virtual time alone."""
    start_s: float = 0.0
    link_rates: tuple[LinkRate, ...] = ()
    """What changes during the run; in virtual time alone."""
    deadlock_every_s: float | None = None
    """How often to look for a deadlock, which ends the run; None: only at its end. In virtual time
    alone."""
    paths: Mapping[int, tuple[Endpoint, ...]] = field(default_factory=dict)
    """By flow the ports by which its data leaves switches, and a sender with several ports; in
    virtual time alone."""
    records: Records = field(default_factory=Records)
    """What is recorded on request; in virtual time alone."""
    reliability: Mapping[int, Reliability] = field(default_factory=dict)
    """By class, what its flows do about lost packets; in virtual time alone."""
    notes: tuple[str, ...] = ()
    """Remarks for the user who starts the run, and for readers of its result."""

    @property
    def bottleneck_link(self) -> Link:
        return self.topology.link_at(self.bottleneck.node, self.bottleneck.port)

    @property
    def capacity_bps(self) -> float:
        return self.bottleneck_link.rate_bps

    @property
    def steady_from_s(self) -> float:
        """Start of the last third, over which the steady state is measured."""
        return self.duration_s * 2 / 3

    @property
    def frame_bytes(self) -> int:
        """A data frame as the switch counts it: payload and HEADER_BYTES."""
        return self.payload_bytes + HEADER_BYTES

    def number(self, name: str) -> float:
        """Returns a parameter that has a value by now."""
        value = self.values[name]
        assert value is not None, f"{name} was not filled in"
        return value


def with_fields(plan: Plan, **fields: float) -> Plan:
    """Returns the plan with these of its scheme's parameters given other values."""
    return dataclasses.replace(
        plan,
        values={**plan.values, **fields},
        scheme_parameters={**plan.scheme_parameters, **fields},
    )


def known_fields(scheme: str, offered: Mapping[str, float]) -> dict[str, float]:
    """Returns those of these fields that the scheme's parameters have."""
    names = {field.name for field in dataclasses.fields(find_scheme(scheme).parameters)}
    return {name: value for name, value in offered.items() if name in names}


def numbers(values: Mapping[str, Value]) -> dict[str, float]:
    """Returns those that are given."""
    return {name: value for name, value in values.items() if value is not None}


def plan_of(
    name: str,
    scheme: str,
    seed: int,
    topology: Topology,
    duration_s: float,
    fields: Mapping[str, float],
    queues: Sequence[Endpoint],
    every_s: float,
    start_s: float = 0.0,
    payload_bytes: int = PAYLOAD_BYTES,
    **more: Value,
) -> Plan:
    """Returns a plan for virtual time whose first queue is the bottleneck's. `fields` are the
    scheme's parameters; `more` goes into the plan's values beside them."""
    return Plan(
        scenario=name,
        scheme=scheme,
        seed=seed,
        values={**more, **fields},
        scheme_parameters=fields,
        topology=topology,
        bottleneck=queues[0],
        duration_s=duration_s,
        payload_bytes=payload_bytes,
        sampling=Sampling(tuple(queues), queues_s=every_s, counters_s=every_s, flows_s=every_s),
        start_s=start_s,
    )
