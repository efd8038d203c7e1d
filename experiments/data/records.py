"""What a run in virtual time records on request, beside what every run records; and what that
gave."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcn.experiments.data.capture import Capture
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.series_math import Array
from pcn.topologies.model import Endpoint, Topology, TopologyError

if TYPE_CHECKING:
    from pcn.experiments.data.parts import Logs, Parts
    from pcn.hosts.virtual.latency import Latency
    from pcn.virtualnet.pfc_log import PfcEvents

_CHOICE = "--series flows=1,7, flows=all or flows=worst:10"
MOST_SAMPLES = 30_000_000
"""Of all ports' queues, in memory."""
_MOST_VALUES, _FEWEST_SAMPLES = 2**24, 512
_MOST_OF_LARGE, _FEWEST_OF_LARGE = 2**27, 16
"""Of networks whose sources are too many for that many samples."""


def most_samples(sources: int) -> int:
    """Returns how many samples of this number of sources a run has in memory at most: 128 MB of
    values; 512 samples where the sources are too many for that, up to 1 GB of values; beyond
    262,144 sources fewer, 16 at least."""
    sources = max(sources, 1)
    few = min(max(_MOST_OF_LARGE // sources, _FEWEST_OF_LARGE), _FEWEST_SAMPLES)
    return max(_MOST_VALUES // sources, few) // 2 * 2


@dataclass(frozen=True)
class FlowChoice:
    """Flows of which there are series: those of these numbers, all, or the `worst` by slowdown."""

    ids: tuple[int, ...] = ()
    every: bool = False
    worst: int = 0

    @classmethod
    def parse(cls, text: str) -> FlowChoice:
        """Reads `flows=1,7`, `flows=all`, `flows=worst:10`. Raises ExperimentError."""
        name, _, value = text.partition("=")
        if name == "flows" and value == "all":
            return cls(every=True)
        if name == "flows" and re.fullmatch(r"worst:[1-9][0-9]{0,5}", value):
            return cls(worst=int(value.partition(":")[2]))
        if name == "flows" and re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9})*", value):
            return cls(ids=tuple(dict.fromkeys(map(int, value.split(",")))))
        raise ExperimentError(f"--series {text}: write it as {_CHOICE}")

    def among(self, flows: Iterable[int]) -> frozenset[int]:
        """Returns the numbers that are chosen. Raises ExperimentError for one that no flow has."""
        known = frozenset(flows)
        if missing := sorted(set(self.ids) - known):
            raise ExperimentError(f"--series: {missing_flow(missing[0], known)}")
        return known if self.every else frozenset(self.ids)


def missing_flow(number: int, known: Collection[int]) -> str:
    """Returns that no flow has this number, and which ones have."""
    text = f"no flow {number}: flows are numbered {min(known)} to {max(known)}"
    if min(known) < number < max(known):
        below = max(flow for flow in known if flow < number)
        above = min(flow for flow in known if flow > number)
        text += f", with gaps: next to it are {below} and {above}"
    return text


@dataclass(frozen=True)
class LogChoice:
    """What a run that is explained logs besides: the packets of these flows; what starts at these
    ports from `from_s` to `to_s`, nominal; each PAUSE and what waited then; `marks`: counts of why
    packets have marks, or none; `series`: the packets of flows that have series, too."""

    flows: tuple[int, ...] = ()
    ports: tuple[Endpoint, ...] = ()
    from_s: float = -math.inf
    to_s: float = math.inf
    causes: bool = True
    marks: bool = False
    series: bool = False


@dataclass(frozen=True)
class Records:
    """`events`: each PAUSE and RESUME. `queues_s`: how often the queues of all ports are read;
    None: as often as counters, and only the largest values are kept. `captures`: ports whose frames
    go into pcap files. `explain`: where each flow's time goes; `logs`: likewise of single flows and
    ports."""

    events: bool = False
    latency: bool = False
    queues_s: float | None = None
    flows: FlowChoice = field(default_factory=FlowChoice)
    captures: tuple[Endpoint, ...] = ()
    paths: bool = False
    explain: bool = False
    logs: LogChoice | None = None

    def __bool__(self) -> bool:
        return self != Records()

    def check(self, topology: Topology) -> None:
        """Raises ExperimentError for a flow or a port that the topology hasn't."""
        self.flows.among(flow.id for flow in topology.flows)
        for port in self.captures:
            try:
                topology.link_at(port.node, port.port)
            except TopologyError as error:
                raise ExperimentError(f"--capture {port}: {error}") from None


def parse_port(text: str, option: str = "--capture") -> Endpoint:
    """Reads a port as `s0:4`. Raises ExperimentError, which names the option."""
    node, _, port = text.rpartition(":")
    if not node or not (port.isascii() and port.isdigit() and len(port) < 6):
        raise ExperimentError(f"{option} {text}: write it as NODE:PORT, for instance s0:1")
    return Endpoint(node, int(port))


@dataclass(frozen=True)
class Queues:
    """Bytes that wait at each port of the switches, of the classes that flows have; `values`: a row
    a time, a column a port."""

    times_s: Array
    ports: tuple[Endpoint, ...]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Recorded:
    """What was requested; None: it wasn't. `queue_max`: by port, the most that waited when the run
    looked."""

    events: PfcEvents | None = None
    queues: Queues | None = None
    latency: Mapping[int, Latency] = field(default_factory=dict)
    """By traffic class."""
    captures: tuple[Capture, ...] = ()
    paths: Mapping[int, tuple[Endpoint, ...]] | None = None
    """By flow, as `Plan.paths` has them."""
    ways: Mapping[int, tuple[Endpoint, ...]] = field(default_factory=dict)
    """The same of an explained run, which `paths` makes a file of."""
    queue_max: Mapping[str, float] = field(default_factory=dict)
    parts: Parts | None = None
    logs: Logs | None = None
