"""Explanations of flows as a page: parts, the network with the tree of PAUSEs, and the flow over
time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from pcn.experiments.data.parts import PART_TEXTS
from pcn.experiments.data.plan import Plan
from pcn.experiments.define.looks import label
from pcn.experiments.define.size_bins import size_text
from pcn.experiments.explain import words
from pcn.experiments.explain.answers import Answer
from pcn.experiments.explain.explanation import Explanation, Origin
from pcn.experiments.explain.over_time import BINS, OverTime
from pcn.experiments.page.environment import environment
from pcn.topologies.model import Endpoint, Topology
from pcn.topologies.picture.svg import Emphasis, svg

FLOWS = 20
"""Flows that a page has."""
_RINGED, _NAMED, _ROWS = 0.01, 3, 10
"""Of roots: the least share with a ring, how many have a text at it, and how many a row."""
_MOST_CABLES = 2000
_STRIPES = (
    ("pause_backlog", -45, 4, (("bad", 0, 2), ("flow4", 2, 4))),
    ("pause_idle", 0, 4, (("bad", 0, 2),)),
    ("overtaken", 45, 4, (("ink", 0, 1), ("flow3", 1, 4))),
)
"""Of phases, as report.css has those of the bar: how far they are turned, how wide they are in all,
and each one's colour and place."""
_WIDTH, _LEFT, _ROW, _GAP = 900, 96, 54, 26
"""Of a drawing over time: its width, the room of names, a row's height, and what is between."""


def render(answer: Answer, plan: Plan) -> str:
    """Returns the page of an answer about flows of a run of this plan."""
    flows = [_of(item, answer, plan.topology) for item in answer.flows[:FLOWS]]
    page: str = (
        environment()
        .get_template("explanation.html.j2")
        .render(
            flows=flows,
            stripes=_STRIPES,
            left_out=len(answer.flows) - len(flows),
            run=f"{label(plan.scheme)} on {plan.topology.name}, seed {plan.seed}",
            together=[line.strip() for line in list(words.together(answer.flows))[1:]],
        )
    )
    return page


def _of(item: Explanation, answer: Answer, topology: Topology) -> dict[str, Any]:
    changed = answer.changed_ps.get(item.id)
    known = item.complete and item.least_ps
    return {
        "anchor": f"flow-{item.id}",
        "title": f"flow {item.id}, {item.src} to {item.dst}",
        "size": "" if item.size_bytes is None else size_text(item.size_bytes),
        "since": words.us(item.from_ps),
        "whole": item.complete,
        "time": words.us(item.time_ps),
        "slowdown": f"{item.time_ps / item.least_ps:.1f}" if known else "",
        "hops": [(hop.port, words.hop_text(item, hop)) for hop in item.hops],
        "why": item.why,
        "role": item.role,
        "parts": [(name, ps, ps / item.time_ps) for name, ps in item.parts_ps.items() if ps],
        "names": {name: words.part_text(item, name) for name in PART_TEXTS},
        "window": [
            (name, ps, ps / item.parts_ps["window"]) for name, ps in item.window_ps.items() if ps
        ],
        "window_names": words.WINDOW_PARTS,
        "us": words.us,
        "network": Markup(_network(item, topology)),
        "received_rate": [line.strip() for line in words.received_rates(item)],
        "pause": words.us(item.pause_ps) if item.pause_ps else "",
        "roots": [_root(item, origin) for origin in item.origins[:_ROWS]],
        "more_roots": len(item.origins[_ROWS:]),
        "more_share": sum(origin.share for origin in item.origins[_ROWS:]),
        "over_time": Markup(_over_time(item.over_time)) if item.over_time else "",
        "instead": answer.change
        and f"{answer.change}: {words.us(changed) if changed else 'it does not arrive'}",
    }


def _root(item: Explanation, origin: Origin) -> dict[str, Any]:
    return {
        "port": origin.port,
        "share": origin.share,
        "kind": {"": "", "circle": "a circle of PAUSEs"}.get(
            origin.kind, "stopped by credits, or by no PAUSE of a switch"
        ),
        "crossed": "" if origin.kind else "yes" if origin.crossed else "no",
        "filled": ", ".join(f"{name} {share:.1%}" for name, share in words.filled(item, origin)),
    }


def _network(item: Explanation, topology: Topology) -> str:
    ports = {str(end): end for link in topology.links for end in (link.a, link.b)}
    roots = [origin for origin in item.origins if not origin.kind and origin.share >= _RINGED]
    rings = {
        ports[origin.port]: f"{origin.port} {origin.share:.1%}" if place < _NAMED else ""
        for place, origin in enumerate(roots)
    }
    way: list[Endpoint] = [ports[name] for name in item.path]
    wide = {ports[name]: share for name, share in item.through.items()}
    return svg(topology, most_cables=_MOST_CABLES, emphasis=Emphasis(wide, rings, way))


def _over_time(of: OverTime) -> str:
    """Returns phases as bars of bins, then for each port its PAUSEs and queue."""
    height = (len(of.ports) + 1) * (_ROW + _GAP) + 24
    bin_ps, step = (of.to_ps - of.from_ps) / BINS, (_WIDTH - _LEFT) / BINS
    shapes = [*_row("phases", 0), *_phases(of, bin_ps, step)]
    for place, port in enumerate(of.ports, start=1):
        top, most = place * (_ROW + _GAP), max(port.queue_bytes)
        shapes += _row(port.port, top, f"{most / 1e3:,.1f} KB" if most > 0 else "")
        shapes += _bars("stopped", [ps / bin_ps for ps in port.paused_ps], top, step)
        if most > 0:
            shapes += _queue(port.queue_bytes, most, top, step)
    for place in range(5):
        x = _LEFT + (_WIDTH - _LEFT) * place / 4
        anchor = "start" if place == 0 else "end" if place == 4 else "middle"
        text = words.us((of.to_ps - of.from_ps) * place / 4)
        shapes.append(f'<text x="{x:g}" y="{height - 4}" text-anchor="{anchor}">{text}</text>')
    return (
        f'<svg class="life" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="the flow over '
        f'time">{"".join(shapes)}</svg>'
    )


def _row(name: str, top: float, note: str = "") -> Iterator[str]:
    yield f'<text class="name" x="0" y="{top + _ROW / 2 + 4:g}">{escape(name)}</text>'
    if note:
        yield f'<text x="0" y="{top + _ROW / 2 + 20:g}">{note}</text>'
    yield (f'<path class="floor" d="M{_LEFT} {top + _ROW:g}H{_WIDTH}"/>')


def _phases(of: OverTime, bin_ps: float, step: float) -> Iterator[str]:
    below = [0.0] * BINS
    for name, amounts in of.phases_ps.items():
        shares = [ps / bin_ps for ps in amounts]
        yield from _bars(f"phase {name}", shares, 0, step, below)
        below = [start + share for start, share in zip(below, shares, strict=True)]


def _bars(
    kind: str, shares: Sequence[float], top: float, step: float, below: Sequence[float] = ()
) -> Iterator[str]:
    """Yields one path: a column for each bin, as high as its share of the row."""
    columns = []
    for place, share in enumerate(shares):
        if share > 0:
            base = top + _ROW * (1 - (below[place] if below else 0.0))
            column = f"h{step:.2f}v{-_ROW * share:.3f}h{-step:.2f}z"
            columns.append(f"M{_LEFT + place * step:.2f} {base:.2f}{column}")
    if columns:
        yield f'<path class="{kind}" d="{"".join(columns)}"/>'


def _queue(sizes: Sequence[int], most: int, top: float, step: float) -> Iterator[str]:
    points = [
        (_LEFT + (place + 0.5) * step, top + _ROW * (1 - size / most))
        for place, size in enumerate(sizes)
        if size >= 0
    ]
    if len(points) == 1:  # of a flow of one packet: a line through it wouldn't show
        yield '<circle class="found" cx="{:.2f}" cy="{:.2f}" r="3.5"/>'.format(*points[0])
        return
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    yield f'<polyline class="queue" points="{line}"/>'
