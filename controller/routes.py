"""The ways of packets: by which ports, and by which entries, each switch reaches the hosts of a topology."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from operator import itemgetter

from controller.switch import TableAction, TableActions, TableEntry, TableMatch
from topologies.model import POLARISED, Topology

# Where packets go that have a switch before them: the virtual router of RFC 9568 (VRRP) with number 1. The last switch
# writes the host's own address; nothing reads this one.
ROUTER_MAC = "00:00:5e:00:01:01"
_HASH_BITS, _HASH_PARTS = 8, 4  # a flow's hash has 32 bits
_ADDRESS_BITS = 32


@dataclass(frozen=True)
class Route:
    """Packets for `address`, or for all that share its first `prefix` bits, leave by `port`, with `mac` as their
    destination."""

    address: str
    mac: str
    port: int
    prefix: int = _ADDRESS_BITS


@dataclass(frozen=True)
class MultipathRoute:
    """Packets for `address`, or for all that share its first `prefix` bits, leave by a port of `group`, with `mac` as
    their destination. Which one, the flow's hash decides: its bits from `hash_shift` on."""

    address: str
    mac: str
    group: int
    hash_shift: int
    prefix: int = _ADDRESS_BITS


@dataclass(frozen=True)
class PortGroup:
    """Ports that share flows evenly (ECMP), in order."""

    number: int
    ports: tuple[int, ...]


def host_routes(topology: Topology, switch: str) -> tuple[list[Route | MultipathRoute], list[PortGroup]]:
    """A route to each host, by all shortest paths, and the groups of ports that these need, numbered from 1.

    The hash's bits differ by the distance that is left: so no two of up to four switches on a path that choose among
    256 ports or fewer use the same ones. Where the topology says that ECMP is polarised, all use the same ones.

    Raises TopologyError.
    """
    parts = 1 if topology.parameters.get("ecmp") == POLARISED else _HASH_PARTS
    found: list[Route | MultipathRoute] = []
    groups: dict[tuple[int, ...], PortGroup] = {}
    for host in topology.hosts:
        distance, ports = topology.distance(switch, host.name), topology.next_hops(switch, host.name)
        mac = host.mac if distance == 1 else ROUTER_MAC
        if len(ports) == 1:
            found.append(Route(host.ip, mac, ports[0]))
        else:
            group = groups.setdefault(ports, PortGroup(len(groups) + 1, ports))
            found.append(MultipathRoute(host.ip, mac, group.number, _HASH_BITS * (distance % parts)))
    return found, list(groups.values())


def join(routes: Iterable[Route | MultipathRoute]) -> list[Route | MultipathRoute]:
    """The same ways by as few entries as disjoint prefixes allow, in order of address: neighbours that differ in their
    address alone share one, the longest that has them all.

    A packet to an address that no host has may fall into a prefix. Those that it falls into on its way are nested, and
    each switch brings it nearer to all hosts of the longest: so it is dropped somewhere, and never goes round. With
    exceptions from shorter prefixes there would be still fewer entries, and it could.
    """
    in_order = sorted((int(IPv4Address(route.address)), route) for route in routes)
    return _join(in_order) if in_order else []


def _join(hosts: Sequence[tuple[int, Route | MultipathRoute]]) -> list[Route | MultipathRoute]:
    """Of one host or more, in order of their addresses."""
    (first, route), (last, _) = hosts[0], hosts[-1]
    if len(hosts) == 1:
        return [route]
    differ = (first ^ last).bit_length()
    half = last >> (differ - 1) << (differ - 1)
    middle = bisect_left(hosts, half, key=itemgetter(0))
    lower, upper = _join(hosts[:middle]), _join(hosts[middle:])
    if (
        len(lower) == len(upper) == 1
        and replace(lower[0], address=upper[0].address, prefix=upper[0].prefix) == upper[0]
    ):
        network = IPv4Address(first >> differ << differ)
        return [replace(lower[0], address=str(network), prefix=_ADDRESS_BITS - differ)]
    return lower + upper


def route_entry(route: Route | MultipathRoute) -> TableEntry:
    if isinstance(route, Route):
        action = TableAction("ipv4_forward", dst_mac=route.mac, port=route.port)
    else:
        action = TableAction("ipv4_multipath", dst_mac=route.mac, group_id=route.group, hash_shift=route.hash_shift)
    return TableEntry("ipv4_lpm", match=TableMatch(dst_addr=f"{route.address}/{route.prefix}"), action=action)


def group_entry(group: PortGroup) -> TableEntry:
    """With an action set of its own, instead of members and groups that would be written apart."""
    return TableEntry(
        "next_hop_group",
        match=TableMatch(group=group.number),
        action=TableActions([(1, TableAction("next_hop", port=port)) for port in group.ports]),
    )
