"""What a program gets from a network in virtual time for an unknown name: a line that names it."""

import math
from collections.abc import Iterator

import pytest
from networks import PFC_ONLY

from pcn import Endpoint, FlowSpec, LabError, Link, VirtualNetwork, compact


@pytest.fixture(scope="module")
def network() -> Iterator[VirtualNetwork]:
    topology = compact(senders=2)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        network.add_flow(FlowSpec(0, "h0", "r0", size_bytes=1000))
        network.run(until_s=1e-3)
        yield network


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net: net.link_stats("s1", 99), "s1 has no port 99; it has 1, 2, 3"),
        (lambda net: net.link("s1", 99), "s1 has no port 99; it has 1, 2, 3"),
        (
            lambda net: net.link_stats("s9", 1),
            "compact has no node 's9'; choose from h0, h1, r1, r0, s0, s1",
        ),
        (lambda net: net.queue_bytes("s1", 99), "s1 has no port 99; it has 1, 2, 3"),
        (lambda net: net.set_link("s0", 99, up=False), "s0 has no port 99; it has 1, 2, 3"),
        (
            lambda net: net.set_scheduler("s9", "fifo"),
            "compact has no node 's9'; choose from h0, h1, r1, r0, s0, s1",
        ),
        (lambda net: net.flows[9], "no flow 9; choose from 0"),
        (lambda net: net.stop_flow(9), "no flow 9; choose from 0"),
        (lambda net: net.run(until_s=0.5e-3), "until_s=0.0005: the network is at 0.001 s already"),
    ],
)
def test_network_names_what_is_not_there(network: VirtualNetwork, call, message):
    with pytest.raises(LabError) as caught:
        call(network)
    assert str(caught.value) == message


def test_network_runs_on_to_the_present_time_and_later(network: VirtualNetwork):
    network.run(until_s=1e-3)
    network.run(until_s=2e-3)
    assert network.now_s == 2e-3
    assert 9 not in network.flows
    assert network.flows.get(9) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start_s": "1ms"}, "flow 1: start_s '1ms' is no number: write 0.001"),
        ({"size_bytes": "64KB"}, "flow 1: size_bytes '64KB' is no number: write 64000"),
        ({"rate_bps": "5G"}, "flow 1: rate_bps '5G' is no number: write 5e+09"),
        ({"duration_s": "soon"}, "flow 1: duration_s 'soon' is no number"),
        ({"start_s": None}, "flow 1: start_s None is no number"),
        ({"size_bytes": 1, "duration_s": [2]}, "flow 1: duration_s [2] is no number"),
    ],
)
def test_flow_names_the_field_that_is_no_number(fields, message):
    with pytest.raises(LabError) as caught:
        FlowSpec(1, "h0", "r0", **fields)
    assert str(caught.value) == message


def test_link_names_the_field_that_is_no_number():
    ends = Endpoint("h0", 0), Endpoint("s0", 1)
    with pytest.raises(
        LabError, match=r"^link h0:0 - s0:1: rate_bps '10G' is no number: write 1e\+10$"
    ):
        Link(*ends, "10G", 1e-6)
    assert Link(*ends, math.inf, -math.inf).rate_bps == math.inf  # the topology refuses it


def test_log_of_pfc_describes_itself(network: VirtualNetwork):
    assert (
        repr(network.log_pfc())
        == f"PfcLog of {2 * len(network.topology.links)} ports: read() returns its events"
    )
