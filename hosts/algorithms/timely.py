"""TIMELY (SIGCOMM'15, Algorithm 1): the RP, which takes the round trip time of each segment for its signal. It needs no
marks, and no NP but a receiver that acknowledges the last packet of each segment.

Where it leaves a choice:

- A segment's packets are paced one by one at the flow's rate, where TIMELY paces whole segments. The RTT is that of
  the segment's last packet, by time stamps of both NICs' own: it has no time in it that the segment took to be sent.
- At the first RTT there is no gradient yet: it counts as 0.
- "Gradient <= 0 for five completion events" are five in a row, in whichever of the three bands their RTTs were.
- Two things are as in the code that TIMELY's authors published, not in Algorithm 1. No update takes more than half of
  the rate (PCN's paper says so of all schemes, 3.2): the gradient has no bound, and an RTT that jumps by 1.5 times the
  least one would leave the lowest rate. And what an update adds, or takes above T_high, is in proportion to the time
  since the update before, up to the least RTT: so that RTTs of every packet (`segment_bytes` = a packet) make a rate
  rise no faster than those of segments do.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import Ack, ReactionPoint, check_above_zero


@dataclass(frozen=True)
class TimelyParameters:
    """TIMELY's own values, which PCN's paper says that it uses (3.1).

    alpha: weight of the newest RTT difference in their mean; 0.875. beta: the decrease; 0.8. delta_bps: the increase;
    10 Mb/s. t_low_s, t_high_s: below, the rate rises whatever the gradient; above, it falls; 50 and 500 us.
    min_rtt_s: what the gradient is normalised by; 20 us. segment_bytes: from one RTT to the next, of payload; 64 KB.
    hai_events, hai_factor: so many gradients <= 0 in a row make increases so many times larger; 5 and 5.
    min_rate_bps: TIMELY names none; as much as one increase. max_decrease: the largest part of the rate that one update
    takes; 1 is Algorithm 1 as printed.

    t_low_s, t_high_s and min_rtt_s belong to networks whose empty round trip takes 20 us or so: a scenario with a
    longer one must set them.
    """

    alpha: float = 0.875
    beta: float = 0.8
    delta_bps: float = 10e6
    t_low_s: float = 50e-6
    t_high_s: float = 500e-6
    min_rtt_s: float = 20e-6
    segment_bytes: float = 64e3
    hai_events: float = 5
    hai_factor: float = 5
    min_rate_bps: float = 10e6
    max_decrease: float = 0.5

    def __post_init__(self) -> None:
        check_above_zero(self, ("delta_bps", "min_rtt_s", "segment_bytes", "min_rate_bps"))
        for name in ("alpha", "beta", "max_decrease"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} = {getattr(self, name)}: it must be above 0 and at most 1")
        if not 0 <= self.t_low_s <= self.t_high_s:
            raise ValueError(f"t_low_s = {self.t_low_s} and t_high_s = {self.t_high_s}: 0 <= T_low <= T_high must hold")
        if not (self.hai_events >= 1 and self.hai_factor >= 1):
            raise ValueError(f"hai_events = {self.hai_events}, hai_factor = {self.hai_factor}: both must be at least 1")


class TimelyReactionPoint(ReactionPoint):
    """Algorithm 1."""

    def __init__(self, line_rate_bps: float, parameters: TimelyParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self._last_rtt_s: float | None = None
        self.rate_bps = line_rate_bps
        self.segment_bytes = int(parameters.segment_bytes)
        self.rtt_diff_s = 0.0
        self._last_update_s: float | None = None
        self.falls = 0  # gradients <= 0 in a row

    def on_ack(self, ack: Ack, now_s: float) -> None:
        parameters = self._parameters
        last_rtt_s = ack.rtt_s if self._last_rtt_s is None else self._last_rtt_s
        self._last_rtt_s = ack.rtt_s
        self.rtt_diff_s = (1 - parameters.alpha) * self.rtt_diff_s + parameters.alpha * (ack.rtt_s - last_rtt_s)
        gradient = self.rtt_diff_s / parameters.min_rtt_s
        self.falls = self.falls + 1 if gradient <= 0 else 0

        elapsed_s = parameters.min_rtt_s if self._last_update_s is None else now_s - self._last_update_s
        self._last_update_s = now_s
        share = min(elapsed_s / parameters.min_rtt_s, 1.0)

        if ack.rtt_s < parameters.t_low_s:
            rate_bps = self.rate_bps + share * parameters.delta_bps
        elif ack.rtt_s > parameters.t_high_s:
            rate_bps = self.rate_bps * (1 - share * parameters.beta * (1 - parameters.t_high_s / ack.rtt_s))
        elif gradient <= 0:
            factor = parameters.hai_factor if self.falls >= parameters.hai_events else 1
            rate_bps = self.rate_bps + share * factor * parameters.delta_bps
        else:
            rate_bps = self.rate_bps * (1 - parameters.beta * gradient)
        least_bps = max((1 - parameters.max_decrease) * self.rate_bps, parameters.min_rate_bps)
        self.rate_bps = min(max(rate_bps, least_bps), self._line_rate_bps)

    def state(self) -> dict[str, float]:
        return {"rtt_s": self._last_rtt_s or 0.0, "rtt_diff_s": self.rtt_diff_s}
