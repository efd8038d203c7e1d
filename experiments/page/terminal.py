"""What a run ends with in the terminal: flows, checks, where the report is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from pcn.controller.texts import marks_text
from pcn.experiments.define.checks import Check
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.define.tables import Measured, Table, aligned_rows
from pcn.experiments.page.report import number, took
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results.atomic_folder import SUMMARY
from pcn.experiments.results.documents import section
from pcn.softswitch import inputs

_STYLES = {"met": "green", "trend": "yellow", "not met": "bold red", "not comparable": "dim"}
_MOST_FLOWS = 16
_LEAST_WHAT = 24
"""Characters of a check's text, in a line: where they have no room, each run has its own table."""


def stdout(quiet: bool = False) -> Console:
    """Returns a console that breaks no row of a table if neither a terminal nor COLUMNS has a
    width; with `quiet` it prints nothing."""
    console = Console(quiet=quiet)
    wide = console.is_terminal or os.environ.get("COLUMNS", "").isdecimal()
    return console if wide else Console(quiet=quiet, width=200)


def show(directory: Path, summary: Mapping[str, Any], console: Console) -> None:
    """Prints the tables of the result in `directory`, of one run or of several."""
    if "runs" in summary:
        _show_tables(
            {name: directory / name for name in summary["runs"]}, summary["scenario"], console
        )
        _show_runs(summary, console)
    else:
        shown = _show_tables({summary["scheme"]: directory}, summary["scenario"], console)
        if summary["flows"] and not shown:
            _show_flows(summary, console)
        show_checks("checks", summary["checks"], console)
        console.print(
            f"{summary['packets']['lost']} of {summary['packets']['sent']:,} packets lost; "
            f"k {summary['k']:g}, target {summary['target']}, took {took(summary['wall_s'])}",
            highlight=False,
        )
    _show_latency(summary, console)
    if (directory / "report.html").exists():
        console.print(f"Report: {directory / 'report.html'}", highlight=False, soft_wrap=True)


def _show_tables(runs: Mapping[str, Path], scenario: str, console: Console) -> bool:
    """Prints the scenario's own tables of the runs in these directories; False: it has none."""
    page = SCENARIOS[scenario].page if scenario in SCENARIOS else None
    if page is None or page.tables is None:
        return False
    for table in page.tables({name: measured(directory) for name, directory in runs.items()}):
        show_table(table, console)
    return True


def measured(directory: Path) -> Measured:
    """Returns what tables are made of, of the run in a directory."""
    summary = json.loads(inputs.read_text(directory / SUMMARY))
    return Measured(summary["measures"], [RunSamples.from_json(summary["samples"])])


def show_table(table: Table, console: Console) -> None:
    """Prints a table as wide as it needs to be; of one without rows the title alone, and what
    stands below it."""
    rich_table = RichTable(
        title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    rich_table.padding = (0, 0)
    for place, heading in enumerate(table.columns):
        rich_table.add_column(
            Text(heading), justify="right" if place else "left", no_wrap=not place
        )
    for row in aligned_rows(table.rows):
        rich_table.add_row(*map(Text, row))
    console.print(rich_table if table.rows else Text(table.title))
    for text in table.notes:
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _show_latency(summary: Mapping[str, Any], console: Console) -> None:
    """Prints how long data packets took, where that was measured."""
    for name, run in summary.get("runs", {summary.get("scheme"): summary}).items():
        for traffic_class, latency in run["latency"].items():
            if latency["packets"]:
                times = ", ".join(
                    f"{key.removesuffix('_s')} {latency[key] * 1e6:.4g}"
                    for key in latency
                    if key != "packets"
                )
                console.print(
                    f"{name}: packet latency of class {traffic_class}, us: {times}", highlight=False
                )


def unmet(summary: Mapping[str, Any]) -> list[str]:
    """Returns the checks of a summary, of one run or of several, that aren't met: claim and what it
    is about."""
    runs = summary.get("runs", {})
    rows = [(f"{name}: ", check) for name, run in runs.items() for check in run["checks"]]
    rows += [("", check) for check in summary["checks"]]
    return [
        " ".join(f"{where}{check['claim']} {check['what'].partition(' (')[0]}".split())
        for where, check in rows
        if check["verdict"] == "not met"
    ]


def _show_runs(summary: Mapping[str, Any], console: Console) -> None:
    by_run = {name: run["checks"] for name, run in summary["runs"].items()}
    if not _show_checks_together(f"{summary['scenario']}: checks", by_run, console):
        for name, rows in by_run.items():
            show_checks(f"{summary['scenario']}, {name}: checks", rows, console)
    show_checks("across the runs", summary["checks"], console)
    lost = ", ".join(
        f"{name} {run['packets']['lost']} of {run['packets']['sent']:,}"
        for name, run in summary["runs"].items()
    )
    console.print(f"Packets lost: {lost}; took {took(summary['wall_s'])}", highlight=False)


def _show_flows(summary: Mapping[str, Any], console: Console) -> None:
    flows = RichTable(
        title=f"{summary['scenario']}, {summary['scheme']}: flows",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for heading in ("flow", "from", "to", "goodput", "marked", "sent", "received"):
        flows.add_column(heading, justify="left" if heading in ("flow", "from", "to") else "right")
    shown = summary["flows"][:_MOST_FLOWS]
    for flow in shown:
        marked = flow["marked_fraction"]
        flows.add_row(
            str(flow["id"]),
            flow["src"],
            flow["dst"],
            f"{flow['goodput_bps'] / 1e9:.3f} Gbit/s",
            "–" if marked is None else marks_text(marked, flow["marked_ue_fraction"]),
            f"{flow['sent_bytes'] / 1e6:,.1f} MB",
            f"{flow['received_bytes'] / 1e6:,.1f} MB",
        )
    console.print(flows)
    if more := len(summary["flows"]) - len(shown):
        console.print(f"and {more} more in summary.json", highlight=False)


def _show_checks_together(
    title: str, by_run: Mapping[str, Sequence[Mapping[str, Any]]], console: Console
) -> bool:
    """Prints the checks of several runs as one table, with a column a run. False: their rows aren't
    the same, or would be too wide."""
    first, *rest = columns = [[Check(**row) for row in rows] for rows in by_run.values()]
    row_keys, *further = ([_expected(check) for check in checks] for checks in columns)
    if not (rest and row_keys and all(keys == row_keys for keys in further)):
        return False
    claimed = any(check.claim for check in first)
    judged = any(value is not None for check in first for value in (check.paper, check.theory))
    table = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    texts = ("claim", "what", "unit")
    for heading in (*["claim"] * claimed, "what", *["paper", "theory"] * judged, "unit", *by_run):
        table.add_column(
            heading,
            justify="left" if heading in texts else "right",
            no_wrap=heading != "what",
            min_width=_LEAST_WHAT if heading == "what" else None,
        )
    for row in zip(*columns, strict=True):
        check, known = row[0], [", known" if of.explained else "" for of in row]
        expected = [number(check.paper), number(check.theory)] * judged
        verdicts = [
            Text.assemble(f"{number(of.measured)} ", (of.verdict, _STYLES[of.verdict]), why)
            for of, why in zip(row, known, strict=True)
        ]
        table.add_row(*[check.claim] * claimed, check.what, *expected, check.unit, *verdicts)
    # what it needs, not what a narrow terminal makes of it: columns that don't fit are left out
    if console.measure(table, options=console.options.update(width=10_000)).minimum > console.width:
        return False
    console.print(table)
    _show_known([check for checks in columns for check in checks], console)
    return True


def _expected(check: Check) -> tuple[object, ...]:
    return check.claim, check.what, check.paper, check.theory, check.unit


def show_checks(title: str, rows: list[dict[str, Any]], console: Console) -> None:
    """Prints checks, as summaries have them, as a table; nothing where there are none."""
    if not rows:
        return
    checks = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    claimed = any(row["claim"] for row in rows)
    for heading in (*["claim"] * claimed, "what", "paper", "theory", "measured", "unit", "verdict"):
        checks.add_column(
            heading,
            justify="right" if heading in ("paper", "theory", "measured") else "left",
            no_wrap=heading != "what",
        )
    for check in (Check(**row) for row in rows):
        values = (number(value) for value in (check.paper, check.theory, check.measured))
        style = _STYLES[check.verdict]
        known = ", known" if check.explained else ""
        first = [check.claim] * claimed
        checks.add_row(
            *first, check.what, *values, check.unit, f"[{style}]{check.verdict}[/{style}]{known}"
        )
    console.print(checks)
    _show_known([Check(**row) for row in rows], console)


def _show_known(checks: Sequence[Check], console: Console) -> None:
    """Prints where docs/ explain what a check shows."""
    why: dict[str, list[str]] = {}
    for check in checks:
        if check.explained:
            why.setdefault(check.explained, []).append(check.claim)
    for link, claims in why.items():
        explanation = section(link)
        text = (
            f"Known: {', '.join(dict.fromkeys(claims))} as {explanation.page} explains under "
            f'"{explanation.heading}"'
        )
        console.print(text, highlight=False, markup=False, soft_wrap=True)
