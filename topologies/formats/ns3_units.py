"""Rates and times as ns-3 writes them (`DataRate`, `Time`)."""

from __future__ import annotations

import re
from decimal import Decimal

_NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,2})?|\.[0-9]+"
_RATE = re.compile(rf"({_NUMBER})([kKMGT]?)(bps|b/s|Bps|B/s)?\Z")
_TIME = re.compile(rf"({_NUMBER})(s|ms|us|ns|ps|fs)?\Z")
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SECONDS = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12, "fs": -15}


def rate(text: str) -> float:
    """Returns bit/s; a bare number is in bit/s. Raises ValueError."""
    match = _RATE.match(text)
    if match is None or (match[2] and not match[3]):
        raise ValueError(f"{text!r} is no rate: write it like 100Gbps")
    return float(
        Decimal(match[1]) * _PREFIXES[match[2]] * (8 if (match[3] or "").startswith("B") else 1)
    )


def time(text: str) -> float:
    """Returns the seconds; a bare number is in seconds. Raises ValueError."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"{text!r} is no time: write it like 1000ns")
    return float(Decimal(match[1]).scaleb(_SECONDS[match[2] or "s"]))


def rate_text(rate_bps: float) -> str:
    """Returns a rate that `rate` reads again."""
    for prefix in ("T", "G", "M", "k"):
        if rate_bps >= _PREFIXES[prefix] and (
            whole := Decimal(repr(rate_bps)) / _PREFIXES[prefix]
        ) == int(whole):
            return f"{int(whole)}{prefix}bps"
    return f"{_plain(Decimal(repr(rate_bps)))}bps"


def time_text(delay_s: float) -> str:
    """Returns a time that `time` reads again."""
    return f"{_plain(Decimal(repr(delay_s)).scaleb(9))}ns"


def _plain(number: Decimal) -> str:
    """Returns a number without trailing zeros and exponent."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
