"""Options of traffic, for `pcn run traffic` and `pcn sweep traffic`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import click

from pcn.commands.common import assignments
from pcn.complete import complete_arrivals, complete_pattern, complete_topology, complete_workload


@dataclass(frozen=True)
class Traffic:
    """What the options give; empty: nothing."""

    topology: str
    workload: str
    load: str
    pattern: str
    flows: str
    arrivals: str
    incast: str
    paths: str
    reliability: tuple[str, ...]
    order: str

    def of(self, experiment: str, settings: Sequence[str]) -> tuple[str, list[str]]:
        """Returns an experiment's reference and its settings. Raises ExperimentError, UsageError
        where it isn't traffic."""
        if experiment != "traffic":
            if options := [f"--{name}" for name, value in asdict(self).items() if value]:
                raise click.UsageError(
                    f"{', '.join(options)}: for traffic alone, not for {experiment}"
                )
            return experiment, list(settings)
        from pcn.experiments.define.collectives import collective
        from pcn.experiments.traffic.spec import parse_spec, text_options

        more = [f"load={self.load}"] if self.load else []
        workload = self.workload
        if collective(workload.partition(",")[0]):
            workload, *collective_settings = workload.split(",")
            more += collective_settings
        names = text_options(self.topology)
        texts = [setting for setting in settings if setting.partition("=")[0] in names]
        if self.order:
            texts.append(f"order={self.order}")
        spec = parse_spec(
            self.topology,
            workload,
            self.pattern,
            self.flows,
            self.arrivals,
            self.incast,
            assignments(texts, "lossless_classes=1,3"),
            self.paths,
            self.reliability,
        )
        return spec.reference, [*(setting for setting in settings if setting not in texts), *more]


def traffic_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `traffic`, a `Traffic`."""

    @functools.wraps(function)
    def command(**arguments: Any) -> Any:
        options = {field.name: arguments.pop(field.name) for field in fields(Traffic)}
        return function(traffic=Traffic(**options), **arguments)

    options = (
        click.option(
            "--topology",
            default="",
            metavar="NAME|FILE|FILE.py:NAME",
            shell_complete=complete_topology,
            help="Network of the scenario traffic (default: dumbbell).",
        ),
        click.option(
            "--workload",
            "--cdf",
            "workload",
            default="",
            metavar="NAME|FILE|COLLECTIVE",
            shell_complete=complete_workload,
            help="Flow sizes of traffic: a name of `pcn workload list`, a file of lines SIZE "
            "SHARE, or a collective "
            "operation, as allreduce:ring,size=1GB,ranks=64 (default: W2).",
        ),
        click.option(
            "--load",
            default="",
            metavar="SHARE",
            help="Load of traffic on each host's link, as --set load=SHARE (default: 0.6).",
        ),
        click.option(
            "--pattern",
            default="",
            metavar="NAME",
            shell_complete=complete_pattern,
            help=(
                "Pattern of traffic: uniform, incast (1 to 15 senders) or permutation (default: "
                "uniform)."
            ),
        ),
        click.option(
            "--flows",
            default="",
            metavar="FILE",
            help=(
                "Flows of traffic: CSV, Parquet, HPCC's flow.txt, htsim's .cm, Chakra or pcap "
                "(default: drawn)."
            ),
        ),
        click.option(
            "--arrivals",
            default="",
            metavar="NAME",
            shell_complete=complete_arrivals,
            help="Arrivals of flows: poisson, lognormal (--set sigma=2) or onoff (--set on=1ms "
            "--set off=1ms) "
            "(default: poisson).",
        ),
        click.option(
            "--incast",
            default="",
            metavar="N",
            help="In-casts of N senders beside the other flows; --set incast_size and "
            "incast_period are their size and "
            "interval (default: none).",
        ),
        click.option(
            "--paths",
            default="",
            metavar="FILE",
            help=(
                "Paths of flows in virtual time: a file that --log-paths writes (default: ECMP's "
                "paths)."
            ),
        ),
        click.option(
            "--reliability",
            multiple=True,
            metavar="CLASS=REPEATS",
            help="Retransmission of a class in virtual time: go-back-n or selective, as "
            "0=selective,timeout=1ms,reordering=2us (default: none, as PFC keeps the class "
            "lossless).",
        ),
        click.option(
            "--order",
            default="",
            metavar="NAME|FILE.c:NAME",
            help="Order among the packets of a class at switches' ports in virtual time, as "
            "'round robin', or a scheduler of your own, as srpt.c:srpt, as --set order=NAME "
            "(default: the topology's; of most, fifo).",
        ),
    )
    decorated: Callable[..., Any] = command
    for option in reversed(options):
        decorated = option(decorated)
    return decorated
