"""DCQCN as HPCC's ns-3 simulation has it (alibaba-edu's repository, rdma-hw.cc, "Mellanox's
version"; CC_MODE 1).

Its defaults are those that HPCC's run.py sets for NICs of 100 Gbit/s. What differs from the paper's
DCQCN (dcqcn.py):

- Each marked packet is reported, in ns-3 by its ACK, here by a CNP; the RP collects them.
- The RP has two grids from its first CNP on: at each `alpha_interval` alpha rises if a CNP came
  since the last one, and falls otherwise; at each `cut_interval` the rate is cut if one came. So
  the first cut waits for an interval.
- Cuts in a row keep the target (CLAMP_TARGET_RATE 0): it becomes the rate only where an increase
  came since the last cut.
- One timer increases the rate, and there is no byte counter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from . import red
from .base import CE, Cnp, NetworkFacts, NotificationPoint, ReactionPoint
from .parameters import parameter
from .red import RedParameters
from .scheme import Rule, Scheme

_AFTER_ALPHA_S = 1e-9
"""How long after alpha's grid the cuts' begins, as in ns-3."""
_GRID = 1e-6
"""Of an interval: a point of a grid that is nearer than this has been reached."""


@dataclass(frozen=True)
class DcqcnNs3Parameters(RedParameters):
    """RP and RED, by the names of HPCC's config.txt."""

    k_min_bytes: float = parameter(
        400e3, "size", "KMIN_MAP: RED marks from this queue on", name="K_min", most=1e9
    )
    k_max_bytes: float = parameter(
        1600e3, "size", "KMAX_MAP: RED marks everything above it", name="K_max", most=1e9
    )
    p_max: float = parameter(
        0.2, "number", "PMAX_MAP: RED's probability at K_max", name="P_max", most=1
    )
    g: float = parameter(
        1 / 256, "number", "EWMA_GAIN: how fast alpha follows the CNPs", least=1e-6, most=1
    )
    alpha_interval_s: float = parameter(
        1e-6,
        "time",
        "ALPHA_RESUME_INTERVAL: grid of alpha",
        name="alpha_interval",
        least=1e-9,
        most=1,
    )
    cut_interval_s: float = parameter(
        4e-6,
        "time",
        "RATE_DECREASE_INTERVAL: grid of cuts",
        name="cut_interval",
        least=1e-9,
        most=1,
    )
    rate_timer_s: float = parameter(
        300e-6, "time", "RP_TIMER: timer of rate increase", name="rate_timer", least=1e-6, most=1
    )
    f: float = parameter(
        1, "count", "FAST_RECOVERY_TIMES: iterations of fast recovery", name="F", most=1000
    )
    r_ai_bps: float = parameter(
        20e6, "rate", "RATE_AI: step of additive increase", name="R_AI", least=1, most=1e12
    )
    r_hai_bps: float = parameter(
        200e6, "rate", "RATE_HAI: step of hyper increase", name="R_HAI", least=1, most=1e12
    )
    min_rate_bps: float = parameter(
        1e9, "rate", "MIN_RATE: least rate", name="min_rate", least=1, most=1e12
    )
    clamp: float = parameter(
        0, "count", "CLAMP_TARGET_RATE: 1: each cut sets the target", name="clamp", most=1
    )


class DcqcnNs3ReactionPoint(ReactionPoint):
    """`rate_bps` is RC, `target_bps` RT."""

    def __init__(self, line_rate_bps: float, parameters: DcqcnNs3Parameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self._least_bps = min(parameters.min_rate_bps, line_rate_bps)
        self.rate_bps = line_rate_bps
        self.target_bps = line_rate_bps
        self.alpha = 1.0
        self.increases = 0  # since the latest cut
        self._first_s: float | None = None  # the first CNP: where the grids begin
        self._alpha_steps = 0
        self._alpha_cnp = self._cut_cnp = False  # one came since the latest step of the grid
        self._cut_due_s = self._rate_due_s = math.inf

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        if self._first_s is None:
            self._first_s = now_s
        else:
            self._follow(now_s)
            self._alpha_cnp = True
        if not self._cut_cnp:
            self._cut_cnp = True
            interval_s = self._parameters.cut_interval_s
            steps = math.floor((now_s - self._first_s - _AFTER_ALPHA_S) / interval_s + _GRID) + 1
            self._cut_due_s = self._first_s + max(steps, 1) * interval_s + _AFTER_ALPHA_S
            if self._cut_due_s <= now_s:
                self._cut_due_s += interval_s
        self._await()

    def on_timer(self, now_s: float) -> None:
        if self._rate_due_s <= now_s:
            self._increase()
            self.increases += 1
            self._rate_due_s += self._parameters.rate_timer_s
        if self._cut_due_s <= now_s:
            self._follow(now_s)
            if self._parameters.clamp or self.increases:
                self.target_bps = self.rate_bps
            self.rate_bps = max(self.rate_bps * (1 - self.alpha / 2), self._least_bps)
            self.increases, self._cut_cnp = 0, False
            self._cut_due_s, self._rate_due_s = math.inf, now_s + self._parameters.rate_timer_s
        self._await()

    def state(self) -> dict[str, float]:
        return {"alpha": self.alpha, "target_bps": self.target_bps}

    def _follow(self, now_s: float) -> None:
        """Alpha's steps up to now. Only the first of them can find a CNP: the others lie between
        the same two."""
        assert self._first_s is not None
        steps = (
            math.floor((now_s - self._first_s) / self._parameters.alpha_interval_s + _GRID)
            - self._alpha_steps
        )
        if steps <= 0:
            return
        self._alpha_steps += steps
        g = self._parameters.g
        self.alpha = self.alpha * (1 - g) ** steps + (
            g * (1 - g) ** (steps - 1) if self._alpha_cnp else 0.0
        )
        self._alpha_cnp = False

    def _increase(self) -> None:
        parameters = self._parameters
        if self.increases >= parameters.f:
            step_bps = (
                parameters.r_ai_bps if self.increases == parameters.f else parameters.r_hai_bps
            )
            self.target_bps = min(self.target_bps + step_bps, self._line_rate_bps)
        self.rate_bps = (self.rate_bps + self.target_bps) / 2

    def _await(self) -> None:
        due_s = min(self._cut_due_s, self._rate_due_s)
        self.timer_s = None if due_s == math.inf else due_s


class DcqcnNs3NotificationPoint(NotificationPoint):
    """A CNP for each marked packet."""

    def __init__(self, parameters: DcqcnNs3Parameters) -> None:
        """None of them is the NP's."""

    def on_marked(self, now_s: float) -> Cnp:
        return Cnp(CE)


_K_MIN_S, _K_MAX_S, _AI_SHARE, _HAI_SHARE, _LEAST_SHARE, _LEAST_BPS = (
    32e-6,
    128e-6,
    2e-4,
    2e-3,
    1e-2,
    1e9,
)
"""Of run.py: thresholds as times of the port, steps as shares of the host's rate, the least rate
and its share of 100 Gbit/s."""
_MADE_FOR_BPS = 40e9


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns run.py's thresholds and steps; its least rate belongs to hosts of 100 Gbit/s, slower
    ones have less."""
    rate_bps = network.rate_bps
    if not rate_bps:
        return {}
    return {
        "k_min_bytes": _K_MIN_S * rate_bps / 8,
        "k_max_bytes": _K_MAX_S * rate_bps / 8,
        "r_ai_bps": _AI_SHARE * rate_bps,
        "r_hai_bps": _HAI_SHARE * rate_bps,
        "min_rate_bps": min(_LEAST_BPS, _LEAST_SHARE * rate_bps),
    }


def unfit(network: NetworkFacts) -> Iterator[str]:
    """Yields a remark on slow hosts."""
    if 0 < network.rate_bps < _MADE_FOR_BPS:
        yield (
            f"its timers are for hosts of {_MADE_FOR_BPS / 1e9:g} to 400 Gbit/s, and these have "
            f"{network.rate_bps / 1e9:g}; --scheme dcqcn has the paper's"
        )


DCQCN_NS3 = Scheme(
    "dcqcn-ns3",
    "DCQCN of HPCC's ns-3 simulation",
    "dcqcn",
    DcqcnNs3Parameters,
    DcqcnNs3ReactionPoint,
    DcqcnNs3NotificationPoint,
    marking=("red_ecn",),
    recommended=recommended,
    by_network={
        "k_min_bytes": Rule("32 us of the port", "run.py: 4 KB for each Gbit/s", of_port=True),
        "k_max_bytes": Rule("128 us of the port", "run.py: 16 KB for each Gbit/s", of_port=True),
        "r_ai_bps": Rule("a five thousandth of the host's rate", "run.py: 5 Mbit/s at 25 Gbit/s"),
        "r_hai_bps": Rule("a five hundredth of the host's rate", "run.py: 50 Mbit/s at 25 Gbit/s"),
        "min_rate_bps": Rule(
            "1 Gbit/s, at most a hundredth of the host's rate", "run.py; below 100 Gbit/s ours"
        ),
    },
    unfit=unfit,
    holds=red.holds,
)
