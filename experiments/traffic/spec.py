"""What traffic is made of: a topology, flow sizes, a pattern, or a file of flows; and as one
reference.

    traffic?topology=clos&workload=W1&pattern=incast
    traffic?topology=compact&flows=/home/me/flows.csv&digest=1f3a...

Another process gets the reference, and finds the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qsl, urlencode

import numpy as np

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Value, lookup
from pcn.experiments.data.plan import HEADER_BYTES
from pcn.experiments.define import collectives
from pcn.experiments.define.arrivals import Arrivals, LogNormal, OnOff
from pcn.experiments.define.flow_sizes import FlowSizes, read_cdf
from pcn.experiments.define.flows_by_size import INCAST
from pcn.experiments.define.published_sizes import PUBLISHED, published
from pcn.experiments.define.workloads import (
    arrivals_per_s,
    fan_in_flows,
    incast_flows,
    permutation_flows,
    poisson_times,
    uniform_flows,
)
from pcn.experiments.traffic import collective, repeats
from pcn.experiments.traffic.flow_files import MOST_FLOWS
from pcn.experiments.traffic.sizes import size_group
from pcn.hosts.reliability import Reliability
from pcn.topologies import order, python_file
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, Topology, TopologyError

NAME = "traffic"
WORKLOADS: Mapping[str, FlowSizes] = {
    name: distribution.sizes for name, distribution in PUBLISHED.items()
}
PATTERNS = ("uniform", "incast", "permutation")
POISSON, LOG_NORMAL, ON_OFF = ARRIVALS = ("poisson", "lognormal", "onoff")
MOST_SENDERS = 15
"""Of an in-cast of the pattern."""
_STREAM, _INCAST_STREAM, _RANKS_STREAM = 77, 78, 79


@dataclass(frozen=True)
class TrafficSpec:
    """`topology` is a reference (`find_topology`). `workload` names sizes or a collective operation
    (`define.collectives`), or is a file of sizes (`read_cdf`). `flows`, a file, takes the place of
    all others. `paths`, a file, has ways of flows (`read_paths`). `reliability`: what classes
    repeat, texts of `repeats` with `;` between them. `arrivals` are Poisson's where it is empty.
    `incast`, a number, adds in-casts of that many senders. `options`: those of the topology that
    are texts, as a query; numbers are parameters of runs. Files are known by their contents, too:
    another content is another experiment."""

    topology: str = "dumbbell"
    workload: str = "W2"
    pattern: str = "uniform"
    flows: str = ""
    arrivals: str = ""
    incast: str = ""
    options: str = ""
    paths: str = ""
    reliability: str = ""
    digest: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """Options of the topology that are texts."""
        return dict(parse_qsl(self.options))

    @property
    def repeats(self) -> Mapping[int, Reliability]:
        """What the flows of each class do about lost packets. Raises ExperimentError."""
        return repeats.reliability(filter(None, self.reliability.split(";")))

    @property
    def collective(self) -> str:
        """The collective operation's full name; empty: there is none."""
        return "" if self.flows else collectives.collective(self.workload)

    @property
    def reference(self) -> str:
        fields = {name: value for name, value in vars(self).items() if value}
        if self.flows:
            del fields["workload"], fields["pattern"]
        return f"{NAME}?{urlencode(fields)}"


def text_options(topology: str) -> set[str]:
    """Returns the names of a topology's options that are texts, as `lossless_classes`. Raises
    ExperimentError."""
    try:
        options = find_topology(topology or TrafficSpec.topology).options
    except TopologyError as error:
        raise ExperimentError(str(error)) from None
    return {name for name, option in options.items() if option.annotation is str}


def parse_spec(
    topology: str = "",
    workload: str = "",
    pattern: str = "",
    flows: str = "",
    arrivals: str = "",
    incast: str = "",
    options: Mapping[str, str] = MappingProxyType({}),
    paths: str = "",
    reliability: Sequence[str] = (),
) -> TrafficSpec:
    """Returns the specification of what a user gives; the rest has `TrafficSpec`'s defaults.
    `options`: those of `text_options`. Raises ExperimentError."""
    drawn = {"workload": workload, "pattern": pattern, "arrivals": arrivals, "incast": incast}
    if flows and any(drawn.values()):
        others = " and ".join(f"--{name}" for name, value in drawn.items() if value)
        raise ExperimentError(
            f"--flows has sizes, starts and ends of all flows: leave out {others}"
        )
    try:
        network = find_topology(topology or TrafficSpec.topology).reference
    except TopologyError as error:
        from pcn.experiments.traffic.wrong_option import other_kind  # it loads all formats

        instead = other_kind(Path(topology), "topology") if Path(topology).is_file() else ""
        raise ExperimentError(
            f"--topology {topology}: {instead}" if instead else str(error)
        ) from None
    named = published(workload)
    if order.ORDER in options:
        try:
            options = {**options, order.ORDER: order.absolute(options[order.ORDER])}
        except TopologyError as error:
            raise ExperimentError(str(error)) from None
    spec = TrafficSpec(
        network,
        named.name
        if named
        else collectives.collective(workload) or workload or TrafficSpec.workload,
        pattern or TrafficSpec.pattern,
        flows,
        "" if arrivals == POISSON else arrivals,
        incast,
        urlencode(options, safe=",/:"),
    )
    for name in options:
        lookup(name, dict.fromkeys(text_options(spec.topology)), "text option of the topology")
    lookup(spec.pattern, dict.fromkeys(PATTERNS), "pattern")
    lookup(arrivals or POISSON, dict.fromkeys(ARRIVALS), "arrivals")
    if spec.arrivals and spec.pattern == "incast":
        raise ExperimentError(
            f"--arrivals {spec.arrivals}: of the patterns uniform and permutation; in-casts are "
            "Poisson's"
        )
    if spec.collective:
        if arrivals:
            raise ExperimentError(
                f"--arrivals {arrivals}: messages of {spec.workload} start after others"
            )
        if spec.pattern == "incast":
            raise ExperimentError(
                f"--pattern incast: ranks of {spec.workload} are in order, or --pattern permutation"
            )
    if incast and not (incast.isascii() and incast.isdigit() and int(incast[:9]) > 0):
        raise ExperimentError(f"--incast {incast}: a number of senders, from 1")
    if file := flows or ("" if spec.workload in WORKLOADS or spec.collective else spec.workload):
        path = Path(file).absolute()
        if not path.is_file():
            known = (
                f". Workloads are {', '.join(WORKLOADS)}, or a file of lines `SIZE SHARE`; "
                "collective operations are"
            )
            known = "" if flows else f"{known} {', '.join(collectives.names())}."
            raise ExperimentError(f"no file {file}{known}")
        spec = replace(spec, **{"flows" if flows else "workload": str(path)})
        option = "flows" if flows else "workload"
        from pcn.experiments.traffic.flow_files.reading import read_flows
        from pcn.experiments.traffic.wrong_option import other_kind

        try:
            _ = read_flows(path) if flows else sizes(spec)
        except ExperimentError as error:
            instead = other_kind(path, option)
            raise ExperimentError(
                f"--{option} {file}: {instead}" if instead else str(error)
            ) from None
    if paths:
        path = Path(paths).absolute()
        if not path.is_file():
            raise ExperimentError(f"--paths {paths}: no such file")
        spec = replace(spec, paths=str(path))
    if repeats.reliability(reliability):
        spec = replace(spec, reliability=";".join(reliability))
    return replace(spec, digest=_digest(spec))


def from_reference(text: str) -> TrafficSpec:
    """Parses `TrafficSpec.reference`. Raises ExperimentError where a file has another content by
    now."""
    _, _, query = text.partition("?")
    traffic_spec = TrafficSpec(**dict(parse_qsl(query)))
    if traffic_spec.digest and _digest(traffic_spec) != traffic_spec.digest:
        names = " or ".join(map(str, files(traffic_spec)))
        raise ExperimentError(
            f"{names} isn't what it was when these runs were declared: give the command again"
        )
    return traffic_spec


def sizes(of: TrafficSpec) -> FlowSizes:
    """Raises ExperimentError for a file that has none."""
    if of.workload in WORKLOADS:
        return WORKLOADS[of.workload]
    try:
        return read_cdf(Path(of.workload))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ExperimentError(str(error)) from None


def draw(
    of: TrafficSpec,
    topology: Topology,
    seed: int,
    load: float,
    count: int,
    payload_bytes: int,
    more: Mapping[str, Value] = MappingProxyType({}),
) -> list[FlowSpec]:
    """Returns the flows of a run: those of the file, or drawn; `more` are the parameters of
    arrivals and in-casts. Equal for equal arguments, whatever the scheme. Raises ExperimentError
    for a host that the topology hasn't, and for one that is alone."""
    hosts = [host.name for host in topology.hosts]
    if of.flows:
        from pcn.experiments.traffic.flow_files.reading import read_flows

        return read_flows(Path(of.flows), topology)
    if len(hosts) < 2 and not of.collective:
        raise ExperimentError(f"{topology.name} has one host: flows have two ends")
    rate_bps = min(topology.host_rate_bps(name) for name in hosts)
    drawn: list[FlowSpec] = []
    span_s = more.get("span")
    if of.collective:
        drawn_order = (
            np.random.default_rng([seed, _RANKS_STREAM]) if of.pattern == "permutation" else None
        )
        drawn = collective.draw(of.collective, hosts, drawn_order, more)
    elif count:
        per_s = arrivals_per_s(
            load, rate_bps, sizes(of), payload_bytes, payload_bytes + HEADER_BYTES
        )
        if span_s is None:
            drawn = _background(
                of, np.random.default_rng([seed, _STREAM]), per_s, count, hosts, more
            )
        else:
            drawn = _until(span_s, of, [seed, _STREAM], per_s, hosts, more)
    if of.incast:
        if of.collective:
            end_s: Value = collective.least_s(drawn, topology, payload_bytes)
        else:
            end_s = span_s or (drawn[-1].start_s if drawn else more.get("duration"))
        if end_s is None:
            raise ExperimentError(
                "in-casts alone need an end: give --set span=10ms, or --set count=1000 of other "
                "flows"
            )
        lines_bps = rate_bps * len(hosts) * payload_bytes / (payload_bytes + HEADER_BYTES)
        drawn += _incasts(
            of,
            np.random.default_rng([seed, _INCAST_STREAM]),
            lines_bps,
            end_s,
            hosts,
            more,
            len(drawn),
        )
    return drawn


def _until(
    end_s: float,
    of: TrafficSpec,
    seed: list[int],
    per_s: float,
    hosts: Sequence[str],
    more: Mapping[str, Value],
) -> list[FlowSpec]:
    """Returns the flows that start before `end_s`. Raises ExperimentError where there are too
    many."""
    expected = per_s * len(hosts) * end_s
    count = round(expected + 10 * math.sqrt(expected) + 20)
    while count <= 2 * MOST_FLOWS:
        drawn = _background(of, np.random.default_rng(seed), per_s, count, hosts, more)
        if drawn[-1].start_s >= end_s:
            flow_specs = [flow for flow in drawn if flow.start_s < end_s]
            if len(flow_specs) <= MOST_FLOWS:
                return flow_specs
        count *= 2
    raise ExperimentError(
        f"some {expected:,.0f} flows start within {end_s:g} s: more than {MOST_FLOWS:,}"
    )


def _background(
    of: TrafficSpec,
    random: np.random.Generator,
    per_s: float,
    count: int,
    hosts: Sequence[str],
    more: Mapping[str, Value],
) -> list[FlowSpec]:
    if of.pattern == "uniform":
        return uniform_flows(
            random, sizes(of), per_s, count, hosts, size_group, _arrivals(of, more)
        )
    if of.pattern == "permutation":
        return permutation_flows(
            random, sizes(of), per_s, count, hosts, size_group, _arrivals(of, more)
        )
    return incast_flows(
        random, sizes(of), per_s, count, hosts, min(MOST_SENDERS, len(hosts) - 1), group=size_group
    )


def _arrivals(of: TrafficSpec, more: Mapping[str, Value]) -> Arrivals | None:
    if of.arrivals == LOG_NORMAL:
        return LogNormal(more["sigma"] or 0.0)
    return OnOff(more["on"] or 0.0, more["off"] or 0.0) if of.arrivals == ON_OFF else None


def _incasts(
    of: TrafficSpec,
    random: np.random.Generator,
    lines_bps: float,
    end_s: float,
    hosts: Sequence[str],
    more: Mapping[str, Value],
    first_id: int,
) -> list[FlowSpec]:
    """Returns the in-casts' flows: at a period, or as a Poisson process of a load. `lines_bps`:
    payload that all hosts' links carry."""
    senders, size, period_s = int(of.incast), round(more["incast_size"] or 0), more["incast_period"]
    if senders >= len(hosts):
        raise ExperimentError(
            f"--incast {senders}: {len(hosts)} hosts have at most {len(hosts) - 1} senders to one"
        )
    if period_s is None:
        per_s = (more["incast_load"] or 0.0) * lines_bps / (8 * size * senders)
        starts = poisson_times(random, per_s, end_s)
    else:
        starts = [number * period_s for number in range(math.floor(end_s / period_s) + 1)]
    if len(starts) * senders > MOST_FLOWS:
        raise ExperimentError(
            f"{len(starts):,} in-casts of {senders} senders: more than {MOST_FLOWS:,} flows"
        )
    return fan_in_flows(random, starts, senders, size, hosts, INCAST, first_id)


def files(of: TrafficSpec) -> list[Path]:
    """Returns what is read: the topology's and what they import, then those of flows or sizes, of
    paths, and of a scheduler."""
    file = of.flows or (of.workload if of.workload not in WORKLOADS and not of.collective else "")
    file_of = find_topology(of.topology).file
    topology_files = (
        (python_file.sources(file_of) if file_of.suffix == ".py" else [file_of]) if file_of else []
    )
    flows: list[Path] = []
    if of.flows:
        from pcn.experiments.traffic.flow_files.reading import files_of

        flows = files_of(Path(of.flows))
    scheduler = order.file_and_name(of.texts.get(order.ORDER, ""))
    return [
        *topology_files,
        *(flows or [Path(file)] * bool(file)),
        *([Path(of.paths)] * bool(of.paths)),
        *([scheduler[0]] if scheduler else []),
    ]


def _digest(of: TrafficSpec) -> str:
    """Returns a digest (16 hex digits) of the files' contents; empty where there are no files. A
    file that has gone has no contents."""
    contents = [path.read_bytes() if path.is_file() else b"" for path in files(of)]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16] if contents else ""
