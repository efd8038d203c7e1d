"""QCN (IEEE 802.1Qau; the QCN-T paper's section 2.2): the RP. It needs no NP: its congestion point,
p4src's qcn_cp.p4, notifies the source itself.

Where the papers leave a choice:

- F_b has 6 bits, so the deepest cut is 63/128 = 0.492, not the 0.5 that the text has for G_d
  F_bmax.
- "With either Byte Counter or Timer larger than 5": the first five cycles are fast recovery, the
  sixth is active increase. When both counters are beyond 5 the increase is hyper-active: i R_HAI
  for the i-th such cycle of the slower one.
- A counter's cycles are halved after its first five.
- Eq. 2 sets R_t to R_c at every message. What is built keeps R_t at a message that follows another
  without a cycle in between (NICs call the other way "clamp target rate"): several messages in a
  row are one decrease, and the way back is short. `keep_target` chooses. It matters where many
  messages come in one round trip: with eq. 2, a flow that starts at line rate over an RTT of 500 us
  (PCN's 7.1) ends at the lowest rate, and needs seconds to come back.
- A rate limiter exists from the first message on: before it, a flow is at line rate and has no
  timer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from .base import Cnm, NetworkFacts, ReactionPoint
from .parameters import Parameters, parameter
from .scheme import Rule, Scheme


@dataclass(frozen=True)
class CommonParameters(Parameters):
    """What QCN and its variants have, whichever counters end a cycle: RP and congestion point."""

    g_d: float = parameter(
        1 / 128, "number",
        "QCN: the cut for each unit of F_b; a message may not stop a flow", name="G_d",
        least=1e-6, most=1 / 63,
    )  # fmt: skip
    timer_s: float = parameter(
        15e-3, "time", "QCN: timer of rate increase", name="qcn_timer", least=1e-6, most=1
    )
    cycles: float = parameter(5, "count", "QCN: cycles of fast recovery", most=1000)
    r_ai_bps: float = parameter(
        5e6, "rate", "QCN: step of active increase", name="R_AI", least=1, most=1e12
    )
    min_rate_bps: float = parameter(
        5e6, "rate", "QCN: least rate", name="min_rate", least=1, most=1e12
    )
    keep_target: float = parameter(
        1, "count", "QCN: messages in a row keep the target rate; 0: equation 2", most=1
    )
    q_eq_bytes: float = parameter(
        26e3,
        "size",
        "QCN: the queue that congestion points aim at",
        name="Q_eq",
        least=100,
        most=1e9,
    )
    w: float = parameter(2, "count", "QCN: weight of the queue's growth", most=255)
    sample_bytes: float = parameter(
        150e3, "size", "QCN: bytes from one sample to the next", name="sample", least=1, most=1e9
    )
    adaptive: float = parameter(
        1, "count", "QCN: samples are closer the worse it is; 0: always as far apart", most=1
    )


@dataclass(frozen=True)
class QcnParameters(CommonParameters):
    """Defaults are those of IEEE 802.1Qau, which PCN's paper uses. Elsewhere: a timer of 10 ms at
    10 Gbit/s (the Unbiased QCN paper); 2 ms, R_AI 15 and R_HAI 250 Mbit/s, Q_eq 60 KB at 100 Gbit/s
    (there too)."""

    byte_counter_bytes: float = parameter(
        150e3, "size", "QCN: byte counter of rate increase", name="qcn_bytes", least=1, most=1e12
    )
    r_hai_bps: float = parameter(
        50e6, "rate", "QCN: step of hyper-active increase", name="R_HAI", least=1, most=1e12
    )


class QcnReactionPoint(ReactionPoint):
    """`rate_bps` is R_c, `target_bps` R_t."""

    def __init__(self, line_rate_bps: float, parameters: QcnParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self._least_bps = min(parameters.min_rate_bps, line_rate_bps)
        self.rate_bps = line_rate_bps
        self.target_bps = line_rate_bps
        self.timer_cycles = 0
        self.byte_cycles = 0

    def on_cnm(self, cnm: Cnm, now_s: float) -> None:
        parameters = self._parameters
        # Eq. 2
        if not (
            parameters.keep_target
            and self.timer_s is not None
            and self.timer_cycles == self.byte_cycles == 0
        ):
            self.target_bps = self.rate_bps
        self.rate_bps = max(self.rate_bps * (1 - parameters.g_d * cnm.feedback), self._least_bps)
        # "After a rate decrease, both Byte Counter and Timer are reset."
        self.timer_cycles = self.byte_cycles = 0
        self.timer_s = now_s + parameters.timer_s
        self.due_bytes = self.sent_bytes + int(parameters.byte_counter_bytes)

    def on_timer(self, now_s: float) -> None:
        assert self.timer_s is not None
        self.timer_cycles += 1
        self.timer_s += self._parameters.timer_s * self._share(self.timer_cycles)
        self._increase()

    def on_bytes_sent(self, now_s: float) -> None:
        self.byte_cycles += 1
        self.due_bytes = self.sent_bytes + int(
            self._parameters.byte_counter_bytes * self._share(self.byte_cycles)
        )
        self._increase()

    def state(self) -> dict[str, float]:
        return {"target_bps": self.target_bps}

    def _share(self, cycles: int) -> float:
        """Returns the length of the next cycle over the full one: "the duration of each cycle is
        cut by half" after fast recovery."""
        return 1.0 if cycles < self._parameters.cycles else 0.5

    def _increase(self) -> None:
        """A cycle ended: fast recovery, active or hyper-active increase."""
        parameters = self._parameters
        if max(self.timer_cycles, self.byte_cycles) > parameters.cycles:
            beyond = min(self.timer_cycles, self.byte_cycles) - parameters.cycles
            step_bps = beyond * parameters.r_hai_bps if beyond > 0 else parameters.r_ai_bps
            self.target_bps = min(self.target_bps + step_bps, self._line_rate_bps)  # eq. 4
        self.rate_bps = (self.rate_bps + self.target_bps) / 2  # eq. 3, 4


_IEEE_BPS = 10e9
_TENFOLD = {"timer_s": 1 / 5, "r_ai_bps": 3.0, "r_hai_bps": 5.0, "q_eq_bytes": 60 / 26}
"""By how much a parameter is larger at 100 Gbit/s than at 10: RZ 3880's Table I, and its Q_eq over
IEEE's."""


def _by_rate(field: str, usual: float, rate_bps: float) -> float:
    """Returns IEEE's value up to 10 Gbit/s, and above on the straight line, in logarithms, to that
    of 100 Gbit/s."""
    decades = max(math.log10(rate_bps / _IEEE_BPS), 0.0)
    return usual * math.pow(_TENFOLD[field], decades)


def recommended_common(network: NetworkFacts) -> dict[str, float]:
    """Returns what QCN's variants share, by rate."""
    if not network.rate_bps:
        return {}
    usual = CommonParameters()
    return {
        "r_ai_bps": _by_rate("r_ai_bps", usual.r_ai_bps, network.rate_bps),
        "q_eq_bytes": _by_rate("q_eq_bytes", usual.q_eq_bytes, network.rate_bps),
    }


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns IEEE's values for 10 Gbit/s, and RZ 3880's for 100, by rate."""
    if not network.rate_bps:
        return {}
    usual = QcnParameters()
    return {
        **recommended_common(network),
        "timer_s": _by_rate("timer_s", usual.timer_s, network.rate_bps),
        "r_hai_bps": _by_rate("r_hai_bps", usual.r_hai_bps, network.rate_bps),
    }


COMMON_RULES = {
    "r_ai_bps": Rule(
        "5 Mbit/s up to 10 Gbit/s of the host, 3 times as much at 100, a power between",
        "802.1Qau; RZ 3880",
    ),
    "q_eq_bytes": Rule(
        "26 KB up to 10 Gbit/s of the port, 60 KB at 100, a power between",
        "802.1Qau; RZ 3880",
        of_port=True,
    ),
}
RULES = {
    **COMMON_RULES,
    "timer_s": Rule(
        "15 ms up to 10 Gbit/s of the host, a fifth at 100, a power between", "802.1Qau; RZ 3880"
    ),
    "r_hai_bps": Rule(
        "50 Mbit/s up to 10 Gbit/s of the host, 5 times as much at 100, a power between",
        "802.1Qau; RZ 3880",
    ),
}


_MOST_BITS = 5e6
"""The bandwidth-delay product that 802.1Qau's objectives of May 2006 end at: "at least 1 Mbit,
preferably 5 Mbit"."""


def unfit(network: NetworkFacts) -> Iterator[str]:
    """Yields a remark on long links: congestion points go on sending messages for a round trip
    after the first one, each of which lowers the rate."""
    bits = network.rate_bps * network.rtt_s
    if bits > _MOST_BITS * (1 + 1e-9):
        yield (
            f"a round trip carries {bits / 1e6:.3g} Mbit, and QCN is for {_MOST_BITS / 1e6:g} at "
            "most: messages of one burst lower a rate to the least one"
        )


def holds(network: NetworkFacts, parameters: CommonParameters) -> dict[str, float]:
    """Returns a full link, and a queue of Q_eq."""
    return {"utilisation": 1.0, "queue_bytes": parameters.q_eq_bytes}


QCN = Scheme(
    "qcn",
    "Quantized Congestion Notification (IEEE 802.1Qau)",
    "qcn",
    QcnParameters,
    QcnReactionPoint,
    marking=("qcn_cp",),
    recommended=recommended,
    by_network=RULES,
    unfit=unfit,
    holds=holds,
)
