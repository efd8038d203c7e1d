"""A sweep of one experiment: its schemes, seeds and parameters in every combination; means over the
seeds.

done.jsonl    a line a run, as it ends (see `pcn.experiments.sweep.store`)
runs.parquet  all runs in the order in which they were declared: keys, numbers, or why there are
              none
means.csv     each number's mean over the seeds, with its standard error
sweep.png     the numbers over what was varied, each seed a dot
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import statistics
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pcn.base.errors import LabError
from pcn.base.units import WITH_UNIT, Kind
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Value, assignment, format_value
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.draws import NOTHING, distinct, draws, spreads
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.number_texts import named, unit_of
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.define.samples import too_few
from pcn.experiments.results.atomic_folder import replacing
from pcn.experiments.sweep.figures import runs_of
from pcn.experiments.sweep.run_task import outcome, texts_of
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Done, Task

RUNS, MEANS, PICTURE = "runs.parquet", "means.csv", "sweep.png"
_MOST_CHARTS = 12
_AXIS_LETTERS, _TITLE_LETTERS = 48, 44
"""A line below a chart, and above it."""


@dataclass(frozen=True)
class Mean:
    """Of a number over the seeds. `error` is the standard error; None of one seed, and where no
    spread stands."""

    value: float
    error: float | None
    seeds: int


def runs(
    experiment: Experiment,
    schemes: Sequence[str],
    seeds: Sequence[int] | None,
    settings: Sequence[str],
) -> list[Run]:
    """Returns a run for each combination of schemes, seeds and settings. `settings` are
    `name=value,value,...`: parameters of a scenario. A figure has none; its seeds are its own
    (default), or these.

    Raises ExperimentError.
    """
    if not experiment.page:
        if settings:
            raise ExperimentError(
                f"{experiment.name} is a figure, whose runs are fixed: leave out --set"
            )
        return runs_of(experiment, schemes, seeds)
    varied = _varied(experiment, schemes, settings)
    varied_runs = []
    for scheme, choices in varied.items():
        for values in itertools.product(*choices.values()):
            arguments = dict(zip(choices, values, strict=True))
            keys: dict[str, Key] = {
                name: value for name, value in arguments.items() if value is not None
            }
            varied_runs += [
                Run({"scheme": scheme, **keys, "seed": seed}, scheme, seed, arguments)
                for seed in seeds or [1]
            ]
    if varied_runs:
        first = varied_runs[0]  # what is wrong with all of them, before any runs
        experiment.plan(first.scheme, first.seed, first.arguments)
    return varied_runs


def _varied(
    experiment: Experiment, schemes: Sequence[str], settings: Iterable[str]
) -> dict[str, dict[str, list[Value]]]:
    """Returns by scheme and parameter the values of a sweep, in the order of the settings."""
    varied: dict[str, dict[str, list[Value]]] = {scheme: {} for scheme in schemes}
    for setting in settings:
        name, texts = assignment(setting)
        for scheme, parameter in scheme_parameters.meant(experiment, schemes, name).items():
            values = varied[scheme].setdefault(parameter.name, [])
            for text in texts.split(","):
                value = parameter.parse(text)
                if value in values:
                    raise ExperimentError(f"{name}={text} is given twice: give it once")
                values.append(value)
    return varied


def write_runs(
    place: Path, tasks: Sequence[Task], store: Store, provenance: Mapping[str, str]
) -> None:
    """runs.parquet: in the order in which they were declared, whichever ended first. `provenance`
    is the file's metadata."""
    from pcn.experiments.data import parquet

    done = [store.done[task.identity] for task in tasks]
    rows = [
        {**task.keys, **_numbers(record), "error": record.error, **_how(record)}
        for task, record in zip(tasks, done, strict=True)
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(place / RUNS) as file:
        parquet.write(file, {name: [row.get(name) for row in rows] for name in names}, provenance)


def _numbers(done: Done) -> Mapping[str, float | None]:
    return {} if done.error else Outcome.from_json(done.value).numbers


def _how(done: Done) -> dict[str, str | float | int]:
    return {
        "digest": done.digest,
        "host": done.host,
        "wall_s": done.wall_s,
        "cpu_s": done.cpu_s,
        "max_rss_bytes": done.max_rss_bytes,
    }


def group_of(keys: Mapping[str, Key]) -> str:
    """Returns what runs that differ by their seed alone have in common, in JSON."""
    return json.dumps({name: value for name, value in keys.items() if name != "seed"})


def groups(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Runs that differ by their seed alone."""
    by_keys: dict[str, list[Outcome]] = {}
    for run in outcomes:
        by_keys.setdefault(group_of(run.keys), []).append(run)
    return by_keys


def whole(tasks: Sequence[Task], done: Sequence[Done]) -> list[Outcome]:
    """Returns the outcomes of groups of which no run failed: means over the others would be of
    other seeds than those beside them."""
    broken = {group_of(task.keys) for task, record in zip(tasks, done, strict=True) if record.error}
    return [
        outcome(record)
        for task, record in zip(tasks, done, strict=True)
        if group_of(task.keys) not in broken
    ]


def foresee(experiment: Experiment, runs: Sequence[Run]) -> tuple[dict[str, str], list[str]]:
    """Returns what the seed decides (`pcn.experiments.define.draws`), by group, and the remarks of
    plans, by the first run of each group. A group that can't be planned has neither: its runs fail,
    and name why."""
    first = {group_of(run.keys): run for run in reversed(runs)}
    decided: dict[str, str] = {}
    remarks: dict[str, None] = {}
    for group, run in reversed(first.items()):
        with contextlib.suppress(LabError):
            plan = experiment.plan(run.scheme, run.seed, run.arguments)
            decided[group] = draws(experiment, run, plan)
            remarks |= dict.fromkeys(plan.notes)
    return decided, list(remarks)


def means(outcomes: Sequence[Outcome], decided: str = "") -> dict[str, Mean]:
    """Returns by name the means of the numbers that all of these runs have, with standard errors
    where the runs are a sample (`spreads`)."""
    by_name, sample = {}, len(outcomes) > 1 and spreads(outcomes, decided)
    for name in dict.fromkeys(name for run in outcomes for name in run.numbers):
        values = [run.numbers.get(name) for run in outcomes]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            error = statistics.stdev(known) / math.sqrt(len(known)) if sample else None
            by_name[name] = Mean(statistics.fmean(known), error, len(known))
    return by_name


def notes(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    decided: Mapping[str, str],
    shown: Sequence[str],
) -> list[str]:
    """Returns the remarks on the means: what seeds determine, where they give equal runs, and which
    runs lack one of the numbers `shown`."""
    remarks: list[str] = []
    grouped, kinds = groups(outcomes), kinds_of(experiment, outcomes)
    by_decision: dict[str, dict[str, None]] = {}
    for group in (group for group, members in grouped.items() if len(members) > 1):
        keys = json.loads(group)
        by_decision.setdefault(decided[group], {})[
            label(str(keys["scheme"])) if "scheme" in keys else text_of(keys, kinds)
        ] = None
    for decision, names in by_decision.items():
        remarks.append(
            f"the seed decides {decision}"
            if len(by_decision) == 1
            else f"{', '.join(names)}: the seed decides {decision}"
        )
    for group, members in grouped.items():
        name, different = text_of(json.loads(group), kinds), distinct(members)
        if decided[group] != NOTHING and different < len(members):
            remarks.append(
                f"{name}: {len(members)} seeds give {different} different runs, so no standard "
                "error"
            )
    missing: dict[str, list[str]] = {}
    for number in shown:
        for group, members in grouped.items():
            lacking = [
                member
                for member in members
                if number in member.numbers and member.numbers[number] is None
            ]
            if lacking:
                seeds = ", ".join(str(member.keys["seed"]) for member in lacking)
                few = too_few(number, [member.numbers for member in lacking])
                text = f"no mean of {number}" + (
                    f": {few}" if few else f", which seed {seeds} lacks"
                )
                missing.setdefault(text, []).append(text_of(json.loads(group), kinds))
    for text, lacks in missing.items():
        remarks.append(text if len(lacks) == len(grouped) > 1 else f"{'; '.join(lacks)}: {text}")
    return remarks


def write_means(place: Path, outcomes: Sequence[Outcome], decided: Mapping[str, str]) -> None:
    """means.csv: a row for each number of each group."""
    by_group = {name: means(members, decided[name]) for name, members in groups(outcomes).items()}
    columns = list(dict.fromkeys(key for name in by_group for key in json.loads(name)))
    with (
        replacing(place / MEANS) as new,
        io.TextIOWrapper(new, encoding="utf-8", newline="") as file,
    ):
        table = csv.writer(file)
        table.writerow([*columns, "number", "mean", "standard_error", "seeds"])
        for name, numbers in by_group.items():
            keys = [json.loads(name).get(column, "") for column in columns]
            for number, mean in numbers.items():
                table.writerow(
                    [
                        *keys,
                        number,
                        mean.value,
                        "" if mean.error is None else mean.error,
                        mean.seeds,
                    ]
                )


def charts(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    decided: Mapping[str, str],
    shown: Sequence[str] = (),
) -> list[Chart]:
    """Returns each number over the first thing that was varied, a line for each combination of the
    others; a bar for each combination where nothing was. `shown`: these numbers alone. Seeds are
    drawn where they are a sample in all. Numbers have the names and units that people read."""
    collection, axis, grouped = Outcomes(outcomes), _axis(outcomes), groups(outcomes)
    sample = all(spreads(members, decided[group]) for group, members in grouped.items())
    names = [
        name
        for name in dict.fromkeys(name for run in outcomes for name in run.numbers)
        if _tells(name, outcomes)
    ]
    names = [name for name in shown or names if name in names][:_MOST_CHARTS]
    kinds, drawn = kinds_of(experiment, outcomes), []
    x_label, x_factor = _axis_text(experiment, axis, outcomes, kinds) if axis else ("", 1.0)
    for name in names:
        title, unit, factor = _number_text(experiment, name, outcomes)
        if axis:
            lines = [
                _line(collection, text_of(keys, kinds), axis, name, keys)
                for keys in _others(outcomes, axis)
            ]
            lines = [line for line in lines if line.x.size]
            if len({line.scheme for line in lines}) < len(lines):
                # Several lines of a scheme would all look as it does
                lines = [replace(line, scheme="") for line in lines]
            lines = lines if sample else [replace(line, seeds=()) for line in lines]
            lines = [_scaled(line, x_factor, factor) for line in lines]
            drawn.append(Chart(title, x_label, unit, lines, columns=min(3, len(names))))
            continue
        seeds = [Outcomes(members).by_run(name) for members in grouped.values()]
        known = [(place, values) for place, values in enumerate(seeds) if values]
        seed_values = [values for _, values in known] if sample else ()
        line = curve(
            "", [x for x, _ in known], [statistics.fmean(y) for _, y in known], seeds=seed_values
        )
        texts = [text_of(json.loads(group), kinds) for group in grouped]
        line = _scaled(line, 1.0, factor)
        drawn.append(Chart(title, unit, "", [line], columns=min(2, len(names)), rows=texts))
    return drawn


def _line(collection: Outcomes, text: str, axis: str, name: str, keys: Mapping[str, Key]) -> Line:
    """Returns a number over what was varied; of runs without that, as of another scheme's
    parameter, their mean all along it."""
    line = collection.line(text, axis, name, str(keys.get("scheme", "")), **keys)
    if line.x.size or not (same := collection.by_run(name, **keys)):
        return line
    values = [float(value) for value in collection.values(axis)]
    means = [statistics.fmean(same)] * len(values)
    return curve(text, values, means, line.scheme, stroke="dashed")


def kinds_of(experiment: Experiment, outcomes: Iterable[Outcome]) -> dict[str, Kind]:
    """Returns the kinds of the parameters of the experiment and of the runs' schemes."""
    schemes = dict.fromkeys(str(run.keys.get("scheme", "")) for run in outcomes)
    return {
        parameter.name: parameter.kind
        for scheme in schemes
        if scheme
        for parameter in experiment.parameters(scheme)
    }


def text_of(keys: Mapping[str, Key], kinds: Mapping[str, Kind]) -> str:
    """Returns the keys that distinguish runs, the scheme by its name, parameters with their
    units."""
    texts = {
        name: format_value(kind, value)
        if (kind := kinds.get(name, "number")) in WITH_UNIT and isinstance(value, int | float)
        else f"{value:g}"
        if isinstance(value, float)
        else value
        for name, value in keys.items()
    }
    others = [f"{name} {text}" for name, text in texts.items() if name != "scheme"]
    return ", ".join([label(str(keys["scheme"])), *others] if "scheme" in keys else others)


def _axis_text(
    experiment: Experiment, axis: str, outcomes: Sequence[Outcome], kinds: Mapping[str, Kind]
) -> tuple[str, float]:
    """Returns the name of the axis of what was varied, with its unit, and how much of that a value
    of 1 is. Below a parameter's name, as `--set` has it, stands what it is."""
    values = [float(value) for run in outcomes if (value := run.keys.get(axis)) is not None]
    unit, factor = unit_of(axis, values, kinds.get(axis))
    schemes = dict.fromkeys(
        str(run.keys["scheme"]) for run in outcomes if axis in run.keys and "scheme" in run.keys
    )
    parameters = {
        parameter.name: parameter.meaning
        for scheme in schemes
        for parameter in experiment.parameters(scheme)
    }
    name = axis if axis in parameters else named(axis, experiment.number_texts, {}).text
    below = textwrap.wrap(parameters.get(axis, ""), _AXIS_LETTERS)
    return "\n".join([f"{name} ({unit})" if unit else name, *below]), factor


def _number_text(
    experiment: Experiment, name: str, outcomes: Iterable[Outcome]
) -> tuple[str, str, float]:
    """Returns what a number is called, its unit, and how much of that a value of 1 is."""
    values = [value for run in outcomes if (value := run.numbers.get(name)) is not None]
    text = named(name, texts_of(experiment), experiment.group_texts).text
    return textwrap.fill(text, _TITLE_LETTERS), *unit_of(name, values)


def _scaled(line: Line, x_factor: float, factor: float) -> Line:
    seeds = [[value * factor for value in values] for values in line.seeds]
    return replace(line, x=line.x * x_factor, y=line.y * factor, seeds=seeds)


def _axis(outcomes: Sequence[Outcome]) -> str:
    """Returns the first key with several numbers."""
    collection = Outcomes(outcomes)
    keys = dict.fromkeys(
        key for run in outcomes for key in run.keys if key not in ("scheme", "seed")
    )
    for key in keys:
        values = collection.values(key)
        if len(values) > 1 and all(isinstance(value, int | float) for value in values):
            return key
    return ""


def _others(outcomes: Sequence[Outcome], axis: str) -> Iterator[dict[str, Key]]:
    seen = dict.fromkeys(
        json.dumps({key: value for key, value in run.keys.items() if key not in (axis, "seed")})
        for run in outcomes
    )
    for text in seen:
        yield json.loads(text)


def _tells(name: str, outcomes: Sequence[Outcome]) -> bool:
    """Returns whether a number differs between runs."""
    return len({run.numbers.get(name) for run in outcomes}) > 1


def write_picture(
    place: Path,
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    decided: Mapping[str, str],
    shown: Sequence[str] = (),
) -> bool:
    """Writes sweep.png and .svg; False where no number differs between runs."""
    # only here: matplotlib takes as long to load as all the rest
    from pcn.experiments.draw.pictures import (
        pictures,
    )

    drawn = charts(experiment, outcomes, decided, shown)
    for kind, data in pictures(drawn).items() if drawn else ():
        with replacing((place / PICTURE).with_suffix(f".{kind}")) as file:
            file.write(data)
    return bool(drawn)
