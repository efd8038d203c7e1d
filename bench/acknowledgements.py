"""What an acknowledgement of each packet costs in virtual time: CPU time of a data packet, in turn.
Not a test.

    .venv/bin/python bench/acknowledgements.py [--repetitions 5] [--duration 3.6e-3]

16 flows cross a k = 4 fat-tree of 40 Gbit/s and 1 us a link, each to the host half the network and
one away: of 9 Gbit/s each, so that no queue decides, and at line rate, where paths collide. Prints
medians, and ratios to a rate alone.
"""

from __future__ import annotations

import argparse
import statistics
import time

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import recommended
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec

HOSTS = 16
RATES_BPS = {"9 Gbit/s each": 9e9, "line rate": None}
BEGIN_S = 0.4e-3
RUNS: dict[str, tuple[str, bool, dict[str, float]]] = {
    "a rate alone (pfc)": ("pfc", True, {}),
    "pcn": ("pcn", True, {}),
    "dctcp in C, an ACK each 8 packets": ("dctcp", True, {"ack_bytes": 8000}),
    "dctcp in C, an ACK each 2 packets": ("dctcp", True, {"ack_bytes": 2000}),
    "dctcp in C, an ACK a packet": ("dctcp", True, {}),
    "hpcc in C, an ACK a packet, telemetry": ("hpcc", True, {}),
    "dctcp in Python, an ACK a packet": ("dctcp", False, {}),
}


def cost_ns(
    duration_s: float, rate_bps: float | None, name: str, in_c: bool, settings: dict[str, float]
) -> float:
    topology, scheme = fat_tree(4, delay_s=1e-6), find_scheme(name)
    configured = scheme.configure({**recommended(topology, scheme), **settings})
    with VirtualNetwork(topology, configured, in_c=in_c) as network:
        for number in range(HOSTS):
            target = f"h{(number + HOSTS // 2 + 1) % HOSTS}"
            network.add_flow(FlowSpec(number + 1, f"h{number}", target, rate_bps=rate_bps))
        network.run(until_s=BEGIN_S)
        begun_s, before = time.process_time(), int(network.flow_stats()["received"].sum())
        network.run(until_s=BEGIN_S + duration_s)
        packets = int(network.flow_stats()["received"].sum()) - before
        return (time.process_time() - begun_s) / packets * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5, help="runs whose median counts")
    parser.add_argument("--duration", type=float, default=3.6e-3, help="simulated seconds of each")
    arguments = parser.parse_args()
    for how, rate_bps in RATES_BPS.items():
        by_name: dict[str, list[float]] = {run: [] for run in RUNS}
        for _ in range(arguments.repetitions):
            for name, run in RUNS.items():
                by_name[name].append(cost_ns(arguments.duration, rate_bps, *run))
        alone = next(iter(by_name.values()))
        print(how)
        for name, costs in by_name.items():
            ratio = statistics.median(cost / base for cost, base in zip(costs, alone, strict=True))
            print(f"  {name:40} {statistics.median(costs):6.0f} ns {ratio:5.2f}")


if __name__ == "__main__":
    main()
