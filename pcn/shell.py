"""p4runtime-shell on a switch of the network that is up: `make shell SWITCH=s0`.

The shell is another project's program, in a separate environment, and becomes the switch's primary controller.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from controller.errors import PrimaryError
from lab.attach import attach
from softswitch.python_process import python_command
from topologies.errors import LabError


def command(python: str, switch: str, network: str = "", election_id: str = "") -> list[str]:
    """What to execute; without a network's name, for the only one that is up. Raises LabError, PrimaryError."""
    with attach(network or None, int(election_id or 0) or None) as lab:
        client = lab.primary(switch)
        high, low = divmod(client.election_id, 2**64)
        return [
            *python_command("p4runtime_sh", "--grpc-addr", lab.record.nodes[switch].control, python=python),
            *("--device-id", str(client.device_id), "--election-id", f"{high},{low}"),
        ]


def environment() -> dict[str, str]:
    """Without the name of an activated environment: the shell runs in its own, and IPython would warn of the other."""
    return {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}


def main(arguments: Sequence[str]) -> NoReturn:
    """Becomes the shell. `arguments`: the Python that has it, the switch, perhaps the network, and our election id."""
    try:
        words = command(*arguments)
    except PrimaryError as error:
        sys.exit(f"error: {error.who}: end it, or take over with `make shell ELECTION_ID={error.next_id}`")
    except LabError as error:
        sys.exit(f"error: {error}")
    os.execve(words[0], words, environment())


if __name__ == "__main__":
    main(sys.argv[1:])
