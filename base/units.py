"""Numbers with a unit, as people write them: 25G, 64KB, 500us, 1%. Command lines and files all read
them here.

A rate, a time and a size need their unit, except 0. Python has numbers in SI units: bit/s, seconds,
bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Literal, get_args

Kind = Literal["rate", "time", "size", "count", "number", "share"]
"""bit/s, seconds, bytes, a whole number, any number, a number that people see in percent."""
KINDS: tuple[Kind, ...] = get_args(Kind)

_VALUE = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_NUMBER = re.compile(rf"({_VALUE})\s*(?:/\s*({_VALUE})|([^\s\d]\S*))?")
_PREFIXES: dict[str, Decimal | int] = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
}
_SCALED = {prefix: factor for prefix, factor in _PREFIXES.items() if prefix}
_MICRO = ("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s")
_PLAIN = {"%": Decimal("0.01")}
_UNITS: dict[Kind, Mapping[str, Decimal | int]] = {
    "rate": _SCALED
    | {
        prefix + unit: factor
        for prefix, factor in _PREFIXES.items()
        for unit in ("bit/s", "b/s", "bps", "bit")
    },
    "time": dict.fromkeys(_MICRO, Decimal("1e-6"))
    | {
        "s": Decimal(1),
        "ms": Decimal("1e-3"),
        "ns": Decimal("1e-9"),
        "min": Decimal(60),
        "h": Decimal(3600),
    },
    "size": _SCALED
    | {f"{prefix}B": factor for prefix, factor in _PREFIXES.items()}
    | {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "count": {},
    "number": _PLAIN,
    "share": _PLAIN,
}
WITH_UNIT: tuple[Kind, ...] = ("rate", "time", "size")
"""What people write and read with a unit; others are plain numbers."""
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
_COMMON: dict[Kind, tuple[str, ...]] = {
    "rate": ("G", "M", "k"),
    "time": ("s", "ms", "us"),
    "size": ("KB", "MB", "B"),
}


def is_whole(kind: Kind, least: float = 1) -> bool:
    """Returns whether values of a kind that begin at `least` have no fraction: counts and sizes,
    except for a size that may be a part of a byte, as HPCC's W_AI."""
    return kind == "count" or (kind == "size" and least == round(least))


def quantity(kind: Kind, text: str, *, si: bool = False, whole: bool = True) -> float:
    """Returns the value of `text` in SI units: bit/s, seconds, bytes (KB are decimal), or a number,
    also as 1% or 1/128.

    `si`: what the text belongs to names the unit (a column `start_s`), so a bare number is in it.
    `whole` False: bytes may have a fraction.
    Raises ValueError with the form that is right.
    """
    text = text.strip()
    match = _NUMBER.fullmatch(text)
    units = _UNITS[kind]
    if match is None or (match[3] and match[3] not in units) or (match[2] and units is not _PLAIN):
        raise ValueError(f"{text!r} is no {_NAMES[kind]}: write it like {_EXAMPLES[kind]}")
    divisor = float(match[2] or 1)
    if divisor == 0 or not math.isfinite(float(match[1])):
        raise ValueError(f"{text!r} is too much")
    exact = Decimal(match[1]) * units.get(match[3] or "", 1)  # in decimals, so that 10us is 1e-5
    value = float(exact) / divisor
    if kind in WITH_UNIT and value and not (match[3] or si):
        raise ValueError(f"{text!r} has no unit: write {_with_unit(kind, match[1], value)}")
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too much")
    if value < 0 and kind != "number":
        raise ValueError(f"{text!r}: must not be negative")
    if whole and is_whole(kind) and exact != exact.to_integral_value():
        raise ValueError(
            f"{text!r}: must be {'whole bytes' if kind == 'size' else 'a whole number'}"
        )
    return value


def quantity_text(kind: Kind, value: float) -> str:
    """Returns a value in SI units for people: `10 Gbit/s`, `500 us`, `512 KB`. `quantity` reads it
    again."""
    if kind not in WITH_UNIT:
        return f"{value:g}"
    number, unit = _scaled(kind, value)
    digits = 4 if kind == "time" and number < 1e4 else 6
    return f"{number:.{digits}g} {unit}"


def _scaled(kind: Kind, value: float) -> tuple[float, str]:
    """Returns a value in the largest of the usual units that isn't larger than it."""
    unit, size = scale_of(kind, value)
    return value / size, unit


def scale_of(kind: Kind, value: float) -> tuple[str, float]:
    """Returns the largest of the usual units that isn't larger than a value, and its size in the SI
    unit. `kind`: a rate, a time or a size."""
    scale: tuple[str, ...]
    if kind == "time":
        scale = ("s", "ms", "us", "ns")
    else:
        unit = "bit/s" if kind == "rate" else "B"
        scale = tuple(prefix + unit for prefix in ("G", "M", "k" if kind == "rate" else "K", ""))
    unit = next(
        (unit for unit in scale if abs(value) >= float(_UNITS[kind][unit])),
        "s" if kind == "time" else scale[-1],
    )
    return unit, float(_UNITS[kind][unit])


def kind_of(name: str) -> Kind:
    """Returns the kind of a value whose name ends in its SI unit: `rate_bps`, `delay_s`,
    `xoff_bytes`; others are numbers."""
    endings: dict[str, Kind] = {"_bps": "rate", "_s": "time", "_bytes": "size"}
    return next((kind for ending, kind in endings.items() if name.endswith(ending)), "number")


def _with_unit(kind: Kind, number: str, value: float) -> str:
    """Returns what a bare number may have meant: the SI unit, where it is plainly one, or any of
    the common ones."""
    if value < 1 if kind == "time" else value >= 1e3:
        scaled, unit = _scaled(kind, value)
        return f"{scaled:.12g}{unit.removesuffix('bit/s')}"
    *first, last = (f"{number}{unit}" for unit in _COMMON[kind])
    return f"{', '.join(first)} or {last}"
