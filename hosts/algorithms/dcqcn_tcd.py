"""DCQCN with TCD (SIGCOMM'21, 5.2.1): flows that only undetermined ports marked keep their rate.

"We change the rate reduction factor alpha from default 0.5 to 1.2": 1 - alpha / 2 is what a cut
leaves, and alpha moves, so that 1.2 can only be where it starts. DCQCN's paper has 1 there, its
code as TCD's authors use it 0.5. Compare at equal `initial_alpha` as well: otherwise TCD is
credited with what that does.

At a CNP with UE the rate stays, and what would raise it starts anew, as in the authors' code:
target, timers, counters.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import dcqcn, red
from .base import UE, Cnp
from .dcqcn import DcqcnParameters, DcqcnReactionPoint
from .parameters import parameter
from .scheme import Scheme
from .tcd import TcdNotificationPoint, TcdParameters


@dataclass(frozen=True)
class DcqcnTcdParameters(TcdParameters, DcqcnParameters):
    """DCQCN's parameters with another alpha, and those of the marking point."""

    initial_alpha: float = parameter(
        1.2, "number", "DCQCN: alpha at a flow's start", least=1e-6, most=1.9
    )


class DcqcnTcdReactionPoint(DcqcnReactionPoint):
    """DCQCN's, with a rate that UE holds."""

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        if cnp.mark == UE:
            self.target_bps = self.rate_bps
            self._reset(now_s)
        else:
            super().on_cnp(cnp, now_s)


DCQCN_TCD = Scheme(
    "dcqcn-tcd",
    "DCQCN with congestion detection in three states (TCD, SIGCOMM'21)",
    "tcd",
    DcqcnTcdParameters,
    DcqcnTcdReactionPoint,
    TcdNotificationPoint,
    marking=("red_ecn", "tcd_port", "credit"),
    recommended=dcqcn.recommended,
    by_network=dcqcn.RULES,
    holds=red.holds,
)
