"""What the numbers of runs are called for people, and in which unit people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pcn.base.units import WITH_UNIT, Kind, scale_of
from pcn.experiments.define.outcomes import number_text

Better = Literal["", "less", "more"]
_ENDINGS: Mapping[str, tuple[Kind, float]] = {
    "_bps": ("rate", 1.0),
    "_gbps": ("rate", 1e9),
    "_bytes": ("size", 1.0),
    "_kb": ("size", 1e3),
    "_s": ("time", 1.0),
    "_ms": ("time", 1e-3),
    "_us": ("time", 1e-6),
}
"""Units at the end of numbers' names: what they measure, and how much of its SI unit each is."""
_UNIT = re.compile(rf"({'|'.join(_ENDINGS)})(?=_mean|_max|_rest|_[0-9]+$|$)")
_DIGITS = 4


@dataclass(frozen=True)
class NumberText:
    """A number in words, without its unit. `better`: which of two values one wishes for; empty
    where that depends."""

    text: str
    better: Better = ""


def named(name: str, texts: Mapping[str, NumberText], groups: Mapping[str, str]) -> NumberText:
    """Returns what a number is called: by its text, and behind a comma that of its group, as in
    `p99_ms S`; of another group by the text of `NAME *`, which shows where the group's name stands.
    A number without a text is called by the words of its name."""
    base, _, group = name.partition(" ")
    if name in texts:
        return texts[name]
    known = texts.get(base)
    if group not in groups and (pattern := texts.get(f"{base} *")) and not group[-1:].isdigit():
        return NumberText(pattern.text.replace("*", f"{group}*"), pattern.better)
    spelled = known.text if known else _UNIT.sub("", base).replace("_", " ")
    of = groups.get(group) or group.replace("_", " ")
    if not known and group and group not in groups:
        of = _UNIT.sub("", group).replace("_", " ")
    return NumberText(f"{spelled}, {of}" if of else spelled, known.better if known else "")


def unit_of(name: str, values: Iterable[float], kind: Kind | None = None) -> tuple[str, float]:
    """Returns the unit that suits the largest of a number's values, and how much of it a value of 1
    is; an empty unit and 1 where the number has none. `kind`: what the values are, in its SI unit;
    by default as the name ends."""
    base, _, group = name.partition(" ")
    match = _UNIT.search(base) or _UNIT.search(group)
    if kind in WITH_UNIT:
        factor = 1.0
    elif match is not None:
        kind, factor = _ENDINGS[match[1]]
    else:
        return "", 1.0
    unit, size = scale_of(kind, max((abs(value * factor) for value in values), default=0.0))
    return unit, factor / size


def value_text(value: float) -> str:
    """Returns a value for people, whole ones and large ones without digits behind the point."""
    return number_text(value, digits=_DIGITS)
