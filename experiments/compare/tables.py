"""What `pcn compare` puts side by side, as tables and as rows of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from pcn.experiments.compare.groups import Group, beyond_seeds, different_settings, mean_of, texts_of
from pcn.experiments.define import size_bins
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.sweep.parameter_sweep import Mean

MARK = "*"
_FACTOR = 10
"""From this ratio on a difference is a factor, not a percentage."""
NOTE = (
    f"{MARK} differs from the first column beyond the seeds' spread (Welch's t-test, 95%: of a hundred numbers that "
    "don't differ it marks five)."
)
ONE_SEED = "With one seed nothing shows whether a difference is more than chance: compare runs of several seeds."


def all_tables(groups: Sequence[Group]) -> list[Table]:
    """Returns the settings that differ, numbers, and the scenario's own tables of the first seeds."""
    return [settings(groups), numbers(groups), *_own(groups)]


def settings(groups: Sequence[Group]) -> Table:
    rows = [[name, *texts_of(groups, name)] for name in different_settings(groups)]
    seeds = ["seeds", *(", ".join(map(str, sorted(run.seed for run in group.runs))) for group in groups)]
    return Table("settings that differ", ["", *(group.name for group in groups)], [*rows, seeds])


def numbers(groups: Sequence[Group]) -> Table:
    """Returns those that aren't equal in all groups, each with its difference from the first group's."""
    rows = []
    for name, means in _means(groups):
        if len({mean and mean.value for mean in means}) > 1:
            first = means[0]
            rows.append([name, *(_cell(mean, first if number else None) for number, mean in enumerate(means))])
    return Table("numbers that differ", ["", *(group.name for group in groups)], rows)


def equal(groups: Sequence[Group]) -> list[str]:
    """Returns the names of the numbers that are equal in all groups."""
    return [name for name, means in _means(groups) if len({mean and mean.value for mean in means}) == 1]


def as_csv(groups: Sequence[Group]) -> str:
    """Returns a row a number and group; `beyond_spread` is empty where one seed leaves it open."""
    text = io.StringIO()
    table = csv.writer(text)
    columns = ("number", "runs", "mean", "standard_error", "seeds", "relative_difference", "beyond_spread")
    table.writerow(columns)
    for name, means in [*_means(groups), *_of_bins(groups)]:
        first = means[0]
        for group, mean in zip(groups, means, strict=True):
            if mean is None:
                table.writerow([name, group.name, "", "", len(group.runs), "", ""])
                continue
            beyond = beyond_seeds(first, mean) if first and group is not groups[0] else None
            relative = mean.value / first.value - 1 if first and first.value else ""
            error = "" if mean.error is None else mean.error
            marked = "" if beyond is None else str(beyond).lower()
            table.writerow([name, group.name, mean.value, error, mean.seeds, relative, marked])
    return text.getvalue()


def as_json(groups: Sequence[Group]) -> dict[str, Any]:
    """Returns the settings that differ, and the rows of `as_csv`, with numbers as numbers and null where there is
    none."""
    table = csv.DictReader(io.StringIO(as_csv(groups)))
    names = ["mean", "standard_error", "seeds", "relative_difference"]
    rows: list[dict[str, Any]] = [
        {**row, **{name: float(row[name]) if row[name] else None for name in names}} for row in table
    ]
    for row in rows:
        row["seeds"] = int(row["seeds"])
        row["beyond_spread"] = {"true": True, "false": False}.get(row["beyond_spread"])
    return {
        "runs": [{"name": group.name, "seeds": sorted(run.seed for run in group.runs)} for group in groups],
        "settings": {name: texts_of(groups, name) for name in different_settings(groups)},
        "numbers": rows,
    }


def open_question(groups: Sequence[Group]) -> bool:
    """Returns whether a group has one seed alone."""
    return any(len(group.runs) < 2 for group in groups)


def _means(groups: Sequence[Group]) -> Iterator[tuple[str, list[Mean | None]]]:
    for name in dict.fromkeys(name for group in groups for run in group.runs for name in run.numbers):
        yield name, [group.mean(name) for group in groups]


def _of_bins(groups: Sequence[Group]) -> Iterator[tuple[str, list[Mean | None]]]:
    """Yields the numbers of the bins of flow sizes."""
    binned = [[size_bins.by_bin(run.curves) for run in group.runs] for group in groups]
    for name in dict.fromkeys(name for group in binned for run in group for name in run):
        yield name, [mean_of([run.get(name) for run in group]) for group in binned]


def _cell(mean: Mean | None, first: Mean | None) -> str:
    if mean is None:
        return "–"
    error = mean.error
    spread = "" if error is None else f" ± {error:,.0f}" if error >= 100 else f" ± {error:.2g}"
    text = _number(mean.value) + spread
    if first is None or mean.value == first.value:
        return text
    ratio = mean.value / first.value if first.value else None
    change = "" if ratio is None else f" ({ratio - 1:+.0%})" if ratio < _FACTOR else f" (\u00d7{ratio:,.0f})"
    return f"{text}{change}{MARK if beyond_seeds(first, mean) else ''}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def _own(groups: Sequence[Group]) -> list[Table]:
    scenarios = {run.scenario for group in groups for run in group.runs}
    page = SCENARIOS[scenarios.pop()].page if len(scenarios) == 1 and scenarios <= SCENARIOS.keys() else None
    if page is None or page.tables is None:
        return []
    return page.tables({group.name: Measured(group.runs[0].numbers, group.runs[0].curves) for group in groups})
