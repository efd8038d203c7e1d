"""AIMD by windows: a window rises by a step a round trip while nothing is marked, and loses a part
of itself, once a round trip, when something is. Each packet is acknowledged. aimd_window.c is the
same RP in C."""

from __future__ import annotations

from dataclasses import dataclass

from pcn import Ack, Mark, Parameters, ReactionPoint, Scheme, parameter


@dataclass(frozen=True)
class AimdWindowParameters(Parameters):
    window_bytes: float = parameter(
        250e3, "size", "the largest window, with which flows start", name="W", least=64, most=1e9
    )
    step_bytes: float = parameter(
        1058, "size", "what a round trip without marks adds", name="step", least=1, most=1e9
    )
    cut: float = parameter(
        0.5, "number", "the part that a round trip with marks takes", least=0.001, most=0.9
    )
    k_bytes: float = parameter(
        100e3, "size", "the queue above which switches mark", name="K", most=1e9
    )


class AimdWindowReactionPoint(ReactionPoint):
    in_c = "aimd_window.c"
    segment_bytes = 1  # an acknowledgement of each packet

    def __init__(self, line_rate_bps: float, parameters: AimdWindowParameters) -> None:
        self.rate_bps = line_rate_bps
        self.window_bytes = parameters.window_bytes
        self._parameters = parameters
        self._acked_bytes = 0
        self._cut_at_bytes = 0  # what had been sent at the latest cut

    def on_ack(self, ack: Ack, now_s: float) -> None:
        parameters = self._parameters
        self._acked_bytes += ack.acked_bytes
        if ack.mark is not Mark.CE:
            risen = self.window_bytes + parameters.step_bytes * ack.acked_bytes / self.window_bytes
            self.window_bytes = min(risen, parameters.window_bytes)
        elif self._acked_bytes > self._cut_at_bytes:
            least = min(parameters.step_bytes, parameters.window_bytes)
            self.window_bytes = max(self.window_bytes * (1 - parameters.cut), least)
            self._cut_at_bytes = self.sent_bytes

    def state(self) -> dict[str, float]:
        return {"window_bytes": self.window_bytes}


AIMD_WINDOW = Scheme(
    "aimd-window",
    "additive increase, multiplicative decrease of windows",
    "../aimd/step_ecn.json",
    AimdWindowParameters,
    AimdWindowReactionPoint,
    marking=("../aimd/step_ecn.py",),
)
