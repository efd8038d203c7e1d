"""`summary.json`: the run in one page of numbers. Times and rates nominal, SI units."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments import metrics
from experiments.checks import Check
from experiments.recording import FlowRecord, Recording
from experiments.result import Result

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

_NUMBER = (int, float)
_OPTIONAL = (int, float, type(None))
_SHAPE: dict[str, Any] = {
    "schema": int,
    "scenario": str,
    "scheme": str,
    "clock": str,
    "target": str,
    "k": _NUMBER,
    "seed": int,
    "parameters": dict,
    "versions": dict,
    "provenance": {"*": str},
    "notes": [str],
    "duration_s": _NUMBER,
    "wall_s": _NUMBER,
    "deadlock_s": _OPTIONAL,
    "packets": {"sent": int, "received": int, "lost": int},
    "pfc": {
        "pause": int,
        "resume": int,
        "links": {"*": {"pause": int, "resume": int, "paused_s": _NUMBER, "pause_by_class": [int]}},
    },
    "ports": {
        "*": {
            "transmitted": int,
            "marked": int,
            "marked_ue": int,
            "notified": int,
            "queue_bytes_mean": _OPTIONAL,
            "queue_bytes_max": _OPTIONAL,
            "utilisation": _NUMBER,
        }
    },
    "flows": [
        {
            "id": int,
            "src": str,
            "dst": str,
            "sent_bytes": int,
            "received_bytes": int,
            "goodput_bps": _NUMBER,
            "start_s": _NUMBER,
            "fct_s": _OPTIONAL,
            "marked_fraction": _OPTIONAL,
            "marked_ue_fraction": _OPTIONAL,
        }
    ],
    "steady": {
        "from_s": _NUMBER,
        "utilisation": _NUMBER,
        "jain": _OPTIONAL,
        "queue_bytes_mean": _NUMBER,
        "pause": int,
    },
    "measures": {"*": _OPTIONAL},
    "checks": [
        {
            "claim": str,
            "what": str,
            "paper": _OPTIONAL,
            "theory": _OPTIONAL,
            "measured": _OPTIONAL,
            "unit": str,
            "verdict": str,
            "known": str,
        }
    ],
}


def build(result: Result) -> Summary:
    """The summary of a run. Raises ValueError if it isn't what the schema says."""
    plan, recording, steady = result.plan, result.recording, result.steady
    sent = sum(flow.sent_packets for flow in recording.flows)
    received = sum(flow.received_packets for flow in recording.flows)
    summary: Summary = {
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
    problems = mismatches(summary)
    if problems:
        raise ValueError("summary: " + "; ".join(problems))
    return summary


def side_by_side(results: Sequence[Result], compared: Sequence[Check]) -> Summary:
    """The summary of the runs of several schemes or clocks, by directory: of each what tells them apart, and the checks
    across them."""
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


def mismatches(summary: Mapping[str, Any]) -> list[str]:
    """Where `summary` isn't as the schema says: missing, unknown or mistyped entries, by path. Empty if it is."""
    return list(_compare(summary, _SHAPE, ""))


def _compare(value: Any, shape: Any, path: str) -> list[str]:
    if isinstance(shape, dict):
        if not isinstance(value, Mapping):
            return [f"{path or 'it'} must be an object"]
        if "*" in shape:
            return [problem for key in value for problem in _compare(value[key], shape["*"], f"{path}.{key}")]
        wrong = [f"{path}.{key} is missing".lstrip(".") for key in shape.keys() - value.keys()]
        wrong += [f"{path}.{key} is unknown".lstrip(".") for key in value.keys() - shape.keys()]
        return sorted(wrong) + [
            problem
            for key in shape
            if key in value
            for problem in _compare(value[key], shape[key], f"{path}.{key}".lstrip("."))
        ]
    if isinstance(shape, list):
        if not isinstance(value, Sequence) or isinstance(value, str):
            return [f"{path} must be a list"]
        return [p for index, item in enumerate(value) for p in _compare(item, shape[0], f"{path}[{index}]")]
    if not isinstance(value, shape) or isinstance(value, bool):
        return [f"{path} has the type {type(value).__name__}"]
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{path} is {value}"]
    return []


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
        "queue_bytes_mean": metrics.step_mean(times, queue, *span) if sampled else None,
        "queue_bytes_max": float(np.max(queue[inside])) if sampled else None,
        "utilisation": metrics.utilisation(*series.get(name, "transmitted_bytes"), port.rate_bps, *span),
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
