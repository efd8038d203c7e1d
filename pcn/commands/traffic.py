"""Options of traffic, for `pcn run traffic` and `pcn sweep traffic`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from pcn.complete import complete_pattern, complete_topology, complete_workload


@dataclass(frozen=True)
class Traffic:
    """What the options give; empty: nothing."""

    topology: str
    workload: str
    load: str
    pattern: str
    flows: str

    def of(self, experiment: str, settings: Sequence[str]) -> tuple[str, list[str]]:
        """Returns an experiment's reference and its settings. Raises ExperimentError, UsageError where it isn't
        traffic."""
        if experiment != "traffic":
            if given := [f"--{name}" for name, value in asdict(self).items() if value]:
                raise click.UsageError(f"{', '.join(given)}: for traffic alone, not for {experiment}")
            return experiment, list(settings)
        from experiments.traffic.spec import parse_spec

        more = [f"load={self.load}"] if self.load else []
        return parse_spec(self.topology, self.workload, self.pattern, self.flows).reference, [*settings, *more]


def traffic_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `traffic`, a `Traffic`."""

    @functools.wraps(function)
    def command(*, topology: str, workload: str, load: str, pattern: str, flows: str, **others: Any) -> Any:
        return function(traffic=Traffic(topology, workload, load, pattern, flows), **others)

    options = (
        click.option(
            "--topology",
            default="",
            metavar="NAME|FILE|FILE.py:NAME",
            shell_complete=complete_topology,
            help="Network of traffic (default: dumbbell).",
        ),
        click.option(
            "--workload",
            default="",
            metavar="NAME|FILE",
            shell_complete=complete_workload,
            help="Flow sizes of traffic: W1, W2, Hadoop, WebSearch, or a file of lines SIZE SHARE (default: W2).",
        ),
        click.option("--load", default="", metavar="SHARE", help="Load of traffic, as --set load=SHARE."),
        click.option(
            "--pattern",
            default="",
            metavar="NAME",
            shell_complete=complete_pattern,
            help="uniform, incast (1 to 15 senders) or permutation (default: uniform).",
        ),
        click.option(
            "--flows",
            default="",
            metavar="FILE",
            help="Flows of traffic: a CSV src,dst,start_s,size_bytes, flow.txt of HPCC, .cm of htsim (default: drawn).",
        ),
    )
    made: Callable[..., Any] = command
    for option in reversed(options):
        made = option(made)
    return made
