"""What several figures read out of a recording."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from experiments import metrics
from experiments.metrics import Array
from experiments.outcomes import Curve
from experiments.plan import HEADER_BYTES
from experiments.recording import FlowRecord, Recording
from topologies.model import Topology

POINTS = 400
"""Points of a curve that is kept: what a picture can show."""


def thin(times: Array, values: Array, start_s: float, end_s: float, unit: float) -> Curve:
    """A step series as a curve of POINTS points over [start_s, end_s]: x in ms, y times `unit`."""
    grid = np.linspace(start_s, end_s, POINTS)
    if times.size == 0:
        return [], []
    return (grid * 1e3).round(6).tolist(), (metrics.step_at(times, values, grid) * unit).tolist()


def binned(times: Array, totals: Array, start_s: float, end_s: float, unit: float, bins: int = POINTS) -> Curve:
    """Mean rate of a counter series in bins: x in ms, y a second times `unit`."""
    edges = np.linspace(start_s, end_s, bins + 1)
    rates = np.diff(metrics.counter_at(times, totals, edges)) / np.diff(edges)
    return ((edges[:-1] + edges[1:]) * 500).round(6).tolist(), (rates * unit).tolist()


def throughput_bps(recording: Recording, port: str, start_s: float, end_s: float) -> float:
    """Frames of the lossless class that a port transmitted, over an interval."""
    return 8 * metrics.counter_rate(*recording.series.get(port, "transmitted_bytes"), start_s, end_s)


def goodput_bps(recording: Recording, entity: str, start_s: float, end_s: float) -> float:
    """Payload that arrived of a flow or a group, over an interval."""
    return 8 * metrics.counter_rate(*recording.series.get(entity, "received_bytes"), start_s, end_s)


def pauses(recording: Recording, links: Iterable[str], start_s: float, end_s: float) -> float:
    """PAUSE frames sent over these links in an interval, refreshes included."""
    edges = np.array([start_s, end_s])
    counts = (metrics.counter_at(*recording.series.get(link, "pause"), edges) for link in links)
    return float(sum(last - first for first, last in counts))


def fcts_s(flows: Iterable[FlowRecord]) -> Array:
    """Completion times of the flows that ended."""
    return np.array([flow.fct_s for flow in flows if flow.fct_s is not None], dtype=float)


def empty_fct_s(topology: Topology, src: str, dst: str, size_bytes: int, payload_bytes: int) -> float:
    """How long so many bytes of payload take from host to host where there is nothing else: a frame is sent on when it
    has come whole. For paths of one rate, as those of a fat-tree are."""
    path = [topology.link_at(end.node, end.port) for end in topology.path(src, dst)]
    whole, rest = divmod(size_bytes, payload_bytes)
    last = (rest or payload_bytes) + -rest % 4  # InfiniBand's padding
    full = whole - (0 if rest else 1)
    frame_s, last_s = (8 * (length + HEADER_BYTES) / path[0].rate_bps for length in (payload_bytes, last))
    before_s = (full + len(path) - 1) * frame_s + last_s if full else len(path) * last_s
    return before_s + sum(link.delay_s for link in path)


def percentile(values: Array, q: float) -> float | None:
    return float(np.percentile(values, q)) if values.size else None


def mean(values: Array) -> float | None:
    return float(values.mean()) if values.size else None


def lost(recording: Recording) -> float:
    """Packets sent and not received. Lossless Ethernet: 0 in every run."""
    return float(sum(flow.sent_packets - flow.received_packets for flow in recording.flows))
