"""A kept run, read back from its folder as frames for the live page: its network, and its series
over time.

The files may be another user's work: whatever they have, reading ends with a run or with an
ExperimentError."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.frames import Frame, FrameColumns, Frames, edges, interval
from pcn.experiments.data.series import Series
from pcn.experiments.data.stored_values import reading, stored_json, stored_number, stored_text
from pcn.experiments.results.atomic_folder import SERIES, SUMMARY, TOPOLOGY
from pcn.experiments.results.judged_run import Result
from pcn.topologies import extras
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Endpoint, Topology

_QUEUES = "queues.parquet"
_MOST_ROWS = 5_000_000
_MOST_S, _MOST = 2e6, 1e24
"""Of times and of values: rates that follow from them are numbers, too."""


@dataclass(frozen=True)
class KeptRun:
    """A run. `series` has what each port and flow did; times in nominal s."""

    topology: Topology
    scenario: str
    scheme: str
    clock: str
    k: float
    series: Series
    start_s: float
    end_s: float

    def frames(self) -> Iterator[Frame]:
        """Yields what `pcn watch --json` would have read, from the run's start to its end."""
        yield from self.columns().frames()

    def columns(self) -> FrameColumns:
        """Returns these frames by port, flow and host."""
        every_s = interval(self.start_s, self.end_s, self._least_s(), self.topology)
        times = edges(self.start_s, self.end_s, every_s)
        return Frames(self.topology, self.topology.flows).columns(self.series, times)

    def _least_s(self) -> float:
        """Returns how often counters were read."""
        for entity in self.series.entities("transmitted_bytes"):
            times, _ = self.series.get(entity, "transmitted_bytes")
            if times.size > 1:
                return max(float(np.median(np.diff(times))), 1e-9)
        return math.inf


def drawn_with(result: Result) -> Topology:
    """Returns a run's network as its folder keeps it: with its flows if each of them has series."""
    topology = result.plan.topology
    return replace(topology, flows=()) if result.experiment.many_flows else topology


def read_run(place: Path) -> KeptRun:
    """Returns the run that a folder keeps. Raises ExperimentError; MissingExtraError without
    `parquet`."""
    extras.require("parquet")
    for name in (SUMMARY, SERIES, TOPOLOGY):
        if not (place / name).is_file():
            raise ExperimentError(
                f"{place} has no {name}: name the folder of one run, of `pcn run`"
            )
    with reading(place):
        summary = stored_json(place / SUMMARY)
        topology = find_topology(f"pcn-json:{place / TOPOLOGY}").build()
        return KeptRun(
            topology=topology,
            scenario=stored_text(summary["scenario"]),
            scheme=stored_text(summary["scheme"]),
            clock=stored_text(summary["clock"]),
            k=float(stored_number(summary["k"])),
            **_over_time(place, topology, float(stored_number(summary["duration_s"]))),
        )


def _over_time(place: Path, topology: Topology, end_s: float) -> dict[str, Any]:
    from pcn.experiments.data import parquet  # an extra

    series = Series.read(place / SERIES, _MOST_ROWS)
    if (place / _QUEUES).is_file():
        names = ("time_s", "port", "queue_bytes")
        queues = parquet.read_of_others(place / _QUEUES, names, _MOST_ROWS)
        _add_queues(series, queues, topology)
    first = []
    for entity, metric in series:
        times, values = series.get(stored_text(entity), stored_text(metric))
        # no NaN, either
        if not ((np.abs(times) <= _MOST_S).all() and (np.abs(values) <= _MOST).all()):
            raise ValueError(f"{entity}, {metric}: a time or a value is no number, or too large")
        first += [times[0]] * (metric == "transmitted_bytes")
    if not abs(end_s) <= _MOST_S:
        raise ValueError(f"a duration of {end_s:g} s")
    return {"series": series, "start_s": float(min(first, default=0.0)), "end_s": end_s}


def _add_queues(series: Series, table: dict[str, list[Any]], topology: Topology) -> None:
    known = {
        str(Endpoint(switch.name, port))
        for switch in topology.switches
        for port in topology.ports(switch.name)
    }
    wanted = {name for name in known if (name, "queue_bytes") not in series}
    times, ports, values = (table[name] for name in ("time_s", "port", "queue_bytes"))
    if not set(map(type, (*times, *values))) <= {int, float}:
        raise ValueError("a time or a queue is no number")
    queues = Series()
    queues.extend_rows(times, ((port, "queue_bytes") for port in ports), values)
    for port in queues.entities("queue_bytes"):
        if port in wanted:
            at, waiting = queues.get(port, "queue_bytes")
            series.extend(at, port, "queue_bytes", waiting)
