"""`pcn run`: an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pcn.commands.common import FilePath, json_option, listing, program_option, refuse, with_program
from pcn.commands.traffic import referred, traffic_options
from pcn.complete import (
    complete_clock,
    complete_parameter,
    complete_scenario,
    complete_scheme,
    complete_target,
)

_OF_A_RUN = ("clock", "target", "seed", "parameters", "dilation", "out", "check", "quiet", "no_pictures", "load")
UNMET = 3
"""Exit code of --check."""


def _scenarios() -> Iterator[tuple[str, str]]:
    from experiments.papers import SCENARIOS

    for name, scenario in SCENARIOS.items():
        yield name, f"{scenario.title}. {scenario.source}"


@click.command(cls=listing("Scenarios", _scenarios))
@click.argument("scenario", shell_complete=complete_scenario)
@click.option(
    "--scheme",
    "--schemes",
    "scheme",
    metavar="NAME[,NAME...]",
    shell_complete=complete_scheme,
    help="Congestion control, by name or FILE.py:NAME; several are compared. Default: SCENARIO's.",
)
@program_option
@click.option(
    "--clock",
    default="live",
    show_default=True,
    shell_complete=complete_clock,
    help="live or virtual; live,virtual runs both and draws one over the other.",
)
@click.option(
    "--target",
    default="softswitch",
    show_default=True,
    shell_complete=complete_target,
    help="Live switches: softswitch or bmv2.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of whatever is random.")
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_parameter,
    help="Parameter of the scenario: duration=100ms.",
)
@click.option("--list", "listed", is_flag=True, help="Run nothing: list SCENARIO's parameters.")
@click.option("--dilation", "-k", default="auto", show_default=True, metavar="K|auto", help="Slow-down of live time.")
@click.option(
    "--out",
    type=FilePath(),
    help="Result folder. Default: results/SCENARIO/SCHEME, results/SCENARIO-virtual/SCHEME in virtual time.",
)
@click.option("--check", is_flag=True, help=f"Exit code {UNMET} if a check is not met.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but what went wrong.")
@click.option("--no-pictures", is_flag=True, help="Write no PNG and SVG: of a short run most of the time goes there.")
@traffic_options
@json_option
def run(
    scenario: str,
    scheme: str | None,
    program: str | None,
    clock: str,
    target: str,
    seed: int,
    parameters: tuple[str, ...],
    listed: bool,
    dilation: str,
    out: Path | None,
    check: bool,
    quiet: bool,
    no_pictures: bool,
    topology: str,
    workload: str,
    load: str,
    pattern: str,
    flows: str,
    as_json: bool,
) -> int:
    """Run SCENARIO, with a report.

    Writes summary.json, series.parquet, plots and report.html. What is there already is kept beside it. --json prints
    summary.json, and progress on stderr.

    \b
    Examples:
      pcn run dumbbell
      pcn run dumbbell --scheme pfc --set duration=50ms
      pcn run victim --scheme pfc,pcn --set w_max=0.25
      pcn run fig5 --clock virtual
      pcn run dumbbell --clock live,virtual
      pcn run dumbbell --target bmv2 --dilation 1000 --out /tmp/bmv2
      pcn run traffic --clock virtual --topology fat-tree --workload W1 --pattern incast --load 0.4
      pcn run victim --scheme pcn --list
    """
    from experiments.papers import SCENARIOS
    from pcn import experiment

    if program and scenario in SCENARIOS:
        scheme = with_program(scheme or ",".join(SCENARIOS[scenario].schemes), program)

    reference, settings = referred(scenario, parameters, topology, workload, load, pattern, flows)
    if listed:
        refuse("--list runs nothing", *_OF_A_RUN)
        experiment.list_command(reference, scheme, as_json)
        return 0
    unmet = experiment.run_command(
        reference, scheme, clock, target, seed, settings, dilation, out, quiet, as_json, not no_pictures
    )
    if not (check and unmet):
        return 0
    click.echo(f"pcn: not met: {'; '.join(unmet)}", err=True)
    return UNMET
