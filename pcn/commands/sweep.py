"""`pcn sweep`: an experiment with many seeds and settings."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.common import FilePath, listing, print_json, print_table
from pcn.commands.execution import execution_options, seeds_option
from pcn.commands.output import is_quiet, note, output_options, say
from pcn.commands.recording import EXPLAIN
from pcn.commands.traffic import Traffic, traffic_options
from pcn.complete import complete_experiment, complete_parameter, complete_scheme

if TYPE_CHECKING:
    from pcn.base.units import Kind
    from pcn.experiments.define.outcomes import Outcome
    from pcn.experiments.sweep.parameter_sweep import Mean
    from pcn.experiments.sweep.run_task import Execution

_SHOWN = 6
"""Numbers that the terminal shows unless some are named."""


def _experiments() -> Iterator[tuple[str, str]]:
    from pcn.experiments.papers import EXPERIMENTS, described

    return described(EXPERIMENTS)


@click.command(cls=listing("Experiments", _experiments))
@click.argument("experiment", shell_complete=complete_experiment)
@click.option(
    "--scheme",
    "--schemes",
    "scheme",
    metavar="NAME[,NAME...]",
    shell_complete=complete_scheme,
    help="Congestion control, by name or FILE.py:NAME (default: EXPERIMENT's).",
)
@seeds_option
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE,...",
    shell_complete=complete_parameter,
    help=(
        "Values of a scenario's parameter, e.g. w_min=0.01,0.025; several --set run every "
        "combination."
    ),
)
@traffic_options
@click.option(
    "--show",
    "shown",
    multiple=True,
    metavar="NAME",
    help="Number to print and draw; repeat for more.",
)
@EXPLAIN
@execution_options
@click.option(
    "--clock",
    type=click.Choice(["virtual"]),
    expose_value=False,
    hidden=True,  # `pcn run` needs it for what is the only clock here
)
@click.option("--out", type=FilePath(), help="Result folder (default: results/sweeps/EXPERIMENT).")
@output_options
def sweep(
    experiment: str,
    scheme: str | None,
    seeds: list[int] | None,
    parameters: tuple[str, ...],
    traffic: Traffic,
    shown: tuple[str, ...],
    explain: bool,
    execution: Execution,
    fresh: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run an experiment with many seeds and settings.

    EXPERIMENT is a scenario, or a figure with its runs. Every combination of schemes, seeds and
    settings runs in virtual time. Writes runs.parquet (a row a run), means.csv (with standard
    errors) and sweep.png. Runs that the folder has already aren't repeated: after an interruption
    the same command continues, and more seeds add runs.

    \b
    Examples:
      pcn sweep dumbbell --scheme pcn,dcqcn --seeds 1:3 --set duration=5ms
      pcn sweep traffic --topology clos --workload W1 --load 0.4,0.8 --scheme pcn,dcqcn --seeds 1:3
      pcn sweep dumbbell --seeds 1:2 --set duration=5ms --set w_min=0.01,0.025 --show utilisation
    """
    from rich.console import Console

    from pcn.experiments.data.errors import ExperimentError
    from pcn.experiments.define.scheme_parameters import scheme_names
    from pcn.experiments.papers import find_experiment
    from pcn.experiments.results.atomic_folder import left_out
    from pcn.experiments.run.progress import ConsoleProgress, Notes
    from pcn.experiments.run.versions import provenance
    from pcn.experiments.sweep import parameter_sweep
    from pcn.experiments.sweep.run_task import require_all, run_tasks, task_of
    from pcn.experiments.sweep.store import Store
    from pcn.hosts.algorithms import find_scheme
    from pcn.p4src.manifest import stale
    from pcn.topologies import extras

    reference, settings = traffic.of(experiment, parameters)
    definition = find_experiment(reference)
    name = definition.name
    schemes = scheme_names(scheme) if scheme else list(definition.schemes)
    runs = parameter_sweep.runs(definition, schemes, seeds, settings)
    if not runs:
        raise ExperimentError(f"{name}: no runs of {', '.join(schemes)}")
    place, errors = out or Path("results/sweeps") / name, Console(stderr=True)
    tasks = [task_of(definition, run, execution.limit_s, explain) for run in runs]
    store, made_by = Store(place, fresh), provenance()
    with Notes(errors) if is_quiet() else ConsoleProgress(errors) as progress:
        if without := left_out():
            progress.note(without)
        if old := stale(*(find_scheme(scheme).program for scheme in schemes)):
            progress.note(old)
        decided, remarks = parameter_sweep.foresee(definition, runs)
        for remark in remarks:
            progress.note(remark)
        progress.stage(f"{name}: {len(runs):,} runs")
        done = run_tasks(tasks, store, execution.means, progress)
    outcomes = parameter_sweep.whole(tasks, done)
    files = [parameter_sweep.MEANS]
    parameter_sweep.write_means(place, outcomes, decided)
    if extras.installed("parquet"):
        parameter_sweep.write_runs(place, tasks, store, made_by)
        files.insert(0, parameter_sweep.RUNS)
    if extras.installed("figures") and parameter_sweep.write_picture(
        place, definition, outcomes, decided, shown
    ):
        files.append(parameter_sweep.PICTURE)
    columns, means = _columns(outcomes, shown), _means(outcomes, decided)
    if as_json:
        print_json({"folder": str(place), "files": files, "runs": _as_json(means)})
    else:
        kinds = parameter_sweep.kinds_of(definition, outcomes)
        _show(means, columns, kinds, 0 if shown else len(_numbers(outcomes)))
    for remark in parameter_sweep.notes(definition, outcomes, decided, columns):
        note(remark)
    if not as_json:
        say(f"{place}: {', '.join(files)}")
        if len(outcomes) > 1:
            compared = shlex.join(["pcn", "compare", str(place), "--out", f"{place}/compared"])
            say(f"which is best, and whether beyond chance: {compared}")
    require_all(tasks, done, store)


_Means = dict[str, dict[str, "Mean"]]
"""Of each number, by what the runs are, as JSON."""


def _means(outcomes: Sequence[Outcome], decided: Mapping[str, str]) -> _Means:
    """Returns the means over the seeds."""
    from pcn.experiments.sweep import parameter_sweep

    return {
        name: parameter_sweep.means(members, decided[name])
        for name, members in parameter_sweep.groups(outcomes).items()
    }


def _numbers(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(number for outcome in outcomes for number in outcome.numbers))


def _columns(outcomes: Sequence[Outcome], shown: Sequence[str]) -> list[str]:
    """Returns the numbers of the table. Raises ExperimentError for one that no run has."""
    from pcn.experiments.data.errors import ExperimentError

    numbers = _numbers(outcomes)
    if unknown := [name for name in shown if name not in numbers]:
        raise ExperimentError(f"no number {', '.join(unknown)}; choose from {', '.join(numbers)}")
    return list(shown) or numbers[:_SHOWN]


def _as_json(means: _Means) -> list[dict[str, object]]:
    return [
        {
            "values": json.loads(name),
            "means": {number: asdict(mean) for number, mean in group.items()},
        }
        for name, group in means.items()
    ]


def _show(means: _Means, columns: Sequence[str], kinds: Mapping[str, Kind], count: int) -> None:
    """Prints the means of these numbers, with a hint where there are more, `count` in all."""
    from pcn.experiments.sweep import parameter_sweep

    rows = [
        [
            parameter_sweep.text_of(json.loads(name), kinds),
            *(_text(group.get(number)) for number in columns),
        ]
        for name, group in means.items()
    ]
    more = (
        f" ({count} in {parameter_sweep.MEANS}; --show NAME shows others)"
        if count > len(columns)
        else ""
    )
    print_table(f"Means and standard errors over the seeds{more}", ["runs", *columns], rows)


def _text(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    return f"{mean.value:.4g}" + ("" if mean.error is None else f" ± {mean.error:.2g}")
