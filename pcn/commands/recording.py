"""Options of what a run in virtual time records besides, for `pcn run`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import Quantity

if TYPE_CHECKING:
    from pcn.experiments.data.records import Records


@dataclass(frozen=True)
class Recording:
    """What the options give; empty: nothing."""

    events: bool
    latency: bool
    queues: float | None
    series: str
    captures: tuple[str, ...]
    log_paths: bool
    explain: bool
    export: str

    def records(self) -> Records:
        """Raises ExperimentError."""
        from pcn.experiments.data.records import FlowChoice, Records, parse_port

        return Records(
            events=self.events,
            latency=self.latency,
            queues_s=self.queues,
            flows=FlowChoice.parse(self.series) if self.series else FlowChoice(),
            captures=tuple(dict.fromkeys(map(parse_port, self.captures))),
            paths=self.log_paths,
            explain=self.explain,
        )


EXPLAIN = click.option(
    "--explain",
    is_flag=True,
    help=(
        "Parts of each flow's completion time, in columns of flows.parquet; of a sweep, shares in "
        "means.csv."
    ),
)
_OPTIONS = (
    click.option(
        "--events", is_flag=True, help="Record of each PAUSE and RESUME, in events.parquet."
    ),
    click.option("--latency", is_flag=True, help="Latency of data packets, as percentiles."),
    click.option(
        "--queues",
        type=Quantity("time"),
        metavar="EVERY",
        help=(
            "Record of all ports' queues in queues.parquet, at this interval, e.g. 10us (default: "
            "none)."
        ),
    ),
    click.option(
        "--series",
        default="",
        metavar="flows=1,7|all|worst:N",
        help=(
            "Series of single flows: of these numbers, of all, or of the N with the largest "
            "slowdown (default: none)."
        ),
    ),
    click.option(
        "--capture",
        "captures",
        multiple=True,
        metavar="NODE:PORT",
        help="Capture of the frames at a port, for Wireshark, in NODE-PORT.pcapng (default: none).",
    ),
    EXPLAIN,
    click.option(
        "--log-paths",
        is_flag=True,
        help="Record of each flow's path in paths.csv, which --paths reads.",
    ),
    click.option(
        "--export",
        default="",
        metavar="FORMAT",
        help="Results in another project's format as well: hpcc (fct.txt, pfc.txt, qlen.txt), "
        "trace "
        "(trace.json, for Perfetto and speedscope) (default: none).",
    ),
)


def recording_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `recording`, a `Recording`."""

    @functools.wraps(function)
    def command(**arguments: Any) -> Any:
        options = {field.name: arguments.pop(field.name) for field in fields(Recording)}
        return function(recording=Recording(**options), **arguments)

    decorated: Callable[..., Any] = command
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
