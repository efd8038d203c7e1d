"""A switch's ports may count from 0, as they do in p4sim's examples."""

from dataclasses import replace

import pytest

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import Endpoint, Topology


def counted_from(first: int) -> Topology:
    """The dumbbell, its switches' ports counted from `first`."""
    topology = dumbbell(pairs=2)
    hosts = {host.name for host in topology.hosts}

    def moved(end: Endpoint) -> Endpoint:
        return end if end.node in hosts else Endpoint(end.node, end.port - 1 + first)

    links = tuple(replace(link, a=moved(link.a), b=moved(link.b)) for link in topology.links)
    node, port = str(topology.parameters["bottleneck"]).split(":")
    bottleneck = str(moved(Endpoint(node, int(port))))
    return replace(
        topology, links=links, parameters={**topology.parameters, "bottleneck": bottleneck}
    )


@pytest.mark.parametrize("scheme", ["pcn", "dcqcn", "qcn"])
def test_run_is_the_same_with_ports_from_0(scheme):
    seen = []
    for first in (1, 0):
        topology = counted_from(first)
        with VirtualNetwork(topology, find_scheme(scheme).configure({})) as network:
            for flow in topology.flows:
                network.add_flow(flow)
            network.run(until_s=1e-3)
            totals = network.totals()
            seen.append((totals.events, totals.traversals, totals.dropped, totals.packets))
    assert seen[0] == seen[1]
    assert seen[0][1] > 0
