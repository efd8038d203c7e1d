"""TCD's additions to a scheme (SIGCOMM'21): parameters of its marking point, tcd_port.p4, and an NP
that notifies UE.

Of its two principles (5.2) the schemes take: a flow that is marked UE keeps its rate until it is
congested or uncongested; one that is marked CE cuts it harder than the scheme alone would.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import red, rest
from .base import Cnp, Mark, Window
from .dcqcn import DcqcnNotificationPoint, DcqcnParameters
from .parameters import Parameters, parameter
from .pfc import PfcReactionPoint
from .red import RedParameters
from .rest import RestParameters
from .scheme import Scheme


@dataclass(frozen=True)
class TcdParameters(Parameters):
    """Of the marking point. epsilon is what the paper recommends, 5.1.4. How max(Ton) follows from
    it isn't in the text at hand: docs/tcd.md derives it; that is ours, and so is `looks`."""

    epsilon: float = parameter(
        0.05, "number", "TCD: least excess of a port's input over its output", least=1e-6, most=1
    )
    looks: float = parameter(
        6, "count", "TCD: looks in a row that show a queue that doesn't fall", least=1, most=255
    )
    max_ton_s: float = parameter(
        0.0, "time",
        "TCD: longest on-time between two pauses; 0: from XOFF, XON, rate, delay and epsilon",
        name="max_ton", most=1,
    )  # fmt: skip


class TcdNotificationPoint(DcqcnNotificationPoint):
    """Notifies CE like DCQCN. A window of N with packets marked UE and none CE makes a CNP with
    UE."""

    def __init__(self, parameters: DcqcnParameters) -> None:
        super().__init__(parameters)
        self.period_s = parameters.cnp_interval_s

    def on_window(self, window: Window) -> Cnp | None:
        return Cnp(Mark.UE) if window.marked_ue and not window.marked_ce else None


@dataclass(frozen=True)
class TcdMarksParameters(TcdParameters, RedParameters):
    """The marking points'."""


TCD = Scheme(
    "tcd",
    "no congestion control: PFC alone, and TCD's marks (CE and UE)",
    "tcd",
    TcdMarksParameters,
    PfcReactionPoint,
    marking=("red_ecn", "tcd_port", "credit"),
    recommended=red.recommended,
    by_network=red.RULES,
)


@dataclass(frozen=True)
class TcdTimeParameters(RestParameters, TcdMarksParameters):
    """And those of a RESUME that is detected by time."""


TCD_TIME = Scheme(
    "tcd-time",
    "no congestion control: PFC alone, and TCD's marks as a Tofino gives them (docs/tofino.md)",
    "tcd_time",
    TcdTimeParameters,
    PfcReactionPoint,
    marking=("red_ecn", "tcd_port", "rest"),
    recommended=lambda network: {**red.recommended(network), **rest.recommended(network)},
    by_network={**red.RULES, **rest.RULES},
)
