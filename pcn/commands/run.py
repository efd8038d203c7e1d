"""`pcn run`: an experiment."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import (
    FilePath,
    listing,
    port_option,
    print_json,
    print_table,
    program_option,
    refuse,
    threads_option,
    with_program,
)
from pcn.commands.output import is_quiet, output_options, say, tell
from pcn.commands.recording import Recording, recording_options
from pcn.commands.traffic import Traffic, traffic_options
from pcn.complete import (
    complete_clock,
    complete_parameter,
    complete_scenario,
    complete_scheme,
    complete_target,
)
from pcn.escape import visible

if TYPE_CHECKING:
    from rich.console import Console

    from pcn.experiments.data.parameters import Parameter
    from pcn.web.run import RunOnPage

UNMET = 3
"""Exit code of --check."""


def _scenarios() -> Iterator[tuple[str, str]]:
    from pcn.experiments.papers import SCENARIOS, described

    return described(SCENARIOS)


@click.command(cls=listing("Scenarios", _scenarios))
@click.argument("scenario", required=False, shell_complete=complete_scenario)
@click.option(
    "--scheme",
    "--schemes",
    "scheme",
    metavar="NAME[,NAME...]",
    shell_complete=complete_scheme,
    help=(
        "Congestion control, by name or FILE.py:NAME; one run each of several (default: the "
        "scenario's)."
    ),
)
@program_option
@click.option(
    "--clock",
    default="live",
    show_default=True,
    shell_complete=complete_clock,
    help="Clock of the run: live, virtual, paced (virtual time at the pace of real time divided by "
    "K), or live,virtual for a run on each and their comparison.",
)
@click.option(
    "--target",
    default="softswitch",
    show_default=True,
    shell_complete=complete_target,
    help="Switches of a live run: softswitch, engine (softswitch, with virtual time's engine) or "
    "bmv2.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_parameter,
    help="Parameter of the scenario, e.g. duration=100ms, or of a scheme, e.g. w_min=0.01 or "
    "dcqcn.g=0.1 "
    "(default: as --list prints).",
)
@click.option(
    "--list", "listed", is_flag=True, help="List of the scenario's parameters, in place of a run."
)
@click.option(
    "--dilation",
    "-k",
    default="auto",
    show_default=True,
    metavar="K|auto",
    help=(
        "Factor by which a live or paced run is slower than the modelled network; auto: as this "
        "machine needs; paced: as one core needs where all links are full, by 1 us a hop."
    ),
)
@click.option(
    "--out",
    type=FilePath(),
    help=(
        "Folder of the results (default: results/SCENARIO/SCHEME, or "
        "results/SCENARIO-virtual/SCHEME)."
    ),
)
@click.option(
    "--check", is_flag=True, help=f"Exit code {UNMET} where a check isn't met (default: 0)."
)
@click.option(
    "--pictures/--no-pictures", help="PNG and SVG files of the report's charts (default: none)."
)
@click.option(
    "--web",
    is_flag=True,
    help="Page in the browser that shows a run in virtual time; the command prints its address.",
)
@port_option
@click.option(
    "--top",
    is_flag=True,
    help="View of a run in virtual time on this terminal, as of `pcn watch`; q ends the view.",
)
@click.option(
    "--replay",
    type=FilePath(),
    metavar="LOG",
    help="In place of a scenario a session of `pcn up --inside` again, in virtual time: its "
    "commands.jsonl.",
)
@threads_option
@traffic_options
@recording_options
@output_options
def run(
    scenario: str | None,
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
    pictures: bool,
    web: bool,
    port: int,
    top: bool,
    replay: Path | None,
    traffic: Traffic,
    recording: Recording,
    as_json: bool,
) -> int:
    """Run an experiment, with a report.

    SCENARIO is a name of the list below.

    Writes summary.json, series.parquet and report.html; several runs have a folder each, and a
    comparison.json. An earlier result in the folder is kept beside the new one. --json prints
    summary.json or comparison.json. With --web the command serves the page until Ctrl-C; `pcn
    watch`, in another terminal, shows live runs.

    \b
    Examples:
      pcn run dumbbell
      pcn run dumbbell --scheme pfc --set duration=50ms
      pcn run victim --scheme pfc,pcn --set w_max=0.25
      pcn run fig5 --clock virtual
      pcn run dumbbell --clock live,virtual
      pcn run victim --scheme pfc --clock paced -k 1000 --web
      pcn run dumbbell --target bmv2 --dilation 1000 --out /tmp/bmv2
      pcn run traffic --clock virtual --topology fat-tree --workload W1 --pattern incast --load 0.4
      pcn run traffic --clock virtual --topology star --events --latency --series flows=worst:3
      pcn run victim --scheme pcn --list
      pcn run --replay commands.jsonl
    """
    if replay is not None:
        return _replay(scenario, replay, scheme, traffic.order, as_json)
    if scenario is None:
        raise click.UsageError("name a scenario of the list in --help, or a log with --replay")
    from rich.console import Console

    from pcn.experiments import runner
    from pcn.experiments.data.failures import IncompleteError
    from pcn.experiments.page import terminal
    from pcn.experiments.papers import SCENARIOS
    from pcn.experiments.results.run_result import numbers
    from pcn.experiments.run.progress import ConsoleProgress, Later, Notes

    if program and scenario in SCENARIOS:
        scheme = with_program(scheme or ",".join(SCENARIOS[scenario].schemes), program)
    reference, settings = traffic.of(scenario, parameters)
    if listed:
        _list(reference, scheme, as_json)
        return 0
    if port and not web:
        raise click.UsageError("--port is of the page: add --web")
    if (web or top) and clock not in ("virtual", "paced"):
        raise click.UsageError(
            f"--{'web' if web else 'top'} shows runs in virtual time: add --clock virtual, or "
            f"paced; `pcn watch{' --web' if web else ''}` shows live ones"
        )
    if top:
        from pcn.top import on_terminal, require_terminal
        from pcn.web.run import RunOnPage

        refuse("not beside --top", "web")
        require_terminal()
    place = out or runner.place_of(reference, scheme, clock)
    errors = Console(stderr=True)
    quiet, console = is_quiet(), terminal.stdout(is_quiet())
    with _page(port) if web else contextlib.nullcontext() as watcher:
        try:
            with contextlib.ExitStack() as display:
                progress: Notes | ConsoleProgress
                progress = (
                    Later(errors) if top else Notes(errors) if quiet else ConsoleProgress(errors)
                )
                display.enter_context(progress)
                if top:
                    watcher = RunOnPage(display.enter_context(on_terminal()))
                result = runner.run(
                    reference,
                    scheme=scheme,
                    clock=clock,
                    target=target,
                    seed=seed,
                    settings=settings,
                    k=runner.K.parse(dilation),
                    out=place,
                    progress=progress,
                    pictures=pictures,
                    records=recording.records(),
                    export=recording.export,
                    watcher=watcher,
                )
        except IncompleteError as error:
            _show(place, numbers(error.place), console, as_json)
            raise
        unmet = _show(place, result.summary, console, as_json)
    if not (check and unmet):
        return 0
    click.echo(f"pcn: not met: {'; '.join(unmet)}", err=True)
    return UNMET


def _replay(scenario: str | None, log: Path, scheme: str | None, order: str, as_json: bool) -> int:
    """Plays a session again. Exit code UNMET where it comes to another digest."""
    from pcn.commands.flow import print_flows
    from pcn.lab.inside.replay import replay

    context = click.get_current_context()
    beside = {"replay", "scheme", "order", "as_json", "scenario", "threads", "quiet"}
    refuse(
        "not beside --replay",
        *(str(p.name) for p in context.command.params if p.name not in beside),
    )
    if scenario is not None:
        raise click.UsageError(f"{scenario} and --replay: name a scenario or a log")
    tell(f"playing {log} again; Ctrl-C ends it")
    result = replay(log, scheme, chosen_order=order or None)
    if as_json:
        print_json({**asdict(result), "differs": result.differs})
        return UNMET if result.differs else 0
    say(
        f"{result.name}: {result.commands} commands, {result.now_s * 1e3:.6f} ms, "
        f"{result.events:,} events, digest {result.digest}"
    )
    print_flows(result.flows)
    if result.expected is None:
        say("the log has no end, as of a session that was killed: this is up to its last command")
    elif result.differs:
        click.echo(
            f"pcn: the session had digest {visible(result.expected.digest)} and "
            f"{result.expected.events:,} events: this isn't its network, or another release's",
            err=True,
        )
        return UNMET
    else:
        say("the session had the same digest")
    return 0


def _page(port: int) -> AbstractContextManager[RunOnPage]:
    """Returns the page that shows runs; once they are over, it stays until Ctrl-C."""
    from pcn.topologies import extras

    extras.require("web")
    from pcn.web.show import run_on_page

    return run_on_page(port)


def _show(place: Path, summary: Mapping[str, Any], console: Console, as_json: bool) -> list[str]:
    """Prints a result's summary, or its tables on the console. Returns what names the checks that
    aren't met."""
    from pcn.experiments.page import terminal

    if not summary:
        return []
    if as_json:
        print_json(summary)
    elif not console.quiet:  # tables are read from the result's files
        terminal.show(place, summary, console)
    return terminal.unmet(summary)


def _list(scenario: str, scheme: str | None, as_json: bool) -> None:
    """Prints the parameters of a scenario; with `scheme` those that runs of these schemes have."""
    from pcn.experiments.data.parameters import UNITS, format_value
    from pcn.experiments.papers import find_scenario
    from pcn.experiments.runner import in_effect, parameters
    from pcn.hosts.algorithms import schemes

    listed, everyone = parameters(scenario, scheme), parameters(scenario)
    rows = [
        (parameter, everyone[parameter] if len(everyone[parameter]) < len(schemes) else [])
        for parameter in listed
    ]
    effective, whole = (
        in_effect(scenario, scheme),
        "a text, of the whole command: a sweep doesn't vary it",
    )
    texts = find_scenario(scenario).texts
    if as_json:
        most = {
            parameter.name: parameter.maximum if math.isfinite(parameter.maximum) else None
            for parameter, _ in rows
        }
        print_json(
            [
                {
                    **asdict(parameter),
                    "maximum": most[parameter.name],
                    "in_effect": effective.get(parameter.name),
                    "schemes": theirs,
                }
                for parameter, theirs in rows
            ]
            + [
                {"name": name, "kind": "text", "default": text, "what": whole}
                for name, text in texts.items()
            ]
        )
        return

    def default(parameter: Parameter) -> str:
        value = effective.get(parameter.name, parameter.default)
        shown = "" if value is None and parameter.derived else format_value(parameter.kind, value)
        return ": ".join(text for text in (parameter.derived, shown) if text)

    print_table(
        f"{scenario.partition('?')[0]}: parameters, for --set NAME=VALUE",
        ("name", "unit", "default", "least", "most", "schemes", "meaning"),
        [
            (
                parameter.name,
                UNITS[parameter.kind],
                default(parameter),
                format_value(parameter.kind, parameter.minimum),
                format_value(parameter.kind, parameter.maximum)
                if math.isfinite(parameter.maximum)
                else "–",
                ", ".join(theirs) or "all",
                parameter.meaning,
            )
            for parameter, theirs in rows
        ]
        + [(name, "text", text, "", "", "all", whole) for name, text in texts.items()],
    )
