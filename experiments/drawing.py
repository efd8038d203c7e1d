"""The topology as inline SVG: senders left, receivers right, switches between. Colours come from the page's CSS."""

from __future__ import annotations

from html import escape

from experiments.parameters import format_value
from topologies.model import Endpoint, Topology

_COLUMN, _ROW, _MARGIN = 210, 62, 64
_HOST, _SWITCH = (54, 30), (60, 46)


def topology_svg(topology: Topology, bottleneck: Endpoint) -> str:
    """An SVG element. Flows are dots at their ends, in the classes `flow0`, `flow1`, ... in order of their id."""
    places = _places(topology)
    width = max(x for x, _ in places.values()) + _MARGIN
    height = max(y for _, y in places.values()) + _MARGIN - 14
    shapes = [*_links(topology, places, bottleneck), *_nodes(topology, places), *_dots(topology, places)]
    description = (
        f"{len(topology.hosts)} hosts and {len(topology.switches)} switches; the bottleneck is "
        f"{topology.link_name(bottleneck.node, bottleneck.port)}"
    )
    return (
        f'<svg class="topology" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(description)}">'
        f"{''.join(shapes)}</svg>"
    )


def _places(topology: Topology) -> dict[str, tuple[float, float]]:
    """Centre of every node. Columns: hosts that send; switches, by hops from them; hosts that don't."""
    senders = {flow.src for flow in topology.flows}
    depth = dict.fromkeys(senders, 0)
    reached = list(depth)
    while reached:
        node = reached.pop(0)
        for port in topology.ports(node):
            peer = topology.peer(node, port).node
            if peer not in depth and not topology.is_host(peer):
                depth[peer] = depth[node] + 1
                reached.append(peer)
    last = max(depth.values(), default=0) + 1
    columns: dict[int, list[str]] = {}
    for node in [host.name for host in topology.hosts] + [switch.name for switch in topology.switches]:
        columns.setdefault(depth.get(node, last), []).append(node)
    tallest = max(len(nodes) for nodes in columns.values())
    return {
        node: (_MARGIN + column * _COLUMN, _MARGIN - 14 + (row + (tallest - len(nodes)) / 2) * _ROW)
        for column, nodes in columns.items()
        for row, node in enumerate(nodes)
    }


def _links(topology: Topology, places: dict[str, tuple[float, float]], bottleneck: Endpoint) -> list[str]:
    shapes: list[str] = []
    for link in topology.links:
        (x1, y1), (x2, y2) = places[link.a.node], places[link.b.node]
        narrow = bottleneck in (link.a, link.b)
        kind = "link bottleneck" if narrow else "link"
        rate, delay = format_value("rate", link.rate_bps), format_value("time", link.delay_s)
        title = f"{link.a} to {link.b}: {rate}, {delay} each way"
        shapes.append(
            f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"><title>{escape(title)}</title></line>'
        )
        if narrow:
            middle_x, middle_y = (x1 + x2) / 2, (y1 + y2) / 2
            for text, offset in ((rate, -11), ("bottleneck", 20)):
                shapes.append(f'<text class="note" x="{middle_x}" y="{middle_y + offset}">{escape(text)}</text>')
        for end, (x, y), (far_x, far_y) in ((link.a, (x1, y1), (x2, y2)), (link.b, (x2, y2), (x1, y1))):
            if topology.is_host(end.node):
                continue
            share = 64 / max(((far_x - x) ** 2 + (far_y - y) ** 2) ** 0.5, 1)
            shapes.append(
                f'<text class="port" x="{x + (far_x - x) * share:.1f}" y="{y + (far_y - y) * share - 5:.1f}">'
                f"{end.port}</text>"
            )
    return shapes


def _nodes(topology: Topology, places: dict[str, tuple[float, float]]) -> list[str]:
    shapes: list[str] = []
    for name, (x, y) in places.items():
        host = topology.is_host(name)
        width, height = _HOST if host else _SWITCH
        kind, corner = ("host", 15) if host else ("switch", 8)
        shapes.append(
            f'<rect class="{kind}" x="{x - width / 2}" y="{y - height / 2}" '
            f'width="{width}" height="{height}" rx="{corner}"/>'
            f'<text class="name" x="{x}" y="{y + 5}">{escape(name)}</text>'
        )
    return shapes


def _dots(topology: Topology, places: dict[str, tuple[float, float]]) -> list[str]:
    shapes: list[str] = []
    at: dict[str, int] = {}
    for index, flow in enumerate(topology.flows):
        for node, side in ((flow.src, -1), (flow.dst, 1)):
            x, y = places[node]
            shift = at.get(node, 0)
            at[node] = shift + 1
            shapes.append(
                f'<circle class="flow{index}" cx="{x + side * (40 + 14 * shift)}" cy="{y}" r="5">'
                f"<title>flow {flow.id}: {escape(flow.src)} to {escape(flow.dst)}</title></circle>"
            )
    return shapes
