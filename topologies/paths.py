"""Shortest paths to hosts. Hosts don't forward: the ways to all hosts that hang off the same nodes
are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pcn.topologies.host import Host
    from pcn.topologies.link import Endpoint

_ADDRESS_BITS = 32
_L = TypeVar("_L")
Place = tuple[str, ...]
"""The nodes that hosts hang off, in order of names: one each, or several of hosts with several
links."""


@dataclass(frozen=True)
class Block:
    """All hosts whose addresses begin with the first `prefix` bits of `network`. They are at one
    place, and there is no shorter prefix of which that is true, nor a longer one that has them
    all."""

    network: int
    prefix: int
    place: Place
    hosts: tuple[Host, ...]


class Ways(NamedTuple):
    """The places that a switch reaches over `hops` links, by all of these ports, in order: a set of
    them, as `Paths` numbers them."""

    hops: int
    ports: tuple[int, ...]
    places: int


class Paths:
    """Of a network that doesn't change. `peers`: what is at the far end of each port of each node,
    ports in order.

    Sets of places are the bits of an integer: a search from all places at once takes a few
    operations a link.
    """

    def __init__(self, hosts: Iterable[str], peers: Mapping[str, Mapping[int, Endpoint]]) -> None:
        self._ends = {host: peers.get(host, {}) for host in hosts}
        """Where a host's links end, by its ports."""
        self._links = {
            node: [(port, peer.node) for port, peer in ports.items() if peer.node not in self._ends]
            for node, ports in peers.items()
            if node not in self._ends
        }
        self._at = {
            host: tuple(sorted({end.node for end in ends.values()}))
            for host, ends in self._ends.items()
        }
        self._places = list(
            dict.fromkeys(
                place for place in self._at.values() if any(node in self._links for node in place)
            )
        )
        self._bits = {place: 1 << number for number, place in enumerate(self._places)}
        self._places_of: dict[str, int] = {}
        """The places that a switch is of."""
        for place, bit in self._bits.items():
            for node in place:
                if node in self._links:
                    self._places_of[node] = self._places_of.get(node, 0) | bit
        self._reached = self._search()

    def _search(self) -> list[dict[str, int]]:
        """Returns, for each number of hops from 0 on, the places at that distance from each
        switch."""
        latest = dict(self._places_of)
        reached = [latest]
        seen = dict.fromkeys(self._links, 0) | latest
        while latest:
            nearer, latest = latest, {}
            for node, links in self._links.items():
                places = 0
                for _, peer in links:
                    places |= nearer.get(peer, 0)
                if places := places & ~seen[node]:
                    latest[node] = places
            for node, places in latest.items():
                seen[node] |= places
            reached.append(latest)
        return reached

    def place(self, host: str) -> Place:
        """Returns the nodes that a host hangs off."""
        return self._at[host]

    def ways(self, switch: str) -> Iterator[Ways]:
        """Yields the ways from a switch to all places that it doesn't belong to, each place
        once."""
        for hops, (nearer, reached) in enumerate(pairwise(self._reached), start=1):
            if not (here := reached.get(switch, 0)):
                continue
            by_ports: dict[tuple[int, ...], int] = {}
            rest = here  # of no port yet
            for port, peer in self._links[switch]:
                through = nearer.get(peer, 0) & here
                first = through & rest
                rest ^= first
                if through != first:  # else no port before leads there, as in a tree
                    for ports, places in list(by_ports.items()):
                        if common := places & through:
                            del by_ports[ports]
                            by_ports[(*ports, port)] = common
                            if without := places ^ common:
                                by_ports[ports] = without
                if first:
                    by_ports[port,] = first
            for ports, places in by_ports.items():
                yield Ways(hops, ports, places)

    def named(self, places: int) -> Iterator[Place]:
        """Yields the places of a set."""
        while places:
            lowest = places & -places
            yield self._places[lowest.bit_length() - 1]
            places ^= lowest

    def distance(self, node: str, host: str) -> int | None:
        """Returns the links on a shortest path from a node to a host; None: there is none."""
        if node == host:
            return 0
        if node in self._ends:
            return min(self._distances(node, host).values(), default=None)
        hops = self._hops(node, self._at[host])
        return None if hops is None else hops + 1

    def apart(self) -> tuple[str, str] | None:
        """Returns two hosts between which there is no way; None: there is one between any two."""
        reaches: dict[str, int] = {}
        for reached in self._reached:
            for node, places in reached.items():
                reaches[node] = reaches.get(node, 0) | places
        # Of those at one place with a switch, which is a way between them, one will do.
        alike: dict[Place | str, str] = {}
        for host, place in self._at.items():
            alike.setdefault(place if place in self._bits else host, host)
        whole = (1 << len(self._places)) - 1 if len(self._places) == len(alike) else None
        for host in alike.values():
            reachable = 0
            for end in self._ends[host].values():
                reachable |= reaches.get(end.node, 0)
            if reachable != whole:
                others = (
                    peer
                    for peer in alike.values()
                    if peer != host and self.distance(host, peer) is None
                )
                if (peer := next(others, None)) is not None:
                    return host, peer
        return None

    def _distances(self, node: str, host: str) -> dict[int, int]:
        """Returns those from a host to another one, by each port by which there is a way."""
        distances = {}
        for port, end in self._ends[node].items():
            if end.node == host:
                distances[port] = 1
            elif (
                end.node not in self._ends
                and (hops := self._hops(end.node, self._at[host])) is not None
            ):
                distances[port] = hops + 2
        return distances

    def next_hops(self, node: str, host: str) -> tuple[int, ...]:
        """Returns the ports of a node on a shortest path to a host, in order; none if there is
        none, or it is the host."""
        if node == host:
            return ()
        if node in self._ends:
            distances = self._distances(node, host)
            nearest = min(distances.values(), default=None)
            return tuple(port for port, distance in distances.items() if distance == nearest)
        hops = self._hops(node, self._at[host])
        if hops is None:
            return ()
        if hops == 0:
            return tuple(sorted(end.port for end in self._ends[host].values() if end.node == node))
        nearer, place = self._reached[hops - 1], self._bits[self._at[host]]
        return tuple(port for port, peer in self._links[node] if nearer.get(peer, 0) & place)

    def trails(
        self, label: Callable[[str, int], _L]
    ) -> tuple[list[tuple[_L, int]], dict[str, dict[int, int]]]:
        """Returns the labels of the links, by the port that each leaves from, on the paths by the
        lowest ports from each switch to each place. A trail is a number: of a first label and the
        trail behind it, which the list has; 0 has none. By switch, the trails that leave it, each
        with the set of the places that it leads to. Where many links are alike, these are few."""
        parts: list[tuple[_L, int]] = []
        numbers: dict[tuple[_L, int], int] = {}
        trails: dict[str, dict[int, int]] = {node: {} for node in self._links}
        before = {place: {0: bits} for place, bits in self._places_of.items()}
        labels = {
            node: [(label(node, port), peer) for port, peer in links]
            for node, links in self._links.items()
        }
        for place, leaving in before.items():
            trails[place] |= leaving
        for nearer, reached in pairwise(self._reached):
            latest: dict[str, dict[int, int]] = {}
            for node, left in reached.items():
                leaving = latest[node] = {}
                for first, peer in labels[node]:
                    if not (through := nearer.get(peer, 0) & left):
                        continue
                    left ^= through
                    for rest, places in before[peer].items():
                        if common := places & through:
                            number = numbers.setdefault((first, rest), len(parts) + 1)
                            if number > len(parts):
                                parts.append((first, rest))
                            leaving[number] = leaving.get(number, 0) | common
                trails[node] |= leaving
            before = latest
        return parts, trails

    def bit(self, host: str) -> int:
        """Returns the set that has a host's place alone; empty where no switch is of it."""
        return self.bit_of(self.place(host))

    def bit_of(self, place: Place) -> int:
        """Returns the set that has a place alone; empty where no switch is of it."""
        return self._bits.get(place, 0)

    def _hops(self, switch: str, place: Place) -> int | None:
        bit = self._bits.get(place, 0)
        return next(
            (hops for hops, reached in enumerate(self._reached) if reached.get(switch, 0) & bit),
            None,
        )


def blocks(hosts: Iterable[tuple[int, Place, Host]]) -> list[Block]:
    """Returns all hosts of a topology, given with address and place each, in as few blocks as there
    can be, in order."""
    in_order = sorted(hosts, key=itemgetter(0))
    return list(_blocks(in_order)) if in_order else []


def _blocks(hosts: Sequence[tuple[int, Place, Host]]) -> Iterator[Block]:
    (first, place, _), (last, *_) = hosts[0], hosts[-1]
    differ = (first ^ last).bit_length()
    network = first >> differ << differ
    if all(at == place for _, at, _ in hosts):
        yield Block(network, _ADDRESS_BITS - differ, place, tuple(host for *_, host in hosts))
        return
    for _, half in groupby(hosts, key=lambda host: host[0] >> (differ - 1)):
        yield from _blocks(list(half))
