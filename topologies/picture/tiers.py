"""Tiers of a network, for a picture: hosts below, then switches by their distance to the next host,
and racks of hosts that are alike folded into one box."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

from pcn.topologies.model import Link, Topology

UNFOLDED = 64
"""Hosts of a network whose racks are not folded."""


@dataclass(frozen=True)
class Rack:
    """Hosts at the same nodes with links alike, in order. `node`: where their first links end, a
    switch, or a host that has no other neighbour."""

    node: str
    hosts: tuple[str, ...]
    link: Link

    links: tuple[Link, ...]
    """The first ones of the hosts, in their order."""
    more: tuple[tuple[str, tuple[Link, ...]], ...] = ()
    """Of hosts with several ports: where their next links end, and these."""

    @property
    def cables(self) -> tuple[tuple[str, tuple[Link, ...]], ...]:
        return ((self.node, self.links), *self.more)

    @property
    def label(self) -> str:
        if len(self.hosts) == 1:
            return self.hosts[0]
        return f"{self.hosts[0]} ... {self.hosts[-1]}"


@dataclass(frozen=True)
class Cable:
    """All links between two switches that are alike."""

    a: str
    b: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Tiers:
    racks: tuple[Rack, ...]
    """From left to right."""
    switches: tuple[tuple[str, ...], ...]
    """Of each tier from the lowest on, from left to right."""
    cables: tuple[Cable, ...]

    @classmethod
    def of(cls, topology: Topology) -> Tiers:
        racks = _racks(topology)
        tier = _tiers(topology)
        rows: list[list[str]] = [[] for _ in range(max(tier.values(), default=0))]
        for name, number in tier.items():
            rows[number - 1].append(name)
        places: dict[str, float] = {}
        for number, row in enumerate(rows):
            if number:
                row.sort(key=lambda name: _mean_place(topology, name, places))
            row[:] = _along_chain(topology, row)
            places |= {name: place / len(row) for place, name in enumerate(row)}
        order = {name: place for place, name in enumerate(rows[0])} if rows else {}
        in_order = sorted(racks, key=lambda rack: order.get(rack.node, -1))
        return cls(tuple(in_order), tuple(map(tuple, rows)), _cables(topology))


def _racks(topology: Topology) -> list[Rack]:
    fold = len(topology.hosts) > UNFOLDED
    by_links: dict[tuple[object, ...], list[str]] = {}
    links: dict[tuple[object, ...], list[tuple[Link, ...]]] = {}
    for host in topology.hosts:
        host_links = topology.host_links(host.name)
        alike = tuple(
            (link.far_end(host.name).node, link.rate_bps, link.delay_s) for link in host_links
        )
        key: tuple[object, ...] = (alike, "" if fold else host.name)
        by_links.setdefault(key, []).append(host.name)
        links.setdefault(key, []).append(host_links)
    racks = []
    for key, hosts in by_links.items():
        by_port = [*zip(*links[key], strict=True)]
        (node, first), *more = [(by[0].far_end(hosts[0]).node, by) for by in by_port]
        racks.append(Rack(node, tuple(hosts), first[0], first, tuple(more)))
    return racks


def _tiers(topology: Topology) -> dict[str, int]:
    """Returns the tier of each switch, from 1; in the order of the first host below for tier 1,
    then of the topology."""
    tiers: dict[str, int] = {}
    todo: deque[str] = deque()
    for host in topology.hosts:
        for port in topology.ports(host.name):
            switch = topology.peer(host.name, port).node
            if not topology.is_host(switch) and switch not in tiers:
                tiers[switch] = 1
                todo.append(switch)
    while todo:
        switch = todo.popleft()
        for port in topology.ports(switch):
            peer = topology.peer(switch, port).node
            if peer not in tiers and not topology.is_host(peer):
                tiers[peer] = tiers[switch] + 1
                todo.append(peer)
    top = max(tiers.values(), default=0) + 1
    return tiers | {switch.name: top for switch in topology.switches if switch.name not in tiers}


def _along_chain(topology: Topology, row: list[str]) -> list[str]:
    """Returns a row's switches in the order of the chain that they are, from the end that was
    first; as they are where they are none."""
    in_row = set(row)
    beside = {
        name: {topology.peer(name, port).node for port in topology.ports(name)} & in_row - {name}
        for name in row
    }
    ends = [name for name in row if len(beside[name]) == 1]
    if len(ends) != 2 or any(len(peers) > 2 for peers in beside.values()):
        return row
    chain = [ends[0]]
    while following := beside[chain[-1]] - set(chain[-2:]):
        chain += following
    return chain if len(chain) == len(row) else row


def _mean_place(topology: Topology, switch: str, places: dict[str, float]) -> float:
    """Returns the mean place of a switch's neighbours that have a place already; 1 where none
    has."""
    peer_places = [
        places[peer]
        for port in topology.ports(switch)
        if (peer := topology.peer(switch, port).node) in places
    ]
    return sum(peer_places) / len(peer_places) if peer_places else 1.0


def _cables(topology: Topology) -> tuple[Cable, ...]:
    parallel: dict[tuple[str, str, float, float], list[Link]] = {}
    for link in topology.links:
        a, b = sorted((link.a.node, link.b.node))
        if not (topology.is_host(a) or topology.is_host(b)):
            parallel.setdefault((a, b, link.rate_bps, link.delay_s), []).append(link)
    return tuple(Cable(key[0], key[1], tuple(links)) for key, links in parallel.items())


def kinds(topology: Topology) -> list[tuple[float, float, int]]:
    """Returns the rates, delays and numbers of the links, the fastest first."""
    counts = Counter((link.rate_bps, link.delay_s) for link in topology.links)
    return [(rate, delay, count) for (rate, delay), count in sorted(counts.items(), reverse=True)]
