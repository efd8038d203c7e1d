"""A network's links in memory: to hosts' agents, and between switches, of one process or of
several.

links = MemoryLinks(topology, [["s0"], ["s1"]], agents=True)
links.of("s0")                  # {1: (5, 6, 0), ...}: ports, with descriptors of memory and bell,
                                and the end
links.close()                   # once all processes have started
"""

from __future__ import annotations

from collections.abc import Sequence

from pcn.base import priority
from pcn.hosts.memory_link import Ends
from pcn.topologies.model import Topology

ProcessLink = tuple[int, int, int]
"""Descriptors of memory and bell, and which end of the memory it is."""


class MemoryLinks:
    """Between processes: switches that share one, in `groups`, and `agents`, one for each host,
    where there are any. A switch in no group has none. Raises OSError."""

    def __init__(self, topology: Topology, groups: Sequence[Sequence[str]], agents: bool) -> None:
        self._topology = topology
        self._process = {name: process for process, names in enumerate(groups) for name in names}
        if groups and agents:
            self._process |= {host.name: -1 - number for number, host in enumerate(topology.hosts)}
        self._ends: list[Ends] = []
        self._links: dict[str, dict[int, ProcessLink]] = {}
        between = [
            link
            for link in topology.links
            if len({self._process.get(end.node) for end in (link.a, link.b)} - {None}) == 2
        ]
        priority.raise_descriptors(more=len(Ends._fields) * len(between))
        for link in between:
            # A host is end 1
            end_0, end_1 = (link.b, link.a) if topology.is_host(link.a.node) else (link.a, link.b)
            ends = Ends.make()
            self._ends.append(ends)
            self._links.setdefault(end_0.node, {})[end_0.port] = ends.memory, ends.bell_0, 0
            self._links.setdefault(end_1.node, {})[end_1.port] = ends.memory, ends.bell_1, 1

    def of(self, node: str) -> dict[int, ProcessLink]:
        """Returns a node's links to other processes, by port."""
        return self._links.get(node, {})

    def inner(self, switch: str) -> dict[int, tuple[int, int]]:
        """Returns a switch's ports whose links are to switches of its process: the device and the
        port there."""
        if switch not in self._process:
            return {}
        peers = {port: self._topology.peer(switch, port) for port in self._topology.ports(switch)}
        return {
            port: (self._topology.switch(peer.node).device_id, peer.port)
            for port, peer in peers.items()
            if self._process.get(peer.node) == self._process[switch]
        }

    def descriptors(self, nodes: Sequence[str]) -> list[int]:
        """Returns what the process of these nodes inherits."""
        return [
            descriptor
            for node in nodes
            for memory, bell, _ in self.of(node).values()
            for descriptor in (memory, bell)
        ]

    def close(self) -> None:
        """Closes this process's descriptors; those that have inherited theirs keep them."""
        while self._ends:
            self._ends.pop().close()
        self._links.clear()
