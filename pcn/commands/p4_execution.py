"""How runs of `pcn p4 run` and `pcn p4 trace` begin and end in virtual time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.output import note, say

if TYPE_CHECKING:
    from pcn.p4net.entries import Written
    from pcn.p4net.virtual import VirtualP4

_FAILED = 3
"""The exit code where commands of command files failed."""


def prepare(
    network: VirtualP4,
    until: float,
    sends: tuple[str, ...],
    script: Path | None,
    pcap: Path | None,
    seed: int,
) -> None:
    """Gives a network in virtual time its traffic and captures. Raises LabError."""
    from pcn.base.errors import LabError
    from pcn.p4net import sending
    from pcn.p4net.captures import capture_ports
    from pcn.topologies import python_file

    if pcap is not None:
        capture_ports(network, pcap)
    for number, text in enumerate(sends):
        sending.read(text).start(network, until, seed + number)
    if script is not None:
        start = getattr(python_file.load(script), "start", None)
        if start is None:
            raise LabError(f"{script} has no function start(network)")
        start(network)
    if not sends and script is None:
        unreachable = sending.each_to_each(network)
        if unreachable:
            note(f"{len(unreachable):,} datagrams aren't sent: {unreachable[0]}")


def complain(network: VirtualP4) -> None:
    """Notes the commands of command files that failed."""
    for written in network.written.values():
        for complaint in written.complaints:
            note(complaint)


def end(written: Iterable[Written], as_json: bool) -> None:
    """Ends the command with exit code 3, and prints a line below tables, where commands of command
    files failed."""
    from pcn.p4net.entries import failed

    if text := failed(written):
        if not as_json:
            say(text)
        click.get_current_context().exit(_FAILED)


def empty(network: VirtualP4) -> None:
    """Lets what is inside of a run leave, as long as it does, and pings end."""
    network.run(until_s=max([network.now_s, *(ping.sent_s[-1] for ping in network.pings)]))
    before = -1
    while (inside := network.totals().packets) not in (0, before):
        before = inside
        network.run(until_s=network.now_s + 1.0)
