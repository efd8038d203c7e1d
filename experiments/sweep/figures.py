"""Runs figures: their runs are a sweep; claims, text and picture of what these come to; results as
files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.failures import Failures
from pcn.experiments.define.checks import Check, at_most, row
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.define.tables import Table
from pcn.experiments.results.atomic_folder import FIGURE, has_numbers, result_directory, whole
from pcn.experiments.run.progress import RunProgress, Silent
from pcn.experiments.run.versions import provenance
from pcn.experiments.sweep.run_task import Execution, run_all, with_seeds
from pcn.experiments.sweep.store import Store

OUTCOMES, PICTURE = "outcomes.json", "figure.png"


@dataclass(frozen=True)
class FigureResult:
    """A figure that was run: its checks, its runs, what is to be seen in them, and what of it
    couldn't be made."""

    figure: Experiment
    checks: tuple[Check, ...]
    outcomes: tuple[Outcome, ...]
    story: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    failures: Failures = field(default_factory=Failures)
    provenance: Mapping[str, Any] = field(default_factory=provenance)
    """Of the runs, however often they are judged."""

    @property
    def wall_s(self) -> float:
        """Of all runs, one after the other."""
        return sum(outcome.wall_s for outcome in self.outcomes)


def run_figure(
    figure: Experiment,
    runs: Sequence[Run],
    store: Store,
    execution: Execution | None = None,
    progress: RunProgress | None = None,
) -> FigureResult:
    """Returns these runs of a figure (see `runs_of`), and what they come to. Raises RunsFailedError
    as `run_all` does."""
    progress = progress or Silent()
    count = f"{len(runs)} runs" if runs else "which needs no run"
    progress.stage(f"{figure.name}: {figure.title}, {count}")
    return judge(figure, run_all(figure, runs, store, execution or Execution(), progress))


def runs_of(
    figure: Experiment, schemes: Iterable[str] | None = None, seeds: Sequence[int] | None = None
) -> list[Run]:
    """Returns a figure's runs with these schemes, by their names, and these seeds (default: the
    figure's own)."""
    runs = list(
        figure.runs(figure.schemes if schemes is None else in_order(schemes, figure.schemes))
    )
    return runs if seeds is None else with_seeds(runs, seeds)


def in_order(schemes: Iterable[str], order: Sequence[str]) -> list[str]:
    """Returns those of `order` first, as they are there; then others."""
    present = list(dict.fromkeys(schemes))
    return [
        *(scheme for scheme in order if scheme in present),
        *(scheme for scheme in present if scheme not in order),
    ]


def judge(figure: Experiment, outcomes: Sequence[Outcome]) -> FigureResult:
    """Checks and text of runs that are over."""
    failures, collection = Failures().below(figure.name), Outcomes(outcomes)
    checks = failures.attempt("checks", lambda: figure.checks(collection)) or []
    story = failures.attempt("text", lambda: figure.story(collection)) or []
    tables = failures.attempt("tables", lambda: figure.page_tables(collection)) or []
    lossless = _lossless(outcomes, figure.deadlocks)
    return FigureResult(
        figure, (*checks, *lossless), tuple(outcomes), tuple(story), tuple(tables), failures
    )


def _lossless(outcomes: Sequence[Outcome], deadlocks: bool) -> list[Check]:
    """Returns what must hold of every run: nothing lost, the switches' counts of what is inside
    back at 0, no deadlock. In one that has stood still since, all that is on its way stays
    there."""
    free = [outcome for outcome in outcomes if "deadlock_s" not in outcome.numbers]
    stuck = len(outcomes) - len(free)
    rows = []
    if free:
        lost = sum(abs(outcome.numbers["lost"] or 0) for outcome in free)
        inside = sum(outcome.numbers["inside"] or 0 for outcome in free)
        which = f"the {len(free)} runs that end" if stuck else f"all {len(free)} runs"
        rows.append(row("", f"packets lost, {which}", lost, at_most(0), "packets", 0, 0))
        rows.append(
            row(
                "",
                "registers of what is inside not back at 0",
                inside,
                at_most(0),
                "registers",
                theory=0,
            )
        )
    if stuck and not deadlocks:
        rows.append(row("", "runs that end in a deadlock", stuck, at_most(0), "runs"))
    return rows


def write(result: FigureResult, place: Path) -> None:
    """The result as a directory: figure.json, outcomes.json, then figure.png and figure.svg. What
    was there is kept beside it. What fails or has no room is noted in the result's failures. Raises
    ExperimentError where nothing has."""
    with result_directory(place) as work:
        for name, content in (
            (FIGURE, _as_json(result)),
            (OUTCOMES, [asdict(outcome) for outcome in result.outcomes]),
        ):
            with result.failures.noting(name), whole(work / name) as file:
                indent = 1 if name == FIGURE else None
                file.write(f"{json.dumps(content, indent=indent, allow_nan=False)}\n".encode())
        if not has_numbers(work):
            raise ExperimentError(
                f"nothing could be written into {place}: {'; '.join(result.failures.lines())}"
            )
        with result.failures.noting(PICTURE):
            from pcn.experiments.draw.pictures import (
                pictures,  # only here: matplotlib takes as long to load as all the rest
            )

            for kind, data in pictures(result.figure.charts(Outcomes(result.outcomes))).items():
                name = Path(PICTURE).with_suffix(f".{kind}").name
                with result.failures.noting(name), whole(work / name) as file:
                    file.write(data)


def _as_json(result: FigureResult) -> dict[str, Any]:
    return {
        "figure": result.figure.name,
        "provenance": dict(result.provenance),
        "wall_s": round(result.wall_s, 1),
        "story": list(result.story),
        "tables": [asdict(table) for table in result.tables],
        "checks": [asdict(check) for check in result.checks],
        "runs": [
            {
                "keys": dict(outcome.keys),
                "numbers": dict(outcome.numbers),
                "wall_s": round(outcome.wall_s, 2),
            }
            for outcome in result.outcomes
        ],
    }


def read(place: Path) -> Mapping[str, Any] | None:
    """Returns the summary that `write` wrote there, if any. Raises ExperimentError where it is
    something else."""
    path = place / FIGURE
    if not path.is_file():
        return None
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(summary, dict) and isinstance(summary["provenance"], dict):
            return summary
    except (OSError, ValueError, LookupError, RecursionError):
        pass
    raise ExperimentError(f"{path}: no figure's: run the figure again, without --redraw")


def stored_outcomes(place: Path) -> list[Outcome]:
    """Returns the outcomes of the runs that `write` wrote there. Raises ExperimentError where there
    are none."""
    path = place / OUTCOMES
    if not path.is_file():
        raise ExperimentError(f"{place} has no {OUTCOMES}: run the figure first, without --redraw")
    try:
        return [
            Outcome.from_json(outcome) for outcome in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (OSError, ValueError, TypeError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise ExperimentError(
            f"{path}: no figure's runs: run it again, without --redraw: {text}"
        ) from None
