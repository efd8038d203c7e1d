"""How a switch's port serves classes.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcn.base.errors import TopologyError
from pcn.topologies.lossless import CLASSES

MOST_WEIGHT = 65535


@dataclass(frozen=True)
class Schedule:
    """By class a weight, or 0. Classes with weight 0 come first, by strict priority; those with a
    weight share the rest by deficit round robin. Of all ports, or of one. `caps_bps`: by class the
    most that it sends, whatever waits, 0 where it has no cap; none has where it is empty; in
    virtual time alone."""

    weights: tuple[int, ...]
    port: int | None = None
    caps_bps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.weights) != CLASSES or not all(
            0 <= weight <= MOST_WEIGHT for weight in self.weights
        ):
            raise TopologyError(
                f"weights {self.weights}: {CLASSES} numbers from 0 to {MOST_WEIGHT}, one a class"
            )
        if self.caps_bps and (
            len(self.caps_bps) != CLASSES
            or not all(0 <= cap_bps < math.inf for cap_bps in self.caps_bps)
        ):
            raise TopologyError(
                f"caps {self.caps_bps}: {CLASSES} rates in bit/s, one a class; 0: none"
            )
