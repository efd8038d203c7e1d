"""Parameters of scenarios: typed, with units, given by name as `--set name=value`.

Units are nominal and SI: bit/s, seconds, bytes (decimal: 64 KB = 64,000 B). A value without a unit is in the SI unit.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from experiments.errors import ExperimentError

Kind = Literal["rate", "time", "size", "count", "number"]
Value = float | int | None
_T = TypeVar("_T")

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_UNITS: dict[str, dict[str, float]] = {
    "rate": {
        prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("", "bit/s", "b/s", "bps", "bit")
    },
    "time": {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "size": {prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("", "B")}
    | {"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3},
    "count": {"": 1.0},
    "number": {"": 1.0},
}
_EXAMPLES = {"rate": "10G", "time": "500us", "size": "512KB", "count": "3", "number": "0.5"}
UNITS = {"rate": "bit/s", "time": "s", "size": "B", "count": "", "number": ""}
"""SI units by kind: what a value without a unit is in."""
_NUMBER = re.compile(r"\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)\s*")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a scenario.

    `default` None: it follows from others; `derived` then says how. Values must lie in [`minimum`, `maximum`].
    """

    name: str
    kind: Kind
    default: Value
    what: str
    minimum: float = 0.0
    maximum: float = math.inf
    derived: str = ""

    def parse(self, text: str) -> Value:
        """The value that `text` gives, in SI units. Raises ExperimentError that names the parameter and an example."""
        if self.default is None and text.strip() == "auto":
            return None
        found = _NUMBER.fullmatch(text)
        unit = _UNITS[self.kind].get(found.group(2)) if found else None
        if found is None or unit is None:
            kinds = {"rate": "a rate", "time": "a time", "size": "a size in bytes", "count": "a whole number"}
            wanted = kinds.get(self.kind, "a number")
            raise ExperimentError(f"{self.name}={text}: not {wanted}. Write it as {self.name}={_EXAMPLES[self.kind]}")
        return self.check(float(found.group(1)) * unit)

    def check(self, value: Value) -> Value:
        """`value` if it is in range, as an int where the parameter is a count or a size. Raises ExperimentError."""
        if value is None:
            if self.default is not None:
                raise ExperimentError(f"{self.name}: needs a value")
            return None
        if not self.minimum <= value <= self.maximum or not math.isfinite(value):
            top = f" to {format_value(self.kind, self.maximum)}" if math.isfinite(self.maximum) else " or more"
            bottom = format_value(self.kind, self.minimum)
            raise ExperimentError(f"{self.name}={format_value(self.kind, value)}: must be {bottom}{top}")
        if self.kind in ("count", "size"):
            if abs(value - round(value)) > 1e-6:
                raise ExperimentError(f"{self.name}={value:g}: must be a whole number")
            return round(value)
        return float(value)


def parse_assignments(
    assignments: Iterable[str], parameters: Iterable[Parameter], listed: str = "pcn run SCENARIO --list"
) -> dict[str, Value]:
    """`name=value` strings -> values by name, of those that were given. `listed`: the command that lists the names.

    Raises ExperimentError for a malformed assignment, an unknown name (with the nearest valid one), a bad value, or a
    name that is given twice.
    """
    known = {parameter.name: parameter for parameter in parameters}
    values: dict[str, Value] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ExperimentError(f"--set {assignment}: write it as name=value, for instance --set rate=10G")
        if name not in known:
            raise ExperimentError(f"no parameter '{name}'. {_nearest(name, known)}`{listed}` lists them")
        if name in values:
            raise ExperimentError(f"{name} is given twice: give one")
        values[name] = known[name].parse(text)
    return values


def complete(given: Mapping[str, Value], parameters: Iterable[Parameter]) -> dict[str, Value]:
    """All parameters, in order: what was given, checked, and the defaults. Raises ExperimentError on unknown names."""
    known = {parameter.name: parameter for parameter in parameters}
    for name, value in given.items():
        lookup(name, known, "parameter").check(value)
    return {name: parameter.check(given.get(name, parameter.default)) for name, parameter in known.items()}


def lookup(name: str, known: Mapping[str, _T], noun: str) -> _T:
    """`known[name]`, or ExperimentError that lists what there is and the nearest of it."""
    if name in known:
        return known[name]
    raise ExperimentError(f"no {noun} '{name}'. {_nearest(name, known)}There are: {', '.join(known)}")


def _nearest(name: str, known: Iterable[str]) -> str:
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=0.5)
    return f"Did you mean {folded[close[0]]}? " if close else ""


def format_value(kind: Kind, value: Value) -> str:
    """`value` for people, with the unit: 1e10 -> '10 Gbit/s', 0.0005 -> '500 us', 512000 -> '512 KB'."""
    if value is None:
        return "auto"
    if kind in ("count", "number"):
        return f"{value:g}"
    if kind == "time":
        for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
            if abs(value) >= factor:
                return f"{value / factor:.4g} {unit}"
        return f"{value:g} s"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k" if kind == "rate" else "K")):
        if abs(value) >= factor:
            return f"{value / factor:.6g} {prefix}{'bit/s' if kind == 'rate' else 'B'}"
    return f"{value:g} {UNITS[kind]}".strip()
