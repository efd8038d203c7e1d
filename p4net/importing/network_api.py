# ruff: noqa: N802, N803
"""A stand-in for p4-utils' NetworkAPI. Names of methods are p4-utils', as are the rules by which
ports and addresses are given."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from pcn.p4net.importing.networks import Mininet, Topo, mac_of, natural
from pcn.p4net.importing.nodes import P4Host, P4Switch, link_record
from pcn.p4net.importing.record import HostRecord, LinkRecord, NetworkRecord, SwitchRecord
from pcn.p4net.importing.recorder import RECORDER, Accepted

_CPU = "sw-cpu"
"""The bridge that p4-utils links CPU ports to."""
_CHANGING = {
    "addTofino": "Tofinos",
    "execScript": "scripts beside the network",
    "addTask": "tasks of hosts",
    "addTaskFile": "tasks of hosts",
    "addTaskServer": "tasks of hosts",
    "enableDhcp": "DHCP",
    "enableDhcpAll": "DHCP",
}
_PREFIXES = {"l2": 16, "mixed": 24, "l3": 24}


class NetworkAPI(Topo):
    """A network that a script builds by calls, or by a class."""

    def __init__(self, *arguments: Any, **params: Any) -> None:
        self.recorded_gateways: dict[str, str] = {}
        self.recorded_program = ""
        self.auto_arp_tables = bool(params.pop("auto_arp_tables", True))
        self.auto_gw_arp = True
        self.ipv4_net = ipaddress.IPv4Network("10.0.0.0/8")
        self.cli_enabled = True
        self.net: Any = None
        super().__init__(*arguments, **params)
        RECORDER.networks.append(self)

    def __getattr__(self, name: str) -> Accepted:
        if name in _CHANGING:
            return _LeftOut(name)
        return super().__getattr__(name)

    # ---- nodes ----

    def addHost(self, name: str, **opts: Any) -> str:
        opts.setdefault("cls", P4Host)
        return super().addHost(name, **opts)

    def addP4Switch(self, name: str, **opts: Any) -> str:
        opts.setdefault("cls", P4Switch)
        return super().addSwitch(name, **{**opts, "isP4Switch": True})

    def addP4RuntimeSwitch(self, name: str, **opts: Any) -> str:
        return self.addP4Switch(name, **opts)

    def addTofino(self, name: str, **opts: Any) -> str:
        RECORDER.leave_out(_CHANGING["addTofino"], f"{name}: a switch of v1model in its place")
        return self.addP4Switch(name, **opts)

    def addRouter(self, name: str, **opts: Any) -> str:
        RECORDER.leave_out("routing daemons", str(name))
        return self.addHost(name, **opts)

    def isHost(self, name: str) -> bool:
        return not self.isSwitch(name)

    def isP4Switch(self, name: str) -> bool:
        return bool(self.recorded_nodes[name].get("isP4Switch"))

    def isNode(self, name: str) -> bool:
        return name in self.recorded_nodes

    def nodes(self, sort: bool = True, withInfo: bool = False) -> list[Any]:
        return self._listed(super().nodes(sort), withInfo)

    def hosts(self, sort: bool = True, withInfo: bool = False, **_options: Any) -> list[Any]:
        return self._listed(super().hosts(sort), withInfo)

    def switches(self, sort: bool = True, withInfo: bool = False, **_options: Any) -> list[Any]:
        return self._listed(super().switches(sort), withInfo)

    def p4switches(self, sort: bool = True, withInfo: bool = False) -> list[Any]:
        names = [name for name in Topo.switches(self, sort) if self.isP4Switch(name)]
        return self._listed(names, withInfo)

    p4rtswitches = p4switches

    def _listed(self, names: list[str], with_info: bool) -> list[Any]:
        return [(name, self.recorded_nodes[name]) for name in names] if with_info else names

    def updateNode(self, name: str, **opts: Any) -> None:
        self.recorded_nodes[name].update(opts)

    def setP4Source(self, name: str, p4_src: str) -> None:
        self.updateNode(name, p4_src=p4_src)

    def setP4SourceAll(self, p4_src: str) -> None:
        for name in self.p4switches():
            self.updateNode(name, p4_src=p4_src)

    def setP4CliInput(self, name: str, cli_input: str) -> None:
        self.updateNode(name, cli_input=cli_input)

    def setP4SwitchId(self, name: str, id: int) -> None:
        self.updateNode(name, device_id=id)

    def setThriftPort(self, name: str, port: int) -> None:
        self.updateNode(name, thrift_port=port)

    def setPriorityQueueNum(self, name: str, queue_num: int) -> None:
        self.updateNode(name, priority_queues=queue_num)

    def setDefaultRoute(self, name: str, default_route: str) -> None:
        self.recorded_gateways[name] = str(default_route).split()[-1]

    def enableCpuPort(self, name: str) -> None:
        if not self.recorded_nodes[name].get("cpu_port"):
            self.recorded_nodes.setdefault(_CPU, {"isSwitch": True})
            self.addLink(name, _CPU)
            self.updateNode(name, cpu_port=True)

    def enableCpuPortAll(self) -> None:
        for name in self.p4switches():
            self.enableCpuPort(name)

    def disableCpuPort(self, name: str) -> None:
        if self.recorded_nodes[name].pop("cpu_port", None):
            self.recorded_links.remove(self.linkInfo(name, _CPU))

    def disableCpuPortAll(self) -> None:
        for name in self.p4switches():
            self.disableCpuPort(name)

    # ---- links ----

    def addLink(
        self,
        node1: str,
        node2: str,
        port1: int | None = None,
        port2: int | None = None,
        key: Any = None,
        **opts: Any,
    ) -> int:
        for name in (node1, node2):
            if name not in self.recorded_nodes:
                raise AssertionError(f"no node {name!r}")
        link = {**(opts or self.lopts), "node1": node1, "node2": node2}
        link.update(port1=port1, port2=port2)
        self.recorded_links.append(link)
        return len(self.recorded_links) - 1

    def _change(self, node1: str, node2: str, kind: str, setting: Any, sided: bool = False) -> None:
        link = self.linkInfo(node1, node2)
        side = ("1" if link["node1"] == node1 else "2") if sided else ""
        link[f"{kind}{side}"] = setting

    def setBw(self, node1: str, node2: str, bw: float, key: Any = None) -> None:
        self._change(node1, node2, "bw", bw)

    def setDelay(self, node1: str, node2: str, delay: Any, key: Any = None) -> None:
        self._change(node1, node2, "delay", _milliseconds(delay))

    def setLoss(self, node1: str, node2: str, loss: float, key: Any = None) -> None:
        self._change(node1, node2, "loss", loss)

    def setMaxQueueSize(self, node1: str, node2: str, max_queue_size: int, key: Any = None) -> None:
        self._change(node1, node2, "max_queue_size", max_queue_size)

    def setIntfPort(self, node1: str, node2: str, port: int, key: Any = None) -> None:
        self._change(node1, node2, "port", port, sided=True)

    def setIntfIp(self, node1: str, node2: str, ip: str, key: Any = None) -> None:
        self._change(node1, node2, "ip", ip, sided=True)

    def setIntfMac(self, node1: str, node2: str, mac: str, key: Any = None) -> None:
        self._change(node1, node2, "addr", mac, sided=True)

    def _change_all(self, kind: str, setting: Any) -> None:
        for link in self._links():
            link[kind] = setting

    def setBwAll(self, bw: float) -> None:
        self._change_all("bw", bw)

    def setDelayAll(self, delay: Any) -> None:
        self._change_all("delay", _milliseconds(delay))

    def setLossAll(self, loss: float) -> None:
        self._change_all("loss", loss)

    def setMaxQueueSizeAll(self, max_queue_size: int) -> None:
        self._change_all("max_queue_size", max_queue_size)

    def _links(self) -> list[dict[str, Any]]:
        return [link for link in self.recorded_links if _CPU not in (link["node1"], link["node2"])]

    # ---- addresses ----

    def setIpBase(self, ipBase: str) -> None:
        self.ipv4_net = ipaddress.IPv4Network(ipBase, strict=False)

    def enableArpTables(self) -> None:
        self.auto_arp_tables = True

    def disableArpTables(self) -> None:
        self.auto_arp_tables = False

    def enableGwArp(self) -> None:
        self.auto_gw_arp = True

    def disableGwArp(self) -> None:
        self.auto_gw_arp = False

    def l2(self) -> None:
        self._assign("l2")

    def mixed(self) -> None:
        self._assign("mixed")

    def l3(self) -> None:
        self._assign("l3")

    def _assign(self, strategy: str) -> None:
        """Gives the hosts that are there their addresses, by the number of the switch and the
        number in the host's name."""
        ids = self._switch_ids()
        sides = list(self._host_sides())
        named = {host: int(host[1:]) for host, _, _ in sides if _has_number(host)}
        taken: set[str] = {
            _ip(strategy, ids.get(switch, 0), named[host])
            for host, switch, _ in sides
            if host in named
        }
        for host, switch, (link, near, far) in sides:
            number = ids.get(switch, 0)
            if host in named:
                ip = _ip(strategy, number, named[host])
            else:
                ip = next(
                    ip
                    for place in range(1, 65536)
                    if (ip := _ip(strategy, number, place)) not in taken
                )
                taken.add(ip)
            octets = ipaddress.IPv4Address(ip).packed
            link[f"ip{near}"] = f"{ip}/{_PREFIXES[strategy]}"
            link[f"addr{near}"] = mac_of(int.from_bytes(octets, "big"))
            link[f"addr{far}"] = mac_of(int.from_bytes(b"\x01" + octets, "big"))
            if strategy != "l2":
                last = "254" if strategy == "mixed" else "1"
                gateway = f"{ip.rpartition('.')[0]}.{last}"
                link[f"ip{far}"] = f"{gateway}/24"
                self.recorded_gateways[host] = gateway

    def _host_sides(self) -> Iterator[tuple[str, str, tuple[dict[str, Any], str, str]]]:
        """Yields each host's link: the host, the switch, the link with the host's side of it and
        the far one."""
        for link in self._links():
            for near, far in (("1", "2"), ("2", "1")):
                if self.isHost(link[f"node{near}"]):
                    yield link[f"node{near}"], link[f"node{far}"], (link, near, far)

    def _switch_ids(self) -> dict[str, int]:
        nodes = self.recorded_nodes
        ids = {
            name: int(nodes[name]["device_id"])
            for name in self.p4switches()
            if nodes[name].get("device_id") is not None
        }
        for name in Topo.switches(self):
            if name not in ids and name != _CPU:
                taken = set(ids.values())
                ids[name] = next(
                    number for number in range(1, len(taken) + 2) if number not in taken
                )
        return ids

    # ---- running ----

    def startNetwork(self) -> None:
        self.net = _net(self)
        RECORDER.start(self)

    def stopNetwork(self) -> None:
        RECORDER.save()

    start_net_cli = stopNetwork

    # ---- what is recorded ----

    def record(self) -> NetworkRecord:
        """Returns its hosts, switches and links, with ports and addresses where it has none."""
        links, hosts = self._numbered(), self._hosts()
        cpu = {
            link["node1"]: int(link["port1"])
            for link in self.recorded_links
            if link["node2"] == _CPU
        }
        switches = []
        for name in Topo.switches(self, sort=False):
            if name != _CPU:
                switches.append(self._switch(name, cpu.get(name, 0)))
        return NetworkRecord(hosts, switches, links)

    def _numbered(self) -> list[LinkRecord]:
        """Gives ports in the order of the links' names, the lowest that is free, as p4-utils does
        when a network starts; that of a CPU counts."""
        used: dict[str, set[int]] = {}
        for link in self.recorded_links:
            for side in ("1", "2"):
                if link[f"port{side}"] is not None:
                    used.setdefault(link[f"node{side}"], set()).add(int(link[f"port{side}"]))
        for _, _, link in Topo.links(self, sort=True, withInfo=True):
            for side in ("1", "2"):
                name = link[f"node{side}"]
                if link[f"port{side}"] is None:
                    taken, base = used.setdefault(name, set()), int(self.isSwitch(name))
                    link[f"port{side}"] = next(
                        port for port in range(base, base + len(taken) + 1) if port not in taken
                    )
                    taken.add(link[f"port{side}"])
        return [
            link_record(
                [link["node1"], link["node2"]],
                [int(link["port1"]), int(link["port2"])],
                *(link, link),
            )
            for link in self._links()
        ]

    def _hosts(self) -> list[HostRecord]:
        addresses = {
            link[f"ip{near}"].partition("/")[0]
            for _, _, (link, near, _) in self._host_sides()
            if link.get(f"ip{near}")
        }
        spare = (address for address in self.ipv4_net.hosts() if str(address) not in addresses)
        records = {}
        sides = dict[str, tuple[dict[str, Any], str, str]]()
        for host, _, side in self._host_sides():
            sides.setdefault(host, side)  # a host has the address of its first link
        ordered = sorted(
            sides, key=lambda host: [natural(sides[host][0][end]) for end in ("node1", "node2")]
        )
        for host in ordered:
            link, near, _ = sides[host]
            info = self.recorded_nodes[host]
            ip = link.get(f"ip{near}") or info.get("ip") or ""
            if not ip:
                ip = f"{next(spare)}/{self.ipv4_net.prefixlen}"
            packed = ipaddress.IPv4Interface(ip).ip.packed
            mac = link.get(f"addr{near}") or info.get("mac")
            records[host] = HostRecord(host, ip, mac or mac_of(int.from_bytes(packed, "big")))
        for host, record in records.items():
            self._neighbours(host, record, records)
            if self.net is not None:  # of the time after the start
                record.commands += self.net.get(host).recorded_commands
        alone = [
            HostRecord(name, "", "") for name in Topo.hosts(self, sort=False) if name not in records
        ]
        placed = {name: place for place, name in enumerate(self.recorded_nodes)}
        return sorted([*records.values(), *alone], key=lambda record: placed[record.name])

    def _neighbours(self, host: str, record: HostRecord, records: dict[str, HostRecord]) -> None:
        gateway = self.recorded_gateways.get(host, "")
        gateway = gateway or _route_of(self.recorded_nodes[host])
        if gateway:
            record.commands.append(f"route add default gw {gateway} dev eth0")
            far = [
                link.get(f"addr{side}")
                for link in self._links()
                for side in ("1", "2")
                if str(link.get(f"ip{side}", "")).partition("/")[0] == gateway
            ]
            # The port that the host is at, where several have the gateway's address
            near = [
                link.get(f"addr{far_side}")
                for name, _, (link, _, far_side) in self._host_sides()
                if name == host and str(link.get(f"ip{far_side}", "")).startswith(f"{gateway}/")
            ]
            mac = next((mac for mac in (*near, *far) if mac), None)
            if mac and self.auto_gw_arp:
                record.commands.append(f"arp -i eth0 -s {gateway} {mac}")
        if self.auto_arp_tables:
            network = ipaddress.IPv4Interface(record.ip).network
            for name, neighbour in records.items():
                if name != host and ipaddress.IPv4Interface(neighbour.ip).network == network:
                    record.commands.append(
                        f"arp -i eth0 -s {neighbour.ip.partition('/')[0]} {neighbour.mac}"
                    )

    def _switch(self, name: str, cpu_port: int) -> SwitchRecord:
        info = self.recorded_nodes[name]
        kind = info.get("cls")
        return SwitchRecord(
            name,
            getattr(kind, "__name__", "Switch") if kind is not None else "Switch",
            str(info.get("p4_src") or info.get("json_path") or ""),
            str(info.get("cli_input") or ""),
            thrift_port=int(info.get("thrift_port") or 0),
            cpu_port=cpu_port,
            priority_queues=int(info.get("priority_queues") or 0),
        )


def _net(api: NetworkAPI) -> Mininet:
    """Returns a network of Mininet with the same nodes, for what a script does after the start."""
    started = RECORDER.networks
    before = list(started)
    net = Mininet()
    started[:] = before
    for name in Topo.hosts(api, sort=False):
        net.addHost(name, cls=P4Host)
    for name in Topo.switches(api, sort=False):
        net.addSwitch(name, cls=P4Switch)
    for link in api.recorded_links:
        net.addLink(link["node1"], link["node2"])
    return net


def _ip(strategy: str, switch: int, place: int) -> str:
    if strategy == "l2":
        return f"10.0.{place >> 8 & 0xFF}.{place & 0xFF}"
    if strategy == "l3":
        return f"10.{switch & 0xFF}.{place & 0xFF}.2"
    return f"10.{switch >> 8 & 0xFF}.{switch & 0xFF}.{place & 0xFF}"


def _has_number(host: str) -> bool:
    return host[:1] == "h" and host[1:].isascii() and host[1:].isdigit()


def _milliseconds(delay: Any) -> str:
    """Returns a delay as tc reads it: p4-utils has numbers in ms."""
    return f"{delay}ms" if isinstance(delay, (int, float)) else str(delay)


def _route_of(info: dict[str, Any]) -> str:
    route = info.get("defaultRoute") or info.get("gw") or ""
    return str(route).split()[-1] if route else ""


class _LeftOut(Accepted):
    """A method of p4-utils' that changes what a network's file doesn't have."""

    def __call__(self, *arguments: Any, **_options: Any) -> Accepted:
        shown = ", ".join(str(argument) for argument in arguments)
        RECORDER.leave_out(_CHANGING[self.accepted_name], shown)
        return Accepted(self.accepted_name)
