"""The topologies that there are, by name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import get_type_hints

from softswitch.units import Kind, kind_of, quantity
from topologies import lossless
from topologies.clos import clos
from topologies.compact import compact
from topologies.dumbbell import dumbbell
from topologies.errors import nearest
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


def options(name: str) -> dict[str, inspect.Parameter]:
    """Returns a topology's options by name, with their types: its own, then flow control's."""
    found: dict[str, inspect.Parameter] = {}
    for function in (_function(name), lossless.parameters):
        for option, one in inspect.signature(function).parameters.items():
            if one.kind is not inspect.Parameter.VAR_KEYWORD and option not in found:
                hint = get_type_hints(SimpleNamespace(__annotations__={option: one.annotation}), function.__globals__)
                found[option] = one.replace(annotation=hint[option])
    return found


def build(name: str, values: Mapping[str, Value] | None = None) -> Topology:
    """A topology by name, with options: numbers in SI units, or text with a unit. Raises TopologyError with the nearest
    name for one that isn't there."""
    known, given = options(name), values or {}
    for option in given:
        if option not in known:
            raise TopologyError(f"{name} has no option {option!r}; {nearest(option, known)}")
    return TOPOLOGIES[name](
        **{option: _value(option, value, known[option].annotation) for option, value in given.items()}
    )


def kind_of_option(option: str, annotation: object) -> Kind:
    """What an option's value is, by its name and its type."""
    kind = kind_of(option)
    return "count" if kind == "number" and annotation in (int, int | None) else kind


def _value(option: str, value: Value, annotation: object) -> Value:
    """The value as its option has it: whole where what it counts is, text where that is a name."""
    if annotation is str:
        return str(value)
    try:
        number = quantity(kind_of_option(option, annotation), value) if isinstance(value, str) else float(value)
    except ValueError as error:
        raise TopologyError(f"{option}={value}: {error}") from None
    whole = annotation in (int, int | None)
    if not math.isfinite(number) or (whole and not number.is_integer()):
        raise TopologyError(f"{option}={value}: a {'whole ' if whole else ''}number is needed")
    return int(number) if whole else number


def _function(name: str) -> Callable[..., Topology]:
    if name not in TOPOLOGIES:
        raise TopologyError(f"no topology {name!r}; {nearest(name, TOPOLOGIES)}")
    return TOPOLOGIES[name]
