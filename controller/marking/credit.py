"""InfiniBand's credits as a marking point follows them that goes by RESUME: the table of
p4src/v1model/credit.p4."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.topologies.lossless import CREDITS
from pcn.topologies.model import Topology

TABLE = "credit_config"
CLONE_SESSIONS = ()
# InfiniBand Architecture 1.2.1, 7.9; virtualnet/csrc/links/credit.c counts by them.
BLOCK_BYTES = 64
MOST_BLOCKS = 2048


@dataclass(frozen=True)
class CreditPort:
    """One port: FCCL of its lanes at the start, and what the longest frame takes, in blocks. None:
    it has PFC."""

    port: int
    initial_blocks: int | None
    frame_blocks: int

    def entries(self) -> list[TableEntry]:
        if self.initial_blocks is None:
            return []
        action = TableAction(
            "set_credits", initial_blocks=self.initial_blocks, frame_blocks=self.frame_blocks
        )
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any = None
) -> CreditPort:
    frame = math.ceil(topology.number("mtu_bytes") / BLOCK_BYTES)
    if topology.flow_control != CREDITS:
        return CreditPort(port, None, frame)
    return CreditPort(
        port, min(MOST_BLOCKS, int(topology.number("buffer_bytes") // BLOCK_BYTES)), frame
    )
