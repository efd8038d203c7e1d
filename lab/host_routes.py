"""Routes of hosts with several NICs: each agent has, by the other hosts' addresses, the ports on a
shortest path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcn.topologies.model import Topology
from pcn.topologies.routing import Routing

if TYPE_CHECKING:
    from pcn.hosts.client import AgentClient


def route_hosts(topology: Topology, agents: Mapping[str, AgentClient], routing: Routing) -> None:
    """Has flows leave by this routing's ports, at all hosts with several. Raises AgentError."""
    for host in agents:
        if len(topology.ports(host)) > 1:
            agents[host].set_routes(
                _ports(topology, host, topology.routing), _ports(topology, host, routing)
            )


def _ports(topology: Topology, host: str, routing: Routing) -> dict[str, tuple[int, ...]]:
    return {
        peer.ip: routing.next_hops(host, peer.name) for peer in topology.hosts if peer.name != host
    }
