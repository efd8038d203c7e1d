"""Node-link JSON, as `networkx.node_link_data` makes it: `edges`, or `links` by older versions."""

from __future__ import annotations

import json

from pcn.topologies.formats import graph, p4_utils
from pcn.topologies.formats.graph import GraphEdge, GraphNode
from pcn.topologies.formats.source import Format, Source
from pcn.topologies.model import Topology
from pcn.topologies.tree import Node


def read(
    source: Source,
    rate_bps: float | None = None,
    delay_s: float | None = None,
    split_hosts: int = 0,
) -> Topology:
    """Returns the topology of a file. `rate_bps`, `delay_s`: of edges that give none. Raises
    FormatError."""

    def topology(node: Node) -> Topology:
        nodes, edges = node.get("nodes"), node.get("edges") or node.get("links")
        if nodes is None or edges is None:
            raise node.fail("nodes and edges are needed")
        directed, attributes = node.get("directed"), node.get("graph")
        name = attributes.get("name") if attributes and attributes.is_mapping else None
        return graph.topology(
            source,
            nodes.elements(
                lambda element: GraphNode(
                    element.line, _needed(element, "id"), _attributes(element)
                )
            ),
            edges.elements(
                lambda element: GraphEdge(
                    element.line,
                    _needed(element, "source"),
                    _needed(element, "target"),
                    _attributes(element),
                )
            ),
            directed is not None and directed.text() == "true",
            name.text() if name else "",
            rate_bps,
            delay_s,
            split_hosts,
        )

    return source.read(topology)


def _needed(node: Node, name: str) -> str:
    field = node.get(name)
    if field is None:
        raise node.fail(f"{name}: missing")
    return field.text()


def _attributes(node: Node) -> dict[str, str]:
    return {
        key.text(): value.text()
        for key, value in node.pairs()
        if not (value.is_list or value.is_mapping)
    }


def write(topology: Topology) -> str:
    """Returns what `networkx.node_link_graph` reads."""
    nodes, edges = graph.attributes(topology)
    head = (
        f'{{"directed": false, "multigraph": true, "graph": {{"name": '
        f"{json.dumps(topology.name)}}},"
    )
    parts = (",\n".join(f"  {json.dumps(element)}" for element in many) for many in (nodes, edges))
    return '{}\n "nodes": [\n{}\n ],\n "edges": [\n{}\n ]\n}}\n'.format(head, *parts)


FORMAT = Format(
    name="node-link",
    summary="node-link JSON of networkx",
    read=read,
    write=write,
    suffix=".graph.json",
    recognises=lambda source: (
        isinstance(source.keys.get("nodes"), list)
        and any(isinstance(source.keys.get(name), list) for name in ("edges", "links"))
        and not p4_utils.is_generated(source)
    ),
    fields=graph.FIELDS,
)
