"""The files of a result, in the order of what they are worth: numbers, then pictures, then the
page. What can't be made or has no room is noted in the result's failures; the others are written
all the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from pcn.experiments.data.failures import Failures
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check
from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.page import plots, report
from pcn.experiments.results import agreement, summary
from pcn.experiments.results.atomic_folder import (
    COMPARISON,
    PATHS,
    SERIES,
    SUMMARY,
    TOPOLOGY,
    has_numbers,
    whole,
)
from pcn.experiments.results.judged_run import Result, by_scheme
from pcn.experiments.results.recorded_tables import recorded_tables
from pcn.experiments.results.stored_run import drawn_with
from pcn.topologies import extras
from pcn.topologies.formats import pcn

Page = Callable[[Sequence[Result], Sequence[Check], Failures, bool], str]
PAGES: dict[str, Page] = {"report.html": report.render}
"""HTML pages of a result by name, each rendered from its runs, the checks across them, the failures
so far and whether there are pictures beside it."""


def write_run(result: Result, directory: Path, pictures: bool = False, export: str = "") -> bool:
    """Writes the files of one run, and those of the format `export`. Returns False where the disk
    has no room even for the run's numbers: then the directory is removed."""
    _write_numbers(
        result,
        directory / SUMMARY,
        lambda file: file.write(summary.dumps(summary.build(result)).encode()),
    )
    tables = extras.installed("parquet")
    if tables:
        _write_numbers(result, directory / SERIES, result.recording.series.write)
    if not has_numbers(directory):
        shutil.rmtree(directory)
        return False
    with result.failures.noting(TOPOLOGY), whole(directory / TOPOLOGY) as file:
        file.write(pcn.write_json(drawn_with(result)).encode())
    if tables:
        _write_tables(result, directory)
    _write_captures(result, directory)
    if (paths := result.recording.recorded.paths) is not None:
        from pcn.hosts.virtual.paths import path_lines  # it loads P4Runtime

        with result.failures.noting(PATHS), whole(directory / PATHS) as file:
            file.write(path_lines(result.plan.topology, paths).encode())
    if export:
        _write_export(result, directory, export)
    if pictures:
        _draw(result.charts, directory, result.failures)
        _draw_together([result], directory, result.failures)
    _write_pages([result], (), directory, result.failures, pictures)
    return True


def write_together(
    results: Sequence[Result], directory: Path, failures: Failures, pictures: bool = False
) -> None:
    """What several runs have together; `directory` has theirs already."""
    compared = failures.attempt("checks across the runs", lambda: _compare(results)) or []
    with failures.noting(COMPARISON), whole(directory / COMPARISON) as file:
        file.write(summary.dumps(summary.side_by_side(results, compared)).encode())
    if not (directory / COMPARISON).exists():
        return  # pictures alone aren't known as a result's: see `is_result`
    for runs in by_scheme(results):
        if pictures and len(runs) > 1:
            folder = str(Path(runs[0].folder).parent)
            _draw(agreement.charts(runs), directory / folder, failures.below(folder))
    if pictures:
        _draw_together(results, directory, failures)
    _write_pages(results, compared, directory, failures, pictures)


def _write_numbers(result: Result, target: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Where there is no room, the run's logs give way: they are worth less."""
    logs = target.parent / "logs"
    with result.failures.noting(target.name):
        try:
            with whole(target) as file:
                write(file)
        except OSError as error:
            if not logs.is_dir():
                raise
            shutil.rmtree(logs)
            result.failures.note("logs", error)
            with whole(target) as file:
                write(file)


def _write_export(result: Result, directory: Path, export: str) -> None:
    from pcn.experiments.results.export import EXPORTS

    for name, write in EXPORTS[export].items():
        with result.failures.noting(name), whole(directory / name) as file:
            file.writelines(line.encode() for line in write(result))


def _write_captures(result: Result, directory: Path) -> None:
    for capture in result.recording.recorded.captures:
        with result.failures.noting(capture.name), whole(directory / capture.name) as file:
            capture.write(file)
        capture.discard()


def _write_tables(result: Result, directory: Path) -> None:
    from pcn.experiments.data import parquet  # an extra

    tables = (
        result.failures.attempt(
            "tables", lambda: result.experiment.tables(result.plan, result.recording)
        )
        or {}
    )
    flows = () if "flows" in tables else result.plan.topology.flows
    for name, columns in {**tables, **recorded_tables(result.recording.recorded, flows)}.items():
        path = directory / f"{name}.parquet"
        with result.failures.noting(path.name), whole(path) as file:
            groups = [columns] if isinstance(columns, Mapping) else columns
            parquet.write_groups(file, groups)


def _draw(charts: Iterable[Chart], directory: Path, failures: Failures) -> None:
    for chart in charts:
        _write_pictures(chart.name, [chart], directory, failures)


def _draw_together(results: Sequence[Result], directory: Path, failures: Failures) -> None:
    """The charts that have lines of all runs."""
    if charts := plots.together(results):
        _write_pictures(plots.TOGETHER, charts, directory, failures)


def _write_pictures(
    name: str, charts: Sequence[Chart], directory: Path, failures: Failures
) -> None:
    with failures.noting(f"{name}.png"):
        # only here: matplotlib takes as long to load as all the rest
        from pcn.experiments.draw import (
            pictures,
        )

        for kind, data in pictures.pictures(charts).items():
            with failures.noting(f"{name}.{kind}"), whole(directory / f"{name}.{kind}") as file:
                file.write(data)


def _write_pages(
    results: Sequence[Result],
    compared: Sequence[Check],
    directory: Path,
    failures: Failures,
    pictures: bool,
) -> None:
    for name, render in PAGES.items():
        with failures.noting(name), whole(directory / name) as file:
            file.write(render(results, compared, failures, pictures).encode())


def _compare(results: Sequence[Result]) -> list[Check]:
    """Returns the clocks of each scheme, and the schemes on each clock."""
    rows = [
        check
        for runs in by_scheme(results)
        if len(runs) > 1
        for check in agreement.agreement(*runs)
    ]
    clocks = dict.fromkeys(result.clock for result in results)
    for clock in clocks:
        outcomes = Outcomes(result.outcome for result in results if result.clock == clock)
        checks = results[0].experiment.checks(outcomes)
        rows += (
            [replace(check, what=f"{clock}: {check.what}") for check in checks]
            if len(clocks) > 1
            else checks
        )
    return rows
