"""Which of equal paths the packets of a flow take: csrc/paths.h has the rules.

Switches choose a path by a hash of the five-tuple, in which the UDP source port is the flow's
entropy."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Literal

MOST = 256
"""Ports of a flow."""
FIRST_PORT = 0xC000
"""Of the dynamic ports."""
_DRAWN = 64
"""Bytes of one digest."""


@dataclass(frozen=True)
class Paths:
    """How often the packets of a flow change their UDP source port: `per` "flow" never, "flowlet"
    after `gap_s` without a packet, "packet" with each. A flow has `entropies` ports, 1 to 256, in
    turn. Their upper bits are drawn from seed, sender and flow: `ports` "random" draws them for
    each port, so that a hash spreads a flow's ports as it happens to; "counted" once for all, and a
    CRC spreads a power of two of them evenly. `avoid`: a port is left out for a while after an
    acknowledgement with a mark, and for longer after a packet that was trimmed. Needs an
    acknowledgement of each packet: else a mark is no port's.

    Raises ValueError.
    """

    per: Literal["flow", "flowlet", "packet"] = "flow"
    entropies: int = 64
    gap_s: float = 50e-6
    ports: Literal["random", "counted"] = "random"
    avoid: bool = True

    def __post_init__(self) -> None:
        if self.per not in ("flow", "flowlet", "packet"):
            raise ValueError(f"per is {self.per!r}: flow, flowlet or packet")
        if self.ports not in ("random", "counted"):
            raise ValueError(f"ports is {self.ports!r}: random or counted")
        if not 1 <= self.entropies <= MOST:
            raise ValueError(f"entropies is {self.entropies}: 1 to {MOST}")
        if not 0 < self.gap_s < math.inf:
            raise ValueError(f"gap_s is {self.gap_s:g}: seconds, above 0")

    @property
    def sprays(self) -> bool:
        """Whether packets of a flow take several paths."""
        return self.per != "flow" and self.entropies > 1

    def ports_of(self, seed: int, src_ip: int, flow: int) -> tuple[int, ...]:
        """Returns the UDP source ports of a flow: the low byte is the place among them."""
        return tuple(
            FIRST_PORT | (byte & 0x3F) << 8 | i
            for i, byte in enumerate(self.drawn(seed, src_ip, flow))
        )

    def drawn(self, seed: int, src_ip: int, flow: int) -> bytes:
        """Returns the byte of each port of a flow whose lower 6 bits are the port's upper ones."""
        key = b"ports/%d/%d/%d" % (seed, src_ip, flow)
        many = 1 if self.ports == "counted" else self.entropies
        drawn = b"".join(
            hashlib.blake2b(key, digest_size=64, salt=b"%d" % i).digest()
            for i in range(-(-many // _DRAWN))
        )
        return drawn[:1] * self.entropies if many == 1 else drawn[:many]


BY_FLOW = Paths()
"""A flow's packets take one path."""
