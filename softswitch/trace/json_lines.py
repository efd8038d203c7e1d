"""Steps as JSON, a line each: {"switch": NAME, "packet": N, "time_ns": N, "step": KIND, ...}."""

from __future__ import annotations

import json
from typing import Any

from softswitch.trace.decoder import Step


def line(switch: str, step: Step) -> str:
    """Returns a step's line, without its end."""
    head: dict[str, Any] = {"switch": switch, "packet": step.packet, "time_ns": step.time_ns, "step": step.kind}
    return json.dumps({**head, **step.fields}, separators=(",", ":"))
