"""The figures of the victim scenario: the paper's Fig. 2 and 3, and what explains them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import charts
from pcn.experiments.define.charts import Band, Chart, Line, Mark, Stroke, View
from pcn.experiments.define.checks import Claim
from pcn.experiments.papers.pcn.claims import IDEAL, LOSS, TREE
from pcn.experiments.papers.pcn.scenarios.victim_measures import BIN_S, TRUNK, allowed
from pcn.experiments.papers.pcn.scenarios.victim_setting import (
    BURSTS,
    attainable_bps,
    burst_s,
    fair_bps,
    ideal_bps,
)
from pcn.topologies.compact import P0_S0, P2_S1, P3_S1
from pcn.topologies.model import Endpoint

AROUND_S = (-0.5e-3, 8e-3)
"""What the first view shows: the bursts and what follows at once."""
_SMOOTH_S, _PAUSE_BIN_S = 0.2e-3, 0.25e-3
_GIGA, _FLOWS = 1e-9, ("flow 0", "flow 1")


def _span(plan: Plan) -> tuple[float, float]:
    return plan.start_s, plan.duration_s


def _views(plan: Plan, top: float | None = None) -> tuple[View, View]:
    start, end = plan.start_s * 1e3, plan.duration_s * 1e3
    around = View(
        "around the bursts", max(start, AROUND_S[0] * 1e3), min(end, AROUND_S[1] * 1e3), top
    )
    return around, View("whole run", start, end, top)


def _bands(plan: Plan) -> tuple[Band, ...]:
    return (Band("bursts", 0.0, burst_s(plan) * 1e3),)


def _marks(label: str, claim: Claim | None, plan: Plan) -> tuple[Mark, ...]:
    return () if claim is None else (Mark(label, claim[plan.scheme]),)


def pause(plan: Plan, recording: Recording) -> Chart:
    to_bursting = [name for name in recording.links if name.startswith("s1->h")]
    series = recording.series
    lines = [
        charts.events(label, colour, series.get(link, "pause"), _PAUSE_BIN_S, _span(plan), 1e-3)
        for link, label, colour in (
            (TRUNK, "S1 to S0", "ink"),
            ("s0->h0", "S0 to H0", "flow0"),
            ("s0->h1", "S0 to H1", "flow1"),
        )
    ]
    if to_bursting:
        by_link = [
            charts.events("", "muted", series.get(link, "pause"), _PAUSE_BIN_S, _span(plan), 1e-3)
            for link in to_bursting
        ]
        mean = np.mean([line.y for line in by_link], axis=0)
        lines.append(
            Line(
                "S1 to a bursting host, mean",
                by_link[0].x,
                mean,
                "muted",
                "steps",
                stroke="dotted",
                width=1.2,
            )
        )
    return Chart(
        name="pause",
        title="The congestion tree: PAUSE by link",
        alt=(
            "PAUSE frames a millisecond over time, from S1 to S0, from S0 to H0 and H1, and to the "
            "bursting hosts"
        ),
        x_label=charts.TIME,
        y_label="PAUSE frames (1/ms)",
        lines=tuple(lines),
        views=_views(plan),
        bands=_bands(plan),
        marks=_marks("the paper's tree ends", TREE.get(plan.scheme), plan),
    )


def throughput(plan: Plan, recording: Recording) -> Chart:
    frame_bits = plan.frame_bytes * 8 * _GIGA
    burst = burst_s(plan)
    lines = [
        charts.rate(
            f"F{index}",
            f"flow{index}",
            recording.series.get(entity, "received_packets"),
            _SMOOTH_S / 2,
            _span(plan),
            frame_bits,
        )
        for index, entity in enumerate(_FLOWS)
    ]
    lines += [
        charts.constant(
            f"F{index} {'ideal' if most == ideal else 'by its limiter'}, {most * _GIGA:.4g}",
            most * _GIGA,
            f"flow{index}",
            0.0,
            burst,
        )
        for index, (ideal, most) in enumerate(
            zip(ideal_bps(plan), attainable_bps(plan), strict=True)
        )
    ]
    lines += [
        charts.constant(f"the paper's, {paper:g}", paper, f"flow{index}", 0.0, burst, "dotted")
        for index, paper in enumerate((IDEAL["f0"], IDEAL["f1"]))
        if plan.number("rate") == 40e9 and plan.number("senders") == 16
    ]
    fair = fair_bps(plan) * _GIGA
    lines.append(charts.constant(f"fair share, {fair:g}", fair, "muted", *_span(plan), "dotted"))
    bursts = recording.series.get(BURSTS, "received_packets")
    lines.append(
        charts.rate("all bursts", "flow2", bursts, _SMOOTH_S / 2, _span(plan), frame_bits, "dotted")
    )
    return Chart(
        name="throughput",
        title="What the flows get",
        alt="rate at which F0, F1 and the bursts arrive over time, beside the ideal",
        x_label=charts.TIME,
        y_label="Received, frames (Gbit/s)",
        lines=tuple(lines),
        views=_views(plan),
        bands=_bands(plan),
        marks=_marks("the paper's loss ends", LOSS if plan.scheme in LOSS else None, plan),
    )


def rates(plan: Plan, recording: Recording) -> Chart:
    lines: list[Line] = []
    for index, entity in enumerate(_FLOWS):
        rate = allowed(plan, recording, entity)
        sent = recording.series.get(entity, "sent_bytes")
        lines.append(
            charts.steps(
                f"F{index} set by the algorithm", f"flow{index}", rate, plan.duration_s, _GIGA
            )
        )
        lines.append(
            charts.rate(
                f"F{index} really sent",
                f"flow{index}",
                sent,
                BIN_S,
                _span(plan),
                8 * _GIGA,
                "dotted",
            )
        )
    return Chart(
        name="rates",
        title="Rates set and rates sent",
        alt=(
            "the rate that the algorithm sets for F0 and F1 over time, and the rate at which they "
            "really send"
        ),
        x_label=charts.TIME,
        y_label="Sending rate, frames (Gbit/s)",
        lines=tuple(lines),
        views=_views(plan, plan.number("rate") * _GIGA * 1.05),
        bands=_bands(plan),
    )


def marked(plan: Plan, recording: Recording) -> Chart:
    series = recording.series
    lines = [
        charts.share(
            f"F{index}, at its receiver",
            f"flow{index}",
            series.get(entity, "marked_packets"),
            series.get(entity, "received_packets"),
            _SMOOTH_S,
            _span(plan),
        )
        for index, entity in enumerate(_FLOWS)
    ]
    ports: tuple[tuple[Endpoint, str, str, Stroke], ...] = (
        (P0_S0, "S0 to S1, both flows", "other3", "dotted"),
        (P3_S1, "S1 to R0, F0 alone", "ink", "dashed"),
    )
    lines += [
        charts.share(
            label,
            colour,
            series.get(str(port), "marked_packets"),
            series.get(str(port), "transmitted_packets"),
            _SMOOTH_S,
            _span(plan),
            stroke,
        )
        for port, label, colour, stroke in ports
    ]
    return Chart(
        name="marked",
        title="Who is marked, and where",
        alt=(
            "share of F0's and F1's packets that arrive marked over time, and of the packets that "
            "two ports marked"
        ),
        x_label=charts.TIME,
        y_label="Marked (%)",
        lines=tuple(lines),
        views=_views(plan, 103.0),
        bands=_bands(plan),
    )


def queues(plan: Plan, recording: Recording) -> Chart:
    return replace(compact_queues(plan, recording), views=_views(plan), bands=_bands(plan))


def compact_queues(plan: Plan, recording: Recording) -> Chart:
    """Returns the chart of both congested ports of the compact network."""
    ports = ((P2_S1, "S1 to R1", "other3"), (P0_S0, "S0 to S1", "other1"))
    return Chart(
        name="queues",
        title="Queues",
        alt="bytes that wait at S1 for R1 and at S0 for S1 over time",
        x_label=charts.TIME,
        y_label="Waiting (KB)",
        lines=tuple(
            charts.sampled(
                label,
                colour,
                recording.series.get(str(port), "waiting_bytes"),
                plan.duration_s,
                1e-3,
            )
            for port, label, colour in ports
        ),
        views=(View("over time", 0.0, plan.duration_s * 1e3),),
    )


def fct(plan: Plan, recording: Recording) -> Chart:
    done = np.sort(
        [flow.fct_s for flow in recording.flows if flow.group == BURSTS and flow.fct_s is not None]
    )
    total = sum(flow.group == BURSTS for flow in recording.flows)
    x = np.concatenate(([0.0], done)) * 1e3
    y = np.arange(x.size) * 100 / max(total, 1)
    end = max(float(x[-1]) * 1.05, burst_s(plan) * 1e3)
    view = View("bursts", 0.0, end, 103.0)
    return Chart(
        name="fct",
        title="When the bursts' flows are done",
        alt="share of the bursts' flows that are complete, by flow completion time",
        x_label="Flow completion time (ms, nominal)",
        y_label="Complete (%)",
        lines=(
            Line(f"{total} flows of {plan.number('burst_size') / 1e3:g} KB", x, y, "ink", "steps"),
        ),
        views=(view, view),
    )


CHARTS = (pause, throughput, rates, marked, queues, fct)
