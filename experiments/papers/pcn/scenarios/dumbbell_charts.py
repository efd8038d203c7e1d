"""The figures of a run of long flows through one bottleneck."""

from __future__ import annotations

import numpy as np

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import aggregate_rate, capacity_reached, drained
from pcn.experiments.define import charts
from pcn.experiments.define.charts import Band, Chart, Mark, View

ZOOM_S = 15e-3
"""The start is shown enlarged up to here."""
BIN_S = 1e-3
"""Rates of events and shares of packets are of bins this long."""


def _views(plan: Plan, top: float | None = None) -> tuple[View, View]:
    end = plan.duration_s * 1e3
    zoom = min(ZOOM_S * 1e3, end)
    return View("whole run", 0.0, end, top), View(f"first {zoom:g} ms", 0.0, zoom)


def rates(plan: Plan, recording: Recording) -> Chart:
    end, capacity = recording.duration_s, plan.capacity_bps / 1e9
    lines = [
        charts.steps(
            f"flow {flow.id}: {flow.src} to {flow.dst}",
            f"flow{index}",
            recording.series.get(flow.entity, "rate_bps"),
            end,
            1e-9,
            1.3,
        )
        for index, flow in enumerate(recording.flows)
    ]
    total = charts.steps("sum", "ink", aggregate_rate(recording, plan.topology), end, 1e-9, 1.9)
    peak = float(total.y.max()) if total.y.size else 0.0
    steady = total.y[total.x >= plan.steady_from_s * 1e3]
    top = max(1.25 * capacity, 1.02 * float(steady.max()) if steady.size else 0.0)
    reached = capacity_reached(recording, plan.topology, plan.capacity_bps)
    return Chart(
        name="rates",
        title="Sending rates",
        alt="sending rate of each flow and their sum over time, with the bottleneck's capacity",
        x_label=charts.TIME,
        y_label="Sending rate (Gbit/s)",
        lines=(
            *lines,
            total,
            charts.constant(f"capacity, {capacity:g} Gbit/s", capacity, "accent", 0.0, end),
        ),
        views=_views(plan, top if peak > 1.1 * top else None),
        marks=(Mark("at capacity", reached * 1e3),) if reached else (),
    )


def queue(plan: Plan, recording: Recording) -> Chart:
    end, port = recording.duration_s, str(plan.bottleneck)
    waiting = charts.sampled(
        "waiting, sampled", "ink", recording.series.get(port, "waiting_bytes"), end, 1e-3
    )
    lines = [waiting]
    unmarked = recording.series.get(port, "pn")
    if unmarked[1].any():
        let_through = charts.sampled(
            "of these let through unmarked after a pause",
            "other1",
            unmarked,
            end,
            plan.frame_bytes / 1e3,
        )
        lines.append(let_through)
    steady = waiting.y[waiting.x >= plan.steady_from_s * 1e3]
    top = (
        max(float(np.max(steady)) * 1.6, float(np.max(waiting.y)) * 0.12, 1.0)
        if steady.size
        else None
    )
    empty = drained(recording, plan.bottleneck)
    return Chart(
        name="queue",
        title="Bottleneck queue",
        alt="bytes that wait at the bottleneck over time",
        x_label=charts.TIME,
        y_label=f"Queue at {plan.bottleneck} (KB)",
        lines=tuple(lines),
        views=_views(plan, top),
        bands=(Band("last third", plan.steady_from_s * 1e3, end * 1e3),),
        marks=(Mark("five packets", empty * 1e3),) if empty else (),
    )


def pause(plan: Plan, recording: Recording) -> Chart:
    return charts.pause_by_link(recording, BIN_S, _views(plan))


def marked(plan: Plan, recording: Recording) -> Chart:
    lines = []
    for index, name in enumerate(
        port for port, counts in recording.ports.items() if counts.transmitted
    ):
        bottleneck = name == str(plan.bottleneck)
        lines.append(
            charts.share(
                f"{name} (bottleneck)" if bottleneck else name,
                f"other{index}",
                recording.series.get(name, "marked_packets"),
                recording.series.get(name, "transmitted_packets"),
                BIN_S,
                (0.0, recording.duration_s),
                "solid" if bottleneck else "dashed",
            )
        )
    return Chart(
        name="marked",
        title="Marked packets",
        alt="share of the packets that carried a mark over time, by port",
        x_label=charts.TIME,
        y_label="Marked (%)",
        lines=tuple(lines),
        views=_views(plan, 103.0),
    )


CHARTS = (rates, queue, pause, marked)
