"""k = auto: how far time has to be stretched so that this machine carries the scenario's packets.

What costs is the agents: waking up, reading a packet from a socket, checking it, making and sending the next. The
calibration does the like, a datagram of a data packet's size through a socket and a CRC over it, in one process a core
at once, for `_TRIAL_S`. From that follows how many packets a second the cores handle, and from the scenario how many a
nominal second has; and how many a switch can take in, which must do for all that its links bring at once, or some are
lost before they are counted. It sees the load that other programs put on the machine at that time; it knows nothing of
later.

The run itself checks whether the agents and switches kept pace, and has the last word.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import socket
import time
import zlib
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Final

from experiments.plan import Plan
from softswitch import signals
from topologies.model import Topology

_TRIAL_S = 0.4
COST: Final = {"softswitch": 12.0, "bmv2": 60.0}
"""What two agents and the switches need for a packet, over a round of the calibration's loop, by target. Measured on
two cores: 20 programs of the victim scenario took 40% of a core at k = 1000 and 4,150 packets a second, the dumbbell's
8 took 113% at k = 150 and 7,870; with BMv2 the dumbbell needed k = 640."""
ARRIVAL_COST: Final = {"softswitch": 1.0, "bmv2": 18.0}
"""What a switch, on one core, needs to take a packet in, in the same rounds. BMv2 lost packets of the victim scenario's
bursts at k = 2,400, 3,000 and 4,000, and none at 6,000; PAUSE by recirculation is in this."""
USABLE = 0.5
"""Share of the machine that may go to packets: waiting packets are late packets, and the start brings a burst."""


def choose(plan: Plan, target: str) -> float:
    """A k for `plan` on this machine as it is now, in steps of 20. Whether that was enough, the run itself tells."""
    return stretch(plan, target, rounds_per_s(plan.frame_bytes))


def stretch(plan: Plan, target: str, rounds: Sequence[float]) -> float:
    """The k, within the plan's limits, at which its packets take USABLE of so many `rounds` a second (real), of each
    core; beyond these limits where a switch would lose what all its links bring at once."""
    assert plan.live
    bits = 8 * plan.frame_bytes
    k = plan.live.load_bps / bits * COST[target] / (USABLE * sum(rounds))
    least = _at_once_bps(plan.topology) / bits * ARRIVAL_COST[target] / min(rounds)
    return math.ceil(max(least, min(plan.live.most_k, max(plan.live.least_k, k))) / 20) * 20.0


def _at_once_bps(topology: Topology) -> float:
    """What all links of a switch bring together, of the switch with most."""
    switches = (switch.name for switch in topology.switches)
    return max(sum(link.rate_bps for link in topology.links if name in (link.a.node, link.b.node)) for name in switches)


def rounds_per_s(frame_bytes: int) -> list[float]:
    """Rounds of the loop a second, of each core that this process may use, all at work."""
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
    return rounds


def _work(result: Connection, frame_bytes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the parent's, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    frame = bytearray(frame_bytes)
    rounds = 0
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < _TRIAL_S:
        for _ in range(64):
            frame[-4:] = zlib.crc32(frame).to_bytes(4, "little")
            one.send(frame)
            other.recv_into(frame)
        rounds += 64
    result.send(rounds / elapsed)
