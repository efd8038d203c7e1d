"""Simulated time as the engine has it: whole picoseconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import NEVER

LONGEST_S = 9.2e6
"""Less than 2^63 ps: the sum of two times fits, too."""


def picoseconds(seconds: float) -> int:
    """Raises VirtualError for a time that the engine's 64 bits can't hold."""
    if not 0 <= seconds < LONGEST_S:
        raise VirtualError(f"{seconds:g} s: times in virtual time are from 0 to {LONGEST_S:g} s")
    return round(seconds * 1e12)


def in_picoseconds(seconds: NDArray[np.float64], never: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Returns times as `picoseconds` does; NEVER for those that `never` chooses. Raises
    VirtualError."""
    possible = never | ((seconds >= 0) & (seconds < LONGEST_S))
    if not possible.all():
        picoseconds(float(seconds[np.argmin(possible)]))  # raises
    times = np.rint(np.where(never, 0.0, seconds) * 1e12).astype(np.uint64)
    times[never] = NEVER
    return times
