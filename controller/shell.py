"""p4runtime-shell on a switch of the network that is up: `make shell SWITCH=s0`.

It is a program of others, in an environment of its own, and takes over as the switch's primary controller.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from controller.attach import ELECTION_ID, find
from controller.errors import UnknownNameError
from topologies.errors import LabError
from topologies.serialise import from_dict


def command(python: str, switch: str, network: str = "") -> list[str]:
    """What to execute; without a network's name, for the only one that is up. Raises LabError."""
    record = find(network or None)
    topology = from_dict(record.topology)
    names = [found.name for found in topology.switches]
    if switch not in names:
        raise UnknownNameError("switch", switch, names)
    return [
        *(python, "-m", "p4runtime_sh", "--grpc-addr", record.nodes[switch].control),
        *("--device-id", str(topology.switch(switch).device_id), "--election-id", f"0,{ELECTION_ID}"),
    ]


def main(arguments: Sequence[str]) -> NoReturn:
    """Becomes the shell. `arguments`: the Python that has it, the switch, and perhaps the network."""
    try:
        words = command(*arguments)
    except LabError as error:
        sys.exit(f"error: {error}")
    os.execv(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
