"""Photonic Congestion Notification (NSDI'20): NP of section 5.2, RP of section 5.3 (Algorithm 1).

Where the paper leaves a choice:

- The NP's timer runs freely, with a separate phase for each flow; the first packet comes anywhere
  in a period, and what arrived in that rest of it is divided by T as well. In a packet model of
  section 7.1's dumbbell the initial queue is then drained after 3 to 5 ms (paper: 7.5), and Jain's
  index is 0.98 to 1.00. If periods start with the flows' first packets, flows that start together
  are notified in step: 37 ms, and 0.92.
- "The receiving rate is calculated directly with T divided by the total size of arrived packets" is
  inverted: it is their total size divided by T.
- "When the inter-arrival time is larger than T, NP estimates the receiving rate by replacing T by
  the inter-arrival time": that between the latest packet and the one before it. It can exceed T
  only in a period of one packet; a period of several packets after a silence (for example a PAUSE)
  is divided by T, so that the silence doesn't hide the rate.
- "95% packets": at least 95%. Below 20 packets a period this means all of them.
- RecRate, "normalized by 1Mbps", is rounded to the nearest Mbit/s and at least 1: rounding down
would take 8% from flows of 10 Mbit/s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import rest
from .base import CE, NONE, Cnp, NetworkFacts, NotificationPoint, ReactionPoint, Window
from .parameters import Parameters, parameter
from .rest import RestParameters
from .scheme import Rule, Scheme

REC_RATE_UNIT_BPS = 1e6
PERIOD_FRAMES = 20
"""Of a flow in a period, at least, where it is known how many flows share a link: from as many on
the 95% rule tolerates an unmarked packet. Of 16 flows Jain's index is 0.998 and more then, on seven
stars of 10 to 400 Gbit/s and 3 to 60 us; with 15 it is 0.93 to 1.00, with 5 0.40 to 0.74
(docs/fairness.md)."""


@dataclass(frozen=True)
class PcnWeights(Parameters):
    """Section 5's names. Section 6.2 recommends w_min = 0.1 / flows, w_max = 0.5 and T = the
    largest RTT."""

    w_min: float = parameter(
        1 / 128, "number", "PCN's least weight of an increase",
        least=1e-6, most=1 - 1e-6, up_to="w_max",
    )  # fmt: skip
    w_max: float = parameter(
        0.5, "number", "PCN's largest weight of an increase", least=1e-6, most=1
    )
    period_s: float = parameter(50e-6, "time", "PCN's CNP period", name="T", least=1e-6, most=1)
    phase_spread: float = parameter(
        1.0,
        "number",
        "PCN: flows start in this part of their NPs' periods; 0: in step",
        name="phases",
        most=1,
    )


@dataclass(frozen=True)
class PcnParameters(PcnWeights):
    """And the NP's rule."""

    congested_fraction: float = parameter(
        0.95, "number",
        "PCN: a flow is congested if this share of its packets is marked", name="congested",
        least=1e-6, most=1,
    )  # fmt: skip


@dataclass(frozen=True)
class PcnTimeParameters(RestParameters, PcnParameters):
    """PCN's parameters if switches detect a RESUME by time."""


def period_rule(frames: float) -> Callable[[NetworkFacts], dict[str, float]]:
    """Returns 6.2's rule with a T of at least this number of a flow's frames."""

    def recommended(network: NetworkFacts) -> dict[str, float]:
        """Returns w_min = 0.1 / N, and as T the largest round trip, or the time of a flow's frames
        where that is longer; 5's w_min where N is unknown."""
        usual = PcnWeights()
        w_min = 0.1 / network.flows if network.flows else usual.w_min
        frames_s = (
            8 * frames * network.flows * network.frame_bytes / network.rate_bps
            if network.rate_bps
            else 0.0
        )
        period_s = max(network.round_trip_s, frames_s)
        return {"w_min": min(w_min, usual.w_max), "period_s": period_s}

    return recommended


def period_text(frames: float) -> Mapping[str, Rule]:
    """Returns the rules of `period_rule`."""
    return {
        "w_min": Rule("0.1 / N, N flows that last on a link; 1/128 where N is unknown", "6.2; 5.3"),
        "period_s": Rule(
            (
                f"the largest round trip; at least {frames:g} frames of each of N flows, where N "
                "is known"
            ),
            "6.2; the frames are ours",
        ),
    }


recommended = period_rule(PERIOD_FRAMES)
RULES = period_text(PERIOD_FRAMES)


class PcnReactionPoint(ReactionPoint):
    """Algorithm 1. Its NP's CNPs have a RecRate of 1 Mbit/s at least."""

    in_c = "pcn.c"
    needs_rec_rate = True

    def __init__(self, line_rate_bps: float, parameters: PcnWeights) -> None:
        self._line_rate_bps = line_rate_bps
        self._w_min = parameters.w_min
        self._w_max = parameters.w_max
        self.rate_bps = line_rate_bps  # 1: sendRate <- lineRate
        self.w = self._w_min  # 2: w <- w_min

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:  # 3: repeat per CNP (CE, recRate)
        if cnp.mark is CE:  # 4: if CE == 1
            # 6: sendRate <- min{sendRate, recRate * (1 - w_min)}
            lower_bps = cnp.rec_rate_bps * (1 - self._w_min)
            if lower_bps < self.rate_bps:  # a call of min would double the event's time
                self.rate_bps = lower_bps
            self.w = self._w_min  # 7: w <- w_min
        else:
            # 10: sendRate <- sendRate * (1 - w) + lineRate * w
            self.rate_bps = self.rate_bps * (1 - self.w) + self._line_rate_bps * self.w
            # 11: w <- w * (1 - w) + w_max * w
            self.w = self.w * (1 - self.w) + self._w_max * self.w

    def state(self) -> dict[str, float]:
        return {"w": self.w}


class PcnNotificationPoint(NotificationPoint):
    """Section 5.2, Fig. 8."""

    in_c = "pcn_np.c"

    def __init__(self, parameters: PcnParameters) -> None:
        self.period_s: float = parameters.period_s
        self.phase_spread = parameters.phase_spread
        self._congested_fraction = parameters.congested_fraction
        self._last_arrival_s: float | None = None

    def on_window(self, window: Window) -> Cnp | None:
        packets, marked_ce, _, size, _, last_s = (
            window  # once a period and flow: its nanoseconds show
        )
        # "the CNP is not generated when none of its packets is received in period T"
        if packets == 0:
            return None

        # "congested if 95% packets received in [...] T are marked". The sum: 0.95 has no exact
        # binary form.
        congested = marked_ce > 0 and marked_ce + 1e-9 >= self._congested_fraction * packets

        # Total size / T, or / the inter-arrival time "when the inter-arrival time is larger than T"
        elapsed_s = self.period_s
        if packets == 1 and self._last_arrival_s is not None:
            elapsed_s = max(elapsed_s, last_s - self._last_arrival_s)
        self._last_arrival_s = last_s

        units = math.floor(size * 8 / elapsed_s / REC_RATE_UNIT_BPS + 0.5) or 1  # at least 1
        # "PCN generates CNP explicitly when the flow needs either rate-decrease or rate-increase"
        return Cnp(CE if congested else NONE, units * REC_RATE_UNIT_BPS)


def holds(network: NetworkFacts, parameters: PcnWeights) -> dict[str, float]:
    """Returns what 6.2's w_min bounds: the swing of the rates' sum, and that of the queue."""
    swing = network.flows * parameters.w_min
    return {
        "utilisation": 1 - swing,
        "queue_bytes": swing * network.rate_bps * parameters.period_s / 8,
    }


PCN = Scheme(
    "pcn",
    "Photonic Congestion Notification (NSDI'20)",
    "pcn",
    PcnParameters,
    PcnReactionPoint,
    PcnNotificationPoint,
    recommended=recommended,
    by_network=RULES,
    holds=holds,
)
PCN_TIME = Scheme(
    "pcn-time",
    "PCN with marks as a Tofino gives them (docs/tofino.md)",
    "pcn_time",
    PcnTimeParameters,
    PcnReactionPoint,
    PcnNotificationPoint,
    marking=("rest",),
    recommended=lambda network: {**recommended(network), **rest.recommended(network)},
    by_network={**RULES, **rest.RULES},
    holds=holds,
    lossless_alone=True,
)
