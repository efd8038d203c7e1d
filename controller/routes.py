"""The ways of packets: by which ports, and by which entries, each switch reaches the hosts of a
topology."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from pcn.base import ipv4
from pcn.controller.control_plane import TableAction, TableActions, TableEntry, TableMatch
from pcn.topologies import ecmp
from pcn.topologies.model import POLARISED, Topology
from pcn.topologies.paths import Ways as Reach
from pcn.topologies.routing import Routing

# Where packets go that have a switch before them: the virtual router of RFC 9568 (VRRP) with number
# 1. The last switch writes the host's own address; nothing reads this one.
ROUTER_MAC = "00:00:5e:00:01:01"
_HASH_BITS, _HASH_PARTS = 8, 4  # a flow's hash has 32 bits
_ADDRESS_BITS = 32


class Route(NamedTuple):
    """Packets for `address`, or for all that share its first `prefix` bits, leave by `port`, with
    `mac` as their destination."""

    address: str
    mac: str
    port: int
    prefix: int = _ADDRESS_BITS

    def to(self, address: str, prefix: int) -> Route:
        """Returns the same way to other addresses."""
        return Route(address, self.mac, self.port, prefix)


class MultipathRoute(NamedTuple):
    """Packets for `address`, or for all that share its first `prefix` bits, leave by a port of
    `group`, with `mac` as their destination. Which one, the flow's hash decides: its bits from
    `hash_shift` on."""

    address: str
    mac: str
    group: int
    hash_shift: int
    prefix: int = _ADDRESS_BITS

    def to(self, address: str, prefix: int) -> MultipathRoute:
        """Returns the same way to other addresses."""
        return MultipathRoute(address, self.mac, self.group, self.hash_shift, prefix)


class PortGroup(NamedTuple):
    """Ports that share flows evenly (ECMP), in order."""

    number: int
    ports: tuple[int, ...]


class Ways(NamedTuple):
    """Routes to hosts, by disjoint prefixes in order of address: the hosts whose addresses begin
    with the first `prefixes[i]` bits of `networks[i]` have `routes[i]`; the switch's address and
    prefix in it don't matter."""

    networks: Sequence[int]
    prefixes: Sequence[int]
    routes: Sequence[Route | MultipathRoute]


def host_ways(
    topology: Topology, switch: str, routing: Routing | None = None
) -> tuple[Ways, list[PortGroup]]:
    """Returns the ways to all hosts, by all shortest paths, and the groups of ports that these
    need, numbered from 1. Hosts of the switch's own have one each, those of others one a block.
    `routing`: of the topology without some links, where hosts that the switch can't reach have no
    way; None: of all of it, where each has one.

    The hash's bits differ by the distance that is left: so no two of up to four switches on a path
    that choose among 256 ports or fewer use the same ones. If the topology has polarised ECMP, all
    use the same ones.

    Raises TopologyError.
    """
    parts = 1 if topology.parameters.get("ecmp") == POLARISED else _HASH_PARTS
    groups: dict[tuple[int, ...], PortGroup] = {}
    every_host, routing = routing is None, routing or topology.routing
    blocks, attached = routing.blocks, routing.blocks_at(topology.switch(switch).name)

    def route(hops: int, ports: tuple[int, ...], mac: str) -> Route | MultipathRoute:
        if len(ports) == 1:
            return Route("", mac, ports[0])
        in_turn = ecmp.ordered(topology.parameters, switch, ports)
        group = groups.setdefault(ports, PortGroup(len(groups) + 1, in_turn))
        shift = _HASH_BITS * ((hops + 1) % parts)  # the host's own link is one more
        return MultipathRoute("", mac, group.number, shift)

    # A route is that of many blocks in a row: there are few ranges of blocks, and many blocks.
    ranges: list[tuple[int, int, Reach | None]] = [
        (start, end, reach)
        for reach in routing.paths.ways(switch)
        for start, end in routing.runs(reach.places)
    ]
    ranges += [(number, number + 1, None) for number in attached]
    shared: dict[tuple[int, tuple[int, ...]], Route | MultipathRoute] = {}
    networks: list[int] = []
    prefixes: list[int] = []
    routes: list[Route | MultipathRoute] = []
    reached = 0
    for start, end, reach in sorted(ranges, key=itemgetter(0)):  # groups are numbered in this order
        reached += end - start
        if reach is None:
            hosts = blocks[start].hosts
            networks += [ipv4.number(host.ip) for host in hosts]
            prefixes += [_ADDRESS_BITS] * len(hosts)
            routes += [route(0, routing.next_hops(switch, host.name), host.mac) for host in hosts]
            continue
        key = reach.hops, reach.ports
        if key not in shared:
            shared[key] = route(*key, ROUTER_MAC)
        networks += routing.networks[start:end]
        prefixes += routing.prefixes[start:end]
        routes += [shared[key]] * (end - start)
    if every_host and reached < len(blocks):
        topology.ways(switch)  # raises
    return Ways(networks, prefixes, routes), list(groups.values())


def join(ways: Ways) -> list[Route | MultipathRoute]:
    """Returns the same by as few entries as disjoint prefixes allow: neighbours with one route
    share one, the longest that has them all. `ways`: each prefix is the longest that has its hosts.

    A packet to an address that no host has may fall into a prefix. Those that it falls into on its
    way are nested, and each switch brings it nearer to all hosts of the longest: so it is dropped
    somewhere, and never goes round. With exceptions from shorter prefixes there would be still
    fewer entries, and it could.
    """
    changes = [
        place
        for place, (before, route) in enumerate(pairwise(ways.routes), start=1)
        if route is not before and route != before
    ]
    joined: list[Route | MultipathRoute] = []
    if ways.routes:
        _join(ways, changes, 0, len(ways.routes), joined)
    return joined


def _join(
    ways: Ways,
    changes: Sequence[int],
    start: int,
    end: int,
    joined: list[Route | MultipathRoute],
) -> None:
    """Adds the fewest routes of disjoint prefixes that route as `ways[start:end]` do. `changes`:
    the places of ways whose route differs from that of the way before."""
    first, last = ways.networks[start], ways.networks[end - 1]
    differ = (first ^ last).bit_length()
    at = bisect_right(changes, start)
    if at == len(changes) or changes[at] >= end:
        prefix = ways.prefixes[start] if end - start == 1 else _ADDRESS_BITS - differ
        host_bits = _ADDRESS_BITS - prefix
        address = ipv4.text(first >> host_bits << host_bits)
        joined.append(ways.routes[start].to(address, prefix))
        return
    half = last >> (differ - 1) << (differ - 1)
    middle = bisect_left(ways.networks, half, start, end)
    _join(ways, changes, start, middle, joined)
    _join(ways, changes, middle, end, joined)


def route_entry(route: Route | MultipathRoute) -> TableEntry:
    if isinstance(route, Route):
        action = TableAction("ipv4_forward", dst_mac=route.mac, port=route.port)
    else:
        action = TableAction(
            "ipv4_multipath", dst_mac=route.mac, group_id=route.group, hash_shift=route.hash_shift
        )
    return TableEntry(
        "ipv4_lpm", match=TableMatch(dst_addr=f"{route.address}/{route.prefix}"), action=action
    )


def group_entry(group: PortGroup) -> TableEntry:
    """Returns an entry with an action set (one-shot), so that no separate members and groups are
    written."""
    return TableEntry(
        "next_hop_group",
        match=TableMatch(group=group.number),
        action=TableActions([(1, TableAction("next_hop", port=port)) for port in group.ports]),
    )
