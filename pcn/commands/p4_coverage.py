"""`pcn p4 coverage`: what of programs packets ran through, of several runs together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.common import FilePath, print_json, print_table
from pcn.commands.output import note, output_options, say

if TYPE_CHECKING:
    from pcn.softswitch.coverage.counts import Covered
    from pcn.softswitch.coverage.lines import File
    from pcn.softswitch.coverage.source_files import SourceFiles

_FEW = 3
"""The exit code where fewer lines were reached than `--least` names."""


@click.command()
@click.argument("runs", metavar="FILE|DIR...", type=FilePath(), nargs=-1, required=True)
@click.option(
    "--out",
    type=FilePath(),
    metavar="FILE|DIR",
    help="Report, as of `pcn p4 run --coverage` (default: none).",
)
@click.option(
    "--program",
    "names",
    multiple=True,
    metavar="NAME",
    help="Program, as its source is called, x or x.p4 (default: all).",
)
@click.option(
    "--source",
    "roots",
    multiple=True,
    type=FilePath(exists=True, file_okay=False),
    metavar="DIR",
    help="Folder where p4c ran, for the sources (default: here, and above the counts).",
)
@click.option(
    "--least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Share of lines below which the exit code is 3 (default: none).",
)
@output_options
def coverage(
    runs: tuple[Path, ...],
    out: Path | None,
    names: tuple[str, ...],
    roots: tuple[Path, ...],
    least: float | None,
    as_json: bool,
) -> None:
    """Merge the coverage of runs, and list lines and branches that no packet reached.

    FILE is the counts (.json) that --coverage writes, DIR a folder with them.

    \b
    Examples:
      pcn p4 run examples/router --clock virtual --coverage coverage
      pcn p4 coverage coverage --out coverage/coverage.html
    """
    from pcn.base.errors import LabError
    from pcn.softswitch.coverage.files import CoverageError, merge, read, write
    from pcn.softswitch.coverage.source_files import SourceFiles

    places = [*roots, *(run if run.is_dir() else run.parent for run in runs)]
    try:
        programs = merge(covered for run in runs for covered in read(run))
        programs = _chosen(programs, names)
        if out is not None:
            write(out, programs, places)
    except CoverageError as error:
        raise LabError(str(error)) from None
    _report(programs, SourceFiles(places), least, as_json)


def _chosen(programs: list[Covered], names: tuple[str, ...]) -> list[Covered]:
    from pcn.base.errors import LabError

    stems = [Path(program.program).stem for program in programs]
    for name in names:
        if Path(name).stem not in stems:
            raise LabError(f"--program {name}: the runs are of {', '.join(dict.fromkeys(stems))}")
    wanted = {Path(name).stem for name in names}
    return [
        program
        for program, stem in zip(programs, stems, strict=True)
        if not names or stem in wanted
    ]


def _report(
    programs: list[Covered], sources: SourceFiles, least: float | None, as_json: bool
) -> None:
    from pcn.softswitch.coverage.lines import by_file, total

    files = by_file(programs, sources)
    if as_json:
        print_json(
            [
                {
                    "file": file.name,
                    **dict(zip(("lines_reached", "lines"), file.lines_found(), strict=True)),
                    **dict(zip(("sides_taken", "sides"), file.branches_found(), strict=True)),
                    "lines_unreached": file.lines_unreached(),
                    "sides_not_taken": [
                        {"line": line, "branch": branch, "side": side}
                        for line, branch, side in file.sides_not_taken()
                    ],
                }
                for file in files.values()
            ]
        )
    else:
        _print(files)
    reached, whole = total(file.lines_found() for file in files.values())
    if least is not None and 100 * reached < least * whole:
        note(f"{reached} of {whole} lines were reached, less than {least:g} %")
        click.get_current_context().exit(_FEW)


def _print(files: Mapping[str, File]) -> None:
    rows = [(file.name, *file.lines_found(), *file.branches_found()) for file in files.values()]
    columns = ("file", "lines\nreached", "of", "sides of\nbranches taken", "of")
    print_table("Coverage", columns, rows)
    for file in files.values():
        for line in file.lines_unreached():
            say(f"{file.name}:{line}: no packet reached it")
        for line, branch, side in file.sides_not_taken():
            say(f"{file.name}:{line}: {branch}: never {side}")
