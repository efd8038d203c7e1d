"""What installed packages bring: entry points of the group `pcn`, each called KIND.NAME.

    [project.entry-points.pcn]
    "scheme.aimd" = "my_package.aimd:AIMD"
    "topology.my-star" = "my_package.star:star"

docs/schemes.md has the kinds. One that fails breaks its name alone. Until 0.1 schemes and
topologies had a group each, which is still read.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeVar

from pcn.base.errors import error_text
from pcn.topologies.deprecation import OldNameWarning
from pcn.topologies.old_names import old_import

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
GROUP = "pcn"
_OLD = {"scheme": "pcn_lab.schemes", "topology": "pcn_lab.topologies"}


def installed(kind: str) -> list[EntryPoint]:
    """Returns the entry points of a kind, as "scheme", with the names that users write."""
    from importlib.metadata import EntryPoint, entry_points  # slow to load, and seldom needed

    prefix = f"{kind}."
    points = {
        point.name.removeprefix(prefix): EntryPoint(
            point.name.removeprefix(prefix), point.value, GROUP
        )
        for point in entry_points(group=GROUP)
        if point.name.startswith(prefix)
    }
    for point in entry_points(group=_OLD[kind]) if kind in _OLD else ():
        if point.name not in points:
            points[point.name] = point
            warnings.warn(
                f"entry point {point.name} = {point.value}: write {prefix}{point.name} in the "
                f"group {GROUP} in place of {_OLD[kind]}, which 0.3.0 doesn't read",
                OldNameWarning,
                stacklevel=2,
            )
    return list(points.values())


def find(kind: str, name: str) -> EntryPoint | None:
    """Returns the entry point of this name, where there is one."""
    return next((point for point in installed(kind) if point.name == name), None)


def loaded(kind: str, point: EntryPoint, type_: type[T], error: type[Exception]) -> T:
    """Returns what an entry point is. Raises `error` where it can't be loaded, or isn't a
    `type_`."""
    value = load(kind, point, error)
    if not isinstance(value, type_):
        raise error(f"entry point {kind}.{point.name} = {point.value} isn't a {type_.__name__}")
    return value


def load(kind: str, point: EntryPoint, error: type[Exception]) -> object:
    """Returns what an entry point names. Raises `error` where that fails."""
    try:
        return point.load()
    except Exception as failure:
        text = old_import(failure) or error_text(failure)
        raise error(f"{kind} {point.name!r}, {point.value}: {text}") from failure
