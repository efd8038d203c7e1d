"""RED's thresholds, for schemes whose switches mark by it, and RED's marks alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import NetworkFacts
from .parameters import Parameters, parameter
from .pfc import PfcReactionPoint
from .scheme import Rule, Scheme


@dataclass(frozen=True)
class RedParameters(Parameters):
    """Of the marking point. The values are those that DCQCN's paper arrives at, in its section
    5."""

    k_min_bytes: float = parameter(
        5e3, "size", "RED marks from this queue on", name="K_min", most=1e9, up_to="k_max_bytes"
    )
    k_max_bytes: float = parameter(
        200e3, "size", "RED marks everything above this queue", name="K_max", most=1e9
    )
    p_max: float = parameter(0.01, "number", "RED's probability at K_max", name="P_max", most=1)


_K_MIN_S, _K_MAX_S, _FRAMES = 1e-6, 40e-6, 2
"""The paper's thresholds as times of its 40 Gbit/s; frames that K_min lets wait at least."""


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns RED's thresholds of a port of `rate_bps`."""
    if not network.rate_bps:
        return {}
    k_min_bytes = max(_K_MIN_S * network.rate_bps / 8, _FRAMES * network.frame_bytes)
    return {
        "k_min_bytes": k_min_bytes,
        "k_max_bytes": max(_K_MAX_S * network.rate_bps / 8, k_min_bytes),
    }


def holds(network: NetworkFacts, parameters: Any) -> dict[str, float]:
    """Returns a queue of K_max at most, above which every packet is marked."""
    return {"queue_bytes": parameters.k_max_bytes}


RULES = {
    "k_min_bytes": Rule(
        "1 us of the port, at least two frames", "DCQCN, section 5: 5 KB at 40 Gbit/s", of_port=True
    ),
    "k_max_bytes": Rule("40 us of the port", "DCQCN, section 5: 200 KB at 40 Gbit/s", of_port=True),
}

RED = Scheme(
    "red",
    "no congestion control: PFC alone, and RED's marks (CE)",
    "dcqcn",
    RedParameters,
    PfcReactionPoint,
    marking=("red_ecn",),
    recommended=recommended,
    by_network=RULES,
)
