"""What `pcn sweep` does: an experiment with many seeds and settings; all runs as a table, their means, a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments import grid
from experiments.errors import ExperimentError
from experiments.outcomes import Outcome
from experiments.papers import find_experiment
from experiments.progress import ConsoleProgress
from experiments.sweep.store import Store
from experiments.tasks import Execution, require_all, run_tasks, task_of
from experiments.terminal import stdout
from experiments.versions import provenance
from hosts.algorithms import SchemeError, find_scheme
from p4src.manifest import stale
from pcn.commands.common import print_table

RESULTS = Path("results/sweeps")
_SHOWN = 6
"""Numbers that the terminal shows unless some are named."""


def sweep_command(
    reference: str,
    scheme: str | None,
    seeds: Sequence[int] | None,
    settings: Sequence[str],
    shown: Sequence[str],
    execution: Execution,
    fresh: bool,
    out: Path | None,
) -> None:
    """Runs what isn't there yet, and writes what there is. Raises LabError."""
    experiment = find_experiment(reference)
    name = experiment.name
    try:
        schemes = [find_scheme(one.strip()).name for one in scheme.split(",")] if scheme else list(experiment.schemes)
    except SchemeError as error:
        raise ExperimentError(str(error)) from None
    runs = grid.runs(experiment, schemes, seeds, settings)
    if not runs:
        raise ExperimentError(f"{name}: there are no runs of {', '.join(schemes)}")
    place, console = out or RESULTS / name, stdout()
    tasks = [task_of(experiment, run, execution.limit_s) for run in runs]
    store, made_by = Store(place, fresh), provenance()
    with ConsoleProgress(console) as progress:
        if old := stale(*(find_scheme(one).program for one in schemes)):
            progress.note(old)
        progress.stage(f"{name}: {len(runs):,} runs")
        done = run_tasks(tasks, store, execution.means, progress)
    outcomes, decided = grid.whole(tasks, done), grid.seeds_decide(experiment, runs)
    grid.write_runs(place, tasks, store, made_by)
    grid.write_means(place, outcomes, decided)
    files = [grid.RUNS, grid.MEANS]
    if grid.write_picture(place, outcomes, decided, shown):
        files.append(grid.PICTURE)
    for note in _show(outcomes, decided, shown):
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"{place}: {', '.join(files)}", highlight=False, soft_wrap=True)
    require_all(tasks, done, store)


def _show(outcomes: Sequence[Outcome], decided: Mapping[str, str], shown: Sequence[str]) -> list[str]:
    """Prints the means; what there is to be said of them."""
    found = {name: grid.means(members, decided[name]) for name, members in grid.groups(outcomes).items()}
    numbers = list(dict.fromkeys(number for one in outcomes for number in one.numbers))
    if unknown := [name for name in shown if name not in numbers]:
        raise ExperimentError(f"no number {', '.join(unknown)}. There are: {', '.join(numbers)}")
    columns = list(shown) or numbers[:_SHOWN]
    rows = [
        [grid.text_of(json.loads(name)), *(_text(means.get(number)) for number in columns)]
        for name, means in found.items()
    ]
    more = "" if shown or len(numbers) <= _SHOWN else f" ({len(numbers)} in {grid.MEANS}; --show NAME shows others)"
    print_table(f"Means and standard errors over the seeds{more}", ["runs", *columns], rows)
    return grid.notes(outcomes, decided, columns)


def _text(mean: grid.Mean | None) -> str:
    if mean is None:
        return "–"
    return f"{mean.value:.4g}" + ("" if mean.error is None else f" ± {mean.error:.2g}")
