"""How long a read of a register's cell takes from a network that is up inside an engine (`pcn up
--inside`), with all hosts sending to the next. Needs root. Not a test.

    .venv/bin/python bench/inside.py [dumbbell=200 fat-tree=60 clos=1500] [--seconds 10]

Prints for each network in how many seconds it is up, 50%, 99% and the most of the reads, in ms,
with each switch read in its turn without a pause, how late the engine's events came, and the
machine's load (1 minute) before and after.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pcn.controller.switch import SwitchClient
from pcn.lab.attach import attach
from pcn.lab.inside.client import request

REGISTER = "waiting_bytes"


def pcn(*words: str) -> None:
    """Carries a command out. Raises CalledProcessError."""
    subprocess.run(
        [sys.executable, "-c", "from pcn.cli import main; main()", *words],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def reads_ms(switches: Sequence[SwitchClient], seconds: float) -> list[float]:
    """Returns how long each read took."""
    times_ms: list[float] = []
    end = time.monotonic() + seconds
    for switch in itertools.cycle(switches):
        began = time.monotonic()
        if began >= end:
            break
        switch.read_registers(REGISTER, [1])
        times_ms.append((time.monotonic() - began) * 1e3)
    return times_ms


def measure(network: str, k: str, seconds: float) -> str:
    """Returns a row."""
    name, load = f"bench{os.getpid()}", os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        logs = str(Path(folder) / "logs")
        pcn("up", network, "--inside", "-k", k, "--network", name, "--logs", logs)
        up_s = time.monotonic() - began
        try:
            with attach(name) as lab:
                hosts = lab.topology.hosts
                for number, src in enumerate(hosts):
                    dst = hosts[(number + 1) % len(hosts)]
                    lab.agents[src.name].start(number + 1, dst.ip, dst.mac)
                times_ms = reads_ms(list(lab.switches.values()), seconds)
                state = request(lab.record, "state")
        finally:
            pcn("down", name)
    times_ms.sort()
    at = [times_ms[min(int(len(times_ms) * q), len(times_ms) - 1)] for q in (0.5, 0.99, 1.0)]
    return (
        f"{network}, k = {k}: up in {up_s:.1f} s; {len(times_ms):,} reads, ms: "
        f"{at[0]:.2f}, {at[1]:.2f}, {at[2]:.2f}; {state['lateness']}; "
        f"load {load:.1f} to {os.getloadavg()[0]:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "networks",
        nargs="*",
        default=["dumbbell=200", "fat-tree=60", "clos=1500"],
        metavar="NETWORK=K",
        help="as of pcn up",
    )
    parser.add_argument("--seconds", type=float, default=10, help="of reads, of each network")
    arguments = parser.parse_args()
    for words in arguments.networks:
        network, _, k = words.partition("=")
        print(measure(network, k, arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
