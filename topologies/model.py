"""What a network is made of, before anything runs: hosts, switches, links, flows and the parameters
they share.

All values are nominal (bit/s, seconds, bytes of the modelled network); dilation comes in where a
network is started. Python's standard library only: Mininet's own command loads this with the
system's Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from pcn.base import ipv4
from pcn.base.errors import TopologyError as TopologyError, nearest
from pcn.topologies import lossless, naming
from pcn.topologies.buffers import MOST_BUFFER, OutputBuffer as OutputBuffer
from pcn.topologies.flow import FlowSpec as FlowSpec
from pcn.topologies.flow_order import in_order
from pcn.topologies.host import (
    Host as Host,
    host_addresses as host_addresses,
    make_hosts as make_hosts,
    make_racks as make_racks,
)
from pcn.topologies.link import Endpoint as Endpoint, Link as Link
from pcn.topologies.lossless import CREDITS, PFC, Value as Value
from pcn.topologies.paths import Block, Paths, Place, Ways
from pcn.topologies.routing import Routing
from pcn.topologies.switch import (
    FIFO as FIFO,
    ROUND_ROBIN as ROUND_ROBIN,
    Switch as Switch,
    check_switch,
)
from pcn.topologies.trails import Hop, Trail, Trails

if TYPE_CHECKING:
    from pcn.topologies.flow_columns import FlowColumns

# ECMP: do switches on a path choose by bits of the flow's hash of their own?
EVEN, POLARISED = (
    "even",
    "polarised",
)

# Ports are bit<9> in v1model. Four are internal: 508 the packet generator's, 509 live switches' CPU
# port, 510 where the data plane recirculates, 511 BMv2's drop port.
MAX_PORT = 507
MOST_RATE_BPS, LONGEST_DELAY_S = 1e14, 1e6
"""Of a link: in virtual time a frame takes a picosecond or more, and a sum of times has 64 bits."""
_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}\Z")


@dataclass(frozen=True)
class Topology:
    """Hosts, switches, links, flows. `parameters` by name: those of `pcn.topologies.lossless` have
    their usual values where they aren't given, others are the topology's own. `flow_control` of all
    links: "pfc", or, in virtual time alone, "credits", InfiniBand's."""

    name: str
    hosts: tuple[Host, ...]
    switches: tuple[Switch, ...]
    links: tuple[Link, ...]
    flows: tuple[FlowSpec, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=dict)
    flow_control: str = PFC

    def __post_init__(self) -> None:
        parameters = lossless.completed(self.parameters, self.flow_control)
        object.__setattr__(self, "parameters", MappingProxyType(parameters))
        _validate(self)

    @cached_property
    def lossless_classes(self) -> tuple[int, ...]:
        """Those that PFC protects, in order."""
        return lossless.classes(str(self.parameters["lossless_classes"]))

    @cached_property
    def _hosts(self) -> dict[str, Host]:
        return {host.name: host for host in self.hosts}

    @cached_property
    def host_places(self) -> dict[str, int]:
        """The place of each host among `hosts`, by name."""
        return {host.name: place for place, host in enumerate(self.hosts)}

    @cached_property
    def flow_columns(self) -> FlowColumns:
        """The flows by columns, hosts by their places."""
        from pcn.topologies.flow_columns import FlowColumns  # it needs NumPy

        return FlowColumns.of(self.flows, self.host_places)

    @cached_property
    def _switches(self) -> dict[str, Switch]:
        return {switch.name: switch for switch in self.switches}

    @cached_property
    def _at(self) -> dict[Endpoint, Link]:
        return {end: link for link in self.links for end in (link.a, link.b)}

    @cached_property
    def _links_at(self) -> dict[str, dict[int, Link]]:
        """The links of each node by its ports, in order: `_at` without making an Endpoint."""
        links: dict[str, dict[int, Link]] = {}
        for end in sorted(self._at, key=attrgetter("port")):
            links.setdefault(end.node, {})[end.port] = self._at[end]
        return links

    @cached_property
    def _peers(self) -> dict[str, dict[int, Endpoint]]:
        """What is at the far end of each port of each node, ports in order."""
        return {
            node: {port: link.far_end(node) for port, link in links.items()}
            for node, links in self._links_at.items()
        }

    @cached_property
    def _link_names(self) -> dict[str, dict[int, str]]:
        """What `link_name` returns, by node and port."""
        names: dict[str, dict[int, str]] = {}
        for node, peers in self._peers.items():
            cables = Counter(end.node for end in peers.values())
            names[node] = {
                port: f"{node}:{port}->{end}" if cables[end.node] > 1 else f"{node}->{end.node}"
                for port, end in peers.items()
            }
        return names

    @cached_property
    def routing(self) -> Routing:
        return Routing(self._hosts, self._peers)

    def around(self, down: Collection[Link]) -> Routing:
        """Returns the routing of the network without these links."""
        gone = {end for link in down for end in (link.a, link.b)}
        return Routing(
            self._hosts,
            {
                node: {
                    port: peer for port, peer in peers.items() if Endpoint(node, port) not in gone
                }
                for node, peers in self._peers.items()
            },
        )

    @property
    def _paths(self) -> Paths:
        return self.routing.paths

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All hosts, by prefixes of their addresses that lie at one place each, in order."""
        return self.routing.blocks

    def host(self, name: str) -> Host:
        if name not in self._hosts:
            raise TopologyError(
                f"no host {name!r} in {self.name}; choose from {', '.join(self._hosts)}"
            )
        return self._hosts[name]

    def host_links(self, name: str) -> tuple[Link, ...]:
        """Returns a host's links, by its ports in order."""
        return tuple(self.link_at(name, port) for port in self.ports(self.host(name).name))

    def host_rate_bps(self, name: str) -> float:
        """Returns the rate of all of a host's links together."""
        return sum(link.rate_bps for link in self.host_links(name))

    def switch(self, name: str) -> Switch:
        if name not in self._switches:
            raise TopologyError(
                f"no switch {name!r} in {self.name}; choose from {', '.join(self._switches)}"
            )
        return self._switches[name]

    def is_host(self, name: str) -> bool:
        return name in self._hosts

    def ports(self, node: str) -> tuple[int, ...]:
        """Returns the ports of a node that have a link, in order."""
        return tuple(self._peers.get(node, ()))

    def link_at(self, node: str, port: int) -> Link:
        link = self._links_at.get(node, {}).get(port)
        if link is None:
            raise self.unknown_port(node, port)
        return link

    def unknown_port(self, node: str, port: int) -> TopologyError:
        """Returns the error of a port that has no link."""
        if node not in self._peers:
            return self.unknown_node(node)
        return TopologyError(
            f"{node} has no port {port}; it has {', '.join(map(str, self.ports(node)))}"
        )

    def unknown_node(self, node: str) -> TopologyError:
        """Returns the error of an unknown node."""
        return TopologyError(f"{self.name} has no node {node!r}; {nearest(node, self._peers)}")

    def peer(self, node: str, port: int) -> Endpoint:
        """Returns the far end of the link at this port."""
        peer = self._peers.get(node, {}).get(port)
        if peer is None:
            raise self.unknown_port(node, port)
        return peer

    def link_name(self, node: str, port: int) -> str:
        """Returns the name of the direction that leaves `node` by `port`: "s0->s1", or
        "t0:17->l0:1" if it has parallels."""
        name = self._link_names.get(node, {}).get(port)
        if name is None:
            raise self.unknown_port(node, port)
        return name

    def ways(self, switch: str) -> dict[Place, Ways]:
        """Returns how a switch reaches each place that it isn't of. Raises TopologyError where it
        doesn't."""
        ways = self.routing.ways(self.switch(switch).name)
        for block in self.blocks:
            if block.place not in ways and switch not in block.place:
                raise TopologyError(f"no way from {switch} to {block.hosts[0].name} in {self.name}")
        return ways

    def next_hops(self, node: str, destination: str) -> tuple[int, ...]:
        """Returns the ports of `node` on a shortest path to the host `destination`, in order."""
        return self._paths.next_hops(node, self.host(destination).name)

    def hosts_apart(self) -> tuple[str, str] | None:
        """Returns two hosts between which there is no way; None: there is one between any two."""
        return self._paths.apart()

    def distance(self, node: str, destination: str) -> int:
        """Returns the links on a shortest path from `node` to the host `destination`. Raises
        TopologyError if there is none."""
        distance = self._paths.distance(node, self.host(destination).name)
        if distance is None:
            raise TopologyError(f"no way from {node} to {destination} in {self.name}")
        return distance

    def route(self, node: str, destination: str) -> int:
        """Returns the lowest port of `node` on a shortest path to the host `destination`; the only
        one, where paths don't part."""
        hops = self.next_hops(node, destination)
        if not hops:
            raise TopologyError(f"no way from {node} to {destination} in {self.name}")
        return hops[0]

    def path(self, src: str, dst: str) -> tuple[Endpoint, ...]:
        """Returns the transmitting endpoints from host to host, the source's own first. Where
        switches choose among several shortest paths by flow, the one by the lowest ports."""
        ends: list[Endpoint] = []
        node = self.host(src).name
        while node != dst:
            end = Endpoint(node, self.route(node, dst))
            ends.append(end)
            node = self.peer(end.node, end.port).node
        return tuple(ends)

    def rtt_s(self, src: str, dst: str) -> float:
        """Returns the base round-trip time: propagation there and back and switches' latency,
        without serialisation and queues."""
        return sum(
            self._transit_s(end) for pair in ((src, dst), (dst, src)) for end in self.path(*pair)
        )

    def _transit_s(self, end: Endpoint) -> float:
        """Returns the delay in s of the link that starts at `end`, and the latency of the switch
        where the link ends."""
        far = self._at[end].far_end(end.node).node
        return self._at[end].delay_s + (
            self._switches[far].latency_s if far in self._switches else 0.0
        )

    def max_rtt_s(self, frame_bytes: float = 0.0, answer_bytes: float = 0.0) -> float:
        """Returns the largest base RTT in s between any two hosts. `frame_bytes`: of a frame that
        each link there takes its time for; `answer_bytes`: of the one that comes back."""
        return self.trails.max_rtt_s(frame_bytes, answer_bytes)

    def trail(self, src: str, dst: str) -> Trail:
        """Returns the rate and delay of the links of `path`, in order, each with the latency of a
        switch where it ends. Raises TopologyError if there is no way."""
        return self.trails.between(self.host(src).name, self.host(dst).name)

    @cached_property
    def trails(self) -> Trails:
        """All trails between hosts, whose names it takes as they are."""
        links = {(end.node, end.port): link for end, link in self._at.items()}
        delays = {(end.node, end.port): self._transit_s(end) for end in self._at}
        return Trails(self.name, self._hosts, self._paths, links, delays)

    def hop(self, node: str, port: int) -> Hop:
        """Returns the rate and delay of the link that leaves this port, as `trail` has them."""
        return self.link_at(node, port).rate_bps, self._transit_s(Endpoint(node, port))

    def without(self, *pairs: tuple[str, str]) -> Topology:
        """Returns the topology less all links between the nodes of each pair. Raises TopologyError
        where there are none, and where a node would be left without a link."""
        gone = set()
        for pair in pairs:
            links = {link for link in self.links if {link.a.node, link.b.node} == set(pair)}
            if not links:
                raise TopologyError(f"no link between {pair[0]} and {pair[1]} in {self.name}")
            gone |= links
        return replace(self, links=tuple(link for link in self.links if link not in gone))

    def with_flows(self, flows: Sequence[FlowSpec]) -> Topology:
        """Returns the topology with these flows in place of those that it has, and what is known
        of its paths. Raises TopologyError."""
        topology = copy(self)
        object.__setattr__(topology, "flows", tuple(flows))
        vars(topology).pop("flow_columns", None)
        _validate_flows(topology)
        return topology

    def contending_flows(self) -> int:
        """Returns the most flows that share a link, in one direction, of those that last: how many
        of a size are there at a time is known after a run. 0 where the topology has none."""
        lasting = (flow for flow in self.flows if flow.size_bytes is None)
        shared = Counter(str(end) for flow in lasting for end in self.path(flow.src, flow.dst))
        return max(shared.values(), default=0)

    def number(self, parameter: str) -> float:
        """Returns a numeric parameter by name; XON also where it follows XOFF."""
        if parameter == "xon_bytes" and parameter not in self.parameters:
            return self._xon_bytes()
        value = self.parameters.get(parameter)
        if value is None or isinstance(value, str):
            raise TopologyError(
                f"{self.name} has no numeric parameter {parameter!r}; it has "
                f"{', '.join(self.parameters)}"
            )
        return value

    def _xon_bytes(self) -> float:
        """Returns XOFF less `hysteresis_bytes`, or two MTUs: the distance that SIGCOMM'15 has,
        NSDI'20 gives none."""
        distance = 2 * self.number("mtu_bytes")
        if "hysteresis_bytes" in self.parameters:
            distance = self.number("hysteresis_bytes")
        return self.number("xoff_bytes") - distance


def _validate(topology: Topology) -> None:
    names = [
        *(host.name for host in topology.hosts),
        *(switch.name for switch in topology.switches),
    ]
    for fault in (naming.network_fault(topology.name), *map(naming.node_fault, names)):
        if fault:
            raise TopologyError(fault)
    _unique("node name", names)
    _unique("address", [host.ip for host in topology.hosts])
    _unique("MAC", [host.mac for host in topology.hosts])
    _unique("device id", [str(switch.device_id) for switch in topology.switches])
    for host in topology.hosts:
        try:
            ipv4.octets(host.ip)
        except ValueError as error:
            raise TopologyError(f"{host.name}: {error}") from None
        if not _MAC.match(host.mac):
            raise TopologyError(f"{host.name}: {host.mac!r} is no MAC address (aa:bb:cc:dd:ee:ff)")
    for switch in topology.switches:
        check_switch(switch, topology.number("mtu_bytes"), topology.flow_control)
    try:
        lossless.classes(str(topology.parameters["lossless_classes"]))
    except ValueError as error:
        raise TopologyError(f"{topology.name}: {error}") from None
    _validate_flow_control(topology)
    _validate_links(topology, set(names))
    _validate_flows(topology)


def _validate_flows(topology: Topology) -> None:
    _unique("flow id", [flow.id for flow in topology.flows])
    hosts = topology.host_places
    for flow in topology.flows:
        for end in (flow.src, flow.dst):
            if end not in hosts:
                raise TopologyError(f"flow {flow.id}: no host {end!r}")
        if flow.src == flow.dst:
            raise TopologyError(f"flow {flow.id} goes from {flow.src} to itself")
        if not 0 <= flow.traffic_class < lossless.CLASSES:
            raise TopologyError(
                f"flow {flow.id}: class {flow.traffic_class}: 0 to {lossless.CLASSES - 1} are "
                "possible"
            )
        if flow.size_bytes is not None and flow.size_bytes < 1:
            raise TopologyError(f"flow {flow.id}: a size of {flow.size_bytes} bytes: 1 or more")
    in_order(topology.flows)


def _validate_flow_control(topology: Topology) -> None:
    if topology.flow_control not in (PFC, CREDITS):
        raise TopologyError(
            f"{topology.name}: flow control {topology.flow_control!r}: choose from {PFC!r} and "
            f"{CREDITS!r}"
        )
    if topology.flow_control == PFC:
        xon, xoff = topology.number("xon_bytes"), topology.number("xoff_bytes")
        if not 0 <= xon <= xoff < 2**32:
            raise TopologyError(
                f"{topology.name}: XON {xon:g}, XOFF {xoff:g} bytes: 0 <= XON <= XOFF < 2^32 must "
                "hold; give "
                f"{'another xon_bytes' if 'xon_bytes' in topology.parameters else 'xon_bytes, too'}"
            )
        if lossless.CONTROL_CLASS in topology.lossless_classes:
            raise TopologyError(
                f"{topology.name}: lossless_classes {topology.parameters['lossless_classes']!r}: "
                f"class {lossless.CONTROL_CLASS} has CNPs and ACKs, which obey no PAUSE; take "
                "others, or credits"
            )
        return
    if not topology.number("credit_interval_s") > 0:
        raise TopologyError(f"{topology.name}: credit_interval_s must be above 0")
    if not topology.number("buffer_bytes") < MOST_BUFFER:
        raise TopologyError(
            f"{topology.name}: buffers of {topology.number('buffer_bytes'):g} bytes: less than 2^48"
        )
    if topology.number("buffer_bytes") < topology.number("mtu_bytes"):
        raise TopologyError(
            f"{topology.name}: buffers of {topology.number('buffer_bytes'):g} bytes hold no frame "
            f"of mtu_bytes, {topology.number('mtu_bytes'):g}"
        )


def _validate_links(topology: Topology, names: set[str]) -> None:
    hosts = {host.name for host in topology.hosts}
    ends = [end for link in topology.links for end in (link.a, link.b)]
    _unique("port", [str(end) for end in ends])
    for link in topology.links:
        if not 1 <= link.rate_bps <= MOST_RATE_BPS:
            raise TopologyError(
                f"link {link.a} - {link.b}: rate {link.rate_bps:g} bit/s: 1 to {MOST_RATE_BPS:g} "
                "are possible"
            )
        if not 0 <= link.delay_s <= LONGEST_DELAY_S:
            raise TopologyError(
                f"link {link.a} - {link.b}: delay {link.delay_s:g} s: 0 to {LONGEST_DELAY_S:g} are "
                "possible"
            )
        if link.a.node == link.b.node:
            raise TopologyError(f"link {link.a} - {link.b} is a loop")
    for end in ends:
        if end.node not in names:
            raise TopologyError(f"link at {end}: no such node")
        if end.node in hosts and not 0 <= end.port <= MAX_PORT:
            raise TopologyError(f"{end}: a host's ports are numbered 0 to {MAX_PORT}")
        if end.node not in hosts and not 0 <= end.port <= MAX_PORT:
            raise TopologyError(
                f"{end}: a switch's ports are numbered 0 to {MAX_PORT}: its program has 9 bits, "
                "and four are internal"
            )
    _unique("interface name", [end.interface for end in ends])
    connected = {end.node for end in ends}
    for name in names - connected:
        raise TopologyError(f"{name} has no link")


def _unique(kind: str, values: Sequence[str | int]) -> None:
    seen: set[str | int] = set()
    for value in values if len(set(values)) < len(values) else ():
        if value in seen:
            raise TopologyError(f"{kind} {value} is used twice")
        seen.add(value)
