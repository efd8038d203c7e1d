"""`pcn run traffic`: flows of a distribution, or of a file, on any network of the catalog, on both
clocks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, complete
from pcn.experiments.data.plan import HEADER_BYTES, LiveLimits, Plan, Sampling
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.checks import Check, clean, exactly_none, row
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run, RunPage
from pcn.experiments.define.flows_by_size import INCAST
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.traffic import by_size, collective, flows, page as shown, slowest
from pcn.experiments.traffic.flow_files import LONGEST_S, MOST_FLOWS
from pcn.experiments.traffic.spec import NAME, TrafficSpec, draw, files
from pcn.hosts.algorithms import Configured, find_scheme
from pcn.topologies import lossless
from pcn.topologies.lookup import find_topology, kind_of_option
from pcn.topologies.model import MOST_RATE_BPS, Endpoint, FlowSpec, Topology, TopologyError
from pcn.topologies.suspect_values import unusual

_PARAMETERS = (
    Parameter("load", "number", 0.6, "of each host's link, by frames, on average", 0.001, 10),
    Parameter("count", "count", 1000, "flows, at least, beside those of --incast", 0, MOST_FLOWS),
    Parameter(
        "span",
        "time",
        None,
        "for which they start, in place of count",
        1e-9,
        LONGEST_S,
        "count decides",
    ),
    Parameter("payload", "size", 1000, "payload of a data packet", 64, 9000),
    Parameter(
        "duration",
        "time",
        None,
        "when the run ends at the latest",
        1e-6,
        LONGEST_S,
        "all flows have arrived",
    ),
)
_DRAWN = ("load", "count", "span")
"""Of flows that are drawn: neither of a file's nor of a collective operation's."""
_OF_ARRIVALS = {
    "lognormal": (
        Parameter("sigma", "number", 2.0, "of the logarithm of gaps between a host's flows", 0, 5),
    ),
    "onoff": (
        Parameter("on", "time", 1e-3, "mean time for which a host starts flows", 1e-9, LONGEST_S),
        Parameter("off", "time", 1e-3, "mean time for which it starts none", 0, LONGEST_S),
    ),
}
_OF_INCAST = (
    Parameter("incast_size", "size", 500e3, "of each flow of an in-cast", 1, 1e12),
    Parameter(
        "incast_load",
        "number",
        0.02,
        "of all hosts' links by in-casts, by frames, on average",
        1e-6,
        10,
    ),
    Parameter(
        "incast_period",
        "time",
        None,
        "from one in-cast to the next",
        1e-9,
        LONGEST_S,
        "random, by incast_load",
    ),
)
_USUAL_BPS = 10e9
"""Of a NIC, for what an RP has at any rate."""
_BUSIEST = 4
"""Ports whose queues are sampled."""
_K, _STALL_S = (200.0, 4000.0), 0.25e-3
_SAMPLES, _FEWEST, _EVERY_S = 400, 50, 0.05e-3
"""Samples of a long run, the fewest of a short one, and how often they are taken in between."""


class Traffic(Experiment):
    """What it is made of: see `parse_spec`."""

    name = NAME
    title = "Traffic of many flows"
    source = "Network, flows and sizes of your choice"
    about = (
        "Completion times and slowdown by size, PAUSE by tier and class, of traffic on any network."
    )
    schemes = ("pcn",)
    many_flows = True
    number_texts: Mapping[str, NumberText] = {**flows.TEXTS, **collective.TEXTS}
    group_texts = flows.GROUP_TEXTS
    page = RunPage(
        shown.CHARTS,
        shown.headlines,
        shown.about,
        shown.story,
        replay=False,
        tables=by_size.tables,
        together=by_size.charts,
        flows=slowest.stand_out,
        explain="--worst 10",
    )

    def __init__(self, spec: TrafficSpec | None = None) -> None:
        self.spec = spec or TrafficSpec()
        fixed = self.spec.flows or (self.spec.collective and self.spec.pattern != "permutation")
        self.draws = DRAWN_FLOWS if self.spec.incast or not fixed else ""

    @property
    def reference(self) -> str:
        return self.spec.reference

    def files(self) -> list[Path]:
        return files(self.spec)

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        """Returns its own, the topology's except texts, and the scheme's."""
        parameters = [
            parameter
            for parameter in _PARAMETERS
            if parameter.name not in _DRAWN or not (self.spec.flows or self.spec.collective)
        ]
        parameters += collective.PARAMETERS if self.spec.collective else ()
        parameters += [
            *_OF_ARRIVALS.get(self.spec.arrivals, ()),
            *(_OF_INCAST if self.spec.incast else ()),
        ]
        parameters += _of_topology(self.spec.topology)
        return scheme_parameters.of(scheme, parameters)

    @property
    def texts(self) -> Mapping[str, str]:  # type: ignore[override]
        """The topology's, as `lossless_classes`."""
        options = find_topology(self.spec.topology).options
        defaults = {
            name: "" if option.default is None else str(option.default)
            for name, option in options.items()
            if option.annotation is str
        }
        return {**defaults, **self.spec.texts}

    @property
    def elsewhere(self) -> Mapping[str, str]:
        whole = (
            "--flows has all flows"
            if self.spec.flows
            else f"{self.spec.collective} has its own messages"
        )
        drawn = (
            dict.fromkeys(_DRAWN, f"{whole}; leave it out")
            if self.spec.flows or self.spec.collective
            else {}
        )
        mtu = {"mtu_bytes": "frames follow from --set payload=1000B"}
        return {**super().elsewhere, **drawn, **mtu, **find_topology(self.spec.topology).elsewhere}

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        filled = complete(values, self.parameters(scheme))
        payload = round(filled["payload"] or 0)
        topology = self._topology(filled, payload)
        load, count = float(filled.get("load") or 0), round(filled.get("count") or 0)
        drawn = draw(self.spec, topology, seed, load, count, payload, filled)
        if not drawn:
            longer = filled.get("span") is not None
            raise ExperimentError(
                f"no flow: give {'a longer span' if longer else '--set count=1000'}"
            )
        if filled.get("span") is not None:
            filled["count"] = sum(flow.group != INCAST for flow in drawn)
        topology = topology.with_flows(tuple(flows.by_size(drawn)))
        for name in lossless.names(topology.flow_control):
            if name in filled:
                filled[name] = topology.number(name)
        given_s = filled["duration"]
        sent, received = _bytes_by_host(topology)
        busiest_s = _busiest_s((sent, received), topology, payload)
        duration_s = _expected_s(drawn, topology, busiest_s) if given_s is None else float(given_s)
        if self.spec.collective and given_s is None:
            duration_s = max(duration_s, 2 * collective.least_s(drawn, topology, payload))
        if duration_s > 2 * LONGEST_S:
            raise ExperimentError(
                f"{max(flow.size_bytes or 0 for flow in drawn):,} bytes in a flow: hosts' links "
                f"need {duration_s:.2g} s for all flows; runs last {LONGEST_S:,.0f} s at most. "
                "Give --set duration=10s"
            )
        busiest = _busiest(received, topology)
        shortest_s = min(max(busiest_s, _last_s(drawn)), duration_s)
        every_s = min(max(duration_s / _SAMPLES, _EVERY_S), shortest_s / _FEWEST)
        of_scheme = scheme_parameters.with_network(scheme, filled, topology, payload)
        configured = find_scheme(scheme).configure(of_scheme["scheme_parameters"])
        return Plan(
            scenario=self.name,
            scheme=scheme,
            seed=seed,
            **of_scheme,
            topology=topology,
            bottleneck=busiest[0],
            duration_s=duration_s,
            payload_bytes=payload,
            sampling=Sampling(
                tuple(busiest), queues_s=every_s, counters_s=every_s, flows_s=every_s
            ),
            until_complete=given_s is None,
            paths=self._paths(topology),
            reliability=self.spec.repeats,
            live=LiveLimits(_received_bps(drawn, topology, payload), *_K, _STALL_S),
            notes=(
                *self._notes(configured, topology, filled),
                *scheme_parameters.unfit(scheme, topology, payload),
            ),
        )

    def _notes(
        self, configured: Configured, topology: Topology, filled: Mapping[str, Value]
    ) -> Iterator[str]:
        """Yields what a reader of the command or the file may not expect."""
        yield from unusual(topology)
        used = {flow.traffic_class for flow in topology.flows}
        safe = lossless.classes(str(topology.parameters["lossless_classes"]))
        if topology.flow_control == lossless.PFC and (
            lossy := sorted(used - set(safe) - set(self.spec.repeats))
        ):
            names = f"class{'es' * (len(lossy) > 1)} {', '.join(map(str, lossy))}"
            wanted = ",".join(map(str, sorted({*safe, *lossy})))
            with_pfc = f"--set lossless_classes={wanted} gives them PFC"
            yield (
                f"flows of {names} have no PFC and may lose packets"
                + (
                    f", which {configured.scheme.name} repeats; {with_pfc}"
                    if configured.new_rp(_USUAL_BPS).reliability
                    else f"; {with_pfc}, --reliability {lossy[0]}=selective repeats what is lost"
                )
            )
        if self.spec.flows:
            from pcn.experiments.traffic.flow_files.reading import notes

            yield from notes(Path(self.spec.flows))
        if self.spec.flows and filled.get("split_hosts"):
            yield (
                "hosts are split: a flow of host h2 uses NIC h2-N at each end, N its id modulo the "
                "host's links"
            )

    def _topology(self, filled: Mapping[str, Value], payload: int) -> Topology:
        names = {parameter.name for parameter in _of_topology(self.spec.topology)}
        arguments: dict[str, Any] = {
            name: value for name, value in filled.items() if name in names and value is not None
        }
        arguments |= {"mtu_bytes": payload + HEADER_BYTES, **self.spec.texts}
        try:
            return find_topology(self.spec.topology).build(arguments)
        except TopologyError as error:
            raise ExperimentError(str(error)) from None

    def _paths(self, topology: Topology) -> Mapping[int, tuple[Endpoint, ...]]:
        if not self.spec.paths:
            return {}
        from pcn.hosts.virtual.paths import read_paths  # it loads P4Runtime

        return read_paths(Path(self.spec.paths), topology)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        numbers = {**flows.numbers(plan, recording), **collective.numbers(plan, recording)}
        return Outcome(
            run.keys, numbers, samples=by_size.samples(self.spec, plan, recording).to_json()
        )

    def tables(self, plan: Plan, recording: Recording) -> Mapping[str, Iterator[Mapping[str, Any]]]:
        return {"flows": flows.table(plan, recording)}

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        unfinished = sum(flow.fct_s is None for flow in recording.flows)
        text = "flows unfinished at the run's end"
        return [*clean(recording), row("", text, unfinished, exactly_none, "flows", theory=0)]


def _of_topology(name: str) -> tuple[Parameter, ...]:
    """Returns its options that are numbers, except the MTU, which follows from the payload."""
    parameters = []
    for option, declared in find_topology(name).options.items():
        if declared.annotation is str or option == "mtu_bytes":
            continue
        kind = kind_of_option(option, declared.annotation)
        default = None if declared.default in (None, inspect.Parameter.empty) else declared.default
        derived = "the topology's own" if default is None else ""
        # a link's has to be above 0; a rate whose default is 0 isn't a link's
        bounds = (1.0, MOST_RATE_BPS) if kind == "rate" and default else (0.0, math.inf)
        meaning = f"of the topology {name}"
        parameters.append(Parameter(option, kind, default, meaning, *bounds, derived=derived))
    return tuple(parameters)


def _expected_s(drawn: list[FlowSpec], topology: Topology, busiest_s: float) -> float:
    """Returns the time in s by which all flows should have arrived: the last start, and twice as
    long as the links of any host need for all that it sends or receives."""
    return _last_s(drawn) + 2 * busiest_s + 10 * topology.max_rtt_s() + 1e-3


def _last_s(drawn: list[FlowSpec]) -> float:
    return max(flow.start_s for flow in drawn)


def _busiest_s(
    bytes_by_host: Iterable[Mapping[str, int]], topology: Topology, payload: int
) -> float:
    """Returns how long any host's links need for all that it sends or receives."""
    return max(
        8 * size * (payload + HEADER_BYTES) / payload / topology.host_rate_bps(host)
        for sums in bytes_by_host
        for host, size in sums.items()
    )


def _bytes_by_host(topology: Topology) -> tuple[dict[str, int], dict[str, int]]:
    """Returns what each host that sends sends, and what each that receives receives."""
    columns = topology.flow_columns
    sizes = np.maximum(columns.sizes, 0)  # NO_SIZE is below
    sums = []
    for places in (columns.src, columns.dst):
        by_host = np.bincount(places, sizes)  # floats: a file's sums may need more than 64 bits
        hosts = np.flatnonzero(np.bincount(places)).tolist()
        sums.append({topology.hosts[place].name: int(by_host[place]) for place in hosts})
    return sums[0], sums[1]


def _busiest(received: Mapping[str, int], topology: Topology) -> list[Endpoint]:
    """Returns the switches' ports to the hosts that receive most bytes, the first most of all."""
    most = sorted(received, key=lambda host: (-received[host], host))[:_BUSIEST]
    peers = (topology.peer(host, port) for host in most for port in topology.ports(host))
    switches = {switch.name for switch in topology.switches}
    busiest = [peer for peer in peers if peer.node in switches][:_BUSIEST]
    if not busiest:
        raise ExperimentError(
            f"{topology.name}: no switch is next to {most[0]}, and ports of switches are measured; "
            "put one between the hosts"
        )
    return busiest


def _received_bps(drawn: list[FlowSpec], topology: Topology, payload: int) -> float:
    """Returns the frames that hosts receive while flows start, at most all that their links
    carry."""
    last_s = _last_s(drawn)
    frames = 8 * sum(flow.size_bytes or 0 for flow in drawn) * (payload + HEADER_BYTES) / payload
    lines = sum(topology.host_rate_bps(host.name) for host in topology.hosts)
    return min(lines, frames / last_s) if last_s > 0 else lines
