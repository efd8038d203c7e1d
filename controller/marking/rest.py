"""A port's rest, by which switches that don't see PAUSE frames detect a RESUME: the table of
p4src/v1model/rest.p4."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pcn.controller.constants import CLASSES, PFC_BYTES
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.pfc import LOSSLESS_CLASSES, lossless
from pcn.topologies.model import Topology

TABLE = "rest_config"
CLONE_SESSIONS = ()
# A switch in stretched time is a thread, which wakes late: on two busy cores seldom by more
# (docs/tofino.md).
LATE_US = 5000


@dataclass(frozen=True)
class RestPort:
    """One egress port: how far apart two dequeues can be while packets wait (real us), and which
    classes PFC stops.

    Raises ValueError for what can't work.
    """

    port: int
    gap_us: int
    lossless: int = LOSSLESS_CLASSES

    def __post_init__(self) -> None:
        if not 1 <= self.gap_us < 2**31:
            raise ValueError(f"a gap of {self.gap_us} us: it must be from 1 to 2^31 - 1")

    @property
    def actions(self) -> dict[int, str]:
        """By class. Strict priorities: any class above the lowest lossless one can keep a lossless
        one waiting."""
        lossless = [number for number in range(CLASSES) if self.lossless >> number & 1]
        return {
            number: "set_rest" if number in lossless else "goes_before"
            for number in range(min(lossless, default=CLASSES), CLASSES)
        }

    def entries(self) -> list[TableEntry]:
        return [
            TableEntry(
                TABLE,
                match=TableMatch({"port": self.port, "class": number}),
                action=TableAction(action, gap_us=self.gap_us),
            )
            for number, action in self.actions.items()
        ]


def gap_us(rate_bps: float, largest_frame_bytes: float, late_us: int = 0) -> int:
    """Returns how far apart two dequeues at a port of this real rate can be while packets wait: the
    largest frame, PFC frames that may go before the next one, and how late the switch may be.
    Rounded up, as the data plane counts us."""
    return math.ceil((largest_frame_bytes + 2 * PFC_BYTES) * 8 / rate_bps * 1e6) + late_us


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> RestPort:
    rate_bps = topology.link_at(switch, port).rate_bps / dilation
    largest = max(parameters.largest_frame_bytes, topology.number("mtu_bytes"))
    gap = gap_us(rate_bps, largest, LATE_US if dilation > 1 else 0)
    return RestPort(port, gap, lossless(topology))
