"""Round robin over a switch's inputs: shares, order, PFC's account, and that the order of events is
the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from networks import MTU, PCN, PFC_ONLY, all_to_all, chain, mesh, star, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import NetworkError, launch_spec
from pcn.topologies.model import FIFO, ROUND_ROBIN, FlowSpec, Topology, TopologyError


def arbitrated(topology: Topology, arbitration: str) -> Topology:
    return replace(
        topology,
        switches=tuple(replace(switch, arbitration=arbitration) for switch in topology.switches),
    )


@pytest.mark.parametrize(("arbitration", "slow_bps"), [(FIFO, 2.5e9), (ROUND_ROBIN, 3e9)])
def test_what_a_slow_input_gets_of_a_full_output(arbitration, slow_bps):
    """9 and 3 Gbit/s into 10: a FIFO serves in proportion to arrivals, round robin gives max-min
    shares."""
    flows = [FlowSpec(1, "h0", "r0", rate_bps=9e9), FlowSpec(2, "h1", "r0", rate_bps=3e9)]
    with VirtualNetwork(arbitrated(star(2), arbitration), PFC_ONLY) as network:
        fast, slow = (network.add_flow(flow) for flow in flows)
        network.run(until_s=1e-3)
        before = [flow.stats().received_bytes for flow in (fast, slow)]
        network.run(until_s=2e-3)
        rates = [
            (flow.stats().received_bytes - was) * 8 / 1e-3
            for flow, was in zip((fast, slow), before, strict=True)
        ]
        assert sum(rates) == pytest.approx(10e9, rel=2 * MTU * 8 / 10e6)
        assert rates[1] == pytest.approx(slow_bps, rel=0.01)


def test_paused_inputs_share_equally_and_nothing_is_lost():
    """Three inputs with 1, 2 and 3 flows, all at line rate, and PFC alone: a third of the output
    each."""
    flows = [
        FlowSpec(10 * i + n, f"h{i}", "r0", size_bytes=3_000_000 // (i + 1))
        for i in range(3)
        for n in range(i + 1)
    ]
    with VirtualNetwork(arbitrated(star(3, xoff_bytes=50e3), ROUND_ROBIN), PFC_ONLY) as network:
        with_flows(network, flows)
        network.run(until_s=4e-3)
        inputs = [
            sum(network.flows[10 * i + n].stats().received_bytes for n in range(i + 1))
            for i in range(3)
        ]
        assert inputs == pytest.approx([sum(inputs) / 3] * 3, abs=2 * MTU)
        assert network.run(until_s=0.1, finish=True)
        assert all(flow.stats().out_of_order == 0 for flow in network.flows.values())
        assert network.totals().packets == 0
        assert all(
            v == 0 for v in network.switches["s0"].read_registers("waiting_packets").values()
        )
        assert network.link_stats("s0", 1).pause == network.link_stats("s0", 1).resume > 0


def test_one_input_is_served_as_by_a_fifo():
    totals = []
    for arbitration in (FIFO, ROUND_ROBIN):
        topology = arbitrated(chain(3, out_bps=1e9, xoff_bytes=50e3), arbitration)
        with VirtualNetwork(topology, PCN) as network:
            network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
            assert network.run(until_s=0.1, finish=True)
            totals.append(network.totals())
    assert totals[0] == totals[1]


@pytest.mark.parametrize("scheme", ["pcn", "dcqcn"])
@pytest.mark.parametrize("pfc", [True, False])
def test_both_orders_of_events_agree(scheme, pfc):
    """Switches in a line, three flows to each host; PFC under the program and in it."""
    topology = arbitrated(mesh(4, [(0, 1), (1, 2), (2, 3)], [1e-6, 2e-6]), ROUND_ROBIN)
    totals = []
    orders = ("nodes", "one")
    for queues in orders:
        with VirtualNetwork(
            topology, find_scheme(scheme).configure(), pfc=pfc, queues=queues
        ) as network:
            assert with_flows(network, all_to_all(4, 200_000)).run(until_s=0.1, finish=True)
            network.run(until_s=0.2)  # the last notifications arrive
            totals.append(network.totals())
    assert totals[0] == totals[1]
    assert totals[0].packets == 0


def test_unknown_arbitration_is_refused():
    with pytest.raises(
        TopologyError, match="s0: arbitration 'wfq': choose from 'fifo' and 'round robin'"
    ):
        arbitrated(star(2), "wfq")


def test_live_networks_refuse_it():
    with pytest.raises(
        NetworkError, match="s0: arbitration 'round robin' is there with --target engine, and"
    ):
        launch_spec(arbitrated(star(2), ROUND_ROBIN), "s0", 400, Path("grpc"))
