"""What several processes, or cores, bring to a run, where there are none: `python -m bench.parts`.

The Clos of 2,048 hosts at a load of 0.6, PCN, each host's flows one after the other. Work is
counted in events, which no busy machine changes: in each exchange the slowest part is the one with
the most, and the sum of its events over all exchanges, over the events of one process, is the share
of the time that cores leave, where exchanges cost nothing. Besides, frames and bytes that crossed
cuts, and the largest memory of a process.

    python -m bench.parts                             parts as threads of this process: counts alone
    mpirun -n 4 python -m bench.parts --processes     each process a part; its memory, the digest
    python -m bench.parts --processes                 the same in one process

Under `valgrind --tool=callgrind` a process counts instructions; those of libvirtualnet, program and
libsoftswitch are the run's. Not a test.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.virtual import spread
from pcn.base import mpirun
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.model import FlowSpec, Topology
from pcn.virtualnet.counts import PartStats
from pcn.virtualnet.part_threads import in_threads
from pcn.virtualnet.parts import Transport, gather

PODS_OF_64_HOSTS = 32


@dataclass(frozen=True)
class Measured:
    """Of one part. `bare_mb`, `start_mb`: the largest that the process was with the topology and
    its flows alone, and when the network was there."""

    stats: PartStats
    digest: int
    events: int
    hops: int
    cpu_s: float
    bare_mb: float
    start_mb: float
    most_mb: float

    def __str__(self) -> str:
        return (
            f"run {self.cpu_s:.2f} s of CPU, looks for letters among them; {self.bare_mb:.0f} MB "
            f"without a network, {self.start_mb:.0f} before the run, {self.most_mb:.0f} at most"
        )


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(
    topology: Topology, flows: Sequence[FlowSpec], until_s: float, transport: Transport | None
) -> Measured:
    bare_mb = memory_mb()
    scheme = find_scheme("pcn").configure({"period_s": 50e-6, "w_min": 1 / 128})
    with VirtualNetwork(topology, scheme, transport=transport) as network:
        network.add_flows((flow, None, None) for flow in flows)
        start_mb, began_s = memory_mb(), time.thread_time()
        network.run(until_s=until_s)
        cpu_s, stats = time.thread_time() - began_s, network.part_stats()
        network.gather()
        totals = network.totals()
    return Measured(
        stats,
        totals.digest,
        totals.events,
        totals.traversals,
        cpu_s,
        bare_mb,
        start_mb,
        memory_mb(),
    )


def line(n: int, parts: Sequence[Measured], until_s: float) -> str:
    first = parts[0]
    most, frames = max(of.stats.events for of in parts), sum(of.stats.frames_out for of in parts)
    sent = sum(of.stats.bytes_out for of in parts)
    return (
        f"{n:>2} parts: {first.events:,} events, {first.hops:,} hops, digest {first.digest:016x}; "
        f"the largest part has {most / first.events:.3f} of them, the slowest of each exchange "
        f"{first.stats.longest_events / first.events:.3f} ({first.stats.exchanges:,} exchanges in "
        f"{first.stats.rounds:,} rounds); {frames:,} frames over cuts, {frames / first.hops:.3f} a "
        f"hop, {sent / max(frames, 1):.0f} bytes each, {sent / 1e6 / (until_s * 1e3):.2f} MB a "
        "simulated ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pods", type=int, default=PODS_OF_64_HOSTS, help="of 64 hosts")
    parser.add_argument("--flows", type=int, default=20, help="of a host")
    parser.add_argument("--duration", type=float, default=2e-4, help="simulated seconds")
    parser.add_argument("--parts", default="2,4,8,16", help="numbers of threads")
    parser.add_argument("--processes", action="store_true", help="of mpirun, or this one alone")
    arguments = parser.parse_args()
    topology, flows = spread(clos(pods=arguments.pods), 1, arguments.flows)
    flows = [flow for flow in flows if flow.start_s < arguments.duration]
    if not arguments.processes:
        for n in map(int, arguments.parts.split(",")):
            parts = in_threads(
                n, lambda transport: measure(topology, flows, arguments.duration, transport)
            )
            print(line(n, parts, arguments.duration), flush=True)
        return
    world = None
    if mpirun.processes() > 1:
        from pcn.virtualnet.mpi import World

        world = World()
    measured = measure(topology, flows, arguments.duration, world)
    if world is None:
        print(f"one process: {measured.events:,} events, digest {measured.digest:016x}; {measured}")
        return
    if parts := gather(world, measured):
        print(line(world.n, parts, arguments.duration))
        for number, of in enumerate(parts):
            print(f"    process {number}: {of.stats.events:,} events; {of}", flush=True)
    world.close()


if __name__ == "__main__":
    main()
