"""Switches that take time themselves, and switches that cut through."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from networks import PFC_ONLY, assert_one_outcome, flow_stats, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import require_live
from pcn.lab.network import NetworkError
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
from pcn.topologies.watchdog import Watchdog
from pcn.virtualnet.errors import VirtualError

FRAME, FIRST = 1058, 64


def chain(
    rates_bps: list[float], latency_s: float = 0.0, cut_through: bool = False, delay_s: float = 1e-6
) -> Topology:
    """h0 - s0 - s1 - ... - h1, a link of each rate."""
    count = len(rates_bps) - 1
    nodes = ["h0", *(f"s{i}" for i in range(count)), "h1"]
    ends = [
        (Endpoint(a, 2 if a[0] == "s" else 0), Endpoint(b, 1 if b[0] == "s" else 0))
        for a, b in itertools.pairwise(nodes)
    ]
    links = tuple(Link(*end, rate, delay_s) for end, rate in zip(ends, rates_bps, strict=True))
    switches = tuple(
        Switch(f"s{i}", i + 1, latency_s=latency_s, cut_through=cut_through) for i in range(count)
    )
    return Topology("chain", make_hosts(["h0", "h1"]), switches, links)


def with_time(topology: Topology, latency_s: float, cut_through: bool) -> Topology:
    return replace(
        topology,
        switches=tuple(
            replace(switch, latency_s=latency_s, cut_through=cut_through)
            for switch in topology.switches
        ),
    )


def last_bit_s(topology: Topology, frame: int) -> float:
    """When a frame's last bit has come to h1, by first principles: of each link when its first and
    last bits leave; a bit never leaves a node before it is there."""
    begins = 0.0  # the first bit leaves
    for number, link in enumerate(topology.links):
        takes = frame * 8 / link.rate_bps
        ends = begins + takes
        if number == len(topology.links) - 1:
            return ends + link.delay_s
        switch, out = topology.switches[number], topology.links[number + 1]
        first = begins + min(frame, FIRST) * 8 / link.rate_bps
        whole = ends + link.delay_s + switch.latency_s
        begins = whole
        if switch.cut_through:
            begins = max(first + link.delay_s + switch.latency_s, whole - frame * 8 / out.rate_bps)
    raise AssertionError


@given(
    st.lists(st.sampled_from([10e9, 25e9, 40e9, 100e9, 400e9]), min_size=2, max_size=5),
    st.sampled_from([0.0, 400e-9, 1.3e-6]),
    st.booleans(),
    st.sampled_from([4, 40, 1000]),
)
@settings(max_examples=40)
def test_frame_takes_the_time_of_its_bits(rates_bps, latency_s, cut_through, payload):
    topology = chain(rates_bps, latency_s, cut_through)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "h1", size_bytes=payload))
        network.run(until_s=1e-3, finish=True)
        measured = network.flows[1].stats().complete_s
    assert measured == pytest.approx(last_bit_s(topology, payload + FRAME - 1000), abs=1e-11)


@given(st.lists(st.sampled_from([10e9, 40e9, 100e9]), min_size=2, max_size=4), st.booleans())
@settings(max_examples=20)
def test_long_flow_has_the_slowest_link_and_keeps_order(rates_bps, cut_through):
    with VirtualNetwork(chain(rates_bps, 700e-9, cut_through), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "h1", size_bytes=400_000))
        assert network.run(until_s=5e-3, finish=True)
        stats = network.flows[1].stats()
        assert stats.out_of_order == stats.lost_packets == 0
        last = last_bit_s(network.topology, FRAME)
        assert stats.complete_s == pytest.approx(last + 399 * FRAME * 8 / min(rates_bps), abs=2e-8)
        network.run(until_s=10e-3)
        assert network.totals().packets == 0


def test_base_rtt_and_trail_have_the_latency():
    plain, slow = chain([10e9] * 4), chain([10e9] * 4, latency_s=600e-9)
    assert slow.rtt_s("h0", "h1") == pytest.approx(plain.rtt_s("h0", "h1") + 6 * 600e-9)
    assert slow.max_rtt_s() == pytest.approx(slow.rtt_s("h0", "h1"))
    assert sum(delay for _, delay in slow.trail("h0", "h1")) == pytest.approx(4e-6 + 3 * 600e-9)


@pytest.mark.parametrize("cut_through", [False, True])
@pytest.mark.parametrize("name", ["pcn", "swift", "hpcc"])
def test_run_is_equal_in_any_order_of_events(name, cut_through):
    """With PAUSE: headroom has room for what is in pipelines, or the run would end with an
    error."""
    topology = with_time(fat_tree(k=4), 500e-9, cut_through)
    topology = replace(
        topology, parameters={**topology.parameters, "xoff_bytes": 40e3, "xon_bytes": 36e3}
    )

    def run(**options):
        with VirtualNetwork(topology, find_scheme(name).configure(), **options) as network:
            for number in range(40):
                network.add_flow(FlowSpec(number, f"h{number % 15}", "h15", size_bytes=60_000))
            assert network.run(until_s=0.1, finish=True)
            paused = sum(
                network.link_stats(switch.name, port).pause
                for switch in topology.switches
                for port in (1, 2, 3, 4)
            )
            return (
                network.totals().digest,
                paused,
                flow_stats(network),
            )

    first = run()
    for options in ({"queues": "one"}, {"threads": 2}, {"inplace": False}):
        assert run(**options) == first
    assert first[1] > 0 or name == "hpcc"


def test_live_network_and_impossible_switches_are_refused():
    with pytest.raises(
        NetworkError, match="s0: a latency and cut-through are there in virtual time alone"
    ):
        require_live(chain([1e9] * 2, 1e-6))
    for changes, message in (
        ({"latency_s": -1e-9}, "a latency of -1e-09 s"),
        ({"latency_s": math.nan}, "a latency of nan s"),
        (
            {"latency_s": 1e-6, "arbitration": "round robin", "output": OutputBuffer(1e5, 2.0)},
            "without output buffers",
        ),
        (
            {"cut_through": True, "watchdog": Watchdog()},
            "cut-through is there without a PFC watchdog",
        ),
    ):
        plain = chain([1e9] * 2)
        with pytest.raises(TopologyError, match=f"s0: .*{message}"):
            replace(plain, switches=(replace(plain.switches[0], **changes),))
    with pytest.raises(TopologyError, match="with PFC, without output buffers"):
        replace(chain([1e9] * 2, 1e-6), flow_control="credits")
    with VirtualNetwork(chain([1e9] * 2), PFC_ONLY) as network:
        network.run(until_s=1e-6)
        with pytest.raises(VirtualError, match="the network runs already"):
            network.call("vn_set_latency", network._nodes["s0"], 5, False)


# ---- CNPs that take time ----


def first_cut_s(delay_s: float) -> float:
    """Of four flows' rates; all CNPs arrive."""
    cuts: list[float] = []
    with VirtualNetwork(
        dumbbell(), find_scheme("dcqcn").configure(), cnp_delay_s=delay_s
    ) as network:
        for flow in network.topology.flows:
            network.add_flow(replace(flow, size_bytes=2_000_000))
        network.on_rate = lambda flow, now_s: cuts.append(now_s) if flow.rp.rate_bps < 9e9 else None
        network.run(until_s=0.1, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        stats = flow_stats(network)
        assert all(stat.cnps_sent == stat.cnps_received > 0 for stat in stats)
        assert network.totals().packets == 0
    return cuts[0]


def test_cnp_arrives_later_by_the_time_that_it_takes():
    """Frames may be in its way."""
    assert first_cut_s(55e-6) - first_cut_s(0.0) == pytest.approx(55e-6, abs=3 * FRAME * 8 / 10e9)


def test_run_with_late_cnps_is_equal_in_any_order_of_events():
    flows = [
        FlowSpec(number, f"h{number % 14}", f"h{14 + number % 2}", size_bytes=60_000)
        for number in range(60)
    ]

    def build(**options) -> VirtualNetwork:
        scheme = find_scheme("dcqcn").configure()
        network = VirtualNetwork(fat_tree(k=4), scheme, cnp_delay_s=20e-6, **options)
        return with_flows(network, flows)

    assert_one_outcome(build, 0.1, {"threads": 2}, finish=True)


def test_cnp_delay_refuses_no_time():
    for seconds in (-1e-9, math.inf, math.nan):
        with pytest.raises(VirtualError, match="a CNP takes"):
            VirtualNetwork(dumbbell(), PFC_ONLY, cnp_delay_s=seconds)
