"""PCN with a window: our variant of the reaction point (not in the paper). pcn_w.c is the same RP
in C.

PCN limits what a flow sends by its rate alone, so all that N flows send in the first period, N T C
of it, stands in the queue before the first CNP comes. Here a flow may have in flight what its rate
fills in `window_rtts` empty round trips, W = rate * RTT * window_rtts, so its queue is at most N
windows, whatever T is, and acknowledgements clock it meanwhile. RecRate still sets the rate, and
the window with it: a constant window leaves its queue standing.

NP and switches are PCN's. An acknowledgement of four packets is enough, and of the one that fills
the window."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.frames import MAX_FRAME

from . import pcn
from .base import Cnp, NetworkFacts
from .parameters import parameter
from .pcn import PcnNotificationPoint, PcnParameters, PcnReactionPoint
from .scheme import Rule, Scheme


@dataclass(frozen=True)
class PcnWParameters(PcnParameters):
    rtt_s: float = parameter(
        12e-6,
        "time",
        "PCN-W: the network's largest empty round trip",
        name="rtt_w",
        least=1e-9,
        most=1,
    )
    window_rtts: float = parameter(
        2,
        "number",
        "PCN-W: round trips of a flow's rate that may be in flight",
        name="window_rtts",
        least=0.1,
        most=1e3,
    )
    frame_bytes: float = parameter(
        1058, "size", "PCN-W: the least window", name="least_window", least=64, most=MAX_FRAME
    )


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns PCN's, T for the round trip, and the network's frame. Windows of fewer frames than T
    needs are as unequal as rates are with a shorter T: with 2 round trips of 16 flows at 25 Gbit/s
    and 20 us, seven frames each, Jain's index is 0.54."""
    values = pcn.recommended(network)
    rtt_s = values["period_s"] if network.round_trip_s else PcnWParameters.rtt_s
    return {**values, "rtt_s": rtt_s, "frame_bytes": network.frame_bytes}


class PcnWReactionPoint(PcnReactionPoint):
    in_c = "pcn_w.c"
    segment_bytes = 4000

    def __init__(self, line_rate_bps: float, parameters: PcnWParameters) -> None:
        super().__init__(line_rate_bps, parameters)
        self._window_s = parameters.window_rtts * parameters.rtt_s
        self._least_bytes = parameters.frame_bytes
        self._set_window()

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        super().on_cnp(cnp, now_s)
        self._set_window()

    def _set_window(self) -> None:
        self.window_bytes = max(self.rate_bps * self._window_s / 8, self._least_bytes)

    def state(self) -> dict[str, float]:
        return {"w": self.w, "window_bytes": self.window_bytes}


PCN_W = Scheme(
    "pcn-w",
    "PCN with a window (our variant)",
    "pcn",
    PcnWParameters,
    PcnWReactionPoint,
    PcnNotificationPoint,
    recommended=recommended,
    by_network={
        **pcn.RULES,
        "rtt_s": Rule("T", "ours"),
        "frame_bytes": Rule("a data packet's frame", "ours"),
    },
    holds=pcn.holds,
)
