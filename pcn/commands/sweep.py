"""`pcn sweep`: an experiment with many seeds and settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pcn.commands.common import FilePath, listing
from pcn.commands.execution import execution_of, execution_options, seeds_option
from pcn.commands.traffic import referred, traffic_options
from pcn.complete import complete_experiment, complete_parameter, complete_scheme


def _experiments() -> Iterator[tuple[str, str]]:
    from experiments.papers import EXPERIMENTS

    for name, experiment in EXPERIMENTS.items():
        yield name, f"{experiment.title}. {experiment.source}"


@click.command(cls=listing("Experiments", _experiments))
@click.argument("experiment", shell_complete=complete_experiment)
@click.option(
    "--scheme",
    "--schemes",
    "scheme",
    metavar="NAME[,NAME...]",
    shell_complete=complete_scheme,
    help="Congestion control, by name or FILE.py:NAME. Default: EXPERIMENT's.",
)
@seeds_option
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE,...",
    shell_complete=complete_parameter,
    help="Values of a parameter of a scenario: w_min=0.01,0.025. Several --set: every combination.",
)
@traffic_options
@click.option("--show", "shown", multiple=True, metavar="NAME", help="Print and draw this number; may be given again.")
@execution_options
@click.option("--out", type=FilePath(), help="Folder. Default: results/sweeps/EXPERIMENT.")
def sweep(
    experiment: str,
    scheme: str | None,
    seeds: list[int] | None,
    parameters: tuple[str, ...],
    topology: str,
    workload: str,
    load: str,
    pattern: str,
    flows: str,
    shown: tuple[str, ...],
    jobs: int | None,
    scheduler: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    memory: float | None,
    limit: float | None,
    fresh: bool,
    out: Path | None,
) -> None:
    """Run EXPERIMENT, a scenario or a figure's runs, in virtual time: every combination of schemes, seeds and settings.

    Writes runs.parquet (a row a run), means.csv (with standard errors) and sweep.png. What is in the folder already
    isn't run again: the same command goes on where it was interrupted, and more seeds add to what is there.

    \b
    Examples:
      pcn sweep dumbbell --scheme pcn,dcqcn --seeds 1:3 --set duration=5ms
      pcn sweep traffic --topology clos --workload W1 --load 0.4,0.6,0.8 --scheme pcn,dcqcn --seeds 1:3
      pcn sweep dumbbell --scheme pcn --seeds 1:2 --set duration=5ms --set w_min=0.01,0.025 --show utilisation
    """
    from pcn.sweeps import sweep_command

    execution = execution_of(jobs, scheduler, (tls_ca, tls_cert, tls_key), memory, limit)
    reference, settings = referred(experiment, parameters, topology, workload, load, pattern, flows)
    sweep_command(reference, scheme, seeds, settings, shown, execution, fresh, out)
