"""RED with ECN, DCQCN's congestion point (SIGCOMM'15, eq. 5): the table of
p4src/v1model/red_ecn.p4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking_contract import Setting
from pcn.topologies.ecn import RED, YELLOW
from pcn.topologies.model import Topology

TABLE, COLOURED = "red_config", "red_coloured"
CLONE_SESSIONS = ()
SETTINGS = (
    Setting("k_min", "size", "queue of an egress port above which RED marks (DCQCN)", 0, 2**32 - 1),
    Setting("k_max", "size", "queue above which it marks every packet", 0, 2**32 - 1),
    Setting("p_max", "share", "probability of a mark at k_max", 0, 1),
)


PRECEDENCE = {YELLOW: 2, RED: 3}
"""Of AF's DSCPs, where it isn't low."""


@dataclass(frozen=True)
class RedPort:
    """One egress port: K_min, K_max (bytes) and P_max, of packets of all colours but those with
    their own: `coloured`, by colour. Raises ValueError for what can't work."""

    port: int
    k_min_bytes: int
    k_max_bytes: int
    p_max: float
    coloured: tuple[tuple[str, RedPort], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.k_min_bytes <= self.k_max_bytes < 2**32:
            raise ValueError(
                f"K_min {self.k_min_bytes} and K_max {self.k_max_bytes} bytes: 0 <= K_min <= K_max "
                "< 2^32 must hold"
            )
        if not 0 <= self.p_max <= 1:
            raise ValueError(f"P_max {self.p_max:g}: it must be from 0 to 1")

    @property
    def slope_q48(self) -> int:
        """What a byte above K_min adds to the probability, times 2^48. The data plane can't
        divide."""
        span = self.k_max_bytes - self.k_min_bytes
        return min(round(self.p_max * 2**48 / span), 2**48 - 1) if span else 0

    def entries(self) -> list[TableEntry]:
        others = [
            TableEntry(
                COLOURED,
                match=TableMatch(port=self.port, precedence=PRECEDENCE[colour]),
                action=red_port._action(),
            )
            for colour, red_port in self.coloured
        ]
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=self._action()), *others]

    def _action(self) -> TableAction:
        return TableAction(
            "set_red",
            k_min_bytes=self.k_min_bytes,
            k_max_bytes=self.k_max_bytes,
            slope_q48=self.slope_q48,
        )


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> RedPort:
    rate_bps = topology.link_at(switch, port).rate_bps
    ecn = topology.switch(switch).ecn

    def red(of: Any, *coloured: tuple[str, RedPort]) -> RedPort:
        return RedPort(port, round(of.k_min_bytes), round(of.k_max_bytes), of.p_max, coloured)

    plain = next(
        (thresholds for thresholds in ecn if thresholds.applies(port, rate_bps)), parameters
    )
    others = [
        (colour, thresholds)
        for colour in PRECEDENCE
        for thresholds in ecn
        if thresholds.applies(port, rate_bps, colour)
    ]
    first = dict(reversed(others))
    return red(plain, *((colour, red(first[colour])) for colour in PRECEDENCE if colour in first))


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    k_min, k_max = arguments["k_min_bytes"], arguments["k_max_bytes"]
    return {
        "k_min": k_min,
        "k_max": k_max,
        "p_max": arguments["slope_q48"] * (k_max - k_min) / 2**48,
    }


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> RedPort:
    new = {**show(arguments), **values}
    return RedPort(port, round(new["k_min"]), round(new["k_max"]), new["p_max"])
