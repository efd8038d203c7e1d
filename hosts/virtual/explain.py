"""Where each flow's time goes, of a network that is built with `explain=True`; and logs of what it
was spent on."""

from __future__ import annotations

import ctypes
import errno
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pcn.hosts import explain_log
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import MOST_THREADS, NEVER
from pcn.virtualnet.times import picoseconds

if TYPE_CHECKING:
    from pcn.hosts.virtual.flows import FlowList, VirtualFlows
    from pcn.topologies.model import Endpoint

_ORDER = {
    explain_log.LOG_SENT: ("flow", "serial"),
    explain_log.LOG_HOP: ("flow", "serial", "since_ps"),
    explain_log.LOG_LINE: ("link", "start_ps"),
    explain_log.LOG_CAUSE: ("time_ps",),
}
"""By log: an order that doesn't depend on threads. Causes at one time keep that of their node."""


class Explanations:
    """Of a network that has flows."""

    if TYPE_CHECKING:
        flows: VirtualFlows
        _library: ctypes.CDLL
        _links: dict[Endpoint, int]
        _by_index: FlowList

        def _check(self, result: int) -> int: ...
        def _alive(self) -> int: ...
        def _changing(self) -> int: ...

    def explain_log(
        self,
        flows: Iterable[int] = (),
        ports: Iterable[Endpoint] = (),
        from_s: float = 0.0,
        to_s: float = math.inf,
        causes: bool = False,
        marks: bool = False,
    ) -> None:
        """Before the run, once, behind `add_flows`: logs the packets of these flows; what starts at
        these ports from `from_s` to `to_s` (simulated seconds); with `causes` each PAUSE and what
        waited for which port then; with `marks` it counts why packets have marks, or none. Raises
        VirtualError."""
        chosen = bytearray(len(self._by_index))
        for number in flows:
            chosen[self.flows.place(number)] = 1
        links = bytearray(len(self._links))
        for port in ports:
            links[self._links[port]] = 1
        until_ps = NEVER if math.isinf(to_s) else picoseconds(to_s)
        self._check(
            self._library.vn_explain_log(
                self._changing(),
                bytes(chosen), len(chosen) if any(chosen) else 0,
                bytes(links), len(links) if any(links) else 0,
                picoseconds(from_s), until_ps, causes, marks,
            )
        )  # fmt: skip

    def explained(self) -> NDArray[Any]:
        """Returns the parts of all flows, in the order in which they were added: a row each of
        `Explained`'s fields, ps, of which `complete_ps` is 0 while the flow isn't complete. Parts
        are by `PARTS`, and sum to the time from start to completion; those of the window by
        `WINDOW_PARTS`, and sum to it. Raises VirtualError where they don't."""
        rows = np.zeros(len(self._by_index), np.dtype(explain_log.Explained))
        result = self._library.vn_explained(self._alive(), 0, rows.size, rows.ctypes.data)
        if result == -errno.EPROTO:
            sums = rows["parts_ps"].sum(axis=1, dtype=np.uint64) + rows["start_ps"]
            windows = rows["window_ps"].sum(axis=1, dtype=np.uint64)
            wrong = np.flatnonzero(
                (rows["complete_ps"] != 0)
                & (
                    (sums != rows["complete_ps"])
                    | (windows != rows["parts_ps"][:, explain_log.PARTS.index("window")])
                )
            )
            number = self._by_index.spec(int(wrong[0])).id
            raise VirtualError(
                f"flow {number}: its parts don't sum to its completion time, as its packets "
                "overtook each other: ports or paths of flows can't change in a run that explains "
                "them"
            )
        self._check(result)
        self._check(self._library.vn_explain_whole(self._alive()))
        return rows

    def explain_marks(self) -> NDArray[np.int64]:
        """Returns of a run that counted marks how many packets of data left each port, by
        `MARK_REASONS` and `MARK_AHEADS`: (ports, reasons, aheads), ports by the numbers of
        `link`. Raises VirtualError."""
        rows = np.zeros(len(self._links), np.dtype(explain_log.ExplainMarks))
        self._check(
            self._library.vn_explain_counted_marks(self._alive(), rows.size, rows.ctypes.data)
        )
        return rows["packets"].astype(np.int64)

    def explain_entries(self, log: int) -> NDArray[Any]:
        """Returns a log of `explain_log.LOGS`, `LOG_SENT` to `LOG_CAUSE`: a row each of the entry's
        fields, in an order that doesn't depend on threads. Flows are by their index, ports by the
        numbers of `link`. Raises VirtualError where a log had no memory."""
        self._check(self._library.vn_explain_whole(self._alive()))
        kind = np.dtype(explain_log.LOGS[log])
        at, parts = ctypes.c_void_p(), []
        for thread in range(MOST_THREADS):
            n = self._library.vn_explain_entries(self._alive(), thread, log, ctypes.byref(at))
            if n and at.value:
                parts.append(
                    np.frombuffer(
                        (ctypes.c_char * (n * kind.itemsize)).from_address(at.value), kind
                    ).copy()
                )
        rows = np.concatenate(parts) if parts else np.zeros(0, kind)
        return rows[np.lexsort([rows[name] for name in reversed(_ORDER[log])])]
