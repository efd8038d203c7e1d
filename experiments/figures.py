"""Runs figures: their virtual runs in parallel processes, as many as there are cores; results as files."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from controller import signals
from experiments import measure
from experiments.checks import Check, at_most, row
from experiments.errors import ExperimentError
from experiments.experiment import Experiment, Run
from experiments.failures import Failures
from experiments.outcomes import Outcome, Outcomes
from experiments.output import has_numbers, result_directory, whole
from experiments.papers import FIGURES
from experiments.progress import RunProgress, Silent
from experiments.versions import provenance
from experiments.virtual import run_virtual
from hosts.algorithms import find_scheme

_LOOK_S = 0.2  # how often a figure looks whether a signal came
SUMMARY, OUTCOMES, PICTURE = "summary.json", "outcomes.json", "figure.png"


@dataclass(frozen=True)
class FigureResult:
    """A figure that was run: its checks, its runs, what is to be seen in them, and what of it couldn't be made."""

    figure: Experiment
    checks: tuple[Check, ...]
    outcomes: tuple[Outcome, ...]
    story: tuple[str, ...] = ()
    failures: Failures = field(default_factory=Failures)
    provenance: Mapping[str, Any] = field(default_factory=provenance)
    """Of the runs, however often they are judged."""

    @property
    def wall_s(self) -> float:
        """Of all runs, one after the other."""
        return sum(one.wall_s for one in self.outcomes)


def run_figure(
    figure: Experiment,
    schemes: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: RunProgress | None = None,
) -> FigureResult:
    """All runs of a figure with these schemes, by their names (its own unless given), `jobs` at once."""
    progress = progress or Silent()
    runs = runs_of(figure, schemes)
    progress.stage(f"{figure.name}: {figure.title}, {len(runs)} runs")
    return judge(figure, _outcomes(figure, runs, jobs or os.cpu_count() or 1, progress) if runs else [])


def runs_of(figure: Experiment, schemes: Iterable[str] | None = None) -> list[Run]:
    """With these schemes, by their names; its own unless given."""
    return list(figure.runs(figure.schemes if schemes is None else in_order(schemes, figure.schemes)))


def in_order(schemes: Iterable[str], order: Sequence[str]) -> list[str]:
    """Those of `order` first, as they are there; then others."""
    given = list(dict.fromkeys(schemes))
    return [*(one for one in order if one in given), *(one for one in given if one not in order)]


def judge(figure: Experiment, outcomes: Sequence[Outcome]) -> FigureResult:
    """Checks and text of runs that are over."""
    failures, found = Failures().below(figure.name), Outcomes(outcomes)
    checks = failures.attempt("checks", lambda: figure.checks(found)) or []
    story = failures.attempt("text", lambda: figure.story(found)) or []
    lossless = _lossless(outcomes, figure.deadlocks)
    return FigureResult(figure, (*checks, *lossless), tuple(outcomes), tuple(story), failures)


def run_one(name: str, run: Run) -> Outcome:
    """One run of a figure, in whichever process."""
    return outcome_of(FIGURES[name], run)


def run_one_or_end(name: str, run: Run) -> Outcome:
    """One run of a figure in a process of the pool. Told to end, the process does: an exception would be a result, and
    the next run in the pool's queue would start."""
    try:
        return run_one(name, run)
    except signals.Terminated as told:
        os._exit(128 + told.number)


def outcome_of(experiment: Experiment, run: Run) -> Outcome:
    """What a run comes to, in virtual time: its plan is made from the declaration alone. Raises LabError."""
    started = time.monotonic()
    plan = experiment.plan(run.scheme, run.seed, run.arguments)
    recording = run_virtual(plan, Silent(), experiment.variant(run))
    outcome = experiment.measure(run, plan, recording)
    numbers = {**outcome.numbers, "lost": measure.lost(recording), "inside": float(len(recording.left_inside))}
    if recording.deadlock is not None:
        numbers["deadlock_s"] = recording.deadlock.since_s
    settled = tuple(experiment.settled(plan, recording))
    return replace(outcome, numbers=numbers, checks=settled, wall_s=time.monotonic() - started)


def _outcomes(figure: Experiment, runs: Sequence[Run], jobs: int, progress: RunProgress) -> list[Outcome]:
    context = multiprocessing.get_context("spawn")
    references = [find_scheme(scheme).reference for scheme in dict.fromkeys(run.scheme for run in runs)]
    with ProcessPoolExecutor(min(jobs, len(runs)), context, _start_process, (references,)) as pool:
        done: dict[int, Outcome] = {}
        try:
            # A signal that raised in the pool's own code could leave a future's lock held, for which its thread waits.
            with signals.deferred() as interrupt:
                futures: dict[Future[Outcome], int] = {
                    pool.submit(run_one_or_end, figure.name, run): index for index, run in enumerate(runs)
                }
                left = set(futures)
                while left:
                    interrupt.check()
                    finished, left = wait(left, _LOOK_S, FIRST_COMPLETED)
                    for future in finished:
                        done[futures[future]] = future.result()
                        progress.advance(len(done) / len(runs), runs[futures[future]].label)
        except BaseException:
            with signals.deferred():
                for process in multiprocessing.active_children():
                    process.terminate()  # they would be waited for until their runs are over
                # Its thread is waited for here: at the interpreter's end it would race with Python's own wait for it.
                pool.shutdown(cancel_futures=True)
            raise
    return [done[index] for index in range(len(runs))]


def _start_process(references: Sequence[str]) -> None:
    """Ctrl-C reaches the whole group; who started these ends them. Schemes from outside are found here, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for reference in references:
        find_scheme(reference)


def _lossless(outcomes: Sequence[Outcome], deadlocks: bool) -> list[Check]:
    """What must hold of every run: nothing lost, the switches' counts of what is inside back at 0, no deadlock. In one
    that has stood still since, all that is on its way stays there."""
    free = [outcome for outcome in outcomes if "deadlock_s" not in outcome.numbers]
    stuck = len(outcomes) - len(free)
    rows = []
    if free:
        lost = sum(abs(outcome.numbers["lost"] or 0) for outcome in free)
        inside = sum(outcome.numbers["inside"] or 0 for outcome in free)
        which = f"the {len(free)} runs that end" if stuck else f"all {len(free)} runs"
        rows.append(row("", f"packets lost, {which}", lost, at_most(0), "packets", 0, 0))
        rows.append(row("", "registers of what is inside not back at 0", inside, at_most(0), "registers", theory=0))
    if stuck and not deadlocks:
        rows.append(row("", "runs that end in a deadlock", stuck, at_most(0), "runs"))
    return rows


def write(result: FigureResult, place: Path) -> None:
    """The result as a directory: summary.json, outcomes.json, then figure.png and figure.svg. What was there is kept
    beside it. What fails or has no room is noted in the result's failures. Raises ExperimentError where nothing has."""
    with result_directory(place) as work:
        for name, content in ((SUMMARY, _as_json(result)), (OUTCOMES, [asdict(one) for one in result.outcomes])):
            with result.failures.noting(name), whole(work / name) as path:
                path.write_text(json.dumps(content, indent=1 if name == SUMMARY else None, allow_nan=False) + "\n")
        if not has_numbers(work):
            raise ExperimentError(f"nothing could be written into {place}: {'; '.join(result.failures.lines())}")
        with result.failures.noting(PICTURE):
            from experiments.pictures import pictures  # only here: matplotlib takes as long to load as all the rest

            for kind, data in pictures(result.figure.charts(Outcomes(result.outcomes))).items():
                name = Path(PICTURE).with_suffix(f".{kind}").name
                with result.failures.noting(name), whole(work / name) as path:
                    path.write_bytes(data)


def _as_json(result: FigureResult) -> dict[str, Any]:
    return {
        "figure": result.figure.name,
        "provenance": dict(result.provenance),
        "wall_s": round(result.wall_s, 1),
        "story": list(result.story),
        "checks": [asdict(check) for check in result.checks],
        "runs": [
            {"keys": dict(one.keys), "numbers": dict(one.numbers), "wall_s": round(one.wall_s, 2)}
            for one in result.outcomes
        ],
    }


def read(place: Path) -> Mapping[str, Any] | None:
    """The summary that `write` wrote there, if any."""
    path = place / SUMMARY
    if not path.is_file():
        return None
    summary: Mapping[str, Any] = json.loads(path.read_text())
    return summary


def kept(place: Path) -> list[Outcome]:
    """The outcomes of the runs that `write` wrote there. Raises ExperimentError where there are none."""
    path = place / OUTCOMES
    if not path.is_file():
        raise ExperimentError(f"{place} has no {OUTCOMES}: run the figure first, without --redraw")
    return [
        Outcome(
            one["keys"],
            one["numbers"],
            {name: (curve[0], curve[1]) for name, curve in one["curves"].items()},
            tuple(Check(**check) for check in one["checks"]),
            one["wall_s"],
        )
        for one in json.loads(path.read_text())
    ]
