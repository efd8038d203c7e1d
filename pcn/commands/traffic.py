"""Options of traffic, for `pcn run traffic` and `pcn sweep traffic`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pcn.complete import complete_pattern, complete_topology, complete_workload

_F = TypeVar("_F", bound=Callable[..., Any])


def traffic_options(function: _F) -> _F:
    options = (
        click.option(
            "--topology",
            default="",
            metavar="NAME",
            shell_complete=complete_topology,
            help="traffic's network; dumbbell unless given.",
        ),
        click.option(
            "--workload",
            default="",
            metavar="NAME|FILE",
            shell_complete=complete_workload,
            help="traffic's flow sizes: W1, W2, Hadoop, WebSearch, or a file of lines SIZE PERCENT; W2 unless given.",
        ),
        click.option("--load", default="", metavar="SHARE", help="traffic's load: --set load=SHARE."),
        click.option(
            "--pattern",
            default="",
            metavar="NAME",
            shell_complete=complete_pattern,
            help="uniform (unless given), incast (1 to 15 senders) or permutation.",
        ),
        click.option("--flows", default="", metavar="FILE", help="traffic's flows: a CSV src,dst,start_s,size_bytes."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def referred(
    experiment: str, settings: Sequence[str], topology: str, workload: str, load: str, pattern: str, flows: str
) -> tuple[str, list[str]]:
    """An experiment's reference and its settings. Raises ExperimentError, UsageError where it isn't traffic."""
    given = {"topology": topology, "workload": workload, "load": load, "pattern": pattern, "flows": flows}
    named = [f"--{name}" for name, value in given.items() if value]
    if experiment != "traffic":
        if named:
            raise click.UsageError(f"{', '.join(named)}: for traffic alone, not for {experiment}")
        return experiment, list(settings)
    from experiments.traffic.words import words

    more = [f"load={load}"] if load else []
    return words(topology, workload, pattern, flows).reference, [*settings, *more]
