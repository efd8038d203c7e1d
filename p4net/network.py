"""A network of P4 switches as a value: each switch with its program and its entries, hosts as the
kernel would have them, links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pcn.base.errors import nearest
from pcn.controller.programs import Program
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Entries
from pcn.topologies.model import Link, Topology

QUEUE_DEPTH_PACKETS = 64
"""Of each queue, as in simple_switch."""
PRIORITIES = 8


@dataclass(frozen=True)
class P4Switch:
    """A switch's program, what its control plane is given before traffic starts, and its target's
    settings.

    `cpu_port` 0: it has none. `queue_depth`: packets a queue. `queue_rate`: packets/s of each
    queue, beside the link's rate; 0: unlimited. `priority_queues`: queues a port, 1 to 8, of which
    the highest is served first."""

    program: Program
    entries: tuple[Entries, ...] = ()
    cpu_port: int = 0
    queue_depth: int = QUEUE_DEPTH_PACKETS
    queue_rate: int = 0
    priority_queues: int = PRIORITIES


@dataclass(frozen=True)
class P4Host:
    """A host's kernel: the length of its address's prefix, and shell commands that configure it
    (`route`, `arp`)."""

    prefix: int = 24
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class P4Network:
    """`topology`: names, addresses and links; `switches` and `hosts` by name: each switch, and
    hosts that differ from `P4Host()`. `unlimited`: links that have no rate of a file; live they are
    unshaped, in virtual time they have the topology's. `notes`: what of a file was left out, or
    runs in place of what it names."""

    topology: Topology
    switches: Mapping[str, P4Switch]
    hosts: Mapping[str, P4Host] = field(default_factory=dict)
    unlimited: frozenset[Link] = frozenset()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [switch.name for switch in self.topology.switches]
        for name in names:
            if name not in self.switches:
                raise P4NetError(f"{self.topology.name}: switch {name} has no program")
        for name in self.switches:
            if name not in names:
                raise P4NetError(
                    f"{self.topology.name}: no switch {name!r}; {nearest(name, names)}"
                )
        for name, switch in self.switches.items():
            if not 1 <= switch.priority_queues <= PRIORITIES:
                raise P4NetError(
                    f"{name}: {switch.priority_queues} queues a port: from 1 to {PRIORITIES} are "
                    "possible"
                )
            if switch.queue_depth < 1 or switch.queue_rate < 0:
                raise P4NetError(
                    f"{name}: a queue holds at least 1 packet, and its rate is 0 (unlimited) or "
                    "above"
                )
            if not 0 <= switch.cpu_port < 511:
                raise P4NetError(
                    f"{name}: the CPU port {switch.cpu_port} must be from 1 to 510, or 0: none"
                )
            if switch.cpu_port and switch.cpu_port in self.topology.ports(name):
                raise P4NetError(f"{name}: port {switch.cpu_port} is its CPU port, and has a link")

    def host(self, name: str) -> P4Host:
        """Returns a host's settings. Raises TopologyError."""
        return self.hosts.get(self.topology.host(name).name, P4Host())
