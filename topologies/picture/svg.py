"""A network as SVG, and as a page with it: no script, no other file, colours for light and dark.

Lines and boxes carry the ports and nodes that they stand for as data attributes, for scripts of
pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from pcn.base.units import quantity_text
from pcn.topologies.model import Endpoint, Link, Topology
from pcn.topologies.picture.load import STEPS, Load, busiest, colour
from pcn.topologies.picture.tiers import Cable, Rack, Tiers, kinds

_GAP, _MARGIN, _TOP = 14, 24, 60
_LEAST_ROW, _MOST_ROW, _FLAT = 100, 500, 14
"""A row's height: the width over `_FLAT`, so that a wide network's lines aren't all flat."""
_LETTER, _BOX, _LEAST_WIDTH = 7.2, 26, 34
_SAMPLE, _APART = 30, 20
"""Of the legend: the room of a line's sample, and what is between its texts."""
_COLOURS = ("#1b6ca8", "#b5541c", "#2f7d4f", "#7a4fa3", "#8a6d1f", "#64748b")
"""Of links, by their rate, the fastest first."""
_THIN = 1.2
"""Width of a line."""
WIDEST = 16
"""Width of a line whose emphasis is 1."""
_MOST_LABELLED, _LABEL = 100, 5.9
"""Lines of a drawing whose ports have labels, and the width of a letter of these."""
_AT_HOST, _MIDDLE = (0.27, 0.35, 0.45), (0.5, 0.44, 0.56)
_AT_SWITCH = (0.3, 0.38, 0.22, 0.34, 0.26, 0.42)
"""Where on a line a label may stand, as shares of it."""
_BETWEEN = 130
"""Beside each switch of a linked row, in px."""
_RING, _RING_AT = 9, 46
"""A ring's radius, and how far it is from its node's centre."""
_LINE, _ROOM = 14, 14
"""Of rings' texts: a line's height, and the letters that one may have."""
_WIDE = 1600
"""A row of racks that would be wider has short labels."""
STYLE = """
svg.network { background: #fff; font: 12px ui-monospace, monospace; }
.network rect { fill: #f4f6f8; stroke: #334155; } .network .host { fill: #eaf2ec; }
.network text { fill: #0f172a; text-anchor: middle; } .network .legend { text-anchor: start; }
.network path { fill: none; stroke-opacity: .75; }
.network .port { font-size: 9.5px; fill: #475569; stroke: #fff; stroke-width: 3; paint-order: stroke; }
@media screen and (prefers-color-scheme: dark) { svg.network { background: #0f172a; } .network rect { fill: #1e293b;
stroke: #94a3b8; } .network .host { fill: #14352a; } .network text { fill: #e2e8f0; }
.network .port { fill: #b6c2d1; stroke: #0f172a; } }
"""  # noqa: E501
_EMPHASIS = """
.emphasised path { stroke-opacity: .4; } .network path.wide { stroke: #c2410c; stroke-opacity: .8; }
.network path.way { stroke: #1d4ed8; stroke-width: 2; stroke-dasharray: 6 4; stroke-opacity: 1; }
.network .ring { fill: none; stroke: #c2410c; stroke-width: 3; }
.network text.ring { stroke: #fff; stroke-width: 4; paint-order: stroke; fill: #9a3412; text-anchor: start; font-weight: 700; }
@media screen and (prefers-color-scheme: dark) { .network path.wide, .network .ring { stroke: #fb923c; }
.network path.way { stroke: #93c5fd; } .network text.ring { stroke: #0f172a; fill: #fdba74; } }
"""  # noqa: E501

_Place = tuple[float, float]


@dataclass(frozen=True)
class Emphasis:
    """What stands out in a drawing: links by one of their ports, as wide as a share from 0 to 1;
    ports with a ring, and its text; the ports of a way, each of which sends to the next one's
    node."""

    wide: Mapping[Endpoint, float] = field(default_factory=dict)
    rings: Mapping[Endpoint, str] = field(default_factory=dict)
    way: Sequence[Endpoint] = ()


def svg(
    topology: Topology,
    load: Load | None = None,
    most_cables: int | None = None,
    *,
    styled: bool = True,
    emphasis: Emphasis | None = None,
) -> str:
    """Hosts in the lowest row, then switches by their distance to the next host; what is alike is
    one box or line.

    With a `load` links have its colours, those of several in one line the busiest's. `most_cables`:
    no more lines between switches, the busiest. `styled` False: the page has STYLE already. With an
    `emphasis` what it doesn't have is pale."""
    tiers = Tiers.of(topology)
    short = sum(_width(_text(rack)) + _GAP for rack in tiers.racks) > _WIDE
    labels = {
        rack.hosts[0]: f"\u00d7{len(rack.hosts)}" if short else _text(rack) for rack in tiers.racks
    }
    rates = dict.fromkeys(rate for rate, _, _ in kinds(topology))
    colours = {rate: _COLOURS[min(number, len(_COLOURS) - 1)] for number, rate in enumerate(rates)}
    cables = list(tiers.cables)
    if most_cables is not None and len(cables) > most_cables:
        cables = sorted(cables, key=lambda cable: -max(busiest(cable.links, load or {}, cable.a)))[
            :most_cables
        ]
    shown = (
        _legend(topology, colours)
        if load is None
        else _legend_of_load(len(tiers.cables) - len(cables))
    )
    legend, legend_width = _laid_out(list(shown))
    places, width, height = _places(tiers, labels, legend_width)
    names = "network" if emphasis is None else "network emphasised"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{names}" viewBox="0 0 {width:g} '
        f'{height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(topology.name)}">',
        *([f"<style>{STYLE}</style>"] if styled else []),
        *([f"<style>{_EMPHASIS}</style>"] if emphasis is not None else []),
        *legend,
        *(_cable(cable, places, colours, load) for cable in cables),
        *(
            _down(rack, *cable, places, colours, load)
            for rack in tiers.racks
            for cable in rack.cables
        ),
        *(_emphasised(tiers, places, emphasis) if emphasis is not None else ()),
        *(_box(name, name, "switch", places[name]) for row in tiers.switches for name in row),
        *(_rack(rack, labels, places) for rack in tiers.racks),
        *(_rings(tiers, places, emphasis) if emphasis is not None else _labels(tiers, places)),
        "</svg>\n",
    ]
    return "\n".join(parts)


def page(topology: Topology) -> str:
    name = escape(topology.name)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta '
        f'charset="utf-8"><title>{name}</title></head>\n'
        f"<body><h1>{name}</h1>\n{svg(topology)}</body></html>\n"
    )


def _width(label: str) -> float:
    return max(_LEAST_WIDTH, len(label) * _LETTER + 12)


def _places(
    tiers: Tiers, labels: Mapping[str, str], legend_width: float
) -> tuple[dict[str, _Place], float, float]:
    """Returns the centres of switches by name and of racks by their first host; width and height of
    the picture."""
    widths = [_width(labels[rack.hosts[0]]) + _GAP for rack in tiers.racks]
    rows = [sum(_width(name) + _GAP for name in row) for row in tiers.switches]
    # Switches of the lowest row that are linked have room for the link's labels between them
    lowest = set(tiers.switches[0]) if tiers.switches else set()
    linked = any({cable.a, cable.b} <= lowest for cable in tiers.cables)
    apart = _BETWEEN if linked and len(lowest) <= _MOST_LABELLED else 0
    room = sum(widths) + apart * max(len(lowest) - 1, 0)
    widest = max(room, *rows, legend_width, 400) + 2 * _MARGIN
    row_height = min(max(widest / _FLAT, _LEAST_ROW), _MOST_ROW)
    bottom = _TOP + len(tiers.switches) * row_height
    places: dict[str, _Place] = {}
    x = (widest - room) / 2
    before = ""
    spans: dict[str, tuple[float, float]] = {}
    for rack in tiers.racks:
        label = _width(labels[rack.hosts[0]])
        x += apart if before not in ("", rack.node) else 0
        before = rack.node
        places[rack.hosts[0]] = (x + label / 2, bottom)
        first, _ = spans.get(rack.node, (x, x))
        spans[rack.node] = (first, x + label)
        x += label + _GAP
    width = widest
    for number, row in enumerate(tiers.switches):
        y = bottom - (number + 1) * row_height
        if number == 0:
            at = float(_MARGIN)
            for name in row:
                first, last = spans.get(name, (at, at))
                at = max(at + _width(name) / 2, (first + last) / 2)
                places[name] = (at, y)
                at += _width(name) / 2 + _GAP
            width = max(width, at)
        else:
            step = width / len(row)
            places |= {name: (step * (place + 0.5), y) for place, name in enumerate(row)}
    rounded = {name: (round(x, 1), round(y, 1)) for name, (x, y) in places.items()}
    return rounded, width + _MARGIN, bottom + 2 * _BOX


def _text(rack: Rack) -> str:
    return rack.label if len(rack.hosts) == 1 else f"{len(rack.hosts)}: {rack.label}"


def _legend(topology: Topology, colours: dict[float, str]) -> Iterator[tuple[str, str]]:
    """Yields the look of each kind of links, and what they are."""
    for rate, delay, count in kinds(topology):
        text = f"{count} x {quantity_text('rate', rate)}, {quantity_text('time', delay)}"
        yield f'stroke="{colours[rate]}" stroke-width="{_THIN}"', text


def _legend_of_load(left_out: int) -> Iterator[tuple[str, str]]:
    """Yields the look of each step of the load, and which it is; a text without a look, if lines
    are left out."""
    below = 0.0
    for most, shade in STEPS:
        yield f'stroke="{shade}" stroke-width="3"', f"{below:.0%} to {most:.0%}"
        below = most
    if left_out:
        yield "", f"{left_out:,} lines of the least load are left out"


def _laid_out(legend: Sequence[tuple[str, str]]) -> tuple[list[str], float]:
    """Returns a legend in one line, and how wide it is."""
    parts, x = [], float(_MARGIN)
    for look, text in legend:
        if look:
            parts.append(f'<path d="M{x:g} 20h24" {look}/>')
            x += _SAMPLE
        parts.append(f'<text class="legend" x="{x:g}" y="24">{escape(text)}</text>')
        x += len(text) * _LETTER + _APART
    return parts, x - _APART - _MARGIN


def _title(label: str, links: Sequence[Link], load: Load | None, ends: tuple[str, str]) -> str:
    """Writes the title of a line. `ends`: a node where all links end, and how the other ends are
    called."""
    rate, delay = quantity_text("rate", links[0].rate_bps), quantity_text("time", links[0].delay_s)
    times = f"{len(links)} x " if len(links) > 1 else ""
    used = ""
    if load is not None:
        there, back = busiest(links, load, ends[0])
        used = f"; {there:.0%} used from {escape(ends[0])}, {back:.0%} from {escape(ends[1])}"
    return f"<title>{escape(label)}: {times}{rate}, {delay} each way{used}</title>"


def _stroke(links: Sequence[Link], colours: dict[float, str], load: Load | None, node: str) -> str:
    """Returns the attributes of a line: by its rate and the number of links, or by their load."""
    if load is not None:
        share = max(busiest(links, load, node))
        return f'stroke="{colour(share)}" stroke-width="{1 + 2.5 * min(share, 1):.1f}"'
    return f'stroke="{colours[links[0].rate_bps]}" stroke-width="{min(_THIN * len(links), 6):g}"'


def _ends(links: Sequence[Link], last: str) -> str:
    """Returns the attributes with the ports where a line begins, and those where it ends, which are
    of the node `last`; both in the order of the links."""
    pairs = [(link.a, link.b) if link.b.node == last else (link.b, link.a) for link in links]
    names = (" ".join(str(pair[side]) for pair in pairs) for side in (0, 1))
    return 'data-a="{}" data-b="{}"'.format(*map(escape, names))


def _cable(
    cable: Cable, places: dict[str, _Place], colours: dict[float, str], load: Load | None
) -> str:
    title = _title(f"{cable.a} - {cable.b}", cable.links, load, (cable.a, cable.b))
    stroke = _stroke(cable.links, colours, load, cable.a)
    course = _course(places[cable.a], places[cable.b])
    return f'<path d="{course}" {stroke} {_ends(cable.links, cable.b)}>{title}</path>'


def _course(a: _Place, b: _Place) -> str:
    """Returns a line's; beside each other in a row: an arc above what stands between."""
    (x1, y1), (x2, y2) = a, b
    end = f"L{x2:g} {y2:g}" if y1 != y2 else f"Q{(x1 + x2) / 2:g} {y1 - 2 * _BOX:g} {x2:g} {y2:g}"
    return f"M{x1:g} {y1:g}{end}"


def _lines(tiers: Tiers) -> Iterator[tuple[str, str, Sequence[Link]]]:
    """Yields of each line of the drawing the names of its places, and its links."""
    for cable in tiers.cables:
        yield cable.a, cable.b, cable.links
    for rack in tiers.racks:
        for node, links in rack.cables:
            yield rack.hosts[0], node, links


def _ways(tiers: Tiers) -> Iterator[tuple[str, str, Sequence[Endpoint]]]:
    """Yields of each line of the drawing, once for each of its ways, the names of the places where
    it starts and ends, and the ports that send there."""
    for a, b, links in _lines(tiers):
        near = [link.a if link.b.node == b else link.b for link in links]
        far = [link.b if port == link.a else link.a for link, port in zip(links, near, strict=True)]
        yield a, b, near
        yield b, a, far


def _labels(tiers: Tiers, places: Mapping[str, _Place]) -> Iterator[str]:
    """Yields texts at lines: the switch's port near each end, and between switches the rate; what
    finds no free place is left out, and all of it in a network of very many lines."""
    lines = [line for line in _lines(tiers) if line[0] in places and line[1] in places]
    if len(lines) > _MOST_LABELLED:
        return
    taken = [_around(name, place, 0.0) for name, place in places.items()]
    hosts = {rack.hosts[0] for rack in tiers.racks}
    labels: list[tuple[str, str, str, Sequence[float]]] = []
    for a, b, links in lines:
        near = [link.a if link.b.node == b else link.b for link in links]
        far = [link.b if port == link.a else link.a for link, port in zip(links, near, strict=True)]
        # A host's own port is its only one; its switch's stands at the host, where there is room
        if a in hosts:
            labels.append((a, b, _numbers(far), _AT_HOST))
        else:
            labels.append((a, b, _numbers(near), _AT_SWITCH))
            labels.append((a, b, _numbers(far), [1 - part for part in _AT_SWITCH]))
    rates = [(a, b, quantity_text("rate", links[0].rate_bps)) for a, b, links in lines]
    labels += [(a, b, text, _MIDDLE) for a, b, text in rates if a not in hosts]
    for a, b, text, parts in labels:
        for part in parts:
            x, y = _on_course(places[a], places[b], part)
            box = _around(text, (x, y), _LABEL)
            if not any(_overlap(box, label) for label in taken):
                taken.append(box)
                yield f'<text class="port" x="{x:.1f}" y="{y + 3:.1f}">{escape(text)}</text>'
                break


def _numbers(ports: Sequence[Endpoint]) -> str:
    """Returns a switch's ports, as commands name them; of many the first and the last."""
    first, *others = [str(port) for port in ports]
    numbers = [name.rpartition(":")[2] for name in others]
    return " ... ".join([first, numbers[-1]]) if len(others) > 2 else ",".join([first, *numbers])


def _on_course(a: _Place, b: _Place, part: float) -> _Place:
    """Returns the place at a part of a line, on its arc where it has one."""
    (x1, y1), (x2, y2) = a, b
    lift = 4 * part * (1 - part) * _BOX if y1 == y2 else 0.0
    return x1 + (x2 - x1) * part, y1 + (y2 - y1) * part - lift


def _around(text: str, place: _Place, letter: float) -> tuple[float, float, float, float]:
    """Returns the left, top, right and bottom of a label, or of a node's box where `letter` is
    0."""
    wide = _width(text) if not letter else len(text) * letter
    high = _BOX if not letter else 2 * letter
    x, y = place
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _overlap(box: Sequence[float], text_box: Sequence[float]) -> bool:
    return (
        box[0] < text_box[2]
        and text_box[0] < box[2]
        and box[1] < text_box[3]
        and text_box[1] < box[3]
    )


def _emphasised(tiers: Tiers, places: dict[str, _Place], emphasis: Emphasis) -> Iterator[str]:
    for start, end, ports in _ways(tiers):
        if start not in places or end not in places:
            continue  # hosts of one rack that are linked
        course = _course(places[start], places[end])
        wide = {port: emphasis.wide[port] for port in ports if emphasis.wide.get(port)}
        if share := sum(wide.values()):
            text = ", ".join(f"{port} {part:.1%}" for port, part in wide.items())
            yield (
                f'<path class="wide" d="{course}" style="stroke-width: {WIDEST * share:.4f}px" '
                f'data-ports="{escape(" ".join(map(str, wide)))}"><title>{escape(text)}</title>'
                "</path>"
            )
        if not set(emphasis.way).isdisjoint(ports):
            yield f'<path class="way" d="{course}"/>'


def _rings(tiers: Tiers, places: dict[str, _Place], emphasis: Emphasis) -> Iterator[str]:
    """Yields rings with their texts, of which none is over another one."""
    texts: list[_Place] = []
    for start, end, ports in _ways(tiers):
        ringed = [port for port in ports if port in emphasis.rings]
        if not ringed or start not in places or end not in places:
            continue
        (x1, y1), (x2, y2) = places[start], places[end]
        part = min(_RING_AT / max(math.hypot(x2 - x1, y2 - y1), 1.0), 0.5)
        x, y = _on_course(places[start], places[end], part)
        text = "; ".join(emphasis.rings[port] for port in ringed if emphasis.rings[port])
        left, line = x + _RING + 5, y + 4
        while text and any(
            abs(line - baseline) < _LINE and abs(left - begin) < _LETTER * _ROOM
            for begin, baseline in texts
        ):
            line += _LINE
        texts += [(left, line)] * bool(text)
        yield (
            f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="{_RING}" '
            f'data-ports="{escape(" ".join(map(str, ringed)))}"/><text class="ring" '
            f'x="{left:g}" y="{line:g}">{escape(text)}</text>'
        )


def _down(
    rack: Rack,
    node: str,
    links: Sequence[Link],
    places: dict[str, _Place],
    colours: dict[float, str],
    load: Load | None,
) -> str:
    (x1, y1), (x2, y2) = places[rack.hosts[0]], places.get(node, places[rack.hosts[0]])
    title = _title(f"{rack.label} - {node}", links, load, (node, rack.label))
    stroke = _stroke(links[:1] if load is None else links, colours, load, node)
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" {stroke} {_ends(links, node)}>{title}</path>'


def _rack(rack: Rack, labels: Mapping[str, str], places: dict[str, _Place]) -> str:
    label = labels[rack.hosts[0]]
    return _box(
        rack.hosts[0],
        label,
        "host",
        places[rack.hosts[0]],
        "" if label == _text(rack) else _text(rack),
    )


def _box(name: str, label: str, kind: str, place: _Place, title: str = "") -> str:
    (x, y), width = place, _width(label)
    corner = _BOX / 2 if kind == "host" else 4
    shown = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<g data-node="{escape(name)}">{shown}<rect class="{kind}" x="{x - width / 2:g}" '
        f'y="{y - _BOX / 2:g}" width="{width:g}" height="{_BOX}" rx="{corner:g}"/><text x="{x:g}" '
        f'y="{y + 4:g}">{escape(label)}</text></g>'
    )
