"""Topology files of containerlab, NAME.clab.yml: nodes, kinds, links.

A node of kind `linux` is a host, one of another kind a switch; a node's label `pcn-lab: host` or
`switch` decides.
"""

from __future__ import annotations

from pcn.topologies import naming
from pcn.topologies.formats.draft import Draft, End
from pcn.topologies.formats.source import Format, Source, keys_of
from pcn.topologies.model import Topology
from pcn.topologies.tree import Node

_HOST_KINDS = ("linux", "keysight_ixia-c-one", "ixia-c-one")
_NO_NODES = ("host", "mgmt-net", "macvlan", "dummy")
"""Ends of links to what isn't in the lab."""
_LABEL = "pcn-lab"


def read(
    source: Source,
    rate_bps: float | None = None,
    delay_s: float | None = None,
    split_hosts: int = 0,
) -> Topology:
    """Returns the topology of a file. `rate_bps`, `delay_s`: of all links. Raises FormatError."""

    def topology(node: Node) -> Topology:
        top = node.get("topology")
        nodes = top.get("nodes") if top else None
        if top is None or nodes is None:
            raise node.fail("no topology.nodes: a file of containerlab has them")
        links = [ends for link in _elements(top.get("links")) if (ends := _ends(link))]
        linked = {end.node for _, ends in links for end in ends}
        draft = Draft(source, rate_bps, delay_s)
        for key, value in nodes.pairs():
            if key.text() in linked:
                (draft.host if _is_host(top, value) else draft.switch)(key.line, key.text())
        for link, (a, b) in links:
            draft.link(link.line, a, b, None, None)
        name = node.get("name")
        return draft.topology(split_hosts, naming.network_name(name.text()) if name else "")

    return source.read(topology)


def _elements(node: Node | None) -> tuple[Node, ...]:
    return node.elements(lambda element: element, least=0) if node else ()


def _is_host(top: Node, node: Node) -> bool:
    """Returns whether a node is a host: by its label, or its kind, which are the node's, its
    group's, or the defaults'."""
    levels = [node] if node.is_mapping else []
    group = levels[0].get("group") if levels else None
    for name, key in (("groups", group.text() if group else None), ("defaults", None)):
        section = top.get(name)
        if section and name == "groups":
            section = section.get(key) if key else None
        if section:
            levels.append(section)
    for level in levels:
        labels = level.get("labels")
        label = labels.get(_LABEL) if labels and labels.is_mapping else None
        if label:
            if label.text() not in ("host", "switch"):
                raise label.fail(f"{label.text()!r}: choose from host and switch")
            return label.text() == "host"
    kind = next((field.text() for level in levels if (field := level.get("kind"))), "")
    return kind in _HOST_KINDS


def _ends(link: Node) -> tuple[Node, tuple[End, End]] | None:
    """Returns the ends of a link; None of a link that leaves the lab."""
    endpoints = link.get("endpoints")
    if endpoints is None:
        return None
    ends = endpoints.elements(_end)
    if len(ends) != 2:
        raise link.fail(f"{len(ends)} endpoints: a link has two")
    return None if any(end.node in _NO_NODES for end in ends) else (link, (ends[0], ends[1]))


def _end(node: Node) -> End:
    if node.is_mapping:
        node_name = node.get("node")
        if node_name is None:
            raise node.fail("node: missing")
        return End(node_name.text())
    name, colon, interface = node.text().partition(":")
    if not (colon and interface):
        raise node.fail(f"{node.text()!r}: write a node and its interface, as leaf1:e1-1")
    return End(name)


def _recognises(source: Source) -> bool:
    return "nodes" in keys_of(source.keys.get("topology"))


FORMAT = Format(
    name="containerlab",
    summary="topology files of containerlab, NAME.clab.yml",
    read=read,
    recognises=_recognises,
    fields={
        "`topology.nodes`": "nodes that have a link; others are left out",
        "`kind`": "`linux` and Ixia-c are hosts, all others switches, unless the label `pcn-lab` "
        "is `host` or "
        "`switch`; a group's and the defaults' count as there",
        "`topology.links`": "links, in the brief and the extended form; a switch's ports count its "
        "links in the "
        "file's order, from 1; interfaces' names are left out",
        "links to `host`, `mgmt-net`, `macvlan`, `dummy`": "left out",
        "rate and delay": "assumed: `--set rate_bps=10G`, `--set delay_s=1us`; files have none",
        (
            "several links of a `linux` node"
        ): "ports of a host, from 0, which doesn't forward: a label makes "
        "a switch of it, `--set split_hosts=1` a host of each link",
        "`name`": "the network's",
        "images, configurations, binds, `exec`, `mtu`": "left out",
        "addresses": "assumed: 10.0.0.1 and so on, in order",
    },
)
