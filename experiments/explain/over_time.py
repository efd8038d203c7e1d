"""A flow over time: its sender's phases, and PAUSE and queue at the ports of its path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.pauses import Pauses
from pcn.experiments.explain.flow_log import FlowLog, waits
from pcn.hosts.explain_log import SENDER_PARTS

BINS = 160
"""Into which a flow's life is cut."""
UNDER_WAY = "wire"
"""The phase behind the sender's: its last packet is under way, and waits for nothing."""
WAITS = ("contention", "pause_backlog", "pause_idle", "overtaken")
"""Likewise, but it waits at a port."""


@dataclass(frozen=True)
class PortOverTime:
    """By bin: how long the flow's class was PAUSEd, ps; and the longest queue that a packet of the
    flow found, bytes, -1 where none came. Of the sender's own port it isn't known."""

    port: str
    paused_ps: list[float]
    queue_bytes: list[int]


@dataclass(frozen=True)
class OverTime:
    """`phases_ps`: by part of the sender, of `WAITS`, and `UNDER_WAY`, the time in each bin; they
    sum to the bin's length."""

    from_ps: int
    to_ps: int
    phases_ps: dict[str, list[float]]
    ports: list[PortOverTime]


def over_time(
    log: FlowLog, pauses: Pauses, span_ps: tuple[int, int], names: list[str]
) -> OverTime | None:
    """Returns it within a span of the log's time; None where that has no length."""
    begin, end = span_ps
    if end <= begin:
        return None
    edges = np.linspace(begin, end, BINS + 1)
    ports = []
    for port in (log.nic, *(int(hop["link"]) for hop in log.of_packet(log.last))):
        closed = pauses.closed((port, log.spec.traffic_class), begin, end)
        hops = log.hops[log.hops["link"] == port]
        queue = np.full(BINS, -1, np.int64)
        inside = hops[(hops["since_ps"] >= begin) & (hops["since_ps"] <= end)]
        places = np.searchsorted(edges, inside["since_ps"].astype(np.float64), "right") - 1
        np.maximum.at(queue, np.minimum(places, BINS - 1), inside["queue_bytes"].astype(np.int64))
        ports.append(PortOverTime(names[port], _paused(edges, closed), queue.tolist()))
    return OverTime(begin, end, _phases(log, edges), ports)


def _paused(edges: NDArray[np.float64], closed: list[tuple[int, int]]) -> list[float]:
    """Returns how much of each bin is within these spans: start and length, of which the first may
    have begun before."""
    sums = np.zeros(edges.size - 1)
    for start, length in closed:
        first = max(float(start), float(edges[0]))
        sums += np.maximum(
            np.minimum(edges[1:], first + length) - np.maximum(edges[:-1], first), 0.0
        )
    return [float(value) for value in sums]


def _phases(log: FlowLog, edges: NDArray[np.float64]) -> dict[str, list[float]]:
    """Returns the time of each phase by bin. Between two frames of the flow the first one's time on
    the line comes first; the other parts of the gap are spread over the rest of it, and those of a
    wait at a port over all of it."""
    last = log.last
    parts = log.sent["parts_ps"][: last + 1].astype(np.float64)
    times = log.sent["time_ps"][: last + 1].astype(np.float64)
    start = times[0] - parts[0].sum()
    frames = np.diff(parts[:, SENDER_PARTS.index("own")])
    ends = parts[:-1].copy()
    ends[:, SENDER_PARTS.index("own")] += frames
    totals = np.empty((2 * last + 2, parts.shape[1]))
    totals[0], totals[1::2], totals[2::2] = 0.0, parts, ends
    at = np.empty(2 * last + 2)
    at[0], at[1::2], at[2::2] = start, times, times[:-1] + frames
    phases = {
        name: np.diff(np.interp(edges, at, totals[:, place]))
        for place, name in enumerate(SENDER_PARTS)
    }
    phases |= {name: np.zeros(edges.size - 1) for name in WAITS}
    under_way = np.maximum(edges[1:] - np.maximum(edges[:-1], times[-1]), 0.0)
    for hop in log.of_packet(last):
        since, start = float(hop["since_ps"]), float(hop["start_ps"])
        inside = np.maximum(np.minimum(edges[1:], start) - np.maximum(edges[:-1], since), 0.0)
        if start > since:
            idle, behind, without = waits(hop)
            amounts = (without, behind - without, idle, start - since - idle - behind)
            for name, amount in zip(WAITS, amounts, strict=True):
                phases[name] += inside * (amount / (start - since))
            under_way -= inside
    phases[UNDER_WAY] = np.maximum(under_way, 0.0)
    return {name: values.tolist() for name, values in phases.items() if values.any()}
