"""What an acknowledgement of each packet costs in virtual time: CPU time of a data packet, in turn. Not a test.

    .venv/bin/python bench/acknowledgements.py [REPETITIONS]

16 flows of 9 Gb/s each cross a k = 4 fat-tree of 40 Gb/s, so that no queue decides. Prints medians, and ratios to a
rate alone.
"""

from __future__ import annotations

import statistics
import sys
import time

from hosts.algorithms import find_scheme
from hosts.recommended import recommended
from lab.virtual import VirtualNetwork
from topologies.fat_tree import fat_tree
from topologies.model import FlowSpec

HOSTS, RATE_BPS = 16, 9e9
BEGIN_S, END_S = 0.2e-3, 2e-3
RUNS: dict[str, tuple[str, bool, dict[str, float]]] = {
    "a rate alone (pfc)": ("pfc", True, {}),
    "pcn": ("pcn", True, {}),
    "dctcp in C, an ACK each 8 packets": ("dctcp", True, {"ack_bytes": 8000}),
    "dctcp in C, an ACK each 2 packets": ("dctcp", True, {"ack_bytes": 2000}),
    "dctcp in C, an ACK a packet": ("dctcp", True, {}),
    "hpcc in C, an ACK a packet, telemetry": ("hpcc", True, {}),
    "dctcp in Python, an ACK a packet": ("dctcp", False, {}),
}


def cost_ns(name: str, in_c: bool, settings: dict[str, float]) -> float:
    topology, scheme = fat_tree(4), find_scheme(name)
    configured = scheme.configure({**recommended(topology, scheme), **settings})
    with VirtualNetwork(topology, configured, in_c=in_c) as network:
        for number in range(HOSTS):
            target = f"h{(number + HOSTS // 2) % HOSTS}"
            network.add_flow(FlowSpec(number + 1, f"h{number}", target, rate_bps=RATE_BPS))
        network.run(until_s=BEGIN_S)
        begun_s, before = time.process_time(), int(network.flow_stats()["received"].sum())
        network.run(until_s=END_S)
        packets = int(network.flow_stats()["received"].sum()) - before
        return (time.process_time() - begun_s) / packets * 1e9


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found: dict[str, list[float]] = {what: [] for what in RUNS}
    for _ in range(repetitions):
        for what, run in RUNS.items():
            found[what].append(cost_ns(*run))
    alone = next(iter(found.values()))
    for what, each in found.items():
        ratio = statistics.median(one / other for one, other in zip(each, alone, strict=True))
        print(f"{what:40} {statistics.median(each):6.0f} ns {ratio:5.2f}")


if __name__ == "__main__":
    main()
