"""Importing a script: running it, and making its network a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcn.p4net.errors import P4NetError
from pcn.p4net.importing import sandbox
from pcn.p4net.importing.network_file import NetworkFile, network_file

_SHOWN = 2
"""Texts of each kind in the line that people read."""


@dataclass
class Imported:
    """A script's network as a file, what the script printed, and how it ended where that isn't
    well: it had started the network before."""

    network: NetworkFile
    output: str
    ended: str


def import_script(
    script: Path, out: Path, arguments: Sequence[str] = (), *, with_network: bool = False
) -> Imported:
    """Returns the network that a script builds, as a file that lies at `out`. Raises P4NetError."""
    ran = sandbox.run(script, arguments, with_network=with_network)
    ended = _ended(ran, script)
    if ended and (ran.network is None or not (ran.started or ran.timed_out)):
        raise P4NetError(ended)
    if ran.network is None:
        raise P4NetError(
            f"{script} builds no network: neither Mininet(...) nor NetworkAPI() was called"
            f"{_last_line(ran.output)}"
        )
    return Imported(network_file(ran.network, script, out), ran.output, ended)


def summary(network: NetworkFile) -> str:
    """Returns in a line what a file has, and what it leaves out."""
    counts = ", ".join(
        f"{count} {name}{'' if count == 1 else ending}"
        for count, name, ending in (
            (network.hosts, "host", "s"),
            (network.switches, "switch", "es"),
            (network.links, "link", "s"),
        )
    )
    if not network.left_out:
        return counts
    parts = []
    for kind, texts in network.left_out.items():
        more = len(texts) - _SHOWN
        shown = "; ".join(" ".join(text.split())[:60] for text in texts[:_SHOWN])
        parts.append(f"{kind} ({shown}{f'; and {more} more' if more > 0 else ''})")
    return f"{counts}; left out: {', '.join(parts)}"


def _ended(ran: sandbox.Ran, script: Path) -> str:
    """Returns how a script failed, in a line; empty: it didn't."""
    if ran.failure is not None:
        return _failed(ran.failure, script, ran.output)
    if ran.timed_out:
        return f"{script} was ended after {sandbox.SECONDS} s"
    if ran.code != 0:
        return f"{script} ended by {'signal' if ran.code < 0 else 'exit code'} {abs(ran.code)}"
    return ""


def _failed(failure: Mapping[str, Any], script: Path, output: str) -> str:
    place = str(failure["place"])
    place = os.path.relpath(place) if place.startswith(f"{Path.cwd()}/") else place
    text = str(failure["text"])
    if failure["kind"] == "exit":
        return f"{script} ended by itself: {text}{_last_line(output)}"
    if failure["kind"] == "python2":
        return f"{place}: this is Python 2 ({text}): scripts run as Python 3, convert it first"
    if module := failure["module"]:
        return f"{place}: no module {module!r}: install it into the Python that runs `pcn`"
    if text.startswith("FileNotFoundError"):
        text += "; a script runs in the current folder"
    return f"{place}: {text}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; the last that it printed: {lines[-1]:.200}" if lines else ""
