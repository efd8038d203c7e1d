"""Routes of a switch that change while it forwards: what is written is the difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import count

from pcn.controller.control_plane import ControlPlane, TableAction, TableActions
from pcn.controller.routes import (
    MultipathRoute,
    PortGroup,
    Route,
    group_entry,
    host_ways,
    join,
    route_entry,
)
from pcn.topologies.model import Topology
from pcn.topologies.routing import Routing


@dataclass(frozen=True)
class SwitchRoutes:
    """What a switch has: a group that stays keeps its number."""

    routes: tuple[Route | MultipathRoute, ...]
    groups: tuple[PortGroup, ...]


def routes_of(
    topology: Topology, switch: str, routing: Routing, before: SwitchRoutes
) -> SwitchRoutes:
    """Returns the routes of a switch by this routing; groups that were there before keep their
    numbers."""
    ways, groups = host_ways(topology, switch, routing)
    there = {group.ports: group.number for group in before.groups}
    taken = {there[group.ports] for group in groups if group.ports in there}
    free = (number for number in count(1) if number not in taken)
    numbers = {group.number: there.get(group.ports) or next(free) for group in groups}
    routes = tuple(
        route._replace(group=numbers[route.group]) if isinstance(route, MultipathRoute) else route
        for route in join(ways)
    )
    return SwitchRoutes(
        routes, tuple(group._replace(number=numbers[group.number]) for group in groups)
    )


def read_routes(switch: ControlPlane) -> SwitchRoutes:
    """Returns the routes that a switch has, by `host_ways`' entries. Raises SwitchError."""
    routes: list[Route | MultipathRoute] = []
    for entry in switch.read_table("ipv4_lpm"):
        if not entry.match or not isinstance(entry.action, TableAction):
            continue  # the default
        network, prefix = entry.match["dst_addr"]
        address, args = str(IPv4Address(network)), entry.action.args
        mac = ":".join(f"{byte:02x}" for byte in int(args["dst_mac"]).to_bytes(6, "big"))
        if entry.action.name == "ipv4_forward":
            routes.append(Route(address, mac, args["port"], prefix))
        else:
            routes.append(
                MultipathRoute(address, mac, args["group_id"], args["hash_shift"], prefix)
            )
    groups = [
        PortGroup(
            entry.match["group"],
            tuple(action.args["port"] for _, action in entry.action.action_set or ()),
        )
        for entry in switch.read_table("next_hop_group")
        if entry.match and isinstance(entry.action, TableActions)
    ]
    return SwitchRoutes(tuple(routes), tuple(groups))


def change(switch: ControlPlane, before: SwitchRoutes, after: SwitchRoutes) -> None:
    """Writes the difference. A route never leads to a group that is missing. Raises SwitchError."""
    old = {(route.address, route.prefix): route for route in before.routes}
    new = {(route.address, route.prefix): route for route in after.routes}
    groups = {group.number: group for group in before.groups}
    wanted = {group.number: group for group in after.groups}
    switch.modify(
        [
            group_entry(group)
            for number, group in wanted.items()
            if groups.get(number, group) != group
        ]
    )
    switch.insert([group_entry(group) for number, group in wanted.items() if number not in groups])
    switch.insert([route_entry(route) for key, route in new.items() if key not in old])
    switch.modify(
        [route_entry(route) for key, route in new.items() if key in old and old[key] != route]
    )
    switch.delete([route_entry(route) for key, route in old.items() if key not in new])
    switch.delete([group_entry(group) for number, group in groups.items() if number not in wanted])


def reroute(
    topology: Topology, routing: Routing, plane: Callable[[str], ControlPlane]
) -> list[str]:
    """Has all switches forward by this routing; returns those whose routes change. `plane`: a
    switch by name, to read and to write. Raises SwitchError."""
    changed = []
    for switch in topology.switches:
        there = plane(switch.name)
        before = read_routes(there)
        after = routes_of(topology, switch.name, routing, before)
        if set(before.routes) != set(after.routes) or set(before.groups) != set(after.groups):
            change(there, before, after)
            changed.append(switch.name)
    return changed
