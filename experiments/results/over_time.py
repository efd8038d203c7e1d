"""What a summary keeps of a run over time, to be drawn over other runs: the largest queue, and
PAUSE."""

from __future__ import annotations

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define.outcomes import Curve

QUEUE, PAUSE = "largest queue over time", "PAUSE over time"
_POINTS = 200


def over_time(recording: Recording) -> dict[str, Curve]:
    """Returns curves by name, over ms: the largest queue of all ports that were read, in KB, as the
    maximum of each of 200 bins (the latest value where a bin has no sample); and all links' PAUSE
    frames a ms, in the same bins."""
    edges = np.linspace(recording.start_s, recording.duration_s, _POINTS + 1)
    starts_ms = [_rounded(start) for start in edges[:-1] * 1e3]
    curves: dict[str, Curve] = {}
    if (queue := _queue(recording, edges)) is not None:
        curves[QUEUE] = (starts_ms, [_rounded(value / 1e3) for value in queue])
    sent = np.zeros(_POINTS)
    for link, record in recording.links.items():
        if record.pause:
            sent += np.diff(series_math.counter_at(*recording.series.get(link, "pause"), edges))
    width_ms = float(edges[1] - edges[0]) * 1e3
    curves[PAUSE] = (starts_ms, [_rounded(value / width_ms) for value in sent])
    return curves


def _queue(recording: Recording, edges: Array) -> Array | None:
    series = recording.series
    read = [("network", "largest_queue_bytes")] if series.entities("largest_queue_bytes") else []
    read = read or [(port, "waiting_bytes") for port in series.entities("waiting_bytes")]
    if not read:
        return None
    maxima = [series_math.binned_max(*series.get(entity, metric), edges) for entity, metric in read]
    largest: Array = np.max(maxima, axis=0)
    return largest


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
