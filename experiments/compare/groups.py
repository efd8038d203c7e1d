"""Runs that differ by their seed alone, taken together; what differs between them, and whether by
more than seeds."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pcn.base.units import Kind, kind_of
from pcn.experiments.compare.stored_results import StoredRun
from pcn.experiments.data.parameters import Parameter, format_value
from pcn.experiments.define import intervals, scheme_parameters
from pcn.experiments.define.charts import Line
from pcn.experiments.define.intervals import Difference
from pcn.experiments.define.looks import label
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.papers import SCENARIOS
from pcn.hosts.algorithms import schemes

_MISSING = "–"
_MOST = 1e100
"""Of numbers that have a unit."""
_POINTS = 200
"""Of a curve over the seeds' own."""
_OF_THE_TREE = ("commit", "tree", "sources")
"""What differs between versions of the project."""


@dataclass(frozen=True)
class Group:
    """Runs of different seeds."""

    name: str
    runs: tuple[StoredRun, ...]

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.runs[0].settings

    @property
    def scheme(self) -> str:
        return self.runs[0].scheme

    def values(self, number: str) -> list[float] | None:
        """Returns a number of each run; None where a run has no such number: the others' would be
        of other seeds."""
        return values_of([run.numbers.get(number) for run in self.runs])

    def mean(self, number: str) -> float | None:
        """Returns the mean over the seeds. None as `values` has it."""
        values = self.values(number)
        return None if values is None else statistics.fmean(values)

    def curve(self, name: str) -> Line | None:
        """Returns the mean of the seeds' curves with its intervals, over the x of all of them,
        between whose points each is a straight line. After its end a run has nothing: 0. None where
        a run has no such curve."""
        curves = [run.curves[name] for run in self.runs if name in run.curves]
        if len(curves) < len(self.runs) or not all(x for x, _ in curves):
            return None
        grid = np.unique(np.concatenate([x for x, _ in curves]))
        if grid.size > _POINTS:
            grid = np.linspace(grid[0], grid[-1], _POINTS)
        on_grid = np.array([np.interp(grid, x, y, right=0.0) for x, y in curves])
        ends = [intervals.of_mean(column.tolist()) for column in on_grid.T]
        line = Line("", grid, on_grid.mean(axis=0))
        if None in ends:
            return line
        low, high = (
            np.array([getattr(end, name) for end in ends], float) for name in ("low", "high")
        )
        return replace(line, low=low, high=high)

    @property
    def samples(self) -> list[RunSamples]:
        return [run.samples for run in self.runs]


def values_of(values: Sequence[float | None]) -> list[float] | None:
    """Returns the values; None where one is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def pairs(first: Group, second: Group) -> bool:
    """Returns whether two groups have the same flows seed by seed, so that their values belong
    together in pairs."""
    digests = [{run.seed: run.samples.digest for run in group.runs} for group in (first, second)]
    return digests[0] == digests[1] and all(digests[0].values())


def difference(first: Group, second: Group, number: str) -> Difference | None:
    """Returns by how much a number differs, in pairs where both have the same flows. None where
    there is none, or one seed leaves it open."""
    if pairs(first, second):
        runs = [sorted(group.runs, key=lambda run: run.seed) for group in (first, second)]
        samples = [values_of([run.numbers.get(number) for run in members]) for members in runs]
        paired = True
    else:
        samples, paired = [group.values(number) for group in (first, second)], False
    if samples[0] is None or samples[1] is None:
        return None
    return intervals.difference(samples[0], samples[1], paired)


def grouped(runs: Sequence[StoredRun]) -> list[Group]:
    """Returns the runs in groups of equal settings, in the order of their first runs. A run whose
    seed is in its group already begins another group."""
    runs_by_settings: dict[tuple[str, int], list[StoredRun]] = {}
    for run in runs:
        settings = json.dumps(run.settings, sort_keys=True, default=str)
        number = next(
            number
            for number in range(len(runs))
            if run.seed not in {o.seed for o in runs_by_settings.get((settings, number), ())}
        )
        runs_by_settings.setdefault((settings, number), []).append(run)
    groups = [Group("", tuple(members)) for members in runs_by_settings.values()]
    return _named(
        groups,
        [name for name in different_settings(groups, alone=False) if name not in _OF_THE_TREE],
    )


def _named(groups: Sequence[Group], differing: Sequence[str]) -> list[Group]:
    """Returns each by its scheme, by as many of what differs as that needs, and by its place where
    nothing does."""
    names = [label(group.scheme) for group in groups]
    for setting in differing:
        shared = Counter(names)
        if setting != "scheme" and len(shared) < len(names):
            texts = texts_of(groups, setting)
            longer = [
                f"{name}, {_called(setting, group.settings[setting], text)}"
                if shared[name] > 1 and setting in group.settings
                else name
                for name, group, text in zip(names, groups, texts, strict=True)
            ]
            names = longer if len(set(longer)) > len(shared) else names
    counts = Counter(names)
    names = [
        name if counts[name] == 1 else f"{name}, {group.runs[0].place}"
        for name, group in zip(names, groups, strict=True)
    ]
    # Tests of differences go by names
    counts, before = Counter(names), Counter[str]()
    for place, name in enumerate(names):
        before[name] += 1
        if counts[name] > 1:
            names[place] = f"{name} ({before[name]})"
    return [replace(group, name=name) for name, group in zip(names, groups, strict=True)]


def _called(setting: str, value: Any, text: str) -> str:
    """Returns a setting in a group's name: a text needs no name in front."""
    return text if isinstance(value, str) else f"{setting} {text}"


def texts_of(groups: Sequence[Group], setting: str) -> list[str]:
    """Returns a setting of each group for people: numbers with their units, files by their stems
    where these differ as the files do; a dash where a group hasn't it."""
    values = [group.settings.get(setting, _MISSING) for group in groups]
    files = {value for value in values if isinstance(value, str) and "/" in value}
    stems = len({_without_folders(file) for file in files}) == len(files)
    kind = _kinds(groups).get(setting)
    short = [
        _without_folders(value) if stems and isinstance(value, str) and value in files else value
        for value in values
    ]
    texts = [text_of(value, kind) for value in short]
    if len(set(texts)) < len({json.dumps(value, default=str) for value in values}) and _differs(
        values, True
    ):
        exact = [_exact(value, kind) for value in values]
        texts = exact if len(set(exact)) > len(set(texts)) else texts
    return texts


def _without_folders(text: str) -> str:
    """Returns a file's stem, or options with their files' names."""
    return re.sub(r"[^=,]*/", "", text) if "=" in text else Path(text).stem


def _exact(value: Any, kind: Kind | None) -> str:
    """Returns a setting with all of its digits."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    units = {"rate": " bit/s", "time": " s", "size": " B"}
    return f"{value!r}{units.get(kind or '', '')}" if number else text_of(value, kind)


def _kinds(groups: Sequence[Group]) -> dict[str, Kind]:
    """Returns the kinds of settings: of schemes' parameters and scenarios'; of others by a name's
    end."""
    kinds: dict[str, Kind] = {
        setting: kind_of(setting) for group in groups for setting in group.settings
    }
    for scenario, scheme in {(run.scenario, run.scheme) for group in groups for run in group.runs}:
        kinds |= {parameter.name: parameter.kind for parameter in _parameters(scenario, scheme)}
    return kinds


def _parameters(scenario: str, scheme: str) -> Sequence[Parameter]:
    if scheme not in schemes:
        return ()
    return (
        SCENARIOS[scenario].parameters(scheme)
        if scenario in SCENARIOS
        else scheme_parameters.of(scheme)
    )


def text_of(value: Any, kind: Kind | None = None) -> str:
    """Returns a setting for people."""
    if value is None:
        return "auto"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST:
        return format_value(kind, value) if kind and kind != "number" else f"{value:.6g}"
    text = str(value)
    return text if text.isprintable() else ascii(text)


def different_settings(groups: Sequence[Group], alone: bool = True) -> list[str]:
    """Returns the names of what isn't the same in all groups. `alone`: also what some groups have
    no value of, as of another scheme's parameters; else only where the others' values differ."""
    names = dict.fromkeys(name for group in groups for name in group.settings)
    return [
        name
        for name in names
        if _differs([group.settings.get(name, _MISSING) for group in groups], alone)
    ]


def _differs(values: Sequence[Any], alone: bool) -> bool:
    """Numbers are equal whether they are whole or not: 5 is 5.0, and True isn't 1."""
    if not alone:
        values = [value for value in values if value is not _MISSING]
    texts = [
        json.dumps(
            float(value) if type(value) is int and abs(value) < _MOST else value, default=str
        )
        for value in values
    ]
    return len(set(texts)) > 1
