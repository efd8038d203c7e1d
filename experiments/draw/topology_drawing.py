"""The topology as inline SVG: senders left, receivers right, switches between. Colours come from
the page's CSS.

The page's script replays a run in it: links, queues and flows carry their names as data attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pcn.experiments.data.parameters import format_value
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.define.looks import flow_colours
from pcn.experiments.draw.palette import dot
from pcn.topologies.model import Endpoint, Link, Topology
from pcn.topologies.picture.load import Load, busiest, colour

_COLUMN, _ROW, _MARGIN = 168, 62, 58
_HOST, _SWITCH, _SMALL_HOST = (54, 30), (60, 46), (44, 26)
_BELOW_ROW, _BELOW_STEP, _BELOW_FIRST, _BELOW_EACH = 7, 54, 118, 50
"""Senders that hang on a later switch stand below it: how many a row, how far apart, the first row,
each further."""
_BAR_WIDTH, _BAR_HEIGHT = 12, 58
_RATE_ROOM = 128
"""Right of the receivers, for what flows get there."""
_MOST_HOSTS = 64

_Place = tuple[float, float]


def topology_svg(
    topology: Topology,
    bottleneck: Endpoint,
    queues: Sequence[Endpoint] = (),
    load: Load | None = None,
) -> str:
    """Returns an SVG element; empty for a topology too large to be drawn. Flows, and groups of
    flows, are dots at their ends in the classes `flow0`, `flow1`, ..., in order. `queues` are ports
    that get a gauge: then what each flow gets stands at its receiver instead of a dot. Links have
    the colours of their `load`."""
    if len(topology.hosts) > _MOST_HOSTS:
        return ""
    below = _below(topology)
    lowered = _BAR_HEIGHT if queues else 0
    places = {node: (x, y + lowered) for node, (x, y) in _places(topology, below).items()}
    width = max(x for x, _ in places.values()) + _MARGIN + (_RATE_ROOM if queues else 0)
    height = max(y for _, y in places.values()) + _MARGIN - 14
    shapes = [
        *(
            shape
            for link in topology.links
            for shape in _link(topology, places, link, bottleneck, below, load)
        ),
        *_nodes(topology, places, below),
        *_dots(topology, places, below, receivers=not queues),
        *(shape for port in queues for shape in _gauge(topology, places, port)),
        *(_rates(topology, places) if queues else ()),
    ]
    description = (
        f"{len(topology.hosts)} hosts and {len(topology.switches)} switches; the bottleneck is "
        f"{topology.link_name(bottleneck.node, bottleneck.port)}"
    )
    return (
        f'<svg class="topology" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(description)}">'
        f"{''.join(shapes)}</svg>"
    )


def _depths(topology: Topology) -> dict[str, int]:
    """Returns the depth of every node on a flow's path: the most hops from the flow's source."""
    depth: dict[str, int] = {}
    for src, dst in {(flow.src, flow.dst): None for flow in topology.flows}:
        nodes = [*(end.node for end in topology.path(src, dst)), dst]
        for hops, node in enumerate(nodes):
            depth[node] = max(depth.get(node, 0), hops)
    return depth


def _first_peer(topology: Topology, host: str) -> str:
    """Returns the node at the far end of a host's first link: the host is drawn beside it."""
    return topology.peer(host, topology.ports(host)[0]).node


def _below(topology: Topology) -> set[str]:
    """Returns the senders whose switch isn't among the first."""
    depth = _depths(topology)
    senders = {flow.src for flow in topology.flows} - {flow.dst for flow in topology.flows}
    return {host for host in senders if depth[_first_peer(topology, host)] > 1}


def _places(topology: Topology, below: set[str]) -> dict[str, _Place]:
    """Returns the centre of every node. Columns: hosts that send; switches, by hops from them;
    hosts that don't."""
    depth = _depths(topology)
    last = max(depth.values(), default=0)
    columns: dict[int, list[str]] = {}
    for node in [host.name for host in topology.hosts] + [
        switch.name for switch in topology.switches
    ]:
        if node not in below:
            columns.setdefault(depth.get(node, last), []).append(node)
    tallest = max(len(nodes) for nodes in columns.values())
    places: dict[str, _Place] = {
        node: (_MARGIN + column * _COLUMN, _MARGIN - 14 + (row + (tallest - len(nodes)) / 2) * _ROW)
        for column, nodes in columns.items()
        for row, node in enumerate(nodes)
    }
    for switch in topology.switches:
        hosts = [host.name for host in topology.hosts if host.name in below]
        hosts = [host for host in hosts if _first_peer(topology, host) == switch.name]
        x, y = places.get(switch.name, (0.0, 0.0))
        for index, host in enumerate(hosts):
            row, column = divmod(index, _BELOW_ROW)
            wide = min(_BELOW_ROW, len(hosts) - row * _BELOW_ROW)
            places[host] = (
                x + (column - (wide - 1) / 2) * _BELOW_STEP,
                y + _BELOW_FIRST + row * _BELOW_EACH,
            )
    return places


def _link(
    topology: Topology,
    places: dict[str, _Place],
    link: Link,
    bottleneck: Endpoint,
    below: set[str],
    load: Load | None,
) -> Iterable[str]:
    (x1, y1), (x2, y2) = places[link.a.node], places[link.b.node]
    narrow = bottleneck in (link.a, link.b)
    kind = "link bottleneck" if narrow else "link"
    rate, delay = format_value("rate", link.rate_bps), format_value("time", link.delay_s)
    title = f"{link.a} to {link.b}: {rate}, {delay} each way"
    colouring = ""
    if load is not None:
        used = busiest([link], load, link.a.node)
        title += f"; {used[0]:.0%} of it used from {link.a.node}, {used[1]:.0%} from {link.b.node}"
        colouring = f' style="--load:{colour(max(used))}"'
    hanging = below & {link.a.node, link.b.node}
    points = [(x1, y1), (x2, y2)]
    if hanging:
        kind += " below"
        host_first = link.a.node in hanging
        way = _way_down(*(reversed(points) if host_first else points))
        points = way[::-1] if host_first else way
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    yield (
        f'<polyline class="{kind}" data-a="{link.a.node}" data-b="{link.b.node}"{colouring} '
        f'points="{path}">'
        f"<title>{escape(title)}</title></polyline>"
    )
    if narrow:
        middle_x, middle_y = (x1 + x2) / 2, (y1 + y2) / 2
        # Below the link, unless that is where links to hosts are.
        for text, offset in (
            ((rate, -37), ("bottleneck", -20)) if below else ((rate, 21), ("bottleneck", 38))
        ):
            place = f'x="{middle_x:g}" y="{middle_y + offset:g}"'
            yield f'<text class="note" {place}>{escape(text)}</text>'
    if hanging:
        return
    for end, (x, y), (far_x, far_y) in ((link.a, (x1, y1), (x2, y2)), (link.b, (x2, y2), (x1, y1))):
        if not topology.is_host(end.node):
            part = 50 / max(((far_x - x) ** 2 + (far_y - y) ** 2) ** 0.5, 1)
            yield (
                f'<text class="port" x="{x + (far_x - x) * part:.1f}" '
                f'y="{y + (far_y - y) * part - 5:.1f}">'
                f"{end.port}</text>"
            )


def _way_down(switch: _Place, host: _Place) -> list[_Place]:
    """Returns the way from a switch to a host below it: beside the hosts of the rows before, not
    across them."""
    rows = round((host[1] - switch[1] - _BELOW_FIRST) / _BELOW_EACH)
    if not rows:
        return [switch, host]
    beside = host[0] + (-1 if host[0] > switch[0] else 1) * _BELOW_STEP / 2
    clear = _SMALL_HOST[1] / 2 + 5
    top, bottom = switch[1] + _BELOW_FIRST - clear, host[1] - _BELOW_EACH + clear
    return [switch, (beside, top), (beside, bottom), host]


def _nodes(topology: Topology, places: dict[str, _Place], below: set[str]) -> Iterable[str]:
    for name, (x, y) in places.items():
        host = topology.is_host(name)
        width, height = _SWITCH if not host else _SMALL_HOST if name in below else _HOST
        kind, corner = ("host", height / 2) if host else ("switch", 8)
        yield (
            f'<rect class="{kind}" x="{x - width / 2:g}" y="{y - height / 2:g}" '
            f'width="{width}" height="{height}" rx="{corner:g}"/>'
            f'<text class="name" x="{x:g}" y="{y + 5:g}">{escape(name)}</text>'
        )


def _colours(topology: Topology) -> dict[str, str]:
    """Returns the class of each flow, or group of flows, by its name in series: one colour each,
    here and in all plots."""
    entities = (flow_entity(flow.id, flow.group) for flow in topology.flows)
    return {name: dot(colour) for name, colour in flow_colours(entities).items()}


def _dots(
    topology: Topology, places: dict[str, _Place], below: set[str], receivers: bool
) -> Iterable[str]:
    colours, at = _colours(topology), dict[str, int]()
    for src, dst, entity in {
        (flow.src, flow.dst, flow_entity(flow.id, flow.group)): None for flow in topology.flows
    }:
        for node, side in ((src, -1), (dst, 1)) if receivers else ((src, -1),):
            x, y = places[node]
            if node in below:
                x, y = x + 40, y + 22
            shift = at.get(node, 0)
            at[node] = shift + 1
            yield (
                f'<circle class="{colours[entity]}" cx="{x + side * (40 + 14 * shift):g}" '
                f'cy="{y:g}" r="5">'
                f"<title>{escape(entity)}: {escape(src)} to {escape(dst)}</title></circle>"
            )


def _gauge(topology: Topology, places: dict[str, _Place], port: Endpoint) -> Iterable[str]:
    """Yields how much waits at a port: a bar above its switch, at the side of the port, with the
    amount above and the port's name beside it."""
    x, y = places[port.node]
    peer = topology.peer(port.node, port.port).node
    right = places[peer][0] > x
    x += 8 if right else -8
    beside = x + (_BAR_WIDTH / 2 + 4) * (1 if right else -1)
    top = y - _SWITCH[1] / 2 - _BAR_HEIGHT - 8
    bar = (
        f'x="{x - _BAR_WIDTH / 2:g}" y="{top:g}" width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" rx="3"'
    )
    yield (
        f'<g class="gauge" data-port="{port}" data-peer="{peer}">'
        f"<title>waiting at {port}, to {peer}</title>"
        f'<rect class="scale" {bar}/><rect class="level" {bar}/>'
        f'<text class="port" x="{beside:g}" y="{top + _BAR_HEIGHT / 2:g}" '
        f'style="text-anchor:{"start" if right else "end"}">{port}</text>'
        f'<text class="note" x="{x:g}" y="{top - 6:g}"></text></g>'
    )


def _rates(topology: Topology, places: dict[str, _Place]) -> Iterable[str]:
    """Yields what each flow gets, right of its receiver; flows of one receiver under each other."""
    colours = _colours(topology)
    rows: dict[str, list[str]] = {}
    for dst, entity in {
        (flow.dst, flow_entity(flow.id, flow.group)): None for flow in topology.flows
    }:
        rows.setdefault(dst, []).append(entity)
    for host, entities in rows.items():
        x, y = places[host]
        for row, entity in enumerate(entities):
            yield (
                f'<text class="rate {colours[entity]}" data-flow="{escape(entity)}" x="{x + 36:g}" '
                f'y="{y + 5 + (row - (len(entities) - 1) / 2) * 19:g}"></text>'
            )
