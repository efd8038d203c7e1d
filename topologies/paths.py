"""Shortest paths to hosts. A host has one link and doesn't forward: the ways to all hosts of a switch are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from topologies.model import Endpoint, Host

_ADDRESS_BITS = 32
_L = TypeVar("_L")


@dataclass(frozen=True)
class Block:
    """All hosts whose addresses begin with the first `prefix` bits of `network`. They hang off one node, `place`, and
    there is no shorter prefix of which that is true, nor a longer one that has them all."""

    network: int
    prefix: int
    place: str
    hosts: tuple[Host, ...]


class Ways(NamedTuple):
    """The places that a switch reaches over `hops` links, by all of these ports, in order."""

    hops: int
    ports: tuple[int, ...]
    places: tuple[str, ...]


class Paths:
    """Of a network that doesn't change. `peers`: what is at the far end of each port of each node, ports in order.

    A place is a switch that hosts hang off. Sets of places are the bits of an integer: a search from all places at once
    takes a few operations a link.
    """

    def __init__(self, hosts: Iterable[str], peers: Mapping[str, Mapping[int, Endpoint]]) -> None:
        self._end = {host: peer for host in hosts for peer in peers.get(host, {}).values()}
        """Where a host's link ends."""
        self._links = {
            node: [(port, peer.node) for port, peer in ports.items() if peer.node not in self._end]
            for node, ports in peers.items()
            if node not in self._end
        }
        ends = (end.node for end in self._end.values())
        self._places = list(dict.fromkeys(node for node in ends if node in self._links))
        self._bits = {place: 1 << number for number, place in enumerate(self._places)}
        self._reached = self._search()

    def _search(self) -> list[dict[str, int]]:
        """By hops: of each switch the places that are so far away."""
        latest = dict(self._bits)
        reached = [latest]
        seen = dict.fromkeys(self._links, 0) | latest
        while latest:
            nearer, latest = latest, {}
            for node, links in self._links.items():
                found = 0
                for _, peer in links:
                    found |= nearer.get(peer, 0)
                if found := found & ~seen[node]:
                    latest[node] = found
            for node, found in latest.items():
                seen[node] |= found
            reached.append(latest)
        return reached

    def place(self, host: str) -> str:
        """Returns the node that a host hangs off."""
        return self._end[host].node

    def ways(self, switch: str) -> Iterator[Ways]:
        """To all places but itself, each once."""
        for hops, (nearer, reached) in enumerate(pairwise(self._reached), start=1):
            here = reached.get(switch, 0)
            by_ports: dict[tuple[int, ...], int] = {(): here} if here else {}
            for port, peer in self._links[switch]:
                found = nearer.get(peer, 0)
                parts = [(ports, port, places & found, places & ~found) for ports, places in by_ports.items()]
                by_ports = {(*ports, port): with_it for ports, port, with_it, _ in parts if with_it}
                by_ports |= {ports: without for ports, _, _, without in parts if without}
            for ports, places in by_ports.items():
                yield Ways(hops, ports, tuple(self._named(places)))

    def _named(self, places: int) -> Iterator[str]:
        while places:
            lowest = places & -places
            yield self._places[lowest.bit_length() - 1]
            places ^= lowest

    def distance(self, node: str, host: str) -> int | None:
        """Returns the links on a shortest path from a node to a host; None: there is none."""
        if node == host:
            return 0
        end = self._end[host].node
        if node == end:
            return 1
        own = node in self._end
        hops = self._hops(self._end[node].node if own else node, end)
        return None if hops is None else hops + 1 + own

    def next_hops(self, node: str, host: str) -> tuple[int, ...]:
        """Returns the ports of a node on a shortest path to a host, in order; none if there is none, or it is the
        host."""
        end = self._end[host]
        if node == end.node:
            return (end.port,)
        if node in self._end:
            return (0,) if self.distance(node, host) else ()
        hops = self._hops(node, end.node)
        if hops is None:
            return ()
        nearer, place = self._reached[hops - 1], self._bits[end.node]
        return tuple(port for port, peer in self._links[node] if nearer.get(peer, 0) & place)

    def trails(self, label: Callable[[str, int], _L]) -> tuple[list[tuple[_L, int]], dict[str, dict[int, int]]]:
        """Returns the labels of the links, by the port that each leaves from, on the paths by the lowest ports from
        each switch to each place. A trail is a number: of a first label and the trail behind it, which the list has; 0
        has none. By switch, the trails that leave it, each with the set of the places that it leads to. Where many
        links are alike, these are few."""
        parts: list[tuple[_L, int]] = []
        numbers: dict[tuple[_L, int], int] = {}
        found: dict[str, dict[int, int]] = {node: {} for node in self._links}
        before = {place: {0: bit} for place, bit in self._bits.items()}
        labels = {node: [(label(node, port), peer) for port, peer in links] for node, links in self._links.items()}
        for place, own in before.items():
            found[place] |= own
        for nearer, reached in pairwise(self._reached):
            latest: dict[str, dict[int, int]] = {}
            for node, left in reached.items():
                own = latest[node] = {}
                for first, peer in labels[node]:
                    if not (through := nearer.get(peer, 0) & left):
                        continue
                    left ^= through
                    for rest, places in before[peer].items():
                        if common := places & through:
                            number = numbers.setdefault((first, rest), len(parts) + 1)
                            if number > len(parts):
                                parts.append((first, rest))
                            own[number] = own.get(number, 0) | common
                found[node] |= own
            before = latest
        return parts, found

    def bit(self, host: str) -> int:
        """Returns the set that has a host's place alone; empty for a node that is no switch."""
        return self._bits.get(self.place(host), 0)

    def _hops(self, switch: str, place: str) -> int | None:
        bit = self._bits.get(place, 0)
        return next((hops for hops, reached in enumerate(self._reached) if reached.get(switch, 0) & bit), None)


def blocks(hosts: Iterable[tuple[int, str, Host]]) -> list[Block]:
    """Returns all hosts of a topology, given with address and place each, in as few blocks as there can be, in
    order."""
    in_order = sorted(hosts, key=itemgetter(0))
    return list(_blocks(in_order)) if in_order else []


def _blocks(hosts: Sequence[tuple[int, str, Host]]) -> Iterator[Block]:
    (first, place, _), (last, *_) = hosts[0], hosts[-1]
    differ = (first ^ last).bit_length()
    network = first >> differ << differ
    if all(at == place for _, at, _ in hosts):
        yield Block(network, _ADDRESS_BITS - differ, place, tuple(host for *_, host in hosts))
        return
    for _, half in groupby(hosts, key=lambda host: host[0] >> (differ - 1)):
        yield from _blocks(list(half))
