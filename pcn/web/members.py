"""Single flows of a kept run whose series are of groups, for the page: the slowest of each group,
with their ends, times and slowdowns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

MOST_FLOWS = 200
"""Of a group, the slowest: the page has them beside its frames."""
_MOST_ROWS = 1_000_000
_FIELDS = ("id", "src", "dst", "size", "size_bytes", "start_s", "fct_s", "slowdown")


def members(place: Path, nodes: frozenset[str]) -> dict[str, dict[str, Any]]:
    """Returns by group its name for people, how many flows it has, and of the slowest a list of id,
    src, dst, bytes, start and completion time in s, and slowdown (None: unfinished). Nothing of a
    folder without flows.parquet, or where that isn't what a run writes; `nodes` are those of the
    network."""
    from pcn.experiments.data import parquet
    from pcn.experiments.traffic.flows import size_class

    path = place / "flows.parquet"
    if not path.is_file():
        return {}
    try:
        columns = parquet.read_of_others(path, _FIELDS, _MOST_ROWS)
        rows = [list(row) for row in zip(*(list(columns[name]) for name in _FIELDS), strict=True)]
        flows = [_flow(row) for row in rows if {row[1], row[2]} <= nodes]
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError):
        return {}
    groups: dict[str, list[list[Any]]] = {}
    for group, flow in flows:
        groups.setdefault(group, []).append(flow)
    return {
        name: {
            "text": size_class(name),
            "count": len(all_flows),
            "flows": sorted(all_flows, key=_slowest)[:MOST_FLOWS],
        }
        for name, all_flows in groups.items()
    }


def _flow(row: list[Any]) -> tuple[str, list[Any]]:
    number, src, dst, group, size, *times = row
    return str(group), [int(number), str(src), str(dst), int(size), *map(_known, times)]


def _known(value: Any) -> float | None:
    number = math.nan if value is None else float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _slowest(flow: list[Any]) -> tuple[float, int]:
    """Returns a key to sort by. Unfinished flows come first."""
    return -(math.inf if flow[6] is None else flow[6]), flow[0]
