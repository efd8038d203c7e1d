"""Options of what a run in virtual time records besides, for `pcn run`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import Quantity

if TYPE_CHECKING:
    from experiments.data.records import Records


@dataclass(frozen=True)
class Recording:
    """What the options give; empty: nothing."""

    events: bool
    latency: bool
    queues: float | None
    series: str
    captures: tuple[str, ...]
    log_paths: bool
    export: str

    def records(self) -> Records:
        """Raises ExperimentError."""
        from experiments.data.records import FlowChoice, Records, parse_port

        return Records(
            events=self.events,
            latency=self.latency,
            queues_s=self.queues,
            flows=FlowChoice.parse(self.series) if self.series else FlowChoice(),
            captures=tuple(dict.fromkeys(map(parse_port, self.captures))),
            paths=self.log_paths,
        )


_OPTIONS = (
    click.option("--events", is_flag=True, help="Record each PAUSE and RESUME in events.parquet."),
    click.option("--latency", is_flag=True, help="Measure how long data packets take, by percentile."),
    click.option(
        "--queues",
        type=Quantity("time"),
        metavar="EVERY",
        help="Record the queues of all ports in queues.parquet, e.g. every 10us.",
    ),
    click.option(
        "--series",
        default="",
        metavar="flows=1,7|all|worst:N",
        help="Record series of single flows: of these numbers, of all, or of the N of largest slowdown.",
    ),
    click.option(
        "--capture",
        "captures",
        multiple=True,
        metavar="NODE:PORT",
        help="Capture what passes a port, for Wireshark: NODE-PORT.pcapng.",
    ),
    click.option("--log-paths", is_flag=True, help="Record each flow's path in paths.csv, which --paths reads."),
    click.option(
        "--export",
        default="",
        metavar="FORMAT",
        help="Write results for others' scripts: hpcc (fct.txt, pfc.txt, qlen.txt).",
    ),
)


def recording_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `recording`, a `Recording`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        own = {one.name: given.pop(one.name) for one in fields(Recording)}
        return function(recording=Recording(**own), **given)

    made: Callable[..., Any] = command
    for option in reversed(_OPTIONS):
        made = option(made)
    return made
