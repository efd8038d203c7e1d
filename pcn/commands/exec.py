"""`pcn exec`: a command in a node's network namespace."""

from __future__ import annotations

import os
import shutil
import signal

import click

from pcn.commands.common import network_option
from pcn.complete import complete_node


@click.command(name="exec", context_settings={"allow_interspersed_args": False})
@click.argument("node", shell_complete=complete_node)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@network_option
def exec_(node: str, command: tuple[str, ...], network: str | None) -> None:
    """Execute a command in a node's network namespace.

    Without COMMAND this is a shell. The agent has a host's IP address, its kernel has none: ping
    and iperf don't work there, `pcn flow start` does.

    \b
    Examples:
      pcn exec h0 ip -s link show h0-eth0
      echo 'ethtool -k s1-eth1 | head -3' | pcn exec s1
    """
    from pcn.base.errors import LabError
    from pcn.base.namespaces import in_namespace
    from pcn.controller.errors import UnknownNameError
    from pcn.lab.attach import find
    from pcn.lab.inside.client import no_interface

    record = find(network)
    if node not in record.nodes:
        raise UnknownNameError("node", node, list(record.nodes))
    if record.is_inside:
        no_interface(record, node)
    shell = record.nodes[node].shell
    if not shell.alive():
        raise LabError(
            f"the process that holds {node}'s namespace has ended: `pcn down {record.name}`, then "
            "up again"
        )
    words = command or (os.environ.get("SHELL", "/bin/sh"),)
    if shutil.which(words[0]) is None:
        raise LabError(f"no command {words[0]!r} is on the PATH")
    # Python ignores it, and the command would inherit that
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    in_namespace(shell.pid, lambda: os.execvp(words[0], words))
