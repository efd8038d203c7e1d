"""Whether networks keep pace as `pcn up` starts them: `python -m bench.catalog [TOPOLOGY ...]`.

Brings each topology of the catalog up without options; all hosts send at line rate for 2 ms
(nominal) to a neighbour, then to one host. Meanwhile commands run one after the other, as a user's.
Prints for each pattern the packets, those that waited in the network when the bench ended it (one
link drains what 511 hosts sent), those lost (data, PAUSE, RESUME and CNP), the nodes that were
late, and the longest that each command took. Needs root and an idle machine. Not a test.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from pcn.base import signals
from pcn.controller import interface_counters
from pcn.lab import control_frames, flows
from pcn.lab.attach import Attached, attach
from pcn.lab.pace import Pacing
from pcn.topologies.catalog import TOPOLOGIES

PCN = (sys.executable, "-c", "from pcn.cli import main; main()")
PATTERNS = ("to a neighbour", "to one")
DURATION_S = 2e-3  # nominal
# real: from the commands to the flows' start, and more for each flow
HEAD_START_S, COMMAND_S = (
    0.5,
    2e-3,
)
# real: nothing arrives any more, and never will; arrivals after the flows' end
STILL_S, DRAIN_S = (
    30.0,
    60.0,
)


def pcn(*words: str) -> float:
    """Runs a command. Returns how long it took; what it prints is lost unless it fails."""
    began = time.monotonic()
    done = subprocess.run([*PCN, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pcn {' '.join(words)}: {done.stderr.strip()}")
    return time.monotonic() - began


@contextlib.contextmanager
def up(topology: str, *options: str) -> Iterator[tuple[str, float]]:
    """Yields the name of a network that is up, and how long that took, in seconds."""
    name = f"bench-{os.getpid()}"
    with tempfile.TemporaryDirectory() as logs:
        took = pcn("up", topology, "-n", name, "--logs", logs, *options)
        try:
            yield name, took
        finally:
            pcn("down", name)


def start(lab: Attached, pattern: str, first: int) -> float:
    """Starts a flow of each host, numbers from `first`. Returns when they end, by the monotonic
    clock."""
    hosts = lab.topology.hosts
    begin = time.monotonic() + HEAD_START_S + COMMAND_S * len(hosts)
    for number, host in enumerate(hosts):
        to = hosts[(number + 1) % len(hosts)] if pattern == PATTERNS[0] else hosts[0]
        if to is host:
            continue
        lab.agents[host.name].start(first + number, to.ip, to.mac, duration_s=DURATION_S, at=begin)
    if time.monotonic() > begin:
        sys.exit(
            f"{len(hosts)} flows took longer to start than expected: they didn't start together"
        )
    return begin + DURATION_S * lab.record.dilation


def drained(lab: Attached) -> tuple[int, int, int]:
    """Waits until all has arrived that was sent, or nothing does any more, or for DRAIN_S. Returns
    packets sent, still on their way, and lost: while some are on their way, those that nodes count
    as dropped, for a PAUSE lets packets overtake others (docs/bmv2.md)."""
    began = moved = time.monotonic()
    arrived = -1
    while True:
        stats = flows.ask(lab.agents)
        sent = sum(flow.packets for stat in stats.values() for flow in stat.sent)
        sends = any(
            flow.state in ("waiting", "sending") for stat in stats.values() for flow in stat.sent
        )
        before, arrived = (
            arrived,
            sum(flow.packets for stat in stats.values() for flow in stat.received),
        )
        now = time.monotonic()
        if arrived > before:
            moved = now
        if (arrived == sent and not sends) or now > moved + STILL_S:
            return sent, 0, sent - arrived
        if now > began + DRAIN_S:
            lost = discarded(lab) + sum(stat.socket_drops for stat in stats.values())
            return sent, sent - arrived - lost, lost
        time.sleep(0.2)


def discarded(lab: Attached) -> int:
    """Returns the frames that switches, or their programs, took or made and didn't send."""
    total = 0
    for switch in lab.switches.values():
        ports = interface_counters.read(switch) or {}
        total += sum(port.in_discards + port.out_discards for port in ports.values())
        total += sum(
            cell.packets for cell in switch.read_cells(["dropped"], ())[0]["dropped"].values()
        )
    return total


def measure(name: str, pattern: str, first: int) -> tuple[str, ...]:
    with attach(name) as lab:
        switch = lab.topology.switches[0].name
        pacing, agents = Pacing(lab.record), lab.agents
        before = sum(flow.packets for stats in flows.ask(agents).values() for flow in stats.sent)
        ends = start(lab, pattern, first)
        commands = ("status",), ("flow", "list", "-n", name), ("counters", switch, "-n", name)
        took = dict.fromkeys(commands, 0.0)
        while time.monotonic() < ends:
            for words in commands:
                took[words] = max(took[words], pcn(*words))
        sent, waiting, lost = drained(lab)
        late = sorted(pacing.behind_since_last())
        lost += sum(loss.lost for loss in control_frames.lost(lab))
        times = " / ".join(f"{took[words]:.2f}" for words in commands)
        return f"{sent - before:,}", f"{waiting:,}", f"{lost}", ", ".join(late) or "none", times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("topologies", nargs="*", choices=[[], *TOPOLOGIES], metavar="TOPOLOGY")
    parser.add_argument("--processes", action="store_true", help="a process for each switch")
    arguments = parser.parse_args()
    options = ("--processes",) if arguments.processes else ()
    print(
        "| topology | k | all hosts | packets | waiting | lost | late nodes | status / flow list / "
        "counters, s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for topology in arguments.topologies or TOPOLOGIES:
        with signals.raising(), up(topology, *options) as (name, took):
            with attach(name) as lab:
                k, hosts = lab.record.dilation, len(lab.topology.hosts)
            print(f"{topology}: up in {took:.1f} s", file=sys.stderr)
            for number, pattern in enumerate(PATTERNS):
                row = topology, f"{k:,.0f}", pattern, *measure(name, pattern, 1 + number * hosts)
                print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    try:
        main()
    except signals.Terminated as error:
        sys.exit(f"catalog: {error}")
