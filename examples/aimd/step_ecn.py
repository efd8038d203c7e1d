"""The table of step_ecn.p4: what fills it, and what `pcn set` reads and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn import Setting, TableAction, TableEntry, TableMatch, Topology

TABLE = "step_config"
CLONE_SESSIONS = ()
SETTINGS = (
    Setting("k", "size", "queue of an egress port above which it marks (AIMD)", 0, 2**32 - 1),
)


@dataclass(frozen=True)
class StepPort:
    port: int
    k_bytes: int

    def entries(self) -> list[TableEntry]:
        action = TableAction("set_step", k_bytes=self.k_bytes)
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> StepPort:
    return StepPort(port, round(parameters.k_bytes))


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return {"k": arguments["k_bytes"]}


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> StepPort:
    new = {**show(arguments), **values}  # `values` has those alone that somebody named
    return StepPort(port, round(new["k"]))
