"""Where a target is known to answer otherwise than the oracle, and who is right by the specification.

What stands here is counted and not reported. The embedded switch has no such list: what it refuses on purpose are
choices of rules.py that its README.md, "Limits", names.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """A target that answers `code` where an update breaks `rule` ("" if it breaks none). `right`: who, and by which
    section."""

    rule: str
    code: int
    right: str


DIFFERENCES: dict[str, tuple[Difference, ...]] = {"none": (), "bmv2": ()}
