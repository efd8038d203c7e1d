"""What the page's slider replays, bin by bin: pauses by link, queues, and what each flow gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.data.series_math import Array
from pcn.experiments.results.judged_run import Result

_MOST_FRAMES = 400


def times(result: Result) -> Array:
    """Starts of the bins, in s: over the first view of the charts over time, as fine as the counters were read. Empty
    where there is no such chart, or nothing to replay it in."""
    view = next((chart.views[0] for chart in result.charts if chart.over_time), None)
    if view is None or not (result.experiment.page and result.experiment.page.replay):
        return np.empty(0)
    start, end = max(view.start * 1e-3, result.plan.start_s), min(view.end * 1e-3, result.plan.duration_s)
    bin_s = max(result.plan.sampling.counters_s, (end - start) / _MOST_FRAMES)
    return np.arange(start, end - bin_s / 2, bin_s)


def data(results: Sequence[Result]) -> dict[str, Any]:
    """Returns what the page's script replays: starts and width of the bins in ms, and of each run PAUSE frames by link
    (-1: paused, none sent), queues in KB by port and rates in Gb/s by flow; `queueMax` in KB."""
    starts = times(results[0])
    if starts.size < 2:
        return {"times": [], "runs": []}
    edges = np.append(starts, starts[-1] + starts[1] - starts[0])
    runs = [_run(result, edges) for result in results]
    return {
        "times": [round(float(start) * 1e3, 4) for start in starts],
        "bin": round(float(edges[1] - edges[0]) * 1e3, 4),
        "runs": runs,
        "queueMax": max((max(queue, default=0) for run in runs for queue in run["queues"].values()), default=0),
    }


def _run(result: Result, edges: Array) -> dict[str, Any]:
    plan, series = result.plan, result.recording.series
    entities = {flow_entity(flow.id, flow.group): None for flow in plan.topology.flows}
    links = {}
    for name in result.recording.links:
        sent = np.round(np.diff(series_math.counter_at(*series.get(name, "pause"), edges)), 1)
        held = series_math.step_at(*series.get(name, "xoff"), edges[:-1]) > 0
        if sent.any() or held.any():
            links[name] = [float(frames) if frames else -1.0 * stop for frames, stop in zip(sent, held, strict=True)]
    bits = plan.frame_bytes * 8 / 1e9 / np.diff(edges)
    return {
        "links": links,
        "queues": {
            str(port): [
                round(float(value) / 1e3, 1)
                for value in series_math.step_at(*series.get(str(port), "waiting_bytes"), edges[:-1])
            ]
            for port in plan.sampling.queues
        },
        "flows": {
            entity: np.round(
                np.diff(series_math.counter_at(*series.get(entity, "received_packets"), edges)) * bits, 2
            ).tolist()
            for entity in entities
        },
    }
