"""The agents' logs as series: the rate that each flow's algorithm allowed, what was really sent and
received, and what its receiver reported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pcn.experiments.data.recording import flow_entity
from pcn.experiments.data.series import Series
from pcn.topologies.model import Endpoint, Topology

_RECEIVED = ("received_bytes", "received_packets", "marked_packets", "marked_ue_packets")


def read_logs(paths: Iterable[Path], topology: Topology, series: Series) -> None:
    """Adds the logs' (see `pcn.hosts.log`) values of the network's flows to `series`, and of hosts
    with one port what they sent. Their times count from time 0."""
    reader = _Reader(topology, series)
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                reader.add(json.loads(line))
    reader.finish()


class _Reader:
    def __init__(self, topology: Topology, series: Series) -> None:
        self._flows = {flow.id: flow for flow in topology.flows}
        self._ports = {host.name: topology.ports(host.name) for host in topology.hosts}
        self._series = series
        self._points: dict[tuple[int, str], list[tuple[float, float]]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        kind, time_s = event["ev"], event["t"]
        if kind == "flows":
            for name, size in self._known(event["sent"]):
                self._total(int(name), "sent_bytes", event["since"], time_s, size)
            for name, counts in self._known(event["received"]):
                for metric, count in zip(_RECEIVED, counts, strict=True):
                    self._total(int(name), metric, event["since"], time_s, count)
        elif event.get("flow") in self._flows and not self._flows[event["flow"]].group:
            self._single(kind, time_s, flow_entity(event["flow"]), event)

    def finish(self) -> None:
        """The totals, those of a group's flows summed, and those of a host's."""
        together: dict[tuple[str, str], list[list[tuple[float, float]]]] = {}
        for (number, metric), points in self._points.items():
            flow = self._flows[number]
            together.setdefault((flow_entity(number, flow.group), metric), []).append(points)
            if metric == "sent_bytes" and len(self._ports[flow.src]) == 1:
                port = str(Endpoint(flow.src, self._ports[flow.src][0]))
                together.setdefault((port, metric), []).append(points)
        for (entity, metric), members in together.items():
            columns = [np.array(points).T for points in members]
            times = np.unique(np.concatenate([times for times, _ in columns]))
            total = np.sum([np.interp(times, *column) for column in columns], axis=0)
            for time_s, value in zip(times, total, strict=True):
                self._series.add(float(time_s), entity, metric, float(value))

    def _known(self, totals: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yields only flows of the plan: any sender's packets make more."""
        return ((name, counts) for name, counts in totals.items() if int(name) in self._flows)

    def _single(self, kind: str, time_s: float, entity: str, event: Mapping[str, Any]) -> None:
        add = self._series.add
        if kind in ("start", "rate"):
            add(time_s, entity, "rate_bps", event["rate_bps"])
            for variable in event.keys() - {"ev", "t", "flow", "rate_bps", "dst_ip"}:
                add(time_s, entity, variable, event[variable])
        elif kind == "end":
            add(time_s, entity, "rate_bps", 0.0)
        elif kind == "np":
            add(time_s, entity, "rec_rate_bps", event["rec_rate_bps"])
            add(time_s, entity, "window_packets", event["packets"])
            add(time_s, entity, "window_marked", event["marked"])
            add(time_s, entity, "window_marked_ue", event["marked_ue"])

    def _total(self, number: int, metric: str, since_s: float, time_s: float, total: float) -> None:
        """A counter that stood still until `since_s` and is `total` at `time_s`."""
        points = self._points.setdefault((number, metric), [(self._flows[number].start_s, 0.0)])
        last_s, last = points[-1]
        if since_s > last_s:
            points.append((since_s, last))
        points.append((time_s, float(total)))
