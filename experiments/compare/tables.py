"""What `pcn compare` puts side by side, as tables and as rows of a CSV file."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pcn.base.units import kind_of
from pcn.experiments.compare.groups import Group, difference, different_settings, pairs, texts_of
from pcn.experiments.data.parameters import format_value
from pcn.experiments.define import flows_by_size, intervals
from pcn.experiments.define.intervals import Difference
from pcn.experiments.define.samples import interval_note
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.page.report import number
from pcn.experiments.papers import SCENARIOS

MARK = "*"
_FACTOR = 10
"""From this ratio on a difference is a factor, not a percentage."""


def all_tables(groups: Sequence[Group]) -> list[Table]:
    """Returns the settings that differ, numbers, flows by size, and the scenario's own tables of
    means."""
    by_size = flows_by_size.tables(
        flows_by_size.pooled({group.name: group.samples for group in groups})
    )
    return [settings(groups), numbers(groups), *_scenario_tables(groups), *by_size]


def settings(groups: Sequence[Group]) -> Table:
    rows = [[name, *texts_of(groups, name)] for name in different_settings(groups)]
    seeds = [
        "seeds",
        *(", ".join(map(str, sorted(run.seed for run in group.runs))) for group in groups),
    ]
    return Table("settings that differ", ["", *(group.name for group in groups)], [*rows, seeds])


def numbers(groups: Sequence[Group]) -> Table:
    """Returns those that aren't equal in all groups, each with its difference from the first
    group's; below it what is marked, and by which test."""
    first = groups[0]
    rows = [
        [
            _labelled(name),
            *(_cell(group, name, first if group is not first else None) for group in groups),
        ]
        for name in _names(groups)
        if not _equal(groups, name)
    ]
    title = "numbers that differ" if rows else "no number differs"
    return Table(
        title, ["", *(group.name for group in groups)] if rows else [""], rows, notes(groups)
    )


def notes(groups: Sequence[Group]) -> list[str]:
    """Returns what intervals are, and which test marks what."""
    note = interval_note(len(group.runs) for group in groups)
    lines = [f"Means over the seeds; in brackets {note}."] if note else []
    first, others = groups[0], groups[1:]
    tested = [group for group in others if len(group.runs) > 1 and len(first.runs) > 1]
    for paired, test in (
        (True, "paired t-test, as equal seeds have equal flows here"),
        (False, "Welch's t-test, unpaired, as their runs haven't the same flows seed by seed"),
    ):
        names = [group.name for group in tested if pairs(first, group) is paired]
        if names:
            lines.append(
                f"{MARK} in {', '.join(names)}: differs from {first.name} by more than the seeds "
                f"make likely ({test}, 95%: of a hundred numbers that don't differ it marks five). "
                f"Below a mean stands its difference from {first.name}'s, with a 95% interval."
            )
    if untested := [group.name for group in groups if len(group.runs) < 2]:
        lines.append(
            f"{', '.join(untested)}: one seed, so nothing shows whether a difference is more than "
            "chance, and nothing is marked: compare runs of several seeds."
        )
    return lines


def equal(groups: Sequence[Group]) -> list[str]:
    """Returns the labels of the numbers that are equal in all groups."""
    return [_labelled(name) for name in _names(groups) if _equal(groups, name)]


def as_csv(groups: Sequence[Group]) -> str:
    """Returns a row a number and group. `interval`: bootstrap, or range of the seeds;
    `difference_*`: from the first group, relative, with a 95% interval by `test`; `beyond_spread`
    is empty where one seed leaves it open. `flows`: of those numbers that are of flows of all seeds
    together."""
    text = io.StringIO()
    table = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    table.writeheader()
    for name in _names(groups):
        for group in groups:
            table.writerow(
                {
                    "number": name,
                    "runs": group.name,
                    "seeds": len(group.runs),
                    **_row(groups[0], group, name),
                }
            )
    for name, runs, flows, estimate in flows_by_size.rows(
        flows_by_size.pooled({group.name: group.samples for group in groups})
    ):
        seeds = next(len(group.runs) for group in groups if group.name == runs)
        row = {"number": name, "runs": runs, "seeds": seeds, "flows": flows}
        if estimate is not None:
            row |= {"mean": estimate.value, **_interval(estimate.interval)}
        table.writerow(row)
    return text.getvalue()


def as_json(groups: Sequence[Group]) -> dict[str, Any]:
    """Returns the settings that differ, and the rows of `as_csv`, with numbers as numbers and null
    where there is none."""
    rows: list[dict[str, Any]] = [
        {name: _json_value(name, text) for name, text in row.items()}
        for row in csv.DictReader(io.StringIO(as_csv(groups)))
    ]
    return {
        "runs": [
            {"name": group.name, "seeds": sorted(run.seed for run in group.runs)}
            for group in groups
        ],
        "settings": {name: texts_of(groups, name) for name in different_settings(groups)},
        "numbers": rows,
    }


def _json_value(column: str, text: str) -> Any:
    if column in _TEXTS:
        return text or None
    if column in _COUNTS:
        return int(text) if text else None
    return (
        {"true": True, "false": False, "": None}[text]
        if column == "beyond_spread"
        else float(text)
        if text
        else None
    )


_COLUMNS = (
    "number", "runs", "mean", "low", "high", "interval", "standard_error", "seeds", "flows",
    "relative_difference",
    "difference_low", "difference_high", "test", "beyond_spread",
)  # fmt: skip
_TEXTS = ("number", "runs", "interval", "test")
_COUNTS = ("seeds", "flows")


def _row(first: Group, group: Group, name: str) -> dict[str, object]:
    values = group.values(name)
    if values is None:
        return {}
    mean = statistics.fmean(values)
    row: dict[str, object] = {"mean": mean, **_interval(intervals.of_mean(values))}
    if len(values) > 1:
        row["standard_error"] = statistics.stdev(values) / len(values) ** 0.5
    below = first.mean(name)
    if below is None or group is first:
        return row
    if below:
        row["relative_difference"] = mean / below - 1
    if (change := difference(first, group, name)) is not None:
        row["test"] = "paired" if change.paired else "welch"
        row["beyond_spread"] = str(change.beyond).lower()
        if below:
            low, high = sorted((change.low / below, change.high / below))
            row |= {"difference_low": low, "difference_high": high}
    return row


def _interval(interval: intervals.Interval | None) -> dict[str, object]:
    if interval is None:
        return {}
    return {
        "low": interval.low,
        "high": interval.high,
        "interval": "bootstrap" if interval.bootstrap else "range",
    }


def _names(groups: Sequence[Group]) -> list[str]:
    return list(
        dict.fromkeys(name for group in groups for run in group.runs for name in run.numbers)
    )


def _equal(groups: Sequence[Group], name: str) -> bool:
    return len({group.mean(name) for group in groups}) <= 1


_UNIT = re.compile(r"_(bps|bytes|s)(?=_mean|_max| |$)")
"""Within a number's name: `queue_bytes_mean`, `tree_s`."""


def _labelled(name: str) -> str:
    """Returns a number's name for people: its value has the unit."""
    return ", ".join(word.replace("_", " ") for word in _UNIT.sub("", name).split(" ", 1))


def _value(name: str, value: float) -> str:
    """Returns a number as reports have it: a rate, a time and a size with a unit that suits it."""
    unit = _UNIT.search(name)
    kind = kind_of(unit[0]) if unit else "number"
    return number(value) if kind == "number" else format_value(kind, float(f"{value:.4g}"))


def _cell(group: Group, name: str, first: Group | None) -> str:
    values = group.values(name)
    if values is None:
        return "–"
    mean, interval = statistics.fmean(values), intervals.of_mean(values)
    text = _value(name, mean)
    if interval is not None and interval.low < interval.high:
        ends = (float(f"{end:.3g}") for end in (interval.low, interval.high))
        text += f" [{', '.join(_value(name, end) for end in ends)}]"
    below = first.mean(name) if first else None
    if first is None or below is None or mean == below:
        return text
    change = difference(first, group, name)
    mark = MARK if change and change.beyond else ""
    return "\n".join(filter(None, [text, _change(mean, below, change)])) + mark


def _change(mean: float, below: float, change: Difference | None) -> str:
    """Returns a difference in percent of the first, with its interval."""
    if not below:
        return ""
    ratio = mean / below
    if ratio >= _FACTOR:
        return f"\u00d7{ratio:,.0f}"
    text = f"{ratio - 1:+,.0%}"
    if change is None or change.low == change.high:
        return text
    low, high = sorted((change.low / below, change.high / below))
    return f"{text}, {low:+,.0%} to {high:+,.0%}"


def _scenario_tables(groups: Sequence[Group]) -> list[Table]:
    """Returns the scenario's tables of the means."""
    scenarios = {run.scenario for group in groups for run in group.runs}
    page = (
        SCENARIOS[scenarios.pop()].page
        if len(scenarios) == 1 and scenarios <= SCENARIOS.keys()
        else None
    )
    if page is None or page.tables is None:
        return []
    means = {
        group.name: Measured({name: group.mean(name) for name in _names([group])})
        for group in groups
    }
    several = any(len(group.runs) > 1 for group in groups)
    return [
        replace(table, notes=[*table.notes, *["Means over the seeds."] * several])
        for table in page.tables(means)
    ]
