"""A network as a file names it, on the way to a `Topology`: ports and addresses that the file
leaves out are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pcn.base.errors import nearest
from pcn.topologies import naming
from pcn.topologies.formats.source import FormatError, Source
from pcn.topologies.lossless import PFC
from pcn.topologies.model import (
    MAX_PORT,
    Endpoint,
    FlowSpec,
    Host,
    Link,
    Switch,
    Topology,
    TopologyError,
    Value,
    host_addresses,
)

MOST_HOSTS, MOST_SWITCHES, MOST_LINKS = 2**18, 2**16, 2**20
"""Of a file's network: a short file may name many. Their addresses are within 10.0.0.0/8."""
RATE_BPS, DELAY_S = 10e9, 1e-6
"""Of links to which neither the file nor an option gives another."""


class End(NamedTuple):
    """Of a link: a node, and its port where the file has one."""

    node: str
    port: int | None = None


class _Node(NamedTuple):
    line: int
    ip: str = ""
    mac: str = ""


_USUAL = Switch("", 0)


class _Switch(NamedTuple):
    line: int
    device_id: int | None
    settings: Switch


@dataclass(frozen=True)
class _Link:
    line: int
    a: End
    b: End
    rate_bps: float
    delay_s: float


@dataclass
class Draft:
    """Nodes and links in the file's order. Everything that adds to it raises FormatError with the
    line. `rate_bps`, `delay_s`: options, of links to which the file gives none."""

    source: Source
    rate_bps: float | None = None
    delay_s: float | None = None
    hosts: dict[str, _Node] = field(default_factory=dict)
    switches: dict[str, _Switch] = field(default_factory=dict)
    links: list[_Link] = field(default_factory=list)
    assumed: set[str] = field(default_factory=set)
    """What the file leaves out of a link at least, by the option's name."""

    def host(self, line: int, name: str, ip: str = "", mac: str = "") -> None:
        self._new(line, name)
        self.hosts[name] = _Node(line, ip, mac.lower())
        self._within(line, len(self.hosts), MOST_HOSTS, "hosts")

    def switch(
        self,
        line: int,
        name: str,
        device_id: int | None = None,
        settings: Switch = _USUAL,
    ) -> None:
        """`settings`: a switch in all but name and id."""
        self._new(line, name)
        self.switches[name] = _Switch(line, device_id, settings)
        self._within(line, len(self.switches), MOST_SWITCHES, "switches")

    def link(
        self, line: int, a: End, b: End, rate_bps: float | None, delay_s: float | None
    ) -> None:
        for end in (a, b):
            if end.node not in self.hosts and end.node not in self.switches:
                known = [*self.hosts, *self.switches]
                raise self.source.error(line, f"no node {end.node!r}; {nearest(end.node, known)}")
        if a.node == b.node:
            raise self.source.error(line, f"a link from {a.node} to itself")
        rate_bps = (
            self._usual("rate_bps", self.rate_bps, RATE_BPS) if rate_bps is None else rate_bps
        )
        delay_s = self._usual("delay_s", self.delay_s, DELAY_S) if delay_s is None else delay_s
        self.links.append(_Link(line, a, b, rate_bps, delay_s))
        self._within(line, len(self.links), MOST_LINKS, "links")

    def _usual(self, option: str, setting: float | None, usual: float) -> float:
        self.assumed.add(option)
        return usual if setting is None else setting

    def _new(self, line: int, name: str) -> None:
        if fault := naming.node_fault(name):
            raise self.source.error(line, fault)
        if there := self.hosts.get(name) or self.switches.get(name):
            raise self.source.error(line, f"node {name} stands in line {there.line} already")

    def _within(self, line: int, count: int, most: int, kind: str) -> None:
        if count > most:
            raise self.source.error(line, f"more than {most:,} {kind}")

    def topology(
        self,
        split_hosts: int = 0,
        name: str = "",
        flows: Sequence[FlowSpec] = (),
        parameters: Mapping[str, Value] | None = None,
        flow_control: str = PFC,
    ) -> Topology:
        """Returns the topology; `split_hosts`: a host with several links becomes that many hosts,
        NAME-0, NAME-1, ...

        Raises FormatError.
        """
        if not self.links:
            raise FormatError(f"{self.source.path}: no link between nodes")
        for option, setting in (("rate_bps", self.rate_bps), ("delay_s", self.delay_s)):
            if setting is not None and option not in self.assumed:
                quantity = option.partition("_")[0]
                raise FormatError(
                    f"{self.source.path} gives each link its {quantity}: leave out {option}, or "
                    "edit the file"
                )
        draft = _split(self) if split_hosts else self
        links = tuple(draft._links())
        numbers = {switch.device_id for switch in draft.switches.values()}
        free = (
            number
            for number in range(1, len(draft.switches) + 1 + len(numbers))
            if number not in numbers
        )
        switches = tuple(
            replace(
                switch.settings,
                name=name,
                device_id=next(free) if switch.device_id is None else switch.device_id,
            )
            for name, switch in draft.switches.items()
        )
        try:
            topology = Topology(
                name=name or naming.network_name(self.source.path.name.partition(".")[0]),
                hosts=tuple(draft._hosts()),
                switches=switches,
                links=links,
                flows=tuple(flows),
                parameters=parameters or {},
                flow_control=flow_control,
            )
            draft._require_ways(topology)
            return topology
        except FormatError:
            raise
        except TopologyError as error:
            raise FormatError(f"{self.source.path}: {error}") from None

    def _require_ways(self, topology: Topology) -> None:
        """Raises FormatError where a host with several links would have to forward: a switch may be
        meant."""
        several = [host.name for host in topology.hosts if len(topology.ports(host.name)) > 1]
        apart = topology.hosts_apart() if several else None
        if apart is None:
            return
        links = [link for link in self.links if several[0] in (link.a.node, link.b.node)]
        raise self.source.error(
            links[1].line,
            f"no way from {apart[0]} to {apart[1]}: hosts don't forward, and {several[0]} is one, "
            f"with {len(links)} links; if it forwards, the file has to name it as a switch",
        )

    def _hosts(self) -> Iterator[Host]:
        taken = {host.ip for host in self.hosts.values()} | {
            host.mac for host in self.hosts.values()
        }
        number = 0
        for name, host in self.hosts.items():
            ip, mac = host.ip, host.mac
            while not (ip and mac):
                number += 1  # each host takes two numbers at most: some are left
                next_ip, next_mac = host_addresses(number)
                if not {next_ip, next_mac} & taken:
                    ip, mac = ip or next_ip, mac or next_mac
            yield Host(name, ip, mac)

    def _links(self) -> Iterator[Link]:
        taken: dict[str, set[int]] = {}
        for link in self.links:
            for end in (link.a, link.b):
                ports = taken.setdefault(end.node, set())
                if end.port in ports:
                    raise self.source.error(
                        link.line, f"port {end.node}:{end.port} has a link already"
                    )
                if end.port is not None:
                    ports.add(end.port)
        latest: dict[str, int] = {}
        for link in self.links:
            a, b = (
                self._endpoint(link.line, end, taken[end.node], latest) for end in (link.a, link.b)
            )
            yield Link(a, b, link.rate_bps, link.delay_s)

    def _endpoint(self, line: int, end: End, taken: set[int], latest: dict[str, int]) -> Endpoint:
        if end.port is not None:
            return Endpoint(end.node, end.port)
        before_first = -1 if end.node in self.hosts else 0
        port = latest.get(end.node, before_first) + 1
        while port in taken:
            port += 1
        latest[end.node] = port
        if port > MAX_PORT:
            raise self.source.error(
                line,
                f"{end.node} has more than {MAX_PORT} links: ports are 9 bits wide in the switch's "
                "program (bit<9> of v1model), and four of them are internal",
            )
        return Endpoint(end.node, port)


def _split(draft: Draft) -> Draft:
    """Returns the draft with a host for each link of a host with several links, without the file's
    addresses. Raises FormatError where no host has several."""
    degrees: dict[str, int] = {}
    for link in draft.links:
        for endpoint in (link.a, link.b):
            degrees[endpoint.node] = degrees.get(endpoint.node, 0) + 1
    if not any(degrees.get(name, 0) > 1 for name in draft.hosts):
        raise FormatError(f"{draft.source.path}: no host has several links; leave out split_hosts")
    split_draft = Draft(draft.source, switches=draft.switches)
    for name, host in draft.hosts.items():
        if degrees.get(name, 0) < 2:
            split_draft.host(host.line, name, host.ip, host.mac)
        else:
            for nic in range(degrees[name]):
                split_draft.host(host.line, f"{name}-{nic}")
    used: dict[str, int] = {}

    def end(endpoint: End) -> End:
        if endpoint.node not in draft.hosts or degrees[endpoint.node] < 2:
            return endpoint
        nic = used[endpoint.node] = used.get(endpoint.node, -1) + 1
        return End(f"{endpoint.node}-{nic}", 0)

    split_draft.links = [replace(link, a=end(link.a), b=end(link.b)) for link in draft.links]
    return split_draft
