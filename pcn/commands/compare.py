"""`pcn compare`: results that were kept, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from pcn.commands.common import FilePath, print_json, refuse
from pcn.commands.output import is_quiet, note, output_options, say, tell


@click.command()
@click.argument("results", nargs=-1, required=True, type=FilePath())
@click.option(
    "--out",
    type=FilePath(),
    help="Folder for page, CSV and pictures (default: they aren't written).",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the numbers as CSV instead of tables.")
@output_options
def compare(results: tuple[Path, ...], out: Path | None, as_csv: bool, as_json: bool) -> None:
    """Compare results.

    RESULTS are folders of runs, of runs with several schemes, or of sweeps. Prints which settings
    differ, then which numbers; runs that differ by their seed alone are taken together, and what
    differs from the first ones by more than their spread is marked. --out writes comparison.html,
    numbers.csv, and figures as PNG, SVG and PDF.

    \b
    Examples:
      pcn compare results/mine
      pcn compare results/mine/pcn results/mine/pfc --out results/compared
      pcn compare results/mine --csv
    """
    from pcn.experiments.compare import tables, write
    from pcn.experiments.compare.groups import grouped
    from pcn.experiments.compare.stored_results import read
    from pcn.experiments.page.terminal import show_table, stdout
    from pcn.topologies import extras

    if as_csv:
        refuse("not beside --csv", "as_json")
    groups = grouped([run for place in results for run in read(place)])
    if as_csv:
        say(tables.as_csv(groups), nl=False)
    else:
        console = stdout(is_quiet() or as_json)
        for table in tables.all_tables(groups):
            show_table(table, console)
    if as_json:
        print_json(tables.as_json(groups))
    if out is not None:
        if not extras.installed("figures"):
            note(f"no pictures here: {extras.remedy('figures')} adds them")
        files = write.write(groups, out)
        (tell if as_csv or as_json else say)(f"{out}: {', '.join(files)}")
