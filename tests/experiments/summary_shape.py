"""What readers of `summary.json` rely on: the names and types of its entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_NUMBER = (int, float)
_OPTIONAL = (int, float, type(None))
SHAPE: dict[str, Any] = {
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


def mismatches(summary: Mapping[str, Any]) -> list[str]:
    """Returns entries that are missing, unknown or of another type, by path."""
    return list(_compare(summary, SHAPE, ""))


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
