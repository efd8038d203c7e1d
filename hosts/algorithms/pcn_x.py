"""PCN-X: PCN with a fairer NP and RP. Not of the paper: docs/fairness.md derives each rule, and
measures what it does.

PCN is fair while flows are few. With N flows on a bottleneck a flow has C T / N / packet size
packets in a period (at 10 Gbit/s, T = 500 us and N = 64: nine), and this goes wrong:

1. "Congested if 95% are marked" then means all of them: one unmarked packet stops the decrease, and
   a flow with more packets is likelier to have one. Increases become proportional to the rate,
   which is MIMD, not AIMD. Here decreases come as often as packets are marked: the NP adds each
   period's marked share to a credit, and a decrease costs 1.
2. Bytes / T counts whole packets, so RecRate is up to one packet in T too low, more than w_min when
   these are few. Here the time runs from the last packet of the period before to the last one of
   this period: no fraction of a gap is lost. RecRate is rounded up, since its unit on the wire, 1
   Mbit/s, is much for a slow flow.
3. RecRate is a loop old when it arrives. PCN's min{sendRate, RecRate (1 - w_min)} takes back an
   increase whose effect it hasn't seen, which costs a slow flow more of its rate than a fast one.
   Here RecRate is compared with the rate that it is about: the lower of the present one and the one
   before.
4. PCN's decreases all go to the same RecRate (1 - w_min) while a queue drains. Relative ones add
   up: they are by `beta`, since w_min, 0.05 for two flows, would empty the link.
5. An NP whose flow a higher class starves receives no packets, and sends no CNP; the sender goes on
   at its rate, into a queue that isn't served (docs/notebook/priorities.md). Here an RP that sends
   and receives no CNP halves its rate after `silence` periods, and again after each further one.
   The next CNP is about the rate before.

CP, CNP and the increase are PCN's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .base import CE, NONE, Cnp, NotificationPoint, Window
from .parameters import parameter
from .pcn import REC_RATE_UNIT_BPS, PcnReactionPoint, PcnWeights, holds, period_rule, period_text
from .scheme import Scheme

PERIOD_FRAMES = 5
"""As PCN's: PCN-X needs fewer. Of 16 flows Jain's index is 0.99 and more with them; with two it is
0.96, and utilisation 0.84 to 0.98."""
_FEW_BYTES = 5000
"""Of a flow that has sent less, no packet may have arrived in a period: it is slow, not unheard."""
_MOST_UNITS = 2**32 - 1
"""What RecRate holds on the wire: periods may end with packets that came nanoseconds apart."""
_WHOLE = 1 - 1e-9
"""A credit of 1, whatever the sums of shares are rounded to."""


@dataclass(frozen=True)
class PcnXParameters(PcnWeights):
    """PCN's weights, and `beta`: by how much a decrease lowers a rate that the bottleneck carries
    already.

    The share of marked packets settles at 1 - beta / (beta + N w_min): 0.95 with beta = 0.005 and
    w_min = 0.1 / N.
    """

    beta: float = parameter(
        0.005, "number", "PCN-X: by how much a decrease lowers a rate", least=1e-6, most=1 - 1e-6
    )
    silence: float = parameter(
        0,
        "number",
        "PCN-X: periods without a CNP after which the rate is halved; 0: never",
        most=1e6,
    )


class PcnXReactionPoint(PcnReactionPoint):
    """Algorithm 1 with another decrease."""

    def __init__(self, line_rate_bps: float, parameters: PcnXParameters) -> None:
        super().__init__(line_rate_bps, parameters)
        self._beta = parameters.beta
        # that of line 6: products would end at 0
        self._least_bps = REC_RATE_UNIT_BPS * (1 - parameters.w_min)
        self._before_bps = line_rate_bps
        self._period_s = parameters.period_s
        self._silence_s = parameters.silence * parameters.period_s
        self._heard_bytes = 0
        """What had been sent when the last CNP came."""
        self._told_bps: float | None = None
        """The rate before a silence halved it."""

    def on_start(self, now_s: float) -> None:
        self._listen(now_s)

    def on_timer(self, now_s: float) -> None:
        self.timer_s = now_s + self._period_s
        if self.sent_bytes - self._heard_bytes < _FEW_BYTES:
            return
        if self._told_bps is None:
            self._told_bps = self.rate_bps
        self.rate_bps = max(self.rate_bps / 2, REC_RATE_UNIT_BPS)

    def _listen(self, now_s: float) -> None:
        if self._silence_s:
            self.timer_s, self._heard_bytes = now_s + self._silence_s, self.sent_bytes

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        self._listen(now_s)
        if self._told_bps is not None:
            self.rate_bps, self._told_bps = self._told_bps, None
        then_bps, self._before_bps = self._before_bps, self.rate_bps
        if cnp.mark is not CE:
            super().on_cnp(cnp, now_s)
            return
        about_bps = min(self.rate_bps, then_bps)
        share = (
            cnp.rec_rate_bps / about_bps * (1 - self._w_min)
            if cnp.rec_rate_bps < about_bps
            else 1 - self._beta
        )
        self.rate_bps = max(self.rate_bps * share, self._least_bps)
        self.w = self._w_min


class PcnXNotificationPoint(NotificationPoint):
    """PCN's NP with a credit of marks, and a RecRate that doesn't count in whole packets."""

    def __init__(self, parameters: PcnXParameters) -> None:
        self.period_s: float = parameters.period_s
        self.phase_spread = parameters.phase_spread
        self._credit = 0.0
        self._last_arrival_s: float | None = None

    def on_window(self, window: Window) -> Cnp | None:
        if window.packets == 0:
            return None
        elapsed_s = self.period_s
        if self._last_arrival_s is not None and window.last_s > self._last_arrival_s:
            elapsed_s = window.last_s - self._last_arrival_s
        self._last_arrival_s = window.last_s
        units = max(
            1, math.ceil(min(window.bytes * 8 / elapsed_s / REC_RATE_UNIT_BPS, _MOST_UNITS))
        )

        self._credit += window.marked_ce / window.packets
        congested = self._credit >= _WHOLE
        if congested:
            self._credit -= 1
        return Cnp(CE if congested else NONE, units * REC_RATE_UNIT_BPS)


PCN_X = Scheme(
    "pcn-x",
    "PCN with a fairer NP and RP (docs/fairness.md)",
    "pcn",
    PcnXParameters,
    PcnXReactionPoint,
    PcnXNotificationPoint,
    recommended=period_rule(PERIOD_FRAMES),
    by_network=period_text(PERIOD_FRAMES),
    holds=holds,
)
