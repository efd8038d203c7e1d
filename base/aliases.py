"""Ends of names, by which objects of P4 programs are called where they are clear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_MOST_PARTS = 16
"""Components of an end: those of a megabyte of dots would have terabytes together."""


def ends(name: str) -> list[str]:
    """Returns the last parts of a name, the shortest first: its last component, its last two, and
    so on, up to 16."""
    _, *parts = name.rsplit(".", _MOST_PARTS)
    return [".".join(parts[at:]) for at in range(len(parts) - 1, -1, -1)]


def aliases(names: Sequence[str]) -> list[str]:
    """Returns for each name its shortest last part that no other of the names ends in."""
    counts = Counter(end for name in names for end in {*ends(name), name})
    return [next((end for end in ends(name) if counts[end] == 1), name) for name in names]
