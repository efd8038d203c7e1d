"""Parameters of a scheme: fields of a dataclass that carry the paper's name, the unit, bounds and a
line of help.

    @dataclass(frozen=True)
    class AimdParameters(Parameters):
        step_bps: float = parameter(
            40e6, "rate", "step of the increase", name="R_AI", least=1, most=1e12
        )

What the commands offer, what docs list and what is refused follow from these. A field without such
a description is a number without bounds.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from pcn.base.units import Kind

_KEY = "parameter"


@dataclass(frozen=True)
class Description:
    """Of one field. `name` is the paper's; values lie in [`least`, `most`], are finite, and no
    larger than the field `up_to`'s."""

    field: str
    name: str
    kind: Kind
    default: float
    meaning: str
    least: float
    most: float
    up_to: str = ""

    def check(self, value: float) -> None:
        """Raises ValueError for what the field can't be."""
        if not (math.isfinite(value) and self.least <= value <= self.most):
            most = (
                f"from {self.least:g} to {self.most:g}"
                if math.isfinite(self.most)
                else f"at least {self.least:g}"
            )
            raise ValueError(
                f"{self.field} = {value:g}: it must be "
                f"{most if self.least > -math.inf else 'finite'}"
            )
        if self.kind == "count" and value != int(value):
            raise ValueError(f"{self.field} = {value:g}: it must be a whole number")


def parameter(
    default: float,
    kind: Kind,
    meaning: str,
    *,
    name: str = "",
    least: float = 0.0,
    most: float = math.inf,
    up_to: str = "",
) -> Any:
    """Returns a field of a dataclass. `name`: the paper's, where that isn't the field's. `up_to`:
    a field whose value bounds this one's."""
    description = (name, kind, meaning, least, most, up_to)
    return dataclasses.field(default=default, metadata={_KEY: description})


def describe(parameters: type[Any]) -> tuple[Description, ...]:
    """Returns the fields of a scheme's dataclass, in order."""
    descriptions = []
    for field in dataclasses.fields(parameters):
        name, kind, meaning, *bounds = field.metadata.get(
            _KEY, ("", "number", "", -math.inf, math.inf)
        )
        assert isinstance(field.default, (int, float)), (
            f"{parameters.__name__}.{field.name} has no default"
        )
        descriptions.append(
            Description(field.name, name or field.name, kind, field.default, meaning, *bounds)
        )
    return tuple(descriptions)


@dataclass(frozen=True)
class Parameters:
    """Base of a scheme's dataclass: values out of bounds raise ValueError."""

    def __post_init__(self) -> None:
        described = {description.field: description for description in describe(type(self))}
        for field, description in described.items():
            description.check(getattr(self, field))
        for field, description in described.items():
            if not (most := described.get(description.up_to)):
                continue
            value, bound = getattr(self, field), getattr(self, most.field)
            if value > bound:
                raise ValueError(
                    f"{field} = {value} and {most.field} = {bound}: {description.name} <= "
                    f"{most.name} must hold"
                )
