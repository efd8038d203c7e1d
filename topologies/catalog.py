"""The topologies that there are, by name."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import get_type_hints

from topologies.clos import clos
from topologies.compact import compact
from topologies.dumbbell import dumbbell
from topologies.fat_tree import fat_tree
from topologies.head_of_line import head_of_line
from topologies.model import Topology, TopologyError, Value
from topologies.parking_lot import parking_lot
from topologies.star import star
from topologies.two_pods import two_pods

TOPOLOGIES: dict[str, Callable[..., Topology]] = {
    "dumbbell": dumbbell,
    "compact": compact,
    "parking-lot": parking_lot,
    "fat-tree": fat_tree,
    "clos": clos,
    "star": star,
    "head-of-line": head_of_line,
    "two-pods": two_pods,
}


def options(name: str) -> tuple[str, ...]:
    """Names of a topology's options."""
    return tuple(inspect.signature(_function(name)).parameters)


def build(name: str, values: Mapping[str, Value] | None = None) -> Topology:
    """A topology by name, with options; text may be a number or a fraction, as 1/128. Raises TopologyError with the
    nearest name for one that isn't there."""
    function = _function(name)
    known = options(name)
    for option in values or {}:
        if option not in known:
            raise TopologyError(f"{name} has no option {option!r}; {_nearest(option, known)}")
    kinds = get_type_hints(function)
    return function(**{option: _value(option, value, kinds[option]) for option, value in (values or {}).items()})


def _value(option: str, value: Value, kind: object) -> Value:
    """The value as its option has it: whole where what it counts is, text where that is a name."""
    if kind is str:
        return str(value)
    whole = kind in (int, int | None)
    try:
        number = float(Fraction(value) if isinstance(value, str) else value)
    except (ValueError, ZeroDivisionError):
        number = math.nan
    if not math.isfinite(number) or (whole and not number.is_integer()):
        raise TopologyError(f"{option}={value!r}: a {'whole ' if whole else ''}number is needed")
    return int(number) if whole else number


def _function(name: str) -> Callable[..., Topology]:
    if name not in TOPOLOGIES:
        raise TopologyError(f"no topology {name!r}; {_nearest(name, tuple(TOPOLOGIES))}")
    return TOPOLOGIES[name]


def _nearest(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
