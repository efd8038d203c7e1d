"""No congestion control: flows send at line rate, PFC alone keeps the network lossless. Section
3.1's baseline."""

from __future__ import annotations

from dataclasses import dataclass

from .base import ReactionPoint
from .parameters import Parameters
from .scheme import Scheme


@dataclass(frozen=True)
class PfcParameters(Parameters):
    """There are none."""


class PfcReactionPoint(ReactionPoint):
    """Stays at line rate whatever happens."""

    def __init__(self, line_rate_bps: float, parameters: PfcParameters) -> None:
        self.rate_bps = line_rate_bps


PFC = Scheme("pfc", "no congestion control: PFC alone", "pcn", PfcParameters, PfcReactionPoint)
