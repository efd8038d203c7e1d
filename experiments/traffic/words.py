"""What traffic is made of, in words: a topology, flow sizes, a pattern, or a file of flows; and as one reference.

    traffic?topology=clos&workload=W1&pattern=incast
    traffic?topology=compact&flows=/home/me/flows.csv&digest=1f3a...

A process of its own is told the reference, and finds the same.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import numpy as np

from experiments.errors import ExperimentError
from experiments.parameters import lookup
from experiments.plan import HEADER_BYTES
from experiments.workloads import (
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
from topologies.catalog import TOPOLOGIES
from topologies.model import FlowSpec, Topology

NAME = "traffic"
WORKLOADS: Mapping[str, FlowSizes] = {one.name: one for one in (W1, W2, HADOOP, WEB_SEARCH)}
PATTERNS = ("uniform", "incast", "permutation")
MOST_SENDERS = 15
"""Of an in-cast."""
_COLUMNS = ("src", "dst", "start_s", "size_bytes")
_STREAM = 77


@dataclass(frozen=True)
class Words:
    """`workload` names sizes, or is a file of them (see `read_cdf`). `flows`, a file, takes the place of workload and
    pattern. Files are known by their contents, too: another content is another experiment."""

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


def words(topology: str = "", workload: str = "", pattern: str = "", flows: str = "") -> Words:
    """Of what a user gives; the rest is as `Words` has it. Raises ExperimentError."""
    if flows and (workload or pattern):
        raise ExperimentError("--flows has sizes and ends of all flows: leave out --workload and --pattern")
    made = Words(topology or Words.topology, workload or Words.workload, pattern or Words.pattern, flows)
    lookup(made.topology, TOPOLOGIES, "topology")
    lookup(made.pattern, dict.fromkeys(PATTERNS), "pattern")
    file = flows or ("" if made.workload in WORKLOADS else made.workload)
    if not file:
        return made
    path = Path(file).absolute()
    if not path.is_file():
        known = "" if flows else f" Workloads are {', '.join(WORKLOADS)}, or a file of lines `SIZE PERCENT`."
        raise ExperimentError(f"there is no file {file}.{known}")
    named = {"flows": str(path)} if flows else {"workload": str(path)}
    found = Words(**{**vars(made), **named, "digest": _digest(path)})
    _ = read_flows(path) if flows else sizes(found)
    return found


def from_reference(text: str) -> Words:
    """What `Words.reference` says. Raises ExperimentError where a file has another content by now."""
    _, _, query = text.partition("?")
    found = Words(**dict(parse_qsl(query)))
    file = found.flows or (found.workload if found.workload not in WORKLOADS else "")
    if found.digest and (not Path(file).is_file() or _digest(Path(file)) != found.digest):
        raise ExperimentError(f"{file} isn't what it was when these runs were declared: give the command again")
    return found


def sizes(of: Words) -> FlowSizes:
    """Raises ExperimentError for a file that has none."""
    if of.workload in WORKLOADS:
        return WORKLOADS[of.workload]
    try:
        return read_cdf(Path(of.workload))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ExperimentError(str(error)) from None


def read_flows(path: Path) -> list[FlowSpec]:
    """A CSV file with the columns src, dst, start_s, size_bytes. Raises ExperimentError that names file and line."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            if tuple(table.fieldnames or ()) != _COLUMNS:
                raise ExperimentError(f"{path}: the first line must be {','.join(_COLUMNS)}")
            made = []
            for number, row in enumerate(table):
                try:
                    start_s, size = float(row["start_s"]), int(row["size_bytes"])
                    if not (start_s >= 0 and size > 0):
                        raise ValueError
                except (TypeError, ValueError):
                    raise ExperimentError(
                        f"{path}:{number + 2}: start_s must be 0 or more, size_bytes a whole number above 0"
                    ) from None
                made.append(FlowSpec(number, row["src"], row["dst"], start_s, size))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ExperimentError(f"{path}: {error}") from None
    if not made:
        raise ExperimentError(f"{path} has no flow")
    return made


def draw(of: Words, topology: Topology, seed: int, load: float, count: int, payload_bytes: int) -> list[FlowSpec]:
    """The flows of a run: those of the file, or drawn. Equal for equal arguments, whatever the scheme. Raises
    ExperimentError for a host that the topology hasn't."""
    hosts = [host.name for host in topology.hosts]
    if of.flows:
        made = read_flows(Path(of.flows))
        known = set(hosts)
        for flow in made:
            for name in (flow.src, flow.dst):
                if name not in known:
                    raise ExperimentError(f"{of.flows}: {topology.name} has no host {name!r}; it has {_some(hosts)}")
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


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{names[0]} to {names[-1]}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
