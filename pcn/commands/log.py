"""`pcn log`: what switches and agents wrote."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import network_option
from pcn.commands.output import described_output, say
from pcn.complete import complete_node

if TYPE_CHECKING:
    from pcn.lab.logs import Line


@click.command()
@click.argument("nodes", nargs=-1, metavar="[NODE]...", shell_complete=complete_node)
@click.option(
    "--lines",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Last lines of each node.",
)
@click.option("--follow", "-f", is_flag=True, help="Follow the logs until Ctrl-C.")
@network_option
@described_output("A JSON object a line.")
def log(
    nodes: tuple[str, ...], lines: int, follow: bool, network: str | None, as_json: bool
) -> None:
    """Show logs of all nodes, or of NODE.

    Agents note events with their nominal time: flows that start and end, rates, CNPs, PAUSE.
    Switches write when something is wrong.

    \b
    Examples:
      pcn log
      pcn log h0 r0 --lines 3
      pcn log h0 --follow
    """
    from pcn.lab import logs
    from pcn.lab.attach import find

    record = find(network)
    wide = max(map(len, logs.nodes_with_logs(record)))
    entries = logs.follow(record, nodes, lines) if follow else logs.read(record, nodes, lines)
    printed = False
    with contextlib.suppress(KeyboardInterrupt):
        for line in entries:
            if as_json:
                click.echo(json.dumps(_as_json(line)))
            else:
                say(as_text(line, wide))
            printed = True
    if not printed and not as_json:
        say("nothing was written yet")


def _as_json(line: Line) -> dict[str, Any]:
    if line.fields is None:
        return {"node": line.node, "text": line.text}
    return {"node": line.node, "t": line.time_s, "ev": line.event, **line.fields}


def as_text(line: Line, wide: int = 0) -> str:
    """Returns a line for people, nodes' names as wide as that."""
    if line.fields is None or line.time_s is None:
        return f"{line.node:{wide}} {line.text}"
    fields = "  ".join(f"{name} {_shown(name, value)}" for name, value in line.fields.items())
    return f"{line.node:{wide}} {line.time_s * 1e3:9.3f} ms  {line.event:6} {fields}"


def _shown(name: str, value: Any) -> str:
    if name.endswith("_bps"):
        return f"{value / 1e9:.3f}G"
    if name.endswith("_mbps"):
        return f"{value / 1e3:.3f}G"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
