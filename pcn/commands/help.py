"""`pcn help`: what `--help` prints."""

from __future__ import annotations

import click

from pcn.complete import complete_command


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", shell_complete=complete_command)
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Print the help of COMMAND, or of pcn.

    \b
    Examples:
      pcn help
      pcn help run
      pcn help p4 run
    """
    inner = context.find_root()
    for word in words:
        if not isinstance(inner.command, click.Group):
            raise click.UsageError(f"{inner.command_path} has no commands")
        name, command, _ = inner.command.resolve_command(inner, [word])
        assert command is not None
        inner = click.Context(command, parent=inner, info_name=name)
    click.echo(inner.get_help())
