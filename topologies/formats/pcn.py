"""This project's own format, YAML or JSON: all that a `Topology` has. topology.schema.json is for
editors."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pcn.base.units import Kind, quantity
from pcn.topologies import lossless
from pcn.topologies.ecn import COLOURS, GREEN
from pcn.topologies.formats.draft import Draft, End
from pcn.topologies.formats.pcn_switch import SWITCH, switch_fields, switch_settings
from pcn.topologies.formats.pcn_values import count, exact, one_of, quantity_of, size, text
from pcn.topologies.formats.source import Format, Source
from pcn.topologies.lossless import CREDITS, DATA_CLASS, PFC
from pcn.topologies.model import FlowSpec, Topology, Value
from pcn.topologies.tree import Field, Node, needed, optional
from pcn.topologies.tree_parts import MappingOf

_MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\Z")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PLAIN = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off|y|n)\Z)(?:[A-Za-z][\w./-]*(?::[0-9]+)?|[0-9][0-9.]*[A-Za-z/]+)\Z"
)
_END = re.compile(r"([^:]+)(?::([0-9]{1,3}))?\Z")
PARAMETERS: Mapping[str, Kind] = {
    "xoff_bytes": "size",
    "xon_bytes": "size",
    "hysteresis_bytes": "size",
    "mtu_bytes": "size",
    "buffer_bytes": "size",
    "credit_interval_s": "time",
    "pause_quanta": "count",
}
"""Others are the topology's own: numbers in SI units, or text."""


def _ip(text: str) -> str:
    return str(ipaddress.IPv4Address(text))


def _mac(text: str) -> str:
    if not _MAC.match(text):
        raise ValueError(f"{text!r}: write it like 02:00:00:00:00:01")
    return text.lower()


HOST: dict[str, Field] = {
    "name": needed(text),
    "ip": optional(lambda node: node.value(_ip), ""),
    "mac": optional(lambda node: node.value(_mac), ""),
}
LINK: dict[str, Field] = {
    "a": needed(lambda node: node.value(_end)),
    "b": needed(lambda node: node.value(_end)),
    "rate": optional(quantity_of("rate")),
    "delay": optional(quantity_of("time")),
}
FLOW: dict[str, Field] = {
    "id": optional(count),
    "src": needed(text),
    "dst": needed(text),
    "start": optional(lambda node: node.value(_start), 0.0),
    "size": optional(size),
    "rate": optional(quantity_of("rate")),
    "duration": optional(quantity_of("time")),
    "group": optional(text, ""),
    "class": optional(count, DATA_CLASS),
    "after": optional(lambda node: tuple(node.elements(count)), ()),
    "delays": optional(lambda node: tuple(node.elements(quantity_of("time"))), ()),
    "colour": optional(one_of(*COLOURS), GREEN),
    "acknowledged": optional(lambda node: tuple(node.elements(count)), ()),
}
DEFAULTS: dict[str, Field] = {name: LINK[name] for name in ("rate", "delay")}
TOPOLOGY: dict[str, Field] = {
    "name": optional(text, ""),
    "defaults": optional(lambda node: node.fields(DEFAULTS), {"rate": None, "delay": None}),
    "hosts": needed(lambda node: node.elements(_part(HOST))),
    "switches": optional(lambda node: node.elements(_part(SWITCH), least=0), ()),
    "links": needed(lambda node: node.elements(_part(LINK))),
    "flows": optional(lambda node: node.elements(_part(FLOW), least=0), ()),
    "flow_control": optional(one_of(PFC, CREDITS), PFC),
    "parameters": optional(lambda node: _parameters(node), {}),
}


def _part(known: Mapping[str, Field]) -> Callable[[Node], tuple[Node, dict[str, Any]]]:
    """Returns a mapping with these fields; of nodes, a name alone will do."""

    def read(node: Node) -> tuple[Node, dict[str, Any]]:
        if "name" in known and not node.is_mapping:
            return node, {name: field.default for name, field in known.items()} | {
                "name": node.text()
            }
        return node, node.fields(known)

    return read


def _end(text: str) -> End:
    match = _END.match(text)
    if match is None:
        raise ValueError(f"{text!r}: write a node, as s0, or a node and its port, as s0:1")
    return End(match[1], int(match[2]) if match[2] else None)


def _start(text: str) -> float:
    """Returns the start of a flow in s, which may be below 0."""
    return -quantity("time", text[1:]) if text.startswith("-") else quantity("time", text)


def _parameters(node: Node) -> dict[str, Value]:
    def read(key: str, value: Node) -> Value:
        if key == "lossless_classes" or (key not in PARAMETERS and value.is_text):
            return value.text()
        kind = PARAMETERS.get(key, "number")
        number = value.value(lambda text: quantity(kind, text))
        return (
            int(number) if number.is_integer() and re.match(r"-?[0-9]+\Z", value.text()) else number
        )

    return {key.text(): read(key.text(), value) for key, value in node.pairs()}


def read(source: Source, split_hosts: int = 0) -> Topology:
    """Raises FormatError with all faults."""
    return source.read(lambda node: _topology(source, node, split_hosts))


def _topology(source: Source, node: Node, split_hosts: int) -> Topology:
    document = node.fields(TOPOLOGY)
    draft = Draft(source)
    for at, fields in document["hosts"]:
        draft.host(at.line, fields["name"], fields["ip"], fields["mac"])
    for at, fields in document["switches"]:
        draft.switch(at.line, fields["name"], fields["id"], switch_settings(fields))
    for at, fields in document["links"]:
        both = {
            name: document["defaults"][name] if fields[name] is None else fields[name]
            for name in ("rate", "delay")
        }
        for name, value in both.items():
            if value is None:
                raise at.fail(f"no {name}: give the link one, or all links in `defaults`")
        draft.link(at.line, fields["a"], fields["b"], both["rate"], both["delay"])
    flows = tuple(
        FlowSpec(
            number if flow["id"] is None else flow["id"],
            flow["src"],
            flow["dst"],
            flow["start"],
            flow["size"],
            flow["rate"],
            flow["duration"],
            flow["group"],
            flow["class"],
            flow["after"],
            flow["delays"],
            flow["colour"],
            flow["acknowledged"],
        )
        for number, (_, flow) in enumerate(document["flows"], start=1)
    )
    return draft.topology(
        split_hosts, document["name"], flows, document["parameters"], document["flow_control"]
    )


_WIDTH = 100
"""Of a written file's lines, in characters, where a value doesn't need more."""


def write(topology: Topology) -> str:
    """Writes YAML, an element a line, or several where it is longer than a line; `read` gives an
    equal topology. Raises FormatError."""
    lines = []
    for key, value in _document(topology).items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  {line}" for line in _listed(value, _WIDTH - 2))]
        else:
            lines += _member(key, value, _WIDTH)
    return "\n".join([*lines, ""])


def _block(value: Any, width: int) -> list[str]:
    """Returns the lines of a value: one where it fits into `width`, else a member each."""
    if len(_flow(value)) <= width or not isinstance(value, dict | list):
        return [_flow(value)]
    if isinstance(value, list):
        return _listed(value, width)
    return [line for key, member in value.items() for line in _member(key, member, width)]


def _member(key: str, value: Any, width: int) -> list[str]:
    """Returns the lines of a mapping's member: one where it fits."""
    line = f"{key}: {_flow(value)}"
    if len(line) <= width or not isinstance(value, dict | list):
        return [line]
    return [f"{key}:", *(f"  {inner}" for inner in _block(value, width - 2))]


def _listed(elements: list[Any], width: int) -> list[str]:
    """Returns the lines of a list's elements, each behind a dash."""
    lines = []
    for element in elements:
        first, *rest = _block(element, width - 2)
        lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return lines


def write_json(topology: Topology) -> str:
    """Writes JSON, likewise."""
    parts = []
    for key, value in _document(topology).items():
        if isinstance(value, list):
            text = "[\n" + ",\n".join(f"    {json.dumps(element)}" for element in value) + "\n  ]"
        else:
            text = json.dumps(value)
        parts.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _document(topology: Topology) -> dict[str, Any]:
    usual = lossless.completed({}, topology.flow_control)
    changed = {
        name: value for name, value in topology.parameters.items() if usual.get(name) != value
    }
    document = {
        "name": topology.name,
        "flow_control": topology.flow_control,
        "parameters": {name: _parameter(name, value) for name, value in changed.items()},
        "hosts": [{"name": host.name, "ip": host.ip, "mac": host.mac} for host in topology.hosts],
        "switches": [switch_fields(switch) for switch in topology.switches],
        "links": [
            {
                "a": str(link.a),
                "b": str(link.b),
                "rate": exact("rate", link.rate_bps),
                "delay": exact("time", link.delay_s),
            }
            for link in topology.links
        ],
        "flows": [_flow_fields(flow) for flow in topology.flows],
    }
    return {
        key: value
        for key, value in document.items()
        if value != [] and value != {} and value != PFC
    }


def _flow_fields(flow: FlowSpec) -> dict[str, Any]:
    start = exact("time", abs(flow.start_s))
    fields = {
        "id": flow.id,
        "src": flow.src,
        "dst": flow.dst,
        "start": f"-{start}" if flow.start_s < 0 else start,
        "size": None if flow.size_bytes is None else exact("size", flow.size_bytes),
        "rate": None if flow.rate_bps is None else exact("rate", flow.rate_bps),
        "duration": None if flow.duration_s is None else exact("time", flow.duration_s),
        "group": flow.group or None,
        "class": flow.traffic_class,
        "after": list(flow.after) or None,
        "delays": [exact("time", one_s) for one_s in flow.after_s] or None,
        "colour": None if flow.colour == GREEN else flow.colour,
        "acknowledged": list(flow.acknowledged) or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _parameter(name: str, value: Value) -> Value:
    kind = PARAMETERS.get(name)
    return value if kind in (None, "count") or isinstance(value, str) else exact(kind, value)


def _flow(value: Any) -> str:
    """Returns a value in YAML's flow style, without quotes where YAML needs none."""
    text = json.dumps(value, ensure_ascii=False)
    return _QUOTED.sub(lambda match: match[1] if _PLAIN.match(match[1]) else match[0], text)


def _recognises(source: Source) -> bool:
    keys = source.keys
    of_p4lang = isinstance(keys.get("switches"), MappingOf)  # its form of before November 2019
    return (
        isinstance(keys.get("hosts"), list)
        and isinstance(keys.get("links"), list)
        and not of_p4lang
    )


_FIELDS = {
    "`hosts`": "each a name, or `{name, ip, mac}`; without an address the next one of 10.0.0.1 ...",
    "`switches`": "each a name, or `{name, id, arbitration, output, buffer, ecn, schedules, "
    "watchdog, latency, "
    "cut_through}`; without an id, its place",
    "`links`": "`{a, b, rate, delay}`: ends are a node or `NODE:PORT`, without a port the next "
    "one; the rate is each "
    "way, the delay one way",
    "`defaults`": "`{rate, delay}` of links that give none",
    "`flows`": "`{src, dst, start, size, rate, duration, class, colour, group, id, after, "
    "delays, acknowledged}`; "
    "`after: [1, 2]`: it starts when these flows have arrived whole, `start` later, in virtual "
    "time alone; with "
    "`delays: [5us, 0us]` each that long ago, and not before `start`; with `acknowledged: [2]` "
    "flow 2 counts when its sender has the last acknowledgement",
    "`flow_control`": "`pfc` or `credits`",
    "`parameters`": "`xoff_bytes: 512KB` and so on, and any of your own",
    "`name`": "the network's; without it the file's",
}
_ELSEWHERE = {
    "rate_bps": "the file has each link's rate, or `defaults: {rate: 25G}`",
    "delay_s": "the file has each link's delay, or `defaults: {delay: 1us}`",
}
FORMAT = Format(
    name="pcn",
    summary="YAML of this project",
    read=read,
    write=write,
    suffix=".yaml",
    recognises=lambda source: source.path.suffix != ".json" and _recognises(source),
    fields=_FIELDS,
    whole=True,
    elsewhere=_ELSEWHERE,
)
JSON_FORMAT = Format(
    name="pcn-json",
    summary="JSON of this project",
    read=read,
    write=write_json,
    suffix=".json",
    recognises=lambda source: source.path.suffix == ".json" and _recognises(source),
    fields=_FIELDS,
    whole=True,
    elsewhere=_ELSEWHERE,
)
