"""AIMD: rates rise by a step a period while nothing is marked, and lose a part of themselves when
something is."""

from __future__ import annotations

from dataclasses import dataclass

from pcn import Cnp, Mark, NotificationPoint, Parameters, ReactionPoint, Scheme, Window, parameter


@dataclass(frozen=True)
class AimdParameters(Parameters):
    """Each is a setting: of `pcn run --set` by its `name`, of `pcn up --param` by its field's."""

    period_s: float = parameter(
        500e-6, "time", "from one CNP to the next", name="period", least=1e-6, most=1
    )
    step_bps: float = parameter(
        100e6, "rate", "what a period without marks adds", name="step", least=1, most=1e12
    )
    cut: float = parameter(
        0.1, "number", "the part that a period with marks takes", least=0.001, most=0.9
    )
    k_bytes: float = parameter(
        100e3, "size", "the queue above which switches mark", name="K", most=1e9
    )


class AimdReactionPoint(ReactionPoint):
    def __init__(self, line_rate_bps: float, parameters: AimdParameters) -> None:
        self.rate_bps = self._line_rate_bps = line_rate_bps
        self._step_bps, self._cut = parameters.step_bps, parameters.cut

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        if cnp.mark is Mark.CE:
            self.rate_bps = max(
                self.rate_bps * (1 - self._cut), min(self._step_bps, self._line_rate_bps)
            )
        else:
            self.rate_bps = min(self.rate_bps + self._step_bps, self._line_rate_bps)


class AimdNotificationPoint(NotificationPoint):
    def __init__(self, parameters: AimdParameters) -> None:
        self.period_s: float = parameters.period_s

    def on_window(self, window: Window) -> Cnp | None:
        return Cnp(Mark.CE if window.marked_ce else Mark.NONE) if window.packets else None


AIMD = Scheme(
    "aimd",
    "additive increase, multiplicative decrease",
    "step_ecn.json",
    AimdParameters,
    AimdReactionPoint,
    AimdNotificationPoint,
    marking=("step_ecn.py",),
)
