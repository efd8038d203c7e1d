"""Parameters of schemes whose switches detect a RESUME by a port's rest, as a Tofino does
(docs/tofino.md)."""

from __future__ import annotations

from dataclasses import dataclass

from .base import NetworkFacts
from .parameters import Parameters, parameter
from .scheme import Rule

_USUAL_BYTES = 1518


@dataclass(frozen=True)
class RestParameters(Parameters):
    """The marking point's parameter: the longest frame, from which switches derive the shortest
    pause."""

    largest_frame_bytes: float = parameter(
        _USUAL_BYTES, "size",
        "by time: what takes longer than this frame is a pause", name="largest_frame", least=64,
        most=1e6,
    )  # fmt: skip


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns the longest frame: Ethernet's, or the run's."""
    return {"largest_frame_bytes": max(_USUAL_BYTES, network.frame_bytes)}


RULES = {
    "largest_frame_bytes": Rule(
        "Ethernet's longest frame, or the run's where that is longer", "ours"
    )
}
