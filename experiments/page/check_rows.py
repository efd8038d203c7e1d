"""Checks as the pages' tables have them, with what is known of them."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from pcn.experiments.define.checks import Check
from pcn.experiments.results.documents import html, section


def number(value: float | None) -> str:
    """Returns a figure of a check for people: four significant digits, no exponent, a dash where
    there is none."""
    if value is None:
        return "–"
    if value == 0 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def took(wall_s: float) -> str:
    """Formats a run's duration, short ones to a tenth of a second."""
    return f"{wall_s:.0f} s" if wall_s >= 10 else f"{wall_s:.1f} s"


def row(check: Check) -> dict[str, str]:
    """Returns a check as the pages' tables have it."""
    return {
        "claim": check.claim,
        "what": check.what,
        "paper": number(check.paper),
        "theory": number(check.theory),
        "measured": number(check.measured),
        "unit": check.unit,
        "verdict": check.verdict,
        "known": section(check.explained).anchor,
    }


def known(checks: Iterable[Check]) -> list[dict[str, str]]:
    """Returns the sections of docs/ that rows link to."""
    sections = [
        section(link) for link in dict.fromkeys(check.explained for check in checks) if link
    ]
    return [
        {
            "anchor": section.anchor,
            "heading": section.heading,
            "page": section.page,
            "text": Markup(html(section.text)),
        }
        for section in sections
    ]
