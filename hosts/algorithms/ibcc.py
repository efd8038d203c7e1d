"""InfiniBand's congestion control (Architecture 1.2.1, annex A10) in RoCE's terms: CE stands for
FECN, a CNP for BECN.

A source has an index into its congestion control table (CCT) for each flow. A BECN raises it, a
timer lowers it, and the entry is the wait after a packet, in packet times. A destination answers
every packet that is marked. Its congestion point is a threshold: p4src's red_ecn.p4 with K_min =
K_max.

The annex leaves some values to a network's configuration; these are ours: entry i waits i packet
times, so that the rate is line / (1 + i); the threshold is a tenth of the buffer that TCD's paper
has for a port. Differences from the annex:

- The index and its timer belong to a flow, and the timer runs from the first BECN until the index
  is 0 again, where the annex has one timer that goes on for all flows of a service level.
- A switch marks at its threshold whether it has credits to send or not: it doesn't distinguish the
  root of a congestion tree from its victims.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import CE, Cnp, NotificationPoint, ReactionPoint
from .parameters import Parameters, parameter
from .scheme import Scheme


@dataclass(frozen=True)
class IbccParameters(Parameters):
    """The step of 1 is what TCD's paper names for InfiniBand (5.2)."""

    ccti_increase: float = parameter(
        1, "count", "IB CC: what a BECN adds to the index", name="CCTI_Increase", least=1, most=255
    )
    ccti_limit: float = parameter(
        127, "count", "IB CC: largest index", name="CCTI_Limit", least=1, most=65535
    )
    ccti_timer_s: float = parameter(
        150e-6,
        "time",
        "IB CC: time after which the index falls by 1",
        name="CCTI_Timer",
        least=1e-6,
        most=1,
    )
    threshold_bytes: float = parameter(
        28e3,
        "size",
        "IB CC: queue of an egress port above which all packets are marked",
        name="threshold",
        most=1e9,
    )

    @property
    def k_min_bytes(self) -> float:
        """RED's, whose slope is none."""
        return self.threshold_bytes

    @property
    def k_max_bytes(self) -> float:
        return self.threshold_bytes

    @property
    def p_max(self) -> float:
        return 1.0


class IbccReactionPoint(ReactionPoint):
    """`ccti` is the index."""

    def __init__(self, line_rate_bps: float, parameters: IbccParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self.rate_bps = line_rate_bps
        self.ccti = 0

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        self._take(
            min(self.ccti + int(self._parameters.ccti_increase), int(self._parameters.ccti_limit))
        )
        if self.timer_s is None:
            self.timer_s = now_s + self._parameters.ccti_timer_s

    def on_timer(self, now_s: float) -> None:
        assert self.timer_s is not None
        self._take(self.ccti - 1)
        self.timer_s = self.timer_s + self._parameters.ccti_timer_s if self.ccti else None

    def state(self) -> dict[str, float]:
        return {"ccti": self.ccti}

    def _take(self, ccti: int) -> None:
        self.ccti = ccti
        self.rate_bps = self._line_rate_bps / (1 + ccti)


class IbccNotificationPoint(NotificationPoint):
    """A BECN for each packet with FECN."""

    def __init__(self, parameters: IbccParameters) -> None:
        del parameters

    def on_marked(self, now_s: float) -> Cnp | None:
        return Cnp(CE)


IBCC = Scheme(
    "ibcc",
    "InfiniBand's congestion control (1.2.1, annex A10)",
    "dcqcn",
    IbccParameters,
    IbccReactionPoint,
    IbccNotificationPoint,
    marking=("red_ecn",),
)
