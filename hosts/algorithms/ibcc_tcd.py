"""InfiniBand's congestion control with TCD (SIGCOMM'21, 5.2): flows that only undetermined ports
marked keep their rate, and those that are congested are cut by two entries of the table instead of
one.

At a notification with UE the index stays, and the time until it falls starts anew, as DCQCN with
TCD holds its rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import UE, Cnp, Window
from .ibcc import IbccNotificationPoint, IbccParameters, IbccReactionPoint
from .parameters import parameter
from .scheme import Scheme
from .tcd import TcdParameters


@dataclass(frozen=True)
class IbccTcdParameters(TcdParameters, IbccParameters):
    """The step is the paper's. An NP sends UE once in a period, like DCQCN with TCD; that is our
    choice."""

    ccti_increase: float = parameter(
        2,
        "count",
        "IB CC with TCD: what a BECN adds to the index",
        name="CCTI_Increase",
        least=1,
        most=255,
    )
    period_s: float = parameter(
        50e-6,
        "time",
        "IB CC with TCD: from one notification of UE to the next",
        name="period",
        least=1e-6,
        most=1,
    )


class IbccTcdReactionPoint(IbccReactionPoint):
    """IB CC's, with an index that UE holds."""

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        if cnp.mark != UE:
            super().on_cnp(cnp, now_s)
        elif self.ccti:
            self.timer_s = now_s + self._parameters.ccti_timer_s


class IbccTcdNotificationPoint(IbccNotificationPoint):
    """A BECN for each packet with FECN. A period with packets marked UE and none with FECN makes
    one with UE."""

    def __init__(self, parameters: IbccTcdParameters) -> None:
        super().__init__(parameters)
        self.period_s = parameters.period_s

    def on_window(self, window: Window) -> Cnp | None:
        return Cnp(UE) if window.marked_ue and not window.marked_ce else None


IBCC_TCD = Scheme(
    "ibcc-tcd",
    "InfiniBand's congestion control with congestion detection in three states (TCD, SIGCOMM'21)",
    "tcd",
    IbccTcdParameters,
    IbccTcdReactionPoint,
    IbccTcdNotificationPoint,
    marking=("red_ecn", "tcd_port", "credit"),
)
