"""A scheme on six stars: 1, 2 and 16 flows that last share one link, in virtual time. What `pcn
scheme check --stars` prints: utilisation, queue and Jain's index, beside what the scheme's rule
holds there, and what its authors' program came to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, Scheme
from pcn.hosts.recommended import network_facts, recommended, recommended_at_ports
from pcn.hosts.virtual.network import VirtualNetwork
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star

FLOWS = (1, 2, 16)
XOFF_BYTES = 250e6
"""So that the scheme alone limits the queue; 16 inputs' packets are below the engine's 2^22."""
_ROUNDS, _LEAST_S, _SAMPLES = 1000, 20e-3, 4000
"""A run's length in the longer of a round trip and the NP's period, and at least; the samples of
its second half."""


@dataclass(frozen=True)
class Star:
    """Links of a rate, bit/s, the round trip of their delays alone, s, and packets' payload,
    bytes."""

    rate_bps: float
    rtt_s: float
    payload_bytes: int = 1000

    @property
    def name(self) -> str:
        frames = (
            "" if self.payload_bytes == 1000 else f", {wire.data_bytes(self.payload_bytes):,} B"
        )
        return f"{self.rate_bps / 1e9:g} Gbit/s, {self.rtt_s * 1e6:g} us{frames}"

    def topology(self, flows: int) -> Topology:
        """Returns the network with a number of flows to one host, which start within a round
        trip."""
        bare = star(
            flows,
            1,
            self.rate_bps,
            self.rtt_s / 4,
            xoff_bytes=XOFF_BYTES,
            mtu_bytes=wire.data_bytes(self.payload_bytes),
        )
        specs = (
            FlowSpec(n + 1, f"h{n}", "r0", start_s=n * self.rtt_s / flows) for n in range(flows)
        )
        return replace(bare, flows=tuple(specs))


STARS = (
    Star(10e9, 60e-6),
    Star(40e9, 60e-6),
    Star(25e9, 20e-6),
    Star(100e9, 12e-6),
    Star(400e9, 3e-6, 4038),
    Star(40e9, 500e-6),
)


AUTHORS = Path(__file__).with_name("stars.json")
"""What authors' programs came to on the stars, as judges/stars measured it: `programs` by name,
with `repository`, `commit` and the `network` that they ran, and `lines`, each an `Authors`."""


class Authors(NamedTuple):
    """What a scheme's authors' program came to: as in `Shared`."""

    program: str
    scheme: str
    star: str
    flows: int
    utilisation: float
    queue_bdp: float
    jain: float


def read_authors(file: Path = AUTHORS) -> tuple[dict[str, dict[str, str]], list[Authors]]:
    """Returns the programs and the lines."""
    document = json.loads(file.read_text(encoding="utf-8"))
    return document["programs"], [Authors(*line) for line in document["lines"]]


def authors(scheme: str, star: str, flows: int) -> Authors | None:
    """Returns what the scheme's authors' program came to with that many flows on a star, if it was
    measured."""
    for line in read_authors()[1]:
        if (line.scheme, line.star, line.flows) == (scheme, star, flows):
            return line
    return None


def authors_program(scheme: str) -> str | None:
    """Returns which program of its authors a scheme was measured with, at which commit and on which
    network."""
    programs, lines = read_authors()
    for line in lines:
        if line.scheme == scheme:
            program = programs[line.program]
            return f"{line.program} {program['commit'][:7]}, {program['network']}"
    return None


@dataclass(frozen=True)
class Shared:
    """What came of flows on a star: the link's utilisation, its mean queue in bandwidth-delay
    products, Jain's index of the flows' goodputs; the utilisation and the largest mean queue that
    the scheme's rule holds, None where it states none; and what its authors' program came to, None
    where that wasn't measured."""

    star: str
    flows: int
    utilisation: float
    queue_bdp: float
    jain: float
    rule_utilisation: float | None
    rule_queue_bdp: float | None
    authors_utilisation: float | None = None
    authors_queue_bdp: float | None = None
    authors_jain: float | None = None


def on_stars(scheme: Scheme, seed: int = 1) -> Iterator[Shared]:
    """Yields what comes of the scheme on each star, with the parameters that its rules give it
    there."""
    for place in STARS:
        for flows in FLOWS:
            yield shared(scheme, place, flows, seed)


def shared(scheme: Scheme, place: Star, flows: int, seed: int = 1) -> Shared:
    """Returns what comes of a number of flows on a star."""
    topology = place.topology(flows)
    facts = network_facts(topology, scheme, place.payload_bytes)
    at_ports = recommended_at_ports(topology, scheme, place.payload_bytes)
    configured = scheme.configure(recommended(topology, scheme, place.payload_bytes), at_ports)
    holds = scheme.holds(facts, configured.parameters) if scheme.holds else {}
    measured = measure(configured, topology, place, length_s(configured, place), seed)
    most_bytes = holds.get("queue_bytes")
    theirs = authors(scheme.name, place.name, flows)
    return Shared(
        place.name,
        flows,
        measured.utilisation,
        measured.queue_bytes / facts.bdp_bytes,
        measured.jain,
        holds.get("utilisation"),
        None if most_bytes is None else most_bytes / facts.bdp_bytes,
        *(theirs[4:] if theirs else ()),
    )


def length_s(configured: Configured, place: Star) -> float:
    """Returns how long a run of a scheme on a star lasts, s."""
    round_s = max(place.rtt_s, configured.new_np().period_s or 0.0)
    return max(_ROUNDS * round_s, _LEAST_S)


class Measured(NamedTuple):
    """Of a run's second half: the link's utilisation, its mean queue in bytes, and Jain's index of
    the flows' goodputs."""

    utilisation: float
    queue_bytes: float
    jain: float


def measure(
    configured: Configured,
    topology: Topology,
    place: Star,
    ends_s: float,
    seed: int = 1,
    tick_s: float = 0.0,
) -> Measured:
    """Returns what came of the topology's flows at its bottleneck. `tick_s`: what frames take on
    links is a multiple of it, cut off."""
    switch, port = str(topology.parameters["bottleneck"]).split(":")
    with VirtualNetwork(
        topology, configured, seed=seed, payload_bytes=place.payload_bytes, tick_s=tick_s
    ) as network:
        network.add_flows((flow, None, None) for flow in topology.flows)
        network.run(until_s=ends_s / 2)
        before = np.array([flow.stats().received_bytes for flow in network.flows.values()], float)
        samples = network.sample(
            ends_s / 2 / _SAMPLES,
            [network.queue_bytes(switch, int(port)), network.link_bytes(switch, int(port))],
        )
        network.run(until_s=ends_s)
        received = (
            np.array([flow.stats().received_bytes for flow in network.flows.values()], float)
            - before
        )
        queue, sent = samples.values.T
        times = samples.times_s
    carried_bps = 8 * (sent[-1] - sent[0]) / (times[-1] - times[0])
    squares = float((received**2).sum())
    jain = float(received.sum()) ** 2 / (received.size * squares) if squares else 0.0
    return Measured(float(carried_bps) / place.rate_bps, float(queue.mean()), jain)
