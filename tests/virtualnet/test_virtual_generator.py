"""Packet generators in virtual time: what a switch's program gets, when, and that nothing else
changes by it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from networks import PFC_ONLY, chain, flow_stats, star, with_flows

from pcn.controller.constants import GENERATOR_PORT, index
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.flows import FlowStats
from pcn.topologies.model import FIFO, ROUND_ROBIN, FlowSpec
from pcn.virtualnet import Totals

UNKNOWN_ETHERTYPE = index(GENERATOR_PORT, 6)
"""How a program that expects no generated frames drops them."""
PERIOD_NS = 7_000
FLOWS = [FlowSpec(i, f"h{i}", "r0", size_bytes=200_000) for i in range(3)]


def generating(
    network: VirtualNetwork, packet_ids: Sequence[int] = (9, 10), switch: str = "s0"
) -> VirtualNetwork:
    network.switches[switch].native.generate(GENERATOR_PORT, PERIOD_NS, packet_ids)
    return network


def dropped(network: VirtualNetwork, switch: str = "s0") -> int:
    return network.switches[switch].read_counter("dropped", UNKNOWN_ETHERTYPE).packets


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_a_batch_each_period(inplace, queues):
    with generating(VirtualNetwork(star(1), PFC_ONLY, inplace=inplace, queues=queues)) as network:
        counts = []
        for us in (6.999, 7.0, 13.999, 14.0, 70.0):
            network.run(until_s=us * 1e-6)
            counts.append(dropped(network))
        assert counts == [0, 2, 2, 4, 20]
        assert network.totals().dropped == network.totals().traversals == 20
        assert network.totals().packets == 0


def outcome(generated: bool, **options) -> tuple[Totals, list[FlowStats]]:
    topology = star(3, xoff_bytes=50e3)
    with with_flows(VirtualNetwork(topology, PFC_ONLY, **options), FLOWS) as network:
        if generated:
            generating(network)
        assert network.run(until_s=1e-3, finish=True)
        return network.totals(), flow_stats(network)


def test_one_order_of_events_for_both_queues_and_both_forms():
    reference = outcome(True)
    for options in (
        {"queues": "one"},
        {"inplace": False},
        {"queues": "one", "inplace": False},
        {"prefetch": False},
    ):
        assert outcome(True, **options) == reference, options


def test_flows_are_the_same_beside_it():
    """Frames that the program drops take no time; the run's digest has their batches."""
    (without, flows), (beside, same) = outcome(False), outcome(True)
    assert flows == same
    batches = round(beside.now_s * 1e9) // PERIOD_NS
    assert beside.events - without.events == batches > 10
    assert beside.dropped - without.dropped == 2 * batches
    assert beside.digest != without.digest


def test_each_switch_has_its_own():
    with generating(VirtualNetwork(chain(2), PFC_ONLY), [1], "s1") as network:
        network.run(until_s=100e-6)
        assert (dropped(network, "s0"), dropped(network, "s1")) == (0, 14)


def stopped(
    keep_alive: int, scheme: str = "qcn-os-largest", arbitration: str = FIFO, **options
) -> tuple[Totals, list[int], int]:
    """From 0.1 ms on the output sends nothing, and its input has paused its host. Totals; messages
    because of that input so far, each 120 us, keep-alive's interval at 10 Gbit/s; how many of them
    came to the flow by 3.05 ms."""
    topology = star(2, xoff_bytes=60e3)
    switches = tuple(replace(switch, arbitration=arbitration) for switch in topology.switches)
    topology = replace(topology, switches=switches)
    with VirtualNetwork(
        topology, find_scheme(scheme).configure({"keep_alive": keep_alive}), **options
    ) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0"))
        network.at(0.1e-3, lambda: network.set_link("s0", 3, up=False))
        network.run(until_s=0.3e-3)
        assert network.switches["s0"].read_register("xoff_sent", index(1)) == 1
        counts = []
        for periods in range(4, 24):
            network.run(until_s=periods * 120e-6)
            counts.append(network.switches["s0"].read_counter("notified", index(1)).packets)
        network.run(until_s=3.05e-3)
        assert network.totals().stray_frames == network.totals().bad_frames == 0
        return network.totals(), counts, flow.stats().cnps_received


@pytest.mark.parametrize("scheme", ["qcn-os", "qcn-os-largest"])
@pytest.mark.parametrize(
    "variant",
    [{}, {"arbitration": ROUND_ROBIN}, {"program": "qcn_in", "pfc": False}],
    ids=["native", "round robin", "emulated"],
)
def test_a_stopped_output_s_input_is_sampled_each_period(scheme, variant):
    reference = stopped(2, scheme, **variant)
    _, counts, received = reference
    assert [after - before for before, after in pairwise(counts)] == [1] * 19
    assert received == counts[-1] + 2
    assert stopped(2, scheme, queues="one", **variant) == reference


@pytest.mark.parametrize("keep_alive", [0, 1])
def test_sender_gets_no_message_without_keep_alive(keep_alive):
    _, counts, _ = stopped(keep_alive)
    assert len(set(counts)) == 1


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_a_batch_comes_first(queues):
    """A frame departs each 120 us, from 120 us on: at 240 us the batch's sample still finds it
    inside, and it, with an age of 0, makes none."""
    frame_bytes, line_bps = 1050, 10e9
    topology = star(1, line_bps, out_bps=8 * frame_bytes / 120e-6, delay_s=1e-6, xoff_bytes=5e3)
    scheme = find_scheme("qcn-os").configure({"keep_alive": 2})
    with VirtualNetwork(topology, scheme, payload_bytes=frame_bytes - 58, queues=queues) as network:
        network.add_flow(
            FlowSpec(1, "h0", "r0", start_s=120e-6 - 1e-6 - 8 * frame_bytes / line_bps)
        )
        switch = network.switches["s0"]
        network.run(until_s=239e-6)
        inside = switch.read_register("held_bytes", index(1))
        network.run(until_s=240e-6)
        assert switch.read_register("held_bytes", index(1)) == inside - frame_bytes
        assert switch.read_register("sampled_bytes", index(1)) == inside


def test_samples_and_calls_come_after_a_batch():
    """In both orders of events."""
    for queues in ("nodes", "one"):
        with generating(VirtualNetwork(star(1), PFC_ONLY, queues=queues)) as network:
            drops: list[int] = []
            network.at(PERIOD_NS * 1e-9, lambda seen=drops, of=network: seen.append(dropped(of)))
            counter = network.counter_packets("s0", "dropped", UNKNOWN_ETHERTYPE)
            samples = network.sample(PERIOD_NS * 1e-9, [counter])
            network.run(until_s=3 * PERIOD_NS * 1e-9)
            assert drops == [2]
            assert samples.values[:, 0].tolist() == [0, 2, 4, 6]
