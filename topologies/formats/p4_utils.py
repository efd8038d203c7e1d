"""Networks of nsg-ethz/p4-utils: p4app.json, and the topology.json that it writes when a network
starts.

    {"p4_src": "x.p4",
     "topology": {"assignment_strategy": "mixed", "hosts": {"h1": {}}, "switches": {"s1": {}},
     "links": [["h1", "s1"], ["s1", "s2", {"bw": 10, "delay": "5ms", "port1": 3}]]}}

Addresses that the file leaves out are p4-utils', by its strategy: l2, mixed,
l3; with manual none is left out.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from pcn.topologies.formats import p4lang
from pcn.topologies.formats.exercise import (
    Exercise,
    Ports,
    Value,
    is_true,
    neighbours,
    number,
    route,
)
from pcn.topologies.formats.source import Format, Source, keys_of
from pcn.topologies.model import Topology
from pcn.topologies.tree import Node

_PREFIXES = {"l2": 16, "mixed": 24, "l3": 24, "manual": 24}


class _Addresses(NamedTuple):
    ip: str
    prefix: int
    mac: str
    gateway: str
    gateway_mac: str


def read(
    source: Source,
    rate_bps: float | None = None,
    delay_s: float | None = None,
    split_hosts: int = 0,
) -> Topology:
    """Returns the topology of a file. `rate_bps`, `delay_s`: of links that give none. Raises
    FormatError."""
    return p4lang.read(exercise(source), rate_bps, delay_s, split_hosts)


def exercise(source: Source) -> Source:
    """Returns the network in the tutorials' form. Raises FormatError."""
    return source.read(_generated if "nodes" in source.keys else _app).source(source)


# ---- p4app.json ----


def _app(node: Node) -> Exercise:
    topology = _part(node, "topology")
    hosts, switches, links = (_part(topology, name) for name in ("hosts", "switches", "links"))
    strategy = _text(topology, "assignment_strategy") or "mixed"
    if strategy not in _PREFIXES:
        raise topology.fail(f"assignment_strategy {strategy!r}: choose from {', '.join(_PREFIXES)}")
    exercise, ports = Exercise(node.line), Ports()
    names = {key.text(): value for key, value in hosts.pairs()}
    numbers = _numbers([key.text() for key, _ in switches.pairs()])
    default, at = topology.get("default"), dict[str, str]()
    listed = [_ends(link) for link in links.elements(lambda element: element)]
    for _, ends, _ in listed:
        for name, far in (ends, ends[::-1]):
            if name in names:
                at.setdefault(name, far)
    if node.get("topo_module") is None:  # of p4-utils before 2021, whose ports follow the file
        listed.sort(key=lambda link: [_natural(name) for name in link[1]])
    for _, ends, options in listed:
        for place, end in enumerate(ends, start=1):
            if end not in names and (port := _port(options, f"port{place}")) is not None:
                ports.take(end, port)  # before those that are free
    for link, ends, options in listed:
        shown = [
            end if end in names else f"{end}-p{ports.take(end, _port(options, f'port{place}'))}"
            for place, end in enumerate(ends, start=1)
        ]
        delay, rate = (_option(options, default, name) for name in ("delay", "bw"))
        exercise.link(link.line, shown, delay, rate)
    addresses = _assign(hosts, at, numbers, strategy)
    try:
        near = neighbours(
            {
                name: ipaddress.IPv4Interface(f"{host.ip}/{host.prefix}")
                for name, host in addresses.items()
            },
            {name: host.mac for name, host in addresses.items()},
        )
    except ValueError as error:
        raise hosts.fail(str(error)) from None
    for name, host in addresses.items():
        commands = _way_out(names[name], host.gateway, host.gateway_mac) + near[name]
        exercise.host(names[name].line, name, f"{host.ip}/{host.prefix}", host.mac, commands)
    for key, value in switches.pairs():
        settings = _switch(value, _text(node, "p4_src") or _text(node, "program"))
        if is_true(value.get("cpu_port") or node.get("cpu_port")):
            settings["cpu_port"] = ports.most(key.text()) + 1
        exercise.switch(key.line, key.text(), settings)
    return exercise


def _ends(link: Node) -> tuple[Node, list[str], Node | None]:
    """Returns a link with the names of its ends, and its options."""
    words = link.elements(lambda word: word)
    if not 2 <= len(words) <= 3:
        raise link.fail('a link is ["h1", "s1"], or ["s1", "s2", {"bw": MBIT_S, "delay": "5ms"}]')
    return link, [word.text() for word in words[:2]], words[2] if len(words) == 3 else None


def _natural(name: str) -> list[int | str]:
    """Returns a key by which h2 is before h10, as p4-utils sorts."""
    return [int(part) if part.isdecimal() else part for part in re.split("([0-9]{1,9})", name)]


def _way_out(host: Node, gateway: str, mac: str) -> list[str]:
    try:
        return route(gateway, mac) if gateway else []
    except ValueError as error:
        raise host.fail(str(error)) from None


def _assign(
    hosts: Node, at: dict[str, str], numbers: dict[str, int], strategy: str
) -> dict[str, _Addresses]:
    """Returns each host's addresses: its own where it has them, else p4-utils'. Hosts count in the
    order of links."""
    assigned, used = dict[str, _Addresses](), set[str]()
    nodes = {key.text(): value for key, value in hosts.pairs()}
    free: dict[int, Iterator[str]] = {}
    for name in [*at, *(name for name in nodes if name not in at)]:
        node = nodes[name]
        address, slash, prefix = _text(node, "ip").partition("/")
        if not address and strategy == "manual":
            raise node.fail(f"{name} has no `ip`, which the strategy manual leaves to the file")
        switch = numbers.get(at.get(name, ""), 0)
        subnet = 0 if strategy == "l2" else switch & 0xFFFF
        if subnet not in free:  # what it has yielded is used: the next host needn't see it again
            free[subnet] = _proposed(range(1, 254 if strategy != "l2" else 65535), switch, strategy)
        proposed = chain(_proposed(_numbered(name), switch, strategy), free[subnet])
        ip = address or next((address for address in proposed if address not in used), "")
        if not ip:
            raise node.fail(f"{name}: {strategy} has no address left for it")
        try:
            octets = ipaddress.IPv4Address(ip).packed
            length = int(prefix) if slash else _PREFIXES[strategy]
            ipaddress.IPv4Network(f"{ip}/{length}", strict=False)
        except ValueError as error:
            raise node.fail(str(error)) from None
        used.add(ip)
        gateway = _text(node, "gw") or _text(node, "defaultRoute").removeprefix("via ").strip()
        if not gateway and strategy in ("mixed", "l3"):
            gateway = ".".join(map(str, octets[:3])) + (".254" if strategy == "mixed" else ".1")
        mac, gateway_mac = (
            ":".join(f"{byte:02x}" for byte in (0, side, *octets)) for side in (0, 1)
        )
        assigned[name] = _Addresses(ip, length, _text(node, "mac") or mac, gateway, gateway_mac)
    return assigned


def _numbered(name: str) -> list[int]:
    """Returns the number of a host hN, of which p4-utils makes the address that it tries first."""
    host = number(name) if name[:1] == "h" and name[1:].isascii() and name[1:].isdigit() else None
    return [] if host is None else [host]


def _proposed(places: Iterable[int], switch: int, strategy: str) -> Iterator[str]:
    """Yields addresses for hosts at a switch, by their places there."""
    high, low = switch >> 8 & 0xFF, switch & 0xFF
    for place in places:
        if strategy == "l3":
            yield f"10.{low}.{place & 0xFF}.2"
        elif strategy == "l2":
            yield f"10.0.{place >> 8 & 0xFF}.{place & 0xFF}"
        else:
            yield f"10.{high}.{low}.{place & 0xFF}"


def _numbers(switches: list[str]) -> dict[str, int]:
    """Returns the number of each switch: that in its name, or its place, where not each name has
    its number."""
    numbers = [number(name) for name in switches]
    if None in numbers or len(set(numbers)) < len(numbers):
        numbers = [place for place, _ in enumerate(switches, start=1)]
    return {name: place or 0 for name, place in zip(switches, numbers, strict=True)}


def _switch(node: Node, program: str) -> dict[str, Value]:
    settings: dict[str, Value] = {}
    if commands := _text(node, "cli_input"):
        settings["cli_input"] = commands
    if source := _text(node, "p4_src") or _text(node, "program") or program:
        settings["program"] = source
    return settings


def _port(options: Node | None, name: str) -> int | None:
    node = options.get(name) if options is not None else None
    return None if node is None else node.value(_whole)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3):
        raise ValueError(f"{text!r} is no port")
    return int(text)


def _option(options: Node | None, default: Node | None, name: str) -> Node | None:
    return next(
        (option for node in (options, default) if node is not None and (option := node.get(name))),
        None,
    )


# ---- topology.json, as p4-utils writes it ----


def _generated(node: Node) -> Exercise:
    exercise, hosts = Exercise(node.line), dict[str, Node]()
    links = [
        link for link in _part(node, "links").elements(lambda element: element) if not _is_cpu(link)
    ]
    gateways = {}
    for link in links:
        for near, far in (("1", "2"), ("2", "1")):
            gateways[_text(link, f"node{near}")] = _text(link, f"addr{far}")
    for device in _part(node, "nodes").elements(lambda element: element):
        name = _text(device, "id")
        if is_true(device.get("isHost")):
            hosts[name] = device
        elif is_true(device.get("isSwitch")) and is_true(device.get("isP4Switch")):
            exercise.switch(device.line, name, _switch(device, ""))
    entries = _near(hosts)
    for name, host in hosts.items():
        gateway = _text(host, "defaultRoute").removeprefix("via ").strip()
        exercise.host(
            host.line,
            name,
            _text(host, "ip"),
            _text(host, "mac"),
            _way_out(host, gateway, gateways.get(name, "")) + entries.get(name, []),
        )
    for link in links:
        ends = [
            name
            if (name := _text(link, f"node{side}")) in hosts
            else f"{name}-p{_text(link, f'port{side}')}"
            for side in ("1", "2")
        ]
        exercise.link(link.line, ends, link.get("delay"), link.get("bw"))
    return exercise


def _is_cpu(link: Node) -> bool:
    return "sw-cpu" in (_text(link, "node1"), _text(link, "node2"))


def _near(hosts: dict[str, Node]) -> dict[str, list[str]]:
    """Returns the commands of each host that has an address."""
    name = ""
    try:
        interfaces = {}
        for name, host in hosts.items():
            if ip := _text(host, "ip"):
                interfaces[name] = ipaddress.IPv4Interface(ip)
        return neighbours(interfaces, {name: _text(hosts[name], "mac") for name in interfaces})
    except ValueError as error:
        raise hosts[name].fail(str(error)) from None


def _part(node: Node, name: str) -> Node:
    part = node.get(name)
    if part is None:
        raise node.fail(f"no {name!r}: p4-utils has it there")
    return part


def _text(node: Node, name: str) -> str:
    node_of_name = node.get(name)
    return "" if node_of_name is None else node_of_name.text()


def _recognises(source: Source) -> bool:
    return "switches" in keys_of(source.keys.get("topology")) or is_generated(source)


def is_generated(source: Source) -> bool:
    """Returns whether it is a node-link file of p4-utils: its links have the ports of both ends."""
    links = source.keys.get("links")
    first = links[0] if isinstance(links, list) and links else None
    return "nodes" in source.keys and {"node1", "node2", "port1", "port2"} <= keys_of(first).keys()


FORMAT = Format(
    name="p4-utils",
    summary="p4app.json of nsg-ethz/p4-utils, and its topology.json",
    read=read,
    recognises=_recognises,
    fields={
        "`topology.hosts`": (
            "hosts; `ip`, `mac` and `gw`, or what `assignment_strategy` (mixed, l2, l3) gives"
        ),
        "`topology.switches`": "switches; `cli_input`, `program` and `p4_src` are left out",
        (
            "`topology.links`"
        ): "links; ports count in the order of their names (with `topo_module`, of p4-utils before "
        "2021, in the file's), or are `port1`, `port2`",
        ("`bw`, `delay`"): (
            "as of p4lang, of a link or of `topology.default`; `loss` and `queue_length` are left "
            "out"
        ),
        (
            "`nodes`, `links`"
        ): "of the topology.json that it writes: hosts, P4 switches, ports and addresses",
    },
)
