"""p4app.json of p4lang/p4app: its targets `multiswitch`, and `mininet` of one switch.

    {"program": "x.p4", "language": "p4-16", "targets": {"multiswitch": {
     "links": [["h1", "s1"], ["s1", "s2", 50]], "hosts": {"h1": {}},
     "switches": {"s1": {"entries": "commands.txt"}}, "auto-control-plane": true}}}

Addresses are p4app's: 10.0.N.10 for host N, whose gateway is 10.0.N.1.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from pcn.topologies.formats import p4lang
from pcn.topologies.formats.exercise import Exercise, Ports, Value, is_true, route
from pcn.topologies.formats.source import Format, Source
from pcn.topologies.model import Topology
from pcn.topologies.tree import Node, shortened
from pcn.topologies.tree_parts import MappingOf, Plain

_MOST_HOSTS = 254
_MOST_SWITCHES, _LONGEST_LATENCY = 255, 100
_PARAMETER = re.compile(r"\$\{([^{}]*)\}")
_TABLES = ("send_frame", "forward", "ipv4_lpm")


class _Link(NamedTuple):
    a: str
    b: str
    port_a: int
    port_b: int


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
    return source.read(_exercise).source(source)


def _exercise(node: Node) -> Exercise:
    targets = node.get("targets")
    if targets is None:
        raise node.fail("no 'targets': p4app has its networks there")
    default = node.get("default-target")
    pairs = {key.text(): value for key, value in targets.pairs()}
    fitting = {
        name: value for name, value in pairs.items() if value.get("links") or value.get("num-hosts")
    }
    name = default.text() if default is not None else next(iter(fitting), "")
    if name not in fitting:
        scripts = [
            named.text() for value in pairs.values() if (named := value.get("program")) is not None
        ]
        shown = f": {', '.join(scripts)} makes it" if scripts else ""
        raise targets.fail(f"no target has `links` or `num-hosts`{shown}")
    program = fitting[name].get("program") or node.get("program")
    settings: dict[str, Value] = {"program": program.text()} if program is not None else {}
    if fitting[name].get("links") is None:
        return _single(fitting[name], settings)
    return _several(fitting[name], settings)


def _single(target: Node, settings: dict[str, Value]) -> Exercise:
    """Returns one switch, with hosts counted from 0 in their addresses."""
    exercise, hosts = Exercise(target.line), target.get("num-hosts")
    assert hosts is not None
    for place in range(hosts.value(_count)):
        gateway = route(f"10.0.{place}.1", f"00:aa:bb:00:00:{place:02x}")
        exercise.host(
            target.line,
            f"h{place + 1}",
            f"10.0.{place}.10/24",
            f"00:04:00:00:00:{place:02x}",
            gateway,
        )
        exercise.link(target.line, [f"h{place + 1}", f"s1-p{place + 1}"])
    if (config := target.get("switch-config")) is not None:
        settings = {**settings, "cli_input": config.text()}
    exercise.switch(target.line, "s1", settings)
    return exercise


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= _MOST_HOSTS):
        raise ValueError(f"{text!r}: from 1 to {_MOST_HOSTS} hosts are possible")
    return int(text)


def _several(target: Node, settings: dict[str, Value]) -> Exercise:
    """Returns several switches. Ports go to hosts in the order of their names, then to links of
    switches."""
    listed = target.get("links")
    assert listed is not None
    links = [
        (link, link.elements(lambda word: word))
        for link in listed.elements(lambda element: element)
    ]
    for link, words in links:
        if not 2 <= len(words) <= 3:
            raise link.fail('a link is ["h1", "s1"], or ["s1", "s2", LATENCY]')
    parts = {part: target.get(part) for part in ("hosts", "switches", "parameters")}
    sections = {
        name: {key.text(): value for key, value in node.pairs()} if node else {}
        for name, node in parts.items()
    }
    named = sorted({word.text() for _, words in links for word in words[:2]})
    hosts = {  # and their places
        name: place
        for place, name in enumerate(
            (
                name
                for name in named
                if name in sections["hosts"]
                or (name not in sections["switches"] and name[:1] == "h")
            ),
            start=1,
        )
    }
    if len(hosts) > _MOST_HOSTS:
        raise listed.fail(f"{len(hosts):,} hosts: from 1 to {_MOST_HOSTS} are possible")
    switches = {
        name: place
        for place, name in enumerate((name for name in named if name not in hosts), start=1)
    }
    if len(switches) > _MOST_SWITCHES:  # MACs have a byte for their number
        raise listed.fail(f"{len(switches):,} switches: up to {_MOST_SWITCHES} are possible")
    exercise, ports, drawn = Exercise(target.line), Ports(), list[_Link]()
    of_hosts = [link for link in links if any(word.text() in hosts for word in link[1][:2])]
    between = [link for link in links if not any(word.text() in hosts for word in link[1][:2])]
    ordered = sorted(
        of_hosts,
        key=lambda link: [hosts[word.text()] for word in link[1][:2] if word.text() in hosts],
    )
    for link, words in [*ordered, *between]:
        ends = [word.text() for word in words[:2]]
        taken = [0 if end in hosts else ports.take(end) for end in ends]
        drawn.append(_Link(ends[0], ends[1], taken[0], taken[1]))
        shown = [
            end if end in hosts else f"{end}-p{port}" for end, port in zip(ends, taken, strict=True)
        ]
        exercise.link(
            link.line,
            shown,
            _latency(words[2], sections["parameters"]) if len(words) == 3 else None,
        )
    for name, place in hosts.items():
        number = switches.get(_peer(drawn, name), 0)
        line = sections["hosts"][name].line if name in sections["hosts"] else target.line
        gateway = route(f"10.0.{place}.1", f"00:aa:00:{number:02x}:00:{place:02x}")
        exercise.host(line, name, f"10.0.{place}.10/24", f"00:04:00:00:00:{place:02x}", gateway)
    automatic = (
        _automatic(hosts, switches, drawn) if is_true(target.get("auto-control-plane")) else {}
    )
    for name in switches:
        node = sections["switches"].get(name)
        entries = node.get("entries") if node is not None else None
        ours, commands = dict(settings), list[str]()
        if entries is not None and entries.is_list:
            commands += entries.elements(Node.text, least=0)
        elif entries is not None:
            ours["cli_input"] = entries.text()
        commands += automatic.get(name, [])
        exercise.switch(
            node.line if node else target.line,
            name,
            {**ours, "commands": commands} if commands else ours,
        )
    return exercise


def _peer(links: list[_Link], host: str) -> str:
    return next(link.b if link.a == host else link.a for link in links if host in (link.a, link.b))


def _latency(node: Node, parameters: dict[str, Node]) -> Node:
    """Returns a latency, `${name}` of the parameters put in, once: what their texts name in turn
    would grow with each."""
    text = _PARAMETER.sub(
        lambda match: parameters[match[1]].text() if match[1] in parameters else match[0],
        shortened(node.text(), _LONGEST_LATENCY),
    )
    number = re.fullmatch(r"[0-9.]+", text) is not None  # in ms
    return node.with_text(Plain(text) if number else text)


def _automatic(
    hosts: Mapping[str, int], switches: Mapping[str, int], links: list[_Link]
) -> dict[str, list[str]]:
    """Returns the commands that p4app adds to each switch: routes to all hosts, over the fewest
    switches, in its tables' names. `hosts`, `switches`: their places."""
    commands = {
        switch: dict.fromkeys(f"table_set_default {table} _drop" for table in _TABLES)
        for switch in switches
    }
    near: dict[str, dict[str, int]] = {}
    for link in links:
        near.setdefault(link.a, {}).setdefault(link.b, link.port_a)
        near.setdefault(link.b, {}).setdefault(link.a, link.port_b)
    for host, place in hosts.items():
        ip, sent = f"10.0.{place}.10", {host}
        waiting = deque([host])
        while waiting:
            node = waiting.popleft()
            for switch in near.get(node, ()):
                if switch in sent or switch not in commands:
                    continue
                sent.add(switch)
                waiting.append(switch)
                port = near[switch][node]
                number, far = switches[switch], switches.get(node, 0)
                source = (
                    f"00:aa:00:{number:02x}:{far:02x}:00"
                    if far
                    else f"00:aa:00:{number:02x}:00:{place:02x}"
                )
                target = (
                    f"00:aa:00:{far:02x}:{number:02x}:00" if far else f"00:04:00:00:00:{place:02x}"
                )
                commands[switch] |= dict.fromkeys(
                    (
                        f"table_add send_frame rewrite_mac {port} => {source}",
                        f"table_add forward set_dmac {ip} => {target}",
                        f"table_add ipv4_lpm set_nhop {ip}/32 => {ip} {port}",
                    )
                )
    return {switch: list(commands) for switch, commands in commands.items()}


FORMAT = Format(
    name="p4app",
    summary="p4app.json of p4lang/p4app",
    read=read,
    recognises=lambda source: (
        isinstance(source.keys.get("targets"), MappingOf)
        and not isinstance(source.keys.get("nodes"), list)
    ),
    fields={
        "`targets`": "the target `default-target`, or the first that has a network",
        "`links`": (
            "links and their ends; a latency in ms, or with its unit; `${name}` of `parameters`"
        ),
        "`num-hosts`": "as many hosts at one switch, s1",
        (
            "`hosts`, `switches`"
        ): "which ends are hosts; `cmd`, `entries` and `switch-config` are left out",
    },
)
