"""A graph as networkx has it, nodes and edges with attributes: what GraphML and node-link JSON hold
alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pcn.base.units import Kind, quantity
from pcn.topologies import naming
from pcn.topologies.formats.draft import Draft, End
from pcn.topologies.formats.source import Source
from pcn.topologies.model import Topology

Attributes = Mapping[str, str]
_ROLES = ("role", "type", "kind")
_HOSTS = ("host", "server")
_RATES = (("rate_bps", ("rate", "bandwidth", "capacity")), ("delay_s", ("delay", "latency")))


class GraphNode(NamedTuple):
    line: int
    name: str
    attributes: Attributes


class GraphEdge(NamedTuple):
    line: int
    source: str
    target: str
    attributes: Attributes


def topology(
    source: Source,
    nodes: Sequence[GraphNode],
    edges: Sequence[GraphEdge],
    directed: bool,
    name: str,
    rate_bps: float | None,
    delay_s: float | None,
    split_hosts: int,
) -> Topology:
    """Raises FormatError."""
    draft = Draft(source, rate_bps, delay_s)
    is_host = _hosts(nodes, edges)
    for node in nodes:
        if is_host(node.name):
            draft.host(
                node.line, node.name, node.attributes.get("ip", ""), node.attributes.get("mac", "")
            )
        else:
            draft.switch(node.line, node.name, _device_id(source, node))
    pairs = {(edge.source, edge.target): edge.line for edge in edges} if directed else {}
    for edge in edges:
        if (edge.target, edge.source) in pairs:
            reverse_line = pairs[edge.target, edge.source]
            raise source.error(
                edge.line,
                f"an edge from {edge.source} to {edge.target}, and line {reverse_line} has one "
                "back: a link carries both ways; networkx.Graph(graph) makes one edge of them",
            )
        rate, delay = (_value(source, edge, si_name, others) for si_name, others in _RATES)
        if rate is not None and not rate > 0:
            raise source.error(edge.line, "a rate must be above 0")
        a, b = (_end(source, edge, *end) for end in (("a", edge.source), ("b", edge.target)))
        draft.link(edge.line, a, b, rate, delay)
    return draft.topology(split_hosts, naming.network_name(name) if name else "")


def _hosts(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> Callable[[str], bool]:
    """Returns the test that a node's name is a host's: by the nodes' roles, or, where no node has
    one, by degree 1."""
    roles = {
        node.name: next((node.attributes[role] for role in _ROLES if role in node.attributes), "")
        for node in nodes
    }
    if any(role.lower() in _HOSTS for role in roles.values()):
        return lambda name: roles[name].lower() in _HOSTS
    degrees = Counter(end for edge in edges for end in (edge.source, edge.target))
    return lambda name: degrees[name] == 1


def _device_id(source: Source, node: GraphNode) -> int | None:
    text = node.attributes.get("device_id")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise source.error(node.line, f"device_id {text!r}: a whole number is needed")
    return int(text)


def _value(source: Source, edge: GraphEdge, si_name: str, others: tuple[str, ...]) -> float | None:
    """Returns the value in SI units of the attribute `si_name`, or of one of `others`, whose text
    has a unit; None: the edge has none of them."""
    kind: Kind = "rate" if si_name == "rate_bps" else "time"
    for name in (si_name, *others):
        if name in edge.attributes:
            try:
                return quantity(kind, edge.attributes[name], si=name == si_name)
            except ValueError as error:
                raise source.error(
                    edge.line, f"{name} of {edge.source} - {edge.target}: {error}, or {si_name}"
                ) from None
    return None


def _end(source: Source, edge: GraphEdge, name: str, node: str) -> End:
    """Returns an edge's end, with its port where `a` or `b` is NODE:PORT: the ends of an undirected
    edge may be in either order."""
    ends = dict(
        edge.attributes[side].rpartition(":")[::2] for side in ("a", "b") if side in edge.attributes
    )
    port = ends.get(node, "")
    if edge.attributes.get(name) and node not in ends:
        raise source.error(
            edge.line, f"{name} {edge.attributes[name]!r}: no end of {edge.source} - {edge.target}"
        )
    if port and not (port.isascii() and port.isdigit() and len(port) < 4):
        raise source.error(edge.line, f"port {port!r} of {node}: a whole number is needed")
    return End(node, int(port) if port else None)


def attributes(
    written: Topology,
) -> tuple[list[dict[str, str | int]], list[dict[str, str | float]]]:
    """Returns the attributes of the nodes, with `id`, and of the edges, with `source` and `target`,
    which `topology` reads again."""
    nodes: list[dict[str, str | int]] = [
        {"id": host.name, "role": "host", "ip": host.ip, "mac": host.mac} for host in written.hosts
    ]
    nodes += [
        {"id": switch.name, "role": "switch", "device_id": switch.device_id}
        for switch in written.switches
    ]
    edges: list[dict[str, str | float]] = [
        {
            "source": link.a.node,
            "target": link.b.node,
            "rate_bps": link.rate_bps,
            "delay_s": link.delay_s,
            "a": str(link.a),
            "b": str(link.b),
        }
        for link in written.links
    ]
    return nodes, edges


FIELDS = {
    "nodes": "hosts and switches, by their `id`; `role` (or `type`, `kind`) is `host` or `server` "
    "of hosts; where no "
    "node has that, nodes with one edge are hosts",
    "`ip`, `mac`, `device_id` of nodes": "as they are; without them 10.0.0.1 and so on, in order",
    "edges": "links; parallel ones too",
    (
        "`rate_bps`, `delay_s` of edges"
    ): "in bit/s, and s one way; or `rate`, `bandwidth`, `capacity`, and `delay`, "
    "`latency` with a unit (`25G`, `1us`); without them `--set rate_bps=10G`, `--set delay_s=1us`",
    ("`a`, `b` of edges"): (
        "`NODE:PORT`; without them a node's ports count its edges, a switch's from 1, a host's "
        "from 0"
    ),
    "a directed graph": "each edge is a link both ways; edges there and back are refused",
    "the graph's `name`": "the network's",
    "other attributes": "left out",
}
