"""RED by the traffic manager's depth: the table of p4src/v1model/red_depth.p4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking_contract import Setting
from pcn.topologies.model import Topology

TABLE = "red_depth_config"
CLONE_SESSIONS = ()
SETTINGS = (
    Setting("k_min", "count", "packets in a queue above which RED marks (NSCC)", 0, 2**32 - 1),
    Setting("k_max", "count", "packets above which it marks every packet", 0, 2**32 - 1),
)


@dataclass(frozen=True)
class RedDepthPort:
    """One egress port: K_min and K_max in packets; the probability rises to 1. Raises ValueError
    for what can't work."""

    port: int
    k_min_packets: int
    k_max_packets: int

    def __post_init__(self) -> None:
        if not 0 <= self.k_min_packets <= self.k_max_packets < 2**32:
            raise ValueError(
                f"K_min {self.k_min_packets} and K_max {self.k_max_packets}: 0 <= K_min <= K_max < "
                "2^32 must hold"
            )

    @property
    def slope_q48(self) -> int:
        """What a packet above K_min adds to the probability, times 2^48."""
        span = self.k_max_packets - self.k_min_packets
        return min(round(2**48 / span), 2**48 - 1) if span else 0

    def entries(self) -> list[TableEntry]:
        action = TableAction(
            "set_red_depth",
            k_min_packets=self.k_min_packets,
            k_max_packets=self.k_max_packets,
            slope_q48=self.slope_q48,
        )
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> RedDepthPort:
    """Returns RED's thresholds of a switch's port: shares of the frames that the port sends in the
    network's largest round trip (`network_rtt_s`)."""
    bdp_packets = (
        topology.link_at(switch, port).rate_bps
        * parameters.network_rtt_s
        / 8
        / parameters.frame_bytes
    )
    return RedDepthPort(
        port, round(parameters.ecn_low * bdp_packets), round(parameters.ecn_high * bdp_packets)
    )


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return {"k_min": arguments["k_min_packets"], "k_max": arguments["k_max_packets"]}


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> RedDepthPort:
    new = {**show(arguments), **values}
    return RedDepthPort(port, round(new["k_min"]), round(new["k_max"]))
