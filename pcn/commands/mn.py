"""`pcn mn`: Mininet's prompt."""

from __future__ import annotations

import sys

import click

from pcn.commands.common import network_option


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("line", nargs=-1, type=click.UNPROCESSED)
@network_option
def mn(line: tuple[str, ...], network: str | None) -> None:
    """Mininet's own prompt on the network that is up.

    Or one LINE of it, or lines from a pipe. It changes nothing by itself, and leaving it leaves the network up. The
    agent has a host's IP address, its kernel has none: ping and iperf don't work there, `pcn flow start` does.

    \b
    Examples:
      pcn mn
      pcn mn net
      pcn mn h0 ip -s link show h0-eth0
      echo nodes | pcn mn
    """
    from lab.attach import find
    from lab.network import require_root_and_mininet

    require_root_and_mininet()
    record = find(network)
    from lab.prompt import Prompt

    with Prompt(record) as prompt:
        if line:
            prompt.execute(" ".join(line) + "\n")
        elif not sys.stdin.isatty():
            prompt.execute(sys.stdin.read())
        else:
            click.echo(f"Mininet's prompt on {record.name}; `help` lists its commands, Ctrl-D leaves it")
            prompt.run()
