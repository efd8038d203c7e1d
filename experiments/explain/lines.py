"""What ports sent, of a run that logged them: whose frames were on a line, and what share of it was
fair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.parts import NO_FLOW, Logs
from pcn.topologies.model import Topology

Times = NDArray[np.int64]
CONTROL = -1
"""In place of a flow: frames that are no flow's data."""


@dataclass(frozen=True)
class Line:
    """Frames of a port, in order: start and end in ps, and whose they are."""

    starts: Times
    ends: Times
    flows: Times
    sizes: Times

    def by_flow(self, begin: int, end: int) -> dict[int, int]:
        """Returns how long frames of each flow were on the line within [begin, end], ps."""
        first, last = (
            np.searchsorted(self.ends, begin, "right"),
            np.searchsorted(self.starts, end, "left"),
        )
        spans = np.minimum(self.ends[first:last], end) - np.maximum(self.starts[first:last], begin)
        sums: dict[int, int] = defaultdict(int)
        for flow, span in zip(self.flows[first:last].tolist(), spans.tolist(), strict=True):
            sums[flow] += span
        return dict(sums)

    def work_of(self, at: int, work: int) -> dict[int, int]:
        """Returns the bytes by flow of the frames that started from `at` on, until `work` ps of
        them."""
        sums: dict[int, int] = defaultdict(int)
        first, done = int(np.searchsorted(self.starts, at, "left")), 0
        for place in range(first, self.starts.size):
            if done >= work:
                break
            if self.flows[place] != CONTROL:
                sums[int(self.flows[place])] += int(self.sizes[place])
                done += int(self.ends[place] - self.starts[place])
        return dict(sums)

    def fair(self, begin: int, end: int) -> dict[int, float]:
        """Returns by flow how long it would have had the line within [begin, end] if those that
        were under way there, from their first frame to their last, had shared it alike: 1/n(t),
        ps."""
        inside = (self.ends > begin) & (self.starts < end) & (self.flows != CONTROL)
        flows = self.flows[inside]
        order = np.argsort(flows, kind="stable")
        numbers, first = np.unique(flows[order], return_index=True)
        if not numbers.size:
            return {}
        last = np.append(first[1:], order.size) - 1
        starts = np.maximum(self.starts[inside][order][first], begin)
        ends = np.minimum(self.ends[inside][order][last], end)
        times = np.unique(np.concatenate([starts, ends]))
        under_way = np.searchsorted(np.sort(starts), times[:-1], "right") - np.searchsorted(
            np.sort(ends), times[:-1], "right"
        )
        shares = np.where(under_way > 0, np.diff(times) / np.maximum(under_way, 1), 0.0)
        sums = np.concatenate([[0.0], np.cumsum(shares)])
        fair_ps = sums[np.searchsorted(times, ends)] - sums[np.searchsorted(times, starts)]
        return dict(zip(numbers.tolist(), fair_ps.tolist(), strict=True))


class Lines:
    """By port: its number in the logs."""

    def __init__(self, topology: Topology, logs: Logs) -> None:
        self.ports = logs.ports
        self._rates = [round(topology.link_at(end.node, end.port).rate_bps) for end in logs.ports]
        rows = logs.lines
        links, first = np.unique(rows["link"], return_index=True)
        bounds = [*first.tolist(), rows.size]
        self._lines: Mapping[int, Line] = {
            int(link): self._line(int(link), rows[bounds[place] : bounds[place + 1]])
            for place, link in enumerate(links)
        }

    def _line(self, link: int, rows: NDArray[np.void]) -> Line:
        rate = self._rates[link]
        sizes = rows["bytes"].astype(np.int64)
        starts = rows["start_ps"].astype(np.int64)
        durations = (sizes * 8_000_000_000_000 + rate // 2) // rate
        flows = np.where(rows["flow"] == NO_FLOW, CONTROL, rows["flow"].astype(np.int64))
        return Line(starts, starts + durations, flows, sizes)

    def at(self, link: int) -> Line:
        """Returns a port's frames; none where it wasn't logged."""
        empty = np.zeros(0, np.int64)
        return self._lines.get(link, Line(empty, empty, empty, empty))
