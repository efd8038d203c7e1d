"""A recording as what `pcn watch --json` reads of a network, frame by frame: for the live page,
while a run goes on or afterwards.

A frame has the keys of `pcn.lab.observe.Snapshot`; None stands for what wasn't recorded. Rates are
over the time since the frame before, all else is as it is at the frame's time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.data.series import Series
from pcn.experiments.data.series_math import Array
from pcn.topologies.model import Endpoint, FlowSpec, Topology

_MOST_FRAMES, _MOST_CELLS = 1500, 300_000
"""Frames of a run, and ports in all of them."""
_ROUNDING, _ROUNDING_S = 1e-6, 5e-13
"""Of a number of frames or packets, and of times, which are whole ps in virtual time: what is read
at a frame's time is in it."""
Frame = dict[str, Any]
_Columns = dict[str, Sequence[Any]]


@dataclass(frozen=True)
class FrameColumns:
    """Frames by what is in them: of each port, flow and host a list of values by field, a value a
    frame. Times in s; `ports` and `hosts` have all, also those that do nothing."""

    time_s: list[float]
    over_s: list[float]
    ports: list[_Columns]
    flows: list[_Columns]
    hosts: list[_Columns]

    def frames(self) -> Iterator[Frame]:
        """Yields them one by one, with the keys of `pcn.lab.observe.Snapshot`."""
        for number, (time_s, over_s) in enumerate(zip(self.time_s, self.over_s, strict=True)):
            yield {
                "time_s": time_s,
                "over_s": over_s,
                **{
                    kind: [{name: values[number] for name, values in row.items()} for row in rows]
                    for kind, rows in (
                        ("ports", self.ports),
                        ("flows", self.flows),
                        ("hosts", self.hosts),
                    )
                },
                "overload": None,
            }


class Frames:
    """Makes frames of one run. `flows`: those of the plan."""

    def __init__(self, topology: Topology, flows: Sequence[FlowSpec]) -> None:
        self._topology = topology
        self._ports = [
            Endpoint(switch.name, port)
            for switch in topology.switches
            for port in topology.ports(switch.name)
        ]
        self._hosts = [
            Endpoint(host.name, port)
            for host in topology.hosts
            for port in topology.ports(host.name)
        ]
        self._ends = {
            flow_entity(flow.id, flow.group): (flow.src, flow.dst)
            for flow in flows
            if not flow.group
        }
        self._limits_bps = {
            flow_entity(flow.id): flow.rate_bps
            for flow in flows
            if not flow.group and flow.rate_bps is not None
        }
        """Of flows, beside what their scheme lets them send."""
        self._sizes: dict[str, float] = {}
        self._senders: dict[str, set[str]] = {}
        for flow in flows:
            size = math.inf if flow.size_bytes is None else flow.size_bytes
            self._sizes[flow.group] = self._sizes.get(flow.group, 0) + size
            self._senders.setdefault(flow_entity(flow.id, flow.group), set()).add(flow.src)

    def between(self, series: Series, edges: Array) -> Iterator[Frame]:
        """Yields a frame at each of these times (s) but the first, from which its rates count."""
        yield from self.columns(series, edges).frames()

    def columns(self, series: Series, edges: Array) -> FrameColumns:
        """Returns these frames by port, flow and host."""
        if edges.size < 2:
            return FrameColumns([], [], [], [], [])
        return FrameColumns(
            edges[1:].tolist(),
            np.diff(edges).tolist(),
            [self._port(series, port, edges) for port in self._ports],
            [self._flow(series, entity, edges) for entity in series.entities("received_bytes")],
            [
                self._host(series, port, edges)
                for port in self._hosts
                if _has(series, str(port), "sent_bytes")
            ],
        )

    def _port(self, series: Series, port: Endpoint, edges: Array) -> _Columns:
        name, count = str(port), edges.size - 1
        link, back = (
            self._topology.link_name(port.node, port.port),
            self._topology.peer(port.node, port.port),
        )
        reverse = self._topology.link_name(back.node, back.port)
        rate, utilisation = self._carried(series, port, "transmitted_bytes", edges)
        sent = _grown(series, name, "transmitted_packets", edges)
        waiting = "waiting_bytes" if _has(series, name, "waiting_bytes") else "queue_bytes"
        # A neighbour's PAUSE is on the way for a link's delay: the port's register is exact where
        # it was sampled.
        paused = (name, "tx_paused") if _has(series, name, "tx_paused") else (reverse, "xoff")
        return {
            "port": [name] * count,
            "link": [link] * count,
            "queue_packets": _steps(series, name, "waiting_packets", edges),
            "queue_bytes": _steps(series, name, waiting, edges),
            "held_bytes": [None] * count,
            "pn": _steps(series, name, "pn", edges),
            "paused": [bool(value) for value in _steps(series, *paused, edges)],
            "pausing": [bool(value) for value in _steps(series, link, "xoff", edges)],
            "rate_bps": rate.tolist(),
            "utilisation": utilisation.tolist(),
            "marked_share": _shares(series, name, "marked_packets", sent, edges),
            "marked_ue_share": _shares(series, name, "marked_ue_packets", sent, edges),
            "pauses_sent_per_s": _per_s(series, link, "pause", edges).tolist(),
            "pauses_received_per_s": _per_s(series, reverse, "pause", edges).tolist(),
            "up": [True] * count,
            "lost": [None] * count,
            "kept_pace": [True] * count,
        }

    def _host(self, series: Series, port: Endpoint, edges: Array) -> _Columns:
        rate, utilisation = self._carried(series, port, "sent_bytes", edges)
        return {
            "port": [str(port)] * (edges.size - 1),
            "rate_bps": rate.tolist(),
            "utilisation": utilisation.tolist(),
        }

    def _carried(
        self, series: Series, port: Endpoint, metric: str, edges: Array
    ) -> tuple[Array, Array]:
        """Returns bit/s that left by a port, and the share of its link's rate."""
        rate_bps = self._topology.link_at(port.node, port.port).rate_bps
        rate = _carried_bps(series, str(port), metric, rate_bps, edges)
        return rate, rate / rate_bps

    def _flow(self, series: Series, entity: str, edges: Array) -> _Columns:
        count = edges.size - 1
        src, dst = self._ends.get(entity, ("", ""))
        received = _grown(series, entity, "received_packets", edges)
        most = self._limits_bps.get(entity, math.inf)
        now = [
            None if rate is None else min(rate, most)
            for rate in _steps(series, entity, "rate_bps", edges)
        ]
        return {
            "id": [int(entity.removeprefix("flow ")) if entity in self._ends else entity] * count,
            "src": [src] * count,
            "dst": [dst] * count,
            "state": self._states(series, entity, now, edges),
            "rate_bps": now,
            "goodput_bps": (8 * _per_s(series, entity, "received_bytes", edges)).tolist(),
            "marked_share": _shares(series, entity, "marked_packets", received, edges),
            "marked_ue_share": _shares(series, entity, "marked_ue_packets", received, edges),
            "kept_pace": [True] * count,
            "window_bytes": _steps(series, entity, "window_bytes", edges),
            "in_flight_bytes": [None] * count,
            "sent_bps": _carried_bps(
                series, entity, "sent_bytes", self._most_bps(entity), edges
            ).tolist(),
        }

    def _most_bps(self, entity: str) -> float:
        """Returns what the senders of a flow, or of a group, can send together."""
        topology = self._topology
        hosts = self._senders.get(entity) or [host.name for host in topology.hosts]
        return sum(
            max(topology.link_at(host, port).rate_bps for port in topology.ports(host))
            for host in hosts
        )

    def _states(
        self, series: Series, entity: str, rates: Sequence[float | None], edges: Array
    ) -> list[str]:
        """Returns a flow's states by its rate. A group has none: it sends while something arrives,
        and has ended when all has."""
        times, _ = series.get(entity, "rate_bps")
        if times.size:
            known = zip(edges[1:], rates, strict=True)
            return [
                "waiting" if at < times[0] else "ended" if rate == 0 else "sending"
                for at, rate in known
            ]
        arrived = series_math.counter_at(*series.get(entity, "received_bytes"), edges)
        size = self._sizes.get(entity, math.inf)
        return [
            "waiting"
            if now == 0
            else "ended"
            if now >= size
            else "sending"
            if now > before
            else "idle"
            for before, now in itertools.pairwise(arrived.tolist())
        ]


def interval(start_s: float, end_s: float, least_s: float, topology: Topology) -> float:
    """Returns how far frames of a run are apart: how often its counters were read, or a multiple of
    that of a long run or a large network, so that each frame has as many readings."""
    lasts_s = end_s - start_s
    if not 0 < least_s < lasts_s:
        return max(lasts_s, 0.0)
    ports = sum(len(topology.ports(switch.name)) for switch in topology.switches)
    most = min(_MOST_FRAMES, max(_MOST_CELLS // max(ports, 1), 20))
    return least_s * math.ceil(lasts_s / least_s / most)


def edges(start_s: float, end_s: float, every_s: float) -> Array:
    """Returns times from a run's start on, up to its end."""
    count = math.floor((end_s - start_s) / every_s + _ROUNDING) if every_s > 0 else 0
    times: Array = start_s + every_s * np.arange(max(count, 0) + 1, dtype=float)
    return times


def _has(series: Series, entity: str, metric: str) -> bool:
    return (entity, metric) in series


def _steps(series: Series, entity: str, metric: str, edges: Array) -> list[float | None]:
    times, values = series.get(entity, metric)
    return (
        series_math.step_at(times, values, edges[1:] + _ROUNDING_S).tolist()
        if times.size
        else [None] * (edges.size - 1)
    )


def _grown(series: Series, entity: str, metric: str, edges: Array) -> Array:
    grown: Array = np.diff(series_math.counter_at(*series.get(entity, metric), edges))
    return grown


def _per_s(series: Series, entity: str, metric: str, edges: Array) -> Array:
    """Returns the increase a second of a counter."""
    return _grown(series, entity, metric, edges) / np.diff(edges)


def _carried_bps(series: Series, entity: str, metric: str, rate_bps: float, edges: Array) -> Array:
    """Returns bit/s of a counter of frames that start to leave, by links of that rate together."""
    times, started = series.get(entity, metric)
    if not times.size:
        return np.zeros(edges.size - 1)
    total = series_math.carried(times, started, rate_bps / 8)
    rates: Array = 8 * np.diff(series_math.counter_at(times, total, edges)) / np.diff(edges)
    return rates


def _shares(
    series: Series, entity: str, metric: str, whole: Array, edges: Array
) -> list[float | None]:
    if not _has(series, entity, metric):
        return [None] * (edges.size - 1)
    parts = _grown(series, entity, metric, edges)
    pairs = zip(parts.tolist(), whole.tolist(), strict=True)
    return [min(part / packets, 1.0) if packets > _ROUNDING else None for part, packets in pairs]
