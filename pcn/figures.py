"""What `pcn figure` does: runs figures, shows their checks, writes their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from experiments.errors import ExperimentError
from experiments.failures import Failures, IncompleteError
from experiments.figures import OUTCOMES, judge, kept, read, run_figure, runs_of, write
from experiments.output import replacing
from experiments.papers import FIGURES
from experiments.parameters import lookup
from experiments.progress import ConsoleProgress
from experiments.results import page, sections, write_docs
from experiments.sweep.store import Store
from experiments.tasks import Execution, RunsFailedError
from experiments.terminal import show_checks, stdout
from hosts.algorithms import SchemeError, find_scheme
from p4src.manifest import stale

RESULTS = Path("results/figures")


def figure_command(
    names: Sequence[str],
    schemes: str | None,
    seeds: Sequence[int] | None,
    execution: Execution,
    fresh: bool,
    out: Path,
    docs: Path | None,
    redraw: bool = False,
) -> None:
    """Runs the figures `names` (all of them: `all`), or takes the runs that are in `out` already. Raises LabError."""
    wanted = list(FIGURES) if "all" in names else [lookup(name, FIGURES, "figure").name for name in names]
    try:
        chosen = None if schemes is None else [find_scheme(name.strip()).name for name in schemes.split(",")]
    except SchemeError as error:
        raise ExperimentError(str(error)) from None
    if chosen is not None and not redraw:
        without = [name for name in wanted if not runs_of(FIGURES[name], chosen)]
        wanted = [name for name in wanted if name not in without]
        if without and not wanted:
            raise ExperimentError(f"{', '.join(without)}: there are no runs of {', '.join(chosen)}")
    console, failures, broken = stdout(), Failures(), []
    if not redraw and (old := stale()):
        console.print(f"note: {old}", highlight=False, markup=False, soft_wrap=True)
    for name in wanted:
        if redraw:
            outcomes, before = kept(out / name), read(out / name) or {}
            result = replace(judge(FIGURES[name], outcomes), provenance=before.get("provenance", {}))
        else:
            store = Store(out / f"{name}.runs", fresh)
            with ConsoleProgress(console) as progress:
                runs = runs_of(FIGURES[name], chosen, seeds)
                try:
                    result = run_figure(FIGURES[name], runs, store, execution, progress)
                except RunsFailedError as error:
                    broken.append(f"{name}: {error}")
                    continue
        write(result, out / name)
        if not redraw and (out / name / OUTCOMES).exists():
            store.remove()
        failures.add(result.failures)
        show_checks(FIGURES[name].title, [asdict(check) for check in result.checks], console)
    report = out / "report.html"
    with failures.noting(report.name):
        with replacing(report) as file:
            file.write(page(sections(out)).encode())
        console.print(f"Report: {report}", highlight=False, soft_wrap=True)
    if docs is not None:
        with failures.noting(str(docs)):
            write_docs(out, docs)
    if broken:
        raise ExperimentError("; ".join([*broken, *failures.lines()]))
    if failures:
        raise IncompleteError(out, failures)
