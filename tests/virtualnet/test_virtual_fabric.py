"""Output buffers behind a fabric: when frames leave, how full buffers get, PFC's account, that
nothing leaks, and that the order of events is the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from networks import MTU, PFC_ONLY, all_to_all, chain, mesh, star, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import NetworkError, launch_spec
from pcn.topologies.model import (
    FIFO,
    ROUND_ROBIN,
    Endpoint,
    FlowSpec,
    OutputBuffer,
    Topology,
    TopologyError,
)
from pcn.topologies.serialise import from_dict, to_dict
from pcn.virtualnet import VirtualError

SIZE = 20_000
BUFFER = OutputBuffer(SIZE, speed_up=1.6, latency_s=1e-6)


def buffered(
    topology: Topology, buffer: OutputBuffer | None = BUFFER, arbitration: str = ROUND_ROBIN
) -> Topology:
    switches = tuple(
        replace(switch, arbitration=arbitration, output=buffer) for switch in topology.switches
    )
    return replace(topology, switches=switches)


def test_a_frame_takes_the_fabric_s_time_and_latency_more():
    """Its bits at 1.6 times the rate, and a microsecond; frames behind it follow at the line's
    rate."""
    times = []
    for buffer in (None, BUFFER):
        with VirtualNetwork(buffered(star(1), buffer), PFC_ONLY) as network:
            network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=10_000))
            assert network.run(until_s=1e-3, finish=True)
            stats = network.flows[1].stats()
            times.append((stats.first_s, stats.complete_s))
    (first, last), (later_first, later_last) = times
    assert first is not None
    assert last is not None
    more = MTU * 8 / 16e9 + 1e-6
    assert later_first == pytest.approx(first + more, abs=2e-12)
    assert later_last == pytest.approx(last + more, abs=2e-12)


@pytest.mark.parametrize("speed_up", [1e12, 1e300])
def test_a_fabric_of_any_speed_takes_no_time(speed_up):
    """Also where its rate has more than 64 bits: the latency is left."""
    buffer = OutputBuffer(SIZE, speed_up=speed_up, latency_s=1e-6)
    with VirtualNetwork(buffered(star(1), buffer), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1000))
        assert network.run(until_s=1e-3, finish=True)
        complete_s = network.flows[1].stats().complete_s
    assert complete_s == pytest.approx(2 * (MTU * 8 / 10e9 + 1e-6) + 1e-6, abs=2e-12)


@pytest.mark.parametrize("reliable", [False, True])
def test_a_full_buffer_holds_the_inputs_up_and_is_counted_once(reliable):
    """Two inputs into a tenth of their rate: the buffer fills up to less than two frames; the
    ingress occupancy has it with reliable delivery alone. Without, its sum is what waits at the
    inputs."""
    topology = buffered(star(2, out_bps=1e9, xoff_bytes=50e3), replace(BUFFER, reliable=reliable))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        samples = network.sample(
            1e-6,
            [
                network.output_bytes("s0", 3), network.queue_bytes("s0", 3),
                network.held_bytes("s0", 1), network.held_bytes("s0", 2),
            ],
        )  # fmt: skip
        with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=500_000) for i in range(2)])
        network.run(until_s=1e-3)
        output, waiting, *held = samples.values.T
        assert SIZE - 2 * MTU < output.max() <= SIZE
        assert output[-1] > SIZE - 2 * MTU
        for at in range(0, len(output), 97):
            assert sum(column[at] for column in held) == waiting[at] + (
                output[at] if reliable else 0
            )
        assert network.run(until_s=1, finish=True)
        assert network.totals().packets == 0
        assert network.link_stats("s0", 3).output_bytes == 0
        assert network.link_stats("s0", 1).pause == network.link_stats("s0", 1).resume > 0
        assert all(flow.stats().out_of_order == 0 for flow in network.flows.values())


def test_a_paused_output_fills_its_buffer_and_empties_it():
    """s1 pauses s0, behind a slow link to r0; the rate of a link changes meanwhile, and it is down
    for a while."""
    topology = buffered(chain(3, out_bps=1e9, xoff_bytes=50e3))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        samples = network.sample(5e-6, [network.output_bytes("s0", 2), network.pause_sent("s1", 1)])
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000))
        network.at(5e-3, lambda: network.set_link("s2", 2, rate_bps=5e8))
        network.at(6e-3, lambda: network.set_link("s1", 2, up=False))
        network.at(7e-3, lambda: network.set_link("s1", 2, up=True))
        network.run(until_s=4e-3)
        output, pauses = samples.values.T
        assert output[pauses > 0].max() > SIZE - 2 * MTU
        assert network.run(until_s=0.2, finish=True)
        assert network.totals().packets == 0
        for port in ports(topology):
            assert network.link_stats(port.node, port.port).output_bytes == 0
            assert network.link_stats(port.node, port.port).held_bytes == 0


def ports(topology: Topology) -> list[Endpoint]:
    return [end for link in topology.links for end in (link.a, link.b) if end.node.startswith("s")]


@pytest.mark.parametrize("scheme", ["pcn", "qcn-both"])
@pytest.mark.parametrize(
    ("reliable", "arbitration"), [(False, ROUND_ROBIN), (True, ROUND_ROBIN), (False, FIFO)]
)
def test_both_orders_of_events_and_both_forms_of_a_program_agree(scheme, reliable, arbitration):
    buffer = replace(BUFFER, reliable=reliable)
    topology = buffered(mesh(4, [(0, 1), (1, 2), (2, 3)], [1e-6, 2e-6]), buffer, arbitration)
    totals = []
    orders = (("nodes", True), ("one", True), ("nodes", False))
    for queues, inplace in orders:
        with VirtualNetwork(
            topology, find_scheme(scheme).configure(), queues=queues, inplace=inplace
        ) as network:
            assert with_flows(network, all_to_all(4, 200_000)).run(until_s=0.1, finish=True)
            network.run(until_s=0.2)  # the last notifications arrive
            totals.append(network.totals())
            assert all(
                network.link_stats(port.node, port.port).output_bytes == 0
                for port in ports(topology)
            )
    assert totals[0] == totals[1] == totals[2]
    assert totals[0].packets == 0


def test_what_can_not_be_a_buffer():
    with pytest.raises(
        TopologyError, match="s0: output buffers of 1000 bytes hold no frame of mtu_bytes, 1058"
    ):
        buffered(star(2), OutputBuffer(size_bytes=1000))
    with pytest.raises(TopologyError, match="s0: its output buffers need a speed-up above 0"):
        buffered(star(2), OutputBuffer(speed_up=0))
    network = VirtualNetwork(buffered(star(2), OutputBuffer(1058)), PFC_ONLY, payload_bytes=1100)
    with network, pytest.raises(VirtualError, match="a frame that no output buffer has room for"):
        network.add_flow(FlowSpec(1, "h0", "r0"))


def test_a_topology_with_it_can_be_written_and_read():
    topology = buffered(star(2))
    assert from_dict(to_dict(topology)) == topology


def test_live_networks_refuse_it_and_so_do_programs_that_emulate_pfc():
    with pytest.raises(
        NetworkError, match="s0: output buffers behind a fabric are there in virtual time alone"
    ):
        launch_spec(buffered(star(2), arbitration="fifo"), "s0", 400, Path("grpc"))
    with pytest.raises(VirtualError, match="s0: output buffers need PFC by the switch itself"):
        VirtualNetwork(buffered(star(2)), PFC_ONLY, pfc=False)
