"""In-band telemetry, HPCC's congestion point (SIGCOMM'19): the table of
p4src/v1model/telemetry.p4."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pcn.controller.constants import TELEMETRY_RATES_BPS
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.topologies.model import Topology

TABLE = "telemetry_config"
CLONE_SESSIONS = ()
TICK_S = 1e-9
"""Of the clock by which packets are stamped, as the paper's switches and Tofino have it."""


@dataclass(frozen=True)
class TelemetryPort:
    """One egress port that pushes: the rate of its link (bit/s, of the modelled network), and its
    id in path ids, 16 bits. Raises ValueError for what can't work."""

    port: int
    rate_bps: float
    hop_id: int

    def __post_init__(self) -> None:
        if self.rate_bps not in TELEMETRY_RATES_BPS[1:]:
            known = ", ".join(f"{rate / 1e9:g}" for rate in TELEMETRY_RATES_BPS[1:])
            raise ValueError(
                f"a link of {self.rate_bps / 1e9:g} Gbit/s: telemetry has types for {known} "
                "Gbit/s: choose one of these rates"
            )
        if not 0 <= self.hop_id < 2**16:
            raise ValueError(f"hop id {self.hop_id}: 0 <= hop id < 2^16 must hold")

    def entries(self) -> list[TableEntry]:
        rate_type = TELEMETRY_RATES_BPS.index(self.rate_bps)
        action = TableAction("set_telemetry", rate_type=rate_type, hop_id=self.hop_id)
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def hop_id(switch: str, port: int) -> int:
    """Returns a port's 16-bit id, a hash of its name. A CRC, which is linear, would give paths that
    cross the same ports in pairs the same exclusive or."""
    return int.from_bytes(
        hashlib.blake2b(f"{switch}/{port}".encode(), digest_size=2).digest(), "big"
    )


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> TelemetryPort:
    return TelemetryPort(port, topology.link_at(switch, port).rate_bps, hop_id(switch, port))
