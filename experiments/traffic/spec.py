"""What traffic is made of: a topology, flow sizes, a pattern, or a file of flows; and as one reference.

    traffic?topology=clos&workload=W1&pattern=incast
    traffic?topology=compact&flows=/home/me/flows.csv&digest=1f3a...

A process of its own gets the reference, and finds the same.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
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
from softswitch.units import quantity
from topologies.errors import nearest
from topologies.found import find_topology
from topologies.model import FlowSpec, Topology, TopologyError

NAME = "traffic"
WORKLOADS: Mapping[str, FlowSizes] = {one.name: one for one in (W1, W2, HADOOP, WEB_SEARCH)}
PATTERNS = ("uniform", "incast", "permutation")
MOST_SENDERS = 15
"""Of an in-cast."""
LONGEST_S = 1e6
"""Runs last no longer, and no flow starts later."""
_MOST_BYTES = 2**63
_COLUMNS = ("src", "dst", "start_s", "size_bytes")
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
            known = "" if flows else f" Workloads are {', '.join(WORKLOADS)}, or a file of lines `SIZE PERCENT`."
            raise ExperimentError(f"there is no file {file}.{known}")
        made = replace(made, **{"flows" if flows else "workload": str(path)})
        _ = read_flows(path) if flows else sizes(made)
    return replace(made, digest=_digest(made))


def from_reference(text: str) -> TrafficSpec:
    """What `TrafficSpec.reference` says. Raises ExperimentError where a file has another content by now."""
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


def read_flows(path: Path) -> list[FlowSpec]:
    """A CSV file with the columns src, dst, start_s, size_bytes: in seconds and bytes, or with a unit (`10us`, `64KB`).
    Raises ExperimentError that names file and line."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.reader(file, strict=True)
            if tuple(next(table, ())) != _COLUMNS:
                raise ExperimentError(f"{path}: the first line must be {','.join(_COLUMNS)}")
            made: list[FlowSpec] = []
            for row in table:
                if row:
                    made.append(_flow(row, len(made), f"{path}:{table.line_num}"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ExperimentError(f"{path}: {error}") from None
    if not made:
        raise ExperimentError(f"{path} has no flow")
    return made


def _flow(row: Sequence[str], number: int, place: str) -> FlowSpec:
    if len(row) != len(_COLUMNS):
        raise ExperimentError(f"{place}: {len(row)} columns, not the {len(_COLUMNS)} of the first line")
    src, dst, start, size = (text.strip() for text in row)
    try:
        start_s = quantity("time", start, si=True)
        size_bytes = int(size) if size.isascii() and size.isdigit() else round(quantity("size", size, si=True))
    except ValueError as error:
        raise ExperimentError(f"{place}: {error}") from None
    if start_s > LONGEST_S:
        raise ExperimentError(f"{place}: start_s {start}: flows start within {LONGEST_S:,.0f} s")
    if not 0 < size_bytes < _MOST_BYTES:
        raise ExperimentError(f"{place}: size_bytes {size}: from 1 B to 2^63 - 1 B are possible")
    return FlowSpec(number, src, dst, start_s, size_bytes)


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
