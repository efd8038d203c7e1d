"""What the report of a run of traffic shows."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.parameters import format_value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.records import parse_port
from pcn.experiments.data.steady_state import Steady
from pcn.experiments.define import charts
from pcn.experiments.define.charts import Chart, Line, View
from pcn.experiments.define.experiment import Headline
from pcn.experiments.define.looks import GROUPS
from pcn.experiments.define.outcomes import number_text
from pcn.experiments.define.size_bins import size_text
from pcn.experiments.traffic import collective, single_flows
from pcn.experiments.traffic.flows import (
    ALL,
    ended,
    kinds,
    numbers,
    pause_by_class,
    pause_by_tier,
    size_class,
    tier_of,
)
from pcn.topologies import extras

_BIN_S = 1 / 200
"""Of a run: what PAUSE frames are counted in."""
_POINTS = 400
"""Of a line over flows: more than a picture shows."""


def slowdown(plan: Plan, recording: Recording) -> Chart:
    completions = ended(plan, recording)
    lines, most, longest = [], 1.0, 1.0
    for size in kinds(plan):
        _, values = completions.of(size)
        ordered = np.sort(values[~np.isnan(values)])
        if ordered.size:
            shown = np.linspace(0, ordered.size - 1, _POINTS).round().astype(int)
            shown = shown[np.diff(shown, prepend=-1) > 0]
            lines.append(
                Line(
                    size_class(size),
                    ordered[shown],
                    (shown + 1) / values.size * 100,
                    GROUPS[size],
                    "steps",
                )
            )
            most, longest = (
                max(most, series_math.percentile(ordered, 99)),
                max(longest, float(ordered[-1])),
            )
    return Chart(
        name="slowdown",
        title="Slowdown",
        alt=(
            "share of the flows of a size whose completion time is at most a multiple of that in "
            "the empty network"
        ),
        x_label="Completion time over that in the empty network",
        y_label="Flows (%)",
        lines=tuple(lines),
        views=(View(f"up to the largest 99%; 100% at {longest:.3g}", 1.0, most * 1.02),),
        log_x=True,
        empty="no flow has arrived",
    )


def under_way(plan: Plan, recording: Recording) -> Chart:
    lines = []
    completions = ended(plan, recording)
    for size in kinds(plan):
        mask = completions.sizes == size
        # NaN last
        starts, ends = (
            np.sort(completions.start_s[mask]),
            np.sort((completions.start_s + completions.fct_s)[mask]),
        )
        if starts.size:
            times = series_math.distinct(np.append(starts, ends[~np.isnan(ends)]))
            if times.size > _POINTS:
                times = np.linspace(times[0], times[-1], _POINTS)
            under = np.searchsorted(starts, times, "right") - np.searchsorted(ends, times, "right")
            lines.append(
                charts.steps(
                    size_class(size),
                    GROUPS[size],
                    (times, under.astype(float)),
                    recording.duration_s,
                )
            )
    return Chart(
        name="under_way",
        title="Flows under way",
        alt="flows that have started and not arrived over time, by size",
        x_label=charts.TIME,
        y_label="Flows",
        lines=tuple(lines),
        views=_views(plan, recording),
    )


def queues(plan: Plan, recording: Recording) -> Chart:
    """Returns the chart of the ports with the largest queues; of a live run, among the ports that
    were read."""
    series, (view,) = recording.series, _views(plan, recording)
    metric = "queue_bytes" if recording.recorded.queue_max else "waiting_bytes"
    edges = np.linspace(0.0, view.end / 1e3, _POINTS + 1)
    lines = []
    for number, port in enumerate(map(parse_port, series.entities(metric))):
        largest = series_math.binned_max(*series.get(str(port), metric), edges)
        label = f"{port} to {plan.topology.peer(port.node, port.port).node}"
        lines.append(
            charts.steps(label, f"other{number}", (edges[:-1], largest), view.end / 1e3, 1e-3)
        )
    return Chart(
        name="queues",
        title="Largest queues",
        alt="bytes that wait at the ports that had the largest queues, over time",
        x_label=charts.TIME,
        y_label="Waiting (KB)",
        lines=tuple(lines),
        views=(view,),
        empty="no queue was seen",
    )


def pause(plan: Plan, recording: Recording) -> Chart:
    """Returns the chart of PAUSE frames by tier, as a network may have thousands of links."""
    lines = []
    bin_s, span_s = recording.duration_s * _BIN_S, (0.0, recording.duration_s)
    times = np.arange(0.0, recording.duration_s + bin_s, bin_s)
    for number, (tier, frames) in enumerate(sorted(pause_by_tier(recording).items())):
        if frames:
            link_names = (name for name in recording.links if tier_of(name) == tier)
            counters = [
                series_math.counter_at(*recording.series.get(name, "pause"), times)
                for name in link_names
            ]
            lines.append(
                charts.events(
                    f"{tier}*",
                    f"other{number}",
                    (times, np.sum(counters, axis=0)),
                    bin_s,
                    span_s,
                    1e-3,
                )
            )
    return Chart(
        name="pause",
        title="PAUSE",
        alt="PAUSE frames over time, by the tier of the switches that send them",
        x_label=charts.TIME,
        y_label="PAUSE frames (1/ms)",
        lines=tuple(lines),
        views=_views(plan, recording),
        empty="no PAUSE was sent",
    )


def _views(plan: Plan, recording: Recording) -> tuple[View]:
    """Returns the view that ends when the last flow has arrived, or with the run where one
    hasn't."""
    completions = ended(plan, recording)
    last_s = float((completions.start_s + completions.fct_s).max())
    end_s = recording.duration_s if math.isnan(last_s) else min(last_s * 1.02, recording.duration_s)
    return (View("whole run", 0.0, end_s * 1e3),)


CHARTS = (slowdown, under_way, queues, pause, *single_flows.CHARTS)


def headlines(plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
    measured = numbers(plan, recording)
    missing = measured[f"unfinished {ALL}"]
    why = _unfinished(measured, ALL) if missing else ""
    return [
        *collective.headlines(plan, recording),
        Headline("mean completion time", number_text(measured[f"mean_ms {ALL}"], "ms"), why),
        Headline("99% completion time", number_text(measured[f"p99_ms {ALL}"], "ms"), why),
        Headline("mean slowdown", number_text(measured[f"mean_slowdown {ALL}"]), why),
        Headline("99% slowdown", number_text(measured[f"p99_slowdown {ALL}"]), why),
        Headline("PAUSE frames", f"{measured['pause_frames'] or 0:,.0f}"),
        Headline("flows unfinished", number_text(missing, digits=6)),
    ]


def _unfinished(measured: Mapping[str, float | None], size: str) -> str:
    return (
        f"{measured[f'unfinished {size}']:,.0f} of {measured[f'flows {size}']:,.0f} flows "
        "unfinished"
    )


def about(plan: Plan) -> list[tuple[str, str]]:
    topology, specs = plan.topology, plan.topology.flows
    size = sum(flow.size_bytes or 0 for flow in specs) / len(specs)
    last_s = max(flow.start_s for flow in specs)
    when = f"within {format_value('time', last_s)}" if last_s else "at once"
    return [
        (
            "topology",
            f"{topology.name}: {len(topology.hosts)} hosts, {len(topology.switches)} switches. "
            f"{len(specs):,} flows of {size_text(size)} on average, "
            f"{len(specs) / len(topology.hosts):.3g} a host, start {when}; the run "
            + (
                "ends when all have arrived."
                if plan.until_complete
                else f"ends after {format_value('time', plan.duration_s)}."
            ),
        ),
        (
            "slowdown",
            "S: flows up to 10 KB, M: up to 100 KB, L: up to 1 MB, XL: longer ones. Slowdown is "
            "the completion time over that of the same flow in the empty network, with frames "
            "without telemetry.",
        ),
        *[("checks", "flows.parquet has a row for each flow.")] * extras.installed("parquet"),
    ]


def story(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    measured = numbers(plan, recording)
    late = [
        f"{size}: {_unfinished(measured, size)}, so no mean and no percentile."
        for size in (ALL, *kinds(plan))
        if measured[f"flows {size}"] and measured[f"unfinished {size}"]
    ]
    tiers = [
        f"{name}* {count:,}" for name, count in sorted(pause_by_tier(recording).items()) if count
    ]
    classes = [
        f"class {number} {count:,}"
        for number, count in enumerate(pause_by_class(recording))
        if count
    ]
    paragraphs = [("slowdown", " ".join(late))] if late else []
    if tiers:
        paragraphs.append(("pause", f"PAUSE frames: {', '.join([*tiers, *classes])}."))
    return paragraphs
