"""Parameters of scenarios: typed, with units (`pcn.base.units`), given by name as `--set
name=value`; nominal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pcn.base.errors import nearest
from pcn.base.units import Kind, is_whole, quantity, quantity_text
from pcn.experiments.data.errors import ExperimentError

Value = float | int | None
_T = TypeVar("_T")

UNITS: dict[Kind, str] = {
    "rate": "bit/s",
    "time": "s",
    "size": "B",
    "count": "",
    "number": "",
    "share": "",
}
"""SI units by kind: what a value is in."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a scenario.

    `default` None: it follows from others; `derived` then describes how. Values must lie in
    [`minimum`, `maximum`].
    """

    name: str
    kind: Kind
    default: Value
    meaning: str
    minimum: float = 0.0
    maximum: float = math.inf
    derived: str = ""

    @property
    def whole(self) -> bool:
        return is_whole(self.kind, self.minimum)

    def parse(self, text: str) -> Value:
        """Returns the value that `text` gives, in SI units. Raises ExperimentError that names the
        parameter and an example."""
        if self.default is None and text.strip() == "auto":
            return None
        try:
            value = quantity(self.kind, text, whole=self.whole)
        except ValueError as error:
            several = "; `pcn sweep` takes several values" if "," in text else ""
            raise ExperimentError(f"{self.name}={text}: {error}{several}") from None
        return self.check(value)

    def check(self, value: Value) -> Value:
        """Returns `value` if it is in range, as an int where the parameter is whole. Raises
        ExperimentError."""
        if value is None:
            if self.default is not None:
                raise ExperimentError(f"{self.name}: needs a value")
            return None
        if not self.minimum <= value <= self.maximum or not math.isfinite(value):
            top = (
                f" to {format_value(self.kind, self.maximum)}"
                if math.isfinite(self.maximum)
                else " or more"
            )
            bottom = format_value(self.kind, self.minimum)
            share = (
                self.kind in ("number", "share")
                and self.minimum <= value / 100 <= self.maximum < value
            )
            percent = f"; {value:g} percent is {value / 100:g} or {value:g}%" if share else ""
            raise ExperimentError(
                f"{self.name}={format_value(self.kind, value)}: must be {bottom}{top}{percent}"
            )
        if self.whole:
            if abs(value - round(value)) > 1e-6:
                raise ExperimentError(f"{self.name}={value:g}: must be a whole number")
            return round(value)
        return float(value)


def assignment(text: str) -> tuple[str, str]:
    """Returns name and value of `name=value`. Raises ExperimentError for what isn't one."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ExperimentError(f"--set {text}: write it as name=value, for instance --set rate=10G")
    return name.strip(), value


def complete(values: Mapping[str, Value], parameters: Iterable[Parameter]) -> dict[str, Value]:
    """Returns all parameters, in order: what was given, checked, and the defaults. Raises
    ExperimentError on unknown names."""
    known = {parameter.name: parameter for parameter in parameters}
    for name, value in values.items():
        lookup(name, known, "parameter").check(value)
    return {
        name: parameter.check(values.get(name, parameter.default))
        for name, parameter in known.items()
    }


def lookup(name: str, known: Mapping[str, _T], noun: str) -> _T:
    """Returns `known[name]`. Raises ExperimentError with the nearest names."""
    if name in known:
        return known[name]
    raise ExperimentError(f"no {noun} {name!r}; {nearest(name, known)}")


def format_value(kind: Kind, value: Value) -> str:
    """Formats `value` for people, with the unit: 1e10 -> '10 Gbit/s', 0.0005 -> '500 us'; None ->
    'auto'."""
    return "auto" if value is None else quantity_text(kind, value)
