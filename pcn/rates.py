"""Rates as watchers show them: Gb/s of networks with a scheme, Mb/s of any P4 network, whose links
often have few."""

from __future__ import annotations


def rate_unit(scheme: bool) -> str:
    return "Gb/s" if scheme else "Mb/s"


def rate_text(rate_bps: float | None, scheme: bool, digits: int) -> str:
    """Returns a rate in that unit; a dash for one that wasn't recorded."""
    return "-" if rate_bps is None else f"{rate_bps / unit_bps(scheme):.{digits}f}"


def unit_bps(scheme: bool) -> float:
    return 1e9 if scheme else 1e6
