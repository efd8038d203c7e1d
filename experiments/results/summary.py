"""`summary.json`: a run in one page of numbers. Times and rates nominal, SI units."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.data import series_math
from experiments.data.recording import FlowRecord, Recording
from experiments.define.checks import Check
from experiments.results.judged_run import Result

SCHEMA = 1

Summary = dict[str, Any]
_OF_EACH = (
    "scheme",
    "clock",
    "target",
    "k",
    "parameters",
    "duration_s",
    "packets",
    "pfc",
    "steady",
    "measures",
    "checks",
)


def build(result: Result) -> Summary:
    """Returns the summary of a run."""
    plan, recording, steady = result.plan, result.recording, result.steady
    sent = sum(flow.sent_packets for flow in recording.flows)
    received = sum(flow.received_packets for flow in recording.flows)
    return {
        "schema": SCHEMA,
        "scenario": plan.scenario,
        "scheme": plan.scheme,
        "clock": result.clock,
        "target": result.target,
        "k": recording.k,
        "seed": plan.seed,
        "parameters": dict(plan.values),
        "versions": dict(recording.versions),
        "provenance": dict(result.provenance),
        "notes": list(recording.notes),
        "duration_s": recording.duration_s,
        "wall_s": round(recording.wall_s, 3),
        "deadlock_s": None if recording.deadlock is None else recording.deadlock.since_s,
        "packets": {"sent": sent, "received": received, "lost": sent - received},
        "pfc": {
            "pause": sum(link.pause for link in recording.links.values()),
            "resume": sum(link.resume for link in recording.links.values()),
            "links": {
                name: {**asdict(link), "pause_by_class": list(link.pause_by_class)}
                for name, link in recording.links.items()
            },
        },
        "ports": {name: _port(name, recording) for name in recording.ports},
        "flows": [_flow(flow, recording.duration_s) for flow in recording.flows],
        "steady": {
            "from_s": steady.from_s,
            "utilisation": steady.utilisation,
            "jain": steady.jain,
            "queue_bytes_mean": steady.queue_bytes_mean,
            "pause": steady.pause,
        },
        "measures": dict(result.outcome.numbers),
        "checks": [asdict(check) for check in result.checks],
    }


def side_by_side(results: Sequence[Result], compared: Sequence[Check]) -> Summary:
    """Returns `comparison.json` of the runs of several schemes or clocks, by directory: of each what distinguishes it,
    and the checks across them."""
    first = results[0]
    return {
        "schema": SCHEMA,
        "scenario": first.plan.scenario,
        "seed": first.plan.seed,
        "provenance": dict(first.provenance),
        "wall_s": round(sum(result.recording.wall_s for result in results), 3),
        "runs": {
            result.folder: {name: whole[name] for name in _OF_EACH} for result in results for whole in [build(result)]
        },
        "checks": [asdict(check) for check in compared],
    }


def goodput_bps(flow: FlowRecord, duration_s: float) -> float:
    """Payload that arrived, over the time from the flow's start to its end (or that of the run)."""
    active = flow.fct_s or flow.duration_s or duration_s - flow.start_s
    return 8 * flow.received_bytes / active if active > 0 else 0.0


def dumps(summary: Summary) -> str:
    """The summary as JSON text; refuses NaN and infinities, which JSON doesn't have."""
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


def _port(name: str, recording: Recording) -> dict[str, Any]:
    port = recording.ports[name]
    series = recording.series
    times, queue = series.get(name, "waiting_bytes")
    sampled = times.size > 0 and times[0] < recording.duration_s
    inside = times <= recording.duration_s
    span = (recording.start_s, recording.duration_s)
    return {
        "transmitted": port.transmitted,
        "marked": port.marked,
        "marked_ue": port.marked_ue,
        "notified": port.notified,
        "queue_bytes_mean": series_math.step_mean(times, queue, *span) if sampled else None,
        "queue_bytes_max": float(np.max(queue[inside])) if sampled else None,
        "utilisation": series_math.utilisation(*series.get(name, "transmitted_bytes"), port.rate_bps, *span),
    }


def _flow(flow: FlowRecord, duration_s: float) -> dict[str, Any]:
    return {
        "id": flow.id,
        "src": flow.src,
        "dst": flow.dst,
        "sent_bytes": flow.sent_bytes,
        "received_bytes": flow.received_bytes,
        "goodput_bps": goodput_bps(flow, duration_s),
        "start_s": flow.start_s,
        "fct_s": flow.fct_s,
        "marked_fraction": flow.marked_packets / flow.received_packets if flow.received_packets else None,
        "marked_ue_fraction": flow.marked_ue_packets / flow.received_packets if flow.received_packets else None,
    }
