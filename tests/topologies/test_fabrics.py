"""Parking lot, fat-tree and Clos: sizes, ports, ways, and what is refused."""

from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from pcn.topologies.clos import clos
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.head_of_line import P3, head_of_line
from pcn.topologies.leaf_spine import leaf_spine
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import (
    Endpoint,
    Link,
    Switch,
    Topology,
    TopologyError,
    host_addresses,
    make_hosts,
    make_racks,
)
from pcn.topologies.parking_lot import parking_lot


def links_of(topology: Topology, src: str, dst: str) -> list[str]:
    return [topology.link_name(end.node, end.port) for end in topology.path(src, dst)]


def ways(topology: Topology, src: str, dst: str) -> int:
    """Number of shortest ways from host to host."""
    if src == dst:
        return 1
    return sum(
        ways(topology, topology.peer(src, port).node, dst) for port in topology.next_hops(src, dst)
    )


@pytest.mark.parametrize("bottlenecks", [1, 2, 4, 10])
def test_each_link_of_the_parking_lot_has_flow_0_and_one_more(bottlenecks):
    topology = parking_lot(bottlenecks)
    assert [flow.id for flow in topology.flows] == list(range(bottlenecks + 1))
    users = Counter(
        link for flow in topology.flows for link in links_of(topology, flow.src, flow.dst)
    )
    between = [f"s{i}->s{i + 1}" for i in range(bottlenecks)]
    assert links_of(topology, "h0", "r0") == ["h0->s0", *between, f"s{bottlenecks}->r0"]
    for i in range(1, bottlenecks + 1):
        assert links_of(topology, f"h{i}", f"r{i}") == [
            f"h{i}->s{i - 1}",
            between[i - 1],
            f"s{i}->r{i}",
        ]
    assert {link for link, count in users.items() if count > 1} == set(between)
    assert max(users.values()) == 2
    assert topology.parameters["bottleneck"] == "s0:1"
    assert topology.rtt_s("h0", "r0") == pytest.approx(2 * (bottlenecks + 2) * 5e-6)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_fat_tree(k):
    topology = fat_tree(k)
    assert len(topology.hosts) == k**3 // 4
    assert len(topology.switches) == 5 * k * k // 4
    assert all(
        topology.ports(switch.name) == tuple(range(1, k + 1)) for switch in topology.switches
    )
    last = topology.hosts[-1].name
    assert len(topology.path("h0", last)) == 6
    assert ways(topology, "h0", last) == (k // 2) ** 2
    assert topology.max_rtt_s() == pytest.approx(12 * 5e-6)
    if k > 2:
        assert len(topology.path("h0", "h1")) == 2
        assert len(topology.path("h0", f"h{k // 2}")) == 4


def test_a_pod_alone_with_other_links():
    """B.5's: no spines, one or two links from a ToR to each leaf, two pairs apart."""
    for strands in (1, 2):
        pod = clos(pods=1, spines=0, strands=strands).without(("l0", "t3"), ("l1", "t0"))
        assert {switch.name for switch in pod.switches} == {"t0", "t1", "t2", "t3", "l0", "l1"}
        assert pod.next_hops("t0", "h63") == tuple(range(17, 17 + strands))
        # t0 has l0 alone, which has no link to t3: up and down again by t1 or t2
        assert pod.distance("h0", "h63") == 6
        assert pod.distance("h16", "h32") == 4
    assert clos(pods=1, strands=1).number("spines") == 4


@pytest.mark.parametrize("options", [{"strands": 0}, {"spines": 0}, {"spines": -1, "pods": 1}])
def test_a_clos_that_is_not_joined_is_refused(options):
    with pytest.raises(TopologyError, match=r"links from a ToR to each leaf and .* spines join no"):
        clos(**options)


def test_links_that_are_not_there_cannot_be_left_out():
    with pytest.raises(TopologyError, match="no link between l0 and l1 in clos"):
        clos().without(("l0", "l1"))
    with pytest.raises(TopologyError, match="h0 has no link"):
        clos().without(("h0", "t0"))


def test_clos_of_section_7_4():
    topology = clos()
    assert len(topology.hosts) == 512
    assert Counter(switch.name[0] for switch in topology.switches) == {"t": 32, "l": 16, "p": 8}
    for switch in topology.switches:
        lower = "h" if switch.name[0] == "t" else ("t" if switch.name[0] == "l" else "l")
        down = up = 0.0
        for port in topology.ports(switch.name):
            rate = topology.link_at(switch.name, port).rate_bps
            assert rate == (
                10e9 if topology.is_host(topology.peer(switch.name, port).node) else 40e9
            )
            if topology.peer(switch.name, port).node[0] == lower:
                down += rate
            else:
                up += rate
        assert switch.name[0] == "p" or down == up  # 1:1
    assert topology.next_hops("t0", "h511") == (17, 18, 19, 20)
    assert len(topology.path("h0", "h511")) == 6
    # strands up, spines, strands down (of either leaf)
    assert ways(topology, "h0", "h511") == 4 * 8 * 4
    assert ways(topology, "h0", "h16") == 2 * 2 * 2
    assert topology.max_rtt_s() == pytest.approx(60e-6)


@pytest.mark.parametrize(
    ("topology", "pods", "racks", "rack_bits", "pod_bits"),
    [
        (fat_tree(2), 2, 1, 2, 2),
        (fat_tree(4), 4, 2, 2, 3),
        (fat_tree(6), 6, 3, 3, 5),
        (clos(), 8, 4, 5, 7),
    ],
    ids=["k=2", "k=4", "k=6", "clos"],
)
def test_racks_and_pods_are_subnets(topology, pods, racks, rack_bits, pod_bits):
    """In order, without room for one more bit; a rack's hosts from its first address on."""
    hosts_per_rack = len(topology.hosts) // (pods * racks)
    assert 2 ** (rack_bits - 1) < hosts_per_rack + 2 <= 2**rack_bits
    assert 2 ** (pod_bits - rack_bits) < 2 * racks <= 2 ** (pod_bits - rack_bits + 1)
    for i, host in enumerate(topology.hosts):
        rack, place = divmod(i, hosts_per_rack)
        number = rack // racks << pod_bits | rack % racks << rack_bits | place + 1
        assert host.ip == str(IPv4Address(0x0A000000 + number))
        assert host.mac == f"02:00:00:00:{number >> 8:02x}:{number & 0xFF:02x}"
        assert (
            topology.peer(host.name, 0).node == f"{'t' if topology.name == 'clos' else 'e'}{rack}"
        )


def test_racks_that_have_no_addresses_are_refused():
    most = 2**24 - 2
    assert host_addresses(most) == ("10.255.255.254", "02:00:00:ff:ff:fe")
    for number in (0, most + 1):
        with pytest.raises(
            TopologyError, match=rf"host number {number} is out of range: from 1 to {most}"
        ):
            host_addresses(number)
    with pytest.raises(TopologyError, match=r"host number 16777217 is out of range"):
        make_racks(2**22 + 1, 1, 1)


def test_addresses_go_on_behind_those_of_65535_hosts():
    assert make_racks(1, 1, 2**16 - 2)[-1].ip == "10.0.255.254"
    assert make_racks(2**14, 1, 1)[-1].ip == "10.0.255.253"
    hosts = make_racks(2**14 + 1, 1, 1)
    assert (hosts[-1].ip, hosts[-1].mac) == ("10.1.0.1", "02:00:00:01:00:01")
    assert len({host.ip for host in hosts}) == len({host.mac for host in hosts}) == 2**14 + 1


def test_parallel_links_have_separate_names():
    topology = clos(pods=2)
    names = [
        topology.link_name(end.node, end.port)
        for link in topology.links
        for end in (link.a, link.b)
    ]
    assert len(set(names)) == len(names)
    assert topology.link_name("t0", 17) == "t0:17->l0:1"
    assert topology.link_name("t0", 18) == "t0:18->l0:2"
    assert topology.link_name("l0", 9) == "l0->p0"


@pytest.mark.parametrize("flows", [4, 16, 1024])
def test_the_first_pair_of_the_dumbbell_has_twice_as_many_flows(flows):
    topology = dumbbell(flows=flows)
    assert Counter(flow.src for flow in topology.flows) == {
        "h0": flows // 2,
        "h1": flows // 4,
        "h2": flows // 4,
    }
    assert all(flow.dst == flow.src.replace("h", "r") for flow in topology.flows)
    assert topology.contending_flows() == flows


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dumbbell", {"flows": 6}, "multiple of 4"),
        ("dumbbell", {"flows": 0}, "multiple of 4"),
        ("parking-lot", {"bottlenecks": 0}, "at least 1"),
        ("fat-tree", {"k": 3}, "even"),
        ("fat-tree", {"k": 0}, "at least 2"),
        ("clos", {"hosts": 10}, "1:1 would need 1.25 links"),
        ("clos", {"pods": 0}, "at least 1 of each"),
        ("leaf-spine", {"spines": 0}, "at least 1 of each"),
    ],
)
def test_what_can_not_be_built_is_refused(name, options, message):
    with pytest.raises(TopologyError, match=message):
        find_topology(name).build(options)


@pytest.mark.parametrize(("leaves", "spines", "hosts"), [(4, 2, 8), (2, 1, 1), (3, 5, 2)])
def test_leaf_spine_has_a_way_by_each_spine(leaves, spines, hosts):
    topology = leaf_spine(leaves, spines, hosts)
    assert len(topology.hosts) == leaves * hosts
    assert len(topology.links) == leaves * (hosts + spines)
    last = f"h{leaves * hosts - 1}"
    assert ways(topology, "h0", last) == spines
    names = links_of(topology, "h0", last)
    assert names[0] == "h0->l0"
    assert names[-1] == f"l{leaves - 1}->{last}"
    assert len(names) == 4
    if hosts > 1:
        assert links_of(topology, "h0", "h1") == ["h0->l0", "l0->h1"]


def test_head_of_line_is_tcd_s_network():  # 3.4, 3.6, 3.7
    topology = head_of_line()
    assert (
        links_of(topology, "s0", "r0")[1:3]
        == links_of(topology, "s1", "r1")[1:3]
        == ["t0->l0", "l0->t1"]
    )
    assert links_of(topology, "s2", "r0") == ["s2->t2", "t2->l0", "l0->t1", "t1->r0"]
    assert links_of(topology, "a14", "r1") == ["a14->t1", "t1->r1"]
    assert topology.link_at(P3.node, P3.port).rate_bps == 40e9
    assert topology.link_name(P3.node, P3.port) == "t1->r1"
    way = [topology.link_at(name, 0).rate_bps for name in ("s0", "s1", "s2", "a0")]
    assert way == [20e9, 20e9, 40e9, 40e9]
    delays = [topology.link_at(end.node, end.port).delay_s for end in topology.path("s0", "r0")]
    assert sum(delays) * 40e9 / 8 == pytest.approx(80e3)
    assert (topology.number("xoff_bytes"), topology.number("xon_bytes")) == (320e3, 318e3)
    assert head_of_line(xoff_bytes=100e3).number("xon_bytes") == 98e3
    with pytest.raises(TopologyError, match="0 bursting hosts; at least 1 is needed"):
        head_of_line(bursting=0)


@pytest.mark.parametrize(
    "topology",
    [
        clos(pods=3),
        fat_tree(6),
        parking_lot(4),
        head_of_line(),
        dumbbell(),
        find_topology("two-pods").build({}),
        replace(
            clos(),
            links=tuple(replace(link, delay_s=i % 7 * 1e-6) for i, link in enumerate(clos().links)),
        ),
    ],
    ids=lambda topology: topology.name,
)
def test_trail_has_the_links_of_the_path(topology):
    """The reference follows each route hop by hop."""
    names = [host.name for host in topology.hosts]
    some = [*names[:5], *names[:: max(1, len(names) // 11)], names[-1]]
    trails = [topology.trail(*pair) for pair in permutations(dict.fromkeys(some), 2)]
    assert len(set(map(id, trails))) == len(set(trails))  # equal ones are one object
    for src, dst in permutations(dict.fromkeys(some), 2):
        links = [topology.link_at(end.node, end.port) for end in topology.path(src, dst)]
        assert topology.trail(src, dst) == tuple((link.rate_bps, link.delay_s) for link in links)
    rtts = [topology.rtt_s(*pair) for pair in permutations(dict.fromkeys(some), 2)]
    assert topology.max_rtt_s() >= max(rtts) * (1 - 1e-12)


@given(st.integers(2, 7), st.data())
def test_longest_round_trip_is_that_of_some_pair(switches, data):
    """Any network of a few switches, each with two hosts, and links of different lengths."""
    delay = st.sampled_from([0.0, 1e-9, 1e-6, 7e-6])
    tree = [(i, data.draw(st.integers(0, i - 1))) for i in range(1, switches)]
    more = data.draw(
        st.lists(
            st.tuples(*[st.integers(0, switches - 1)] * 2).filter(lambda pair: pair[0] != pair[1]),
            max_size=5,
        )
    )
    ports = Counter[int]()

    def end(switch: int) -> Endpoint:
        ports[switch] += 1
        return Endpoint(f"s{switch}", ports[switch])

    hosts = make_hosts([f"h{i}" for i in range(2 * switches)])
    links = [
        Link(Endpoint(f"h{i}", 0), end(i // 2), 1e9, data.draw(delay)) for i in range(2 * switches)
    ]
    links += [Link(end(a), end(b), 1e9, data.draw(delay)) for a, b in (*tree, *more)]
    topology = Topology(
        "any", hosts, tuple(Switch(f"s{i}", i + 1) for i in range(switches)), tuple(links)
    )
    pairs = list(permutations([host.name for host in hosts], 2))
    assert topology.max_rtt_s() == pytest.approx(
        max(topology.rtt_s(*pair) for pair in pairs), rel=1e-12
    )
    for src, dst in pairs:
        path = [topology.link_at(end.node, end.port) for end in topology.path(src, dst)]
        assert topology.trail(src, dst) == tuple((link.rate_bps, link.delay_s) for link in path)
