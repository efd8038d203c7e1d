"""How far time has to be stretched so that this machine carries a network whose hosts all send: k,
unless it is given.

    choose(fat_tree(), "softswitch").k
    python -m pcn.lab.calibrate softswitch < topology.json      # for Mininet's own command: k, and
                                                                why

What costs is waking up, reading a packet from a socket, checking it, making and sending the next.
The calibration does the like, a datagram of a data packet's size through a socket and a CRC over
it, in one process a core at once, for short trials, of which the best counts. Time is a core's, not
the clock's: nodes run at real-time priority, before what else makes the machine busy. What nodes of
networks that are up use at that time is subtracted. What comes later it can't see: the nodes report
whether they keep pace (`pcn.lab.pace`).
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import socket
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, Literal

from pcn.base import signals
from pcn.lab import journal
from pcn.lab.pace import rounded_up
from pcn.softswitch.errors import StartError
from pcn.softswitch.pace import Board
from pcn.topologies.model import Topology
from pcn.topologies.serialise import from_dict

USABLE: Final = 0.5
"""Share of the machine that may go to packets: waiting packets are late packets, and the start
brings a burst."""
ARRIVAL_COST: Final = {"softswitch": 1.0, "engine": 1.0, "bmv2": 18.0}
"""What a switch, on one core, needs to take a packet in, in rounds of the calibration's loop. BMv2
lost packets of the victim scenario's bursts at k = 2,400, 3,000 and 4,000, and none at 6,000; PAUSE
by recirculation is in this."""
HOP_COST: Final = {"softswitch": 5.2, "engine": 5.2, "bmv2": 29.0}
"""What a switch needs for a packet that goes from one link to the next. The dumbbell's two took 78%
of a core at 7,870 packets a second, 50 us each, one at 2,950 packets a second 62 us; a round took
12 us then."""
Links = Literal["kernel", "processes", "together"]
"""Of switches: by the kernel, in memory between processes of one switch each, or in the memory of
one process."""
MEMORY_HOP_COST: Final[dict[Links, float]] = {"processes": 0.7, "together": 0.4}
"""The same of links in memory. With 16 hosts of the fat-tree at line rate, each to its neighbour
over 2.5 switches, a packet took 1.8 us in all switches of a process at k = 800, 2.0 at 2,000, 3.4
at 4,000, and 3.7 in a process each at 2,000; a round took 2.9 us then."""
MANY_NODES: Final = 36
"""Nodes of the fat-tree, which the costs above are of. With more, caches hold less of what a packet
needs."""
MANY_COST: Final = {"agents": 0.12, "switches": 0.5}
"""The power of the number of nodes by which both grow beyond. clos, 568 nodes, at k = 24,000, each
host to its neighbour: 19.8 us in both agents, 5.9 in 1.2 switches, where a round took 2.9."""
NODE_COST: Final = 100.0
"""Rounds a second that an agent needs beside its packets: 0.3 ms of a core in each second."""
AGENTS_COST: Final = ((1_000, 9.7), (3_000, 3.8), (10_000, 1.7), (30_000, 0.8), (100_000, 0.5))
"""What the sending and the receiving agent need for a packet, by packets a second and flow
(docs/hosts.md)."""
AGENTS_MEMORY_COST: Final = ((1_000, 5.0), (3_000, 3.5), (100_000, 3.5))
"""The same of agents whose links are in memory: 16.8 us at 730 packets a second, 10 at 2,900 and
5,900, of hosts that either send or receive. Those that do both needed 4.5."""
LEAST_K: Final = 100.0
"""A late process distorts more the smaller k is."""
MUCH: Final = 10_000.0
"""A millisecond of the network then takes ten seconds."""
_TRIALS, _TRIAL_S = 8, 0.01
_MOST_USED: Final = 0.9
_LEAST_LEFT: Final = 0.1  # of USABLE, for packets, on a machine that is too slow for so many agents


@dataclass(frozen=True)
class Choice:
    """A k, and why it is this one."""

    k: float
    why: str

    @property
    def warning(self) -> str | None:
        """Where it takes long: what that means, and the way out."""
        if self.k <= MUCH:
            return None
        return (
            f"at k = {self.k:g} a millisecond of the network takes {self.k / 1e3:.0f} s. A smaller "
            "topology or lower rates (--set) need less; where few hosts send, a smaller -k does"
        )

    def shortfall(self, k: float) -> str | None:
        """Returns what another k, a user's, means, where it is smaller."""
        if k >= self.k:
            return None
        return (
            f"-k {k:g}: where all hosts send, this machine keeps pace from k = {self.k:g} on; with "
            "a smaller one switches and hosts may be late, which `pcn status` and `pcn watch` name"
        )


def choose(topology: Topology, target: str, links: Links = "kernel") -> Choice:
    """Returns a k for the topology on this machine as it is now, in two digits."""
    return stretch(topology, target, rounds_per_s(int(topology.number("mtu_bytes"))), links)


def stretch(
    topology: Topology, target: str, rounds: Sequence[float], links: Links = "kernel"
) -> Choice:
    """Returns the k at which packets of all hosts at line rate, over paths of mean length, take the
    share USABLE of `rounds`, which the cores carry a second (real); or a larger k, where a switch
    would lose what all its links bring at once."""
    bits = 8 * topology.number("mtu_bytes")
    nominal = [  # packets/s
        sum(topology.link_at(host.name, port).rate_bps for port in topology.ports(host.name)) / bits
        for host in topology.hosts
    ]
    hops = mean_hops(topology)
    more = max(1.0, (len(topology.hosts) + len(topology.switches)) / MANY_NODES)
    hop_cost: float = MEMORY_HOP_COST.get(links, HOP_COST[target]) * more ** MANY_COST["switches"]
    agents_more: float = more ** MANY_COST["agents"]
    usable = USABLE * sum(rounds)
    usable = max(usable - len(topology.hosts) * NODE_COST, usable * _LEAST_LEFT)

    def load(k: float) -> float:
        switches = sum(nominal) / k * hops * hop_cost
        agents = agents_more * sum(
            rate / k * agents_cost(rate / k, links != "kernel") for rate in nominal
        )
        return switches + agents

    carried = _least(lambda k: load(k) <= usable)
    arrivals = at_once_bps(topology) / bits * ARRIVAL_COST[target] / min(rounds)
    k = rounded_up(max(LEAST_K, carried, arrivals))
    why = (
        f"its {len(nominal)} hosts at line rate then send {sum(nominal) / k:,.0f} packets a second "
        f"(real), each over {hops:.1f} switches, which half of this machine's {len(rounds)} cores "
        "carry now"
    )
    return Choice(k, why)


def agents_cost(packets_per_s: float, in_memory: bool = False) -> float:
    """Rounds a packet, of both agents: waking up is shared by packets that are close together."""
    costs = AGENTS_MEMORY_COST if in_memory else AGENTS_COST
    if packets_per_s <= costs[0][0]:
        return costs[0][1]
    for (slow, more), (fast, less) in pairwise(costs):
        if packets_per_s <= fast:
            part = math.log(packets_per_s / slow) / math.log(fast / slow)
            return more * math.exp(part * math.log(less / more))
    return costs[-1][1]


def mean_hops(topology: Topology) -> float:
    """Returns the switches between two hosts, over all pairs."""
    at: dict[str, list[str]] = {}
    for host in topology.hosts:
        at.setdefault(topology.peer(host.name, 0).node, []).append(host.name)
    hops = pairs = 0
    for place, some in at.items():
        for others in at.values():
            many = len(some) * (len(others) - (others is some))
            hops += many * topology.distance(place, others[0])
            pairs += many
    return hops / pairs if pairs else 1.0


def at_once_bps(topology: Topology) -> float:
    """Returns what all links of a switch bring together, of the switch with most."""
    switches = (switch.name for switch in topology.switches)
    return max(
        sum(link.rate_bps for link in topology.links if name in (link.a.node, link.b.node))
        for name in switches
    )


def rounds_per_s(frame_bytes: int) -> list[float]:
    """Rounds of the loop a second, of each core that this process may use, all at work, beside
    networks that are up."""
    context = multiprocessing.get_context("fork")
    workers = []
    with signals.deferred():  # in the middle of a fork an exception would be swallowed
        for _ in range(len(os.sched_getaffinity(0))):
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(target=_work, args=(theirs, frame_bytes), daemon=True)
            worker.start()
            theirs.close()
            workers.append((worker, ours))
    rounds = []
    for worker, ours in workers:
        rounds.append(float(ours.recv()))
        worker.join()
        ours.close()
    free = 1 - used_by_networks()
    return [free * round_ for round_ in rounds]


def _work(result: Connection, frame_bytes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the parent's, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    frame = bytearray(frame_bytes)
    best = 0.0
    for _ in range(_TRIALS):
        rounds = 0
        start = time.process_time()
        while (elapsed := time.process_time() - start) < _TRIAL_S:
            for _ in range(64):
                frame[-4:] = zlib.crc32(frame).to_bytes(4, "little")
                sender.send(frame)
                receiver.recv_into(frame)
            rounds += 64
        best = max(best, rounds / elapsed)
    result.send(best)


def used_by_networks() -> float:
    """Returns the share of this machine that nodes of this user's networks use now."""
    used = 0.0
    with suppress(journal.RunDirError):
        for name in filter(journal.is_held, journal.names()):
            record = journal.load(name)
            path = Path(record.board if record else "")
            # a network may start or end just now
            with (
                suppress(StartError),
                closing(Board.open(path)) as board,
            ):
                used += board.used_percent(time.monotonic_ns())[0] / 100
    return min(used, _MOST_USED)


def _least(enough: Callable[[float], bool]) -> float:
    """Returns the least k that is enough, within 1%; more always is."""
    low, high = 1.0, 2.0
    while not enough(high):
        low, high = high, 2 * high
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def main() -> None:
    """Prints the choice for the topology on stdin as a JSON object."""
    choice = choose(from_dict(json.load(sys.stdin)), sys.argv[1])
    print(json.dumps({"k": choice.k, "why": choice.why, "warning": choice.warning}))


if __name__ == "__main__":
    main()
