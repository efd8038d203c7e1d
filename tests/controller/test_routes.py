"""Routes: by which ports they go, and that joined ones lead each host's packets where its own
would."""

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from pcn.controller.configure import plan
from pcn.controller.routes import (
    ROUTER_MAC,
    MultipathRoute,
    PortGroup,
    Route,
    Ways,
    host_ways,
    join,
)
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.compact import compact
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, TopologyError
from pcn.topologies.parking_lot import parking_lot

TOPOLOGIES = {
    "dumbbell": dumbbell,
    "compact": compact,
    "parking-lot": lambda: parking_lot(4),
    "fat-tree": lambda: fat_tree(6),
    "clos": lambda: clos(pods=3, tors=2),
}
# Of few bits, so that neighbours are frequent; at both ends of what there is.
_SPACE = 64
_BASES = (0, 0x0A000000, 2**32 - _SPACE)

AnyRoute = Route | MultipathRoute


def network(route: AnyRoute) -> IPv4Network:
    """Its prefix; raises ValueError where the address has bits beyond it."""
    return IPv4Network(f"{route.address}/{route.prefix}")


def matching(routes: Sequence[AnyRoute], address: str) -> list[AnyRoute]:
    return [route for route in routes if IPv4Address(address) in network(route)]


def bare(route: AnyRoute) -> AnyRoute:
    """The route without what it is for."""
    return route._replace(address="", prefix=0)


def fewest(ways: Ways, base: int) -> int:
    """How many disjoint blocks it takes: the largest first, those whose hosts go one way."""
    left = {
        network - base: bare(route)
        for network, route in zip(ways.networks, ways.routes, strict=True)
    }
    taken, size = 0, _SPACE
    while left:
        for start in range(0, _SPACE, size):
            inside = {at: left[at] for at in range(start, start + size) if at in left}
            if len(set(inside.values())) == 1:
                taken += 1
                left = {at: route for at, route in left.items() if at not in inside}
        size //= 2
    return taken


@st.composite
def ways_to_hosts(draw: st.DrawFn) -> tuple[int, Ways]:
    """A way each to some of the addresses from a base on, in order: by few routes, some with a
    separate MAC."""
    base = draw(st.sampled_from(_BASES))
    numbers = sorted(draw(st.sets(st.integers(0, _SPACE - 1))))
    routes: list[AnyRoute] = []
    for number in numbers:
        kind, choice = draw(st.sampled_from(("attached", "one", "many"))), draw(st.integers(1, 2))
        route: AnyRoute
        if kind == "attached":
            route = Route("", f"02:00:00:00:00:{number:02x}", choice)
        elif kind == "one":
            route = Route("", ROUTER_MAC, choice)
        else:
            route = MultipathRoute("", ROUTER_MAC, choice, 8 * draw(st.integers(0, 1)))
        routes.append(route)
    return base, Ways([base + number for number in numbers], [32] * len(numbers), routes)


@given(ways_to_hosts())
def test_joined_routes_are_the_hosts_own_by_as_few_disjoint_prefixes_as_it_takes(drawn):
    base, ways = drawn
    joined = join(ways)
    for host, route in zip(ways.networks, ways.routes, strict=True):
        (covering,) = matching(joined, str(IPv4Address(host)))
        assert bare(covering) == bare(route)
    networks = [network(route) for route in joined]
    assert networks == sorted(networks)
    assert not any(a.overlaps(b) for a, b in pairwise(networks))
    assert len(joined) == fewest(ways, base)
    for joined_route in joined:
        inside = [host for host in ways.networks if IPv4Address(host) in network(joined_route)]
        assert (min(inside) ^ max(inside)).bit_length() == 32 - joined_route.prefix, (
            "no shorter than its hosts need"
        )


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_each_switch_sends_each_host_s_packets_by_all_its_shortest_paths(name):
    """Routes to a switch's own hosts have the host's MAC, all others a router's."""
    topology = TOPOLOGIES[name]()
    for switch in topology.switches:
        switch_plan = plan(topology, switch.name, 1.0)
        groups = {group.number: group.ports for group in switch_plan.groups}
        for host in topology.hosts:
            (route,) = matching(switch_plan.routes, host.ip)
            ports = (route.port,) if isinstance(route, Route) else groups[route.group]
            assert ports == topology.next_hops(switch.name, host.name)
            attached = topology.peer(switch.name, ports[0]).node == host.name
            assert (route.mac, attached) in ((host.mac, True), (ROUTER_MAC, False))
            assert route.prefix == 32 or not attached
            if isinstance(route, MultipathRoute):
                assert route.hash_shift == 8 * (topology.distance(switch.name, host.name) % 4)


@given(st.data())
def test_packets_to_unused_addresses_never_loop(data):
    """Whatever addresses the hosts have: by any of a route's ports, at most as many switches as the
    longest way has."""
    topology = fat_tree(4)
    numbers = data.draw(st.lists(st.integers(1, 60), unique=True, min_size=16, max_size=16))
    hosts = [
        replace(host, ip=str(IPv4Address(0x0A000000 + number)))
        for host, number in zip(topology.hosts, numbers, strict=True)
    ]
    topology = replace(topology, hosts=tuple(hosts))
    plans = {switch.name: plan(topology, switch.name, 1.0) for switch in topology.switches}
    nobody = data.draw(st.integers(0, 63).filter(lambda number: number not in numbers))
    address = str(IPv4Address(0x0A000000 + nobody))
    at = set(plans)
    for _ in range(5):
        further: set[str] = set()
        for switch in at:
            for route in matching(plans[switch].routes, address):
                ports = (
                    (route.port,)
                    if isinstance(route, Route)
                    else plans[switch].groups[route.group - 1].ports
                )
                further |= {topology.peer(switch, port).node for port in ports}
        assert further <= set(plans), "a host gets what isn't its own"
        at = further
    assert at == set()


def test_the_clos_takes_few_routes():
    """ToRs their hosts, the pod's other ToRs (a half and a quarter of it) and the other pods
    (halves of the rest); leaves their ToRs and the other pods; spines the pods. A route to each
    host would be 28,672 of them."""
    topology = clos()
    counts = {tier: set[int]() for tier in "tlp"}
    for switch in topology.switches:
        counts[switch.name[0]].add(len(plan(topology, switch.name, 1.0).routes))
    assert counts == {"t": {16 + 2 + 3}, "l": {4 + 3}, "p": {8}}


def test_where_shortest_paths_part_a_group_has_all_their_ports():
    switch_plan = plan(fat_tree(4), "e0", 1.0)
    assert switch_plan.groups == (PortGroup(1, (3, 4)),)
    assert switch_plan.routes == (
        Route("10.0.0.1", "02:00:00:00:00:01", 1),
        Route("10.0.0.2", "02:00:00:00:00:02", 2),
        MultipathRoute("10.0.0.4", ROUTER_MAC, 1, 24, prefix=30),
        MultipathRoute("10.0.0.8", ROUTER_MAC, 1, 8, prefix=29),
        MultipathRoute("10.0.0.16", ROUTER_MAC, 1, 8, prefix=28),
    )
    assert plan(fat_tree(4), "c0", 1.0).groups == ()


def test_switches_of_a_path_that_choose_take_other_bits_of_the_hash():
    """ToR, leaf, spine and leaf of the Clos: among leaves, spines, the other pod's leaves, and
    parallel links."""
    topology = clos(pods=2, tors=2)
    last = topology.hosts[-1]
    shifts, groups = [], []
    for switch in ("t0", "l0", "p0", "l2"):
        switch_plan = plan(topology, switch, 1.0)
        (route,) = matching(switch_plan.routes, last.ip)
        assert isinstance(route, MultipathRoute)
        shifts.append(route.hash_shift)
        groups.append(switch_plan.groups[route.group - 1].ports)
    assert sorted(shifts) == [0, 8, 16, 24]
    assert groups == [topology.next_hops(switch, last.name) for switch in ("t0", "l0", "p0", "l2")]


@given(st.integers(0, 2**40))
def test_ecmp_seed_orders_ports_of_each_group_anew(seed):
    plain = find_topology("fat-tree").build()
    seeded = find_topology("fat-tree").build({"ecmp_seed": seed})
    others = 0
    for switch in plain.switches:
        (ways, groups), (same_ways, shuffled) = (
            host_ways(plain, switch.name),
            host_ways(seeded, switch.name),
        )
        assert ways == same_ways
        same = [(group.number, tuple(sorted(group.ports))) for group in shuffled]
        assert same == [(group.number, group.ports) for group in groups]
        others += groups != shuffled
    assert others == 0 if seed == 0 else others > 0


def test_ecmp_seed_below_0_is_refused():
    with pytest.raises(TopologyError, match=r"ecmp_seed is -1: a whole number, from 0"):
        host_ways(find_topology("fat-tree").build({"ecmp_seed": -1}), "e0")


def test_flows_take_other_paths_with_another_ecmp_seed():
    """The same ones with the same seed; all flows arrive."""
    specs = [
        FlowSpec(number, f"h{number % 4}", f"h{12 + number % 3}", 0.0, 5_000)
        for number in range(24)
    ]
    paths = []
    for seed in (0, 1, 1, 2):
        topology = find_topology("fat-tree").build({"ecmp_seed": seed})
        with VirtualNetwork(topology, find_scheme("pcn").configure()) as network:
            network.log_paths()
            network.add_flows((spec, None, None) for spec in specs)
            assert network.run(until_s=0.1, finish=True)
            paths.append(network.paths())
    assert paths[1] == paths[2]
    for a, b in ((0, 1), (0, 3), (1, 3)):
        assert sum(paths[a][flow] != paths[b][flow] for flow in paths[0]) >= 6
