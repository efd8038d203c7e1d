"""`pcn scheme`: lists the congestion control schemes, and checks whether a user's scheme keeps the
rules."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.common import print_json, print_table
from pcn.commands.output import output_options
from pcn.complete import complete_scheme

if TYPE_CHECKING:
    from pcn.hosts.algorithms import Scheme
    from pcn.hosts.algorithms.check import Finding
    from pcn.topologies.model import Topology

BROKEN = 1


@click.group()
def scheme() -> None:
    """List congestion control schemes; check your own.

    Every command takes FILE.py:NAME as a scheme as well, and NAME@PROGRAM for a scheme with another
    program in the switches.

    \b
    Examples:
      pcn scheme list
      pcn scheme check examples/aimd/aimd.py:AIMD
    """


@scheme.command("list")
@output_options
def list_schemes(as_json: bool) -> None:
    """List the schemes there are, installed packages' included.

    \b
    Examples:
      pcn scheme list
    """
    from pcn.hosts.algorithms import SchemeError, find_scheme, names

    rows = []
    for name in names():
        try:
            scheme = find_scheme(name)
            rows.append((name, Path(scheme.program).name, scheme.summary))
        except SchemeError as error:  # of somebody's package: others are no worse for it
            rows.append((name, "", f"can't be loaded: {error}"))
    if as_json:
        print_json([dict(zip(("name", "program", "summary"), row, strict=True)) for row in rows])
        return
    print_table("", ("scheme", "program", "what it is"), rows)


@scheme.command()
@click.argument("name", metavar="SCHEME", shell_complete=complete_scheme)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Seed of the events, and of --stars' runs.",
)
@click.option(
    "--stars",
    is_flag=True,
    help="Utilisation, queue and fairness on six stars instead (default: rules).",
)
@output_options
def check(name: str, seed: int, stars: bool, as_json: bool) -> int:
    """Drive SCHEME's RP and NP by thousands of events, and report which rules they keep.

    \b
    Units, finite rates, the same result each time and beside other flows, no clock or random
    numbers, the cost of a call. Exit code 1 where a rule is broken, with the event that did it.

    \b
    With --stars: 1, 2 and 16 flows that last on one link, in virtual time, on stars of 10 to
    400 Gbit/s and 3 to 500 us, with the parameters that follow from each; beside them what the
    scheme's rule holds, the least utilisation and the largest mean queue, and what its authors'
    program came to, where that was measured. It takes a minute.

    \b
    Examples:
      pcn scheme check pcn --seed 2
    """
    from pcn.base.errors import LabError
    from pcn.hosts.algorithms import SchemeError, find_scheme
    from pcn.hosts.algorithms.check import check as check_scheme, cost

    try:
        scheme = find_scheme(name)
    except SchemeError as error:
        raise LabError(str(error)) from None
    if stars:
        _on_stars(scheme, seed, as_json)
        return 0
    findings = [*check_scheme(scheme, seed), cost(scheme), *_in_switches(scheme)]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_table(
            f"{scheme.name}: {scheme.summary}",
            ("", "rule", "seen"),
            [
                ("ok" if finding.kept else "BROKEN", finding.rule, finding.seen)
                for finding in findings
            ],
        )
    return BROKEN if not all(finding.kept for finding in findings) else 0


def _on_stars(scheme: Scheme, seed: int, as_json: bool) -> None:
    """Prints what comes of a scheme on the stars."""
    from pcn.hosts.virtual.stars import authors_program, on_stars

    rows = list(on_stars(scheme, seed))
    if as_json:
        print_json([asdict(row) for row in rows])
        return

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    program = authors_program(scheme.name)
    heads = [*("star", "flows", "utilisation", "rule", "queue, BDP", "rule", "Jain")]
    heads += ["authors' utilisation", "queue", "Jain"] if program else []
    cells = [
        (
            row.star,
            str(row.flows),
            number(row.utilisation),
            number(row.rule_utilisation),
            number(row.queue_bdp),
            number(row.rule_queue_bdp),
            number(row.jain),
            *(
                (
                    number(row.authors_utilisation),
                    number(row.authors_queue_bdp),
                    number(row.authors_jain),
                )
                if program
                else ()
            ),
        )
        for row in rows
    ]
    title = f"{scheme.name}: {scheme.summary}" + (f"; authors' by {program}" if program else "")
    print_table(title, heads, cells)


def _in_switches(scheme: Scheme) -> list[Finding]:
    """Judges whether switches take a scheme's program and what its marking points set, on a
    dumbbell in virtual time."""
    from pcn.base.errors import LabError
    from pcn.controller import marking
    from pcn.controller.programs import Program
    from pcn.hosts.algorithms.check import Finding
    from pcn.hosts.virtual import VirtualNetwork
    from pcn.topologies.dumbbell import dumbbell

    rule, filled = (
        "switches take its program and tables",
        "marking tables of its program are its own",
    )
    topology = dumbbell(pairs=1)
    try:
        with VirtualNetwork(topology, scheme.configure()) as network:
            for flow in topology.flows:
                network.add_flow(flow)
            network.run(until_s=1e-3)
        program = Program.find(scheme.program)
        tables = {marking.find(point).TABLE for point in scheme.marking}
    except LabError as error:
        return [Finding(rule, False, str(error))]
    except Exception as error:
        return [Finding(rule, False, f"{type(error).__name__}: {error}")]
    there = {table.alias for table in program.schema.tables}
    left = sorted(table.TABLE for table in marking.known() if table.TABLE in there - tables)
    text = (
        f"nothing sets {', '.join(left)}: name its marking point, marking=(...)"
        if left
        else ", ".join(sorted(tables))
    )
    return [
        Finding(rule, True, f"a dumbbell of {len(topology.flows)} flows, 1 ms"),
        Finding(filled, not left, text or "it has none"),
        *_settings(scheme, topology),
    ]


def _settings(scheme: Scheme, topology: Topology) -> list[Finding]:
    """Judges whether `pcn set` shows and changes what a scheme's marking points set, on a switch's
    entries."""
    from pcn.controller import marking, settings
    from pcn.controller.configure import plan
    from pcn.controller.marking_contract import SettableTable
    from pcn.hosts.algorithms.check import Finding

    findings = []
    ports = plan(topology, topology.switches[0].name, 1.0, scheme.configure()).marking
    for table in map(marking.find, scheme.marking):
        rule = f"settings of {table.TABLE} are shown, and take what they are changed to"
        if isinstance(table, SettableTable):
            try:
                findings.append(Finding(rule, True, settings.check(table, ports)))
            except settings.SettingError as error:
                findings.append(Finding(rule, False, str(error)))
            except Exception as error:
                findings.append(Finding(rule, False, f"{type(error).__name__}: {error}"))
        elif hasattr(table, "SETTINGS"):
            findings.append(
                Finding(
                    rule, False, "SETTINGS need show and change (controller/marking_contract.py)"
                )
            )
    return findings
