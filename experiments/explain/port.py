"""What a port did, and where its PAUSEs came from; and a single PAUSE."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pcn.experiments.data.pauses import Pause, Pauses, Root
from pcn.experiments.explain.again import Again
from pcn.experiments.explain.lines import CONTROL, Lines

Facts = dict[str, Any]
_LARGEST = 5
"""Flows of groups that are named."""


def explain_port(
    again: Again, lines: Lines, pauses: Pauses, port: int, span_ps: tuple[int, int]
) -> Facts:
    """Returns whose frames were on a port's line within a span, as shares of it, by group and of
    the groups' largest flows; how long each class was PAUSEd, by root; and how much of all PAUSEs
    of others came from it."""
    names = [str(item) for item in again.logs.ports]
    begin, end = span_ps
    span = max(end - begin, 1)
    by_flow = lines.at(port).by_flow(begin, end)
    fair = lines.at(port).fair(begin, end)
    groups: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    labels = {
        flow.id: flow.group or f"flow {flow.id} {flow.src} > {flow.dst}"
        for flow in again.plan.topology.flows
    }
    for flow, ps in by_flow.items():
        of = groups["control frames" if flow == CONTROL else labels[flow]]
        of[0] += 1
        of[1] += ps / span
        of[2] += fair.get(flow, 0.0) / span
    ordered = sorted(groups.items(), key=lambda item: -item[1][1])
    largest: list[Facts] = [
        {
            "id": flow.id,
            "name": f"flow {flow.id} {flow.src} > {flow.dst}",
            "share": by_flow[flow.id] / span,
        }
        for flow in again.plan.topology.flows
        if flow.group and flow.id in by_flow
    ]
    largest.sort(key=lambda row: -row["share"])
    stopped: dict[int, Facts] = {}
    for traffic_class in sorted({pause.traffic_class for pause in pauses.all}):
        followed, _ = pauses.blame((port, traffic_class), [(begin, end)])
        roots = followed.roots
        total = sum(ps for _, ps in pauses.closed((port, traffic_class), begin, end))
        if total:
            stopped[traffic_class] = {"paused_ps": total, "roots": _shares(roots, names)}
    caused: dict[int, float] = defaultdict(float)
    for pause in pauses.all:
        length = min(pause.to_ps, end) - max(pause.from_ps, begin)
        weight = pauses.roots(pause).get(Root(port), 0.0)
        if length > 0 and weight:
            caused[pause.port] += length * weight
    return {
        "port": names[port],
        "from_ps": begin - again.zero_ps,
        "time_ps": end - begin,
        "idle": 1 - sum(by_flow.values()) / span,
        "flows": [
            {"name": name, "flows": int(n), "share": share, "fair": due}
            for name, (n, share, due) in ordered
        ],
        "largest": largest[:_LARGEST],
        "paused": stopped,
        "caused_ps": {
            names[at]: ps for at, ps in sorted(caused.items(), key=lambda item: -item[1])
        },
    }


def explain_pause(again: Again, lines: Lines, pauses: Pauses, pause: Pause) -> Facts:
    """Returns where a PAUSE came from, and who filled what its bytes waited for."""
    names = [str(item) for item in again.logs.ports]
    labels = {
        flow.id: flow.group or f"flow {flow.id} {flow.src} > {flow.dst}"
        for flow in again.plan.topology.flows
    }
    outputs = []
    for waiting, share in pauses.outputs(pause):
        filled: dict[str, float] = defaultdict(float)
        for flow, size in lines.at(waiting.port).work_of(pause.from_ps, waiting.work_ps).items():
            filled[labels[flow]] += size
        total = sum(filled.values())
        without = min(waiting.without_ps / waiting.work_ps, 1.0) if waiting.work_ps else 1.0
        outputs.append(
            {
                "port": names[waiting.port],
                "share": share,
                "bytes": waiting.bytes,
                "without_pause": without,
                "filled": {
                    name: size / total
                    for name, size in sorted(filled.items(), key=lambda item: -item[1])
                },
            }
        )
    return {
        "number": pause.number,
        "port": names[pause.port],
        "class": pause.traffic_class,
        "from_ps": pause.from_ps - again.zero_ps,
        "time_ps": pause.to_ps - pause.from_ps,
        "held_bytes": pause.held_bytes,
        "used_bytes": pause.used_bytes,
        "threshold_bytes": pause.threshold_bytes,
        "waiting": outputs,
        "roots": _shares(pauses.roots(pause), names),
        "tree": [
            {
                "depth": depth,
                "port": names[port],
                "pauses": n,
                "shares": {names[item]: part for item, part in shares.items()},
            }
            for depth, port, n, shares in pauses.tree({pause.number: 1.0})
        ],
    }


def _shares(roots: dict[Root, float], names: list[str]) -> dict[str, float]:
    total = sum(roots.values())
    ordered = sorted(roots.items(), key=lambda item: -item[1])
    return {f"{root.kind} {names[root.port]}".strip(): weight / total for root, weight in ordered}
