"""`pcn p4 trace`: packets' ways through a network of P4 switches."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from pcn.commands.common import (
    FilePath,
    Quantity,
    alone_options,
    exercise_program_option,
    jumbo_option,
    print_json,
    rate_and_seed_options,
    refuse,
    strict_option,
    text_output,
)
from pcn.commands.output import note, quiet_option, say
from pcn.commands.p4_execution import complain, empty, end, prepare

if TYPE_CHECKING:
    from pcn.p4net.entries import Written
    from pcn.p4net.network import P4Network
    from pcn.p4net.packet_paths import Hop, Ways


@click.command()
@click.argument("place", metavar="DIR|FILE", type=FilePath(exists=True), required=False)
@exercise_program_option
@click.option(
    "--logs",
    type=FilePath(exists=True, file_okay=False),
    metavar="DIR",
    help=(
        "Logs of a live network that `pcn p4 run --trace` has written (default: a run in virtual "
        "time)."
    ),
)
@click.option(
    "--for",
    "until",
    type=Quantity("time"),
    metavar="TIME",
    default="1s",
    show_default=True,
    help="Simulated time.",
)
@click.option(
    "--send",
    "sends",
    multiple=True,
    metavar="SRC,DST[,NAME=VALUE...]",
    help="Traffic, as of `pcn p4 run` (default: one datagram a pair).",
)
@click.option(
    "--script", type=FilePath(), metavar="FILE.py", help="Python file, as of `pcn p4 run`."
)
@rate_and_seed_options
@jumbo_option
@alone_options
@strict_option
@click.option(
    "--packet",
    "packets",
    type=int,
    multiple=True,
    metavar="N",
    help="Packets, as numbered (default: all).",
)
@click.option(
    "--at", multiple=True, metavar="SWITCH[:PORT]", help="Packets that pass there (default: all)."
)
@click.option(
    "--match",
    multiple=True,
    metavar="HEADER.FIELD=VALUE",
    help="Packets in which a switch found this (default: all).",
)
@click.option(
    "--steps",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help=(
        "Each step of the programs, as simple_switch logs it; with FILE as lines of JSON there, - "
        "for stdout."
    ),
)
@click.option(
    "--why",
    is_flag=True,
    help="Packets behind which each one waited in a queue, and for how long (default: how many).",
)
@click.option(
    "--json", "as_json", is_flag=False, flag_value="", metavar="", help="JSON instead of lines."
)
@quiet_option
def trace(
    place: Path | None,
    program: Path | None,
    logs: Path | None,
    until: float,
    sends: tuple[str, ...],
    script: Path | None,
    rate: float,
    seed: int,
    topology: str | None,
    hosts: int | None,
    jumbo: bool,
    strict: bool,
    packets: tuple[int, ...],
    at: tuple[str, ...],
    match: tuple[str, ...],
    steps: str | None,
    why: bool,
    as_json: str | None,
) -> None:
    """Show packets' ways through the network of DIR or FILE: headers, table entries, actions,
    queues.

    In virtual time, unless --logs names those of a live network.

    \b
    Examples:
      pcn p4 trace examples/router --send h1,h3
      pcn p4 trace examples/router --match ipv4.dst_addr=10.0.3.3 --steps
      pcn p4 trace examples/router --send h1,h3,rate=20M,until=5ms --packet 9 --why
    """
    from pcn.p4net.alone import network_at
    from pcn.p4net.packet_path_text import Wanted, as_json as way_as_json, lines
    from pcn.p4net.waits import Waits

    # What follows an option whose value may be missing is that value, also where it is meant as
    # DIR|FILE.
    if place is None and steps and Path(steps).exists():
        place, steps = Path(steps), ""
    elif place is None and as_json and Path(as_json).exists():
        place, as_json = Path(as_json), ""
    if place is None:
        raise click.UsageError("Missing argument 'DIR|FILE'.")
    if as_json:
        note(f"--json FILE is called --steps FILE from 0.2.0 on: write --steps {as_json}")
        steps, as_json = as_json, None
    if logs is not None:
        refuse("not beside --logs", "until", "sends", "script", "seed", "strict", "jumbo")
    network = network_at(place, program, rate, topology=topology, hosts=hosts)
    for text in network.notes:
        note(text)
    wanted = Wanted(packets, at, match)
    wanted.require(network)
    with text_output(Path(steps)) if steps else nullcontext() as target:
        ways, written = (
            (_live(network, logs), [])
            if logs is not None
            else _virtual(network, until, sends, script, seed, strict, jumbo)
        )
        every_way = ways.all(network.topology)
        waits = Waits(every_way, network.topology) if why else None
        numbered = [(n, way) for n, way in enumerate(every_way, start=1) if wanted.has(n, way)]
        if target is not None:
            _write_steps(target, (way for _, way in numbered))
    if as_json is not None:
        print_json([way_as_json(number, way, network.topology, waits) for number, way in numbered])
    elif target is None:
        for number, way in numbered:
            for line in lines(number, way, network.topology, steps=steps is not None, waits=waits):
                say(line)
        say(f"packets: {len(numbered)}")
    end(written, as_json is not None or steps == "-")


def _write_steps(target: TextIO, ways: Iterable[Hop]) -> None:
    from pcn.softswitch.trace import json_lines

    for way in ways:
        for hop in way.later():
            for step in (
                *hop.steps,
                *(step for departure in hop.departures for step in departure.steps),
            ):
                target.write(json_lines.line(hop.switch, step) + "\n")


def _virtual(
    network: P4Network,
    until: float,
    sends: tuple[str, ...],
    script: Path | None,
    seed: int,
    strict: bool,
    jumbo: bool,
) -> tuple[Ways, list[Written]]:
    """Returns the ways of a run's packets, and what of command files was written."""
    from pcn.p4net.packet_paths import Ways
    from pcn.p4net.virtual import FRAME_BYTES, JUMBO_BYTES, VirtualP4

    ways = Ways()
    longest = JUMBO_BYTES if jumbo else FRAME_BYTES
    with VirtualP4(
        network, seed=seed, trace=ways.take, strict=strict, frame_bytes=longest
    ) as simulation:
        complain(simulation)
        prepare(simulation, until, sends, script, None, seed)
        simulation.run(until_s=until)
        empty(simulation)
        return ways, list(simulation.written.values())


def _live(network: P4Network, logs: Path) -> Ways:
    from pcn.base.errors import LabError
    from pcn.lab.network import STEPS
    from pcn.p4net.packet_paths import read

    names = {str(switch.device_id): switch.name for switch in network.topology.switches}
    files = [
        path
        for switch in network.topology.switches
        if (path := logs / f"{switch.name}.{STEPS}").is_file()
    ]
    if not files:
        raise LabError(f"{logs} has no steps of packets: pcn p4 run --trace writes them")
    return read(files, names)
