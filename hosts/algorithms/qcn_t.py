"""QCN-T (Computer Networks 2018): QCN with "a single modified Timer" instead of byte counter and
timer.

With QCN a flow's rate grows after a number of bytes, or after a time: fast flows reach the bytes
sooner, and so the byte counter, which "generally dominates", gives more steps to faster flows. By a
timer alone all take as many steps.

The text at hand doesn't describe the modified timer. Here it has QCN's cycles: five of fast
recovery, then ones of half the length with active increase. Hyper-active increase, for which QCN
waits for both counters, there is none. The timer's length decides how steady the queue is
(docs/choices.md). The default is what the byte counter's 150 KB take at 1 Gbit/s.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import Cnm, NetworkFacts, ReactionPoint
from .parameters import parameter
from .qcn import COMMON_RULES, CommonParameters, holds, recommended_common, unfit
from .scheme import Rule, Scheme


@dataclass(frozen=True)
class QcnTParameters(CommonParameters):
    """QCN's parameters with another timer."""

    timer_s: float = parameter(
        1.2e-3, "time", "QCN-T: timer of rate increase", name="qcn_timer", least=1e-6, most=1
    )


class QcnTReactionPoint(ReactionPoint):
    """`rate_bps` is R_c, `target_bps` R_t."""

    def __init__(self, line_rate_bps: float, parameters: QcnTParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self._least_bps = min(parameters.min_rate_bps, line_rate_bps)
        self.rate_bps = line_rate_bps
        self.target_bps = line_rate_bps
        self.timer_cycles = 0

    def on_cnm(self, cnm: Cnm, now_s: float) -> None:
        parameters = self._parameters
        # Eq. 2 of QCN
        if not (parameters.keep_target and self.timer_s is not None and self.timer_cycles == 0):
            self.target_bps = self.rate_bps
        self.rate_bps = max(self.rate_bps * (1 - parameters.g_d * cnm.feedback), self._least_bps)
        self.timer_cycles = 0
        self.timer_s = now_s + parameters.timer_s

    def on_timer(self, now_s: float) -> None:
        assert self.timer_s is not None
        parameters = self._parameters
        self.timer_cycles += 1
        self.timer_s += parameters.timer_s * (1.0 if self.timer_cycles < parameters.cycles else 0.5)
        if self.timer_cycles > parameters.cycles:
            # eq. 4
            self.target_bps = min(self.target_bps + parameters.r_ai_bps, self._line_rate_bps)
        self.rate_bps = (self.rate_bps + self.target_bps) / 2  # eq. 3, 4

    def state(self) -> dict[str, float]:
        return {"target_bps": self.target_bps}


_CYCLE_BYTES, _SHARE, _LONGEST_S = 150e3, 0.1, 1.2e-3


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns QCN's, and the timer that the byte counter's bytes take at a tenth of the line."""
    if not network.rate_bps:
        return {}
    timer_s = min(8 * _CYCLE_BYTES / (_SHARE * network.rate_bps), _LONGEST_S)
    return {**recommended_common(network), "timer_s": timer_s}


QCN_T = Scheme(
    "qcn-t",
    "QCN with a timer instead of byte counter and timer (QCN-T)",
    "qcn",
    QcnTParameters,
    QcnTReactionPoint,
    marking=("qcn_cp",),
    recommended=recommended,
    by_network={
        **COMMON_RULES,
        "timer_s": Rule(
            "what 150 KB take at a tenth of the host's rate, at most 1.2 ms",
            "ours (docs/choices.md)",
        ),
    },
    unfit=unfit,
    holds=holds,
)
