"""Routes that change some time after a link has gone down or come up."""

import math
from functools import partial
from ipaddress import IPv4Address

import pytest
from hypothesis import given, settings, strategies as st
from networks import PCN, PFC_ONLY, assert_one_outcome, with_flows

from pcn.controller.control_plane import TableAction, TableActions
from pcn.controller.reroute import read_routes, routes_of
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.buffers import OutputBuffer
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from pcn.virtualnet.errors import VirtualError

LOSSY = {3: Reliability(Repeats.GO_BACK_N, timeout_s=200e-6)}


def dual(hosts: int = 3, xoff_bytes: float = 100e3) -> Topology:
    """Hosts with a port each at `a` and `b`, which have no link."""
    links = [
        Link(Endpoint(f"h{number}", port), Endpoint(switch, number + 1), 25e9, 1e-6)
        for number in range(hosts)
        for port, switch in enumerate("ab")
    ]
    dual_hosts = make_hosts([f"h{number}" for number in range(hosts)])
    return Topology(
        "dual",
        dual_hosts,
        (Switch("a", 1), Switch("b", 2)),
        tuple(links),
        parameters={"xoff_bytes": xoff_bytes},
    )


def forwarding(network: VirtualNetwork, switch: str) -> dict[str, tuple[int, ...]]:
    """By host, the ports by which the entries of a switch send its packets; none: it drops them."""
    plane = network.switches[switch]
    groups = {}
    for entry in plane.read_table("next_hop_group"):
        if isinstance(entry.action, TableActions):
            assert entry.action.action_set is not None
            groups[entry.match["group"]] = tuple(
                action.args["port"] for _, action in entry.action.action_set
            )
    ports_by_host: dict[str, tuple[int, ...]] = {}
    for host in network.topology.hosts:
        best = -1
        for entry in plane.read_table("ipv4_lpm"):
            address, prefix = entry.match["dst_addr"] if entry.match else (0, 0)
            if (
                int(IPv4Address(host.ip)) >> (32 - prefix) == address >> (32 - prefix)
                and prefix > best
            ):
                best, action = prefix, entry.action
        assert isinstance(action, TableAction)
        by_group = groups[action.args["group_id"]] if action.name == "ipv4_multipath" else ()
        ports_by_host[host.name] = (
            (action.args["port"],) if action.name == "ipv4_forward" else by_group
        )
    return ports_by_host


def test_flows_of_a_nic_go_by_the_other_and_come_back():
    """From the failure on, nothing for 50 us; then by the other NIC; 50 us after the link is up,
    back again."""
    with VirtualNetwork(dual(), PFC_ONLY, reroute_s=50e-6, reliability=LOSSY) as network:
        for number in range(8):
            network.add_flow(FlowSpec(number, f"h{number % 2}", "h2", rate_bps=1e9))
        first = {number: flow.port for number, flow in network.flows.items()}
        assert set(first.values()) == {0, 1}
        network.run(until_s=500e-6)
        network.set_link("h0", 0, up=False)
        sent = [network.link_stats("h0", port).packets for port in (0, 1)]
        network.run(until_s=549e-6)
        assert [network.link_stats("h0", 0).packets for _ in "a"] == sent[:1]
        assert {number: flow.port for number, flow in network.flows.items()} == first
        network.run(until_s=551e-6)
        moved = {number: flow.port for number, flow in network.flows.items()}
        assert moved == {number: 1 if number % 2 == 0 else port for number, port in first.items()}
        network.run(until_s=1.5e-3)
        before = network.link_stats("h0", 1).packets
        assert before - sent[1] > 4 * 0.9e-3 * 1e9 / 8 / 1058
        network.set_link("h0", 0, up=True)
        network.run(until_s=1.551e-3)
        assert {number: flow.port for number, flow in network.flows.items()} == first
        network.run(until_s=2.5e-3)
        assert network.link_stats("h0", 0).packets > sent[0] + 50


@pytest.mark.parametrize("name", ["pfc", "swift", "dctcp"])
@pytest.mark.parametrize("end", [("h2", 0), ("h0", 1)])
def test_all_arrives_after_a_link_has_failed_for_good(name, end):
    """At the receiver or a sender, with what repeats lost packets; without a reroute it doesn't."""
    scheme = find_scheme(name).configure()
    for reroute_s in (20e-6, None):
        with VirtualNetwork(dual(), scheme, reroute_s=reroute_s, reliability=LOSSY) as network:
            for number in range(10):
                network.add_flow(FlowSpec(number, f"h{number % 2}", "h2", size_bytes=400_000))
            network.at(100e-6, lambda network=network: network.set_link(*end, up=False))
            assert network.run(until_s=0.02, finish=True) == (reroute_s is not None)
            network.run(until_s=network.now_s + 1e-4)
            assert network.totals().stray_frames == 0
            if reroute_s is None:
                continue
            for flow in network.flows.values():
                stats = flow.stats()
                received = stats.received_packets + stats.duplicate_packets + stats.refused_packets
                assert received + stats.lost_packets == stats.sent_packets
            if end[0] == "h2":
                assert sum(flow.stats().lost_packets for flow in network.flows.values()) > 0
            for switch in "ab":
                assert not any(network.switches[switch].read_registers("waiting_bytes").values())


def test_packets_for_a_link_that_is_down_stop_no_other_flow():
    """h0's packets for h2 would fill `a` and pause h0's NIC, by which h0 sends to h1 as well."""
    for reroute_s, moves in ((10e-6, True), (None, False)):
        with VirtualNetwork(dual(), PFC_ONLY, reroute_s=reroute_s) as network:
            network.add_flow(FlowSpec(1, "h0", "h2"))
            network.add_flow(FlowSpec(2, "h0", "h1"))
            for number in (1, 2):
                network.set_ports(number, 0)
            network.run(until_s=100e-6)
            network.set_link("a", 3, up=False)
            network.run(until_s=1e-3)
            before = network.flows[2].stats().received_packets
            network.run(until_s=2e-3)
            assert (network.flows[2].stats().received_packets - before > 1000) == moves


@settings(max_examples=6)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=1, max_size=8), st.booleans()
)
def test_switches_have_the_routes_of_all_links_that_are_up(changes, dual_homed):
    """After each failure and repair, in the switches' own tables; hosts that can't be reached have
    none."""
    topology = dual(4) if dual_homed else fat_tree(k=4)
    down: set[Link] = set()
    with VirtualNetwork(topology, PFC_ONLY, reroute_s=0.0) as network:
        for number, up in changes:
            link = topology.links[number % len(topology.links)]
            (down.discard if up else down.add)(link)
            network.set_link(link.a.node, link.a.port, up=up)
            network.run(until_s=network.now_s + 1e-6)
            left = topology.around(down)
            for switch in topology.switches:
                ports_by_host = forwarding(network, switch.name)
                for host in topology.hosts:
                    wanted = left.next_hops(switch.name, host.name)
                    assert ports_by_host[host.name] == wanted or not wanted


def test_packets_to_a_host_that_is_cut_off_are_lost_and_counted():
    """They leave no loop behind, whatever prefix has the host's address; when its link is up, they
    arrive again."""
    topology = fat_tree(k=4)
    with VirtualNetwork(topology, PFC_ONLY, reroute_s=10e-6) as network:
        network.add_flow(FlowSpec(1, "h0", "h15", rate_bps=1e9))
        network.run(until_s=100e-6)
        assert network.flows[1].stats().lost_packets == 0
        network.set_link("h15", 0, up=False)
        network.run(until_s=1e-3)
        stats = network.flows[1].stats()
        assert stats.lost_packets > 0.9e-3 * 1e9 / 8 / 1058 * 0.95
        network.set_link("h15", 0, up=True)
        network.run(until_s=1.2e-3)
        network.stop_flow(1)
        network.run(until_s=1.5e-3)
        after = network.flows[1].stats()
        assert after.received_packets > stats.received_packets + 10
        assert after.sent_packets == after.received_packets + after.lost_packets
        assert network.totals().packets == 0


@pytest.mark.parametrize("name", ["pcn", "swift"])
def test_run_with_failures_is_equal_in_any_order_of_events(name):
    flows = [
        FlowSpec(number, f"h{number % 16}", f"h{(number * 5 + 3) % 16}", size_bytes=200_000)
        for number in range(48)
    ]
    changes = ((50e-6, 20, False), (70e-6, 31, False), (200e-6, 20, True), (210e-6, 20, False))

    def build(**options) -> VirtualNetwork:
        scheme = find_scheme(name).configure()
        network = VirtualNetwork(fat_tree(k=4), scheme, reroute_s=30e-6, **options)
        for at_s, link, up in changes:
            end = network.topology.links[link].a
            network.at(at_s, partial(network.set_link, end.node, end.port, up=up))
        return with_flows(network, flows)

    assert_one_outcome(build, 2e-3, {"threads": 2})


def test_reroute_refuses_what_it_cannot_have():
    for seconds in (-1e-6, math.nan, math.inf):
        with pytest.raises(VirtualError, match="a reroute takes"):
            VirtualNetwork(dual(), PFC_ONLY, reroute_s=seconds)
    with pytest.raises(VirtualError, match="routes change with PFC by the switch itself alone"):
        VirtualNetwork(dumbbell(), PCN, program="pcn", pfc=False, reroute_s=0.0)
    buffered = dual()
    switches = (Switch("a", 1, "round robin", OutputBuffer(50e3, 1.5)), buffered.switches[1])
    topology = Topology("t", buffered.hosts, switches, buffered.links)
    with pytest.raises(VirtualError, match="a has output buffers"):
        VirtualNetwork(topology, PFC_ONLY, reroute_s=0.0)
    with VirtualNetwork(dual(), PFC_ONLY, reroute_s=0.0) as network:
        with pytest.raises(TopologyError, match="h0 has no port 7"):
            network.set_link("h0", 7, up=False)
        with pytest.raises(VirtualError, match="no such port of a switch"):
            network.call("vn_discard", network.link("h0", 0), True)


@settings(max_examples=12)
@given(st.data())
def test_switch_has_the_routes_that_were_written(data):
    """As they are read, after failures and repairs at random: those of a switch that is programmed
    anew."""
    topology = fat_tree(4)
    links = data.draw(st.lists(st.sampled_from(topology.links), min_size=1, max_size=4))
    with VirtualNetwork(topology, PFC_ONLY, reroute_s=1e-6, reliability=LOSSY) as network:
        down: set[Link] = set()
        for link in links:
            (down.discard if link in down else down.add)(link)
            network.set_link(link.a.node, link.a.port, up=link not in down)
            network.run(until_s=network.now_s + 2e-6)
        routing = topology.around(down)
        for switch in topology.switches:
            routes = read_routes(network.switches[switch.name])
            expected = routes_of(topology, switch.name, routing, routes)
            assert set(routes.routes) == set(expected.routes)
            assert set(routes.groups) == set(expected.groups)
