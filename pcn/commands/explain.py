"""`pcn explain`: why flows of a kept result were slow."""

from __future__ import annotations

import math
from pathlib import Path

import click

from pcn.base.units import quantity
from pcn.commands.common import FilePath, Quantity, print_json, threads_option
from pcn.commands.output import is_quiet, note, output_options, say


@click.command()
@click.argument("result", type=FilePath())
@click.option(
    "--flow",
    "flows",
    type=int,
    multiple=True,
    metavar="N",
    help="Flow by its number; repeat for more.",
)
@click.option(
    "--worst",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Flows with the largest slowdowns (default: 1).",
)
@click.option(
    "--at",
    "port",
    default="",
    metavar="NODE:PORT",
    help="Port in place of flows: whose frames, which PAUSEs.",
)
@click.option(
    "--pause",
    type=click.IntRange(0),
    metavar="N",
    help="PAUSE in place of flows, by its number from 0.",
)
@click.option(
    "--marks", is_flag=True, help="Marks in place of flows: why packets have them, or none."
)
@click.option(
    "--job", is_flag=True, help="Makespan of flows that wait for each other, in place of flows."
)
@click.option(
    "--from",
    "from_s",
    type=Quantity("time", zero=True),
    metavar="TIME",
    help="Start of what is explained (default: all).",
)
@click.option(
    "--to", "to_s", type=Quantity("time"), metavar="TIME", help="End of it (default: the run's)."
)
@click.option(
    "--what-if",
    "rates",
    multiple=True,
    metavar="NODE:PORT=RATE",
    help="Rate of a link in one more run (default: none).",
)
@click.option(
    "--without-flows",
    "without",
    multiple=True,
    metavar="N|GROUP[,...]",
    help="Flows that one more run lacks (default: none).",
)
@click.option(
    "--scheme",
    default="",
    metavar="NAME",
    help="Scheme of one more run, by its rules, by name or FILE.py:NAME (default: the run's).",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="Schemes and topologies from files of code that the result names (default: refused).",
)
@threads_option
@output_options
def explain(
    result: Path,
    flows: tuple[int, ...],
    worst: int | None,
    port: str,
    pause: int | None,
    marks: bool,
    job: bool,
    from_s: float | None,
    to_s: float | None,
    rates: tuple[str, ...],
    without: tuple[str, ...],
    scheme: str,
    allow_code: bool,
    as_json: bool,
) -> None:
    """Explain why flows of a result were slow.

    RESULT is the folder of one run in virtual time, or one that holds a single run. The run is
    carried out twice more, with logs, and has to have the same digest. Of each flow: the parts of
    its completion time, which sum to it; what its last packet waited behind; the share that it had
    of its busiest port, against a fair one; which marks set its rate; PAUSEs by the ports that they
    came from; and one line WHY, with its role: culprit, contributor or victim. --from and --to
    limit it to what left the sender then. --marks counts for each port why packets have marks, and
    what a queue without PAUSE would have made of it. --job is for collective operations. --what-if,
    --without-flows and --scheme run it once more with a change. All of it is kept in
    RESULT/explain, unless that can't be written.

    \b
    Examples:
      pcn explain results/mine/pcn --worst 3
      pcn explain results/mine/pcn --flow 7 --json
      pcn explain results/mine/pfc --at s0:1 --from 0us --to 1ms
      pcn explain results/mine/pcn --marks
      pcn explain results/mine/pcn --what-if s0:1=100G
    """
    chosen = [
        name
        for name, value in (
            ("--flow", flows),
            ("--worst", worst),
            ("--at", port),
            ("--pause", pause is not None),
            ("--marks", marks),
            ("--job", job),
        )
        if value
    ]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)}: one of them")
    if (from_s is not None or to_s is not None) and chosen not in (["--flow"], ["--at"]):
        raise click.UsageError("--from and --to are for --flow and --at")
    if from_s is not None and to_s is not None and to_s <= from_s:
        raise click.UsageError("--from and --to: a span ends after it begins")
    if (rates or without or scheme) and (port or pause is not None or marks or job):
        raise click.UsageError("--what-if, --without-flows and --scheme are for flows")
    from rich.console import Console

    from pcn.experiments.data.errors import ExperimentError
    from pcn.experiments.data.records import parse_port
    from pcn.experiments.explain import answers, keep, words
    from pcn.experiments.explain.again import Change, KeptResult
    from pcn.experiments.run.progress import ConsoleProgress, Notes

    span_s = (
        None
        if from_s is None and to_s is None
        else (from_s or 0.0, math.inf if to_s is None else to_s)
    )
    errors = Console(stderr=True)
    end = parse_port(port, "--at") if port else None
    change = Change(
        {parse_port(at, "--what-if"): rate for at, rate in map(_rate, rates)},
        tuple(name for names in without for name in names.split(",")),
        scheme,
    )
    original = KeptResult(result, allow_code)
    change.of(original.plan.topology)  # before minutes are spent
    if scheme:
        original.with_scheme(scheme)
    with Notes(errors) if is_quiet() else ConsoleProgress(errors) as progress:
        if end is not None:
            answer = answers.of_port(original, end, span_s, progress)
        elif pause is not None:
            answer = answers.of_pause(original, pause, progress)
        elif job:
            answer = answers.of_job(original, progress)
        elif marks:
            answer = answers.of_marks(original, progress)
        else:
            numbers = flows or original.slowest(worst or 1, progress)
            answer = answers.of_flows(original, list(dict.fromkeys(numbers)), span_s, progress)
            if change:
                answer = answers.with_change(answer, original, change, progress)
    text = list(words.lines_of(answer))
    if as_json:
        print_json(answer.as_json())
    else:
        for line in text:
            say(line)
    try:
        page = ""
        if answer.flows:
            from pcn.experiments.explain.page import render

            page = render(answer, original.plan)
        keep.keep(original.place, answer, text, page)
    except ExperimentError as error:
        note(f"{error}. The explanation is here alone")


def _rate(text: str) -> tuple[str, float]:
    """Reads NODE:PORT=RATE."""
    port, _, rate = text.partition("=")
    try:
        rate_bps = quantity("rate", rate)
    except ValueError as error:
        raise click.BadParameter(f"--what-if {text}: {error}") from None
    if rate_bps <= 0:
        raise click.BadParameter(f"--what-if {text}: a rate above 0 is needed")
    return port, rate_bps
