"""Traffic classes: each flow in its own, PFC by class, strict priorities."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from networks import PFC_ONLY, chain, star, with_flows

from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.lossless import CONTROL_CLASS, CREDITS, classes
from pcn.topologies.model import FlowSpec, Topology, TopologyError
from pcn.virtualnet import VirtualError


def lossless_in(topology: Topology, names: str) -> Topology:
    return replace(topology, parameters={**topology.parameters, "lossless_classes": names})


@pytest.mark.parametrize("inplace", [True, False])
def test_pfc_protects_the_topology_s_classes_each_by_itself(inplace):
    """Two hosts send in class 5, two in class 3; class 4 isn't protected, and loses what goes
    beyond 16 MiB."""
    topology = lossless_in(star(6, xoff_bytes=30e3), "3,5")
    with VirtualNetwork(topology, PFC_ONLY, inplace=inplace) as network:
        used = (5, 5, 3, 3, 4, 4)
        sent = {3: 5000, 4: 10_000, 5: 5000}
        specs = [
            FlowSpec(n, f"h{n}", "r0", size_bytes=sent[c] * 1000, traffic_class=c)
            for n, c in enumerate(used)
        ]
        with_flows(network, specs)
        network.run(until_s=50e-3)
        for number, traffic_class in enumerate(used):
            paused = network.link_stats("s0", number + 1).pause_by_class
            assert [number for number, count in enumerate(paused) if count] == (
                [traffic_class] if traffic_class != 4 else []
            )
            assert network.link_stats("s0", number + 1).pause == sum(paused)
            arrived = network.flows[number].stats().received_packets
            assert (arrived == sent[traffic_class]) is (traffic_class != 4)
        lost = sum(sent[4] - network.flows[number].stats().received_packets for number in (4, 5))
        assert network.link_stats("s0", 7).refused == lost


def test_a_higher_class_goes_first():
    topology = lossless_in(star(2), "3,5")
    with VirtualNetwork(topology, PFC_ONLY) as network:
        specs = [
            FlowSpec(n, f"h{n}", "r0", size_bytes=1_000_000, traffic_class=traffic_class)
            for n, traffic_class in enumerate((3, 5))
        ]
        low, high = (network.add_flow(spec) for spec in specs)
        assert network.run(until_s=10e-3, finish=True)
        alone_s = 1000 * 1058 * 8 / 10e9
        assert high.stats().complete_s == pytest.approx(alone_s, rel=0.02)
        assert low.stats().complete_s == pytest.approx(2 * alone_s, rel=0.02)


def test_a_paused_class_holds_no_other_at_its_host():
    """h0's class 3 is paused by s1, whose link to r0 is down; class 5 to r1 goes on."""
    topology = lossless_in(chain(2, xoff_bytes=20e3), "3,5")
    with VirtualNetwork(topology, PFC_ONLY) as network:
        stopped = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
        network.set_link("s1", 2, up=False)
        network.run(until_s=200e-6)
        assert stopped.stats().received_packets == 0
        assert network.link_stats("s0", 1).pause_by_class[3] > 0
        moving = network.add_flow(FlowSpec(2, "h0", "r0", 200e-6, 10_000, traffic_class=5))
        network.run(until_s=300e-6)
        assert moving.stats().sent_packets == 10
        network.set_link("s1", 2, up=True)
        assert network.run(until_s=10e-3, finish=True)


def test_cnps_come_back_to_flows_of_every_class():
    topology = lossless_in(star(3, out_bps=5e9), "1,3,6")
    with VirtualNetwork(topology, find_scheme("dcqcn").configure()) as network:
        used = (1, 3, 6)
        flows = [
            network.add_flow(FlowSpec(n, f"h{n}", "r0", traffic_class=traffic_class))
            for n, traffic_class in enumerate(used)
        ]
        network.run(until_s=5e-3)
        assert flows[2].stats().cnps_received > 0
        assert flows[2].stats().marked_ce > 0


def test_a_class_that_does_not_exist_is_refused():
    with pytest.raises(TopologyError, match="flow 1: class 8: 0 to 7 are possible"):
        replace(star(1), flows=(FlowSpec(1, "h0", "r0", traffic_class=8),))
    with (
        VirtualNetwork(star(1), PFC_ONLY) as network,
        pytest.raises(VirtualError, match="flow 1: class -1"),
    ):
        network.add_flow(FlowSpec(1, "h0", "r0", traffic_class=-1))


@pytest.mark.parametrize("names", ["", "8", "3,3", "three", "3;4", "-1", "3,"])
def test_what_names_no_lossless_classes_is_refused(names):
    with pytest.raises(
        TopologyError,
        match=r"star: lossless_classes .*: classes from 0 to 7, each once, as 3 or 3,4",
    ):
        lossless_in(star(1), names)


def test_the_class_of_cnps_can_be_lossless_by_credits_alone():
    """With PFC they obey no PAUSE: more came in than XOFF and headroom are for, which ended a
    run."""
    assert wire.DSCP_CNP >> 3 == CONTROL_CLASS
    with pytest.raises(
        TopologyError,
        match="star: lossless_classes '3,7': class 7 has CNPs and ACKs, which obey no",
    ):
        lossless_in(star(1), "3,7")
    assert lossless_in(replace(star(1), flow_control=CREDITS), "3,7").lossless_classes == (3, 7)


@given(st.sets(st.integers(0, 6), min_size=1))
def test_lossless_classes_are_read_as_they_are_written(numbers):
    assert classes(", ".join(map(str, sorted(numbers, reverse=True)))) == tuple(sorted(numbers))
    assert lossless_in(star(1), ",".join(map(str, numbers))).lossless_classes == tuple(
        sorted(numbers)
    )
