# ruff: noqa: N802, N803, N815
"""Stand-ins for Mininet's nodes, interfaces and links, and for the P4 switches and hosts that
scripts import beside it. Names of methods are Mininet's."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from pcn.p4net.importing import shell
from pcn.p4net.importing.record import HostRecord, LinkRecord, SwitchRecord
from pcn.p4net.importing.recorder import RECORDER, Accepted
from pcn.p4net.importing.started import Program

_PROGRAMS = ("json_path", "json", "p4_json", "jsonPath", "json_file", "bmv2_json", "p4_src")
_COMMANDS = ("cli_input", "commands_file", "command_file", "switch_config", "commands")
_RUNTIME = ("runtime_json", "runtime_json_path")
_THRIFT = ("thrift_port", "thriftPort")
_CPU = ("cpu_port", "cpuPort")
_QUEUES = ("priority_queues", "priority_queues_num", "priority_queue")


class Node:
    """A node of Mininet, which runs no command. `params` are those that it is made with."""

    portBase = 0
    recorded_as_switch = False

    def __init__(self, name: str, inNamespace: bool = True, **params: Any) -> None:
        self.name, self.inNamespace, self.params = str(name), inNamespace, params
        self.intfs: dict[int, Any] = {}
        self.ports: dict[Any, int] = {}
        self.nameToIntf: dict[str, Any] = {}
        self.waiting, self.pid, self.shell, self.lastPid = False, 1, None, None
        self.recorded_commands: list[str] = []
        self.recorded_ip, self.recorded_mac = "", ""

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith("__"):
            raise AttributeError(name)
        return Accepted(f"{type(self).__name__}.{name}")

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    # ---- commands ----

    def cmd(self, *words: Any, **_options: Any) -> str:
        """Reads a command, as far as it is the network's; returns no output."""
        command = " ".join(
            str(word) for part in words for word in (part if isinstance(part, list) else [part])
        )
        self._take(command)
        return ""

    cmdPrint = sendCmd = cmd

    def _take(self, command: str) -> None:
        if shell.table_commands(command, self.name if self.recorded_as_switch else ""):
            return
        further = [name for name, intf in self.nameToIntf.items() if not self._is_default(intf)]
        for part in shell.parts(command):
            known = None if self.recorded_as_switch else shell.configured(part, self.name, further)
            if known is not None:
                self._configure(known)
            elif not shell.is_mute(part):
                RECORDER.leave_out("commands of nodes", f"{self.name}: {part}")

    def _configure(self, known: shell.Configured) -> None:
        if known.command and known.command not in self.recorded_commands:
            self.recorded_commands.append(known.command)
        if known.ip:
            self.setIP(known.ip)
        if known.mac:
            self.setMAC(known.mac)

    def popen(self, *words: Any, **_options: Any) -> Program:
        """Reads a command, and returns a process that has ended."""
        self.cmd(*words)
        return Program("true")

    def pexec(self, *words: Any, **_options: Any) -> tuple[str, str, int]:
        """Reads a command, and returns that it ended well."""
        self.cmd(*words)
        return "", "", 0

    def waitOutput(self, *_arguments: Any, **_options: Any) -> str:
        return ""

    monitor = read = readline = waitOutput

    # ---- addresses ----

    def setIP(
        self, ip: str, prefixLen: int | None = None, intf: Any = None, **_options: Any
    ) -> None:
        if self.recorded_as_switch or (intf is not None and not self._is_default(intf)):
            return
        text = str(ip) if "/" in str(ip) else f"{ip}/{8 if prefixLen is None else prefixLen}"
        try:
            self.recorded_ip = str(ipaddress.IPv4Interface(text))
        except ValueError:
            RECORDER.leave_out("addresses that aren't of IPv4", f"{self.name}: {ip}")

    def setMAC(self, mac: str, intf: Any = None) -> None:
        if intf is None or self._is_default(intf):
            self.recorded_mac = str(mac)

    def _is_default(self, intf: Any) -> bool:
        known = self.defaultIntf()
        return known is None or str(intf) in (known.name, "eth0") or intf is known

    def IP(self, intf: Any = None) -> str:
        return self.recorded_ip.partition("/")[0]

    def MAC(self, intf: Any = None) -> str:
        return self.recorded_mac

    def setARP(self, ip: str, mac: str) -> None:
        """Records an entry of a neighbour."""
        self._take(f"arp -i eth0 -s {ip} {mac}")

    def setDefaultRoute(self, intf: Any = None) -> None:
        """Records the default route: by `dev eth0 via 10.0.0.1`, or by an interface."""
        gateway = re.search(r"\bvia\s+([0-9.]+)", str(intf or ""))
        if gateway is None and (alone := re.fullmatch(r"[0-9.]+", str(intf or "").strip())):
            gateway = alone
        self.recorded_commands = [
            command
            for command in self.recorded_commands
            if not re.match(r"(?:ip )?route add default\b", command)
        ]
        if gateway is not None:
            self._take(f"route add default gw {gateway[gateway.lastindex or 0]} dev eth0")
        else:
            self._take("ip route add default dev eth0")

    def setHostRoute(self, ip: str, _intf: Any = None) -> None:
        self._take(f"ip route add {ip}/32 dev eth0")

    def config(
        self,
        mac: str | None = None,
        ip: str | None = None,
        defaultRoute: Any = None,
        lo: str = "up",
        **_params: Any,
    ) -> dict[str, Any]:
        """Takes the addresses, as Mininet does when it builds the network."""
        if mac:
            self.setMAC(mac)
        if ip:
            self.setIP(ip)
        if defaultRoute:
            self.setDefaultRoute(defaultRoute)
        return {}

    def configDefault(self, **more: Any) -> None:
        self.params.update(more)
        self.config(**self.params)

    # ---- interfaces ----

    def newPort(self) -> int:
        return max(self.intfs) + 1 if self.intfs else self.portBase

    def addIntf(self, intf: Any, port: int | None = None, **_options: Any) -> None:
        port = self.newPort() if port is None else int(port)
        self.intfs[port] = intf
        self.ports[intf] = port
        self.nameToIntf[intf.name] = intf

    def defaultIntf(self) -> Any:
        return self.intfs[min(self.intfs)] if self.intfs else None

    def intf(self, intf: Any = None) -> Any:
        if intf is None:
            return self.defaultIntf()
        return self.nameToIntf.get(intf, None) if isinstance(intf, str) else intf

    def intfList(self) -> list[Any]:
        return list(self.intfs.values())

    def intfNames(self) -> list[str]:
        return [intf.name for intf in self.intfs.values()]

    def connectionsTo(self, node: Node) -> list[tuple[Any, Any]]:
        return [
            (intf, far)
            for intf in self.intfs.values()
            if (far := intf.link.far_end(intf)) is not None and far.node is node
        ]

    def start(self, *_arguments: Any, **_options: Any) -> None:
        pass

    stop = terminate = cleanup = describe = start

    @classmethod
    def setup(cls) -> None:
        pass

    # ---- what is recorded ----

    def host_record(self) -> HostRecord:
        return HostRecord(
            self.name, self.recorded_ip, self.recorded_mac, list(self.recorded_commands)
        )


class Host(Node):
    """A host."""


class CPULimitedHost(Host):
    """A host."""

    def setCPUFrac(self, *_arguments: Any, **_options: Any) -> None:
        RECORDER.leave_out("shares of processors", self.name)

    setCPUs = setCPUFrac


P4Host = Host


class Switch(Node):
    """A switch, of P4 or not."""

    portBase = 1
    recorded_as_switch = True

    def __init__(
        self, name: str, dpid: Any = None, opts: Any = "", listenPort: Any = None, **params: Any
    ) -> None:
        super().__init__(name, **{"inNamespace": False, **params})
        if not self.inNamespace:
            Intf("lo", self, port=0)
        self.dpid, self.opts, self.listenPort = dpid or "0" * 16, opts, listenPort

    def switch_record(self) -> SwitchRecord:
        """Returns what its parameters have, and attributes that a script's class sets."""
        known = {**vars(self), **self.params}
        return SwitchRecord(
            self.name,
            type(self).__name__,
            _program(known),
            _text(known, _COMMANDS),
            runtime_json=_text(known, _RUNTIME),
            thrift_port=_number(known, _THRIFT),
            cpu_port=_number(known, _CPU),
            priority_queues=_number(known, _QUEUES),
        )


class P4Switch(Switch):
    """A P4 switch of p4_mininet.py and its kin."""

    def __init__(
        self,
        name: str,
        sw_path: Any = None,
        json_path: Any = None,
        thrift_port: Any = None,
        *more: Any,
        **params: Any,
    ) -> None:
        super().__init__(
            name, sw_path=sw_path, json_path=json_path, thrift_port=thrift_port, **params
        )
        self.sw_path, self.json_path, self.thrift_port = sw_path, json_path, thrift_port


def _text(known: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(known[name]) for name in names if known.get(name)), "")


def _program(known: Mapping[str, Any]) -> str:
    """Returns the program, by a known name, or by what it ends in."""
    if named := _text(known, _PROGRAMS):
        return named
    texts = [text for text in known.values() if isinstance(text, str)]
    for suffix in (".p4", ".json"):
        fitting = [
            text for text in texts if text.endswith(suffix) and text != _text(known, _RUNTIME)
        ]
        if len(fitting) == 1:
            return fitting[0]
    return ""


def _number(known: Mapping[str, Any], names: tuple[str, ...]) -> int:
    text = _text(known, names)
    return int(text) if text.isdigit() else 0


# ---- interfaces and links ----


class Intf:
    """An interface of a node."""

    recorded_shaped = False

    def __init__(
        self,
        name: Any,
        node: Any = None,
        port: Any = None,
        link: Any = None,
        mac: Any = None,
        **params: Any,
    ) -> None:
        self.name, self.node, self.link, self.mac, self.params = str(name), node, link, mac, params
        if link is None and self.name != "lo":
            RECORDER.leave_out("interfaces of the machine", f"{name} at {node}")
        elif node is not None:
            node.addIntf(self, port)
            if mac:
                node.setMAC(mac, self)

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith("__"):
            raise AttributeError(name)
        return Accepted(f"Intf.{name}")

    def __str__(self) -> str:
        return self.name

    def IP(self) -> str:
        return self.node.IP() if self.node is not None else ""

    def MAC(self) -> str:
        return self.mac or (self.node.MAC() if self.node is not None else "")

    def setIP(self, ip: str, prefixLen: int | None = None, **_options: Any) -> None:
        if self.node is not None:
            self.node.setIP(ip, prefixLen, self)

    def setMAC(self, mac: str) -> None:
        self.mac = mac
        if self.node is not None:
            self.node.setMAC(mac, self)

    def rename(self, name: str) -> None:
        self.name = name

    def config(self, **params: Any) -> None:
        """Changes rate and delay of its link."""
        self.params.update(params)


class TCIntf(Intf):
    """An interface with a rate and a delay."""

    recorded_shaped = True


class Link:
    """A link, which ignores rates and delays as Mininet's does."""

    recorded_shaped = False

    def __init__(
        self,
        node1: Any,
        node2: Any,
        port1: Any = None,
        port2: Any = None,
        intfName1: Any = None,
        intfName2: Any = None,
        addr1: Any = None,
        addr2: Any = None,
        intf: Any = None,
        cls1: Any = None,
        cls2: Any = None,
        params1: Any = None,
        params2: Any = None,
        fast: bool = True,
        **params: Any,
    ) -> None:
        kind = intf or (TCIntf if self.recorded_shaped else Intf)
        ends = []
        for node, port, name, mac, cls, more in (
            (node1, port1, intfName1, addr1, cls1, params1),
            (node2, port2, intfName2, addr2, cls2, params2),
        ):
            number = node.newPort() if port is None else int(port)
            ends.append(
                (cls or kind)(
                    name or f"{node.name}-eth{number}",
                    node=node,
                    port=number,
                    link=self,
                    mac=mac,
                    **{**params, **(more or {})},
                )
            )
        self.intf1, self.intf2 = ends

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith("__") or name in ("intf1", "intf2"):
            raise AttributeError(name)
        return Accepted(f"Link.{name}")

    def far_end(self, intf: Any) -> Any:
        """Returns the interface at the far end."""
        return self.intf2 if intf is self.intf1 else self.intf1

    def record(self) -> LinkRecord:
        ends = (self.intf1, self.intf2)
        shaped = [intf.params if intf.recorded_shaped else {} for intf in ends]
        name = "-".join(intf.node.name for intf in ends)
        for intf in ends:
            if not intf.recorded_shaped and any(intf.params.get(key) for key in ("bw", "delay")):
                RECORDER.leave_out("rates of links that aren't a TCLink", name)
        return link_record(
            [intf.node.name for intf in ends],
            [intf.node.ports[intf] for intf in ends],
            shaped[0] or shaped[1],
            shaped[1] or shaped[0],
        )


class TCLink(Link):
    """A link with a rate and a delay."""

    recorded_shaped = True


_TIME = re.compile(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(s|ms|us|)(?:ecs?)?\s*\Z")


def link_record(
    ends: list[str], ports: list[int], params: Mapping[str, Any], back: Mapping[str, Any]
) -> LinkRecord:
    """Returns a link of tc's parameters, in each direction; what else they have is left out. A
    delay without a unit is in us, as for tc."""
    name = "-".join(ends)
    for key, kind in (
        ("loss", "loss of links"),
        ("jitter", "jitter of links"),
        ("max_queue_size", "tc's queues of links"),
    ):
        if any(side.get(key) for side in (params, back)):
            RECORDER.leave_out(kind, f"{name}: {params.get(key) or back.get(key)}")
    if any(params.get(key) != back.get(key) for key in ("bw", "delay")):
        RECORDER.leave_out("rates of links in the other direction", name)
    delay, rate = params.get("delay"), params.get("bw")
    text = "" if delay is None else str(delay)
    if (time := _TIME.match(text)) is not None:
        text = f"{time[1]}{time[2] or 'us'}"
    return LinkRecord(ends, ports, text, None if not rate else float(rate))
