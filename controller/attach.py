"""A network that another process holds, found by its record: for reading, and for starting and stopping flows.

with attach() as lab:            # the one network that is up
    lab.switch("s0").read_counter("transmitted", index(4))
    lab.agent("h0").list()
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from controller.errors import UnknownNameError
from controller.switch import SwitchClient
from controller.target import target
from topologies import record as records
from topologies.errors import LabError
from topologies.model import Topology
from topologies.serialise import from_dict

if TYPE_CHECKING:
    from hosts.client import AgentClient


class NotRunningError(LabError):
    """There is no such network, or it isn't up yet."""


class Attached:
    """Connections are made when they are first asked for."""

    def __init__(self, record: records.Record) -> None:
        self.record = record
        self._stack = contextlib.ExitStack()
        self._switches: dict[str, SwitchClient] = {}
        self._agents: dict[str, AgentClient] = {}

    def __enter__(self) -> Attached:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @cached_property
    def topology(self) -> Topology:
        return from_dict(self.record.topology)

    def switch(self, name: str) -> SwitchClient:
        """A switch by name, for reading. Raises UnknownNameError or SwitchError."""
        if name not in self._switches:
            names = [switch.name for switch in self.topology.switches]
            if name not in names:
                raise UnknownNameError("switch", name, names)
            node = self._node(name)
            client = SwitchClient.connect(
                name,
                node.control,
                self.topology.switch(name).device_id,
                target(self.record.target).registers(node.shell.pid),
            )
            self._stack.callback(client.close)
            self._switches[name] = client
        return self._switches[name]

    def agent(self, name: str) -> AgentClient:
        """A host's agent by name. Raises UnknownNameError, or the client's errors."""
        from hosts.client import AgentClient

        if name not in self._agents:
            names = [host.name for host in self.topology.hosts]
            if name not in names:
                raise UnknownNameError("host", name, names)
            client = AgentClient(Path(self._node(name).control))
            self._agents[name] = self._stack.enter_context(contextlib.closing(client))
        return self._agents[name]

    def _node(self, name: str) -> records.NodeRecord:
        node = self.record.nodes[name]
        if node.process is None or not node.process.alive():
            raise NotRunningError(f"the program of {name} has ended; its log: {node.log}")
        return node

    def agents(self) -> dict[str, AgentClient]:
        """All agents, by the host's name."""
        return {host.name: self.agent(host.name) for host in self.topology.hosts}


def attach(name: str | None = None) -> Attached:
    """The network of this name; without one, the only one that is up. Raises NotRunningError."""
    return Attached(find(name))


def find(name: str | None = None) -> records.Record:
    """The record of a network that is up, as `attach`."""
    up = [found for found in records.names() if records.is_held(found)]
    if name is None and len(up) > 1:
        raise NotRunningError(f"several networks are up ({', '.join(up)}): say which, with --network NAME")
    if name is None and not up:
        raise NotRunningError("no network is up: start one with `pcn up dumbbell`")
    if name is not None and name not in up:
        raise NotRunningError(f"no network {name!r} is up; there are {', '.join(up) or 'none'}")
    record = records.load(name or up[0])
    if record is None or record.state != "up":
        raise NotRunningError(f"network {name or up[0]} is still starting: try again when `pcn status` says up")
    return record
