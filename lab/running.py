"""What a network that is up offers, whether this process holds it (`Lab`) or another one does
(`attach`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from pcn.controller.errors import UnknownNameError
from pcn.lab.inside.client import no_interface
from pcn.lab.journal import Record
from pcn.topologies.model import Endpoint, Topology, TopologyError

if TYPE_CHECKING:
    from pcn.controller.switch import SwitchClient
    from pcn.hosts.client import AgentClient


class Running(Protocol):
    """A network that is up: its topology, its record, and connections to its switches and agents by
    name."""

    @property
    def topology(self) -> Topology: ...

    @property
    def record(self) -> Record: ...

    @property
    def switches(self) -> Mapping[str, SwitchClient]: ...

    @property
    def agents(self) -> Mapping[str, AgentClient]: ...

    def primary(self, name: str) -> SwitchClient:
        """Returns a switch by name, to write to."""
        ...


def endpoint(topology: Topology, node: str, port: int | None = None) -> Endpoint:
    """Returns a port that has a link. A node with one port needs no number. Raises UnknownNameError
    or TopologyError."""
    names = [
        *(switch.name for switch in topology.switches),
        *(host.name for host in topology.hosts),
    ]
    if node not in names:
        raise UnknownNameError("node", node, names)
    ports = topology.ports(node)
    if port is None and len(ports) == 1:
        port = ports[0]
    if port is None:
        raise TopologyError(f"{node} has several ports: name one of {', '.join(map(str, ports))}")
    topology.link_at(node, port)
    return Endpoint(node, port)


def namespace_pid(lab: Running, node: str) -> int:
    """Returns a process in the network namespace of a node. Raises LabError where it has none."""
    if lab.record.is_inside:
        no_interface(lab.record, node)
    return lab.record.nodes[node].shell.pid
