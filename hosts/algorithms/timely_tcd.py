"""TIMELY with TCD (SIGCOMM'21, Fig. 19), by the paper's principles: the text at hand only mentions
it.

An acknowledgement carries the worst mark of its segment. UE: the rate stays, and increases in a row
count anew. CE, and none: TIMELY. RED marks by DCQCN's thresholds. Nothing cuts harder at CE: by how
much isn't in the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import red, timely
from .base import UE, Ack
from .red import RedParameters
from .scheme import Scheme
from .tcd import TcdParameters
from .timely import TimelyParameters, TimelyReactionPoint


@dataclass(frozen=True)
class TimelyTcdParameters(TcdParameters, RedParameters, TimelyParameters):
    """TIMELY's, and the marking points'."""


class TimelyTcdReactionPoint(TimelyReactionPoint):
    """TIMELY's, with a rate that UE holds."""

    def on_ack(self, ack: Ack, now_s: float) -> None:
        held_bps = self.rate_bps
        super().on_ack(ack, now_s)
        if ack.mark == UE:
            self.rate_bps = held_bps
            self.falls = 0


TIMELY_TCD = Scheme(
    "timely-tcd",
    "TIMELY with congestion detection in three states (TCD, SIGCOMM'21)",
    "tcd",
    TimelyTcdParameters,
    TimelyTcdReactionPoint,
    marking=("red_ecn", "tcd_port", "credit"),
    recommended=lambda network: {**red.recommended(network), **timely.recommended(network)},
    by_network={**red.RULES, **timely.RULES},
    holds=timely.holds,
)
