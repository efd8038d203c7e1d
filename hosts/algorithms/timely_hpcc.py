"""TIMELY as HPCC's ns-3 simulation has it (alibaba-edu's repository, rdma-hw.cc and run.py; CC_MODE
7). What differs from Algorithm 1 (timely.py):

- The rate changes once a round trip: where what had been sent at the latest change is acknowledged.
- Below T_low the rate rises by the hyperactive step, too, after five increases in a row, whatever
  their bands.
- A decrease has no bound but the least rate, which is 1 Gbit/s; the step is 10 Mbit/s for 10
Gbit/s of the host, and five times that. The gradient is over 20 us, whatever the network: here
over its round trip where that is longer.
- The first acknowledgement sets what the next ones are compared with."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Ack, NetworkFacts, ReactionPoint
from .parameters import Parameters, parameter
from .scheme import Rule, Scheme
from .timely import DELTA_RULE, THRESHOLD_RULES, holds, recommended as papers, thresholds

_MIN_RTT_S, _LEAST_BPS, _LEAST_SHARE = 20e-6, 1e9, 1e-2


@dataclass(frozen=True)
class TimelyHpccParameters(Parameters):
    """Those of rdma-hw.cc and of run.py for NICs of 100 Gbit/s."""

    alpha: float = parameter(
        0.875,
        "number",
        "m_tmly_alpha: weight of the newest RTT difference in their mean",
        least=1e-6,
        most=1,
    )
    beta: float = parameter(0.8, "number", "m_tmly_beta: weight of a decrease", least=1e-6, most=1)
    delta_bps: float = parameter(
        100e6, "rate", "RATE_AI: step of the increase", name="delta", least=1, most=1e12
    )
    t_low_s: float = parameter(
        50e-6, "time", "m_tmly_TLow: below this RTT the rate rises",
        name="T_low", most=1, up_to="t_high_s",
    )  # fmt: skip
    t_high_s: float = parameter(
        500e-6, "time", "m_tmly_THigh: above this RTT it falls", name="T_high", most=1
    )
    min_rtt_s: float = parameter(
        _MIN_RTT_S,
        "time",
        "m_tmly_minRtt: what the gradient is divided by",
        name="min_rtt",
        least=1e-6,
        most=1,
    )
    segment_bytes: float = parameter(
        1,
        "size",
        "L2_ACK_INTERVAL: payload from RTT to RTT; 1: of each packet",
        name="segment",
        least=1,
        most=1e9,
    )
    hai_events: float = parameter(
        5, "count", "increases in a row before the hyperactive step", least=1
    )
    hai_factor: float = parameter(5, "number", "RATE_HAI over RATE_AI", least=1)
    min_rate_bps: float = parameter(
        _LEAST_BPS, "rate", "MIN_RATE: least rate", name="min_rate", least=1, most=1e12
    )


class TimelyHpccReactionPoint(ReactionPoint):
    """UpdateRateTimely."""

    def __init__(self, line_rate_bps: float, parameters: TimelyHpccParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self._least_bps = min(parameters.min_rate_bps, line_rate_bps)
        self.rate_bps = line_rate_bps
        self.segment_bytes = int(parameters.segment_bytes)
        self.rtt_diff_s = 0.0
        self.increases = 0  # in a row
        self._last_rtt_s: float | None = None
        self._acked_bytes = 0.0
        self._update_ends = 0.0

    def on_ack(self, ack: Ack, now_s: float) -> None:
        self._acked_bytes += ack.acked_bytes
        if self._acked_bytes <= self._update_ends:
            return
        if self._last_rtt_s is not None:
            self._update(ack.rtt_s, self._last_rtt_s)
        self._update_ends, self._last_rtt_s = float(self.sent_bytes), ack.rtt_s

    def _update(self, rtt_s: float, last_rtt_s: float) -> None:
        parameters = self._parameters
        self.rtt_diff_s = (1 - parameters.alpha) * self.rtt_diff_s + parameters.alpha * (
            rtt_s - last_rtt_s
        )
        gradient = self.rtt_diff_s / parameters.min_rtt_s
        if rtt_s < parameters.t_low_s or (rtt_s <= parameters.t_high_s and gradient <= 0):
            factor = parameters.hai_factor if self.increases >= parameters.hai_events else 1
            self.rate_bps = min(self.rate_bps + factor * parameters.delta_bps, self._line_rate_bps)
            self.increases += 1
            return
        above = rtt_s > parameters.t_high_s
        part = parameters.beta * (1 - parameters.t_high_s / rtt_s if above else gradient)
        self.rate_bps = max(self.rate_bps * max(1 - part, 0.0), self._least_bps)
        self.increases = 0

    def state(self) -> dict[str, float]:
        return {"rtt_s": self._last_rtt_s or 0.0, "rtt_diff_s": self.rtt_diff_s}


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns run.py's steps by the host's rate, and thresholds as TIMELY's."""
    values = {**thresholds(network), "min_rtt_s": max(_MIN_RTT_S, network.round_trip_s)}
    if network.rate_bps:
        values["delta_bps"] = papers(network)["delta_bps"]
        values["min_rate_bps"] = min(_LEAST_BPS, _LEAST_SHARE * network.rate_bps)
    return values


TIMELY_HPCC = Scheme(
    "timely-hpcc",
    "TIMELY of HPCC's ns-3 simulation",
    "pcn",
    TimelyHpccParameters,
    TimelyHpccReactionPoint,
    recommended=recommended,
    by_network={
        **THRESHOLD_RULES,
        "min_rtt_s": Rule(
            "20 us, or the largest round trip where that is longer", "rdma-hw.cc; above 20 us ours"
        ),
        "delta_bps": DELTA_RULE,
        "min_rate_bps": Rule(
            "1 Gbit/s, at most a hundredth of the host's rate", "run.py; below 100 Gbit/s ours"
        ),
    },
    holds=holds,
)
