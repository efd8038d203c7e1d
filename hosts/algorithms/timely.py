"""TIMELY (SIGCOMM'15, Algorithm 1): the RP, which takes the round trip time of each segment for its
signal. It needs no marks, and no NP but a receiver that acknowledges the last packet of each
segment.

Where it leaves a choice:

- A segment's packets are paced one by one at the flow's rate, where TIMELY paces whole segments.
  The RTT is that of the segment's last packet, by time stamps of both NICs' own: it has no time in
  it that the segment took to be sent.
- At the first RTT there is no gradient yet: it counts as 0.
- "Gradient <= 0 for five completion events" are five in a row, in whichever of the three bands
  their RTTs were.
- Two things are as in the code that TIMELY's authors published, not in Algorithm 1. No update takes
  more than half of the rate (PCN's paper states this for all schemes, 3.2): the gradient has no
  bound, and an RTT that jumps by 1.5 times the least one would leave the lowest rate. And what an
  update adds, or takes above T_high, is in proportion to the time since the update before, up to
  the least RTT: so that RTTs of every packet (`segment_bytes` = a packet) make a rate rise no
  faster than those of segments do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import Ack, NetworkFacts, ReactionPoint
from .parameters import Parameters, parameter
from .scheme import Rule, Scheme


@dataclass(frozen=True)
class TimelyParameters(Parameters):
    """TIMELY's own values, which PCN's paper uses (3.1). It names no least rate; here one increase.

    t_low_s, t_high_s and min_rtt_s belong to networks whose empty round trip takes 20 us or so:
    `recommended` has others'. A max_decrease of 1 is Algorithm 1 as printed.
    """

    alpha: float = parameter(
        0.875,
        "number",
        "TIMELY: weight of the newest RTT difference in their mean",
        least=1e-6,
        most=1,
    )
    beta: float = parameter(0.8, "number", "TIMELY: weight of a decrease", least=1e-6, most=1)
    delta_bps: float = parameter(
        10e6, "rate", "TIMELY: step of the increase", name="delta", least=1, most=1e12
    )
    t_low_s: float = parameter(
        50e-6, "time", "TIMELY: below this RTT the rate rises",
        name="T_low", most=1, up_to="t_high_s",
    )  # fmt: skip
    t_high_s: float = parameter(
        500e-6, "time", "TIMELY: above this RTT it falls", name="T_high", least=0, most=1
    )
    min_rtt_s: float = parameter(
        20e-6, "time", "TIMELY: what its gradient is divided by", name="min_rtt", least=1e-6, most=1
    )
    segment_bytes: float = parameter(
        64e3, "size", "TIMELY: payload from RTT to RTT", name="segment", least=1, most=1e9
    )
    hai_events: float = parameter(
        5, "count", "TIMELY: gradients <= 0 in a row before hyperactive increase", least=1
    )
    hai_factor: float = parameter(
        5, "number", "TIMELY: by which increases are then larger", least=1
    )
    min_rate_bps: float = parameter(
        10e6, "rate", "TIMELY: least rate", name="min_rate", least=1, most=1e12
    )
    max_decrease: float = parameter(
        0.5, "number",
        "TIMELY: largest part of the rate that a decrease takes", name="timely_max_decrease",
        least=1e-6, most=1,
    )  # fmt: skip


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
        self.rtt_diff_s = (1 - parameters.alpha) * self.rtt_diff_s + parameters.alpha * (
            ack.rtt_s - last_rtt_s
        )
        gradient = self.rtt_diff_s / parameters.min_rtt_s
        self.falls = self.falls + 1 if gradient <= 0 else 0

        elapsed_s = (
            parameters.min_rtt_s if self._last_update_s is None else now_s - self._last_update_s
        )
        self._last_update_s = now_s
        share = min(elapsed_s / parameters.min_rtt_s, 1.0)

        if ack.rtt_s < parameters.t_low_s:
            rate_bps = self.rate_bps + share * parameters.delta_bps
        elif ack.rtt_s > parameters.t_high_s:
            rate_bps = self.rate_bps * (
                1 - share * parameters.beta * (1 - parameters.t_high_s / ack.rtt_s)
            )
        elif gradient <= 0:
            factor = parameters.hai_factor if self.falls >= parameters.hai_events else 1
            rate_bps = self.rate_bps + share * factor * parameters.delta_bps
        else:
            rate_bps = self.rate_bps * (1 - parameters.beta * gradient)
        least_bps = max((1 - parameters.max_decrease) * self.rate_bps, parameters.min_rate_bps)
        self.rate_bps = min(max(rate_bps, least_bps), self._line_rate_bps)

    def state(self) -> dict[str, float]:
        return {"rtt_s": self._last_rtt_s or 0.0, "rtt_diff_s": self.rtt_diff_s}


_PAPERS_RTT_S, _STEP_SHARE = 20e-6, 1e-3
"""The empty round trip of the paper's network, and its step over its 10 Gbit/s."""
_SEGMENT_BYTES = 16e3
"""The smallest of the paper's 16 to 64 KB: with larger ones a rate takes longer to come back
(docs/choices.md)."""


def thresholds(network: NetworkFacts) -> dict[str, float]:
    """Returns T_low and T_high, as far above the round trip as the paper's are above its own."""
    usual, longer_s = TimelyParameters(), max(network.round_trip_s - _PAPERS_RTT_S, 0.0)
    return {"t_low_s": usual.t_low_s + longer_s, "t_high_s": usual.t_high_s + longer_s}


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns the paper's values for 10 Gbit/s and 20 us, in proportion to the host's rate, or
    above the round trip."""
    values = {
        **thresholds(network),
        "min_rtt_s": network.round_trip_s,
        "segment_bytes": _SEGMENT_BYTES,
    }
    if network.rate_bps:
        step_bps = _STEP_SHARE * network.rate_bps
        values |= {"delta_bps": step_bps, "min_rate_bps": step_bps}
    return values


_ABOVE = "the largest round trip, where that is more than 20 us"
THRESHOLD_RULES = {
    "t_low_s": Rule(f"30 us above {_ABOVE}; else 50 us", "the paper's 50 us at 20 us"),
    "t_high_s": Rule(f"480 us above {_ABOVE}; else 500 us", "the paper's 500 us at 20 us"),
}
DELTA_RULE = Rule(
    "a thousandth of the host's rate", "the paper's 10 Mbit/s at 10 Gbit/s; HPCC's run.py"
)
RULES = {
    **THRESHOLD_RULES,
    "min_rtt_s": Rule("the largest round trip", "Algorithm 1's minRTT"),
    "delta_bps": DELTA_RULE,
    "min_rate_bps": Rule("delta", "ours: the paper names none"),
    "segment_bytes": Rule("16 KB", "the smallest of the paper's"),
}


def holds(network: NetworkFacts, parameters: Any) -> dict[str, float]:
    """Returns a queue that makes a round trip T_high at most, above which every rate falls."""
    return {
        "queue_bytes": network.rate_bps * max(parameters.t_high_s - network.round_trip_s, 0.0) / 8
    }


TIMELY = Scheme(
    "timely",
    "TIMELY (SIGCOMM'15)",
    "pcn",
    TimelyParameters,
    TimelyReactionPoint,
    recommended=recommended,
    by_network=RULES,
    holds=holds,
)
