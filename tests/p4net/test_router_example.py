"""examples/router: its network forwards as its files have it."""

import pytest
from exercise import EXAMPLE

from pcn.p4net import sending
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4


@pytest.mark.parametrize("queues", ["one", "nodes"])
def test_each_host_reaches_each_other(queues):
    with VirtualP4(read_exercise(EXAMPLE), queues=queues) as network:
        sending.each_to_each(network)
        network.run(until_s=1.0)
        assert {host.name: len(network.arrived(host.name)) for host in network.topology.hosts} == {
            "h1": 2,
            "h2": 2,
            "h3": 2,
        }
        assert network.switches["s2"].read_register("threshold", 0) == 20
