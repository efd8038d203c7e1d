"""Options of the commands that carry out many runs: how many at once, where, within which
limits."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pcn.commands.common import Quantity, refuse, threads_option

if TYPE_CHECKING:
    from pcn.experiments.sweep.run_task import Execution

_F = TypeVar("_F", bound=Callable[..., Any])
_MOST_SEEDS = 1_000_000


class Seeds(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases alone
    """Numbers and ranges, both ends included: 1:20 or 1,2,5 or 1:10,21:30."""

    name = "seeds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        seeds: dict[int, None] = {}
        for part in str(value).split(","):
            match = re.fullmatch(r"\s*(\d+)(?::(\d+))?\s*", part)
            if match is None or int(match[2] or match[1]) < int(match[1]):
                self.fail(f"{value!r}: write them as 1:20 or 1,2,5", param, ctx)
            first, last = int(match[1]), int(match[2] or match[1])
            if last - first >= _MOST_SEEDS:
                self.fail(f"{value!r}: {_MOST_SEEDS:,} are the most", param, ctx)
            seeds |= dict.fromkeys(range(first, last + 1))
        return list(seeds)


def seeds_option(function: _F) -> _F:
    return click.option(
        "--seeds",
        type=Seeds(),
        metavar="1:20|1,2,5",
        help="Seeds, e.g. 1:20 (default: the experiment's own).",
    )(function)


def execution_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `execution`, an `Execution`, and `fresh`."""

    @functools.wraps(function)
    def command(
        *,
        jobs: int | None,
        scheduler: str | None,
        tls_ca: str | None,
        tls_cert: str | None,
        tls_key: str | None,
        memory: float | None,
        limit: float | None,
        **others: Any,
    ) -> Any:
        return function(
            execution=_execution(jobs, scheduler, (tls_ca, tls_cert, tls_key), memory, limit),
            **others,
        )

    options = (
        click.option(
            "--jobs", type=click.IntRange(1), help="Parallel runs (default: number of cores)."
        ),
        click.option(
            "--scheduler",
            metavar="tls://HOST:PORT",
            help="Dask scheduler whose workers run (default: none, this machine).",
        ),
        *(
            click.option(
                f"--tls-{name}",
                metavar="FILE",
                type=click.Path(exists=True, dir_okay=False),
                help=text,
            )
            for name, text in (
                (
                    "ca",
                    "Certificate (PEM) that signed the scheduler's; for tls://, with the next two.",
                ),
                ("cert", "Certificate (PEM) of this command."),
                ("key", "Its private key (PEM)."),
            )
        ),
        click.option(
            "--memory",
            type=Quantity("size"),
            metavar="SIZE",
            help="Memory limit of a run (default: the machine's over parallel runs).",
        ),
        click.option(
            "--limit",
            type=Quantity("time"),
            metavar="TIME",
            help="Time limit of a run (default: none).",
        ),
        click.option(
            "--fresh",
            is_flag=True,
            help=(
                "New runs in place of finished ones, which stay until all are done (default: these "
                "count)."
            ),
        ),
    )
    decorated: Callable[..., Any] = command
    for option in (threads_option, *reversed(options)):
        decorated = option(decorated)
    return decorated


def _execution(
    jobs: int | None,
    scheduler: str | None,
    tls: tuple[str | None, str | None, str | None],
    memory: float | None,
    limit: float | None,
) -> Execution:
    if scheduler is not None:
        refuse(
            "for processes of this machine; give them to the workers of --scheduler",
            "jobs",
            "memory",
            "threads",
        )
    from pcn.experiments.data.errors import ExperimentError
    from pcn.experiments.sweep.cluster import Tls
    from pcn.experiments.sweep.executor import Means
    from pcn.experiments.sweep.run_task import Execution

    files = [Path(path) for path in tls if path is not None]
    if len(files) not in (0, len(tls)):
        raise ExperimentError("--tls-ca, --tls-cert and --tls-key go together: give all three")
    from pcn.virtualnet.threads import commanded, cores

    threads = commanded() or 1
    if threads > 1 and (jobs or 1) * threads > cores():
        raise ExperimentError(
            f"{jobs or 1} parallel runs of {threads} threads: this process has {cores()} cores; "
            "fewer --jobs or --threads"
        )
    means = Means(
        jobs or max(1, cores() // threads),
        scheduler,
        None if memory is None else round(memory),
        Tls(*files) if files else None,
    )
    return Execution(means, limit)
