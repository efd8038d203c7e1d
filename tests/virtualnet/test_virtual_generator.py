"""Packet generators in virtual time: what a switch's program gets, when, and that nothing else changes by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from networks import PFC_ONLY, chain, star, with_flows

from topologies.model import FlowSpec
from virtualnet import Totals, VirtualNetwork
from virtualnet.flows import FlowStats

PORT, UNKNOWN_ETHERTYPE = 508, 6
PERIOD_NS = 7_000
FLOWS = [FlowSpec(i, f"h{i}", "r0", size_bytes=200_000) for i in range(3)]


def generating(network: VirtualNetwork, packet_ids: Sequence[int] = (9, 10), switch: str = "s0") -> VirtualNetwork:
    network.switches[switch].native.generate(PORT, PERIOD_NS, packet_ids)
    return network


def dropped(network: VirtualNetwork, switch: str = "s0") -> int:
    """A program that expects no generated frames drops them as frames of an unknown type."""
    return network.switches[switch].read_counter("dropped", PORT * 8 + UNKNOWN_ETHERTYPE).packets


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_a_batch_each_period(inplace: bool, queues: Any) -> None:
    with generating(VirtualNetwork(star(1), PFC_ONLY, inplace=inplace, queues=queues)) as network:
        counts = []
        for us in (6.999, 7.0, 13.999, 14.0, 70.0):
            network.run(until_s=us * 1e-6)
            counts.append(dropped(network))
        assert counts == [0, 2, 2, 4, 20]
        assert network.totals().dropped == network.totals().traversals == 20
        assert network.totals().packets == 0


def outcome(generated: bool, **options: Any) -> tuple[Totals, list[FlowStats]]:
    topology = star(3, xoff_bytes=50e3)
    with with_flows(VirtualNetwork(topology, PFC_ONLY, **options), FLOWS) as network:
        if generated:
            generating(network)
        assert network.run(until_s=1e-3, finish=True)
        return network.totals(), [flow.stats() for flow in network.flows.values()]


def test_one_order_of_events_for_both_queues_and_both_forms() -> None:
    reference = outcome(True)
    for options in ({"queues": "one"}, {"inplace": False}, {"queues": "one", "inplace": False}, {"prefetch": False}):
        assert outcome(True, **options) == reference, options


def test_flows_are_the_same_beside_it() -> None:
    """Frames that the program drops take no time; the run's digest has their batches."""
    (without, flows), (beside, same) = outcome(False), outcome(True)
    assert flows == same
    batches = round(beside.now_s * 1e9) // PERIOD_NS
    assert beside.events - without.events == batches > 10
    assert beside.dropped - without.dropped == 2 * batches
    assert beside.digest != without.digest


def test_each_switch_has_its_own() -> None:
    with generating(VirtualNetwork(chain(2), PFC_ONLY), [1], "s1") as network:
        network.run(until_s=100e-6)
        assert (dropped(network, "s0"), dropped(network, "s1")) == (0, 14)


def test_samples_and_calls_come_after_a_batch() -> None:
    """In both orders of events."""
    for queues in ("nodes", "one"):
        with generating(VirtualNetwork(star(1), PFC_ONLY, queues=queues)) as network:  # type: ignore[arg-type]
            found: list[int] = []
            network.at(PERIOD_NS * 1e-9, lambda seen=found, of=network: seen.append(dropped(of)))  # type: ignore[misc]
            counter = network.counter_packets("s0", "dropped", PORT * 8 + UNKNOWN_ETHERTYPE)
            samples = network.sample(PERIOD_NS * 1e-9, [counter])
            network.run(until_s=3 * PERIOD_NS * 1e-9)
            assert found == [2]
            assert samples.values[:, 0].tolist() == [0, 2, 4, 6]
