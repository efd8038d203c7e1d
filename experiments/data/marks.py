"""Why packets of data have marks, or none, and what NP-ECN would have decided in the queue without
PAUSE.

NP-ECN marks a packet whose queue wasn't empty when it came, unless a PAUSE held it up. Without any
PAUSE of the port, frames would have waited before it if there had been more than the time of a
frame ahead: exact where frames have one length, since what is ahead then is more than the frame on
the line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.parts import Logs
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.explain_log import MARK_AHEADS, MARK_REASONS
from pcn.topologies.model import Topology

Counts = NDArray[np.int64]
"""Packets by `MARK_REASONS` and `MARK_AHEADS`."""
_UNKNOWN_PS = 2**40 - 1
"""Of a hop's `without_ps`: the port doesn't serve in order, or it was that long."""


def of_hops(topology: Topology, logs: Logs, hops: NDArray[Any]) -> Counts:
    """Returns the counts of logged hops, as the engine counts them of all packets."""
    counts = np.zeros((len(MARK_REASONS), len(MARK_AHEADS)), np.int64)
    for link in np.unique(hops["link"]):
        rows, end = hops[hops["link"] == link], logs.ports[int(link)]
        rate = round(topology.link_at(end.node, end.port).rate_bps)
        frames = (rows["bytes"].astype(np.int64) * 8_000_000_000_000 + rate // 2) // rate
        ahead = rows["without_ps"].astype(np.int64)
        kinds = {"nothing": ahead == 0, "unknown": ahead == _UNKNOWN_PS, "frame": ahead <= frames}
        aheads = np.select(
            list(kinds.values()), list(map(MARK_AHEADS.index, kinds)), MARK_AHEADS.index("more")
        )
        np.add.at(counts, (rows["reason"], aheads), 1)
    return counts


def by_np_ecn(scheme: str) -> bool:
    """Returns whether a scheme's switches mark by NP-ECN as the paper has it: the program `pcn`
    does, also for schemes whose senders don't obey. Its variants judge by other waits."""
    return find_scheme(scheme).program == "pcn"


def decisions(counts: Counts, np_ecn: bool) -> dict[str, int]:
    """Returns of the packets that were `marked` how many NP-ECN would have marked in the queue
    without PAUSE, `marked_still`. With `np_ecn` likewise `held`, packets that a PAUSE left
    unmarked, and `held_marked`; and of all `decisions`, about packets that came unmarked, those
    that it would have taken alike, `confirmed`. Where a port doesn't serve in order nothing is
    known, and nothing counts."""
    of = by_reason(counts)
    known = {
        reason: sum(row.values()) - row["unknown"]
        for reason, row in of.items()
        if reason != "before"
    }
    result = {"marked": known["here"], "marked_still": of["here"]["more"]}
    if np_ecn:
        unmarked = sum(known[reason] - of[reason]["more"] for reason in ("empty", "held", "other"))
        result |= {"held": known["held"], "held_marked": of["held"]["more"]}
        result |= {"decisions": sum(known.values()), "confirmed": of["here"]["more"] + unmarked}
    return result


def by_reason(counts: Counts) -> Mapping[str, Mapping[str, int]]:
    """Returns counts by name: the reason, and what would have been ahead."""
    return {
        reason: dict(zip(MARK_AHEADS, row, strict=True))
        for reason, row in zip(MARK_REASONS, counts.tolist(), strict=True)
    }
