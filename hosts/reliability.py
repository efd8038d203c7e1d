"""What a NIC does about lost packets, class by class: csrc/reliable.h has the rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum


class Repeats(IntEnum):
    """Which packets are sent again: enum reliability."""

    NOTHING = 0
    GO_BACK_N = 1
    SELECTIVE = 2


@dataclass(frozen=True)
class Reliability:
    """Of a class: what its flows repeat. `timeout_s`: all that is in flight counts as lost where
    nothing new was acknowledged for that time; above the longest round trip, queues included.
    `reordering_s`: with SELECTIVE a packet counts as lost when one that left that much later is
    acknowledged; 0 where packets can't overtake each other.

    Raises ValueError.
    """

    repeats: Repeats = Repeats.NOTHING
    timeout_s: float = 1e-3
    reordering_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s < math.inf:
            raise ValueError(f"timeout_s is {self.timeout_s:g}: seconds, above 0")
        if not 0 <= self.reordering_s < math.inf:
            raise ValueError(f"reordering_s is {self.reordering_s:g}: seconds, 0 or more")


LOSSLESS = Reliability()
"""Nothing is repeated, as flow control lets nothing be lost."""
