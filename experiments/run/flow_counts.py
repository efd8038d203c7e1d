"""What the engine has counted of a run's flows, read while the network is there. The records of
flows take a third of the engine's flows, and are made when these are freed."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import numpy as np

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import FlowRecord
from pcn.hosts.virtual import VirtualNetwork
from pcn.virtualnet.native import NEVER

_TIMES = ("start_ps", "complete_ps")
_BEFORE = ("sent", "sent_payload", "received", "received_payload", "marked_ce")
_BEHIND = ("repeated", "timeouts")
_AT_ONCE = 2**16
"""Flows whose columns and lists are made at once: those of a million take as much as records."""


class FlowCounts:
    """Of the flows of a plan whose run ended at `end_s`, in their order."""

    def __init__(self, plan: Plan, network: VirtualNetwork, end_s: float) -> None:
        self._plan, self._end_s = plan, end_s
        count, ids = len(plan.topology.flows), plan.topology.flow_columns.ids
        indices = np.fromiter(map(network.flows.place, ids.tolist()), np.int64, count)
        places = np.empty(count, np.int64)  # of the network's flows, which are the plan's
        places[indices] = np.arange(count)
        names = (*_TIMES, *_BEFORE, "marked_ue", *_BEHIND)
        self._counts = {name: np.empty(count, np.uint64) for name in names}
        for part in _parts(count):
            rows = network.flow_stats(part)
            for name, column in self._counts.items():
                column[places[part]] = rows[name]
        self._ports = network.flow_ports()[indices, 0]

    def records(self) -> Iterator[FlowRecord]:
        for part in _parts(len(self._ports)):
            yield from self._records(part)

    def _records(self, part: slice) -> Iterator[FlowRecord]:
        flows, first_s = self._plan.topology.flows[part], self._plan.start_s
        columns = self._plan.topology.flow_columns
        started_s, complete_s = (
            np.where(times == NEVER, np.nan, times / 1e12 + first_s)
            for times in (self._counts[name][part] for name in _TIMES)
        )
        started_s = np.where(np.isnan(started_s), self._end_s, started_s)
        start_s = np.where(columns.waits[part], started_s, columns.start_s[part])
        fct_s = [None if time_s != time_s else time_s for time_s in (complete_s - start_s).tolist()]

        def counts(name: str) -> list[int]:
            counted: list[int] = self._counts[name][part].tolist()
            return counted

        return map(
            FlowRecord,
            *(map(attrgetter(name), flows) for name in ("id", "src", "dst")),
            start_s.tolist(),
            *map(counts, _BEFORE),
            *(map(attrgetter(name), flows) for name in ("group", "duration_s")),
            fct_s,
            counts("marked_ue"),
            self._ports[part].tolist(),
            *map(counts, _BEHIND),
        )


def _parts(count: int) -> Iterator[slice]:
    return (slice(first, min(first + _AT_ONCE, count)) for first in range(0, count, _AT_ONCE))
