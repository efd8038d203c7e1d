"""Rates and delays along the paths by the lowest ports, of all hosts at once: where links are
alike, few differ."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from pcn.base.errors import TopologyError
from pcn.topologies.paths import Paths, Place

if TYPE_CHECKING:
    from pcn.topologies.link import Link

Hop = tuple[float, float]
"""A link's rate in bit/s and its delay in s."""
Trail = tuple[Hop, ...]
_FEW = 8
"""Trails of a switch that are looked through faster than they are listed by place."""


class _End(NamedTuple):
    """A host's link, there and back, and the node where it ends."""

    link: Link
    hop: Hop
    back: Hop
    node: str


class Trails:
    """`links` by both of their ends, `delays` by the end where they start."""

    def __init__(
        self,
        name: str,
        hosts: Iterable[str],
        paths: Paths,
        links: Mapping[tuple[str, int], Link],
        delays: Mapping[tuple[str, int], float],
    ) -> None:
        hops = {end: (link.rate_bps, delays[end]) for end, link in links.items()}
        self._name = name
        self._parts, self._from = paths.trails(lambda node, port: hops[node, port])
        self._paths, self._links = paths, links
        self._ends: dict[str, dict[int, _End]] = {host: {} for host in hosts}
        for (node, port), link in sorted(links.items()):
            if node in self._ends:
                far = link.far_end(node)
                self._ends[node][port] = _End(
                    link, hops[node, port], hops[far.node, far.port], far.node
                )
        self._single = {
            host: next(iter(ends.values())) for host, ends in self._ends.items() if len(ends) == 1
        }
        self._bits = {host: paths.bit(host) for host in self._ends}
        self._by_place: dict[str, dict[int, int]] = {}
        self._numbers: dict[tuple[str, Place], int] = {}
        self._whole: dict[tuple[Hop, int, Hop], Trail] = {}
        self._direct: dict[Hop, Trail] = {}
        self._alike: dict[str, int] = {}
        """Hosts with one link: a number for those with equal ones, to the same switch."""
        numbers: dict[object, int] = {}
        for host, end in self._single.items():
            if end.node not in self._ends:
                key = end.node, end.hop, end.back, self._paths.place(host)
                self._alike[host] = numbers.setdefault(key, len(numbers))
        self._between: dict[tuple[int | None, int | None], Trail] = {}

    def alike(self) -> dict[str, int]:
        """Returns a number for each host: `between` depends on the numbers of both alone."""
        single = itertools.count(len(self._alike))
        return {host: self._alike.get(host, next(single)) for host in self._ends}

    def between(self, src: str, dst: str) -> Trail:
        """Returns the links from host to host; equal ones are one object. Raises TopologyError if
        there is no way."""
        alike = self._alike.get(src), self._alike.get(dst)
        trail = self._between.get(alike)
        if trail is None:
            trail = self._found_between(src, dst)
            if None not in alike:
                self._between[alike] = trail
        return trail

    def _found_between(self, src: str, dst: str) -> Trail:
        first = self._first(src, dst)
        if first.node == dst:
            return self._direct.setdefault(first.hop, (first.hop,))
        last = self._last(first, dst)
        key = (first.hop, self._number(first, src, dst), last.back)
        if key not in self._whole:
            self._whole[key] = (first.hop, *self._hops(key[1]), last.back)
        return self._whole[key]

    def _first(self, src: str, dst: str) -> _End:
        """Returns the link by which the path leaves the source."""
        single = self._single.get(src)
        if single is not None:
            return single
        ports = self._paths.next_hops(src, dst)
        if not ports:
            raise self._no_way(src, dst)
        return self._ends[src][ports[0]]

    def _last(self, first: _End, dst: str) -> _End:
        """Returns the link by which the path comes to the destination, or one like it."""
        single = self._single.get(dst)
        if single is not None:
            return single
        ends = [*self._ends[dst].values()]
        if all(end.back == ends[0].back for end in ends):
            return ends[0]
        node = first.node
        while node not in self._paths.place(dst):
            port = self._paths.next_hops(node, dst)[0]
            node = self._links[node, port].far_end(node).node
        return min(
            (end for end in ends if end.node == node), key=lambda end: end.link.far_end(dst).port
        )

    def max_rtt_s(self, frame_bytes: float = 0.0, answer_bytes: float = 0.0) -> float:
        """Returns the largest base RTT between any two hosts. `frame_bytes`: of a frame that each
        link there takes its time for; `answer_bytes`: of the one that comes back."""

        def hop_s(hop: tuple[float, float], size_bytes: float) -> float:
            rate_bps, delay_s = hop
            return delay_s + 8 * size_bytes / rate_bps

        # Hosts at the same nodes, with links of one length, are alike: one of them will do, and two
        # for the way between them.
        alike: dict[tuple[tuple[str, float, float], ...], list[str]] = {}
        for host, ends in self._ends.items():
            key = tuple(
                (end.node, hop_s(end.hop, frame_bytes), hop_s(end.hop, answer_bytes))
                for end in ends.values()
            )
            alike.setdefault(key, []).append(host)
        later: dict[tuple[int, float, float], float] = {}

        def over(first: Hop, number: int, last: Hop, size_bytes: float) -> float:
            key = number, hop_s(last, size_bytes), size_bytes
            if key not in later:
                total = key[1]
                for hop in reversed(self._hops(number)):
                    total = hop_s(hop, size_bytes) + total
                later[key] = total
            return hop_s(first, size_bytes) + later[key]

        def delay(src: str, dst: str, size_bytes: float) -> float:
            first = self._first(src, dst)
            if first.node == dst:
                return hop_s(first.hop, size_bytes)
            last = self._last(first, dst)
            return over(first.hop, self._number(first, src, dst), last.back, size_bytes)

        def trip(there: str, back: str) -> float:
            return delay(there, back, frame_bytes) + delay(back, there, answer_bytes)

        bound_s = self._longest_trip(alike.values(), over, trip, frame_bytes, answer_bytes)
        if bound_s is not None:
            return bound_s
        pairs = [*combinations([hosts[0] for hosts in alike.values()], 2)]
        pairs += [(hosts[0], hosts[1]) for hosts in alike.values() if len(hosts) > 1]
        if frame_bytes == answer_bytes:
            return max((trip(a, b) for a, b in pairs), default=0.0)
        return max((max(trip(a, b), trip(b, a)) for a, b in pairs), default=0.0)

    def _longest_trip(
        self,
        alike: Collection[Sequence[str]],
        over: Callable[[Hop, int, Hop, float], float],
        trip: Callable[[str, str], float],
        frame_bytes: float,
        answer_bytes: float,
    ) -> float | None:
        """Returns the largest RTT where the longest way there and the longest way back are of one
        pair of hosts, as in regular networks: no pair has more. It takes the trails that leave a
        switch, and no pairs, of which large networks have millions. None: the pairs decide.
        `alike`: hosts that are. `over`: the delay of a host's link, a trail and another host's
        link, for a number of bytes."""
        if len(self._alike) < len(self._ends):
            return None  # hosts with several links, or without a switch between
        hosts_at: dict[Hop, dict[int, list[str]]] = {}
        """By the last link of the way to them, and by place."""
        for hosts in alike:
            at = hosts_at.setdefault(self._single[hosts[0]].back, {})
            at.setdefault(self._bits[hosts[0]].bit_length(), []).extend(hosts[:2])
        masks = [
            (last, sum(1 << (place - 1) for place in places)) for last, places in hosts_at.items()
        ]
        every = sum(1 << (place - 1) for place in {p for at in hosts_at.values() for p in at})
        ways: dict[float, tuple[float, str, Hop, int]] = {}
        for size_bytes in (frame_bytes, answer_bytes):
            for hosts in alike:
                end, reached = self._single[hosts[0]], 0
                for number, places in self._from.get(end.node, {}).items():
                    reached |= places
                    for last, mask in masks:
                        if not places & mask:
                            continue
                        delay_s = over(end.hop, number, last, size_bytes)
                        if size_bytes not in ways or delay_s > ways[size_bytes][0]:
                            ways[size_bytes] = delay_s, hosts[0], last, places & mask
                if every & ~reached:
                    return None  # no way between some
        if not ways:
            return None
        (there_s, src, last, places), (back_s, *_) = ways[frame_bytes], ways[answer_bytes]
        most_s = there_s + back_s
        peers = (peer for place in _set_bits(places) for peer in hosts_at[last][place])
        return next((most_s for peer in peers if peer != src and trip(src, peer) == most_s), None)

    def _number(self, first: _End, src: str, dst: str) -> int:
        """Returns the trail from the end of the source's link to the destination's place."""
        key = first.node, self._paths.place(dst)
        if key not in self._numbers:
            self._numbers[key] = self._number_from(first.node, src, dst)
        return self._numbers[key]

    def _number_from(self, node: str, src: str, dst: str) -> int:
        bit = self._bits[dst]
        trails = self._from.get(node, {})
        if len(trails) > _FEW:
            if node not in self._by_place:
                self._by_place[node] = {
                    place: number
                    for number, places in trails.items()
                    for place in _set_bits(places)
                }
            number = self._by_place[node].get(bit.bit_length())
        else:
            number = next((number for number, places in trails.items() if places & bit), None)
        if number is None:
            raise self._no_way(src, dst)
        return number

    def _no_way(self, src: str, dst: str) -> TopologyError:
        return TopologyError(f"no way from {src} to {dst} in {self._name}")

    def _hops(self, number: int) -> list[Hop]:
        hops = []
        while number:
            hop, number = self._parts[number - 1]
            hops.append(hop)
        return hops


def _set_bits(places: int) -> Iterable[int]:
    """Yields the places of a set, from 1."""
    while places:
        yield (places & -places).bit_length()
        places &= places - 1
