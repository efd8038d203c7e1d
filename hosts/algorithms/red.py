"""RED's thresholds, for schemes whose switches mark by it, and RED's marks alone."""

from __future__ import annotations

from dataclasses import dataclass

from .parameters import Parameters, parameter
from .pfc import PfcReactionPoint
from .scheme import Scheme


@dataclass(frozen=True)
class RedParameters(Parameters):
    """Of the marking point. The values are those that DCQCN's paper arrives at, in its section 5."""

    k_min_bytes: float = parameter(5e3, "size", "RED marks from this queue on", name="K_min", most=1e9)
    k_max_bytes: float = parameter(200e3, "size", "RED marks everything above this queue", name="K_max", most=1e9)
    p_max: float = parameter(0.01, "number", "RED's probability at K_max", name="P_max", most=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.k_min_bytes <= self.k_max_bytes:
            raise ValueError(
                f"k_min_bytes = {self.k_min_bytes} and k_max_bytes = {self.k_max_bytes}: 0 <= K_min <= K_max must hold"
            )


RED = Scheme(
    "red",
    "no congestion control: PFC alone, and RED's marks (CE)",
    "dcqcn",
    RedParameters,
    PfcReactionPoint,
    marking=("red_ecn",),
    marking_bps=40e9,
)
