"""`pcn completion`: what makes a shell complete pcn's commands, options and names."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes pcn in SHELL.

    Commands, options, and the names of the network that is up: switches, ports, hosts, tables,
    flows.

    \b
    Examples:
      pcn completion bash > ~/.pcn-complete.bash     then `source` it in ~/.bashrc
      pcn completion zsh > ~/.pcn-complete.zsh       then `source` it in ~/.zshrc
      pcn completion fish > ~/.config/fish/completions/pcn.fish
    """
    from click.shell_completion import get_completion_class

    from pcn.cli import pcn

    completer = get_completion_class(shell)
    assert completer is not None
    click.echo(completer(pcn, {}, "pcn", "_PCN_COMPLETE").source())
