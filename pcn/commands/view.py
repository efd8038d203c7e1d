"""`pcn view`: a kept run on the live page."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from pcn.commands.common import FilePath, port_option, print_json, refuse, write_file
from pcn.commands.output import is_quiet, output_options, say


@click.command()
@click.argument("result", type=FilePath())
@port_option
@click.option(
    "--save",
    type=FilePath(),
    metavar="FILE",
    help="File for the page, which opens without a server.",
)
@output_options
def view(result: Path, port: int, save: Path | None, as_json: bool) -> None:
    """Replay a run on the live page, until Ctrl-C.

    RESULT is the folder of one run. Prints the page's address, for a browser on this machine. The
    page has queues of all ports if the run had --queues.

    \b
    Examples:
      pcn view results/mine/pcn
      pcn view results/mine/pcn --save replay.html
    """
    from pcn.topologies import extras

    if save is not None:
        refuse("not beside --save", "port")
        from pcn.web.recorded import one_file, recorded

        page = one_file(recorded(result)).encode()
        write_file(save, page)
        if as_json:
            print_json({"file": str(save), "bytes": len(page)})
        else:
            say(f"{save}: {len(page) / 1e6:.1f} MB")
        return

    if is_quiet() and not as_json:
        raise click.UsageError("--quiet hides the page's address: add --json, or --save FILE")
    extras.require("web")
    from pcn.web.show import show_result

    with contextlib.suppress(KeyboardInterrupt):
        show_result(result, port, (lambda url: print_json({"url": url})) if as_json else say)
