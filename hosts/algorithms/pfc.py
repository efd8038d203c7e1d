"""No congestion control: flows send at line rate, PFC alone keeps the network lossless. Section 3.1's baseline."""

from __future__ import annotations

from dataclasses import dataclass

from .base import NotificationPoint, ReactionPoint
from .parameters import Parameters


@dataclass(frozen=True)
class PfcParameters(Parameters):
    """There are none."""


class PfcReactionPoint(ReactionPoint):
    """Stays at line rate whatever happens."""

    def __init__(self, line_rate_bps: float, parameters: PfcParameters) -> None:
        self.rate_bps = line_rate_bps


class PfcNotificationPoint(NotificationPoint):
    """Notifies nobody."""

    def __init__(self, parameters: PfcParameters) -> None:
        self.period_s = None
