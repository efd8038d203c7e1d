"""Groups of flows by their size."""

from __future__ import annotations

from bisect import bisect_left

SIZES = (("S", 10e3), ("M", 100e3), ("L", 1e6), ("XL", float("inf")))
"""Classes by size, each with its largest bytes: those of PCN's Table 1."""
_NAMES, _MOST = [name for name, _ in SIZES], [most for _, most in SIZES]


def size_group(size_bytes: int | None) -> str:
    """Returns the class of flows of this size."""
    return _NAMES[bisect_left(_MOST, size_bytes or 0)]
