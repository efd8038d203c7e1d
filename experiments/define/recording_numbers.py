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
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.flow_columns import FlowColumns
from pcn.topologies.model import Topology, TopologyError
from pcn.topologies.trails import Trail

_ANY_BPS = 10e9
POINTS = 400
"""Points of a curve that is kept: what a picture can show."""


def thin(times: Array, values: Array, start_s: float, end_s: float, unit: float) -> Curve:
    """Returns a step series as a curve of POINTS points over [start_s, end_s]: x in ms, y times
    `unit`."""
    grid = np.linspace(start_s, end_s, POINTS)
    if times.size == 0:
        return [], []
    return (grid * 1e3).round(6).tolist(), (
        series_math.step_at(times, values, grid) * unit
    ).tolist()


def binned(
    times: Array, totals: Array, start_s: float, end_s: float, unit: float, bins: int = POINTS
) -> Curve:
    """Returns the mean rate of a counter series in bins: x in ms, y a second times `unit`."""
    edges = np.linspace(start_s, end_s, bins + 1)
    rates = np.diff(series_math.counter_at(times, totals, edges)) / np.diff(edges)
    return ((edges[:-1] + edges[1:]) * 500).round(6).tolist(), (rates * unit).tolist()


def throughput_bps(recording: Recording, port: str, start_s: float, end_s: float) -> float:
    """Returns the frames of the lossless class that a port transmitted, over an interval."""
    return 8 * series_math.counter_rate(
        *recording.series.get(port, "transmitted_bytes"), start_s, end_s
    )


def goodput_bps(recording: Recording, entity: str, start_s: float, end_s: float) -> float:
    """Returns the payload that arrived of a flow or a group, over an interval."""
    return 8 * series_math.counter_rate(
        *recording.series.get(entity, "received_bytes"), start_s, end_s
    )


def pauses(recording: Recording, links: Iterable[str], start_s: float, end_s: float) -> float:
    """Returns PAUSE frames sent over these links in an interval, refreshes included."""
    edges = np.array([start_s, end_s])
    counts = (series_math.counter_at(*recording.series.get(link, "pause"), edges) for link in links)
    return float(sum(last - first for first, last in counts))


def completion_times_s(flows: Iterable[FlowRecord]) -> Array:
    """Returns the completion times of these flows; empty where one hasn't arrived: the others are
    the faster ones."""
    times = [flow.fct_s for flow in flows]
    return np.array([] if None in times else times, dtype=float)


@dataclass(frozen=True)
class EmptyPath:
    """Links from host to host, and how long bytes take there where there is nothing else: a frame
    is sent on when it has come whole. Of several shortest paths one; `rates_bps` and `delays_s` are
    of its links, in order."""

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
        full, frame_bits, last_bits = self._frames(sizes_bytes, payload_bytes)
        reached_s, slowest_s, first_s = np.zeros(sizes_bytes.size), 0.0, 0.0
        for rate_bps, delay_s in zip(self.rates_bps, self.delays_s, strict=True):
            first_s += frame_bits / rate_bps
            slowest_s = max(slowest_s, frame_bits / rate_bps)
            # The last frame leaves when it is there, and the one before it has gone.
            before_s = np.where(full == 0, 0.0, first_s + (full - 1) * slowest_s)
            reached_s = np.maximum(reached_s, before_s) + last_bits / rate_bps
            first_s, reached_s = first_s + delay_s, reached_s + delay_s
        return reached_s

    @staticmethod
    def _frames(
        sizes_bytes: NDArray[np.int64], payload_bytes: int
    ) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
        """Returns how many frames there are before the last one, the bits of each of these, and
        those of the last."""
        whole, rest = np.divmod(sizes_bytes, payload_bytes)
        full = whole - (rest == 0)
        last = np.where(rest == 0, payload_bytes, rest) + -rest % 4  # InfiniBand's padding
        return full, 8 * (payload_bytes + HEADER_BYTES), 8 * (last + HEADER_BYTES)


@dataclass(frozen=True)
class SprayedPath(EmptyPath):
    """All shortest paths from host to host together, for a flow whose packets take any of them: by
    stages, the links at the same distance from the sender. `rates_bps` and `delays_s` are those of
    the fastest and shortest link of each stage, `sums_bps` the rates of its links together."""

    sums_bps: tuple[float, ...] = ()

    @classmethod
    def of(cls, topology: Topology, src: str, dst: str) -> SprayedPath:
        nodes, stages = {src}, list[list[tuple[float, float]]]()
        while nodes != {dst}:
            ends = [
                (node, port) for node in sorted(nodes) for port in topology.next_hops(node, dst)
            ]
            if not stages:
                ends = ends[:1]  # a flow leaves its sender by one port
            if not ends:
                raise TopologyError(f"no way from {src} to {dst} in {topology.name}")
            stages.append([topology.hop(*end) for end in ends])
            nodes = {topology.peer(*end).node for end in ends}
        rates = [[rate_bps for rate_bps, _ in stage] for stage in stages]
        delays_s = tuple(min(delay_s for _, delay_s in stage) for stage in stages)
        return cls(tuple(map(max, rates)), delays_s, tuple(map(sum, rates)))

    def fcts_s(self, sizes_bytes: NDArray[np.int64], payload_bytes: int) -> Array:
        """Returns the least time that flows of these sizes can take: no frame waits for one on
        another path, and no stage carries more than its links do together."""
        full, frame_bits, last_bits = self._frames(sizes_bytes, payload_bytes)
        delays_s, nic_bps = sum(self.delays_s), self.rates_bps[0]
        rest_s = sum(1 / rate_bps for rate_bps in self.rates_bps[1:])
        last_s = (full * frame_bits + last_bits) / nic_bps + last_bits * rest_s + delays_s
        full_s = np.where(
            full == 0, 0.0, full * frame_bits / nic_bps + frame_bits * rest_s + delays_s
        )
        least_s = np.maximum(last_s, full_s)
        small_bits = np.minimum(last_bits, np.where(full == 0, last_bits, frame_bits))
        first_s, latest_s = np.zeros(sizes_bytes.size), full * frame_bits / nic_bps
        for stage, (rate_bps, delay_s, sum_bps) in enumerate(
            zip(self.rates_bps, self.delays_s, self.sums_bps, strict=True)
        ):
            # The first frame that comes to a stage is the first, or the last where that is short
            # and has overtaken it.
            comes_s = (
                np.where(full == 0, latest_s, np.minimum(first_s, latest_s)) if stage else first_s
            )
            behind = range(stage + 1, len(self.rates_bps))
            then_s = delay_s + sum(
                small_bits / self.rates_bps[later] + self.delays_s[later] for later in behind
            )
            least_s = np.maximum(
                least_s, comes_s + (full * frame_bits + last_bits) / sum_bps + then_s
            )
            first_s = first_s + frame_bits / rate_bps + delay_s
            latest_s = latest_s + last_bits / rate_bps + delay_s
        return np.asarray(least_s, dtype=float)


def sprays(plan: Plan) -> bool:
    """Returns whether packets of the plan's flows take several paths. Raises LabError."""
    paths = find_scheme(plan.scheme).configure(plan.scheme_parameters).new_rp(_ANY_BPS).paths
    return paths is not None and paths.sprays


class EmptyPaths:
    """The paths of a topology in the empty network: equal ones are one object. `spread`: of flows
    whose packets take all of them."""

    def __init__(self, topology: Topology, spread: bool = False) -> None:
        self._topology, self._spread = topology, spread
        self._trail = topology.trails.between
        self._found: dict[int, tuple[Trail, EmptyPath]] = {}
        """By the id of the trail, which is kept so that no other object gets it: comparing trails
        takes longer."""
        self._sprayed: dict[tuple[str, str], EmptyPath] = {}
        self._equal: dict[EmptyPath, EmptyPath] = {}

    @classmethod
    def of(cls, plan: Plan) -> EmptyPaths:
        """Returns those of the plan's flows."""
        return cls(plan.topology, sprays(plan))

    def between(self, src: str, dst: str) -> EmptyPath:
        """Returns what `EmptyPath.of` does, or `SprayedPath.of`."""
        if self._spread:
            path = self._sprayed.get((src, dst))
            if path is None:
                path = SprayedPath.of(self._topology, src, dst)
                path = self._sprayed[src, dst] = self._equal.setdefault(path, path)
            return path
        trail = self._trail(src, dst)
        cached = self._found.get(id(trail))
        if cached is None:
            cached = self._found[id(trail)] = trail, EmptyPath.along(trail)
        return cached[1]

    def of_flows(self, flows: FlowColumns) -> tuple[NDArray[np.int64], list[EmptyPath]]:
        """Returns the number of each flow's path, and the paths by number."""
        hosts = self._topology.hosts
        number = np.arange(len(hosts))
        if not self._spread:
            alike = self._topology.trails.alike()
            number = np.array([alike[host.name] for host in hosts], np.int64)
        pairs = number[flows.src] * (number.max() + 1) + number[flows.dst]
        _, firsts, which = np.unique(pairs, return_index=True, return_inverse=True)
        paths = [self.between(flow.src, flow.dst) for flow in map(flows.specs.__getitem__, firsts)]
        by_id = {id(path): path for path in paths}
        numbers = {path: i for i, path in enumerate(by_id)}
        return np.array([numbers[id(path)] for path in paths])[which], [*by_id.values()]


def empty_fct_s(
    topology: Topology, src: str, dst: str, size_bytes: int, payload_bytes: int
) -> float:
    """Returns the time of a number of bytes from host to host in the empty network, by
    `EmptyPath`."""
    return EmptyPath.of(topology, src, dst).fct_s(size_bytes, payload_bytes)


def slowest(plan: Plan, flows: Iterable[FlowRecord], count: int) -> tuple[int, ...]:
    """Returns the numbers of the `count` flows with the largest slowdown, the largest first; flows
    that haven't arrived by the run's end come before all others."""
    paths = EmptyPaths.of(plan)
    candidates = []
    for spec, flow in zip(plan.topology.flows, flows, strict=True):
        path = paths.between(spec.src, spec.dst)
        empty_s = path.fct_s(spec.size_bytes or 1, plan.payload_bytes)
        candidates.append(
            (-math.inf if flow.fct_s is None else -flow.fct_s / empty_s, flow.start_s, flow.id)
        )
    return tuple(number for _, _, number in sorted(candidates)[:count])


def percentile(values: Array, q: float) -> float | None:
    return series_math.percentile(values, q) if values.size else None


def mean(values: Array) -> float | None:
    return float(values.mean()) if values.size else None


def lost(recording: Recording) -> float:
    """Returns the packets sent and neither received nor repeated. Lossless Ethernet: 0 in every
    run."""
    return float(
        sum(
            flow.sent_packets - flow.repeated_packets - flow.received_packets
            for flow in recording.flows
        )
    )
