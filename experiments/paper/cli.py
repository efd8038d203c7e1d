"""What `pcn figure` does: runs figures, shows their checks, writes their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.errors import ExperimentError
from experiments.paper import FIGURES
from experiments.paper.results import page, sections, write_docs
from experiments.paper.run import run_figure, write
from experiments.parameters import lookup
from experiments.progress import ConsoleProgress
from experiments.terminal import show_checks, stdout
from hosts.algorithms import SchemeError, find_scheme

RESULTS = Path("results/figures")


def figure_command(names: Sequence[str], schemes: str | None, jobs: int | None, out: Path, docs: Path | None) -> None:
    """Runs the figures `names` (all of them: `all`). Raises LabError."""
    wanted = list(FIGURES) if "all" in names else [lookup(name, FIGURES, "figure").name for name in names]
    chosen = None if schemes is None else [name.strip() for name in schemes.split(",")]
    for name in chosen or []:
        try:
            find_scheme(name)
        except SchemeError as error:
            raise ExperimentError(str(error)) from None
    console = stdout()
    for name in wanted:
        with ConsoleProgress(console) as progress:
            result = run_figure(FIGURES[name], chosen, jobs, progress)
        write(result, out / name)
        show_checks(FIGURES[name].title, [asdict(check) for check in result.checks], console)
    (out / "report.html").write_text(page(sections(out)), encoding="utf-8")
    console.print(f"Report: {out / 'report.html'}", highlight=False, soft_wrap=True)
    if docs is not None:
        write_docs(out, docs)
