"""DCQCN (SIGCOMM'15, section 3.1): the RP of Fig. 7 and the NP of Fig. 6. Its congestion point is
p4src's red_ecn.p4.

Where the paper leaves a choice:

- Fast recovery runs "for F = 5 successive iterations", while Fig. 7 compares max(T, BC) < F after
  counting, which makes four. Here T and BC count the expiries before this one, so that Fig. 7's
  comparisons and the five of the text agree.
- Hyper increase is QCN's ("see [17]"): here the target rises by R_HAI at each event, without QCN's
  growing factor, as the parameter is usually given for DCQCN.
- Alpha decays from the flow's start on, not from its first CNP: eq. 2 requires only "no feedback
  for K time units".
- The NP sends its next CNP at the first marked packet N after the last one. Fig. 6 can be read as
  sending it at the end of those N for a packet marked within; the paper's text has "if a marked
  packet arrives for a flow, and no CNP has been sent for the flow in last N microseconds, a CNP is
  sent immediately".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from . import red
from .base import CE, Cnp, NetworkFacts, NotificationPoint, ReactionPoint
from .parameters import parameter
from .red import RedParameters
from .scheme import Rule, Scheme


@dataclass(frozen=True)
class DcqcnParameters(RedParameters):
    """RP, NP and RED. g, f, N, K, T, B: eq. 1 and 2, Fig. 7. What the paper states: "initial value
    of alpha is 1", f is "fixed at 5", N "50 us in our deployment", K 55 us "in our implementation"
    (it has to exceed N), R_AI "fixed at 40 Mbps"; the rest is the tuning that its section 5 arrives
    at. It names no least rate; NICs count in 1 Mbit/s."""

    g: float = parameter(
        1 / 256, "number", "DCQCN: how fast alpha follows the CNPs", least=1e-6, most=1
    )
    initial_alpha: float = parameter(
        1.0, "number", "DCQCN: alpha at a flow's start", least=1e-6, most=1.9
    )
    f: float = parameter(5, "count", "DCQCN: iterations of fast recovery", name="F", most=1000)
    cnp_interval_s: float = parameter(
        50e-6, "time", "DCQCN: least between CNPs", name="cnp_interval", least=1e-9, most=1
    )
    alpha_timer_s: float = parameter(
        55e-6, "time", "DCQCN: timer of alpha", name="alpha_timer", least=1e-6, most=1
    )
    rate_timer_s: float = parameter(
        55e-6, "time", "DCQCN: timer of rate increase", name="rate_timer", least=1e-6, most=1
    )
    byte_counter_bytes: float = parameter(
        10e6,
        "size",
        "DCQCN: byte counter of rate increase",
        name="byte_counter",
        least=1,
        most=1e12,
    )
    r_ai_bps: float = parameter(
        40e6, "rate", "DCQCN: step of additive increase", name="R_AI", least=1, most=1e12
    )
    r_hai_bps: float = parameter(
        200e6, "rate", "DCQCN: step of hyper increase", name="R_HAI", least=1, most=1e12
    )
    min_rate_bps: float = parameter(
        1e6, "rate", "DCQCN: least rate", name="min_rate", least=1, most=1e12
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha_timer_s > self.cnp_interval_s:
            raise ValueError(
                f"alpha_timer_s = {self.alpha_timer_s} and cnp_interval_s = {self.cnp_interval_s}: "
                "alpha's timer must be the longer one, or alpha falls between two CNPs of a "
                "congested flow"
            )


class DcqcnReactionPoint(ReactionPoint):
    """Fig. 7. `rate_bps` is RC, `target_bps` RT."""

    in_c = "dcqcn.c"

    def __init__(self, line_rate_bps: float, parameters: DcqcnParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self._least_bps = min(parameters.min_rate_bps, line_rate_bps)
        self.rate_bps = line_rate_bps  # "there is no slow start": 3.1
        self.target_bps = line_rate_bps
        self.alpha = parameters.initial_alpha
        self.timer_events = 0  # T
        self.byte_events = 0  # BC
        self._alpha_due_s = 0.0
        self._rate_due_s = 0.0

    def on_start(self, now_s: float) -> None:
        self._reset(now_s)

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        # Eq. 1. The cut takes the old alpha.
        self.target_bps = self.rate_bps
        self.rate_bps = max(self.rate_bps * (1 - self.alpha / 2), self._least_bps)
        g = self._parameters.g
        self.alpha = (1 - g) * self.alpha + g
        self._reset(now_s)  # Reset(Timer, ByteCounter, T, BC, AlphaTimer)

    def on_timer(self, now_s: float) -> None:
        due_s = self.timer_s
        assert due_s is not None
        if self._alpha_due_s <= due_s:
            self.alpha *= 1 - self._parameters.g  # eq. 2
            self._alpha_due_s += self._parameters.alpha_timer_s
        if self._rate_due_s <= due_s:
            self._increase()
            self.timer_events += 1
            self._rate_due_s += self._parameters.rate_timer_s
        self.timer_s = min(self._alpha_due_s, self._rate_due_s)

    def on_bytes_sent(self, now_s: float) -> None:
        self._increase()
        self.byte_events += 1
        self.due_bytes = self.sent_bytes + int(self._parameters.byte_counter_bytes)

    def state(self) -> dict[str, float]:
        return {"alpha": self.alpha, "target_bps": self.target_bps}

    def _increase(self) -> None:
        """A rate increase event: fast recovery, hyper increase or additive increase."""
        parameters = self._parameters
        if max(self.timer_events, self.byte_events) >= parameters.f:
            hyper = min(self.timer_events, self.byte_events) > parameters.f
            step_bps = parameters.r_hai_bps if hyper else parameters.r_ai_bps
            self.target_bps = min(self.target_bps + step_bps, self._line_rate_bps)  # eq. 4
        self.rate_bps = (self.target_bps + self.rate_bps) / 2  # eq. 3, 4

    def _reset(self, now_s: float) -> None:
        parameters = self._parameters
        self.timer_events = self.byte_events = 0
        self._alpha_due_s = now_s + parameters.alpha_timer_s
        self._rate_due_s = now_s + parameters.rate_timer_s
        self.timer_s = min(self._alpha_due_s, self._rate_due_s)
        self.due_bytes = self.sent_bytes + int(parameters.byte_counter_bytes)


class DcqcnNotificationPoint(NotificationPoint):
    """Fig. 6: a CNP at the first marked packet, then one each N at most, while packets are
    marked."""

    in_c = "dcqcn_np.c"

    def __init__(self, parameters: DcqcnParameters) -> None:
        self._interval_s = parameters.cnp_interval_s
        self.marked_from_s = -math.inf

    def on_marked(self, now_s: float) -> Cnp | None:
        if now_s < self.marked_from_s:
            return None
        self.marked_from_s = now_s + self._interval_s
        return Cnp(CE)


_AI_SHARE, _HAI_SHARE, _BYTES_S = 1e-3, 5e-3, 2e-3
"""The steps over the line's rate, and the byte counter as a time of the line, of the paper's 40
Gbit/s."""


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns the paper's steps and byte counter, in proportion to the host's rate, and RED's
    thresholds."""
    line_bps = network.rate_bps
    if not line_bps:
        return {}
    return {
        **red.recommended(network),
        "r_ai_bps": _AI_SHARE * line_bps,
        "r_hai_bps": _HAI_SHARE * line_bps,
        "byte_counter_bytes": _BYTES_S * line_bps / 8,
    }


RULES = {
    **red.RULES,
    "r_ai_bps": Rule("a thousandth of the host's rate", "section 3.1: 40 Mbit/s at 40 Gbit/s"),
    "r_hai_bps": Rule("five thousandths of the host's rate", "200 Mbit/s at 40 Gbit/s"),
    "byte_counter_bytes": Rule("2 ms of the host's rate", "section 5: 10 MB at 40 Gbit/s"),
}

DCQCN = Scheme(
    "dcqcn",
    "Data Center QCN (SIGCOMM'15)",
    "dcqcn",
    DcqcnParameters,
    DcqcnReactionPoint,
    DcqcnNotificationPoint,
    marking=("red_ecn",),
    recommended=recommended,
    by_network=RULES,
    holds=red.holds,
)
