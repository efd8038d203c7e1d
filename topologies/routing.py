"""By which ports nodes reach hosts: in a network, or in the rest of it while links are down."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from pcn.topologies.paths import Block, Paths, Place, Ways, blocks

if TYPE_CHECKING:
    from pcn.topologies.host import Host
    from pcn.topologies.link import Endpoint


class Routing:
    """`peers`: what is at the far end of each port of each node, ports in order."""

    def __init__(
        self, hosts: Mapping[str, Host], peers: Mapping[str, Mapping[int, Endpoint]]
    ) -> None:
        self._hosts = hosts
        self.paths = Paths(hosts, peers)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All hosts, by prefixes of their addresses that lie at one place each, in order."""
        return tuple(
            blocks(
                (int(IPv4Address(host.ip)), self.paths.place(name), host)
                for name, host in self._hosts.items()
            )
        )

    def ways(self, switch: str) -> dict[Place, Ways]:
        """Returns how a switch reaches each place that it isn't of, and can reach."""
        return {place: ways for ways in self.paths.ways(switch) for place in ways.places}

    def next_hops(self, node: str, host: str) -> tuple[int, ...]:
        """Returns the ports of a node on a shortest path to a host, in order; none if there is
        none."""
        return self.paths.next_hops(node, host)
