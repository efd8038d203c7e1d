"""Where the completion time of each flow went, in parts that sum to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.hosts.explain_log import SENDER_PARTS, WINDOW_PARTS
from pcn.topologies.model import Endpoint

PART_TEXTS = {
    "own": "its own frames on its NIC's line",
    "rate": "its rate held it back",
    "window": "its window was full",
    "recover": "it waited for ACKs or a timer, after a loss or with all sent",
    "paused": "its NIC's port was PAUSEd",
    "nic": "other frames on its NIC's line",
    "contention": "queues, as long as without any PAUSE of these ports",
    "pause_backlog": "queues that earlier PAUSEs of these ports had built",
    "pause_idle": "these ports were PAUSEd",
    "overtaken": "other frames went first, a fabric, a class's rate",
    "wire": "serialisation and propagation",
    "inside": "switches' latencies",
}
"""What `PARTS` are, for people."""
NO_FLOW = 2**32 - 1
"""In a log: the frame is no flow's data."""


def completing(sent: NDArray[Any], parts_ps: NDArray[np.int64]) -> int:
    """Returns the place in a complete flow's log of packets of the one that completed it: its
    sender's parts are the flow's."""
    wanted = parts_ps[: len(SENDER_PARTS)].astype(np.uint64)
    return int(np.flatnonzero((sent["parts_ps"] == wanted).all(axis=1))[-1])


@dataclass(frozen=True)
class Logs:
    """What an explained run logged, as `pcn.hosts.explain_log.LOGS` has the entries, but flows
    are by their ids. Times in ps from the run's start. `ports`: by the numbers that the entries
    have as links. `marks`: packets of data that left each port, by `MARK_REASONS` and
    `MARK_AHEADS`; None: they weren't counted."""

    sent: NDArray[Any]
    hops: NDArray[Any]
    lines: NDArray[Any]
    causes: NDArray[Any]
    ports: tuple[Endpoint, ...]
    marks: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Parts:
    """A row a flow, in the order of the topology's flows; ps. `start_ps`: from the run's start;
    `fct_ps`: completion times, both 0 of flows that hadn't arrived. `parts_ps`: a column a part of
    `names`, 0 of flows that hadn't arrived; `window_ps`: one of `WINDOW_PARTS`, which sum to the
    part `window`."""

    names: tuple[str, ...]
    start_ps: NDArray[np.int64]
    fct_ps: NDArray[np.int64]
    parts_ps: NDArray[np.int64]
    window_ps: NDArray[np.int64]

    def columns(self, rows: slice = slice(None)) -> Mapping[str, list[int | None]]:
        """Returns the columns of flows.parquet, `fct_ps`, NAME_ps of each part and
        window_NAME_ps of the window's; None of flows that hadn't arrived."""
        complete = (self.fct_ps[rows] != 0).tolist()
        of = {
            "fct_ps": self.fct_ps,
            **{f"{name}_ps": self.parts_ps[:, i] for i, name in enumerate(self.names)},
            **{f"window_{name}_ps": self.window_ps[:, i] for i, name in enumerate(WINDOW_PARTS)},
        }
        return {
            name: [
                value if there else None
                for value, there in zip(values[rows].tolist(), complete, strict=True)
            ]
            for name, values in of.items()
        }

    def shares(self) -> Mapping[str, float | None]:
        """Returns NAME_share: each part's share of the sum of all completion times; None where no
        flow arrived."""
        total = int(self.fct_ps.sum())
        sums = self.parts_ps.sum(axis=0).tolist()
        return {
            f"{name}_share": value / total if total else None
            for name, value in zip(self.names, sums, strict=True)
        }
