"""Nodes with names as people write them: in a live network, and at Mininet's prompt."""

import os
import uuid
from dataclasses import replace

import forks
import needs
import pytest
from waiting import wait_until

from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import Endpoint, Topology

NAMES = {
    "h0": "0",
    "r0": "GPU-1_b",
    "s0": "Superspine-of-the-left-hand-side-01",
    "s1": "superspine_02",
}


def renamed(topology: Topology) -> Topology:
    def end(endpoint: Endpoint) -> Endpoint:
        return Endpoint(NAMES[endpoint.node], endpoint.port)

    return replace(
        topology,
        hosts=tuple(replace(host, name=NAMES[host.name]) for host in topology.hosts),
        switches=tuple(replace(switch, name=NAMES[switch.name]) for switch in topology.switches),
        links=tuple(replace(link, a=end(link.a), b=end(link.b)) for link in topology.links),
        flows=tuple(
            replace(flow, src=NAMES[flow.src], dst=NAMES[flow.dst]) for flow in topology.flows
        ),
    )


@pytest.mark.root
@pytest.mark.parametrize("target", needs.TARGETS)
def test_live_network_takes_names_as_people_write_them(target, tmp_path):
    topology = renamed(dumbbell(pairs=1))
    with Lab(
        topology,
        log_dir=tmp_path,
        name=f"a{os.getpid()}-{uuid.uuid4().hex[:8]}",
        target=needs.target(target),
        dilation=500,
        scheme="dcqcn",
    ) as lab:
        (number,) = flows.start(lab.topology, lab.agents, "0", "GPU-1_b", size_bytes=10_000)
        wait_until(
            lambda: any(flow.flow == number for flow in lab.agents["GPU-1_b"].stats().received),
            "the flow",
        )
        wait_until(lambda: lab.agents["0"].flows()[0].state == "done", "the flow's end")
        commands = (
            forks.run("pcn", "exec", "-n", lab.record.name, node, "ip", "-br", "link")
            for node in lab.record.nodes
        )
        net = "".join(done.stdout for done in commands)
        interfaces = {end.interface for link in topology.links for end in (link.a, link.b)}
        assert all(len(name) <= 15 and name in net for name in interfaces)
        assert {
            interface for node in lab.record.nodes.values() for interface in node.interfaces
        } == interfaces
