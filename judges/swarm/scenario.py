"""Scenarios of the swarm: a network, its flows, a scheme, and faults, all drawn from a seed."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pcn.controller.constants import TELEMETRY_RATES_BPS
from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, SchemeError
from pcn.hosts.algorithms.discovery import schemes
from pcn.hosts.algorithms.parameters import describe
from pcn.hosts.lossy_classes import without_signal
from pcn.hosts.virtual.flow_maker import MAX_PAYLOAD
from pcn.topologies import lossless
from pcn.topologies.lossless import CREDITS, PFC
from pcn.topologies.model import (
    FIFO,
    ROUND_ROBIN,
    Endpoint,
    FlowSpec,
    Link,
    OutputBuffer,
    Switch,
    Topology,
    make_hosts,
)

PROGRAMS = {"pcn": ("pcn_waited", "pcn_left_behind")}
"""Of schemes that have several with the same tables."""
CREDITS_ALONE = ("ibcc", "ibcc-tcd")
VARIANTS = ({}, {"queues": "one"}, {"inplace": False}, {"prefetch": False})
"""How a scenario is played a second time: no result may depend on it."""


@dataclass(frozen=True)
class Fault:
    """Something that happens to a network at a time; `method` is one of `faults.Faults`."""

    time_s: float
    method: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.time_s * 1e6:.3f} us: {self.method}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Scenario:
    """`faults_end_s`: all links are up and whole again, all entries there. `stop_s`: all flows
    stop."""

    seed: int
    topology: Topology
    scheme: Configured
    program: str | None
    payload_bytes: int
    response_s: float
    flows: tuple[FlowSpec, ...]
    faults: tuple[Fault, ...]
    faults_end_s: float
    stop_s: float
    variant: dict[str, Any]

    def __str__(self) -> str:
        t = self.topology
        lines = [
            f"seed {self.seed}: {self.scheme.scheme.name} {self.scheme.parameters}",
            f"program {self.program or self.scheme.scheme.program}, payload {self.payload_bytes} "
            f"B, response {self.response_s * 1e6:g} us, flow control {t.flow_control}, "
            f"{dict(t.parameters)}",
            *(f"{switch}" for switch in t.switches),
            *(
                f"{link.a} - {link.b}: {link.rate_bps / 1e9:g} Gb/s, {link.delay_s * 1e6:g} us"
                for link in t.links
            ),
            *map(str, self.flows),
            *map(str, self.faults),
            f"faults end {self.faults_end_s * 1e6:.3f} us, flows stop {self.stop_s * 1e6:.3f} us",
            f"again as {self.variant}",
        ]
        return "\n".join(lines)


def draw(seed: int) -> Scenario:
    """The same one for the same seed, everywhere."""
    rng = random.Random(seed)
    scheme = _scheme(rng)
    flow_control = CREDITS if scheme.scheme.name in CREDITS_ALONE or rng.random() < 0.15 else PFC
    payload = rng.choice((1, 200, 1000, 1000, 1000, 1000, 4096, MAX_PAYLOAD))
    rate_bps = rng.choice((1e9, 10e9, 10e9, 100e9))
    frame_bytes = wire.data_bytes(payload, scheme.wants_telemetry, scheme.new_np().grants)
    frame_s = frame_bytes * 8 / rate_bps
    length_s = frame_s * rng.randint(200, 1200)
    ring = rng.random() < 0.15
    topology = _topology(rng, rate_bps, length_s, frame_bytes, flow_control, ring)
    if scheme.wants_telemetry:
        topology = _with_known_rates(topology)
    flows = tuple(_with_signals(scheme, topology, _flows(rng, topology, length_s, rate_bps)))
    if ring and rng.random() < 0.5:
        flows = tuple(_around(topology))
    program = rng.choice((None, *PROGRAMS.get(scheme.scheme.name, ())))
    faults = sorted(_faults(rng, topology, length_s), key=lambda fault: fault.time_s)
    return Scenario(
        seed, topology, scheme, program, payload, rng.choice((0.0, 0.0, 1e-6, 5e-6)), flows,
        tuple(faults),
        length_s, 1.5 * length_s, rng.choice(VARIANTS),
    )  # fmt: skip


def _log_uniform(rng: random.Random, least: float, most: float) -> float:
    return float(least * (most / least) ** rng.random())


def _scheme(rng: random.Random) -> Configured:
    """With up to three parameters at their bounds, or far from their defaults."""
    scheme = schemes[rng.choice(sorted(schemes))]
    configured = scheme.configure()
    described = describe(scheme.parameters)
    for parameter in rng.sample(described, min(len(described), rng.choice((0, 0, 1, 3)))):
        least = max(parameter.least, 1e-6) if parameter.kind == "time" else parameter.least
        value = rng.choice(
            (
                least, parameter.most, parameter.default / 10, parameter.default * 10,
                parameter.default * rng.uniform(0.5, 2),
            )
        )  # fmt: skip
        value = min(max(value, least), parameter.most, 1e12)
        if parameter.kind == "count":
            value = round(value)
        try:
            settings = {
                field.field: getattr(configured.parameters, field.field) for field in described
            }
            configured = scheme.configure(settings | {parameter.field: value})
        except SchemeError:
            continue
    return configured


def _topology(
    rng: random.Random,
    rate_bps: float,
    length_s: float,
    frame_bytes: int,
    flow_control: str,
    ring: bool,
) -> Topology:
    """Switches in a tree with up to three links more, or in a ring; hosts at any of them."""
    n = rng.choice((1, 2, 2, 3, 4, 5))
    delays = [min(delay, length_s / 20) for delay in (0.0, 0.3e-6, 1e-6, 1e-6, 5e-6, 40e-6)]
    if rng.random() < 0.8:
        delays = delays[1:]  # a link without delay makes the engine go in small steps
    pairs = [(rng.randrange(i), i) for i in range(1, n)]
    for _ in range(rng.choice((0, 0, 0, 1, 3)) if n > 1 else 0):
        a, b = rng.sample(range(n), 2)
        pairs.append((a, b))
    if ring:
        n = rng.choice((5, 6, 7))  # in a smaller one paths don't close a circle of buffers
        pairs = [(i, (i + 1) % n) for i in range(n)]
    at = [i for i in range(n) for _ in range(rng.randint(1 if ring else 0, 3))]
    while len(at) < 2:
        at.append(rng.randrange(n))
    ports = [0] * n
    links = []

    def end(switch: int) -> Endpoint:
        ports[switch] += 1
        return Endpoint(f"s{switch}", ports[switch])

    def link(a: Endpoint, b: Endpoint):
        rate = rate_bps * rng.choice((0.1, 0.7, 1, 1, 1, 1, 1, 2.5))
        links.append(Link(a, b, rate, rng.choice(delays)))

    for number, switch in enumerate(at):
        link(Endpoint(f"h{number}", 0), end(switch))
    for a, b in pairs:
        link(end(a), end(b))
    hosts = make_hosts([f"h{i}" for i in range(len(at))])
    arbitration = rng.choice((FIFO, FIFO, ROUND_ROBIN))
    switches = tuple(Switch(f"s{i}", i + 1, arbitration) for i in range(n))
    if rng.random() < 0.15:
        output = OutputBuffer(
            max(frame_bytes, 128) * rng.choice((1, 3, 100)),
            rng.uniform(0.8, 3),
            rng.choice((0.0, 1e-6)),
            rng.random() < 0.3,
        )
        switches = tuple(replace(switch, output=output) for switch in switches)
    mtu = max(frame_bytes, 128)
    xoff = _log_uniform(rng, mtu, 300 * mtu)
    # By this a PAUSE of the fastest link is sent again before it ends (pcn.controller.pfc)
    quantum_us = 512 / max(link.rate_bps for link in links) * 1e6
    wait_us = (mtu + 512) / 64 * quantum_us
    least_quanta = math.ceil(max(2 * wait_us, 1 + wait_us) / quantum_us) + 1
    every = "0,1,2,3,4,5,6,7" if flow_control == CREDITS else "0,1,2,3,4,5,6"
    parameters = lossless.parameters(
        xoff,
        rng.choice((0.0, xoff / 2, max(0.0, xoff - 2 * mtu), xoff)),
        mtu,
        rng.choice((least_quanta, 2 * least_quanta, 10 * least_quanta, 0xFFFF, 0xFFFF)),
        rng.choice(("3", "3", "3,4", every)),
    )
    if flow_control == CREDITS:
        room = _log_uniform(rng, mtu + 64, 200 * mtu)
        parameters |= lossless.credit_parameters(room, rng.choice((0.1e-6, 2e-6, 20e-6)))
    return Topology(
        "swarm", hosts, switches, tuple(links), parameters=parameters, flow_control=flow_control
    )


def _with_known_rates(topology: Topology) -> Topology:
    """Of telemetry, which has types for some alone: the nearest ones."""

    def nearest(rate_bps: float) -> float:
        return min(TELEMETRY_RATES_BPS[1:], key=lambda known: abs(known - rate_bps))

    return replace(
        topology,
        links=tuple(replace(link, rate_bps=nearest(link.rate_bps)) for link in topology.links),
    )


def _around(topology: Topology) -> Iterator[FlowSpec]:
    """In a ring: from each host to one two switches further, the same way round: a deadlock,
    perhaps."""
    at = {topology.peer(host.name, 0).node: host.name for host in topology.hosts}
    for number, src in enumerate(topology.hosts):
        switch = int(topology.peer(src.name, 0).node[1:])
        yield FlowSpec(number, src.name, at[f"s{(switch + 2) % len(topology.switches)}"])


def _flows(
    rng: random.Random, topology: Topology, length_s: float, rate_bps: float
) -> Iterator[FlowSpec]:
    hosts = [host.name for host in topology.hosts]
    sink = rng.choice(hosts)
    incast = rng.random() < 0.5
    for number in range(rng.randint(1, 10)):
        dst = sink if incast else rng.choice(hosts)
        src = rng.choice([host for host in hosts if host != dst])
        start_s = rng.choice((0.0, rng.random() * length_s))
        kind = rng.choice(("size", "size", "duration", "open"))
        yield FlowSpec(
            number, src, dst, start_s=start_s,
            size_bytes=rng.randint(1, max(1, round(length_s * rate_bps / 16)))
            if kind == "size"
            else None,
            duration_s=rng.random() * length_s if kind == "duration" else None,
            rate_bps=rate_bps * rng.random() if rng.random() < 0.2 else None,
            traffic_class=rng.choice((3, 3, 3, 3, 4, 0)),
        )  # fmt: skip


def _with_signals(
    scheme: Configured, topology: Topology, flows: Iterable[FlowSpec]
) -> Iterator[FlowSpec]:
    """Has flows of classes where the scheme would have no signal, which are refused, in class 3."""
    for flow in flows:
        yield (
            replace(flow, traffic_class=3)
            if without_signal(topology, scheme.scheme, flow.traffic_class)
            else flow
        )


def _faults(rng: random.Random, topology: Topology, length_s: float) -> Iterator[Fault]:
    ends = [end for link in topology.links for end in (link.a, link.b)]
    switches = [switch.name for switch in topology.switches]
    for _ in range(rng.choice((0, 1, 2, 4, 8))):
        begin_s, over_s = sorted(rng.random() * length_s for _ in range(2))
        end = rng.choice(ends)
        kind = rng.choice(
            (
                "link_down", "link_slower", "flow_control", "notifications", "data", "routes",
                "restart", "silent", "stop",
            )
        )  # fmt: skip
        if kind == "link_down":
            yield Fault(begin_s, "link_down", (end.node, end.port))
            yield Fault(over_s, "link_as_it_was", (end.node, end.port))
        elif kind == "link_slower":
            yield Fault(begin_s, "link_rate", (end.node, end.port, rng.choice((0.01, 0.5))))
            yield Fault(over_s, "link_as_it_was", (end.node, end.port))
        elif kind in ("flow_control", "notifications", "data"):
            yield Fault(
                begin_s,
                "disturb",
                (end.node, end.port, kind.replace("_", " "), *_disturbance(rng, kind, length_s)),
            )
            yield Fault(
                over_s, "disturb", (end.node, end.port, kind.replace("_", " "), 0, 0, 0, 0.0)
            )
        elif kind == "silent":
            host = rng.choice(topology.hosts).name
            yield Fault(begin_s, "disturb", (host, 0, "notifications", 1, 0, 0, 0.0))
            yield Fault(over_s, "disturb", (host, 0, "notifications", 0, 0, 0, 0.0))
        elif kind == "routes":
            name = rng.choice(switches)
            yield Fault(begin_s, "forget_routes", (name,))
            yield Fault(over_s, "restore", (name,))
        elif kind == "restart":
            name = rng.choice(switches)
            yield Fault(begin_s, "forget_all", (name,))
            yield Fault(over_s, "restore", (name,))
        else:
            yield Fault(begin_s, "stop_flow", (rng.randrange(10),))


def _disturbance(rng: random.Random, traffic: str, length_s: float) -> Sequence[float]:
    every = rng.choice((1, 2, 3, 10))
    kind = "lose" if traffic == "data" else rng.choice(("lose", "repeat", "late"))
    if kind == "lose":
        return every, 0, 0, 0.0
    return (
        (0, every, 0, 0.0)
        if kind == "repeat"
        else (0, 0, every, length_s * rng.choice((0.001, 0.01, 0.1)))
    )
