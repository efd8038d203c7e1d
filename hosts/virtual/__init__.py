"""Virtual time: the compiled P4 program and the host algorithms at exact line rate, deterministic,
on one core.

    from pcn.hosts.virtual import VirtualNetwork
    from pcn.topologies.dumbbell import dumbbell
    from pcn.hosts.algorithms import find_scheme

    topology = dumbbell()
    with VirtualNetwork(topology, find_scheme("pcn").configure({"period_s": 500e-6})) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        queue = network.sample(1e-6, [network.queue_bytes("s0", 4)])
        network.run(until_s=0.05)
        print(queue.values.max(), network.flows[1].stats().received_payload)

docs/virtualnet.md describes the model.
"""

from __future__ import annotations

from pcn.hosts.virtual.flows import FlowStats, VirtualFlow
from pcn.hosts.virtual.network import VirtualNetwork

__all__ = ["FlowStats", "VirtualFlow", "VirtualNetwork"]
