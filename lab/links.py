"""Links of a network that is up: whether they carry frames; set down, and up again.

    set_link(lab, "s0", "s1", up=False)      # all links between the two; "s0:4" is the one at that
                                             port
    reroute(lab)                             # all switches have routes by the links that are up
    [link for link in links(lab.record, lab.topology) if not link.up]

A link is up when both of its interfaces are. To set one down, interfaces of switches are: a switch
loses frames that would leave by it, counts them (`pcn.controller.interface_counters`) and logs
that. A host's own interface stays up without a carrier, as that of a NIC whose cable was pulled:
its flows wait.
"""

from __future__ import annotations

import fcntl
import math
import socket
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcn.base.errors import LabError
from pcn.base.namespaces import NamespaceError, in_namespace
from pcn.controller.errors import SwitchError, UnknownNameError
from pcn.lab.host_routes import route_hosts
from pcn.lab.inside.client import request, reroute as reroute_inside
from pcn.lab.journal import Record
from pcn.lab.running import Running
from pcn.lab.target import target
from pcn.topologies.model import Endpoint, Link, Topology, TopologyError

_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_UP, _RUNNING = 0x1, 0x40
_REQUEST = struct.Struct("16sH22x")
# The kernel tells of a carrier's change a moment after it.
_CHANGE_LIMIT_S, _POLL_S = 10.0, 0.01


class LinkError(LabError):
    """A link can't be set."""


@dataclass(frozen=True)
class LinkState:
    """A link by its ends ("s0:4", "s1:4"), and whether it carries frames."""

    a: str
    b: str
    up: bool

    def __str__(self) -> str:
        return f"{self.a} - {self.b}"


def links(record: Record, topology: Topology) -> list[LinkState]:
    """Returns all links as they are now. One of a node that has ended is down."""
    return _states(record, topology, topology.links)


def set_link(lab: Running, end_a: str, end_b: str, up: bool) -> list[LinkState]:
    """Sets the links between two nodes down or up; these, when it is so. A node, or a node's port:
    "s0:4".

    Raises UnknownNameError, TopologyError, LinkError or NamespaceError.
    """
    links = between(lab.topology, end_a, end_b)
    if lab.record.is_inside:
        for link in links:
            request(lab.record, "link", node=link.a.node, port=link.a.port, up=up)
        return _states(lab.record, lab.topology, links)
    for link in links:
        ends = [link.a, link.b]
        for end in (
            ends if up else [end for end in ends if not lab.topology.is_host(end.node)] or ends
        ):
            _set_up(lab, end, up)
    limit = time.monotonic() + _CHANGE_LIMIT_S
    while True:
        states = _states(lab.record, lab.topology, links)
        stay = [str(state) for state in states if state.up is not up]
        if not stay:
            return states
        if time.monotonic() > limit:
            raise LinkError(
                f"{', '.join(stay)} isn't {'up' if up else 'down'} after {_CHANGE_LIMIT_S:g} s"
            )
        # until the far end has noticed its carrier, too
        time.sleep(_POLL_S)


def reroute(lab: Running, after_s: float = 0.0) -> list[str]:
    """Writes routes by the links that are up to all switches, once `after_s` nominal seconds have
    passed, which stand for noticing and computing; returns the switches whose routes change. Hosts
    that a switch can't reach have no route there; flows of a host with several NICs leave by one
    that leads somewhere. Raises LinkError, SwitchError, AgentError."""
    # slow to load; who looks at links does without
    from pcn.controller.reroute import reroute as rewrite

    if not 0 <= after_s < math.inf:
        raise LinkError(f"a reroute after {after_s:g} s: 0 or more are possible")
    if lab.record.is_inside:
        return reroute_inside(lab.record, after_s)
    # the routes' delay itself, in real time
    time.sleep(after_s * lab.record.dilation)
    topology = lab.topology
    states = _states(lab.record, topology, topology.links)
    routing = topology.around(
        [link for link, state in zip(topology.links, states, strict=True) if not state.up]
    )
    changed = rewrite(topology, routing, lab.primary)
    route_hosts(topology, lab.agents, routing)
    return changed


def between(topology: Topology, end_a: str, end_b: str) -> list[Link]:
    """Returns the links between two nodes, each with a port ("s0:4") or without. Raises
    UnknownNameError or TopologyError."""
    (node, port), (far, far_port) = _end(topology, end_a), _end(topology, end_b)
    links = [
        link
        for number in topology.ports(node)
        if port in (None, number)
        for link in [topology.link_at(node, number)]
        if link.far_end(node).node == far and far_port in (None, link.far_end(node).port)
    ]
    if not links:
        peers = ", ".join(
            dict.fromkeys(topology.peer(node, number).node for number in topology.ports(node))
        )
        raise TopologyError(f"no link between {end_a} and {end_b}; {node} is connected to {peers}")
    return links


def _end(topology: Topology, text: str) -> tuple[str, int | None]:
    node, colon, port = text.partition(":")
    names = [
        *(switch.name for switch in topology.switches),
        *(host.name for host in topology.hosts),
    ]
    if node not in names:
        raise UnknownNameError("node", node, names)
    if not colon:
        return node, None
    if not port.isdecimal():
        raise TopologyError(
            f"{text!r}: write a node, as {node}, or a node and its port, as {node}:1"
        )
    topology.link_at(node, int(port))
    return node, int(port)


def _states(record: Record, topology: Topology, chosen: Iterable[Link]) -> list[LinkState]:
    """Returns the links' states, each by one end's interface: it has no carrier unless both ends
    are up."""
    chosen = list(chosen)
    if record.is_inside:
        down = set(request(record, "links"))
        return [LinkState(str(link.a), str(link.b), str(link.a) not in down) for link in chosen]
    ends = [link.b if topology.is_host(link.a.node) else link.a for link in chosen]
    nodes = dict.fromkeys(end.node for end in ends)
    up = {
        interface
        for node in nodes
        for interface in running_interfaces(
            record, node, [end.interface for end in ends if end.node == node]
        )
    }
    return [
        LinkState(str(link.a), str(link.b), end.interface in up)
        for link, end in zip(chosen, ends, strict=True)
    ]


def running_interfaces(record: Record, node: str, interfaces: Sequence[str]) -> set[str]:
    """Returns those of a node's interfaces that are up, with a carrier. None of a node whose
    namespace is gone."""
    there = record.nodes.get(node)
    if there is None or not there.shell.alive():
        return set()

    def look() -> set[str]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            flags = {interface: _flags(asking, interface) for interface in interfaces}
        return {interface for interface, flag in flags.items() if flag & _UP and flag & _RUNNING}

    try:
        return in_namespace(there.shell.pid, look)
    except NamespaceError:  # it ended just now
        return set()


def _flags(asking: socket.socket, interface: str) -> int:
    """Returns the flags of an interface by netdevice(7), 0 if it is missing."""
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, _REQUEST.pack(interface.encode(), 0))
    except OSError:
        return 0
    flags: int = _REQUEST.unpack(answer)[1]
    return flags


def _set_up(lab: Running, end: Endpoint, up: bool) -> None:
    namespace_pid = lab.record.nodes[end.node].shell.pid
    switch = None if lab.topology.is_host(end.node) else target(lab.record.target)

    def change() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            flags = _flags(asking, end.interface)
            wanted = flags | _UP if up else flags & ~_UP
            fcntl.ioctl(asking, _SIOCSIFFLAGS, _REQUEST.pack(end.interface.encode(), wanted))

    try:
        if switch and not up:
            switch.before_down(namespace_pid, end.port)
        in_namespace(namespace_pid, change)
        if switch and up:
            switch.after_up(namespace_pid, end.port, end.interface)
    except (NamespaceError, SwitchError) as error:
        raise LinkError(f"can't set {end.interface} {'up' if up else 'down'}: {error}") from None
