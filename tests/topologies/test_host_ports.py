"""Hosts with several ports: shortest paths, trails and routes of random networks beside a search of
one's own."""

from collections import deque

import pytest
from hypothesis import assume, given, strategies as st

from pcn.controller.routes import MultipathRoute, Route, host_ways
from pcn.topologies.formats.source import FormatError
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import (
    MAX_PORT,
    Endpoint,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from pcn.topologies.picture.dot import dot
from pcn.topologies.picture.svg import svg
from pcn.topologies.picture.tiers import Tiers


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Up to six hosts with one to three links each, to any switches, the same one twice too, or to
    each other."""
    switches = tuple(Switch(f"s{i}", i + 1) for i in range(draw(st.integers(1, 4))))
    hosts = make_hosts([f"h{i}" for i in range(draw(st.integers(2, 6)))])
    used = {host.name: -1 for host in hosts}
    links = []

    def link(a: str, b: str):
        ends = []
        for name in (a, b):
            used[name] = used.get(name, 0) + 1
            ends.append(Endpoint(name, used[name]))
        rate, delay = draw(st.sampled_from([(1e9, 1e-6), (1e9, 1e-6), (2e9, 3e-6)]))
        links.append(Link(ends[0], ends[1], rate, delay))

    for i in range(1, len(switches)):
        link(f"s{draw(st.integers(0, i - 1))}", f"s{i}")
    for _ in range(draw(st.integers(0, 3)) if len(switches) > 1 else 0):
        a = draw(st.integers(0, len(switches) - 1))
        link(f"s{a}", f"s{(a + draw(st.integers(1, len(switches) - 1))) % len(switches)}")
    for host in hosts:
        for _ in range(draw(st.integers(1, 3))):
            link(host.name, f"s{draw(st.integers(0, len(switches) - 1))}")
    if draw(st.booleans()):
        link("h0", "h1")
    return Topology("random", hosts, switches, tuple(links))


def distances(topology: Topology, host: str) -> dict[str, int]:
    """Of each node to a host, hosts not forwarding."""
    hops, todo = {host: 0}, deque([host])
    while todo:
        node = todo.popleft()
        if topology.is_host(node) and node != host:
            continue
        for port in topology.ports(node):
            peer = topology.peer(node, port).node
            if peer not in hops:
                hops[peer] = hops[node] + 1
                todo.append(peer)
    return hops


@given(networks())
def test_next_hops_are_all_ports_on_a_shortest_path(topology):
    for host in topology.hosts:
        away = distances(topology, host.name)
        for node in [
            *(host.name for host in topology.hosts),
            *(switch.name for switch in topology.switches),
        ]:
            assert topology.distance(node, host.name) == away[node]
            nearer = [
                port
                for port in topology.ports(node)
                if (peer := topology.peer(node, port).node) == host.name
                or (not topology.is_host(peer) and away[peer] == away[node] - 1)
            ]
            assert topology.next_hops(node, host.name) == (
                () if node == host.name else tuple(nearer)
            )


@given(networks())
def test_hosts_apart_are_two_without_a_way(topology):
    """In the network, and less any link that leaves each node one."""
    for link in topology.links:
        try:
            less = topology.without((link.a.node, link.b.node))
        except TopologyError:
            continue
        names = [host.name for host in less.hosts]
        apart = [(a, b) for a in names for b in names if b not in distances(less, a)]
        pair = less.hosts_apart()
        assert (pair in apart) if apart else pair is None
    assert topology.hosts_apart() is None


@given(networks())
def test_trail_has_the_links_of_the_path(topology):
    longest = 0.0
    for src in topology.hosts:
        for dst in topology.hosts:
            if src == dst:
                continue
            links = [
                topology.link_at(end.node, end.port) for end in topology.path(src.name, dst.name)
            ]
            assert topology.trail(src.name, dst.name) == tuple(
                (link.rate_bps, link.delay_s) for link in links
            )
            longest = max(longest, topology.rtt_s(src.name, dst.name))
    assert topology.max_rtt_s() == pytest.approx(longest)


@given(networks())
def test_switch_has_a_route_by_all_next_hops_to_each_host(topology):
    for switch in topology.switches:
        ways, groups = host_ways(topology, switch.name)
        ports = {group.number: group.ports for group in groups}
        for host in topology.hosts:
            number = int.from_bytes(bytes(map(int, host.ip.split("."))), "big")
            (route,) = [
                route
                for block, prefix, route in zip(*ways, strict=True)
                if number >> (32 - prefix) == block >> (32 - prefix)
            ]
            by = (route.port,) if isinstance(route, Route) else ports[route.group]
            assert by == topology.next_hops(switch.name, host.name)
            if topology.distance(switch.name, host.name) == 1:
                assert route.mac == host.mac
            if isinstance(route, MultipathRoute):
                assert route.hash_shift == 8 * (topology.distance(switch.name, host.name) % 4)


@given(networks())
def test_picture_has_each_link_of_a_host(topology):
    assume(
        not any(
            topology.is_host(link.a.node) and topology.is_host(link.b.node)
            for link in topology.links
        )
    )
    drawn = [
        str(end)
        for rack in Tiers.of(topology).racks
        for _, links in rack.cables
        for link in links
        for end in (link.a, link.b)
        if topology.is_host(end.node)
    ]
    assert sorted(drawn) == sorted(
        f"{host.name}:{port}" for host in topology.hosts for port in topology.ports(host.name)
    )
    lines = sum(1 for rack in Tiers.of(topology).racks for _ in rack.cables)
    assert svg(topology).count(" each way") == lines + len(Tiers.of(topology).cables)
    assert dot(topology).count(" -- ") == lines + len(Tiers.of(topology).cables)


@pytest.mark.parametrize("port", [-1, MAX_PORT + 1])
def test_host_has_ports_that_a_program_can_name(port):
    hosts = make_hosts(["h0", "h1"])
    links = (
        Link(Endpoint("h0", port), Endpoint("s0", 1), 1e9, 0),
        Link(Endpoint("h1", 0), Endpoint("s0", 2), 1e9, 0),
    )
    with pytest.raises(
        TopologyError, match=f"h0:{port}: a host's ports are numbered 0 to {MAX_PORT}"
    ):
        Topology("t", hosts, (Switch("s0", 1),), links)


def test_file_whose_hosts_would_have_to_forward_is_refused(tmp_path):
    """A ring of hosts, and a Linux router without the label that makes a switch of it."""
    ring = tmp_path / "ring.txt"
    ring.write_text("4 0 4\n\n" + "".join(f"{i} {(i + 1) % 4} 100Gbps 1us 0\n" for i in range(4)))
    with pytest.raises(
        FormatError, match=r"ring.txt:\d: no way from h0 to h2: hosts don't forward, and h0 is one"
    ):
        find_topology(f"hpcc:{ring}").build({})
    router = tmp_path / "router.clab.yml"
    nodes = "{h0: {kind: linux}, r: {kind: linux}, h1: {kind: linux}}"
    links = '[{endpoints: ["h0:eth1", "r:eth1"]}, {endpoints: ["h1:eth1", "r:eth2"]}]'
    router.write_text(f"name: router\ntopology:\n  nodes: {nodes}\n  links: {links}\n")
    with pytest.raises(
        FormatError, match=r"no way from h0 to h1: hosts don't forward, and r is one, with 2 links"
    ):
        find_topology(str(router)).build({})
