"""A network for Graphviz: tiers as ranks, racks folded."""

from __future__ import annotations

from pcn.base.units import quantity_text
from pcn.topologies.model import Link, Topology
from pcn.topologies.picture.tiers import Tiers


def dot(topology: Topology) -> str:
    tiers = Tiers.of(topology)
    lines = [f"graph {_quoted(topology.name)} {{", "  rankdir=BT; node [shape=box];"]
    for rack in tiers.racks:
        label = rack.label if len(rack.hosts) == 1 else f"{len(rack.hosts)}: {rack.label}"
        lines.append(f"  {_quoted(rack.hosts[0])} [shape=oval, label={_quoted(label)}];")
    for row in tiers.switches:
        lines.append(f"  {{ rank=same; {' '.join(f'{_quoted(name)};' for name in row)} }}")
    for rack in tiers.racks:
        lines += [_edge(rack.hosts[0], node, links[0], len(links)) for node, links in rack.cables]
    for cable in tiers.cables:
        lines.append(_edge(cable.a, cable.b, cable.links[0], len(cable.links)))
    return "\n".join([*lines, "}", ""])


def _edge(a: str, b: str, link: Link, count: int) -> str:
    label = f"{f'{count} x ' if count > 1 else ''}{quantity_text('rate', link.rate_bps)}"
    return f"  {_quoted(a)} -- {_quoted(b)} [label={_quoted(label)}];"


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))
