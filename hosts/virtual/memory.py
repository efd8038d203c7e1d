"""The memory that a network in virtual time takes, known before it is taken: the engine's structs,
by their sizes, and of Python's objects beside them, as measured.

Measured on Clos networks of 512 to 98,304 hosts (2026-12-01, CPython 3.11, PCN's program), as the
process's resident memory before and after; docs/virtualnet.md has the figures.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable

from pcn.base.memory import Need
from pcn.hosts import wire
from pcn.hosts.virtual import native
from pcn.softswitch.cache.objects import BuildError
from pcn.topologies.model import FlowSpec, Topology
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import Sizes

_SWITCH = 75_000
"""A switch: its program's registers and counters, its tables, what Python has of them."""
_OF_DIRECTION, _OF_PORT = 1_000, 800
"""What Python has of a direction of a link, and of a switch's port; the port's entries."""
_OF_FLOW = 430
"""Python's objects of a flow, its RP and NP, and its places in lists of the engine."""
_EVENTS = 4
"""Places for events that a node's tournament has, for each of its ports: a power of two of leaves,
and as many above them."""
_RING = 16
"""Frames that a direction of a link has places for, on average, once it has been busy."""


class Memory:
    """What the engine's structs take. `explain`: of the engine that accounts for flows' time, as
    the network is made with. `parts`: that share the network: each has its own switches and
    packets, and all links and flows. Raises VirtualError."""

    def __init__(self, explain: bool = False, parts: int = 1) -> None:
        self._parts = parts
        try:
            library = native.engine(explain)
        except BuildError as error:
            raise VirtualError(str(error)) from None
        self._sizes = Sizes()
        library.vn_sizes(ctypes.byref(self._sizes))
        self._flow: int = library.vn_flow_bytes(None)

    def network(self, topology: Topology) -> list[Need]:
        """Returns what a network needs that is made and has started, without flows."""
        hosts, switches = len(topology.hosts), len(topology.switches)
        links = 2 * len(topology.links)
        ports = links - sum(len(topology.ports(host.name)) for host in topology.hosts)
        sizes = self._sizes
        nodes = (hosts + switches) * sizes.node + _EVENTS * links * sizes.event
        directions = links * (sizes.link + _OF_DIRECTION) + ports * (sizes.port + _OF_PORT)
        return [
            Need("switches", switches * _SWITCH / self._parts),
            Need("links", nodes + directions),
        ]

    def flows(self, flows: int) -> float:
        """Returns the bytes of this many flows in a network."""
        return float(flows * (self._flow + _OF_FLOW))

    def packets(self, topology: Topology, flows: Iterable[FlowSpec], payload_bytes: int) -> Need:
        """Returns what packets need that are inside the network at once: of each host that sends
        as many as leave it in the longest round trip at its rate, and at most all that it sends."""
        frame = wire.data_bytes(payload_bytes, False, False)
        # parts of a network that no link joins have no round trip between them
        rtt_s = 0.0 if topology.hosts_apart() else topology.max_rtt_s(frame)
        sent: dict[str, float] = {}
        for flow in flows:
            size = math.inf if flow.size_bytes is None else flow.size_bytes
            sent[flow.src] = sent.get(flow.src, 0.0) + size
        packets = sum(
            min(size / payload_bytes, topology.host_rate_bps(host) * rtt_s / 8 / frame)
            for host, size in sent.items()
        )
        rings = 2 * len(topology.links) * _RING * self._sizes.in_flight
        return Need("packets", (packets * self._sizes.packet + rings) / self._parts)
