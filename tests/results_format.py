"""What results hold by docs/results-format.md."""

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs/results-format.md"


def section(heading: str) -> str:
    return PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]


def columns(table: str) -> list[str]:
    """Those of a table that has a section."""
    return re.findall(r"^\| `(\w+)` \|", section(table), re.M)


def series() -> set[tuple[str, str]]:
    """Kind of entity, and metric."""
    return set(re.findall(r"^\| (\w+) \| `(\w+)` \|", section("series.parquet"), re.M))


def kinds(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Entities and metrics of a run, by the kind of entity."""
    return {(_kind(entity), metric) for entity, metric in pairs}


def _kind(entity: str) -> str:
    for kind, pattern in (
        ("FLOW", r"flow \d+"),
        ("LINK", r".+->.+"),
        ("PORT", r"[^:]+:\d+"),
        ("network", "network"),
    ):
        if re.fullmatch(pattern, entity):
            return kind
    return "GROUP"
