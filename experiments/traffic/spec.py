"""What traffic is made of: a topology, flow sizes, a pattern, or a file of flows; and as one reference.

    traffic?topology=clos&workload=W1&pattern=incast
    traffic?topology=compact&flows=/home/me/flows.csv&digest=1f3a...

Another process gets the reference, and finds the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import numpy as np

from experiments.data.errors import ExperimentError
from experiments.data.parameters import lookup
from experiments.data.plan import HEADER_BYTES
from experiments.define.workloads import (
    HADOOP,
    W1,
    W2,
    WEB_SEARCH,
    FlowSizes,
    arrivals_per_s,
    incast_flows,
    permutation_flows,
    read_cdf,
    uniform_flows,
)
from experiments.traffic.flow_files import read_flows
from topologies.errors import nearest
from topologies.found import find_topology
from topologies.model import FlowSpec, Topology, TopologyError

NAME = "traffic"
WORKLOADS: Mapping[str, FlowSizes] = {one.name: one for one in (W1, W2, HADOOP, WEB_SEARCH)}
PATTERNS = ("uniform", "incast", "permutation")
MOST_SENDERS = 15
"""Of an in-cast."""
_STREAM = 77


@dataclass(frozen=True)
class TrafficSpec:
    """`topology` is a reference (`find_topology`). `workload` names sizes, or is a file of them (`read_cdf`). `flows`,
    a file, takes the place of workload and pattern. Files are known by their contents, too: another content is another
    experiment."""

    topology: str = "dumbbell"
    workload: str = "W2"
    pattern: str = "uniform"
    flows: str = ""
    digest: str = ""

    @property
    def reference(self) -> str:
        kept = {name: value for name, value in vars(self).items() if value}
        if self.flows:
            del kept["workload"], kept["pattern"]
        return f"{NAME}?{urlencode(kept)}"


def parse_spec(topology: str = "", workload: str = "", pattern: str = "", flows: str = "") -> TrafficSpec:
    """Of what a user gives; the rest is as `TrafficSpec` has it. Raises ExperimentError."""
    if flows and (workload or pattern):
        raise ExperimentError("--flows has sizes and ends of all flows: leave out --workload and --pattern")
    try:
        network = find_topology(topology or TrafficSpec.topology).reference
    except TopologyError as error:
        raise ExperimentError(str(error)) from None
    made = TrafficSpec(network, workload or TrafficSpec.workload, pattern or TrafficSpec.pattern, flows)
    lookup(made.pattern, dict.fromkeys(PATTERNS), "pattern")
    if file := flows or ("" if made.workload in WORKLOADS else made.workload):
        path = Path(file).absolute()
        if not path.is_file():
            known = "" if flows else f" Workloads are {', '.join(WORKLOADS)}, or a file of lines `SIZE SHARE`."
            raise ExperimentError(f"there is no file {file}.{known}")
        made = replace(made, **{"flows" if flows else "workload": str(path)})
        _ = read_flows(path) if flows else sizes(made)
    return replace(made, digest=_digest(made))


def from_reference(text: str) -> TrafficSpec:
    """Parses `TrafficSpec.reference`. Raises ExperimentError where a file has another content by now."""
    _, _, query = text.partition("?")
    found = TrafficSpec(**dict(parse_qsl(query)))
    if found.digest and _digest(found) != found.digest:
        files = " or ".join(map(str, _files(found)))
        raise ExperimentError(f"{files} isn't what it was when these runs were declared: give the command again")
    return found


def sizes(of: TrafficSpec) -> FlowSizes:
    """Raises ExperimentError for a file that has none."""
    if of.workload in WORKLOADS:
        return WORKLOADS[of.workload]
    try:
        return read_cdf(Path(of.workload))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ExperimentError(str(error)) from None


def draw(of: TrafficSpec, topology: Topology, seed: int, load: float, count: int, payload_bytes: int) -> list[FlowSpec]:
    """The flows of a run: those of the file, or drawn. Equal for equal arguments, whatever the scheme. Raises
    ExperimentError for a host that the topology hasn't."""
    hosts = [host.name for host in topology.hosts]
    if of.flows:
        made = read_flows(Path(of.flows))
        known = set(hosts)
        for flow in made:
            for name in (flow.src, flow.dst):
                if name not in known:
                    raise ExperimentError(f"{of.flows}: {topology.name} has no host {name!r}; {nearest(name, hosts)}")
            if flow.src == flow.dst:
                raise ExperimentError(f"{of.flows}: a flow from {flow.src} to itself")
        return made
    random = np.random.default_rng([seed, _STREAM])
    rate_bps = min(topology.link_at(name, 0).rate_bps for name in hosts)
    per_s = arrivals_per_s(load, rate_bps, sizes(of), payload_bytes, payload_bytes + HEADER_BYTES)
    if of.pattern == "uniform":
        return uniform_flows(random, sizes(of), per_s, count, hosts)
    if of.pattern == "permutation":
        return permutation_flows(random, sizes(of), per_s, count, hosts)
    return incast_flows(random, sizes(of), per_s, count, hosts, min(MOST_SENDERS, len(hosts) - 1))


def _files(of: TrafficSpec) -> list[Path]:
    """What is read: the topology's, then those of flows or sizes."""
    file = of.flows or (of.workload if of.workload not in WORKLOADS else "")
    own = find_topology(of.topology).file
    return [path for path in (own, Path(file) if file else None) if path]


def _digest(of: TrafficSpec) -> str:
    """Of the files' contents; empty where there are no files. A file that has gone has no contents."""
    contents = [path.read_bytes() if path.is_file() else b"" for path in _files(of)]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16] if contents else ""
