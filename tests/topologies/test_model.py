"""Topologies: routes, names, round trips, and what is refused."""

import ipaddress
import json
import math
from dataclasses import replace

import pytest
from file_networks import connected_topologies
from hypothesis import given, strategies as st

from pcn.controller.configure import plan
from pcn.topologies import serialise
from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.compact import compact
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Host,
    Link,
    OutputBuffer,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)


@given(connected_topologies())
def test_paths_are_loop_free_and_shortest(topology):
    distances = {host.name: _distances(topology, host.name) for host in topology.hosts}
    for src in topology.hosts:
        for dst in topology.hosts:
            if src == dst:
                continue
            path = topology.path(src.name, dst.name)
            nodes = [end.node for end in path]
            assert len(set(nodes)) == len(nodes)
            assert nodes[0] == src.name
            assert topology.peer(path[-1].node, path[-1].port).node == dst.name
            assert len(path) == distances[dst.name][src.name]


@given(connected_topologies())
def test_ways_to_other_switches_are_those_to_their_hosts(topology):
    distances = {host.name: _distances(topology, host.name) for host in topology.hosts}
    for switch in topology.switches:
        ways = topology.ways(switch.name)
        assert ways.keys() == {(topology.peer(host.name, 0).node,) for host in topology.hosts} - {
            (switch.name,)
        }
        for host in topology.hosts:
            place = (topology.peer(host.name, 0).node,)
            far = distances[host.name]
            nearer = {
                p
                for p in topology.ports(switch.name)
                if far[topology.peer(switch.name, p).node] < far[switch.name]
            }
            assert topology.next_hops(switch.name, host.name) == tuple(sorted(nearer))
            assert topology.distance(switch.name, host.name) == far[switch.name]
            if place != (switch.name,):
                assert ways[place].hops == far[switch.name] - 1
                assert ways[place].ports == tuple(sorted(nearer))
                assert place in topology.routing.paths.named(ways[place].places)


@given(connected_topologies(), st.permutations(range(1, 30)))
def test_blocks_are_the_longest_prefixes_whose_hosts_are_at_one_switch(base, numbers):
    hosts = tuple(
        replace(host, ip=f"10.0.0.{number}")
        for host, number in zip(base.hosts, numbers, strict=False)
    )
    topology = replace(base, hosts=hosts)

    def inside(network: ipaddress.IPv4Network) -> list[Host]:
        return [host for host in block_hosts if ipaddress.IPv4Address(host.ip) in network]

    block_hosts = [host for block in topology.blocks for host in block.hosts]
    assert block_hosts == sorted(hosts, key=lambda host: ipaddress.IPv4Address(host.ip))
    for block in topology.blocks:
        network = ipaddress.IPv4Network((block.network, block.prefix))
        assert inside(network) == list(block.hosts)
        assert {topology.peer(host.name, 0).node for host in block.hosts} == {*block.place}
        if block.prefix < 32:
            assert all(map(inside, network.subnets())), "a longer prefix would have them all"
        around = inside(network.supernet()) if block.prefix else block_hosts
        assert (
            around == list(block.hosts)
            or len({topology.peer(host.name, 0).node for host in around}) > 1
        )


def _distances(topology: Topology, dst: str) -> dict[str, int]:
    """Relaxation until nothing changes: slow, and not the way the model does it."""
    far = len(topology.links) + 1
    distances = {node.name: far for node in (*topology.hosts, *topology.switches)}
    distances[dst] = 0
    for _ in range(far):
        for link in topology.links:
            for here, there in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                if not topology.is_host(there) or there == dst:
                    distances[here] = min(distances[here], distances[there] + 1)
    return distances


@given(connected_topologies())
def test_json_gives_the_topology_back(topology):
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology


def test_json_gives_flows_after_others_back():
    flows = (
        FlowSpec(4, "h0", "r0", 0.0, 9),
        FlowSpec(5, "r0", "h0", 1e-6, 9, after=(4,), after_s=(2e-6,), acknowledged=(4,)),
    )
    topology = replace(find_topology("compact").build(), flows=flows)
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology


@pytest.mark.parametrize("pairs", [1, 3, 7])
def test_dumbbell(pairs):
    topology = dumbbell(pairs=pairs, rtt_s=500e-6)
    assert topology.rtt_s("h0", "r0") == pytest.approx(500e-6)
    assert topology.max_rtt_s() == pytest.approx(500e-6)
    bottleneck = Endpoint("s0", pairs + 1)
    assert str(bottleneck) == topology.parameters["bottleneck"]
    assert topology.link_name("s0", pairs + 1) == "s0->s1"
    assert len(topology.flows) == pairs + 1
    assert all(bottleneck in topology.path(flow.src, flow.dst) for flow in topology.flows)
    assert topology.contending_flows() == pairs + 1
    assert topology.number("xon_bytes") == 512_000 - 2 * 1058


def test_dumbbell_is_the_paper_s_by_default():
    topology = dumbbell()
    assert [(flow.src, flow.dst) for flow in topology.flows] == [
        ("h0", "r0"),
        ("h0", "r0"),
        ("h1", "r1"),
        ("h2", "r2"),
    ]
    assert {link.rate_bps for link in topology.links} == {10e9}
    assert topology.number("xoff_bytes") == 512_000


def test_compact_is_the_paper_s_figure_1():
    topology = compact()
    assert [host.name for host in topology.hosts] == [f"h{i}" for i in range(16)] + ["r0", "r1"]
    assert {(link.rate_bps, link.delay_s) for link in topology.links} == {(40e9, 5e-6)}
    assert [topology.peer("s0", port).node for port in topology.ports("s0")] == ["h0", "h1", "s1"]
    assert [topology.peer("s1", port).node for port in (1, 2, 3)] == ["s0", "r1", "r0"]
    assert [topology.peer("s1", port).node for port in range(4, 18)] == [
        f"h{i}" for i in range(2, 16)
    ]
    assert [(flow.id, flow.src, flow.dst) for flow in topology.flows] == [
        (0, "h0", "r0"),
        (1, "h1", "r1"),
    ]
    # 0.17: the base RTT is 30 us over both switches, 20 us over one
    assert topology.rtt_s("h0", "r0") == topology.rtt_s("h1", "r1") == pytest.approx(30e-6)
    assert topology.rtt_s("h2", "r1") == pytest.approx(20e-6)
    # the victim shares P0/S0 with F1, and no port behind it
    assert [str(end) for end in topology.path("h0", "r0")] == ["h0:0", "s0:3", "s1:3"]
    assert [str(end) for end in topology.path("h1", "r1")] == ["h1:0", "s0:3", "s1:2"]
    assert topology.contending_flows() == 2
    assert topology.number("xon_bytes") == 512_000 - 2 * 1058


def test_compact_without_bursting_hosts():
    assert [host.name for host in compact(senders=2).hosts] == ["h0", "h1", "r0", "r1"]
    with pytest.raises(TopologyError, match="1 senders; at least 2"):
        compact(senders=1)


def test_options_are_numbers():
    assert find_topology("dumbbell").build({"rtt_s": "500us"}) == dumbbell(rtt_s=500e-6)
    assert find_topology("dumbbell").build({"pairs": 2.0}) == dumbbell(pairs=2)
    for option, value in (
        ("pairs", "x"),
        ("pairs", 1.5),
        ("pairs", math.inf),
        ("rtt_s", "1/0"),
        ("rate_bps", "fast"),
    ):
        with pytest.raises(
            TopologyError, match=f"{option}={value}: (a (whole )?number is needed|.* is no )"
        ):
            find_topology("dumbbell").build({option: value})


def test_unknown_names_name_the_nearest():
    with pytest.raises(TopologyError, match="did you mean 'dumbbell'"):
        find_topology("dumbell").build()
    with pytest.raises(TopologyError, match="did you mean 'rate_bps'"):
        find_topology("dumbbell").build({"rate_bp": 1})
    with pytest.raises(TopologyError, match="no host 'h9'"):
        dumbbell().host("h9")
    with pytest.raises(TopologyError, match="s0 has no port 9; it has 1, 2, 3, 4"):
        dumbbell().link_at("s0", 9)


_HOSTS = make_hosts(["h0", "h1"])
_SWITCH = Switch("s0", 1)


def _links(rate: float = 1e9, delay: float = 0.0) -> list[Link]:
    return [Link(Endpoint(f"h{i}", 0), Endpoint("s0", i + 1), rate, delay) for i in range(2)]


def _output(**fields: float) -> Switch:
    return Switch("s0", 1, output=OutputBuffer(**fields))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": _links(rate=0)}, r"rate 0 bit/s: 1 to 1e\+14 are possible"),
        ({"links": _links(rate=0.4)}, "rate 0.4 bit/s"),
        ({"links": _links(rate=float("nan"))}, "rate nan bit/s"),
        ({"links": _links(rate=float("inf"))}, "rate inf bit/s"),
        ({"links": _links(rate=2.0**64 + 4096)}, "rate 1.84467e.19 bit/s"),
        ({"links": _links(delay=float("inf"))}, r"delay inf s: 0 to 1e\+06 are possible"),
        ({"links": _links(delay=float("nan"))}, "delay nan s"),
        ({"links": _links(delay=-1e-6)}, "delay -1e-06 s"),
        ({"links": _links(delay=9e6)}, r"delay 9e\+06 s"),
        ({"links": _links()[:1]}, "h1 has no link"),
        (
            {"links": [*_links(), Link(Endpoint("s0", 1), Endpoint("s0", 3), 1, 0)]},
            "port s0:1 is used twice",
        ),
        ({"links": [*_links(), Link(Endpoint("s0", 3), Endpoint("s0", 4), 1, 0)]}, "is a loop"),
        (
            {"links": [*_links(), Link(Endpoint("s0", 3), Endpoint("s9", 1), 1, 0)]},
            "s9:1: no such node",
        ),
        (
            {"links": [*_links(), Link(Endpoint("s0", 510), Endpoint("h1", 1), 1, 0)]},
            "numbered 0 to",
        ),
        ({"hosts": (_HOSTS[0], _HOSTS[0])}, "node name h0 is used twice"),
        ({"hosts": (_HOSTS[0], Host("h1", "10.0.0.256", "02:00:00:00:00:02"))}, "h1: .*10.0.0.256"),
        ({"hosts": (_HOSTS[0], Host("h1", "10.0.0.2", "2:0:0"))}, "'2:0:0' is no MAC"),
        ({"hosts": (_HOSTS[0], Host("H1;x", "10.0.0.2", "02:00:00:00:00:02"))}, "node name 'H1;x'"),
        ({"switches": (Switch("s0", -1),)}, "device id -1"),
        ({"hosts": (_HOSTS[0], Host("h1-", "10.0.0.2", "02:00:00:00:00:02"))}, "node name 'h1-'"),
        ({"hosts": (_HOSTS[0], Host("", "10.0.0.2", "02:00:00:00:00:02"))}, "node name ''"),
        (
            {"hosts": (_HOSTS[0], Host("h" * 49, "10.0.0.2", "02:00:00:00:00:02"))},
            "up to 48 letters",
        ),
        ({"name": "../x"}, "topology name"),
        ({"flows": (FlowSpec(1, "h0", "h5"),)}, "flow 1: no host 'h5'"),
        ({"flows": (FlowSpec(1, "h0", "h0"),)}, "from h0 to itself"),
        ({"flows": (FlowSpec(1, "h0", "h1", size_bytes=0),)}, "flow 1: a size of 0 bytes"),
        (
            {"flow_control": "credits", "parameters": {"buffer_bytes": 2.0**64 + 2**17}},
            r"buffers of 1.84467e\+19 bytes: less than 2\^48",
        ),
        ({"switches": (_output(size_bytes=float("inf")),)}, "buffers of inf bytes: less than 2.48"),
        ({"switches": (_output(size_bytes=float("nan")),)}, "buffers of nan bytes: less than 2.48"),
        ({"switches": (_output(latency_s=float("inf")),)}, "a speed-up above 0, and a latency"),
    ],
)
def test_impossible_topologies_are_refused(changes, message):
    parts = {"name": "t", "hosts": _HOSTS, "switches": (_SWITCH,), "links": _links(), **changes}
    with pytest.raises(TopologyError, match=message):
        Topology(**parts)


def test_hosts_do_not_forward():
    """h0 on two switches is the only link between them, and no way."""
    hosts = make_hosts(["h0", "h1", "h2"])
    ends = [("h0", 0, "s0", 1), ("h0", 1, "s1", 1), ("h1", 0, "s0", 2), ("h2", 0, "s1", 2)]
    links = tuple(Link(Endpoint(*end[:2]), Endpoint(*end[2:]), 1e9, 0) for end in ends)
    topology = Topology("t", hosts, (Switch("s0", 1), Switch("s1", 2)), links)
    assert (topology.next_hops("h0", "h1"), topology.next_hops("h0", "h2")) == ((0,), (1,))
    assert topology.next_hops("h1", "h2") == ()
    with pytest.raises(TopologyError, match="no way from s0 to h2"):
        topology.ways("s0")


def test_what_a_topology_is_not_given_has_its_usual_value():
    hosts = make_hosts(["h0", "h1"])
    links = tuple(
        Link(Endpoint(host.name, 0), Endpoint("s0", i), 1e9, 0)
        for i, host in enumerate(hosts, start=1)
    )
    plain = Topology("pair", hosts, (Switch("s0", 1),), links)
    assert (plain.number("xoff_bytes"), plain.number("xon_bytes")) == (512e3, 512e3 - 2 * 1058)
    assert plain.number("pause_quanta") == 0xFFFF
    assert plain.contending_flows() == 0
    topology = Topology(
        "pair", hosts, (Switch("s0", 1),), links, parameters={"xoff_bytes": 10e3, "rate_bps": 1e9}
    )
    assert topology.number("xon_bytes") == 10e3 - 2 * 1058
    assert topology.parameters["rate_bps"] == 1e9
    with pytest.raises(
        TopologyError, match=r"pair has no numeric parameter 'bottleneck'; it has .*xoff_bytes"
    ):
        topology.number("bottleneck")


@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_replacing_xoff_moves_the_xon_that_follows_it(name):
    topology = find_topology(name).build()
    changed = replace(topology, parameters={**topology.parameters, "xoff_bytes": 300e3})
    assert changed == serialise.from_dict(serialise.to_dict(changed))
    distance = topology.number("xoff_bytes") - topology.number("xon_bytes")
    assert changed.number("xon_bytes") == 300e3 - distance
    assert plan(changed, changed.switches[0].name, 1.0).pfc[0].xon_bytes == 300e3 - distance
    larger = replace(topology, parameters={**topology.parameters, "mtu_bytes": 4058})
    assert larger.number("xoff_bytes") - larger.number("xon_bytes") == (
        distance if name == "head-of-line" else 2 * 4058
    )
    with_xon = replace(topology, parameters={**topology.parameters, "xon_bytes": 200e3})
    with pytest.raises(
        TopologyError, match=r"XON 200000, XOFF 100000 bytes: .*; give another xon_bytes"
    ):
        replace(with_xon, parameters={**with_xon.parameters, "xoff_bytes": 100e3})


@given(
    st.lists(
        st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,46}[A-Za-z0-9])?\Z"),
        min_size=1,
        max_size=50,
        unique=True,
    )
)
def test_interface_fits_linux_and_stands_for_one_port(nodes):
    ends = [Endpoint(node, port) for node in nodes for port in (0, 1, 99, 507)]
    interfaces = [end.interface for end in ends]
    assert all(
        len(name) <= 15 and name.endswith(f"-eth{end.port}")
        for name, end in zip(interfaces, ends, strict=True)
    )
    assert all(
        name == f"{end.node}-eth{end.port}"
        for name, end in zip(interfaces, ends, strict=True)
        if len(str(end)) < 12
    )
    assert len(set(interfaces)) == len(ends)


def test_topology_refuses_names_that_share_an_interface():
    shortened = Endpoint("superspine-01", 1).interface.removesuffix("-eth1")
    switches = (Switch("superspine-01", 1), Switch(shortened, 2))
    hosts = make_hosts(["h0", "h1"])
    links = tuple(
        Link(Endpoint(host.name, 0), Endpoint(switch.name, 1), 1e9, 0)
        for host, switch in zip(hosts, switches, strict=True)
    )
    with pytest.raises(TopologyError, match=f"interface name {shortened}-eth1 is used twice"):
        Topology("t", hosts, switches, links)
