"""`pcn p4 import`: the network that a Python script builds, as a file."""

from __future__ import annotations

from pathlib import Path

import click

from pcn.commands.common import FilePath, print_json, write_file
from pcn.commands.output import is_quiet, note, output_options, say, tell


class _WithArguments(click.Command):
    """A command whose words behind `--` are a script's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:place])
        ctx.params["arguments"] = tuple(args[place + 1 :])
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENTS...]"]


@click.command("import", cls=_WithArguments)
@click.argument("script", type=FilePath(exists=True, dir_okay=False))
@click.argument("out", type=FilePath(), default=Path("net.json"), required=False)
@click.option(
    "--with-network",
    is_flag=True,
    help="Run the script also where the system can't take the network from it (default: refused).",
)
@output_options
def import_(
    script: Path, out: Path, arguments: tuple[str, ...], with_network: bool, as_json: bool
) -> None:
    """Make a network's file OUT (net.json) of a Python SCRIPT of Mininet or p4-utils.

    The script runs, as you and without network, against stand-ins that record hosts, switches,
    links and commands; it starts nothing. What stands behind -- are its own arguments. Run only
    scripts whose authors you trust.

    \b
    Examples:
      pcn p4 import examples/router/network.py
      pcn p4 import examples/router/network.py slow.json -- --rate 1
    """
    from pcn.p4net.importing.script import import_script, summary

    imported = import_script(script, out, arguments, with_network=with_network)
    network = imported.network
    if imported.output and not is_quiet():
        tell(imported.output.rstrip("\n"))
    write_file(out, network.text.encode())
    if imported.ended:
        note(f"{imported.ended}; the network is as it was before")
    for missing in network.missing:
        note(f"{missing}: no such file yet")
    if as_json:
        print_json(
            {
                "file": str(out),
                "hosts": network.hosts,
                "switches": network.switches,
                "links": network.links,
                "left_out": network.left_out,
                "missing": network.missing,
                "ended": imported.ended,
            }
        )
        return
    say(f"{out}: {summary(network)}")
