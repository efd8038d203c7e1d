"""RED's thresholds of a switch's ports, where a scheme's parameters aren't for all ports.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.errors import TopologyError

COLOURS = GREEN, YELLOW, RED = ("green", "yellow", "red")
"""Of packets, by the drop precedence of their DSCP (RFC 2597): low (AFx1, and what isn't AF),
medium, high."""


@dataclass(frozen=True)
class EcnThresholds:
    """From which queue on RED marks, the queue above which it marks everything, and the probability
    there; of ports of this rate, and of this port, where these are given, and of packets of this
    colour. Yellow and red ones without thresholds have those of green ones."""

    k_min_bytes: float
    k_max_bytes: float
    p_max: float
    rate_bps: float | None = None
    port: int | None = None
    colour: str = GREEN

    def __post_init__(self) -> None:
        if not 0 <= self.k_min_bytes <= self.k_max_bytes < 2**32:
            raise TopologyError(
                f"ECN from {self.k_min_bytes:g} to {self.k_max_bytes:g} bytes: 0 <= k_min <= k_max "
                "< 2^32 must hold"
            )
        if not 0 <= self.p_max <= 1:
            raise TopologyError(f"ECN with p_max {self.p_max:g}: it must be from 0 to 1")
        if self.colour not in COLOURS:
            raise TopologyError(f"ECN of {self.colour!r}: colours are {', '.join(COLOURS)}")

    def applies(self, port: int, rate_bps: float, colour: str = GREEN) -> bool:
        return (
            self.port in (None, port)
            and self.rate_bps in (None, rate_bps)
            and self.colour == colour
        )
