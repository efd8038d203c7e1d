"""Rates and delays along the paths by the lowest ports, of all hosts at once: where links are alike, few differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from topologies.errors import TopologyError
from topologies.paths import Paths

if TYPE_CHECKING:
    from topologies.model import Link

Hop = tuple[float, float]
"""A link's rate in bit/s and its delay in s."""
Trail = tuple[Hop, ...]
_FEW = 8
"""Trails of a switch that are looked through faster than they are listed by place."""


class _End(NamedTuple):
    """A host's link, the node that it hangs off, and that node as a set of places."""

    link: Link
    hop: Hop
    place: str
    bit: int


class Trails:
    """`links` by both of their ends."""

    def __init__(self, name: str, hosts: Iterable[str], paths: Paths, links: Mapping[tuple[str, int], Link]) -> None:
        hops = {end: (link.rate_bps, link.delay_s) for end, link in links.items()}
        self._name = name
        self._parts, self._from = paths.trails(lambda node, port: hops[node, port])
        self._ends = {host: _End(links[host, 0], hops[host, 0], paths.place(host), paths.bit(host)) for host in hosts}
        self._by_place: dict[str, dict[int, int]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._whole: dict[tuple[Hop, int, Hop], Trail] = {}

    def between(self, src: str, dst: str) -> Trail:
        """Returns the links from host to host. Raises TopologyError if there is no way."""
        first, last = self._ends[src], self._ends[dst]
        if first.link is last.link:
            return (first.hop,)
        key = (first.hop, self._number(src, dst), last.hop)
        if key not in self._whole:
            self._whole[key] = (first.hop, *self._hops(key[1]), last.hop)
        return self._whole[key]

    def max_rtt_s(self, frame_bytes: float = 0.0) -> float:
        """Returns the largest base RTT between any two hosts. `frame_bytes`: of a frame that each link takes its time
        for."""

        def hop_s(hop: tuple[float, float]) -> float:
            rate_bps, delay_s = hop
            return delay_s + 8 * frame_bytes / rate_bps

        # Hosts at one node, with links of one length, are alike: one of them will do, and two for the way between them.
        alike: dict[tuple[str, float], list[str]] = {}
        for host, end in self._ends.items():
            alike.setdefault((end.place, hop_s(end.hop)), []).append(host)
        pairs = [*combinations([hosts[0] for hosts in alike.values()], 2)]
        pairs += [(hosts[0], hosts[1]) for hosts in alike.values() if len(hosts) > 1]
        later: dict[tuple[int, float], float] = {}

        def delay(src: str, dst: str) -> float:
            first, last = self._ends[src], self._ends[dst]
            if first.link is last.link:
                return hop_s(first.hop)
            key = (self._number(src, dst), hop_s(last.hop))
            if key not in later:
                total = hop_s(last.hop)
                for hop in reversed(self._hops(key[0])):
                    total = hop_s(hop) + total
                later[key] = total
            return hop_s(first.hop) + later[key]

        return max((delay(a, b) + delay(b, a) for a, b in pairs), default=0.0)

    def _number(self, src: str, dst: str) -> int:
        """Returns the trail from the source's switch to the destination's."""
        places = self._ends[src].place, self._ends[dst].place
        if places not in self._numbers:
            self._numbers[places] = self._found(src, dst)
        return self._numbers[places]

    def _found(self, src: str, dst: str) -> int:
        place, bit = self._ends[src].place, self._ends[dst].bit
        trails = self._from.get(place, {})
        if len(trails) > _FEW:
            if place not in self._by_place:
                self._by_place[place] = {one: number for number, places in trails.items() for one in _each(places)}
            found = self._by_place[place].get(bit.bit_length())
        else:
            found = next((number for number, places in trails.items() if places & bit), None)
        if found is None:
            raise TopologyError(f"no way from {src} to {dst} in {self._name}")
        return found

    def _hops(self, number: int) -> list[Hop]:
        hops = []
        while number:
            hop, number = self._parts[number - 1]
            hops.append(hop)
        return hops


def _each(places: int) -> Iterable[int]:
    """Yields the places of a set, from 1."""
    while places:
        yield (places & -places).bit_length()
        places &= places - 1
