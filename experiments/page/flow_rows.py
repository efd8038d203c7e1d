"""The table of a run's flows: a row a flow, or a group of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from pcn.controller.texts import marks_text
from pcn.experiments.data.parameters import format_value
from pcn.experiments.data.recording import FlowRecord
from pcn.experiments.define.looks import flow_colours
from pcn.experiments.draw.palette import dot
from pcn.experiments.results.judged_run import Result
from pcn.experiments.results.summary import goodput_bps

_MOST_NAMES = 4
"""Hosts of a group of flows that are all named."""
COLUMNS = (
    ("goodput", "goodput of a flow, mean"),
    ("steady", "last third"),
    ("share", "share"),
    ("limit", "its own limiter"),
    ("marked", "marked"),
    ("fct", "completion time"),
    ("sent", "sent"),
    ("received", "received"),
)


def rows(result: Result) -> list[dict[str, Any]]:
    """Returns a row a flow, the flows of a group together."""
    singles = [flow for flow in result.recording.flows if not flow.group]
    groups: dict[str, list[FlowRecord]] = {}
    for flow in result.recording.flows:
        if flow.group:
            groups.setdefault(flow.group, []).append(flow)
    colours = flow_colours(flow.entity for flow in result.recording.flows)
    limits = {spec.id: spec.rate_bps for spec in result.plan.topology.flows}
    lines = [_flow(colours[flow.entity], str(flow.id), [flow], limits, result) for flow in singles]
    ordered = [group for group in colours if group in groups]
    lines += [
        _flow(colours[name], f"{len(groups[name]):,} {name}", groups[name], limits, result)
        for name in ordered
    ]
    return lines


def _flow(
    colour: str,
    name: str,
    flows: Sequence[FlowRecord],
    limits: Mapping[int, float | None],
    result: Result,
) -> dict[str, Any]:
    sent, received, marked, marked_ue = (
        sum(map(attrgetter(f"{counter}_packets"), flows))
        for counter in ("sent", "received", "marked", "marked_ue")
    )
    goodput = [goodput_bps(flow, result.recording.duration_s) for flow in flows]
    steady = result.steady.goodput_bps.get(flows[0].id)
    total = sum(result.steady.goodput_bps.values())
    fct = [flow.fct_s for flow in flows if flow.fct_s is not None]
    missing = len(flows) - len(fct) if fct else 0
    return {
        "colour": dot(colour),
        "name": name,
        "src": _span([flow.src for flow in flows]),
        "dst": _span([flow.dst for flow in flows]),
        "goodput": f"{float(np.mean(goodput)) / 1e9:.3f} Gbit/s",
        "steady": "–" if steady is None else f"{steady / 1e9:.3f} Gbit/s",
        "share": "–" if steady is None or not total else f"{steady / total:.1%}",
        "limit": ", ".join(
            dict.fromkeys(
                "–" if (limit := limits.get(flow.id)) is None else format_value("rate", limit)
                for flow in flows
            )
        ),
        "marked": marks_text(marked / received, marked_ue / received) if received else "–",
        "fct": f"{missing:,} of {len(flows):,} unfinished"
        if missing
        else f"{float(np.mean(fct)) * 1e3:.2f} ms, at most {max(fct) * 1e3:.2f}"
        if fct
        else "–",
        "sent": f"{sent:,}",
        "received": f"{received:,}",
    }


def _span(names: Sequence[str]) -> str:
    *first, last = dict.fromkeys(names)
    if len(first) < _MOST_NAMES:
        return f"{', '.join(first)}{' and ' if first else ''}{last}"
    return f"{len(first) + 1} hosts ({first[0]}, {first[1]}, ... {last})"
