"""The agents' logs as series: the rate that each flow's algorithm allowed, and what its receiver reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.recording import flow_entity
from experiments.series import Series


def read_logs(paths: list[Path], series: Series) -> None:
    """Adds what the logs (see `hosts.log`) say of flows to `series`. Their times count from the run's start already."""
    for path in paths:
        with path.open() as lines:
            for line in lines:
                _add(json.loads(line), series)


def _add(event: dict[str, Any], series: Series) -> None:
    kind, time_s = event["ev"], event["t"]
    if kind in ("start", "rate"):
        entity = flow_entity(event["flow"])
        series.add(time_s, entity, "rate_bps", event["rate_bps"])
        if "w" in event:
            series.add(time_s, entity, "w", event["w"])
    elif kind == "end":
        series.add(time_s, flow_entity(event["flow"]), "rate_bps", 0.0)
    elif kind == "np":
        entity = flow_entity(event["flow"])
        series.add(time_s, entity, "rec_rate_bps", event["rec_rate_bps"])
        series.add(time_s, entity, "window_packets", event["packets"])
        series.add(time_s, entity, "window_marked", event["marked"])
