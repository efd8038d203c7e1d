"""Reroutes: some time after a link has gone down or come up, all switches and hosts have routes by
what is there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from pcn.controller.in_process import InProcessSwitch
from pcn.controller.reroute import SwitchRoutes, change, routes_of
from pcn.topologies.link import Link
from pcn.topologies.routing import Routing
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.timed import TimedNetwork


class Reroute:
    """`route_flows` gives flows that are under way their new paths. `delay_s`: from the failure to
    new routes, everywhere at once: until it is noticed, computed and written."""

    def __init__(
        self,
        network: TimedNetwork,
        switches: Mapping[str, InProcessSwitch],
        route_flows: Callable[[Routing], None],
        delay_s: float,
    ) -> None:
        if not 0 <= delay_s < math.inf:
            raise VirtualError(f"a reroute takes {delay_s:g} s: 0 or more are possible")
        for switch in network.topology.switches:
            if switch.output is not None:
                raise VirtualError(
                    f"{switch.name} has output buffers: routes change without them alone"
                )
        self._network, self._delay_s = network, delay_s
        self._switches, self._route_flows = switches, route_flows
        topology = network.topology
        self._down: set[Link] = set()
        nothing = SwitchRoutes((), ())
        self._routes = {
            switch.name: routes_of(topology, switch.name, topology.routing, nothing)
            for switch in topology.switches
        }

    def link_changed(self, node: str, port: int, up: bool) -> None:
        """What is to leave by a link that is down is lost at switches; the rest happens `delay_s`
        later."""
        network = self._network
        link = network.topology.link_at(node, port)
        for end in (link.a, link.b):
            if not network.topology.is_host(end.node):
                network.discard(end.node, end.port, not up)
        network.at(network.now_s + self._delay_s, partial(self._learn, link, up))

    def _learn(self, link: Link, up: bool) -> None:
        (self._down.discard if up else self._down.add)(link)
        network = self._network
        routing = network.topology.around(self._down)
        for name, before in self._routes.items():
            after = routes_of(network.topology, name, routing, before)
            change(self._switches[name], before, after)
            self._routes[name] = after
        self._route_flows(routing)
        for end in (link.a, link.b):
            if network.topology.is_host(end.node):
                network.call("vn_move_notifications", network.link(end.node, end.port))
