"""What installed packages bring: entry points of the group `pcn`, each called KIND.NAME.

    [project.entry-points.pcn]
    "scheme.aimd" = "my_package.aimd:AIMD"
    "topology.my-star" = "my_package.star:star"

Until 0.1 each kind had a group, which is still read.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pcn.topologies.deprecation import OldNameWarning

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "pcn"
_OLD = {"scheme": "pcn_lab.schemes", "topology": "pcn_lab.topologies"}


def installed(kind: str) -> list[EntryPoint]:
    """Returns the entry points of a kind, "scheme" or "topology", with the names that users
    write."""
    from importlib.metadata import EntryPoint, entry_points  # slow to load, and seldom needed

    prefix = f"{kind}."
    points = {
        point.name.removeprefix(prefix): EntryPoint(
            point.name.removeprefix(prefix), point.value, GROUP
        )
        for point in entry_points(group=GROUP)
        if point.name.startswith(prefix)
    }
    for point in entry_points(group=_OLD[kind]):
        if point.name not in points:
            points[point.name] = point
            warnings.warn(
                f"entry point {point.name} = {point.value}: write {prefix}{point.name} in the "
                f"group {GROUP} in place of {_OLD[kind]}, which 0.3.0 doesn't read",
                OldNameWarning,
                stacklevel=2,
            )
    return list(points.values())
