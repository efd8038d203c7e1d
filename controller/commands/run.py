"""`pcn run`: an experiment."""

from __future__ import annotations

from pathlib import Path

import click

from controller.complete import complete_clock, complete_scenario, complete_scheme, complete_target


@click.command()
@click.argument("scenario", shell_complete=complete_scenario)
@click.option(
    "--scheme",
    metavar="NAME[,NAME...]",
    shell_complete=complete_scheme,
    help="Congestion control; several are compared. Default: SCENARIO's.",
)
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
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the scenario: duration=100ms."
)
@click.option("--dilation", "-k", default="auto", show_default=True, metavar="K|auto", help="Slow-down of live time.")
@click.option("--out", type=click.Path(path_type=Path), help="Result folder; results/SCENARIO/SCHEME unless given.")
def run(
    scenario: str,
    scheme: str | None,
    clock: str,
    target: str,
    seed: int,
    parameters: tuple[str, ...],
    dilation: str,
    out: Path | None,
) -> None:
    """Run SCENARIO, with a report.

    Writes summary.json, series.parquet, plots and report.html. What is there already is kept beside it.

    \b
    Examples:
      pcn run dumbbell
      pcn run dumbbell --scheme pfc --set duration=50ms
      pcn run victim --scheme dcqcn,pcn --set K_max=400KB
      pcn run fig5 --clock virtual
      pcn run dumbbell --clock live,virtual
      pcn run dumbbell --target bmv2 --dilation 1000 --out /tmp/bmv2
    """
    from experiments.cli import run_command

    run_command(scenario, scheme, clock, target, seed, parameters, dilation, out)
