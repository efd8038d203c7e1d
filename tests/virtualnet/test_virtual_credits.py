"""InfiniBand's credits: nothing is lost and no buffer overflows, on random networks too; lanes
don't stop each other; and what refuses credits."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from credit_packets import (
    AHEAD,
    BLOCK,
    BUFFER,
    COUNTS,
    blocks,
    by_credits,
    flow_control,
    nothing_inside,
    period_s,
)
from hypothesis import given, settings, strategies as st
from networks import MTU, PFC_ONLY, all_to_all, chain, ends, flow_stats, mesh, star, with_flows

from pcn.experiments.papers.tcd.plans import victims_plan
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.flow_maker import FlowMaker
from pcn.hosts.virtual.flows import VirtualFlow
from pcn.lab.launch import NetworkError, launch_spec
from pcn.lab.preflight import require_startable
from pcn.lab.target import target as find_target
from pcn.topologies.flow_columns import FlowColumns
from pcn.topologies.model import (
    FIFO,
    ROUND_ROBIN,
    Endpoint,
    FlowSpec,
    Link,
    OutputBuffer,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from pcn.topologies.serialise import from_dict, to_dict
from pcn.virtualnet import VirtualError

# ---- nothing lost, no buffer above its size ----


@pytest.mark.parametrize("response_s", [0.0, 3e-6])
@pytest.mark.parametrize(
    ("buffer_bytes", "delay_s"), [(BUFFER, 1e-6), (BUFFER, 50e-6), (20_000, 1e-6), (1088, 0.0)]
)
def test_an_incast_fills_its_buffers_and_no_more(buffer_bytes, delay_s, response_s):
    topology = by_credits(star(4, delay_s=delay_s), buffer_bytes=buffer_bytes)
    with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
        with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=500_000) for i in range(4)])
        assert network.run(until_s=1, finish=True)
        for i in range(4):
            stats = network.link_stats(f"h{i}", 0)
            assert stats.held_max <= buffer_bytes
            assert stats.held_limit == buffer_bytes // BLOCK * BLOCK
            assert stats.starved_s > 0
            assert network.link_stats("s0", i + 1).pause == 0
            if delay_s < 50e-6:  # flows that are longer than a round trip
                assert stats.held_max > buffer_bytes - 2 * blocks(MTU) * BLOCK
        flows = flow_stats(network)
        assert all((stats.received_payload, stats.out_of_order) == (500_000, 0) for stats in flows)
        assert nothing_inside(network)
        # enough for the credits' round trip: the output never ran dry
        if buffer_bytes == BUFFER and delay_s < 50e-6:
            data_s = 4 * 500 * MTU * 8 / 10e9
            assert network.now_s == pytest.approx(data_s, rel=0.01, abs=1e-5)


def test_a_switch_without_credits_stops_those_before_it():
    """A slow last link: s1's buffer fills, s0 gets no credits, its own buffer fills, and h0 gets
    none."""
    with VirtualNetwork(by_credits(chain(2, out_bps=1e9)), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3_000_000))
        assert network.run(until_s=0.1, finish=True)
        assert (flow.stats().received_packets, flow.stats().out_of_order) == (3000, 0)
        for node, port in (("h0", 0), ("s0", 2)):
            assert (
                network.link_stats(node, port).held_max
                == BUFFER // (blocks(MTU) * BLOCK) * blocks(MTU) * BLOCK
            )
            assert network.link_stats(node, port).starved_s > 0.5 * network.now_s
        assert network.link_stats("s1", 2).starved_s == 0
        # The last link never ran dry
        assert network.now_s == pytest.approx(3000 * MTU * 8 / 1e9, rel=0.01)


def test_links_that_change_lose_nothing():
    topology = by_credits(chain(3, out_bps=1e9), buffer_bytes=50_000)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000))
        network.at(3e-3, lambda: network.set_link("s2", 2, rate_bps=5e8))
        network.at(6e-3, lambda: network.set_link("s1", 2, up=False))
        network.at(8e-3, lambda: network.set_link("s1", 2, up=True))
        assert network.run(until_s=0.2, finish=True)
        assert (flow.stats().received_packets, flow.stats().out_of_order) == (2000, 0)
        assert nothing_inside(network)


@st.composite
def trees(draw: st.DrawFn) -> Topology:
    """Without a cycle of buffers that wait for each other."""
    n = draw(st.integers(1, 4))
    ports = [0] * n
    rates, delays = st.sampled_from([1e9, 10e9, 40e9]), st.sampled_from([0.0, 0.3e-6, 5e-6])

    def end(switch: int) -> Endpoint:
        ports[switch] += 1
        return Endpoint(f"s{switch}", ports[switch])

    links = [
        Link(end(draw(st.integers(0, i - 1))), end(i), draw(rates), draw(delays))
        for i in range(1, n)
    ]
    hosts = make_hosts([f"h{i}" for i in range(draw(st.integers(2, 5)))])
    at = st.integers(0, n - 1)
    links += [
        Link(Endpoint(host.name, 0), end(draw(at)), draw(rates), draw(delays)) for host in hosts
    ]
    used = [Switch(f"s{i}", i + 1, draw(st.sampled_from([FIFO, ROUND_ROBIN]))) for i in range(n)]
    topology = Topology("tree", hosts, tuple(used), tuple(links))
    return by_credits(
        topology,
        buffer_bytes=draw(st.sampled_from([1088, 5000, 60_000, BUFFER])),
        credit_interval_s=draw(st.sampled_from([0.2e-6, 2e-6, 10e-6])),
    )


@given(st.data())
@settings(max_examples=20)
def test_in_any_network_all_arrives_and_all_credits_come_back(data):
    topology = data.draw(trees())
    names = [host.name for host in topology.hosts]
    pairs = [(a, b) for a in names for b in names if a != b]
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=6))
    sizes = st.integers(1, 150_000)
    flows = [FlowSpec(i, a, b, 0.0, data.draw(sizes)) for i, (a, b) in enumerate(chosen)]
    # All eight lanes send in turn: every second one lost would be the same lanes' for ever
    every = data.draw(st.sampled_from([0, 0, 3, 5]))
    response_s = data.draw(st.sampled_from([0.0, 1e-6]))
    with TemporaryDirectory() as directory:
        with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
            for end in ends(topology):
                network.disturb(end.node, end.port, "flow control", lose=every)
            assert with_flows(network, flows).run(until_s=2, finish=True)
            assert [flow.stats().received_payload for flow in network.flows.values()] == [
                f.size_bytes for f in flows
            ]
            assert nothing_inside(network)
            buffer = int(topology.number("buffer_bytes"))
            for end in ends(topology):
                assert network.link_stats(end.node, end.port).held_max <= buffer
                network.disturb(end.node, end.port, "flow control", lose=0)
            network.run(until_s=network.now_s + 2.2 * period_s(1e9))
            for end in ends(topology):
                network.capture(end.node, end.port, Path(directory) / str(end))
            network.run(until_s=network.now_s + 1.1 * period_s(1e9))
        for end in ends(topology):
            peer = topology.peer(end.node, end.port)
            out, back = (flow_control(Path(directory) / str(which)) for which in (end, peer))
            sent = {packet.lane: packet.sent for packet in out}
            limits = {packet.lane: packet.limit for packet in back}
            assert sorted(sent) == sorted(limits) == list(range(8))
            assert {(limits[lane] - sent[lane]) % COUNTS for lane in sent} == {
                min(AHEAD, buffer // BLOCK)
            }


# ---- lanes ----


def add_flow(
    network: VirtualNetwork, spec: FlowSpec, priority: int | None = None, payload_bytes: int = 1000
) -> VirtualFlow:
    """A flow whose packets are of another size, or whose NIC takes them for those of another
    class."""
    maker, network._maker = network._maker, FlowMaker(network.scheme, 1, payload_bytes)
    if priority is not None:
        columns = FlowColumns.of([spec], network.topology.host_places)
        network._make(columns, 0, np.array([spec.start_s]), np.array([np.nan]), None)
        for kind, *_ in network._maker._kinds._kinds.values():
            kind.priority = priority
    flow = network.add_flow(spec, network.now_s)
    network._maker = maker
    return flow


def test_a_lane_without_credits_stops_no_other():
    """Lane 3 to r0 is stopped behind a slow link; lanes 1 and 5 to r1, over the same s0 and s1,
    share what it leaves: their buffers are their own."""
    hosts = make_hosts(["h0", "r0", "r1"])
    pairs = [("h0", 0, "s0", 1), ("s0", 2, "s1", 1), ("s1", 2, "r0", 0), ("s1", 3, "r1", 0)]
    links = [
        Link(Endpoint(a, i), Endpoint(b, j), 1e9 if b == "r0" else 10e9, 1e-6)
        for a, i, b, j in pairs
    ]
    topology = by_credits(Topology("fork", hosts, (Switch("s0", 1), Switch("s1", 2)), tuple(links)))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        slow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000))
        specs = [
            FlowSpec(lane + 1, "h0", "r1", size_bytes=3_000_000, traffic_class=lane)
            for lane in (5, 1)
        ]
        fast = [network.add_flow(spec) for spec in specs]
        network.run(until_s=8e-3)
        assert all(flow.stats().complete_s is not None for flow in fast)
        # Two flows of 3 MB, beside a gigabit: lanes' shares of the line, with what lane 3 took
        # before it was stopped
        assert max(flow.stats().complete_s or 1 for flow in fast) == pytest.approx(
            6000 * MTU * 8 / 9e9, rel=0.1
        )
        assert slow.stats().received_packets < 1000
        assert network.run(until_s=0.1, finish=True)
        assert slow.stats().received_packets == 2000
        assert nothing_inside(network)


def test_every_lane_is_lossless():
    """Class 5, which PFC doesn't protect: an incast loses nothing, and its lane's buffer alone
    fills."""
    with VirtualNetwork(by_credits(star(3), buffer_bytes=20_000), PFC_ONLY) as network:
        held = network.sample(1e-6, [network.held_bytes("s0", 1, lane) for lane in range(8)])
        specs = [
            FlowSpec(i, f"h{i}", "r0", size_bytes=1_000_000, traffic_class=5) for i in range(3)
        ]
        flows = [network.add_flow(spec) for spec in specs]
        assert network.run(until_s=0.1, finish=True)
        assert all(flow.stats().received_packets == 1000 for flow in flows)
        largest = held.values.max(axis=0)
        assert 20_000 - 2 * 17 * BLOCK < largest[5] <= 20_000
        assert not largest[[lane for lane in range(8) if lane != 5]].any()
        assert network.link_stats("s0", 4).refused == 0


def test_a_longer_frame_waits_for_credits_enough():
    """17 frames of the first flow wait in s0 and leave 23 blocks; a frame of the second takes
    64."""
    with VirtualNetwork(by_credits(chain(1), buffer_bytes=312 * BLOCK), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=17_000))
        network.set_link("s0", 2, up=False)
        network.run(until_s=100e-6)
        assert network.link_stats("h0", 0).held_bytes == 17 * 17 * BLOCK
        later = add_flow(network, FlowSpec(2, "h0", "r0", size_bytes=100_000), payload_bytes=4000)
        network.run(until_s=200e-6)
        assert later.stats().sent_packets == 0
        network.set_link("s0", 2, up=True)
        assert network.run(until_s=0.1, finish=True)
        assert later.stats().received_payload == 100_000


def test_a_switch_that_takes_another_lane_than_was_used_ends_the_run():
    """h0 takes credits of lane 2 for what s0 queues in class 3: nothing there stops it."""
    with VirtualNetwork(by_credits(chain(1, out_bps=1e9)), PFC_ONLY) as network:
        add_flow(network, FlowSpec(1, "h0", "r0", size_bytes=3_000_000), priority=2)
        with pytest.raises(VirtualError, match="in another class than their lane"):
            network.run(until_s=0.1)


def test_network_that_survives_loses_what_fills_another_lane():
    """The same: the lane's buffer keeps its bound, and all that has been sent is accounted for."""
    topology = by_credits(chain(1, out_bps=1e9), buffer_bytes=20_000)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        network.survive()
        add_flow(network, FlowSpec(1, "h0", "r0", size_bytes=300_000), priority=2)
        network.run(until_s=0.1)
        stats, link = network.flows[1].stats(), network.link_stats("h0", 0)
        assert stats.sent_packets == 300
        assert 0 < link.overrun == stats.sent_packets - stats.received_packets
        assert 20_000 - 2 * 17 * BLOCK < link.held_max <= 20_000
        assert nothing_inside(network)


# ---- whatever is computed otherwise ----


@pytest.mark.parametrize(
    "output", [None, OutputBuffer(20_000), OutputBuffer(20_000, reliable=True)]
)
@pytest.mark.parametrize("scheme", ["dcqcn", "timely", "qcn", "ibcc-tcd"])
def test_both_orders_of_events_and_both_forms_of_a_program_agree(scheme, output):
    """CNPs, ACKs and, with QCN, messages that switches make by cloning: those use no credits."""
    topology = by_credits(mesh(4, [(0, 1), (1, 2), (2, 3)], [1e-6, 2e-6]), buffer_bytes=30_000)
    switches = tuple(
        replace(switch, arbitration=ROUND_ROBIN, output=output) for switch in topology.switches
    )
    topology = replace(topology, switches=switches)
    totals = []
    orders = (("nodes", True), ("one", True), ("nodes", False))
    for queues, inplace in orders:
        with VirtualNetwork(
            topology, find_scheme(scheme).configure(), queues=queues, inplace=inplace
        ) as network:
            for end in ends(topology):
                network.disturb(end.node, end.port, "flow control", lose=7)
            assert with_flows(network, all_to_all(4, 200_000)).run(until_s=0.5, finish=True)
            network.run(until_s=0.501)
            assert nothing_inside(network)
            assert (
                sum(network.link_stats(end.node, end.port).starved_s for end in ends(topology)) > 0
            )
            totals.append(network.totals())
    assert totals[0] == totals[1] == totals[2]


def test_experiments_run_it():
    """TCD's network with credits, 1 ms of its traffic: recorded, and nothing is left."""
    drawn = victims_plan("table3", "ibcc-tcd", 1, {"bursts_load": 0.3})
    topology = by_credits(
        replace(drawn.topology, flows=tuple(f for f in drawn.topology.flows if f.start_s < 1e-3))
    )
    recording = run_virtual(replace(drawn, topology=topology, duration_s=2e-3), Silent())
    assert len(recording.flows) == len(topology.flows) > 20
    assert all(flow.received_packets == flow.sent_packets for flow in recording.flows)
    assert not recording.left_inside


# ---- what there isn't ----


def test_a_topology_with_it_can_be_written_and_read():
    topology = by_credits(star(2), credit_interval_s=1e-6)
    assert topology.number("buffer_bytes") == BUFFER
    assert from_dict(json.loads(json.dumps(to_dict(topology)))) == topology
    assert "buffer_bytes" not in star(2).parameters


def test_what_can_not_be():
    with pytest.raises(
        TopologyError, match="star: flow control 'fc': choose from 'pfc' and 'credits'"
    ):
        replace(star(2), flow_control="fc")
    with pytest.raises(
        TopologyError, match="star: buffers of 1000 bytes hold no frame of mtu_bytes, 1058"
    ):
        by_credits(star(2), buffer_bytes=1000)
    with pytest.raises(TopologyError, match="star: credit_interval_s must be above 0"):
        by_credits(star(2), credit_interval_s=0)
    network = VirtualNetwork(by_credits(star(2), buffer_bytes=1088), PFC_ONLY, payload_bytes=1100)
    with network, pytest.raises(VirtualError, match="a frame that no lane's buffer has room for"):
        network.add_flow(FlowSpec(1, "h0", "r0"))


def test_live_networks_refuse_it_and_so_do_programs_that_emulate_pfc():
    with pytest.raises(
        NetworkError, match="star: flow control 'credits' is there in virtual time alone"
    ):
        launch_spec(by_credits(star(2)), "s0", 400, Path("grpc"))
    with pytest.raises(
        NetworkError, match="star: flow control 'credits' is there in virtual time alone"
    ):
        require_startable(by_credits(star(2)), find_target("bmv2"))  # whatever the machine has
    with pytest.raises(
        VirtualError, match="star: credits are counted by switches themselves, not by a program"
    ):
        VirtualNetwork(by_credits(star(2)), PFC_ONLY, pfc=False)
