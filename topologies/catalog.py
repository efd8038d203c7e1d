"""The topologies that there are, by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping

from topologies.clos import clos
from topologies.compact import compact
from topologies.dumbbell import dumbbell
from topologies.fat_tree import fat_tree
from topologies.model import Topology, TopologyError, Value
from topologies.parking_lot import parking_lot

TOPOLOGIES: dict[str, Callable[..., Topology]] = {
    "dumbbell": dumbbell,
    "compact": compact,
    "parking-lot": parking_lot,
    "fat-tree": fat_tree,
    "clos": clos,
}


def options(name: str) -> tuple[str, ...]:
    """Names of a topology's options."""
    return tuple(inspect.signature(_function(name)).parameters)


def build(name: str, values: Mapping[str, Value] | None = None) -> Topology:
    """A topology by name, with options. Raises TopologyError with the nearest name for one that isn't there."""
    function = _function(name)
    known = options(name)
    for option in values or {}:
        if option not in known:
            raise TopologyError(f"{name} has no option {option!r}; {_nearest(option, known)}")
    return function(**(values or {}))


def _function(name: str) -> Callable[..., Topology]:
    if name not in TOPOLOGIES:
        raise TopologyError(f"no topology {name!r}; {_nearest(name, tuple(TOPOLOGIES))}")
    return TOPOLOGIES[name]


def _nearest(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
