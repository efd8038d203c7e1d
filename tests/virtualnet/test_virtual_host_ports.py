"""Hosts with several ports in virtual time: each port is a NIC, and the route chooses among
them."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from networks import PFC_ONLY, all_link_stats, flow_stats

from pcn.hosts.algorithms import Configured, find_scheme
from pcn.hosts.ports import choose
from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.paths import read_paths, write_paths
from pcn.lab.launch import require_kernel_hosts, require_live
from pcn.lab.network import NetworkError
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Host,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from pcn.virtualnet.errors import VirtualError

RATE, DELAY = 25e9, 1e-6
HOSTS, RACKS, AGGREGATION = 4, 2, 2


def racks(
    nics: int = 2, split: bool = False, xoff_bytes: float = 60e3, credits_: bool = False
) -> Topology:
    """Two racks of four hosts with a link to each of the rack's `nics` ToRs, and two switches above
    all ToRs; `split`: a host of each link, h0-0 and h0-1."""
    links: list[Link] = []
    tors = [f"t{rack}{nic}" for rack in range(RACKS) for nic in range(nics)]
    names = []
    for number in range(RACKS * HOSTS):
        rack, place = divmod(number, HOSTS)
        for nic in range(nics):
            name = f"h{number}-{nic}" if split else f"h{number}"
            names.append(name)
            links.append(
                Link(
                    Endpoint(name, 0 if split else nic), Endpoint(f"t{rack}{nic}", place + 1),
                    RATE, DELAY,
                )
            )  # fmt: skip
    for tor, above in itertools.product(tors, range(AGGREGATION)):
        up = Endpoint(tor, HOSTS + above + 1), Endpoint(f"a{above}", tors.index(tor) + 1)
        links.append(Link(*up, 2 * RATE, DELAY))
    hosts = make_hosts(list(dict.fromkeys(names)))
    above = [f"a{i}" for i in range(AGGREGATION)]
    switches = tuple(Switch(name, i) for i, name in enumerate([*tors, *above], start=1))
    flow_control = (
        {"flow_control": "credits"} if credits_ else {"parameters": {"xoff_bytes": xoff_bytes}}
    )
    return Topology("racks", hosts, switches, tuple(links), **flow_control)


def flows(count: int = 60, size: int = 200_000) -> list[FlowSpec]:
    """Each to another host, every third one to h7."""
    flow_specs = []
    for i in range(count):
        src = i % 7
        dst = 7 if i % 3 == 0 else (src + 1 + i % 5) % 8
        flow_specs.append(
            FlowSpec(i, f"h{src}", f"h{dst}", start_s=i * 1e-6, size_bytes=size + 999 * i)
        )
    return flow_specs


@pytest.fixture(scope="module")
def topology() -> Topology:
    return racks()


def run(topology: Topology, scheme: Configured, **options) -> tuple[int, list[object]]:
    with VirtualNetwork(topology, scheme, **options) as network:
        for spec in flows():
            network.add_flow(spec)
        assert network.run(until_s=0.1, finish=True)
        return network.totals().digest, [*flow_stats(network), *all_link_stats(network)]


@pytest.mark.parametrize("name", ["pcn", "swift"])
@pytest.mark.parametrize("credits_", [False, True])
def test_run_is_equal_in_any_order_of_events(name, credits_):
    """Also with threads, and in the program's general form."""
    topology, scheme = racks(credits_=credits_), find_scheme(name).configure()
    outcomes = [
        run(topology, scheme, **options)
        for options in ({}, {"queues": "one"}, {"threads": 2}, {"inplace": False})
    ]
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_ports_are_as_hosts_with_a_nic_each_on_the_same_paths(topology: Topology):
    """With PFC alone, whose hosts draw nothing: each flow takes as long as in a network with a host
    a NIC."""
    apart = racks(split=True)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        for spec in flows():
            network.add_flow(spec)
        network.log_paths()
        assert network.run(until_s=0.1, finish=True)
        paths, ports = (
            network.paths(),
            {number: flow.port for number, flow in network.flows.items()},
        )
        done = {number: flow.stats() for number, flow in network.flows.items()}
        paused = sum(network.link_stats(switch.name, 1).pause for switch in topology.switches)
    assert paused > 10
    with VirtualNetwork(apart, PFC_ONLY) as network:
        for spec in flows():
            last = topology.peer(paths[spec.id][-1].node, paths[spec.id][-1].port)
            assert last.node == spec.dst
            ends = {"src": f"{spec.src}-{ports[spec.id]}", "dst": f"{spec.dst}-{last.port}"}
            network.add_flow(replace(spec, **ends))
        network.set_paths({number: path[1:] for number, path in paths.items()})
        assert network.run(until_s=0.1, finish=True)
        assert {number: flow.stats().complete_s for number, flow in network.flows.items()} == {
            number: stats.complete_s for number, stats in done.items()
        }
    assert len(set(ports.values())) == 2
    assert len({paths[number][-1] for number in paths}) > 8


def test_host_sends_by_the_only_port_of_a_shortest_path():
    """Rails: h0 and h1 share the switch of their first ports alone, h0 and h2 that of their second
    ones."""
    ends = [("h0", 0, "s0", 1), ("h0", 1, "s1", 1), ("h1", 0, "s0", 2), ("h2", 0, "s1", 2)]
    links = tuple(Link(Endpoint(*end[:2]), Endpoint(*end[2:]), RATE, DELAY) for end in ends)
    cable = Link(Endpoint("s0", 3), Endpoint("s1", 3), RATE, DELAY)
    hosts = make_hosts(["h0", "h1", "h2"])
    topology = Topology("rails", hosts, (Switch("s0", 1), Switch("s1", 2)), (*links, cable))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        pairs = [("h0", "h1"), ("h0", "h2"), ("h1", "h0"), ("h2", "h0"), ("h1", "h2")]
        for number in range(40):
            src, dst = pairs[number % 5]
            network.add_flow(FlowSpec(number, src, dst, size_bytes=10_000))
        assert {
            (flow.spec.dst, flow.port) for flow in network.flows.values() if flow.spec.src == "h0"
        } == {("h1", 0), ("h2", 1)}
        assert network.run(until_s=0.01, finish=True)
        assert network.link_stats("s0", 3).packets == 80  # of h1 to h2 alone


def test_two_ports_carry_twice_the_rate_and_are_paused_alone(topology: Topology):
    """A NIC whose link is down, or paced, doesn't hold up the other one."""
    with VirtualNetwork(topology, PFC_ONLY) as network:
        for number in range(2):
            network.add_flow(FlowSpec(number, "h0", f"h{4 + number}"))
            network.set_ports(number, number)
        network.run(until_s=1e-3)
        sent = [network.link_stats("h0", port).bytes * 8 / 1e-3 for port in (0, 1)]
        assert sent == pytest.approx([RATE, RATE], rel=1e-3)
        network.set_link("h0", 0, up=False)
        before = [network.link_stats("h0", port).packets for port in (0, 1)]
        network.run(until_s=2e-3)
        after = [network.link_stats("h0", port).packets for port in (0, 1)]
        assert after[0] == before[0]
        assert (after[1] - before[1]) * 1058 * 8 / 1e-3 == pytest.approx(RATE, rel=1e-3)


@pytest.mark.parametrize("name", ["pcn", "swift"])
def test_flow_changes_its_port_and_loses_nothing(topology: Topology, name):
    """Again and again, while it sends, before it starts, and when it has ended."""
    with VirtualNetwork(topology, find_scheme(name).configure()) as network:
        for number in range(8):
            network.add_flow(
                FlowSpec(number, "h0", "h4", start_s=number * 50e-6, size_bytes=400_000)
            )
        for step in range(60):
            network.run(until_s=step * 20e-6)
            network.set_ports(step % 8, step // 8 % 2, step // 16 % 2)
        assert network.run(until_s=0.1, finish=True)
        packets = sum(network.link_stats("h0", port).packets for port in (0, 1))
        assert min(network.link_stats("h0", port).packets for port in (0, 1)) > 100
        assert packets == 8 * 400
        assert network.totals().stray_frames == 0
        for flow in network.flows.values():
            assert flow.stats().received_payload == 400_000
            assert flow.stats().lost_packets == 0


def test_set_ports_refuses_a_port_that_the_host_has_not(topology: Topology):
    with VirtualNetwork(topology, PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "h4"))
        with pytest.raises(TopologyError, match="h0 has no port 2"):
            network.set_ports(1, 2)
        with pytest.raises(VirtualError, match="no such port of the flow's hosts"):
            network.call("vn_flow_ports", 0, network.link("h1", 0), network.link("h4", 0))


def test_paths_with_hosts_ports_are_read_as_they_were_written(topology: Topology, tmp_path):
    file = tmp_path / "paths.csv"

    def fcts(paths: dict[int, tuple[Endpoint, ...]] | None) -> list[float | None]:
        with VirtualNetwork(topology, PFC_ONLY) as network:
            for spec in flows():
                network.add_flow(spec)
            network.set_paths(paths or {})
            network.log_paths()
            assert network.run(until_s=0.1, finish=True)
            write_paths(file, topology, network.paths())
            return [flow.stats().complete_s for flow in network.flows.values()]

    first = fcts(None)
    paths = read_paths(file, topology)
    assert all(path[0].node == f"h{number % 7}" for number, path in paths.items())
    assert fcts(paths) == first
    turned = {number: (Endpoint(path[0].node, 1 - path[0].port),) for number, path in paths.items()}
    assert fcts(turned) != first
    assert {n: path[0] for n, path in read_paths(file, topology).items()} == {
        n: ends[0] for n, ends in turned.items()
    }


def test_choice_among_ports_is_even_and_independent_of_a_switch():
    """chi-squared, 0.1%: of 4,096 flows over two and over three ports; and beside the bits that a
    switch takes of the CRC, over the four pairs."""
    ends = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 9])
    for ports, bound in (((0, 1), 10.8), ((0, 1, 2), 13.8)):
        counts = Counter(choose(ports, *ends, 0xC000 + flow) for flow in range(4096))
        expected = 4096 / len(ports)
        assert sum((counts[port] - expected) ** 2 / expected for port in ports) < bound
    pairs: Counter[tuple[int, int]] = Counter()
    topology = racks()
    with VirtualNetwork(topology, PFC_ONLY) as network:
        for flow in range(512):
            network.add_flow(FlowSpec(flow, "h0", "h4", start_s=flow * 1e-6, size_bytes=1000))
        network.log_paths()
        assert network.run(until_s=0.1, finish=True)
        for _, path in network.paths().items():
            pairs[path[0].port, path[-1].port if path[-1].node == "t10" else -1] += 1
    assert len(pairs) == 4
    assert min(pairs.values()) > 512 / 4 * 0.75


def test_kernel_hosts_with_several_ports_are_refused(topology: Topology):
    """Mininet's own command, P4 networks: an agent sends by several NICs, the kernel doesn't."""
    require_live(topology)
    with pytest.raises(
        NetworkError, match=r"h0: a host with 2 ports needs an agent, .*split_hosts=1"
    ):
        require_kernel_hosts(topology)


def test_host_is_named_once_by_address(topology: Topology):
    assert topology.hosts[0] == Host("h0", "10.0.0.1", "02:00:00:00:00:01")
    assert topology.host_rate_bps("h0") == 2 * RATE
    assert len(topology.host_links("h0")) == 2
