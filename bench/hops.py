"""What a packet's way through live switches costs: `python -m bench.hops [--processes]
[--fat-tree] [--seconds 8]`.

One flow of some 3,000 packets a second (real) from one end of the network to the other: through two
switches of the dumbbell at k = 400, or five of the fat-tree at k = 1,575. Prints CPU (user, system,
and what the kernel does meanwhile) and voluntary sleeps a packet, of all switches, of the sending
agent and of the receiving one, from /proc. Needs root and an idle machine. Not a test.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree

WARM = 0.25  # as much of the seconds goes before them


def spent(pids: Iterable[int]) -> tuple[float, int]:
    """Returns CPU in us, and voluntary sleeps, of processes with all their threads."""
    us, sleeps = 0.0, 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            us += int((task / "schedstat").read_text().split()[0]) / 1e3
            line = next(
                line
                for line in (task / "status").read_text().splitlines()
                if line.startswith("voluntary")
            )
            sleeps += int(line.split()[1])
    return us, sleeps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", action="store_true", help="a process for each switch")
    parser.add_argument("--fat-tree", action="store_true", help="five switches on the way, of 20")
    parser.add_argument("--seconds", type=float, default=8.0, help="real time that is measured")
    arguments = parser.parse_args()
    topology, k = (fat_tree(), 1575.0) if arguments.fat_tree else (dumbbell(), 400.0)
    src, dst = ("h0", topology.hosts[-1].name) if arguments.fat_tree else ("h0", "r0")
    more = {"processes": True} if arguments.processes else {}
    with (
        tempfile.TemporaryDirectory() as logs,
        Lab(
            topology,
            log_dir=Path(logs),
            name=f"hops-{os.getpid()}",
            dilation=k,
            scheme="pfc",
            role="up",
            **more,
        ) as lab,
    ):
        running = lab.network
        parts = {
            "switches": {switch.pid for switch in running.switches.values()},
            "sender": {running.hosts[src].pid},
            "receiver": {running.hosts[dst].pid},
        }
        flows.start(topology, lab.agents, src, dst)
        time.sleep(WARM * arguments.seconds)

        def arrived() -> int:
            return sum(flow.packets for flow in lab.agents[dst].stats().received)

        before, packets, began = (
            {name: spent(pids) for name, pids in parts.items()},
            arrived(),
            time.monotonic(),
        )
        time.sleep(arguments.seconds)
        after, packets = {name: spent(pids) for name, pids in parts.items()}, arrived() - packets
        print(f"{topology.name}, {packets / (time.monotonic() - began):,.0f} packets/s", end="")
        for name in parts:
            us, sleeps = (now - then for now, then in zip(after[name], before[name], strict=True))
            print(f"; {name} {us / packets:.1f} us, {sleeps / packets:.2f} sleeps", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
