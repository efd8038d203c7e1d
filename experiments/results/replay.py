"""What the page's slider replays, moment by moment: which links are held and what waits then, and,
since the moment before, over which links PAUSE frames went and what each flow got."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.data.series_math import Array
from pcn.experiments.results.judged_run import Result

_MOST_FRAMES = 400
_ROUNDING, _ROUNDING_S = 1e-6, 5e-13
"""Of a number of moments, and of times, which are whole ps in virtual time: what is read at a
moment is in it."""


def times(result: Result) -> Array:
    """Returns the moments, in s, after one from which the first counts: when counters were read, or
    some of these times, in the first view of the charts over time. Empty where there is no such
    chart, or nothing to replay it in."""
    view = next((chart.views[0] for chart in result.charts if chart.over_time), None)
    if view is None or not (result.experiment.page and result.experiment.page.replay):
        return np.empty(0)
    start, end = (
        max(view.start * 1e-3, result.plan.start_s),
        min(view.end * 1e-3, result.plan.duration_s),
    )
    first_s, read_s = result.plan.start_s, result.plan.sampling.counters_s
    apart_s = read_s * max(1, math.ceil((end - start) / read_s / _MOST_FRAMES - _ROUNDING))
    start = first_s + read_s * math.ceil((start - first_s) / read_s - _ROUNDING)
    moments: Array = start + apart_s * np.arange(
        math.floor((end - start) / apart_s + _ROUNDING) + 1, dtype=float
    )
    return moments


def data(results: Sequence[Result]) -> dict[str, Any]:
    """Returns what the page's script replays: moments in ms, and of each run at each of them the
    PAUSE frames that each link sent since the moment before, whether it is held (0 or 1), queues in
    KB by port, which ports are roots (0 or 1), and rates in Gbit/s by flow since the moment before;
    `queueMax` in KB, and `opens`, the moment that is shown first."""
    edges = times(results[0])
    if edges.size < 3:
        return {"times": [], "runs": []}
    runs = [_run(result, edges) for result in results]
    return {
        "times": [round(float(moment) * 1e3, 4) for moment in edges[1:]],
        "runs": runs,
        "opens": _opens(runs, edges.size - 1),
        "queueMax": max(
            (max(queue, default=0) for run in runs for queue in run["queues"].values()), default=0
        ),
    }


def _run(result: Result, edges: Array) -> dict[str, Any]:
    plan, series = result.plan, result.recording.series
    entities = {flow_entity(flow.id, flow.group): None for flow in plan.topology.flows}
    at = edges[1:] + _ROUNDING_S
    links = {}
    for name in result.recording.links:
        sent = np.round(np.diff(series_math.counter_at(*series.get(name, "pause"), edges)), 1)
        held = series_math.step_at(*series.get(name, "xoff"), at) > 0
        if sent.any() or held.any():
            links[name] = {"frames": sent.tolist(), "held": held.astype(int).tolist()}
    bits = plan.frame_bytes * 8 / 1e9 / np.diff(edges)
    waiting = {
        port: series_math.step_at(*series.get(str(port), "waiting_bytes"), at)
        for port in plan.sampling.queues
    }
    return {
        "links": links,
        "queues": {
            str(port): [round(float(value) / 1e3, 1) for value in values]
            for port, values in waiting.items()
        },
        "roots": {
            str(port): _is_root(
                values, plan.topology.peer(port.node, port.port).node, port.node, links
            )
            for port, values in waiting.items()
        },
        "flows": {
            entity: np.round(
                np.diff(series_math.counter_at(*series.get(entity, "received_packets"), edges))
                * bits,
                2,
            ).tolist()
            for entity in entities
        },
    }


def _is_root(
    waiting: Array, peer: str, node: str, links: Mapping[str, Mapping[str, Any]]
) -> list[int]:
    """Returns at which moments bytes wait at a port that isn't held, and its switch holds who sends
    to it."""
    sent = [link for name, link in links.items() if name.startswith(f"{node}->")]
    taken = [link for name, link in links.items() if name == f"{peer}->{node}"]
    holds, is_held = _held(sent, waiting.size), _held(taken, waiting.size)
    roots: list[int] = ((waiting > 0) & (holds > 0) & (is_held == 0)).astype(int).tolist()
    return roots


def _held(links: Iterable[Mapping[str, Any]], moments: int) -> Array:
    """Returns how many of the links are held at each moment."""
    return _sum((link["held"] for link in links), moments)


def _sum(series: Iterable[Sequence[float]], moments: int) -> Array:
    """Returns the sum of any number of series at each moment."""
    return sum((np.array(values, float) for values in series), start=np.zeros(moments))


def _opens(runs: Sequence[Mapping[str, Any]], moments: int) -> int:
    """Returns the first moment of the largest tree of all runs; without any the one with most PAUSE
    before it, or with the longest queues."""
    links = [run["links"].values() for run in runs]
    for by_run in (
        [_held(names, moments) for names in links],
        [_sum((np.sign(link["frames"]) for link in names), moments) for names in links],
        [_sum(run["queues"].values(), moments) for run in runs],
    ):
        most: Array = np.max(by_run, axis=0)
        if most.any():
            return int(most.argmax())
    return 0


@dataclass(frozen=True)
class Tree:
    """The congestion tree of a run when it is largest. `held`: links; `roots`: ports, with what
    waits there in KB."""

    time_ms: float
    held: int
    roots: Mapping[str, float]


def largest_trees(replayed: Mapping[str, Any]) -> list[Tree | None]:
    """Returns the tree of each run of `data` at the first moment at which most links are held; None
    where none ever is."""
    times, trees = replayed["times"], []
    for run in replayed["runs"]:
        held = _held(run["links"].values(), len(times))
        at = int(held.argmax())
        roots = {
            port: run["queues"][port][at] for port, is_root in run["roots"].items() if is_root[at]
        }
        trees.append(Tree(times[at], int(held[at]), roots) if held[at] else None)
    return trees
