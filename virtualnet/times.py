"""Simulated time as the engine has it: whole picoseconds."""

from __future__ import annotations

from pcn.virtualnet.errors import VirtualError

LONGEST_S = 9.2e6
"""Less than 2^63 ps: the sum of two times fits, too."""


def picoseconds(seconds: float) -> int:
    """Raises VirtualError for a time that the engine's 64 bits can't hold."""
    if not 0 <= seconds < LONGEST_S:
        raise VirtualError(f"{seconds:g} s: times in virtual time are from 0 to {LONGEST_S:g} s")
    return round(seconds * 1e12)
