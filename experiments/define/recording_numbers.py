"""What several figures read out of a recording."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data import series_math
from pcn.experiments.data.plan import HEADER_BYTES, Plan
from pcn.experiments.data.recording import FlowRecord, Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define.outcomes import Curve
from pcn.topologies.model import Topology
from pcn.topologies.trails import Trail

POINTS = 400
"""Points of a curve that is kept: what a picture can show."""


def thin(times: Array, values: Array, start_s: float, end_s: float, unit: float) -> Curve:
    """Returns a step series as a curve of POINTS points over [start_s, end_s]: x in ms, y times `unit`."""
    grid = np.linspace(start_s, end_s, POINTS)
    if times.size == 0:
        return [], []
    return (grid * 1e3).round(6).tolist(), (series_math.step_at(times, values, grid) * unit).tolist()


def binned(times: Array, totals: Array, start_s: float, end_s: float, unit: float, bins: int = POINTS) -> Curve:
    """Returns the mean rate of a counter series in bins: x in ms, y a second times `unit`."""
    edges = np.linspace(start_s, end_s, bins + 1)
    rates = np.diff(series_math.counter_at(times, totals, edges)) / np.diff(edges)
    return ((edges[:-1] + edges[1:]) * 500).round(6).tolist(), (rates * unit).tolist()


def throughput_bps(recording: Recording, port: str, start_s: float, end_s: float) -> float:
    """Returns the frames of the lossless class that a port transmitted, over an interval."""
    return 8 * series_math.counter_rate(*recording.series.get(port, "transmitted_bytes"), start_s, end_s)


def goodput_bps(recording: Recording, entity: str, start_s: float, end_s: float) -> float:
    """Returns the payload that arrived of a flow or a group, over an interval."""
    return 8 * series_math.counter_rate(*recording.series.get(entity, "received_bytes"), start_s, end_s)


def pauses(recording: Recording, links: Iterable[str], start_s: float, end_s: float) -> float:
    """PAUSE frames sent over these links in an interval, refreshes included."""
    edges = np.array([start_s, end_s])
    counts = (series_math.counter_at(*recording.series.get(link, "pause"), edges) for link in links)
    return float(sum(last - first for first, last in counts))


def completion_times_s(flows: Iterable[FlowRecord]) -> Array:
    """Returns the completion times of these flows; empty where one hasn't arrived: the others are the faster ones."""
    times = [flow.fct_s for flow in flows]
    return np.array([] if None in times else times, dtype=float)


@dataclass(frozen=True)
class EmptyPath:
    """Links from host to host, and how long bytes take there where there is nothing else: a frame is sent on when it
    has come whole. Of several shortest paths one; `rates_bps` and `delays_s` are of its links, in order."""

    rates_bps: tuple[float, ...]
    delays_s: tuple[float, ...]

    @classmethod
    def of(cls, topology: Topology, src: str, dst: str) -> EmptyPath:
        return cls.along(topology.trail(src, dst))

    @classmethod
    def along(cls, trail: Trail) -> EmptyPath:
        return cls(tuple(rate_bps for rate_bps, _ in trail), tuple(delay_s for _, delay_s in trail))

    def fct_s(self, size_bytes: int, payload_bytes: int) -> float:
        """Returns the time from a flow's start to the arrival of its last byte of payload."""
        return float(self.fcts_s(np.array([size_bytes]), payload_bytes)[0])

    def fcts_s(self, sizes_bytes: NDArray[np.int64], payload_bytes: int) -> Array:
        """Returns what `fct_s` does, of flows of these sizes."""
        whole, rest = np.divmod(sizes_bytes, payload_bytes)
        full = whole - (rest == 0)  # before the last one
        last = np.where(rest == 0, payload_bytes, rest) + -rest % 4  # InfiniBand's padding
        frame_bits, last_bits = 8 * (payload_bytes + HEADER_BYTES), 8 * (last + HEADER_BYTES)
        reached_s, slowest_s, first_s = np.zeros(sizes_bytes.size), 0.0, 0.0
        for rate_bps, delay_s in zip(self.rates_bps, self.delays_s, strict=True):
            first_s += frame_bits / rate_bps
            slowest_s = max(slowest_s, frame_bits / rate_bps)
            # The last frame leaves when it is there, and the one before it has gone.
            before_s = np.where(full == 0, 0.0, first_s + (full - 1) * slowest_s)
            reached_s = np.maximum(reached_s, before_s) + last_bits / rate_bps
            first_s, reached_s = first_s + delay_s, reached_s + delay_s
        return reached_s


class EmptyPaths:
    """The paths of a topology in the empty network: equal ones are one object."""

    def __init__(self, topology: Topology) -> None:
        self._trail = topology.trails.between
        self._found: dict[int, tuple[Trail, EmptyPath]] = {}
        """By the id of the trail, which is kept so that no other object gets it: comparing trails takes longer."""

    def between(self, src: str, dst: str) -> EmptyPath:
        """Returns what `EmptyPath.of` does."""
        trail = self._trail(src, dst)
        found = self._found.get(id(trail))
        if found is None:
            found = self._found[id(trail)] = trail, EmptyPath.along(trail)
        return found[1]


def empty_fct_s(topology: Topology, src: str, dst: str, size_bytes: int, payload_bytes: int) -> float:
    """Returns the time of a number of bytes from host to host in the empty network, by `EmptyPath`."""
    return EmptyPath.of(topology, src, dst).fct_s(size_bytes, payload_bytes)


def slowest(plan: Plan, flows: Iterable[FlowRecord], count: int) -> tuple[int, ...]:
    """Returns the numbers of the `count` flows with the largest slowdown, the largest first; flows that haven't arrived
    by the run's end come before all others."""
    paths: dict[tuple[str, str], EmptyPath] = {}
    found = []
    for spec, flow in zip(plan.topology.flows, flows, strict=True):
        ends = (spec.src, spec.dst)
        path = paths[ends] = paths.get(ends) or EmptyPath.of(plan.topology, *ends)
        empty_s = path.fct_s(spec.size_bytes or 1, plan.payload_bytes)
        found.append((-math.inf if flow.fct_s is None else -flow.fct_s / empty_s, flow.start_s, flow.id))
    return tuple(number for _, _, number in sorted(found)[:count])


def percentile(values: Array, q: float) -> float | None:
    return float(np.percentile(values, q)) if values.size else None


def mean(values: Array) -> float | None:
    return float(values.mean()) if values.size else None


def lost(recording: Recording) -> float:
    """Returns the packets sent and neither received nor repeated. Lossless Ethernet: 0 in every run."""
    return float(sum(flow.sent_packets - flow.repeated_packets - flow.received_packets for flow in recording.flows))
