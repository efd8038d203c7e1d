"""Virtual time: the compiled P4 program and the host algorithms at exact line rate, deterministic, on one core.

    from virtualnet import VirtualNetwork
    from topologies.dumbbell import dumbbell
    from hosts.algorithms import find_scheme

    topology = dumbbell()
    with VirtualNetwork(topology, find_scheme("pcn").configure({"period_s": 500e-6})) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        queue = network.sample(1e-6, [network.queue_bytes("s0", 4)])
        network.run(until_s=0.05)
        print(queue.values.max(), network.flows[1].stats().received_payload)

docs/virtualnet.md tells what is modelled and how.
"""

from __future__ import annotations

from virtualnet.errors import CallbackError, VirtualError
from virtualnet.flows import FlowStats, VirtualFlow
from virtualnet.network import Deadlock, LinkStats, Totals, VirtualNetwork
from virtualnet.samples import Samples, Source
from virtualnet.switch import VirtualSwitch

__all__ = [
    "CallbackError",
    "Deadlock",
    "FlowStats",
    "LinkStats",
    "Samples",
    "Source",
    "Totals",
    "VirtualError",
    "VirtualFlow",
    "VirtualNetwork",
    "VirtualSwitch",
]
