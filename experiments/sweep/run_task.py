"""Runs of experiments in virtual time as tasks of a sweep: declared here, carried out anywhere,
outcomes again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import steady_state
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.run.execute import execute
from pcn.experiments.run.progress import RunProgress, Silent
from pcn.experiments.run.versions import outside
from pcn.experiments.sweep.executor import Means, sweep
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Done, Task
from pcn.hosts.algorithms import find_scheme

_NAMED = 3
"""Failed runs that an error names."""


@dataclass(frozen=True)
class Execution:
    """How runs are carried out."""

    means: Means = field(default_factory=Means)
    limit_s: float | None = None
    """How long a run may take, in real time."""


class RunsFailedError(ExperimentError):
    """Some of the runs failed; all others are in the store."""


def run_all(
    experiment: Experiment,
    runs: Sequence[Run],
    store: Store,
    execution: Execution,
    progress: RunProgress,
) -> list[Outcome]:
    """Returns the outcomes of all runs, in their order. Raises RunsFailedError once all others are
    over."""
    tasks = [task_of(experiment, run, execution.limit_s) for run in runs]
    done = run_tasks(tasks, store, execution.means, progress)
    require_all(tasks, done, store)
    return [outcome(record) for record in done]


def run_tasks(
    tasks: Sequence[Task], store: Store, means: Means, progress: RunProgress
) -> list[Done]:
    """Returns the outcomes of `sweep`. When a signal ends it, finished tasks stay in the store, and
    a line reports that."""
    before = sum(
        task.identity in store.done and not store.done[task.identity].error for task in tasks
    )
    if before:
        progress.note(f"{before} of {len(tasks)} runs were done before: {store.place}")
    try:
        done = sweep(tasks, store, means, progress)
        store.complete()
        return done
    except BaseException:
        count = sum(task.identity in store.done for task in tasks)
        if count:
            progress.note(
                f"{count} of {len(tasks)} runs are kept in {store.place}: the same command goes on "
                "from there"
            )
        else:
            store.remove()
        raise


def require_all(tasks: Sequence[Task], done: Sequence[Done], store: Store) -> None:
    """Raises RunsFailedError that names what failed."""
    failed = [(task, record) for task, record in zip(tasks, done, strict=True) if record.error]
    if failed:
        more = f"; and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        named = "; ".join(f"{task.label}: {record.error}" for task, record in failed[:_NAMED])
        raise RunsFailedError(
            f"{len(failed)} of {len(tasks)} runs failed: {named}{more}. {store.place} keeps the "
            "others, and the tracebacks; the same command runs those that failed again"
        )


def task_of(
    experiment: Experiment, run: Run, limit_s: float | None = None, explain: bool = False
) -> Task:
    """Returns what any process can carry out: a scheme from outside is found there by its
    reference. With other files it is another task. `explain`: its numbers have the parts' shares of
    completion times."""
    scheme = find_scheme(run.scheme)
    arguments: dict[str, Any] = {
        "experiment": experiment.reference,
        "run": asdict(run),
        "scheme": scheme.reference,
    }
    arguments["files"] = outside(scheme)
    if explain:
        arguments["explain"] = True
    return Task(
        "pcn.experiments.sweep.run_task:carry_out", arguments, run.keys, {"limit_s": limit_s}
    )


def carry_out(
    experiment: str,
    run: Mapping[str, Any],
    scheme: str,
    files: Mapping[str, str],
    limit_s: float | None,
    explain: bool = False,
) -> dict[str, Any]:
    """Returns a run from its declaration; its outcome in JSON's terms. Raises LabError."""
    from pcn.experiments.papers import find_experiment

    if outside(find_scheme(scheme)) != files:
        raise ExperimentError(f"the files of {scheme} aren't those of when this run was declared")
    return asdict(outcome_of(find_experiment(experiment), Run(**run), limit_s, explain))


def outcome(done: Done) -> Outcome:
    return replace(Outcome.from_json(done.value), wall_s=done.wall_s)


_TEXTS = {
    "lost": NumberText("packets lost", "less"),
    "inside": NumberText("switch registers not back at 0 after the drain", "less"),
    "deadlock_s": NumberText("start of the deadlock"),
}
_STEADY_TEXTS = {
    "utilisation": NumberText("used share of the bottleneck, steady state", "more"),
    "jain": NumberText("fairness in the steady state, Jain's index", "more"),
    "queue_kb": NumberText("mean queue in the steady state", "less"),
    "pause": NumberText("PAUSE frames in the steady state", "less"),
}
"""Of scenarios alone: figures have numbers of these names that are something else."""


def texts_of(experiment: Experiment) -> dict[str, NumberText]:
    """Returns what the numbers of an experiment's runs are called, those of `outcome_of`
    included."""
    steady = _STEADY_TEXTS if experiment.page else {}
    return {**_TEXTS, **steady, **experiment.number_texts}


def outcome_of(
    experiment: Experiment, run: Run, limit_s: float | None = None, explain: bool = False
) -> Outcome:
    """Returns what a run comes to, in virtual time: its plan is made from the declaration alone.
    Raises LabError."""
    plan = experiment.plan(run.scheme, run.seed, run.arguments)
    if explain:
        plan = replace(plan, records=replace(plan.records, explain=True))
    progress = Silent() if limit_s is None else _Limit(limit_s)
    plan, recording = execute(plan, progress, variant=experiment.variant(run))
    measured = experiment.measure(run, plan, recording)
    numbers = {
        **measured.numbers,
        "lost": recording_numbers.lost(recording),
        "inside": float(len(recording.left_inside)),
    }
    if experiment.page:
        numbers |= _steady(plan, recording)
    if recording.recorded.parts is not None:
        numbers |= recording.recorded.parts.shares()
    if recording.deadlock is not None:
        numbers["deadlock_s"] = recording.deadlock.since_s
    return replace(measured, numbers=numbers, checks=tuple(experiment.settled(plan, recording)))


def _steady(plan: Plan, recording: Recording) -> dict[str, float | None]:
    """Returns what a scenario's summary has of the steady state."""
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
    return {
        "utilisation": steady.utilisation,
        "jain": steady.jain,
        "queue_kb": steady.queue_bytes_mean / 1e3,
        "pause": float(steady.pause),
    }


def with_seeds(runs: Iterable[Run], seeds: Sequence[int]) -> list[Run]:
    """Returns each run with each of these seeds instead of the declared one."""
    by_label: dict[str, Run] = {}
    for run in runs:
        for seed in seeds:
            seeded = replace(run, seed=seed, keys={**run.keys, "seed": seed})
            by_label.setdefault(seeded.label, seeded)
    return list(by_label.values())


class _Limit(Silent):
    """Ends a run that takes too long, from within: a thread that is busy can't be ended from
    outside."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._end_s = time.monotonic() + limit_s

    def advance(self, share: float, text: str) -> None:
        if time.monotonic() > self._end_s:
            raise ExperimentError(
                f"it took longer than {self._limit_s:g} s (--limit), {share:.0%} of it was done"
            )
