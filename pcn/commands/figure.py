"""`pcn figure`: figures of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pcn.commands.common import FilePath, listing, refuse
from pcn.commands.execution import execution_of, execution_options, seeds_option
from pcn.complete import complete_figure, complete_scheme


def _figures() -> Iterator[tuple[str, str]]:
    from experiments.papers import FIGURES

    for name, figure in FIGURES.items():
        yield name, f"{figure.title}. {figure.source}"


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
@click.option("--out", type=FilePath(), default=Path("results/figures"), show_default=True, help="Result folder.")
@click.option("--docs", type=FilePath(), help="Write results.md and its pictures into this folder, too.")
@click.option("--redraw", is_flag=True, help="Run nothing: judge and draw again what was run into the result folder.")
def figure(
    names: tuple[str, ...],
    schemes: str | None,
    seeds: list[int] | None,
    jobs: int | None,
    scheduler: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    memory: float | None,
    limit: float | None,
    fresh: bool,
    out: Path,
    docs: Path | None,
    redraw: bool,
) -> None:
    """Run the figures NAME... of the paper in virtual time: fig11, fig17, ...; all for all.

    Each is a list of runs, compared with what the paper claims. Writes summary.json, outcomes.json (numbers and curves
    of each run) and figure.png and .svg for each figure, and one report.html for all that have been run. A figure that
    is interrupted goes on from the runs that were over, when the same command is given again.

    \b
    Examples:
      pcn figure fig10
      pcn figure fig11 --scheme pcn,pfc
      pcn figure fig21 --scheme pcn,dcqcn --seeds 1:100
      pcn figure all
    """
    if redraw:
        refuse("--redraw runs nothing", "schemes", "seeds", "jobs", "scheduler", "memory", "limit", "fresh")
    from pcn.figures import figure_command

    execution = execution_of(jobs, scheduler, (tls_ca, tls_cert, tls_key), memory, limit)
    figure_command(names, schemes, seeds, execution, fresh, out, docs, redraw)
