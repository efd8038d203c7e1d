"""What studies run beside PCN, PCN-X and TIMELY: one rule changed, or left out, at a time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from pcn.experiments.define.experiment import Variant
from pcn.hosts.algorithms import Ack, Cnp, Mark, Scheme, Window, find_scheme
from pcn.hosts.algorithms.pcn import REC_RATE_UNIT_BPS, PcnNotificationPoint, PcnParameters
from pcn.hosts.algorithms.pcn_x import PcnXNotificationPoint, PcnXParameters, PcnXReactionPoint
from pcn.hosts.algorithms.timely import TimelyParameters, TimelyReactionPoint


class FirstWindowInFull(PcnNotificationPoint):
    """PCN, but what came in the first, partial period is divided by the time it came in."""

    _first = True

    def on_window(self, window: Window) -> Cnp | None:
        cnp = super().on_window(window)
        if cnp is None or not self._first:
            return cnp
        self._first = False
        if window.packets == 1:
            return cnp
        gaps = window.packets - 1
        rate_bps = window.bytes * 8 * gaps / window.packets / (window.last_s - window.first_s)
        return Cnp(cnp.mark, rate_bps)


class WholeGaps(PcnNotificationPoint):
    """PCN with PCN-X's RecRate."""

    def __init__(self, parameters: PcnParameters) -> None:
        super().__init__(parameters)
        self._rates = PcnXNotificationPoint(PcnXParameters(period_s=parameters.period_s))

    def on_window(self, window: Window) -> Cnp | None:
        rate, decision = self._rates.on_window(window), super().on_window(window)
        return None if rate is None or decision is None else Cnp(decision.mark, rate.rec_rate_bps)


class AllMarked(PcnXNotificationPoint):
    """PCN-X with PCN's decision: 95% of the packets are marked."""

    def on_window(self, window: Window) -> Cnp | None:
        cnp = super().on_window(window)
        if cnp is None:
            return None
        congested = window.marked_ce + 1e-9 >= 0.95 * window.packets
        return Cnp(Mark.CE if congested else Mark.NONE, cnp.rec_rate_bps)


class BytesOverT(PcnXNotificationPoint):
    """PCN-X with PCN's RecRate."""

    def __init__(self, parameters: PcnXParameters) -> None:
        super().__init__(parameters)
        self._rates = PcnNotificationPoint(PcnParameters(period_s=parameters.period_s))

    def on_window(self, window: Window) -> Cnp | None:
        rate, decision = self._rates.on_window(window), super().on_window(window)
        return None if rate is None or decision is None else Cnp(decision.mark, rate.rec_rate_bps)


class RoundedDown(PcnXNotificationPoint):
    """PCN-X with a RecRate that is rounded down to the unit on the wire."""

    def on_window(self, window: Window) -> Cnp | None:
        cnp = super().on_window(window)
        return (
            None
            if cnp is None
            else Cnp(cnp.mark, max(REC_RATE_UNIT_BPS, cnp.rec_rate_bps - REC_RATE_UNIT_BPS))
        )


class PresentRate(PcnXReactionPoint):
    """PCN-X that compares RecRate with the present rate, as PCN does."""

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        self._before_bps = self.rate_bps
        super().on_cnp(cnp, now_s)


class OneForAll(PcnNotificationPoint):
    """PCN, but of flows in step the one whose period ends first decides for all: `decided` holds
    what, by period."""

    def __init__(self, parameters: PcnParameters, decided: dict[int, Mark]) -> None:
        super().__init__(parameters)
        self._decided = decided

    def on_window(self, window: Window) -> Cnp | None:
        cnp = super().on_window(window)
        if cnp is None:
            return None
        period = round(window.last_s / self.period_s)
        return Cnp(self._decided.setdefault(period, cnp.mark), cnp.rec_rate_bps)


class WholeSteps(TimelyReactionPoint):
    """TIMELY as Algorithm 1 is printed: each RTT makes a whole step, however soon after the one
    before."""

    def on_ack(self, ack: Ack, now_s: float) -> None:
        self._last_update_s = None
        super().on_ack(ack, now_s)


class FallingRtts(TimelyReactionPoint):
    """TIMELY whose increases grow after a number of RTTs, each below the one before, as in its
    authors' code; Algorithm 1 counts gradients."""

    _falling = 0

    def on_ack(self, ack: Ack, now_s: float) -> None:
        falls = self._last_rtt_s is not None and ack.rtt_s < self._last_rtt_s
        self._falling = self._falling + 1 if falls else 0
        self.falls = self._falling - 1  # where the gradient is <= 0, it is one more
        super().on_ack(ack, now_s)


PUBLISHED = {"alpha": 0.02, "t_high_s": 1e-3}
PUBLISHED_PACKETS = {**PUBLISHED, "t_low_s": 0.0, "segment_bytes": 1000.0}
PUBLISHED_SEGMENTS = {**PUBLISHED, "t_low_s": 50e-6, "segment_bytes": 64e3}
"""What TIMELY's authors recommend in their code, for packets that are paced one by one and for
segments of 64 KB."""


class LowStart(TimelyReactionPoint):
    """TIMELY whose flows start at a tenth of line rate."""

    def __init__(self, line_rate_bps: float, parameters: TimelyParameters) -> None:
        super().__init__(line_rate_bps, parameters)
        self.rate_bps = line_rate_bps / 10


def timely_with(reaction_point: type[TimelyReactionPoint]) -> Scheme:
    return dataclasses.replace(find_scheme("timely"), reaction_point=reaction_point)


def one_for_all() -> Scheme:
    """Returns PCN whose receivers share their decisions within a run. Each run needs a new one."""
    decided: dict[int, Mark] = {}
    return dataclasses.replace(
        find_scheme("pcn"), notification_point=lambda parameters: OneForAll(parameters, decided)
    )


def pcn_with(notification_point: type[PcnNotificationPoint]) -> Scheme:
    return dataclasses.replace(find_scheme("pcn"), notification_point=notification_point)


def pcn_x_with(
    notification_point: type[PcnXNotificationPoint] = PcnXNotificationPoint,
    reaction_point: type[PcnXReactionPoint] = PcnXReactionPoint,
) -> Scheme:
    return dataclasses.replace(
        find_scheme("pcn-x"), notification_point=notification_point, reaction_point=reaction_point
    )


READINGS = ("pcn_native", "pcn_waited_native", "pcn_left_behind_native")
"""Programs that mark by other readings of "threshold zero"."""

VARIANTS: dict[str, Callable[[], Variant]] = {
    "whole steps": lambda: Variant(timely_with(WholeSteps)),
    "falling RTTs": lambda: Variant(timely_with(FallingRtts)),
    "low start": lambda: Variant(timely_with(LowStart)),
    "one for all": lambda: Variant(one_for_all()),
    "first window in full": lambda: Variant(pcn_with(FirstWindowInFull)),
    "whole gaps": lambda: Variant(pcn_with(WholeGaps)),
    "all marked": lambda: Variant(pcn_x_with(AllMarked)),
    "bytes over T": lambda: Variant(pcn_x_with(BytesOverT)),
    "rounded down": lambda: Variant(pcn_x_with(RoundedDown)),
    "present rate": lambda: Variant(pcn_x_with(reaction_point=PresentRate)),
    **{program: functools.partial(Variant, program=program) for program in READINGS},
}
"""By the names that runs give."""
