"""`pcn figure`: figures of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.common import FilePath, listing, print_json, refuse
from pcn.commands.execution import execution_options, seeds_option
from pcn.commands.output import is_quiet, note, output_options
from pcn.complete import complete_figure, complete_scheme

if TYPE_CHECKING:
    from pcn.experiments.sweep.run_task import Execution


def _figures() -> Iterator[tuple[str, str]]:
    from pcn.experiments.papers import FIGURES, described

    return described(FIGURES)


@click.command(cls=listing("Figures", _figures))
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_figure)
@click.option(
    "--scheme",
    "--schemes",
    "schemes",
    metavar="NAME[,NAME...]",
    shell_complete=complete_scheme,
    help="Schemes to run, by name or FILE.py:NAME (default: all).",
)
@seeds_option
@execution_options
@click.option(
    "--out",
    type=FilePath(),
    default=Path("results/figures"),
    show_default=True,
    help="Result folder.",
)
@click.option(
    "--docs", type=FilePath(), help="Folder for the figures' pages and pictures (default: none)."
)
@click.option(
    "--redraw", is_flag=True, help="Judge and draw the result folder's runs again; run nothing."
)
@output_options
def figure(
    names: tuple[str, ...],
    schemes: str | None,
    seeds: list[int] | None,
    execution: Execution,
    fresh: bool,
    out: Path,
    docs: Path | None,
    redraw: bool,
    as_json: bool,
) -> None:
    """Run figures of the papers, in virtual time.

    NAME is a figure, as fig11, or all. A figure is a list of runs, compared with what the paper
    claims. Writes figure.json, outcomes.json (numbers and curves of each run) and figure.png and
    .svg for each figure, and one report.html for all that have been run. After an interruption the
    same command continues behind the runs that were over.

    \b
    Examples:
      pcn figure fig10
      pcn figure fig11 --scheme pcn,pfc
      pcn figure fig21 --scheme pcn,dcqcn --seeds 1:100
      pcn figure all
    """
    if redraw:
        refuse(
            "--redraw runs nothing",
            "schemes",
            "seeds",
            "jobs",
            "scheduler",
            "memory",
            "limit",
            "fresh",
        )
    from rich.console import Console

    from pcn.experiments.data.errors import ExperimentError
    from pcn.experiments.data.failures import Failures, IncompleteError
    from pcn.experiments.data.parameters import lookup
    from pcn.experiments.define.scheme_parameters import scheme_names
    from pcn.experiments.page.figures_page import page, sections, write_docs
    from pcn.experiments.page.terminal import show_checks, stdout
    from pcn.experiments.papers import FIGURES
    from pcn.experiments.results.atomic_folder import replacing
    from pcn.experiments.run.progress import ConsoleProgress, Notes
    from pcn.experiments.sweep.figures import (
        OUTCOMES,
        judge,
        read,
        run_figure,
        runs_of,
        stored_outcomes,
        write,
    )
    from pcn.experiments.sweep.run_task import RunsFailedError
    from pcn.experiments.sweep.store import Store
    from pcn.p4src.manifest import stale
    from pcn.topologies import extras

    extras.require("figures")
    wanted = (
        list(FIGURES)
        if "all" in names
        else [lookup(name, FIGURES, "figure").name for name in names]
    )
    chosen = None if schemes is None else scheme_names(schemes)
    if chosen is not None and not redraw:
        without = [name for name in wanted if not runs_of(FIGURES[name], chosen)]
        wanted = [name for name in wanted if name not in without]
        if without and not wanted:
            raise ExperimentError(f"{', '.join(without)}: no runs of {', '.join(chosen)}")
    console, errors = stdout(is_quiet() or as_json), Console(stderr=True)
    failures, broken, shown = Failures(), [], []
    if not redraw and (old := stale()):
        note(old)
    for name in wanted:
        if redraw:
            outcomes, before = stored_outcomes(out / name), read(out / name) or {}
            result = replace(
                judge(FIGURES[name], outcomes), provenance=before.get("provenance", {})
            )
        else:
            store = Store(out / f"{name}.runs", fresh)
            with Notes(errors) if is_quiet() else ConsoleProgress(errors) as progress:
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
        checks = [asdict(check) for check in result.checks]
        show_checks(FIGURES[name].title, checks, console)
        shown.append(
            {
                "name": name,
                "title": FIGURES[name].title,
                "folder": str(out / name),
                "checks": checks,
            }
        )
    report = out / "report.html"
    with failures.noting(report.name):
        with replacing(report) as file:
            file.write(page(sections(out)).encode())
        console.print(f"Report: {report}", highlight=False, soft_wrap=True)
    if as_json:
        print_json({"figures": shown, "report": str(report)})
    if docs is not None:
        with failures.noting(str(docs)):
            write_docs(out, docs)
    if broken:
        raise ExperimentError("; ".join([*broken, *failures.lines()]))
    if failures:
        raise IncompleteError(out, failures)
