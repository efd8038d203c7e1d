"""Numbers with a unit, as people write them: 25G, 64KB, 500us, 1%. Command lines and files all read them here.

A rate, a time and a size need their unit, but for 0. Python has numbers in SI units: bit/s, seconds, bytes.
"""

from __future__ import annotations

import math
import re
from typing import Literal, get_args

Kind = Literal["rate", "time", "size", "count", "number", "share"]
"""bit/s, seconds, bytes, a whole number, any number, a number that people see in percent."""
KINDS: tuple[Kind, ...] = get_args(Kind)

_VALUE = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(rf"({_VALUE})\s*(?:/\s*({_VALUE})|([^\s\d]\S*))?")
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SCALED = {prefix: factor for prefix, factor in _PREFIXES.items() if prefix}
_MICRO = ("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s")
_PLAIN = {"%": 0.01}
_UNITS: dict[Kind, dict[str, float]] = {
    "rate": _SCALED
    | {prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("bit/s", "b/s", "bps", "bit")},
    "time": {"s": 1.0, "ms": 1e-3, "ns": 1e-9, "min": 60.0, "h": 3600.0} | dict.fromkeys(_MICRO, 1e-6),
    "size": _SCALED
    | {f"{prefix}B": factor for prefix, factor in _PREFIXES.items()}
    | {"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3},
    "count": {},
    "number": _PLAIN,
    "share": _PLAIN,
}
_WITH_UNIT: tuple[Kind, ...] = ("rate", "time", "size")
_EXAMPLES: dict[Kind, str] = {
    "rate": "10G",
    "time": "500us",
    "size": "64KB",
    "count": "3",
    "number": "0.025, 1% or 1/128",
    "share": "1%, 0.01 or 1/128",
}
_NAMES: dict[Kind, str] = {
    "rate": "rate",
    "time": "time",
    "size": "size in bytes",
    "count": "whole number",
    "number": "number",
    "share": "share",
}
_COMMON: dict[Kind, tuple[str, ...]] = {"rate": ("G", "M", "k"), "time": ("s", "ms", "us"), "size": ("KB", "MB", "B")}
_WHOLE_WITHIN = 1e-9  # of a number that is to be whole: 1.1KB isn't quite 1100 B


def quantity(kind: Kind, text: str, *, si: bool = False) -> float:
    """The value of `text` in SI units: bit/s, seconds, whole bytes (KB are decimal), or a number, also as 1% or 1/128.

    `si`: what the text belongs to names the unit (a column `start_s`), so a bare number is in it. Raises ValueError
    with the form that is right.
    """
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise ValueError(_no_such(kind, text))
    value, divisor, unit = float(found[1]), found[2], found[3] or ""
    if divisor is not None:
        if _UNITS[kind] is not _PLAIN or float(divisor) == 0:
            raise ValueError(_no_such(kind, text))
        value /= float(divisor)
    elif unit:
        if unit not in _UNITS[kind]:
            raise ValueError(_no_such(kind, text))
        value *= _UNITS[kind][unit]
    elif kind in _WITH_UNIT and value and not si:
        raise ValueError(f"{text.strip()!r} has no unit: write {_with_unit(kind, found[1], value)}")
    if not math.isfinite(value):
        raise ValueError(f"{text.strip()!r} is too much")
    if value < 0 and kind != "number":
        raise ValueError(f"{text.strip()!r}: must not be negative")
    if kind in ("size", "count"):
        if abs(value - round(value)) > _WHOLE_WITHIN * value:
            what = "a size is in whole bytes" if kind == "size" else "must be a whole number"
            raise ValueError(f"{text.strip()!r}: {what}")
        return float(round(value))
    return value


def quantity_text(kind: Kind, value: float) -> str:
    """A value in SI units for people: `10 Gbit/s`, `500 us`, `512 KB`. `quantity` reads it again."""
    if kind not in _WITH_UNIT:
        return f"{value:g}"
    number, unit = _scaled(kind, value)
    digits = 4 if kind == "time" and number < 1e4 else 6
    return f"{number:.{digits}g} {unit}"


def _scaled(kind: Kind, value: float) -> tuple[float, str]:
    """A value in the largest of the usual units that isn't larger than it."""
    scale: tuple[str, ...]
    if kind == "time":
        scale = ("s", "ms", "us", "ns")
    else:
        unit = "bit/s" if kind == "rate" else "B"
        scale = tuple(prefix + unit for prefix in ("G", "M", "k" if kind == "rate" else "K", ""))
    unit = next((unit for unit in scale if abs(value) >= _UNITS[kind][unit]), "s" if kind == "time" else scale[-1])
    return value / _UNITS[kind][unit], unit


def kind_of(name: str) -> Kind:
    """The kind of a value whose name ends in its SI unit: `rate_bps`, `delay_s`, `xoff_bytes`; others are numbers."""
    endings: dict[str, Kind] = {"_bps": "rate", "_s": "time", "_bytes": "size"}
    return next((kind for ending, kind in endings.items() if name.endswith(ending)), "number")


def _no_such(kind: Kind, text: str) -> str:
    return f"{text.strip()!r} is no {_NAMES[kind]}: write it like {_EXAMPLES[kind]}"


def _with_unit(kind: Kind, number: str, value: float) -> str:
    """What a bare number may have meant: the SI unit, where it is plainly one, or any of the common ones."""
    if value < 1e-3 if kind == "time" else value >= 1e3:
        scaled, unit = _scaled(kind, value)
        return f"{scaled:.12g}{unit.removesuffix('bit/s')}"
    *first, last = (f"{number}{unit}" for unit in _COMMON[kind])
    return f"{', '.join(first)} or {last}"
