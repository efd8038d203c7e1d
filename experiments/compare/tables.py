"""What `pcn compare` puts side by side, as tables and as rows of a CSV file."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from pcn.experiments.compare.groups import Group, difference, different_settings, texts_of
from pcn.experiments.define import flows_by_size, intervals
from pcn.experiments.define.intervals import Difference
from pcn.experiments.define.number_texts import NumberText, named, unit_of, value_text
from pcn.experiments.define.samples import interval_note, too_few
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.papers import EXPERIMENTS, SCENARIOS

MARK, CUT = "*", "\N{DAGGER}"
_LISTED = 4
"""Seeds of many that are named."""
_FACTOR, _SMALL = 10, 0.095
"""From this ratio on a difference is a factor, not a percentage; below this share its percentage
has a digit behind the point."""
_LEAST, _MOST_DIGITS = 5e-4, 6
"""From this share on one digit shows a sign; the most that a smaller one has."""
_SLOWDOWN = (
    "Slowdown: completion time over that of the same flow in the empty network; 1 is the least."
)
_OF_CUT = (
    f"{CUT}: the t-test's interval begins below -100%. No such number is negative, so it is cut "
    "there, and covers as often; more seeds would narrow it."
)
_UNTESTABLE = (
    "Equal in all seeds: each side has one value in all of its seeds, so a difference isn't by "
    "chance, and isn't testable; it has no interval."
)
_COMMON = {
    "duration_ms": NumberText("length of the run"),
    "packets lost": NumberText("packets lost", "less"),
    "pause_frames": NumberText("PAUSE frames", "less"),
    "steady utilisation": NumberText("used share of the bottleneck, steady state"),
    "steady jain": NumberText("fairness in the steady state, Jain's index"),
    "steady queue_bytes_mean": NumberText("mean queue in the steady state"),
    "latency_mean_us": NumberText("mean latency of packets"),
    "latency_min_us": NumberText("least latency of packets"),
    "latency_max_us": NumberText("largest latency of packets"),
    **{
        f"latency_p{q}_us": NumberText(f"{q}% latency of packets")
        for q in ("50", "95", "99", "99.9")
    },
}
"""What numbers of every run are called."""


def all_tables(groups: Sequence[Group]) -> list[Table]:
    """Returns the settings that differ, numbers, flows by size, and the scenario's own tables of
    means."""
    by_size = flows_by_size.tables(
        flows_by_size.pooled({group.name: group.samples for group in groups})
    )
    of_scenario = _scenario_tables(groups)
    caveats = [text for table in of_scenario for text in table.caveats]
    best_runs = [replace(best(groups), caveats=caveats)] if len(groups) > 1 else []
    return [*best_runs, settings(groups), numbers(groups), *of_scenario, *by_size]


def best(groups: Sequence[Group]) -> Table:
    """Returns of each number that one wishes small, or large, whose mean is best, by how much from
    the next one's, and whether by more than chance; of three groups and more, by how much from the
    first one's, too. What no group has is a row of dashes with the reason."""
    reference, several = groups[0], len(groups) > 2
    ranks = {
        name: sorted(
            (group for group in groups if group.mean(name) is not None),
            key=lambda group: (group.mean(name) or 0.0) * (-1 if better == "more" else 1),
        )
        for name in _names(groups)
        if (better := _name(groups, name).better)
    }
    names = [name for name, ranked in ranks.items() if len(ranked) > 1 and not _equal(ranked, name)]
    tests = _Tests(groups, names)
    rows = []
    for name, ranked in ranks.items():
        if not ranked:
            if names:
                having = [group for group in groups if any(name in r.numbers for r in group.runs)]
                row = [*["–"] * 5, _missing(having, name), *["–"] * several]
                rows.append([_labelled(groups, name), *row])
            continue
        if name not in names:
            continue
        first, second = ranked[0].mean(name) or 0.0, ranked[1].mean(name) or 0.0
        winners = [group for group in ranked if group.mean(name) == first]
        texts = [_mean_text(groups, group, name) for group in ranked[:2]]
        if len(winners) > 1:
            rest = next(group for group in ranked if group.mean(name) != first)
            text = ", ".join(group.name for group in winners)
            row = [text, texts[0], rest.name, _mean_text(groups, rest, name), "", "equal"]
        else:
            change = difference(ranked[1], ranked[0], name)
            by = _change(first, second, change)
            sure = tests.verdict(ranked[1], ranked[0], name)
            row = [ranked[0].name, texts[0], ranked[1].name, texts[1], by, sure]
        row += [_against(winners, reference, name, tests)] * several
        rows.append([_labelled(groups, name), *row])
    columns = ["", "best", "its mean", "next", "its mean", "best against next", "beyond chance"]
    columns += [f"best against {reference.name}"] * several
    notes = [*_how(groups, tests), *_cut_note(rows)] if rows else []
    notes += [_SLOWDOWN] * any("slowdown" in row[0] for row in rows)
    return Table("which is best" if rows else "no number is better", columns, rows, notes)


class _Tests:
    """Of each two groups in each number: the best and the next are chosen by the runs that test
    them, so all that they might have been count."""

    def __init__(self, groups: Sequence[Group], names: Sequence[str]) -> None:
        self.rows = len(names)
        self._changes = {
            (name, first.name, second.name): change
            for name in names
            for first, second in combinations(groups, 2)
            if (change := difference(first, second, name)) is not None
        }
        chances = {key: change.p for key, change in self._changes.items() if change.p is not None}
        holds = intervals.holm(list(chances.values()))
        self._holds = dict(zip(chances, holds, strict=True))
        self.paired = {self._changes[key].paired for key in chances}

    @property
    def number(self) -> int:
        """How many are tested."""
        return len(self._holds)

    @property
    def has_constants(self) -> bool:
        """Whether a number that differs is the same in all seeds of both groups."""
        return any(change.value and change.p is None for change in self._changes.values())

    def verdict(self, first: Group, second: Group, name: str) -> str:
        """Returns whether two groups differ by more than chance."""
        key = next(
            (
                key
                for key in ((name, first.name, second.name), (name, second.name, first.name))
                if key in self._changes
            ),
            None,
        )
        if key is None:
            return "not tested: one seed"
        if key not in self._holds:
            return f"equal in all {_seed_counts((first, second))} seeds"
        if not self._changes[key].beyond:
            return "no"
        return "yes" if self._holds[key] else f"by itself; not among {self.number}"


def _seed_counts(groups: Iterable[Group]) -> str:
    return " or ".join(map(str, sorted({len(group.runs) for group in groups})))


def _missing(groups: Sequence[Group], name: str) -> str:
    """Returns why no group has a number. A mean is of all seeds, so one without it is enough."""
    of = name.partition(" ")[2]
    runs = [run for group in groups for run in group.runs]
    flows = [(run.seed, run.numbers.get(f"flows {of}") or 0.0) for run in runs]
    fewest = min(count for _, count in flows)
    if not fewest and any(f"flows {of}" in run.numbers for run in runs):
        of_seeds = f" in {_seeds(seed for seed, count in flows if not count)}"
        return f"no such flows{of_seeds * any(count for _, count in flows)}"
    if any(run.numbers.get(f"unfinished {of}") for run in runs):
        return "flows unfinished"
    lacking = f"no value in {_seeds(run.seed for run in runs if run.numbers.get(name) is None)}"
    return too_few(name, [run.numbers for run in runs]) or lacking


def _seeds(seeds: Iterable[int]) -> str:
    """Returns a few of them by their numbers."""
    known = sorted(set(seeds))
    listed = ", ".join(map(str, known[:_LISTED]))
    return f"seed{'s' * (len(known) > 1)} {listed}{', ...' * (len(known) > _LISTED)}"


def _against(winners: Sequence[Group], reference: Group, name: str, tests: _Tests) -> str:
    """Returns the difference of the best ones from the first group, with what a test marks."""
    mean, below = winners[0].mean(name), reference.mean(name)
    if reference in winners or mean is None or below is None:
        return "–"
    change = difference(reference, winners[0], name)
    sure = tests.verdict(reference, winners[0], name) == "yes"
    return _change(mean, below, change) + MARK * sure


def _how(groups: Sequence[Group], tests: _Tests) -> list[str]:
    """Returns what the intervals are, and how differences of the best ones are tested: in pairs,
    unpaired, or not."""
    note = interval_note(len(group.runs) for group in groups)
    kinds = [
        text
        for paired, text in ((True, "paired, seed by seed"), (False, "unpaired, Welch's"))
        if paired in tests.paired
    ]
    untestable = [_UNTESTABLE] * tests.has_constants
    if not kinds and untestable:
        return untestable
    if not kinds:
        names = {run.scenario for group in groups for run in group.runs}
        name = names.pop() if len(names) == 1 else "EXPERIMENT"
        return [
            "One seed shows no difference beyond chance: "
            f"`pcn sweep {name or 'EXPERIMENT'} --seeds 1:5` runs several."
        ]
    among = (
        f"all {tests.number} comparisons of two runs in {tests.rows} row" + "s" * (tests.rows > 1)
        if tests.number > 1
        else "the one comparison"
    )
    return [
        f"Beyond chance: yes, and {MARK}, hold for {among} together, so for the choice of the best "
        "as well (Holm's correction, 5%); by itself: only if no other were made.",
        f"Means over {_seed_counts(groups)} seeds" + f"; in brackets {note}." * bool(note),
        "Differences in percent of the other's mean, each with its 95% interval by a t-test "
        f"({', '.join(kinds)}).",
        *untestable,
    ]


def settings(groups: Sequence[Group]) -> Table:
    rows = [[name, *texts_of(groups, name)] for name in different_settings(groups)]
    seeds = [
        "seeds",
        *(", ".join(map(str, sorted(run.seed for run in group.runs))) for group in groups),
    ]
    title = "settings that differ" if len(groups) > 1 else "settings"
    return Table(title, ["", *(group.name for group in groups)], [*rows, seeds])


def numbers(groups: Sequence[Group]) -> Table:
    """Returns those that aren't equal in all groups, each with its difference from the first
    group's; below it what is marked, and by which test."""
    rows = [
        [
            _labelled(groups, name),
            *(_cell(groups, group, name) for group in groups),
        ]
        for name in _names(groups)
        if not _equal(groups, name)
    ]
    title = "numbers that differ" if rows else "no number differs"
    columns = ["", *(group.name for group in groups)] if rows else [""]
    return Table(title, columns, rows, [*notes(groups), *_cut_note(rows)])


def notes(groups: Sequence[Group]) -> list[str]:
    """Returns what intervals are, and which test marks what."""
    names = [name for name in _names(groups) if not _equal(groups, name)]
    spread = any(
        not intervals.is_constant(group.values(name) or ()) for group in groups for name in names
    )
    note = interval_note(len(group.runs) for group in groups) if spread else ""
    lines = (
        [
            f"Means over the seeds, also of each seed's percentiles (tables by size have those of "
            f"all seeds' flows together); in brackets {note}."
        ]
        if note
        else []
    )
    first = groups[0]
    changes = {
        group.name: [
            change for name in names if (change := difference(first, group, name)) is not None
        ]
        for group in groups[1:]
    }
    for paired, test in (
        (True, "paired t-test, as equal seeds have equal flows here"),
        (False, "Welch's t-test, unpaired, as their runs haven't the same flows seed by seed"),
    ):
        tested = [
            name
            for name, members in changes.items()
            if any(change.p is not None and change.paired is paired for change in members)
        ]
        if tested:
            lines.append(
                f"{MARK} in {', '.join(tested)}: differs from {first.name} by more than the seeds "
                f"make likely ({test}, 95%: of a hundred numbers that don't differ it marks five). "
                f"Below a mean stands its difference from {first.name}'s, with a 95% interval."
            )
    if any(change.value and change.p is None for members in changes.values() for change in members):
        lines.append(_UNTESTABLE)
    if untested := [group.name for group in groups if len(group.runs) < 2]:
        lines.append(
            f"{', '.join(untested)}: one seed, so nothing shows whether a difference is more than "
            "chance, and nothing is marked: compare runs of several seeds."
        )
    return lines


def equal(groups: Sequence[Group]) -> list[str]:
    """Returns the labels of the numbers that are equal in all groups."""
    names = [name for name in _names(groups) if _equal(groups, name)]
    return [_name(groups, name).text for name in names if groups[0].mean(name) is not None]


def unknown(groups: Sequence[Group]) -> list[str]:
    """Returns the labels of the numbers that no group has: too few flows, or some unfinished."""
    return [
        _name(groups, name).text
        for name in _names(groups)
        if all(group.mean(name) is None for group in groups)
    ]


def as_csv(groups: Sequence[Group]) -> str:
    """Returns a row a number and group. `interval`: bootstrap, or range of the seeds;
    `difference_*`: from the first group, relative, with a 95% interval by `test`, which is "equal
    in all seeds" where there is nothing to test; `beyond_spread` is empty there, and where one seed
    leaves it open. `flows`: of those numbers that are of flows of all seeds
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
_NO_TEST = "equal in all seeds"
_TEXTS = ("number", "runs", "interval", "test")
_COUNTS = ("seeds", "flows")


def _row(first: Group, group: Group, name: str) -> dict[str, object]:
    values = group.values(name)
    if values is None:
        return {}
    mean = statistics.fmean(values)
    row: dict[str, object] = {"mean": mean, **_interval(intervals.of_mean(values))}
    if not intervals.is_constant(values):
        row["standard_error"] = statistics.stdev(values) / len(values) ** 0.5
    below = first.mean(name)
    if below is None or group is first:
        return row
    if below:
        row["relative_difference"] = mean / below - 1
    if (change := difference(first, group, name)) is not None:
        if change.p is None:
            return row | {"test": _NO_TEST}
        row["test"] = "paired" if change.paired else "welch"
        row["beyond_spread"] = str(change.beyond).lower()
        if below:
            low, high = sorted((change.low / below, change.high / below))
            row |= {"difference_low": low, "difference_high": high}
    return row


def _interval(interval: intervals.Interval | None) -> dict[str, object]:
    if interval is None or interval.is_point:
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


def _texts(groups: Sequence[Group]) -> tuple[dict[str, NumberText], dict[str, str]]:
    """Returns what the numbers of the runs' experiments are called, and their groups."""
    names = {run.scenario for group in groups for run in group.runs}
    experiments = [EXPERIMENTS[name] for name in sorted(names) if name in EXPERIMENTS]
    texts: dict[str, NumberText] = dict(_COMMON)
    group_texts: dict[str, str] = {}
    for experiment in experiments:
        texts |= experiment.number_texts
        group_texts |= experiment.group_texts
    return texts, group_texts


def _name(groups: Sequence[Group], name: str) -> NumberText:
    return named(name, *_texts(groups))


def _labelled(groups: Sequence[Group], name: str) -> str:
    """Returns a number's name for people, with the unit of its values."""
    return ", ".join(filter(None, [_name(groups, name).text, _in_unit(groups, name)[0]]))


def _in_unit(groups: Sequence[Group], name: str) -> tuple[str, Callable[[float], str]]:
    """Returns the unit that suits the largest mean, and what writes a value in it."""
    means = [mean for group in groups if (mean := group.mean(name)) is not None]
    unit, factor = unit_of(name, means)
    return unit, lambda value: value_text(value * factor)


def _cell(groups: Sequence[Group], group: Group, name: str) -> str:
    """Returns a mean with its interval; below it its difference from the first group's."""
    first, values = groups[0], group.values(name)
    if values is None:
        return "–"
    text = _mean_text(groups, group, name)
    mean, below = statistics.fmean(values), first.mean(name)
    if group is first or below is None or mean == below:
        return text
    change = difference(first, group, name)
    mark = MARK if change and change.beyond else ""
    return "\n".join(filter(None, [text, _change(mean, below, change)])) + mark


def _mean_text(groups: Sequence[Group], group: Group, name: str) -> str:
    values, text_of = group.values(name) or [], _in_unit(groups, name)[1]
    text, interval = text_of(statistics.fmean(values)), intervals.of_mean(values)
    if interval is not None and not interval.is_point:
        text += f" [{text_of(interval.low)}, {text_of(interval.high)}]"
    return text


def _change(mean: float, below: float, change: Difference | None) -> str:
    """Returns a difference in percent of what it is from, with its interval; nothing where that is
    0, or of the other sign."""
    if not below or mean * below < 0:
        return ""
    ratio = mean / below
    if ratio >= _FACTOR:
        return f"\u00d7{ratio:,.0f}"
    text = _percent(ratio - 1)
    if change is None or change.low == change.high:
        return text
    low, high = sorted((change.low / below, change.high / below))
    # A number that isn't negative falls by all of it at most: an interval may be cut to what is
    # possible, and covers as often as before.
    cut = low < -1 and mean >= 0
    return f"{text}, {_percent(-1.0 if cut else low)}{CUT * cut} to {_percent(high)}"


def _cut_note(rows: Sequence[Sequence[str]]) -> list[str]:
    return [_OF_CUT] * any(CUT in cell for row in rows for cell in row[1:])


def _percent(share: float) -> str:
    """Returns a signed share; small ones with as many digits as show their sign."""
    digits = 0 if abs(share) >= _SMALL else 1
    if share and abs(share) < _LEAST:
        digits = min(-math.floor(math.log10(abs(share))) - 2, _MOST_DIGITS)
    return f"{share:+,.{digits}%}"


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
