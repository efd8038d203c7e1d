"""TCD's states of a port (SIGCOMM'21): the table of p4src/v1model/tcd_port.p4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking_contract import Setting
from pcn.topologies.lossless import CREDITS
from pcn.topologies.model import Topology

TABLE = "tcd_config"
CLONE_SESSIONS = ()
SAMPLED = ("tcd_state",)
SETTINGS = (
    Setting(
        "max_ton",
        "time",
        "how long a port stays undetermined after a RESUME, in real time (TCD)",
        1e-6,
        2**47 * 1e-6,
    ),
    Setting(
        "looks",
        "count",
        "looks in a row that show a queue that doesn't fall, for congestion",
        1,
        255,
    ),
)
_FRAMES = 2
"""A queue of at most this number of frames counts as empty."""


@dataclass(frozen=True)
class TcdPort:
    """One egress port: max(Ton) in real us, the bytes up to which a queue is gone, and the looks
    that congestion takes.

    Raises ValueError for what can't work.
    """

    port: int
    max_ton_us: int
    empty_bytes: int
    looks: int

    def __post_init__(self) -> None:
        if not 1 <= self.max_ton_us < 2**48:
            raise ValueError(f"max(Ton) {self.max_ton_us} us: it must be from 1 to 2^48 - 1")
        if not 0 <= self.empty_bytes < 2**32:
            raise ValueError(
                f"a queue of {self.empty_bytes} bytes as none: it must be from 0 to 2^32 - 1"
            )
        if not 1 <= self.looks <= 255:
            raise ValueError(f"{self.looks} looks: it must be from 1 to 255")

    def arguments(self) -> dict[str, int]:
        """Returns the arguments of the table's action."""
        return {"max_ton_us": self.max_ton_us, "empty_bytes": self.empty_bytes, "looks": self.looks}

    def entries(self) -> list[TableEntry]:
        return [
            TableEntry(
                TABLE,
                match=TableMatch(port=self.port),
                action=TableAction("set_tcd", **self.arguments()),
            )
        ]


def max_ton_s(
    rate_bps: float, delay_s: float, span_bytes: float, frame_bytes: float, epsilon: float
) -> float:
    """Computes max(Ton): how long `epsilon` of the rate takes to outweigh the bytes that a pause
    alone moves. With PFC a port can be on for this time between two pauses, if what its neighbour's
    input gets exceeds what leaves it by that: to fill it from XON to XOFF, `span_bytes`, and by
    what drained until the RESUME had effect. With credits its own queue falls by what is on its way
    in a round trip; `span_bytes` is what a flow control packet gives. Ours (docs/tcd.md)."""
    return (8 * (span_bytes + _FRAMES * frame_bytes) / rate_bps + 2 * delay_s) / epsilon


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> TcdPort:
    link = topology.link_at(switch, port)
    frame = topology.number("mtu_bytes")
    if topology.flow_control == CREDITS:
        span = topology.number("credit_interval_s") * link.rate_bps / 8
    else:
        span = topology.number("xoff_bytes") - topology.number("xon_bytes")
    on_s = parameters.max_ton_s or max_ton_s(
        link.rate_bps, link.delay_s, span, frame, parameters.epsilon
    )
    return TcdPort(
        port, math.ceil(on_s * dilation * 1e6), round(_FRAMES * frame), round(parameters.looks)
    )


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return {"max_ton": arguments["max_ton_us"] * 1e-6, "looks": arguments["looks"]}


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> TcdPort:
    new = {**show(arguments), **values}
    return TcdPort(port, round(new["max_ton"] * 1e6), arguments["empty_bytes"], round(new["looks"]))
