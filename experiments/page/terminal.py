"""What a run ends with in the terminal: flows, checks, where the report is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from pcn.controller.texts import marks_text
from pcn.experiments.define.checks import Check
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.page.report import number, took
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results.atomic_folder import SUMMARY
from pcn.experiments.results.documents import section
from pcn.softswitch import inputs

_STYLES = {"met": "green", "trend": "yellow", "not met": "bold red", "not comparable": "dim"}
_MOST_FLOWS = 16


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
    for row in table.rows:
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
    for name, run in summary["runs"].items():
        show_checks(f"{summary['scenario']}, {name}: checks", run["checks"], console)
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
    why: dict[str, list[str]] = {}
    for check in (Check(**row) for row in rows):
        if check.explained:
            why.setdefault(check.explained, []).append(check.claim)
        values = (number(value) for value in (check.paper, check.theory, check.measured))
        style = _STYLES[check.verdict]
        known = ", known" if check.explained else ""
        first = [check.claim] * claimed
        checks.add_row(
            *first, check.what, *values, check.unit, f"[{style}]{check.verdict}[/{style}]{known}"
        )
    console.print(checks)
    for link, claims in why.items():
        explanation = section(link)
        text = (
            f"Known: {', '.join(dict.fromkeys(claims))} as {explanation.page} explains under "
            f'"{explanation.heading}"'
        )
        console.print(text, highlight=False, markup=False, soft_wrap=True)
