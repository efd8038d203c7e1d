"""What a run ends with in the terminal: flows, checks, where the report is."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from pcn.base import inputs
from pcn.controller.texts import marks_text
from pcn.experiments.define.checks import Check
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.define.tables import Measured, Table, aligned_rows
from pcn.experiments.page.check_rows import number, took
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results.atomic_folder import SUMMARY
from pcn.experiments.results.documents import section

_STYLES = {"met": "green", "trend": "yellow", "not met": "bold red", "not comparable": "dim"}
_MOST_FLOWS = 16
"""The scenario whose flows have slowdowns."""
_LEAST_WHAT = 40
"""Characters of a check's text, in a line: where they have no room, checks are paragraphs."""


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
            (
                (name, json.loads(inputs.read_text(directory / name / SUMMARY)))
                for name in summary["runs"]
            ),
            summary["scenario"],
            console,
        )
        _show_runs(summary, console)
    else:
        shown = _show_tables([(summary["scheme"], summary)], summary["scenario"], console)
        if summary["flows"] and not shown:
            _show_flows(summary, console)
        show_checks("checks", summary["checks"], console)
        virtual = summary["clock"] == "virtual"
        pace = "in virtual time" if virtual else f"time stretched {summary['k']:g} times"
        console.print(
            f"{summary['packets']['lost']} of {summary['packets']['sent']:,} packets lost; "
            f"{pace}, target {summary['target']}, took {took(summary['wall_s'])}",
            highlight=False,
        )
    _show_latency(summary, console)
    _show_next(directory, summary, console)
    if (directory / "report.html").exists():
        console.print(f"Report: {directory / 'report.html'}", highlight=False, soft_wrap=True)


def _show_next(directory: Path, summary: Mapping[str, Any], console: Console) -> None:
    """Prints the command that explains the scenario's slow flows, of a run in virtual time."""
    page = SCENARIOS[summary["scenario"]].page if summary["scenario"] in SCENARIOS else None
    name, run = next(iter((summary.get("runs") or {"": summary}).items()))
    if page is not None and page.explain and run["clock"] == "virtual":
        command = page.explain_command(str(directory / name), run["files"])
        console.print(f"Why flows were slow: {command}", highlight=False, soft_wrap=True)


def _show_tables(
    summaries: Iterable[tuple[str, Mapping[str, Any]]], scenario: str, console: Console
) -> bool:
    """Prints the scenario's own tables of runs by name; False: it has none."""
    page = SCENARIOS[scenario].page if scenario in SCENARIOS else None
    if page is None or page.tables is None:
        return False
    runs = {
        name: Measured(summary["measures"], [RunSamples.from_json(summary["samples"])])
        for name, summary in summaries
    }
    for table in page.tables(runs):
        show_table(table, console)
    return True


def show_table(table: Table, console: Console) -> None:
    """Prints a table as wide as it needs to be, and breaks texts between words alone: a number
    that is cut could be any. Where that has no room, a row is a paragraph. Of a table
    without rows it prints the title alone, and what stands below it."""
    cells = aligned_rows(table.rows)
    widths = _column_widths([table.columns, *cells], console.width)
    if table.rows and widths is None:
        _print_paragraphs(table, console)
    else:
        # Not as the table's title, which would be no wider than the table
        console.print(Text(table.title, style="table.title" if table.rows else ""))
    if table.rows and widths is not None:
        rich_table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        rich_table.padding = (0, 0)
        for place, (heading, width) in enumerate(zip(table.columns, widths, strict=True)):
            rich_table.add_column(Text(heading), justify="right" if place else "left", width=width)
        for row in cells:
            rich_table.add_row(*map(Text, row))
        console.print(rich_table)
    for text in (*table.notes, *table.caveats):
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Returns the columns' widths in a table that is no wider than `width`: the widest that can be
    narrower give way, each down to its longest word, and the rows' names not at all. None: it has
    no room."""
    columns = list(zip(*rows, strict=True))
    widths = [
        max(cell_len(line) for text in column for line in text.split("\n")) for column in columns
    ]
    least = [
        max(cell_len(word) for text in column for word in re.split("[ \n]", text))
        for column in columns
    ]
    least[0] = widths[0]
    while sum(widths) + len(widths) + 1 > width:  # a box has a space at each end and between two
        wide = [place for place in range(len(widths)) if widths[place] > least[place]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _print_paragraphs(table: Table, console: Console) -> None:
    console.print(Text(table.title, "italic"))
    for row in table.rows:
        values = "; ".join(
            " ".join(f"{heading} {text}".split())
            for heading, text in zip(table.columns[1:], row[1:], strict=True)
            if text not in ("", "–")
        )
        if row[0]:
            console.print(Text(f"{table.columns[0]} {row[0]}".strip()))
        if values:
            console.print(Padding(Text(values), (0, 0, 0, 4)))


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
    across = {"across the runs": summary["checks"]} if summary["checks"] else {}
    _show_checks_of(f"{summary['scenario']}: checks", {**by_run, **across}, console)
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
    """Prints checks, as summaries have them; nothing where there are none."""
    if rows:
        _show_checks_of(title, {"measured": rows}, console)


def _show_checks_of(
    title: str, by_run: Mapping[str, Sequence[Mapping[str, Any]]], console: Console
) -> None:
    """Prints the checks of runs as one table, with a row a check and a column a run; where that has
    no room, with a paragraph a check."""
    columns = {name: [Check(**row) for row in rows] for name, rows in by_run.items()}
    checks = [check for run_checks in columns.values() for check in run_checks]
    if not checks:
        return
    # A run may have a check twice, as of two figures that are alike
    rows: dict[tuple[object, ...], dict[str, Check]] = {}
    for name, run_checks in columns.items():
        for check in run_checks:
            key, number = _expected(check), 0
            while name in rows.get((*key, number), {}):
                number += 1
            rows.setdefault((*key, number), {})[name] = check
    table = _check_table(title, list(rows.values()), list(columns))
    # what it needs, not what a narrow terminal makes of it: columns that don't fit are left out
    if console.measure(table, options=console.options.update(width=10_000)).minimum > console.width:
        _print_checks(title, list(rows.values()), console)
    else:
        console.print(table)
    _show_known(checks, console)


def _check_table(
    title: str, rows: Sequence[Mapping[str, Check]], names: Sequence[str]
) -> RichTable:
    checks = [check for row in rows for check in row.values()]
    claimed = any(check.claim for check in checks)
    judged = any(value is not None for check in checks for value in (check.paper, check.theory))
    table = RichTable(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    texts = ("claim", "what", "unit", "verdict")
    alone = len(names) == 1
    for heading in (
        *["claim"] * claimed,
        "what",
        *["paper", "theory"] * judged,
        *(["unit", *names] if not alone else [*names, "unit", "verdict"]),
    ):
        table.add_column(
            heading,
            justify="left" if heading in texts else "right",
            no_wrap=heading != "what",
            min_width=_LEAST_WHAT if heading == "what" else None,
        )
    for row in rows:
        check = next(iter(row.values()))
        expected = [number(check.paper), number(check.theory)] * judged
        cells: list[str | Text] = (
            [number(check.measured), check.unit, _verdict(check)]
            if alone
            else [check.unit, *(_measured(row.get(name)) for name in names)]
        )
        table.add_row(*[check.claim] * claimed, Text(check.what), *expected, *cells)
    return table


def _print_checks(title: str, rows: Sequence[Mapping[str, Check]], console: Console) -> None:
    console.print(Text(title, "italic"))
    for row in rows:
        check = next(iter(row.values()))
        expected = [
            f"{name} {number(value)}"
            for name, value in (("paper", check.paper), ("theory", check.theory))
            if value is not None
        ]
        cells = [
            Text.assemble(
                *([f"{name} "] if len(row) > 1 or name != "measured" else []), _measured(of)
            )
            for name, of in row.items()
        ]
        values = Text("; ").join([*cells, *map(Text, expected)])
        if check.unit:
            values.append(f" ({check.unit})")
        claimed_text = Text(" ".join([*[check.claim] * bool(check.claim), check.what]))
        console.print(claimed_text, highlight=False)
        console.print(Padding(values, (0, 0, 0, 4)), highlight=False)


def _measured(check: Check | None) -> Text:
    if check is None:
        return Text("–", "dim")
    return Text.assemble(f"{number(check.measured)} ", _verdict(check))


def _verdict(check: Check) -> Text:
    known = ", known" if check.explained else ""
    return Text.assemble((check.verdict, _STYLES[check.verdict]), known)


def _expected(check: Check) -> tuple[object, ...]:
    return check.claim, check.what, check.paper, check.theory, check.unit


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
