"""What a scenario is: parameters by name, a plan made from their values, and what a run of it is held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from experiments.analysis import Steady
from experiments.charts import Chart
from experiments.checks import Check
from experiments.parameters import Parameter, Value
from experiments.recording import Recording
from topologies.model import Endpoint, Link, Topology


@dataclass(frozen=True)
class Sampling:
    """What a runner samples, and how often: nominal seconds from one reading to the next.

    `queues` are the ports whose registers are read, the most interesting first; counters are those of all ports, flows
    the progress of all flows.
    """

    queues: tuple[Endpoint, ...]
    queues_s: float = 0.25e-3
    counters_s: float = 1e-3
    flows_s: float = 1e-3


@dataclass(frozen=True)
class LiveLimits:
    """What a live run has to bear, and what would spoil it. Nominal.

    `load_bps`: frames that all hosts together receive at the busiest time that lasts. k is chosen from `least_k`, at
    which a late process distorts little, to `most_k`, where a run still ends soon. `stall_s`: by how much an agent may
    be late, once. `most_lag`: of the run's time, by which its schedule may have moved since the process was late.
    `kept_share`: what a port has to send of what it could, while packets wait.
    """

    load_bps: float
    least_k: float
    most_k: float
    stall_s: float
    most_lag: float = 0.01
    kept_share: float = 0.95


@dataclass(frozen=True)
class Plan:
    """A scenario with all values filled in: what a runner runs, on whichever clock. Nominal units.

    The run lasts from `start_s` (at most 0), when its first flow starts, to `duration_s`: time 0 is the event that the
    scenario is about.
    """

    scenario: str
    scheme: str
    seed: int
    values: Mapping[str, Value]
    """All parameters of the scenario by name, derived ones included."""
    scheme_parameters: Mapping[str, float]
    """The algorithm's parameters, by the names that `hosts.algorithms` gives them."""
    topology: Topology
    bottleneck: Endpoint
    duration_s: float
    payload_bytes: int
    sampling: Sampling
    live: LiveLimits | None = None
    """None: it is for virtual time alone."""
    start_s: float = 0.0

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
        """A data frame as the switch counts it: payload and 58 B of Ethernet, IPv4, UDP, BTH and ICRC."""
        return self.payload_bytes + HEADER_BYTES

    def number(self, name: str) -> float:
        """A parameter that has a value by now."""
        value = self.values[name]
        assert value is not None, f"{name} was not filled in"
        return value


HEADER_BYTES = 58


@dataclass(frozen=True)
class Headline:
    """One number of a run, as text, and what it is to be seen beside: the paper's, the ideal."""

    what: str
    value: str
    beside: str = ""


class Scenario(Protocol):
    """One experiment of the paper, apart from the clock it runs on."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def source(self) -> str:
        """Where the paper has it."""

    @property
    def default_scheme(self) -> str:
        """What runs unless somebody says otherwise: a scheme, or several with commas between."""

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        """The plan for these parameters. Raises ExperimentError when they don't go together."""

    def checks(self, plan: Plan, recording: Recording, steady: Steady) -> list[Check]:
        """The paper's claims and ours, each with its verdict."""

    def compare(self, runs: Sequence[tuple[Plan, Recording]]) -> list[Check]:
        """Claims about how runs of several schemes compare."""

    @property
    def charts(self) -> Sequence[Callable[[Plan, Recording], Chart]]:
        """The figures, each by itself, named as its chart is: the same ones, in the same order, for each scheme."""

    def headlines(self, plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
        """What one looks at first: the same ones for each scheme."""

    def measures(self, plan: Plan, recording: Recording) -> Mapping[str, float | None]:
        """The scenario's own numbers for the summary, by name with its unit at the end. SI units."""

    def about(self, plan: Plan) -> list[tuple[str, str]]:
        """What holds for each scheme's run: (figure it belongs to, `topology` or `checks`; a short paragraph)."""

    def story(self, plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
        """What one sees in this run, as `about`."""
