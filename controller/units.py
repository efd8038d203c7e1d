"""Numbers with a unit, as people write them: 25G, 64KB, 500us, 1%."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*([a-zA-Zµ/%]*)\Z")
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_UNITS: dict[str, dict[str, float]] = {
    "rate": {prefix + unit: factor for prefix, factor in _DECIMAL.items() for unit in ("", "bit/s", "b/s", "bps")},
    "time": {"": 1.0, **_SECONDS},
    "duration": _SECONDS,
    "size": {
        **{prefix + unit: factor for prefix, factor in _DECIMAL.items() for unit in ("", "B")},
        **{"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3},
    },
    "count": {"": 1.0},
    "share": {"": 1.0, "%": 0.01},
}
KINDS = tuple(_UNITS)
_SHOWN = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_EXAMPLES = {"rate": "5G", "time": "10ms", "duration": "10ms", "size": "64KB", "count": "10", "share": "1%"}


def quantity(kind: str, text: str, zero: bool = False) -> float:
    """`rate` in bit/s, `time` in seconds, `size` in whole bytes (KB are decimal), `count`, `share`, or
    `duration`: a time that must have its unit. Above 0, unless `zero` may be too. Raises ValueError that says how to
    write it."""
    found = _NUMBER.match(text.strip())
    factor = _UNITS[kind].get(found.group(2)) if found else None
    if kind == "duration" and found and not found.group(2):
        raise ValueError(f"{text!r} has no unit: write {text.strip()}s, {text.strip()}ms or {text.strip()}us")
    if found is None or factor is None:
        raise ValueError(f"{text!r} is no {kind}: write it like {_EXAMPLES[kind]}")
    number = float(found.group(1)) * factor
    if number < 0 or (number == 0 and not zero):
        raise ValueError(f"{text!r}: must be positive")
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is too much")
    if kind == "size":
        whole = round(number)
        if abs(number - whole) > 1e-9 * number:  # 1.1KB isn't quite 1100
            raise ValueError(f"{text!r}: a size is in whole bytes, {number:g} are none")
        return float(whole)
    return number


def time_text(seconds: float) -> str:
    """A time for people: "3 s", "2.5 ms", "1200 s"."""
    unit, factor = next(((unit, factor) for unit, factor in _SHOWN if seconds >= factor), _SHOWN[-1])
    number = seconds / factor
    return f"{number:.0f} {unit}" if number >= 1000 else f"{number:.3g} {unit}"


def dilated_text(seconds: float, dilation: float) -> str:
    """A nominal time of a network that runs `dilation` times slower, and how long one waits for it."""
    return f"{time_text(seconds)} nominal, {time_text(seconds * dilation)} real"


def marks_text(ce: float, ue: float) -> str:
    """Shares of packets marked CE and UE, for people: `1.2%`, and with UE `1.2%, UE 30.0%`."""
    return f"{ce:.1%}, UE {ue:.1%}" if ue else f"{ce:.1%}"
