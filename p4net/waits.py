"""Behind what a packet waited in a switch's port, of packets' ways (`pcn.p4net.packet_paths`).

A port serves a frame from its departure from the queue on, for as long as the link takes for its
bytes. A packet's wait is split by the frames that its port served meanwhile, in whole ns, so that
the parts and the time in which the port stood idle sum to it. A port stands idle beside a packet
that waits where its queue has a rate (`set_queue_rate`), or the link is down.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from pcn.p4net.packet_paths import Departure, Hop
from pcn.topologies.model import Topology


@dataclass(frozen=True)
class Behind:
    """A frame that was served meanwhile: the number of its packet's way, the node from which that
    packet came, and for how long, in ns."""

    packet: int
    source: str
    wait_ns: int


@dataclass(frozen=True)
class Wait:
    """Time between ingress and a port, in ns: in all, behind frames in order of time, and beside a
    port that stood idle."""

    wait_ns: int
    behind: tuple[Behind, ...]
    idle_ns: int


@dataclass(frozen=True)
class _Service:
    start_ns: int
    end_ns: int
    packet: int
    source: str


_NEVER = _Service(1 << 63, 1 << 63, 0, "")


class Waits:
    """Waits of packets, of the ways of all packets of a network, in order from number 1."""

    def __init__(self, ways: Iterable[Hop], topology: Topology) -> None:
        self._services: dict[tuple[str, int], list[_Service]] = defaultdict(list)
        rates_bps = {
            (end.node, end.port): link.rate_bps
            for link in topology.links
            for end in (link.a, link.b)
        }
        for packet, first in enumerate(ways, start=1):
            source = origin(first, topology)
            for hop in first.later():
                for departure in hop.departures:
                    port = (hop.switch, departure.port)
                    service = _service(departure, rates_bps.get(port), packet, source)
                    if service is not None:
                        self._services[port].append(service)
        for port, services in self._services.items():
            services.sort(key=lambda service: service.start_ns)
            # Times are in whole ns: an end that was rounded up may lie behind the next start.
            self._services[port] = [
                replace(service, end_ns=min(service.end_ns, follower.start_ns))
                for service, follower in pairwise([*services, _NEVER])
            ]

    def of(self, hop: Hop, departure: Departure) -> Wait:
        """Returns the wait of a packet at a switch, before it left a queue."""
        assert hop.decided is not None  # what waits in a queue was put there
        start_ns, end_ns = hop.decided.time_ns, departure.queued.time_ns
        services = self._services[hop.switch, departure.port]
        behind = []
        number = bisect_left(services, end_ns, key=lambda service: service.start_ns)
        # A port serves a frame at a time: none ends later than the one behind it.
        while number and services[number - 1].end_ns > start_ns:
            number -= 1
            service = services[number]
            overlap_ns = min(service.end_ns, end_ns) - max(service.start_ns, start_ns)
            behind.append(Behind(service.packet, service.source, overlap_ns))
        behind.reverse()
        wait_ns = end_ns - start_ns
        return Wait(wait_ns, tuple(behind), wait_ns - sum(part.wait_ns for part in behind))


def origin(first: Hop, topology: Topology) -> str:
    """Returns from where a packet came: a node, or a port without a link."""
    if first.port in topology.ports(first.switch):
        return topology.peer(first.switch, first.port).node
    return f"port {first.port} of {first.switch}"


def _service(
    departure: Departure, rate_bps: float | None, packet: int, source: str
) -> _Service | None:
    """Returns the time in which a port serves a frame; None: the frame takes none."""
    if departure.sent is None or not rate_bps:
        return None
    start_ns = departure.queued.time_ns
    duration_ns = round(departure.sent.fields["length"] * 8e9 / rate_bps)
    return _Service(start_ns, start_ns + duration_ns, packet, source) if duration_ns else None
