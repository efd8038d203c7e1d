"""What is logged of a flow's packets: their times, parts, hops, and where PAUSE held them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.parts import completing
from pcn.experiments.explain.again import Again
from pcn.hosts.explain_log import PARTS, SENDER_PARTS, WINDOW_PARTS
from pcn.topologies.model import FlowSpec


class FlowLog:
    """What is logged of a flow's packets."""

    def __init__(self, again: Again, number: int) -> None:
        place = next(i for i, flow in enumerate(again.plan.topology.flows) if flow.id == number)
        self.spec: FlowSpec = again.plan.topology.flows[place]
        self._topology, self._ports = again.plan.topology, again.logs.ports
        self.sent: NDArray[Any] = again.logs.sent[again.logs.sent["flow"] == number]
        self.hops: NDArray[Any] = again.logs.hops[again.logs.hops["flow"] == number]
        self.parts_ps: NDArray[np.int64] = again.parts.parts_ps[place]
        self.window_ps: NDArray[np.int64] = again.parts.window_ps[place]
        self.complete = bool(again.parts.fct_ps[place])
        self.fct_ps = int(again.parts.fct_ps[place])
        self.last = self._last()

    def _last(self) -> int:
        """Returns the place in `sent` of the packet that completed the flow; else of the last
        one."""
        if not self.complete:
            return len(self.sent) - 1
        return completing(self.sent, self.parts_ps)

    @property
    def nic(self) -> int:
        return int(self.sent["link"][0])

    @property
    def line_bps(self) -> float:
        """Of its NIC, which may be any of its host's."""
        port = self._ports[self.nic]
        return self._topology.link_at(port.node, port.port).rate_bps

    def of_packet(self, place: int) -> NDArray[Any]:
        """Returns the hops of the packet at this place of `sent`, in order."""
        hops: NDArray[Any] = self.hops[self.hops["serial"] == self.sent["serial"][place]]
        return hops[np.argsort(hops["since_ps"], kind="stable")]

    def ports(self) -> set[int]:
        """Returns the ports that it crosses, its NIC's included."""
        return {self.nic, *self.hops["link"].tolist()}

    def span(self, span_ps: tuple[int, int] | None) -> tuple[int, int]:
        """Returns places in `sent` of the first and the last packet within a span."""
        if span_ps is None:
            return 0, self.last
        times = self.sent["time_ps"]
        first, last = (
            np.searchsorted(times, span_ps[0], "left"),
            np.searchsorted(times, span_ps[1], "right") - 1,
        )
        return int(first), int(last)

    def stopped(self, first: int, last: int) -> list[tuple[int, int]]:
        """Returns the gaps between its frames in which its NIC's port was PAUSEd."""
        times = self.sent["time_ps"][first : last + 1].astype(np.int64)
        paused = self.sent["parts_ps"][first : last + 1, SENDER_PARTS.index("paused")].astype(
            np.int64
        )
        before = np.flatnonzero(np.diff(paused) > 0)
        spans = [(int(times[i]), int(times[i + 1])) for i in before]
        if first == 0 and paused.size and paused[0]:
            spans.insert(0, (int(times[0]) - int(self.sent["parts_ps"][0].sum()), int(times[0])))
        return spans

    def blamed(self, span_ps: tuple[int, int] | None) -> list[tuple[int, tuple[int, int], int]]:
        """Returns where PAUSE took time: the port, within which span, and how much, ps."""
        first, last = self.span(span_ps)
        if last < first:
            return []
        parts = self._between(first, last, span_ps is None)
        stopped = self.stopped(first, last)
        total = sum(end - begin for begin, end in stopped)
        rows = [
            (self.nic, item, round(parts["paused"] * (item[1] - item[0]) / total))
            for item in stopped
        ]
        for hop in self.of_packet(last) if span_ps is None else ():
            idle, behind, without = waits(hop)
            rows.append((int(hop["link"]), (int(hop["since_ps"]), int(hop["start_ps"])), idle))
            rows.append(
                (int(hop["link"]), (int(hop["busy_ps"]), int(hop["since_ps"])), behind - without)
            )
        return [row for row in rows if row[2] > 0]

    def _between(self, first: int, last: int, whole: bool) -> dict[str, int]:
        if whole and self.complete:
            return dict(zip(PARTS, self.parts_ps.tolist(), strict=True))
        rows = self.sent["parts_ps"].astype(np.int64)
        return dict(
            zip(SENDER_PARTS, (rows[last] - (0 if whole else rows[first])).tolist(), strict=True)
        )

    def window(self, span_ps: tuple[int, int] | None) -> dict[str, int]:
        """Returns what its window waited for, by `WINDOW_PARTS`."""
        if span_ps is None and self.complete:
            return dict(zip(WINDOW_PARTS, self.window_ps.tolist(), strict=True))
        first, last = self.span(span_ps)
        rows = self.sent["window_ps"].astype(np.int64)
        before = 0 if span_ps is None else rows[first]
        return dict(zip(WINDOW_PARTS, (rows[last] - before).tolist(), strict=True))

    def times(self, span_ps: tuple[int, int] | None) -> tuple[int, int, dict[str, int], int]:
        """Returns from when until when it is explained, its parts in between, and the bytes that
        left."""
        first, last = self.span(span_ps)
        whole = span_ps is None
        parts = self._between(first, last, whole)
        start = int(self.sent["time_ps"][first]) - (
            int(self.sent["parts_ps"][first].sum()) if whole else 0
        )
        end = start + self.fct_ps if whole and self.complete else int(self.sent["time_ps"][last])
        return (
            start,
            end,
            parts,
            int(self.sent["bytes"][first : last + (whole and self.complete)].sum()),
        )


def waits(hop: Any) -> tuple[int, int, int]:
    """Returns of a hop's wait: idle by PAUSE, behind what was there, and what would have been
    without PAUSE."""
    wait, idle = int(hop["start_ps"] - hop["since_ps"]), int(hop["idle_ps"])
    behind = min(int(hop["behind_ps"]), wait - idle)
    return idle, behind, min(int(hop["without_ps"]), behind)
