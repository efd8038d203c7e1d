"""Hosts as files of flows name them: the topology's names, addresses, and hosts that were split
into their NICs."""

from __future__ import annotations

import re

from pcn.base.errors import nearest
from pcn.topologies.model import Topology

_NIC = re.compile(r"(.+)-([0-9]+)\Z")
_NUMBERED = re.compile(r"h([0-9]+)\Z")
_FEW = 12
"""Hosts that an error names each."""


class Ends:
    """The topology's hosts by the names that a file may give them."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self.names = [host.name for host in topology.hosts]
        self._hosts = set(self.names)
        self._by_ip = {host.ip: host.name for host in topology.hosts}
        self._nics: dict[str, list[str]] = {}
        for host in topology.hosts:
            if (match := _NIC.match(host.name)) and match[1] not in self._hosts:
                self._nics.setdefault(match[1], []).append(host.name)

    def __len__(self) -> int:
        return len(self._hosts)

    def host(self, name: str, flow: int) -> str:
        """Returns the host of this name or address; of one that was split the NIC whose place is
        the flow's number modulo their count. Raises ValueError."""
        if name in self._hosts:
            return name
        if nics := self._nics.get(name):
            return nics[flow % len(nics)]
        if name in self._by_ip:
            return self._by_ip[name]
        raise ValueError(f"{self._topology.name} has no host {name!r}; {self._instead(name)}")

    def _instead(self, name: str) -> str:
        names = self.names
        number = _NUMBERED.match(name)
        switch = f"s{number[1]}" if number else name
        if any(node.name == switch for node in self._topology.switches):
            return f"{switch} is a switch"
        if number and len(names) > _FEW and names == [f"h{place}" for place in range(len(names))]:
            return f"hosts are {names[0]} to {names[-1]}"
        return nearest(name, names)
