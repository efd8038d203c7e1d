"""A network that another process holds, found by its record: it can do all that a `Lab` can, except
ending it.

with attach() as lab:            # the one network that is up
    lab.switches["s0"].read_counter("transmitted", index(4))
    lab.agents["h0"].flows()
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pcn.base.errors import LabError, nearest
from pcn.controller.errors import UnknownNameError
from pcn.lab import journal as records
from pcn.lab.target import target
from pcn.topologies.model import Topology
from pcn.topologies.serialise import from_dict

if TYPE_CHECKING:
    from pcn.controller.switch import SwitchClient
    from pcn.hosts.client import AgentClient

# Above the 1 of the network's own controller, which writes nothing once the network is up.
ELECTION_ID = 2
_Client = TypeVar("_Client", covariant=True)


class NotRunningError(LabError):
    """There is no such network, or it isn't up yet."""


class _Connections(Mapping[str, _Client]):
    """By a node's name, made at its first use. Raises UnknownNameError for an unknown name."""

    def __init__(self, kind: str, names: list[str], connect: Callable[[str], _Client]) -> None:
        self._kind = kind
        self._names = names
        self._connect = connect
        self._clients: dict[str, _Client] = {}

    def __getitem__(self, name: str) -> _Client:
        if name not in self._names:
            raise UnknownNameError(self._kind, name, self._names)
        if name not in self._clients:
            self._clients[name] = self._connect(name)
        return self._clients[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Attached:
    """A context manager; `pcn.lab.running.Running`. `switches` and `agents` connect when they are
    first used, and raise UnknownNameError, NotRunningError, SwitchError or AgentError."""

    def __init__(self, record: records.Record, election_id: int | None = None) -> None:
        self.record = record
        self._election_id = election_id or ELECTION_ID
        self._stack = contextlib.ExitStack()
        self._primary: set[str] = set()
        self.switches: Mapping[str, SwitchClient] = _Connections(
            "switch", [switch.name for switch in self.topology.switches], self._connect_switch
        )
        with_agents = [host.name for host in self.topology.hosts if record.nodes[host.name].process]
        self.agents: Mapping[str, AgentClient] = _Connections(
            "host", with_agents, self._connect_agent
        )

    def __enter__(self) -> Attached:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def topology(self) -> Topology:
        return from_dict(self.record.topology)

    def primary(self, name: str) -> SwitchClient:
        """Returns a switch by name, to write to: takes over from the controller that programmed it.
        Raises PrimaryError where one with a higher election id is there."""
        client = self.switches[name]
        if name not in self._primary:
            client.become_primary(self._election_id)
            self._primary.add(name)
        return client

    def _connect_switch(self, name: str) -> SwitchClient:
        # slow to load; who speaks to hosts alone does without
        from pcn.controller.switch import (
            SwitchClient,
        )

        self._find_marking_points()
        node = self._node(name)
        client = SwitchClient.connect(
            name,
            node.control,
            self.topology.switch(name).device_id,
            None if self.record.is_inside else target(self.record.target).registers(node.shell.pid),
        )
        self._stack.callback(client.close)
        return client

    def _find_marking_points(self) -> None:
        """For `pcn.controller.settings`. Files may have gone: their settings are unknown then, all
        else works."""
        from pcn.controller import marking

        for point in self.record.marking:
            with contextlib.suppress(marking.MarkingError):
                marking.find(point)

    def _connect_agent(self, name: str) -> AgentClient:
        from pcn.hosts.client import AgentClient

        return self._stack.enter_context(
            contextlib.closing(AgentClient(Path(self._node(name).control)))
        )

    def _node(self, name: str) -> records.NodeRecord:
        node = self.record.nodes[name]
        if node.process is None or not node.process.alive():
            raise NotRunningError(f"the program of {name} has ended; its log: {node.log}")
        return node


def attach(name: str | None = None, election_id: int | None = None) -> Attached:
    """Returns the network of this name; without one, the only one that is up. `election_id` is
    `primary`'s, one above the network's own by default. Raises NotRunningError."""
    return Attached(find(name), election_id)


def find(name: str | None = None) -> records.Record:
    """Returns the record of a network that is up, as `attach`."""
    up = [name for name in records.names() if records.is_held(name)]
    if name is None and len(up) > 1:
        raise NotRunningError(
            f"several networks are up ({', '.join(up)}): name one with --network NAME"
        )
    if name is None and not up:
        raise NotRunningError("no network is up: start one with `pcn up dumbbell`")
    if name is not None and name not in up:
        raise NotRunningError(f"no network {name!r} is up; {nearest(name, up)}")
    record = records.load(name or up[0])
    if record is None or record.state != "up":
        raise NotRunningError(
            f"network {name or up[0]} is still starting: try again when `pcn status` shows up"
        )
    return record
