"""PFC outside the P4 program: lossless by construction, PAUSE and RESUME at the thresholds, expiry,
response time; and the program that does it itself marks the same packets."""

import ctypes
from dataclasses import replace

import pytest
from networks import MTU, PFC_ONLY, chain, flow_stats, parameters, star, tree, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.compact import compact
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.virtualnet import VirtualError


def incast(network: VirtualNetwork, senders: int, size_bytes: int = 500_000) -> VirtualNetwork:
    return with_flows(
        network, [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=size_bytes) for i in range(senders)]
    )


@pytest.mark.parametrize("delay_s", [0.0, 1e-6, 50e-6])
@pytest.mark.parametrize("response_s", [0.0, 3e-6])
def test_an_incast_loses_nothing_and_stays_within_the_headroom(delay_s, response_s):
    with VirtualNetwork(
        star(4, delay_s=delay_s, xoff_bytes=50e3), PFC_ONLY, response_s=response_s
    ) as network:
        assert incast(network, 4).run(until_s=0.1, finish=True)
        for i in range(4):
            held, frames = network.link_stats(f"h{i}", 0), network.link_stats("s0", i + 1)
            assert 50e3 < held.held_max <= held.held_limit
            # The limit is no loose one: what can be in flight comes, less what leaves meanwhile, a
            # quarter
            assert held.held_limit - held.held_max < 6 * MTU + 0.26 * (held.held_limit - 50e3)
            assert frames.pause == frames.resume > 0
            assert frames.paused_s > 0
        assert all(flow.stats().received_payload == 500_000 for flow in network.flows.values())
        assert network.totals().packets == 0
        # The bottleneck never ran dry: four flows in the time of their bytes
        assert network.now_s == pytest.approx(4 * 500 * MTU * 8 / 10e9, abs=1e-4 + 6 * delay_s)


def test_more_inside_than_can_be_ends_the_run():
    """The engine's account gets bytes that never came."""
    with VirtualNetwork(star(2, xoff_bytes=50e3), PFC_ONLY) as network:
        incast(network, 2).run(until_s=1e-6)
        link = network._links[Endpoint("h0", 0)]
        network._library.vn_pfc_admitted(ctypes.c_void_p(network._handle), link, 3, 60_000)
        with pytest.raises(VirtualError, match="more than XOFF and what can be in flight"):
            network.run(until_s=0.1)


def test_a_paused_port_passes_the_pause_on():
    """A slow last link: s1 stops s0, s0 stops h0; all of it arrives, in order."""
    with VirtualNetwork(chain(2, out_bps=1e9, xoff_bytes=50e3), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3_000_000))
        assert network.run(until_s=0.1, finish=True)
        stats = flow.stats()
        assert network.link_stats("s1", 1).pause > 0
        assert network.link_stats("s0", 1).pause > 0
        assert (stats.received_packets, stats.out_of_order) == (3000, 0)
        switch = network.switches["s0"]
        cell = 2 * 8 + 3
        assert (
            switch.read_counter("pause_received", cell).packets == network.link_stats("s1", 1).pause
        )
        assert (
            switch.read_counter("resume_received", cell).packets
            == network.link_stats("s1", 1).resume
        )
        assert all(
            v == 0
            for name in ("waiting_packets", "pn", "tx_paused")
            for v in switch.read_registers(name).values()
        )


def test_pauses_are_refreshed_before_they_run_out():
    """PAUSE of 100 quanta, 5.12 us: the last link is so slow that one pause lasts longer."""
    with VirtualNetwork(
        chain(1, out_bps=0.1e9, xoff_bytes=50e3, pause_quanta=100), PFC_ONLY
    ) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=200_000))
        assert network.run(until_s=0.1, finish=True)
        frames, held = network.link_stats("s0", 1), network.link_stats("h0", 0)
        assert frames.pause > 10 * frames.resume > 0
        assert held.expired == 0
        assert held.held_max <= held.held_limit


@pytest.mark.parametrize("factor", [0.2, 1.5, 2.5, 8])
@pytest.mark.parametrize("at_s", [0.0, 300e-6, 302.5e-6])
def test_pauses_are_refreshed_by_the_rate_that_the_link_has(factor, at_s):
    """A quantum is 512 bit times: the refresh has to follow a rate that changes, while h0 is paused
    or before."""
    with VirtualNetwork(
        chain(1, out_bps=0.1e9, xoff_bytes=50e3, pause_quanta=400), PFC_ONLY
    ) as network:
        network.at(at_s, lambda: network.set_link("h0", 0, rate_bps=factor * 10e9))
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=200_000))
        sent = network.sample(1e-6, [network.pause_sent("s0", 1)])
        assert network.run(until_s=0.1, finish=True)
        held = network.link_stats("h0", 0)
        assert held.expired == 0
        assert held.held_max <= held.held_limit
        within = (sent.times_s > 1e-3) & (sent.times_s < 4e-3)
        count = sent.values[within][-1, 0] - sent.values[within][0, 0]
        assert count == pytest.approx(3e-3 / (400 * 512 / (factor * 10e9) / 2), rel=0.1)


def test_a_pause_that_isn_t_refreshed_expires():
    """The way back is down while h0 is paused: after its quanta the NIC sends on, by itself."""
    with VirtualNetwork(
        chain(1, out_bps=0.1e9, xoff_bytes=50e3, pause_quanta=2000), PFC_ONLY
    ) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=500_000))
        first = network.sample(1e-6, [network.pause_sent("s0", 1), network.link_bytes("h0", 0)])
        pause_s = 2000 * 512 / 10e9
        network.run(until_s=60e-6)
        begun = first.times_s[first.values[:, 0] > 0][0]
        back = network._links[network.topology.links[0].b]
        network._check(network._library.vn_set_link(network._handle, back, 10**10, False))
        before = network.link_stats("h0", 0).bytes
        network.run(until_s=begun + pause_s - 1e-6)
        assert network.link_stats("h0", 0).bytes == before
        network.run(until_s=begun + pause_s + 2.2e-6)
        assert network.link_stats("h0", 0).expired == 1
        assert network.link_stats("h0", 0).bytes > before


@pytest.mark.parametrize("xoff_bytes", [1e9, 50e3])
@pytest.mark.parametrize("scheme", ["pfc", "pcn"])
def test_both_variants_mark_the_same_packets(scheme, xoff_bytes):
    """One switch: the program that emulates PFC by recirculation and clones, and the one with PFC
    below it, give the same frames at the same times, hence equal digests, with PAUSE frames and
    without."""
    settings = {"period_s": 50e-6} if scheme == "pcn" else {}
    seen = []
    for program, pfc in (("pcn", False), ("pcn_native", True)):
        topology = star(3, xoff_bytes=xoff_bytes)
        with VirtualNetwork(
            topology, find_scheme(scheme).configure(settings), program=program, pfc=pfc
        ) as network:
            assert incast(network, 3, 400_000).run(until_s=0.1, finish=True)
            totals, marked = (
                replace(network.totals(), packets_most=0),
                network.switches["s0"].read_counter("marked", 4 * 8 + 3),
            )
            flows = flow_stats(network)
            frames = [network.link_stats("s0", i).packets for i in (1, 2, 3)]
            pauses = sum(network.link_stats("s0", i).pause for i in (1, 2, 3))
        seen.append((totals, marked, flows, frames))
    assert seen[0] == seen[1]
    assert 0 < seen[0][1].packets <= 1200
    assert (pauses > 0) == (xoff_bytes == 50e3)


def test_class_that_is_held_by_recirculation_keeps_no_other_back():
    """While class 3 is paused at s0, whose program sends its packets round, packets of class 5 find
    the line idle, whenever they come."""
    seen = []
    for program, pfc in (("pcn", False), ("pcn_native", True)):
        topology = replace(compact(senders=2), parameters=parameters(xoff_bytes=50e3))
        to_r0 = topology.peer("r0", 0)
        with VirtualNetwork(topology, PFC_ONLY, program=program, pfc=pfc) as network:
            network.set_link(to_r0.node, to_r0.port, up=False)
            flows = [FlowSpec(0, "h1", "r0", size_bytes=500_000)]
            for number in range(1, 40):
                start_s = 400e-6 + number * 3.21e-6
                flows.append(
                    FlowSpec(number, "h0", "r1", start_s=start_s, size_bytes=500, traffic_class=5)
                )
            with_flows(network, flows).run(until_s=1e-3)
            assert network.flows[0].stats().received_packets == 0
            took_s = {
                round(1e12 * (stats.complete_s - stats.start_s))
                for flow in list(network.flows.values())[1:]
                if (stats := flow.stats()).complete_s is not None and stats.start_s is not None
            }
        seen.append(took_s)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 1


def test_both_variants_of_tcd_mark_alike_behind_a_pause():
    """Likewise: as many UE, as many CE."""
    seen = []
    for program, pfc in (("tcd", False), ("tcd_native", True)):
        topology = tree(2, out_bps=5e9, xoff_bytes=50e3)
        with VirtualNetwork(
            topology, find_scheme("tcd").configure(), program=program, pfc=pfc
        ) as network:
            assert incast(network, 2, 2_000_000).run(until_s=0.1, finish=True)
            flows = flow_stats(network)
            seen.append(
                [sum(getattr(flow, mark) for flow in flows) for mark in ("marked_ue", "marked_ce")]
            )
    assert seen[0][0] > 3000
    assert seen[0] == pytest.approx(seen[1], abs=40)


def test_both_variants_leave_as_many_unmarked_behind_a_pause():
    """Here a switch itself is paused, s0. By recirculation packets change their order; the numbers
    are the same."""
    seen = []
    for program, pfc in (("pcn", False), ("pcn_native", True)):
        with VirtualNetwork(
            tree(2, out_bps=5e9, xoff_bytes=50e3), PFC_ONLY, program=program, pfc=pfc
        ) as network:
            assert incast(network, 2, 2_000_000).run(until_s=0.1, finish=True)
            assert sum(flow.stats().received_packets for flow in network.flows.values()) == 4000
            assert network.switches["s0"].read_counter("pause_received", 3 * 8 + 3).packets > 20
            marked = [("s0", 3), ("s1", 2)]
            seen.append(
                [
                    network.switches[name].read_counter("marked", port * 8 + 3).packets
                    for name, port in marked
                ]
            )
    emulated, native = seen
    assert emulated == native
    # RESUME comes as soon as s1 has two frames less, so that most of what s0 lets go was held up
    assert 0 < native[0] < 400
    assert native[1] > 3900
