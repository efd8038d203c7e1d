"""Networks with flows for each thing that a network may have, by its name: a topology, flows, and
options of VirtualNetwork."""

from dataclasses import replace
from typing import Any

import numpy as np

from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats
from pcn.topologies.buffers import OutputBuffer, Share, SharedBuffer
from pcn.topologies.compact import compact
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.lossless import CREDITS, credit_parameters
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.switch import ROUND_ROBIN
from pcn.topologies.watchdog import DROP, Watchdog

SIZES = (700, 3_000, 12_000, 60_000, 250_000)
FABRIC = {"rate_bps": 10e9, "delay_s": 1e-6, "xoff_bytes": 30e3, "xon_bytes": 20e3}


def with_switches(topology: Topology, **fields) -> Topology:
    return replace(
        topology, switches=tuple(replace(switch, **fields) for switch in topology.switches)
    )


def random_flows(topology: Topology, n: int, seed: int = 1) -> tuple[FlowSpec, ...]:
    random = np.random.default_rng(seed)
    hosts = [host.name for host in topology.hosts]
    starts = random.uniform(0, 100e-6, n)
    pairs = [random.permutation(len(hosts))[:2] for _ in range(n)]
    return tuple(
        FlowSpec(i, hosts[a], hosts[b], float(start_s), int(random.choice(SIZES)))
        for i, ((a, b), start_s) in enumerate(zip(pairs, starts, strict=True))
    )


def incast(topology: Topology) -> tuple[FlowSpec, ...]:
    """Four to h0 from other pods, one to its neighbour, and one from the neighbour of a sender."""
    pairs = [("h4", "h0"), ("h6", "h0"), ("h8", "h0"), ("h10", "h0"), ("h9", "h1"), ("h5", "h12")]
    return tuple(FlowSpec(i, a, b, 1e-6 * i, 60_000) for i, (a, b) in enumerate(pairs))


def victim() -> tuple[Topology, tuple[FlowSpec, ...], dict[str, Any]]:
    topology = compact(senders=6, **FABRIC)
    bursts = [FlowSpec(10 + i, f"h{2 + i % 4}", "r1", 50e-6, 20_000) for i in range(12)]
    long = [replace(flow, size_bytes=200_000) for flow in topology.flows]
    return topology, (*long, *bursts), {}


def by_feature() -> dict[str, tuple[Topology, tuple[FlowSpec, ...], dict[str, Any]]]:
    tree = fat_tree(4, **FABRIC)
    pair = compact(senders=4, **FABRIC)
    selective = {3: Reliability(Repeats.SELECTIVE, timeout_s=200e-6, reordering_s=20e-6)}
    lossy = replace(
        pair, parameters={**pair.parameters, "lossless_classes": "4", "queue_packets": 20}
    )
    credits = replace(
        pair,
        flow_control=CREDITS,
        parameters={**credit_parameters(buffer_bytes=40e3), "mtu_bytes": 1058},
    )
    return {
        "victim": victim(),
        "in-cast": (tree, incast(tree), {}),
        "websearch": (tree, random_flows(tree, 60), {}),
        "lossy": (lossy, random_flows(lossy, 30), {"reliability": selective}),
        "spraying": (
            tree,
            random_flows(tree, 30),
            {"paths": Paths(per="packet"), "reliability": selective},
        ),
        "pool": (
            with_switches(pair, buffer=SharedBuffer(400e3, (Share(alpha=1 / 16),))),
            random_flows(pair, 30),
            {},
        ),
        "output buffer": (
            with_switches(pair, output=OutputBuffer(20e3)),
            random_flows(pair, 30),
            {},
        ),
        "credits": (credits, random_flows(credits, 30), {}),
        "cut-through": (
            with_switches(pair, latency_s=500e-9, cut_through=True),
            random_flows(pair, 30),
            {},
        ),
    }


def of_switches_alone() -> dict[str, tuple[Topology, tuple[FlowSpec, ...], dict[str, Any]]]:
    """Likewise, of orders at outputs, the watchdog, and flows that wait for others."""
    pair = compact(senders=4, **FABRIC)
    flows = random_flows(pair, 30)
    waiting = tuple(replace(flow, after=(flow.id - 1,) if flow.id % 3 else ()) for flow in flows)
    weights = Schedule(tuple(range(1, 9)))
    watchdog = Watchdog(DROP, detection_s=20e-6, restoration_s=40e-6, poll_s=10e-6)
    return {
        "round robin": (with_switches(pair, arbitration=ROUND_ROBIN), flows, {}),
        "weights": (with_switches(pair, schedules=(weights,)), flows, {}),
        "watchdog": (with_switches(pair, watchdog=watchdog), flows, {}),
        "after": (pair, waiting, {}),
    }
