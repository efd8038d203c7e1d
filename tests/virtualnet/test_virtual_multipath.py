"""ECMP: a flow's five-tuple decides its path; flows share all shortest ones."""

import zlib

import pytest
from networks import PFC_ONLY, with_flows

from pcn.hosts import wire
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Endpoint, FlowSpec, Topology
from pcn.virtualnet import Totals

TOPOLOGY = fat_tree(4)


def predicted(topology: Topology, flow: FlowSpec) -> set[Endpoint]:
    """The endpoints that transmit the flow's data: by CRC-32 of its five-tuple, other bits at each
    distance."""
    src, dst = topology.host(flow.src), topology.host(flow.dst)
    ports = wire.source_port(flow.id).to_bytes(2, "big") + wire.ROCE_PORT.to_bytes(2, "big")
    value = zlib.crc32(
        wire.parse_ip(src.ip) + wire.parse_ip(dst.ip) + bytes((wire.PROTOCOL_UDP,)) + ports
    )
    ends, node = set(), flow.src
    while node != flow.dst:
        hops, distance = topology.next_hops(node, flow.dst), topology.distance(node, flow.dst)
        port = hops[(value >> 8 * (distance % 4)) % len(hops)]
        ends.add(Endpoint(node, port))
        node = topology.peer(node, port).node
    return ends


def test_a_flow_has_one_path_which_its_five_tuple_decides():
    ends = [
        Endpoint(node.name, port)
        for node in TOPOLOGY.switches
        for port in TOPOLOGY.ports(node.name)
    ]
    seen = set()
    with VirtualNetwork(TOPOLOGY, PFC_ONLY) as network:
        before = dict.fromkeys(ends, 0)
        for i in range(1, 25):
            flow = FlowSpec(i, f"h{i % 3}", f"h{15 - i % 2}", start_s=i * 1e-3, size_bytes=50_000)
            network.add_flow(flow)
            network.run(until_s=(i + 1) * 1e-3)
            after = {end: network.link_stats(end.node, end.port).packets for end in ends}
            took = {end: after[end] - before[end] for end in ends if after[end] != before[end]}
            assert took == dict.fromkeys(predicted(TOPOLOGY, flow) - {Endpoint(flow.src, 0)}, 50)
            seen |= took.keys()
            before = after
    upward = {end for end in ends if end.node in ("e0", "e1", "a0", "a1") and end.port > 2}
    assert upward <= seen, "flows take every way up"


def permutation(**options) -> tuple[Totals, list[int]]:
    """Each host sends ten flows to the one half the tree away: totals, and packets of each link to
    a core."""
    flows = [
        FlowSpec(
            10 * i + j, f"h{i}", f"h{(i + 8) % 16}", start_s=j * 3e-6, size_bytes=30_000 + 1000 * j
        )
        for i in range(16)
        for j in range(10)
    ]
    with with_flows(VirtualNetwork(TOPOLOGY, PFC_ONLY, **options), flows) as network:
        assert network.run(until_s=5e-3, finish=True)
        assert all(flow.stats().out_of_order == 0 for flow in network.flows.values())
        ups = [network.link_stats(f"a{i}", port).packets for i in range(8) for port in (3, 4)]
        return network.totals(), ups


@pytest.fixture(scope="module")
def reference() -> tuple[Totals, list[int]]:
    return permutation()


def test_flows_share_the_cores_and_stay_in_order(reference: tuple[Totals, list[int]]):
    totals, ups = reference
    assert totals.dropped == 0
    assert min(ups) > sum(ups) / len(ups) / 3


@pytest.mark.parametrize("options", [{"queues": "one"}, {"inplace": False}])
def test_it_is_the_same_run_in_each_design(options, reference: tuple[Totals, list[int]]):
    assert permutation(**options) == reference
