"""topology.json of p4lang/tutorials (utils/run_exercise.py).

    {"hosts": {"h1": {"ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11"}}, "switches": {"s1": {}},
     "links": [["h1", "s1-p1"], ["s1-p2", "s2-p2", LATENCY, BANDWIDTH]]}

A latency is a text with its unit, or a number in ms; a bandwidth is in Mbit/s. Before November 2019
hosts were a list of names, and links had no ports: run_exercise.py derived addresses and ports, as
`exercise` does here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pcn.base.units import quantity
from pcn.topologies.formats.draft import Draft, End
from pcn.topologies.formats.exercise import Exercise, Ports, number, route
from pcn.topologies.formats.source import Format, FormatError, Source
from pcn.topologies.model import Topology
from pcn.topologies.tree import Node
from pcn.topologies.tree_parts import MappingOf

_PORT = re.compile(r"(.+)-p([0-9]{1,3})\Z")
_HOST = re.compile(r"h[0-9]{1,6}\Z")


def read(
    source: Source,
    rate_bps: float | None = None,
    delay_s: float | None = None,
    split_hosts: int = 0,
) -> Topology:
    """Returns the topology of a file. `rate_bps`, `delay_s`: of links that give none. Raises
    FormatError."""
    source = exercise(source)

    def topology(node: Node) -> Topology:
        draft = Draft(source, rate_bps, delay_s)
        parts = {name: node.get(name) for name in ("hosts", "switches", "links")}
        for name, part in parts.items():
            if part is None:
                raise node.fail(f"no {name!r}: the file has hosts, switches and links")
        for key, value in _pairs(parts["hosts"]):
            ip, mac = (field.text() if (field := value.get(name)) else "" for name in ("ip", "mac"))
            draft.host(key.line, key.text(), ip.partition("/")[0], mac)
        for key, _ in _pairs(parts["switches"]):
            draft.switch(key.line, key.text())
        assert parts["links"] is not None
        for link in parts["links"].elements(lambda link: (link, link.elements(lambda word: word))):
            _link(draft, *link)
        return draft.topology(split_hosts)

    return source.read(topology)


def exercise(source: Source) -> Source:
    """Returns the network in today's form. Raises FormatError."""
    if not isinstance(source.keys.get("hosts"), list):
        return source
    return source.read(_derived).source(source)


def _derived(node: Node) -> Exercise:
    """Derives addresses of hN at sM: 10.0.M.N. Ports of a switch are given to its hosts, then to
    other switches, each in the order of the links' names."""
    hosts, switches, listed = (node.get(name) for name in ("hosts", "switches", "links"))
    if hosts is None or switches is None or listed is None:
        raise node.fail("the file has hosts, switches and links")
    names = {host.text(): host.line for host in hosts.elements(lambda host: host)}
    bridges = {key.text() for key, _ in switches.pairs()}
    links = []
    for link in listed.elements(lambda element: element):
        words = link.elements(lambda word: word)
        if not 2 <= len(words) <= 4:
            raise link.fail('a link is ["h1", "s1"], or ["s1", "s2", LATENCY, BANDWIDTH]')
        for word in words[:2]:  # run_exercise.py made hosts of links alone
            if _HOST.match(name := word.text()) and name not in bridges:
                names.setdefault(name, word.line)
        links.append((link, words))
    return _with_addresses(node.line, hosts, switches, names, links)


def _with_addresses(
    line: int,
    hosts: Node,
    switches: Node,
    names: Mapping[str, int],
    listed: Sequence[tuple[Node, Sequence[Node]]],
) -> Exercise:
    """Returns the exercise. `names`: lines of hosts."""
    links = []
    for link, words in listed:
        ends = sorted(word.text() for word in words[:2])
        links.append((link, [*reversed(ends)] if ends[1] in names else ends, words))
    exercise, ports = Exercise(line), Ports()
    of_hosts = [link for link in links if link[1][0] in names]
    between = [link for link in links if link[1][0] not in names]
    at = dict[str, str]()
    for link, ends, words in (
        *sorted(of_hosts, key=lambda host: host[1]),
        *sorted(between, key=lambda link: link[1]),
    ):
        shown = [end if end in names else f"{end}-p{ports.take(end)}" for end in ends]
        at.setdefault(ends[0], ends[1])
        exercise.link(
            link.line, shown, *(words[place] if len(words) > place else None for place in (2, 3))
        )
    for name, line in names.items():
        host, switch = number(name) or 0, number(at.get(name, "")) or 0
        if not (host < 255 and switch < 256):
            raise hosts.fail(
                f"{name}: hosts are h1 to h254, switches s1 to s255: their addresses are "
                "10.0.SWITCH.HOST"
            )
        mac, gateway = f"00:00:00:00:{switch:02x}:{host:02x}", f"10.0.{host}.254"
        exercise.host(line, name, f"10.0.{switch}.{host}/24", mac, route(gateway, mac))
    exercise.copied = switches
    return exercise


def _pairs(node: Node | None) -> list[tuple[Node, Node]]:
    assert node is not None
    return node.pairs()


def _link(draft: Draft, node: Node, words: tuple[Node, ...]) -> None:
    if not 2 <= len(words) <= 4:
        raise node.fail('a link is ["h1", "s1-p1"], or ["s1-p2", "s2-p2", LATENCY, BANDWIDTH]')
    rate_bps: float | None = None
    delay_s: float | None = None
    if len(words) > 2 and not words[2].is_nothing:
        delay_s = words[2].value(
            _latency if words[2].is_text else lambda text: quantity("number", text) / 1e3
        )
    if len(words) > 3 and not words[3].is_nothing:
        rate_bps = words[3].value(lambda text: quantity("number", text) * 1e6)
    if (rate_bps is not None and not rate_bps > 0) or (delay_s is not None and not delay_s >= 0):
        raise node.fail("a bandwidth must be above 0, a latency not below")
    draft.link(node.line, _end(draft, words[0]), _end(draft, words[1]), rate_bps, delay_s)


def _latency(text: str) -> float:
    """Returns a latency in s, read as tc does: a bare number is in us."""
    return quantity("time", text if re.search(r"[a-z]", text) else f"{text}us")


def _end(draft: Draft, word: Node) -> End:
    text = word.text()
    match = _PORT.match(text)
    if text in draft.hosts or match is None:
        return End(text)
    return End(match[1], None if match[1] in draft.hosts else int(match[2]))


def write(topology: Topology) -> str:
    """Raises FormatError for names that run_exercise.py reads otherwise."""
    for letter, nodes in (("h", topology.hosts), ("s", topology.switches)):
        for name in (node.name for node in nodes):
            if not name.startswith(letter) or "-" in name:
                raise FormatError(
                    f"{name}: hosts begin with h there, switches with s, and none has a -"
                )
    value: dict[str, Any] = {
        "hosts": {host.name: {"ip": f"{host.ip}/16", "mac": host.mac} for host in topology.hosts},
        "switches": {switch.name: {} for switch in topology.switches},
        "links": [
            [
                *(
                    end.node if topology.is_host(end.node) else f"{end.node}-p{end.port}"
                    for end in (link.a, link.b)
                ),
                f"{link.delay_s!r}s",
                _number(link.rate_bps / 1e6),
            ]
            for link in topology.links
        ],
    }
    return json.dumps(value, indent=2) + "\n"


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value


def _recognises(source: Source) -> bool:
    keys = source.keys
    return (
        isinstance(keys.get("hosts"), (MappingOf, list))
        and isinstance(keys.get("switches"), MappingOf)
        and isinstance(keys.get("links"), list)
    )


FORMAT = Format(
    name="p4lang",
    summary="topology.json of p4lang/tutorials",
    read=read,
    write=write,
    suffix=".topology.json",
    recognises=_recognises,
    fields={
        "`hosts`": "hosts; `ip` without its prefix, and `mac`; `commands` are left out; of a list "
        "of names, as before "
        "November 2019, hN at sM has 10.0.M.N, and ports follow the order of the links' names",
        "`switches`": (
            "switches; `runtime_json`, `cli_input`, `program` and `cpu_port` are left out"
        ),
        "`links`": "links; `s1-p3` is port 3 of s1",
        "latency": "one way; a bare number is in ms, a bare number in quotes in us, as there; "
        "without it "
        "`--set delay_s=1us`",
        "bandwidth": "each way, in Mbit/s; without it `--set rate_bps=10G`",
    },
)
