"""Rates as watchers show them: Gbit/s of networks with a scheme, Mbit/s of any P4 network, whose
links often have few."""

from __future__ import annotations


def rate_unit(scheme: bool) -> str:
    return "Gbit/s" if scheme else "Mbit/s"


def rate_text(rate_bps: float | None, scheme: bool, digits: int) -> str:
    """Returns a rate in that unit; a dash for one that wasn't recorded."""
    return "-" if rate_bps is None else f"{rate_bps / unit_bps(scheme):.{digits}f}"


def unit_bps(scheme: bool) -> float:
    return 1e9 if scheme else 1e6
