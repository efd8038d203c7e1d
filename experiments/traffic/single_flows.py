"""Charts of the flows that a run recorded one by one (`Records.flows`); none where there are
none."""

from __future__ import annotations

from collections.abc import Callable

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import FlowRecord, Recording, flow_entity
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import charts
from pcn.experiments.define.charts import Chart, Line, View

_MOST = 8
"""Flows that a chart has."""
_BINS = 100


def single_rates(plan: Plan, recording: Recording) -> Chart | None:
    def line(number: int, flow: FlowRecord) -> Line:
        series = recording.series.get(flow_entity(flow.id), "rate_bps")
        return charts.steps(_name(flow), f"flow{number}", series, recording.duration_s, 1e-9)

    return _chart(recording, "single_rates", "Sending rates of single flows", "Rate (Gbit/s)", line)


def single_marks(plan: Plan, recording: Recording) -> Chart | None:
    def line(number: int, flow: FlowRecord) -> Line:
        part, whole = (
            _read(recording, flow, name) for name in ("marked_packets", "received_packets")
        )
        span_s = _span_s(recording)
        bin_s = max((span_s[1] - span_s[0]) / _BINS, plan.sampling.flows_s)
        return charts.share(_name(flow), f"flow{number}", part, whole, bin_s, span_s)

    return _chart(
        recording, "single_marks", "Marked packets of single flows", "Marked CE (%)", line
    )


def single_alpha(plan: Plan, recording: Recording) -> Chart | None:
    return _variable(recording, "alpha", "alpha")


def single_w(plan: Plan, recording: Recording) -> Chart | None:
    return _variable(recording, "w", "w")


def single_ccti(plan: Plan, recording: Recording) -> Chart | None:
    return _variable(recording, "ccti", "CCT index")


def single_rtt_s(plan: Plan, recording: Recording) -> Chart | None:
    return _variable(recording, "rtt_s", "Round trip (us)", 1e6)


CHARTS = (single_rates, single_marks, single_alpha, single_w, single_ccti, single_rtt_s)


def _variable(recording: Recording, metric: str, label: str, unit: float = 1.0) -> Chart | None:
    """Returns what an RP keeps beside its rate; None: this scheme's has no such variable."""
    if not recording.series.entities(metric):
        return None

    def line(number: int, flow: FlowRecord) -> Line:
        series = recording.series.get(flow_entity(flow.id), metric)
        return charts.steps(_name(flow), f"flow{number}", series, recording.duration_s, unit)

    return _chart(
        recording, f"single_{metric}", f"{label.partition(' (')[0]} of single flows", label, line
    )


def _read(recording: Recording, flow: FlowRecord, metric: str) -> tuple[Array, Array]:
    return recording.series.get(flow_entity(flow.id), metric)


def _recorded(recording: Recording) -> list[FlowRecord]:
    named = set(recording.series.entities("rate_bps"))
    if not named:
        return []
    return [flow for flow in recording.flows if flow_entity(flow.id) in named]


def _name(flow: FlowRecord) -> str:
    return f"flow {flow.id}: {flow.src} to {flow.dst}"


def _span_s(recording: Recording) -> tuple[float, float]:
    """Returns the first start of these flows and the last end, in s."""
    flows = _recorded(recording)[:_MOST]
    ends = [
        recording.duration_s if flow.fct_s is None else flow.start_s + flow.fct_s for flow in flows
    ]
    return min(flow.start_s for flow in flows), max(ends)


def _chart(
    recording: Recording, name: str, title: str, label: str, line: Callable[[int, FlowRecord], Line]
) -> Chart | None:
    flows = _recorded(recording)
    if not flows:
        return None
    start_s, end_s = _span_s(recording)
    room_s = 0.02 * (end_s - start_s)
    first = f", the first {_MOST} of {len(flows):,}" if len(flows) > _MOST else ""
    return Chart(
        name=name,
        title=title + first,
        alt=f"{title.lower()} over time{first}",
        x_label=charts.TIME,
        y_label=label,
        lines=tuple(line(number, flow) for number, flow in enumerate(flows[:_MOST])),
        views=(View("whole run", (start_s - room_s) * 1e3, (end_s + room_s) * 1e3),),
    )
