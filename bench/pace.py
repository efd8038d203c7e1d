"""What the pace of real time costs, and how late events come: a run as fast as it can, and the same
divided by k. Not a test.

    .venv/bin/python bench/pace.py [dumbbell=200 fat-tree=50 clos=500] [--duration 3e-3]

In the fat-tree and the Clos of 512 hosts all hosts send to the next for two thirds of the time,
then all to one; the dumbbell has its four flows, 50 times as long. Prints k, wall and CPU seconds,
CPU microseconds a hop with and without the pace, wake-ups with events, and bounds of lateness.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec, Topology

NETWORKS: dict[str, Callable[[], Topology]] = {
    "dumbbell": dumbbell,
    "fat-tree": fat_tree,
    "clos": clos,
}


def measure(name: str, duration_s: float, k: float | None) -> tuple[float, int, str]:
    """Returns CPU us a hop, the run's digest, and what it prints."""
    topology = NETWORKS[name]()
    flows, end_s = topology.flows, 50 * duration_s
    if not flows:
        hosts, end_s = [host.name for host in topology.hosts], duration_s
        turn_s = end_s * 2 / 3
        after = zip(hosts, [*hosts[1:], hosts[0]], strict=True)
        flows = tuple(
            FlowSpec(number, src, dst, duration_s=turn_s)
            for number, (src, dst) in enumerate(after, start=1)
        ) + tuple(
            FlowSpec(len(hosts) + number, src, hosts[0], start_s=turn_s, duration_s=end_s - turn_s)
            for number, src in enumerate(hosts[1:], start=1)
        )
    with VirtualNetwork(topology, find_scheme("pcn").configure()) as network:
        network.add_flows((flow, None, None) for flow in flows)
        network.pace(k)
        wall_s, cpu_s = time.monotonic(), time.thread_time()
        network.run(until_s=end_s)
        wall_s, cpu_s = time.monotonic() - wall_s, time.thread_time() - cpu_s
        totals = network.totals()
        text = f"{wall_s:.2f} s of {end_s * (k or 0):.2f}, CPU {cpu_s:.2f} s"
        if k is not None:
            text += f"; {network.lateness().batches:,} wake-ups; {network.lateness()}"
        return cpu_s / totals.traversals * 1e6, totals.digest, text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "networks",
        nargs="*",
        default=["dumbbell=200", "fat-tree=50", "clos=500"],
        metavar="NETWORK=K",
        help=f"{', '.join(NETWORKS)}",
    )
    parser.add_argument("--duration", type=float, default=3e-3, help="simulated seconds")
    arguments = parser.parse_args()
    for words in arguments.networks:
        name, _, k = words.partition("=")
        free_us, digest, _ = measure(name, arguments.duration, None)
        paced_us, paced_digest, text = measure(name, arguments.duration, float(k))
        assert digest == paced_digest
        print(f"{name}, k = {k}: {paced_us:.2f} us a hop for {free_us:.2f}; {text}")


if __name__ == "__main__":
    main()
