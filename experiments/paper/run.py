"""Runs figures: their virtual runs in parallel processes, as many as there are cores; results as files."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.checks import Check, at_most
from experiments.output import result_directory
from experiments.paper import FIGURES, measure
from experiments.paper.base import Case, Figure, Outcome, Outcomes
from experiments.progress import RunProgress, Silent
from experiments.virtual import run_virtual
from hosts.algorithms import schemes as all_schemes
from topologies import signals

SUMMARY, PICTURE = "summary.json", "figure.png"


@dataclass(frozen=True)
class FigureResult:
    """A figure that was run: its checks, its runs, its picture."""

    name: str
    checks: tuple[Check, ...]
    outcomes: tuple[Outcome, ...]
    picture: bytes
    wall_s: float
    """Of all runs, one after the other."""


def run_figure(
    figure: Figure, schemes: Iterable[str] | None = None, jobs: int | None = None, progress: RunProgress | None = None
) -> FigureResult:
    """All runs of a figure, with those of `schemes` that there are (all unless given), `jobs` at once."""
    from experiments.paper.plots import png  # only here: matplotlib takes as long to load as all the rest

    progress = progress or Silent()
    chosen = tuple(name for name in all_schemes if schemes is None or name in set(schemes))
    cases = figure.cases(chosen)
    progress.stage(f"{figure.name}: {figure.title}, {len(cases)} runs")
    outcomes = _outcomes(figure, chosen, cases, jobs or os.cpu_count() or 1, progress) if cases else []
    found = Outcomes(outcomes)
    checks = (*figure.checks(found), *_lossless(outcomes))
    return FigureResult(
        figure.name, checks, tuple(outcomes), png(figure.panels(found)), sum(o.wall_s for o in outcomes)
    )


def run_case(name: str, schemes: tuple[str, ...], index: int) -> Outcome:
    """One run of a figure, in whichever process. Cases are made anew: topologies don't travel between processes."""
    figure = FIGURES[name]
    case = figure.cases(schemes)[index]
    started = time.monotonic()
    recording = run_virtual(case.plan, Silent(), case.variant)
    outcome = figure.measure(case, recording)
    numbers = {**outcome.numbers, "lost": measure.lost(recording), "inside": float(len(recording.left_inside))}
    return replace(outcome, numbers=numbers, wall_s=time.monotonic() - started)


def _outcomes(
    figure: Figure, schemes: tuple[str, ...], cases: Sequence[Case], jobs: int, progress: RunProgress
) -> list[Outcome]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(cases)), context, _ignore_interrupts) as pool:
        done: dict[int, Outcome] = {}
        try:
            with signals.deferred():  # the first submissions start the processes
                runs: dict[Future[Outcome], int] = {
                    pool.submit(run_case, figure.name, schemes, index): index for index in range(len(cases))
                }
            for run in as_completed(runs):
                done[runs[run]] = run.result()
                progress.advance(len(done) / len(cases), cases[runs[run]].label)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()  # the others would be waited for until their runs are over
            raise
    return [done[index] for index in range(len(cases))]


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole group; who started these ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _lossless(outcomes: Sequence[Outcome]) -> list[Check]:
    """What must hold of every run: nothing lost, and the switches' counts of what is inside back at 0."""
    if not outcomes:
        return []
    lost = sum(abs(outcome.numbers["lost"] or 0) for outcome in outcomes)
    inside = sum(outcome.numbers["inside"] or 0 for outcome in outcomes)
    return [
        Check("", f"packets lost, all {len(outcomes)} runs", 0, 0, lost, "packets", at_most(lost, 0)),
        Check("", "registers of what is inside not back at 0", None, 0, inside, "registers", at_most(inside, 0)),
    ]


def write(result: FigureResult, place: Path) -> None:
    """The result as a directory: summary.json and figure.png. What was there is kept beside it."""
    with result_directory(place) as work:
        (work / SUMMARY).write_text(json.dumps(_as_json(result), indent=1, allow_nan=False) + "\n")
        (work / PICTURE).write_bytes(result.picture)


def _as_json(result: FigureResult) -> dict[str, Any]:
    return {
        "figure": result.name,
        "wall_s": round(result.wall_s, 1),
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
