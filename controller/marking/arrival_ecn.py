"""Marks by the queue on arrival, DCTCP's congestion point (SIGCOMM'10): the table of
p4src/v1model/arrival_ecn.p4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking_contract import Setting
from pcn.topologies.model import Topology

TABLE = "arrival_config"
CLONE_SESSIONS = ()
SETTINGS = (
    Setting(
        "k",
        "size",
        "queue of an egress port above which what arrives is marked (DCTCP)",
        0,
        2**32 - 1,
    ),
)


@dataclass(frozen=True)
class ArrivalPort:
    """One egress port: K in bytes, the arriving packet included. Raises ValueError for what can't
    work."""

    port: int
    k_bytes: int

    def __post_init__(self) -> None:
        if not 0 <= self.k_bytes < 2**32:
            raise ValueError(f"K {self.k_bytes} bytes: 0 <= K < 2^32 must hold")

    def entries(self) -> list[TableEntry]:
        action = TableAction("set_arrival", k_bytes=self.k_bytes)
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> ArrivalPort:
    """Returns the port with the scheme's K, or with the switch's thresholds of such a port, where
    they are one step."""
    rate_bps = topology.link_at(switch, port).rate_bps
    steps = (
        thresholds
        for thresholds in topology.switch(switch).ecn
        if thresholds.k_min_bytes == thresholds.k_max_bytes
    )
    k_bytes = next(
        (step.k_min_bytes for step in steps if step.applies(port, rate_bps)), parameters.k_bytes
    )
    return ArrivalPort(port, round(k_bytes))


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return {"k": arguments["k_bytes"]}


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> ArrivalPort:
    new = {**show(arguments), **values}
    return ArrivalPort(port, round(new["k"]))
