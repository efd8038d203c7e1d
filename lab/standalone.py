"""One switch of a topology, started and programmed, in the namespace that this process is in: for
Mininet's own `mn`.

    python -m pcn.lab.standalone '{"topology": {...}, "switch": "s0", "dilation": 400,
                                   "target": "softswitch", "directory": "/run/pcn-lab/dumbbell",
                                   "place": "/proc/4711/fd/5:0"}'

The directory gets the switch's log and its P4Runtime socket: s0.log, s0.grpc. Prints `ready` when
it forwards. Ends at SIGTERM or SIGINT, and the switch with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pcn.base import signals
from pcn.base.errors import LabError
from pcn.controller.configure import SwitchPlan, plan, program_switch
from pcn.controller.programs import Program
from pcn.controller.switch import SwitchClient
from pcn.lab.launch import launch_spec
from pcn.lab.network import START_LIMIT_S, connects
from pcn.lab.process import StartError, end_children, tail, wait_ready
from pcn.lab.target import LaunchSpec, Target, target as find_target
from pcn.topologies.serialise import from_dict


def serve(spec: dict[str, Any]) -> None:
    """Serves until a signal, which raises, or until the switch ends by itself: StartError then."""
    topology, name, dilation = from_dict(spec["topology"]), spec["switch"], spec["dilation"]
    target = find_target(spec["target"])
    planned = plan(topology, name, dilation)
    directory = Path(spec["directory"])
    launch = launch_spec(
        topology,
        name,
        dilation,
        directory / f"{name}.grpc",
        place=spec["place"],
        target=target.name,
    )
    log = directory / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *target.command(launch)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _program(target, launch, process, log, planned)
        print("ready", flush=True)
        process.wait()
        raise StartError(f"{name} ended with status {process.returncode}:\n{tail(log)}")
    finally:
        with signals.deferred():
            end_children([process])


def _program(
    target: Target,
    launch: LaunchSpec,
    process: subprocess.Popen[bytes],
    log: Path,
    planned: SwitchPlan,
) -> None:
    here, address = os.getpid(), launch.address.removeprefix("unix:")
    wait_ready(
        launch.name,
        process,
        log,
        lambda: connects(address) and target.ready(here),
        lambda: None,
        START_LIMIT_S,
    )
    target.configure(launch, here)
    client = SwitchClient.connect(
        launch.name, launch.address, launch.device_id, target.registers(here)
    )
    with contextlib.closing(client):
        client.become_primary()
        client.set_pipeline(Program.compiled("pcn"))
        program_switch(client, planned)


def main() -> int:
    try:
        with signals.raising():
            serve(json.loads(sys.argv[1]))
    except (KeyboardInterrupt, signals.Terminated):
        return 0
    except LabError as error:
        print(error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
