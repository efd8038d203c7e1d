"""`pcn view`: a kept run on the live page."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from pcn.commands.common import FilePath, port_option


@click.command()
@click.argument("result", type=FilePath())
@port_option
def view(result: Path, port: int) -> None:
    """Replay RESULT, the folder of one run, on the live page, until Ctrl-C.

    Prints the page's address, for a browser on this machine. All ports have queues if the run had --queues.

    \b
    Examples:
      pcn view results/mine/pcn
    """
    from topologies import extras

    extras.require("web")
    from pcn.web.show import show_result

    with contextlib.suppress(KeyboardInterrupt):
        show_result(result, port)
