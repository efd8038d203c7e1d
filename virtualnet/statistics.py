"""What a network has counted: totals, by link, by thread, of a part; and its deadlock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from pcn.topologies.model import Endpoint
from pcn.virtualnet import native
from pcn.virtualnet.counts import Deadlock, LinkStats, PartStats, Totals, counted
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.network_part import NetworkPart
from pcn.virtualnet.parts import Part
from pcn.virtualnet.threads import ThreadStats


class Statistics(NetworkPart):
    """The part of a TimedNetwork that reads its counters."""

    _link_rows: npt.NDArray[Any] | None = None
    """Of all processes, once they were gathered."""

    def totals(self) -> Totals:
        raw = native.Totals()
        self._library.vn_totals(self._alive(), ctypes.byref(raw))
        return counted(Totals, raw)

    def threads(self) -> ThreadStats:
        """Returns what threads have done so far."""
        raw = native.Threads()
        self._library.vn_threads(self._alive(), ctypes.byref(raw))
        busy_s = tuple(busy_ns / 1e9 for busy_ns in raw.busy_ns[: raw.n])
        rounds = self._library.vn_rounds(self._alive())
        return ThreadStats(
            raw.wall_ns / 1e9,
            busy_s,
            raw.answering_ns / 1e9,
            raw.questions,
            rounds,
            raw.passes,
            raw.longest_ns / 1e9,
        )

    def link_stats(self, node: str, port: int) -> LinkStats:
        """Returns the statistics of the direction that leaves `node` by `port`."""
        link = self._links[Endpoint(node, port)]
        if self._link_rows is not None:
            row = self._link_rows[link].tobytes()
            return counted(LinkStats, native.LinkStats.from_buffer_copy(row))
        raw = native.LinkStats()
        self._library.vn_link_stats(self._alive(), link, ctypes.byref(raw))
        return counted(LinkStats, raw)

    def all_link_stats(self) -> npt.NDArray[Any]:
        """Returns the statistics of all directions of links: a row each of LinkStats' fields as the
        engine has them (times in ps), by the numbers of `link`."""
        if self._link_rows is not None:
            return self._link_rows
        handle, read = self._alive(), self._library.vn_link_stats
        rows = np.zeros(len(self._links), np.dtype(native.LinkStats))
        for link in range(rows.size):
            read(handle, link, rows.ctypes.data + link * rows.itemsize)
        return rows

    def deadlock(self) -> Deadlock | None:
        """Returns the present deadlock, if any: by PFC or credits of the switches themselves. It is
        exact: what is found never dissolves. Raises VirtualError where switches have output buffers
        or shared ones, which aren't looked at."""
        for switch in self.topology.switches:
            if switch.output is not None or switch.buffer is not None:
                kind = "output buffers" if switch.output is not None else "a shared buffer"
                raise VirtualError(
                    f"{switch.name} has {kind}: deadlocks are found without them alone"
                )
        deadlock, members = (
            native.Deadlock(),
            (ctypes.c_uint32 * (len(self._links) * native.CLASSES))(),
        )
        self._check(self._library.vn_deadlock(self._changing(), ctypes.byref(deadlock), members))
        if not deadlock.members:
            return None
        ends = {link: end for end, link in self._links.items()}
        named = [divmod(member, native.CLASSES) for member in members[: deadlock.members]]
        names = [
            (self.topology.link_name(ends[link].node, ends[link].port), number)
            for link, number in named
        ]
        circle, behind = sorted(names[: deadlock.circle]), sorted(names[deadlock.circle :])
        return Deadlock(tuple(circle), tuple(behind), deadlock.since_ps / 1e12, deadlock.held_bytes)

    def part_stats(self) -> PartStats:
        """Returns what this process has done, of a network that several share; in one, what it has
        done alone."""
        raw = native.PartStats()
        self._library.vn_part_stats(self._alive(), ctypes.byref(raw))
        return counted(PartStats, raw)

    def _gather_link_stats(self, part: Part) -> None:
        """Either end of a link counts its own, and zeros for the other one's, except limits that
        both have: so the larger of two numbers is the count."""
        links = [
            link for end, link in self._links.items()
            if part.holds(end.node) or part.holds(self.topology.peer(end.node, end.port).node)
        ]  # fmt: skip
        rows = np.zeros(len(links), np.dtype(native.LinkStats))
        size = rows.dtype.itemsize
        for row, link in enumerate(links):
            at = native.LinkStats.from_address(rows.ctypes.data + row * size)
            self._library.vn_link_stats(self._alive(), link, ctypes.byref(at))
        gathered = part.gather((links, rows))
        if not gathered:
            return
        of_links = np.zeros(len(self._links), np.dtype(native.LinkStats))
        for links, rows in gathered:
            for name in rows.dtype.names:
                of_links[name][links] = np.maximum(of_links[name][links], rows[name])
        self._link_rows = of_links
