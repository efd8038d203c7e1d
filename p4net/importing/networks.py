# ruff: noqa: N802, N803, N815
"""Stand-ins for Mininet's Topo and Mininet. Names of methods are Mininet's, numbers of ports and
addresses follow its rules."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pcn.p4net.importing.nodes import Host, Link, Node, Switch
from pcn.p4net.importing.record import NetworkRecord
from pcn.p4net.importing.recorder import RECORDER, Accepted


def natural(text: Any) -> list[Any]:
    """Returns a key by which h2 is before h10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(text))]


class OVSSwitch(Switch):
    """A switch that isn't of P4: Mininet's default."""


class Topo:
    """A topology: nodes and links by name."""

    def __init__(self, *arguments: Any, **params: Any) -> None:
        self.hopts = params.pop("hopts", {})
        self.sopts = params.pop("sopts", {})
        self.lopts = params.pop("lopts", {})
        self.recorded_nodes: dict[str, dict[str, Any]] = {}
        self.recorded_links: list[dict[str, Any]] = []
        self.ports: dict[str, dict[int, tuple[str, int]]] = {}
        self.build(*arguments, **params)

    def build(self, *_arguments: Any, **_params: Any) -> None:
        """Is there to be overridden."""

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith(("__", "recorded_")):
            raise AttributeError(name)
        return Accepted(f"Topo.{name}")

    def addNode(self, name: str, **opts: Any) -> str:
        self.recorded_nodes[str(name)] = opts
        return name

    def addHost(self, name: str, **opts: Any) -> str:
        return self.addNode(name, **(opts or self.hopts))

    def addSwitch(self, name: str, **opts: Any) -> str:
        return self.addNode(name, **{**(opts or self.sopts), "isSwitch": True})

    def addLink(
        self,
        node1: str,
        node2: str,
        port1: int | None = None,
        port2: int | None = None,
        key: Any = None,
        **opts: Any,
    ) -> int:
        port1, port2 = self.addPort(node1, node2, port1, port2)
        options = dict(opts or self.lopts)
        options.update(node1=node1, node2=node2, port1=port1, port2=port2)
        self.recorded_links.append(options)
        return len(self.recorded_links) - 1

    def addPort(
        self, src: str, dst: str, sport: int | None = None, dport: int | None = None
    ) -> tuple[int, int]:
        """Returns the ports of a new link: the count of those before it, from 1 at a switch."""
        ports = [self.ports.setdefault(name, {}) for name in (src, dst)]
        near, far = (
            len(taken) + self.isSwitch(name) if port is None else port
            for taken, name, port in zip(ports, (src, dst), (sport, dport), strict=True)
        )
        ports[0][near], ports[1][far] = (dst, far), (src, near)
        return near, far

    def isSwitch(self, name: str) -> bool:
        return bool(self.recorded_nodes[name].get("isSwitch", False))

    def nodes(self, sort: bool = True) -> list[str]:
        return sorted(self.recorded_nodes, key=natural) if sort else list(self.recorded_nodes)

    def switches(self, sort: bool = True, **_options: Any) -> list[str]:
        return [name for name in Topo.nodes(self, sort) if self.isSwitch(name)]

    def hosts(self, sort: bool = True, **_options: Any) -> list[str]:
        return [name for name in Topo.nodes(self, sort) if not self.isSwitch(name)]

    def links(
        self, sort: bool = False, withKeys: bool = False, withInfo: bool = False
    ) -> list[Any]:
        """Returns links: names of their ends, with key and parameters where they are wanted."""
        numbered = list(enumerate(self.recorded_links))
        if sort:
            numbered.sort(key=lambda link: [natural(link[1][end]) for end in ("node1", "node2")])
        return [
            (
                link["node1"],
                link["node2"],
                *((key,) if withKeys else ()),
                *((link,) if withInfo else ()),
            )
            for key, link in numbered
        ]

    iterLinks = links

    def nodeInfo(self, name: str) -> dict[str, Any]:
        return self.recorded_nodes[name]

    def setNodeInfo(self, name: str, info: dict[str, Any]) -> None:
        self.recorded_nodes[name] = info

    def linkInfo(self, src: str, dst: str, key: Any = None) -> dict[str, Any]:
        """Raises KeyError."""
        for link in self.recorded_links:
            if {link["node1"], link["node2"]} == {src, dst}:
                return link
        raise KeyError(f"no link {src}-{dst}")

    def port(self, src: str, dst: str) -> Any:
        pairs = [
            (near, entry[1]) for near, entry in self.ports.get(src, {}).items() if entry[0] == dst
        ]
        return pairs[0] if len(pairs) == 1 else pairs


class SingleSwitchTopo(Topo):
    """k hosts at a switch."""

    def build(self, k: int = 2, **_opts: Any) -> None:
        self.k = k
        switch = self.addSwitch("s1")
        for number in range(1, k + 1):
            self.addLink(self.addHost(f"h{number}"), switch)


class SingleSwitchReversedTopo(Topo):
    """k hosts at a switch, the first at the last port."""

    def build(self, k: int = 2) -> None:
        self.k = k
        switch = self.addSwitch("s1")
        for number in range(1, k + 1):
            self.addLink(self.addHost(f"h{number}"), switch, port1=0, port2=k - number + 1)


class LinearTopo(Topo):
    """k switches in a line, with n hosts each."""

    def build(self, k: int = 2, n: int = 1, sopts: Any = None, **_params: Any) -> None:
        self.k, self.n = k, n
        before = None
        for place in range(1, k + 1):
            switch = self.addSwitch(f"s{place}", **(sopts or {}))
            for number in range(1, n + 1):
                host = f"h{place}" if n == 1 else f"h{number}s{place}"
                self.addLink(self.addHost(host), switch)
            if before:
                self.addLink(switch, before)
            before = switch


class TreeTopo(Topo):
    """A tree of switches, with hosts as leaves."""

    def build(self, depth: int = 1, fanout: int = 2) -> None:
        self.recorded_counts = {"h": 0, "s": 0}
        self._grow(depth, fanout)

    def _grow(self, depth: int, fanout: int) -> str:
        kind = "s" if depth > 0 else "h"
        self.recorded_counts[kind] += 1
        name = f"{kind}{self.recorded_counts[kind]}"
        if depth <= 0:
            return self.addHost(name)
        self.addSwitch(name)
        for _ in range(fanout):
            self.addLink(name, self._grow(depth - 1, fanout))
        return name


class Mininet:
    """A network, which starts nothing."""

    def __init__(
        self,
        topo: Any = None,
        switch: Any = OVSSwitch,
        host: Any = Host,
        controller: Any = None,
        link: Any = Link,
        intf: Any = None,
        build: bool = True,
        xterms: bool = False,
        cleanup: bool = False,
        ipBase: str = "10.0.0.0/8",
        inNamespace: bool = False,
        autoSetMacs: bool = False,
        autoStaticArp: bool = False,
        **_options: Any,
    ) -> None:
        self.topo, self.switch, self.host, self.link = topo, switch, host, link
        self.ipBase, self.autoSetMacs, self.autoStaticArp = ipBase, autoSetMacs, autoStaticArp
        self.recorded_base = ipaddress.IPv4Network(ipBase, strict=False)
        self.nextIP = 1
        self.hosts: list[Any] = []
        self.switches: list[Any] = []
        self.controllers: list[Any] = []
        self.links: list[Any] = []
        self.nameToNode: dict[str, Any] = {}
        self.built = False
        RECORDER.networks.append(self)
        if topo is not None and build:
            self.build()

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith(("__", "recorded_")):
            raise AttributeError(name)
        if name.startswith("add"):
            return _Addition(name)
        return Accepted(f"Mininet.{name}")

    # ---- nodes and links ----

    def addHost(self, name: str, cls: Any = None, **params: Any) -> Any:
        length = self.recorded_base.prefixlen
        defaults = {"ip": f"{self.recorded_base.network_address + self.nextIP}/{length}"}
        if self.autoSetMacs:
            defaults["mac"] = mac_of(self.nextIP)
        host = (cls or self.host)(name, **{**defaults, **params})
        # Mininet's are random, where a script gives none
        host.recorded_mac = host.recorded_mac or mac_of(self.nextIP | 0x020000000000)
        self.nextIP += 1
        self.hosts.append(host)
        self.nameToNode[str(name)] = host
        return host

    addDocker = addStation = addHost

    def addSwitch(self, name: str, cls: Any = None, **params: Any) -> Any:
        switch = (cls or self.switch)(name, **params)
        self.switches.append(switch)
        self.nameToNode[str(name)] = switch
        return switch

    def addController(self, name: Any = "c0", controller: Any = None, **_params: Any) -> Accepted:
        RECORDER.leave_out("controllers", str(name))
        return Accepted("Controller")

    def addLink(
        self,
        node1: Any,
        node2: Any,
        port1: int | None = None,
        port2: int | None = None,
        cls: Any = None,
        **params: Any,
    ) -> Any:
        ends = [self.nameToNode[node] if isinstance(node, str) else node for node in (node1, node2)]
        link = (cls or self.link)(*ends, port1=port1, port2=port2, **params)
        self.links.append(link)
        return link

    def linksBetween(self, node1: Any, node2: Any) -> list[Any]:
        return [
            link
            for link in self.links
            if (link.intf1.node, link.intf2.node) in ((node1, node2), (node2, node1))
        ]

    def get(self, *names: str) -> Any:
        nodes = [self.nameToNode[name] for name in names]
        return nodes[0] if len(nodes) == 1 else nodes

    getNodeByName = get

    def __getitem__(self, name: str) -> Any:
        return self.nameToNode[name]

    def __contains__(self, name: object) -> bool:
        return name in self.nameToNode

    def __iter__(self) -> Iterator[str]:
        return iter(self.nameToNode)

    def __len__(self) -> int:
        return len(self.nameToNode)

    def keys(self) -> list[str]:
        return list(self.nameToNode)

    def values(self) -> list[Any]:
        return list(self.nameToNode.values())

    def items(self) -> list[tuple[str, Any]]:
        return list(self.nameToNode.items())

    # ---- building and running ----

    def build(self) -> None:
        """Makes the nodes and links of its topology, and gives hosts their addresses."""
        if self.built:
            return
        if self.topo is not None:
            self.buildFromTopo(self.topo)
        self.configHosts()
        self.built = True
        if self.autoStaticArp:
            self.staticArp()

    def buildFromTopo(self, topo: Any) -> None:
        for name in topo.hosts():
            self.addHost(name, **_params(topo.nodeInfo(name)))
        for name in topo.switches():
            params = _params(topo.nodeInfo(name))
            params.pop("isSwitch", None)
            self.addSwitch(name, **params)
        for _, _, info in topo.links(sort=True, withInfo=True):
            self.addLink(**info)

    def configHosts(self) -> None:
        for host in self.hosts:
            host.configDefault()

    def staticArp(self) -> None:
        """Gives each host an entry for each other one."""
        for host in self.hosts:
            for far in self.hosts:
                if far is not host and far.IP():
                    host.setARP(far.IP(), far.MAC())

    def start(self) -> None:
        self.build()
        RECORDER.start(self)

    def stop(self) -> None:
        RECORDER.save()

    def run(self, test: Any, *arguments: Any, **options: Any) -> Any:
        self.start()
        return test(*arguments, **options)

    def pingAll(self, *_arguments: Any, **_options: Any) -> float:
        return 0.0

    ping = pingPair = pingAll

    def iperf(self, *_arguments: Any, **_options: Any) -> list[str]:
        return ["0", "0"]

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:
        RECORDER.leave_out("links that go down or up", f"{src}-{dst} {status}")

    # ---- what is recorded ----

    def record(self) -> NetworkRecord:
        """Returns its hosts, switches and links, with those that a script makes without it."""
        nodes: list[Node] = [*self.hosts, *self.switches]
        links = dict.fromkeys(
            intf.link
            for node in nodes
            for intf in node.intfs.values()
            if isinstance(intf.link, Link)
        )
        return NetworkRecord(
            [node.host_record() for node in nodes if not node.recorded_as_switch],
            [node.switch_record() for node in nodes if isinstance(node, Switch)],
            [link.record() for link in links],
        )


def mac_of(number: int) -> str:
    """Returns the MAC of a number."""
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def _params(info: Mapping[str, Any]) -> dict[str, Any]:
    return dict(info)


class _Addition(Accepted):
    """A method of Mininet's kin that adds what has no counterpart here: NAT, access points."""

    def __call__(self, *arguments: Any, **_options: Any) -> Accepted:
        shown = " ".join(str(argument) for argument in arguments)
        RECORDER.leave_out("parts of networks", f"{self.accepted_name}({shown})")
        return Accepted(self.accepted_name)
