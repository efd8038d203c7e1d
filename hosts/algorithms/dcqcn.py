"""DCQCN (SIGCOMM'15, section 3.1): the RP of Fig. 7 and the NP of Fig. 6. Its congestion point is p4src's red_ecn.p4.

Where the paper leaves a choice:

- Fast recovery runs "for F = 5 successive iterations", while Fig. 7 compares max(T, BC) < F after counting, which makes
  four. Here T and BC count the expiries before this one, so that Fig. 7's comparisons and the five of the text agree.
- Hyper increase is QCN's ("see [17]"): here the target rises by R_HAI at each event, without QCN's growing factor, as
  the parameter is usually given for DCQCN.
- Alpha decays from the flow's start on, not from its first CNP: eq. 2 asks for "no feedback for K time units" alone.
- The NP sends its next CNP at the first marked packet N after the last one. Fig. 6 can be read as sending it
  at the end of those N for a packet marked within; the paper's text has "if a marked packet arrives for a flow, and no
  CNP has been sent for the flow in last N microseconds, a CNP is sent immediately".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .base import Cnp, NotificationPoint, ReactionPoint, check_above_zero


@dataclass(frozen=True)
class DcqcnParameters:
    """RP, NP and RED. What the seed text states is named; the rest is the tuning that section 5 arrives at.

    g (eq. 1, 2): how fast alpha follows the CNPs; 1/256. f (Fig. 7): iterations of fast recovery, "fixed at 5".
    cnp_interval_s: N, "50 us in our deployment". alpha_timer_s: K, 55 us "in our implementation"; it has to exceed N.
    rate_timer_s, byte_counter_bytes: T and B of the rate increase; 55 us and 10 MB. r_ai_bps: "fixed at 40 Mbps";
    r_hai_bps: 200 Mb/s. min_rate_bps: RC never falls below; the paper names none, NICs count in 1 Mb/s.
    k_min_bytes, k_max_bytes, p_max (eq. 5): of RED in every switch; 5 KB, 200 KB, 1%.
    """

    g: float = 1 / 256
    f: float = 5
    cnp_interval_s: float = 50e-6
    alpha_timer_s: float = 55e-6
    rate_timer_s: float = 55e-6
    byte_counter_bytes: float = 10e6
    r_ai_bps: float = 40e6
    r_hai_bps: float = 200e6
    min_rate_bps: float = 1e6
    k_min_bytes: float = 5e3
    k_max_bytes: float = 200e3
    p_max: float = 0.01

    def __post_init__(self) -> None:
        check_above_zero(
            self,
            ("cnp_interval_s", "alpha_timer_s", "rate_timer_s", "byte_counter_bytes", "r_ai_bps", "r_hai_bps",
             "min_rate_bps"),
        )  # fmt: skip
        if not 0 < self.g <= 1:
            raise ValueError(f"g = {self.g}: it must be above 0 and at most 1")
        if self.f < 0 or self.f != int(self.f):
            raise ValueError(f"f = {self.f}: it must be a whole number")
        if not self.alpha_timer_s > self.cnp_interval_s:
            raise ValueError(
                f"alpha_timer_s = {self.alpha_timer_s} and cnp_interval_s = {self.cnp_interval_s}: alpha's timer must "
                "be the longer one, or alpha falls between two CNPs of a congested flow"
            )
        if not 0 <= self.k_min_bytes <= self.k_max_bytes:
            raise ValueError(
                f"k_min_bytes = {self.k_min_bytes} and k_max_bytes = {self.k_max_bytes}: 0 <= K_min <= K_max must hold"
            )
        if not 0 <= self.p_max <= 1:
            raise ValueError(f"p_max = {self.p_max}: it must be from 0 to 1")


class DcqcnReactionPoint(ReactionPoint):
    """Fig. 7. `rate_bps` is RC, `target_bps` RT."""

    def __init__(self, line_rate_bps: float, parameters: DcqcnParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self.rate_bps = line_rate_bps  # "there is no slow start": 3.1
        self.target_bps = line_rate_bps
        self.alpha = 1.0  # "initial value of alpha is 1"
        self.timer_events = 0  # T
        self.byte_events = 0  # BC
        self._alpha_due_s = 0.0
        self._rate_due_s = 0.0

    def on_start(self, now_s: float) -> None:
        self._reset(now_s)

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        # Eq. 1. The cut takes the old alpha.
        self.target_bps = self.rate_bps
        self.rate_bps = max(self.rate_bps * (1 - self.alpha / 2), self._parameters.min_rate_bps)
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
    """Fig. 6: a CNP at the first marked packet, then one each N at most, while packets are marked."""

    def __init__(self, parameters: DcqcnParameters) -> None:
        self._interval_s = parameters.cnp_interval_s
        self.marked_from_s = -math.inf

    def on_marked(self, now_s: float) -> Cnp | None:
        if now_s < self.marked_from_s:
            return None
        self.marked_from_s = now_s + self._interval_s
        return Cnp(decrease=True)
