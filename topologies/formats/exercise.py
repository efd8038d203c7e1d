"""A network of another form, put into that of p4lang/tutorials' topology.json, line by line:
`p4lang` and pcn/p4net/tutorials.py read the one form, and a fault has the line of the file that is
there."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcn.topologies.formats.source import Source
from pcn.topologies.tree import Node
from pcn.topologies.tree_parts import Part, Plain, list_at, mapping_at, text_at

Value = str | int | Sequence[str]
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\Z")
_MOST_NEIGHBOURS = 2**20
"""Of all hosts together: a thousand hosts in one network."""


@dataclass
class Exercise:
    """Hosts, switches and links in the order of the file. Values of a node are those of
    topology.json."""

    line: int = 1
    hosts: list[tuple[int, str, dict[str, Value]]] = field(default_factory=list)
    switches: list[tuple[int, str, dict[str, Value]]] = field(default_factory=list)
    links: list[tuple[int, list[Part]]] = field(default_factory=list)
    copied: Node | None = None
    """The switches, where they are in topology.json's form already."""

    def host(self, line: int, name: str, ip: str, mac: str, commands: Sequence[str] = ()) -> None:
        """Adds a host; `ip` with its prefix."""
        self.hosts.append((line, name, {"ip": ip, "mac": mac, "commands": [*commands]}))

    def switch(self, line: int, name: str, settings: Mapping[str, Value]) -> None:
        """Adds a switch."""
        self.switches.append((line, name, dict(settings)))

    def link(
        self, line: int, ends: Sequence[str], delay: Node | None = None, rate: Node | None = None
    ) -> None:
        """Adds a link; each end is a host, or a switch with its port as s1-p2."""
        attributes = [
            Part(None, line) if node is None else Part(node.tree, node.lines)
            for node in (delay, rate)
        ]
        self.links.append((line, [*(text_at(line, end) for end in ends), *attributes]))

    def source(self, source: Source) -> Source:
        """Returns a source whose tree is this network's."""
        copied = self.copied
        parts = {
            "hosts": _nodes(self.line, self.hosts),
            "switches": (
                _nodes(self.line, self.switches)
                if copied is None
                else Part(copied.tree, copied.lines)
            ),
            "links": list_at(self.line, [list_at(line, words) for line, words in self.links]),
        }
        return source.with_values(
            mapping_at(self.line, [(text_at(self.line, key), part) for key, part in parts.items()])
        )


def _nodes(line: int, nodes: Sequence[tuple[int, str, dict[str, Value]]]) -> Part:
    return mapping_at(
        line,
        [
            (
                text_at(at, name),
                mapping_at(
                    at, [(text_at(at, key), _value(at, value)) for key, value in values.items()]
                ),
            )
            for at, name, values in nodes
        ],
    )


def _value(line: int, value: Value) -> Part:
    if isinstance(value, int):
        return Part(Plain(value), line)
    if isinstance(value, str):
        return text_at(line, value)
    return list_at(line, [text_at(line, text) for text in value])


class Ports:
    """Numbers of switches' ports, given in the order of links."""

    def __init__(self) -> None:
        self._used: dict[str, set[int]] = {}
        self._lowest: dict[str, int] = {}  # none below is free

    def take(self, switch: str, wanted: int | None = None) -> int:
        """Returns the wanted port, or else the lowest that is free."""
        used = self._used.setdefault(switch, set())
        port = wanted
        if port is None:
            port = self._lowest.get(switch, 1)
            while port in used:
                port += 1
            self._lowest[switch] = port
        used.add(port)
        return port

    def most(self, switch: str) -> int:
        """Returns the highest port."""
        return max(self._used.get(switch, ()), default=0)


def number(name: str) -> int | None:
    """Returns the last number in a name; None: it has none."""
    numbers = re.findall(r"[0-9]{1,6}", name)
    return int(numbers[-1]) if numbers else None


def route(gateway: str, mac: str) -> list[str]:
    """Returns the commands of a host whose packets go to a gateway. Raises ValueError for what
    isn't an address: a shell executes them, live."""
    gateway = str(ipaddress.IPv4Address(gateway))
    return [f"route add default gw {gateway} dev eth0", f"arp -i eth0 -s {gateway} {checked(mac)}"]


def checked(mac: str) -> str:
    """Returns a MAC address as it stands there. Raises ValueError where a text is none."""
    if not _MAC.match(mac):
        raise ValueError(f"{mac!r} is no MAC address (aa:bb:cc:dd:ee:ff)")
    return mac


def neighbours(
    interfaces: Mapping[str, ipaddress.IPv4Interface], macs: Mapping[str, str]
) -> dict[str, list[str]]:
    """Returns the commands of each host that has others in its network, with an entry for each of
    these. Raises ValueError where they are too many, or a MAC is none."""
    hosts: dict[tuple[int, int], list[str]] = {}  # by the length of a prefix, and its bits
    lengths = {interface.network.prefixlen for interface in interfaces.values()}
    for name, interface in interfaces.items():
        for length in lengths:
            hosts.setdefault((length, int(interface.ip) >> 32 - length), []).append(name)
    entries = {
        name: f"arp -i eth0 -s {interface.ip} {checked(macs[name])}"
        for name, interface in interfaces.items()
    }
    commands: dict[str, list[str]] = {}
    count = 0
    for name, interface in interfaces.items():
        length = interface.network.prefixlen
        near = hosts[length, int(interface.ip) >> 32 - length]
        count += len(near)
        if count > _MOST_NEIGHBOURS:
            raise ValueError(
                f"hosts have more than {_MOST_NEIGHBOURS:,} neighbours together: those of one "
                "network have an ARP entry for each other"
            )
        commands[name] = [entries[neighbour] for neighbour in near if neighbour != name]
    return commands


def is_true(node: Node | None) -> bool:
    """Returns whether a value is true."""
    return node is not None and not node.is_list and not node.is_mapping and node.text() == "true"
