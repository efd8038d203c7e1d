"""Runs that differ by their seed alone, taken together; what differs between them, and whether by more than seeds."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pcn.experiments.compare.kept import Kept
from pcn.experiments.data.parameters import Parameter, format_value
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Curve
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.sweep.parameter_sweep import Mean
from pcn.hosts.algorithms import schemes
from pcn.softswitch.units import Kind, kind_of

_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t: 97.5% quantiles for 1 to 30 degrees of freedom, rounded; the last one for more, which is on the safe
side."""

_MISSING = "–"
_MOST = 1e100
"""Of numbers that have a unit."""
_OF_THE_TREE = ("commit", "tree", "sources")
"""What differs between versions of the project."""


@dataclass(frozen=True)
class Group:
    """Runs of different seeds."""

    name: str
    runs: tuple[Kept, ...]

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.runs[0].settings

    @property
    def scheme(self) -> str:
        return self.runs[0].scheme

    def mean(self, number: str) -> Mean | None:
        """None where a run has no such number: means over the others would be of other seeds."""
        return mean_of([run.numbers.get(number) for run in self.runs])

    def curve(self, name: str) -> Curve | None:
        """Returns the mean of the seeds' curves, point by point, where all have as many points; else the first
        seed's."""
        found = [run.curves[name] for run in self.runs if name in run.curves]
        if not found or not found[0][0]:
            return None
        if len(found) < len(self.runs) or len({len(x) for x, _ in found}) > 1:
            return found[0]
        x, y = ([statistics.fmean(values) for values in zip(*part, strict=True)] for part in zip(*found, strict=True))
        return x, y


def mean_of(values: Sequence[float | None]) -> Mean | None:
    """None where one is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    error = statistics.stdev(known) / math.sqrt(len(known)) if len(known) > 1 else None
    return Mean(statistics.fmean(known), error, len(known))


def grouped(runs: Sequence[Kept]) -> list[Group]:
    """Returns the runs in groups of equal settings, in the order of their first runs. A run whose seed is in its group
    already begins another group."""
    found: dict[tuple[str, int], list[Kept]] = {}
    for run in runs:
        settings = json.dumps(run.settings, sort_keys=True, default=str)
        number = next(
            number for number in range(len(runs)) if run.seed not in {o.seed for o in found.get((settings, number), ())}
        )
        found.setdefault((settings, number), []).append(run)
    groups = [Group("", tuple(members)) for members in found.values()]
    return _named(groups, [name for name in different_settings(groups) if name not in _OF_THE_TREE])


def _named(groups: Sequence[Group], differing: Sequence[str]) -> list[Group]:
    """Returns each by its scheme, by as many of what differs as that needs, and by its place where nothing does."""
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
    return [
        replace(group, name=name if counts[name] == 1 else f"{name}, {group.runs[0].place}")
        for name, group in zip(names, groups, strict=True)
    ]


def _called(setting: str, value: Any, text: str) -> str:
    """Returns a setting in a group's name: a text needs no name in front."""
    return text if isinstance(value, str) else f"{setting} {text}"


def texts_of(groups: Sequence[Group], setting: str) -> list[str]:
    """Returns a setting of each group for people: numbers with their units, files by their stems where these differ as
    the files do; a dash where a group hasn't it."""
    found = [group.settings.get(setting, _MISSING) for group in groups]
    files = {value for value in found if isinstance(value, str) and "/" in value}
    stems = len({Path(file).stem for file in files}) == len(files)
    kinds = _kinds(groups)
    return [
        text_of(Path(value).stem if stems and isinstance(value, str) and value in files else value, kinds.get(setting))
        for value in found
    ]


def _kinds(groups: Sequence[Group]) -> dict[str, Kind]:
    """Returns the kinds of settings: of schemes' parameters and scenarios'; of others by a name's end."""
    found: dict[str, Kind] = {setting: kind_of(setting) for group in groups for setting in group.settings}
    for scenario, scheme in {(run.scenario, run.scheme) for group in groups for run in group.runs}:
        found |= {one.name: one.kind for one in _parameters(scenario, scheme)}
    return found


def _parameters(scenario: str, scheme: str) -> Sequence[Parameter]:
    if scheme not in schemes:
        return ()
    return SCENARIOS[scenario].parameters(scheme) if scenario in SCENARIOS else scheme_parameters.of(scheme)


def text_of(value: Any, kind: Kind | None = None) -> str:
    """Returns a setting for people."""
    if value is None:
        return "auto"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST:
        return format_value(kind, value) if kind and kind != "number" else f"{value:.6g}"
    text = str(value)
    return text if text.isprintable() else ascii(text)


def different_settings(groups: Sequence[Group]) -> list[str]:
    """Returns the names of what isn't the same in all groups. What some groups have no value of, as of another scheme's
    parameters, differs where the others' values do."""
    names = dict.fromkeys(name for group in groups for name in group.settings)
    return [
        name
        for name in names
        if len({json.dumps(group.settings[name], default=str) for group in groups if name in group.settings}) > 1
    ]


def beyond_seeds(one: Mean, other: Mean) -> bool | None:
    """Returns whether means differ by more than their seeds make likely: Welch's t-test, 95%. None where one seed
    leaves it open. Seeds that change nothing have no spread: then any difference is one."""
    if one.error is None or other.error is None:
        return None
    variance = one.error**2 + other.error**2
    difference = abs(one.value - other.value)
    if variance == 0:
        return difference > 0
    freedom = variance**2 / (one.error**4 / (one.seeds - 1) + other.error**4 / (other.seeds - 1))
    return difference > _T[min(int(freedom), len(_T)) - 1] * math.sqrt(variance)
