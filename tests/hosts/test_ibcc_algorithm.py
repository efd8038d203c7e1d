"""InfiniBand's congestion control: the index and the rate after BECNs and the timer, what holds
after any sequence, and that flows share a bottleneck by it, with credits and without."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from pcn.hosts.algorithms import Cnp, Mark, Window, find_scheme
from pcn.hosts.algorithms.ibcc import IbccNotificationPoint, IbccParameters, IbccReactionPoint
from pcn.hosts.algorithms.ibcc_tcd import (
    IbccTcdNotificationPoint,
    IbccTcdParameters,
    IbccTcdReactionPoint,
)
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.head_of_line import head_of_line
from pcn.topologies.model import FlowSpec
from pcn.topologies.star import star

LINE, TIMER = 40e9, 150e-6


def becns(rp: IbccReactionPoint, n: int, now_s: float = 0.0):
    for _ in range(n):
        rp.on_cnp(Cnp(Mark.CE), now_s)


def test_the_rate_is_the_line_s_over_the_index_and_one():
    rp = IbccReactionPoint(LINE, IbccParameters())
    rp.on_start(0.0)
    assert (rp.rate_bps, rp.timer_s) == (LINE, None)
    rates = []
    for _ in range(4):
        becns(rp, 1)
        rates.append(rp.rate_bps)
    assert rates == [LINE / 2, LINE / 3, LINE / 4, LINE / 5]
    becns(rp, 1000)
    assert (rp.ccti, rp.rate_bps) == (127, LINE / 128)


def test_the_step_is_a_parameter():
    rp = IbccReactionPoint(LINE, IbccParameters(ccti_increase=2, ccti_limit=5))
    becns(rp, 2)
    assert rp.ccti == 4
    becns(rp, 1)
    assert rp.ccti == 5


def test_the_timer_runs_from_the_first_becn_to_index_0():
    rp = IbccReactionPoint(LINE, IbccParameters())
    becns(rp, 3, now_s=1e-3)
    expired = []
    while rp.timer_s is not None:
        expired.append(rp.timer_s)
        rp.on_timer(rp.timer_s)
        if len(expired) == 1:
            becns(rp, 1, now_s=rp.timer_s or 0)  # doesn't start it anew
    assert expired == pytest.approx([1e-3 + i * TIMER for i in range(1, 5)])
    assert (rp.ccti, rp.rate_bps) == (0, LINE)


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 255), st.integers(1, 300))
def test_whatever_happens_index_and_rate_stay_in_bounds(events, step, limit):
    rp = IbccReactionPoint(LINE, IbccParameters(ccti_increase=step, ccti_limit=limit))
    now = 0.0
    for is_becn in events:
        if is_becn:
            becns(rp, 1, now)
        elif rp.timer_s is not None:
            now = rp.timer_s
            rp.on_timer(now)
        assert 0 <= rp.ccti <= limit
        assert rp.rate_bps == LINE / (1 + rp.ccti)
        assert (rp.timer_s is None) == (rp.ccti == 0)


def test_every_marked_packet_is_answered():
    np = IbccNotificationPoint(IbccParameters())
    assert [np.on_marked(now) for now in (0.0, 1e-9, 2e-9)] == [Cnp(Mark.CE)] * 3
    assert np.period_s is None


@pytest.mark.parametrize("flow_control", ["pfc", "credits"])
def test_flows_leave_a_short_queue_at_a_bottleneck(flow_control):
    """Eight at line rate into one: the queue falls below twice the threshold, where no CC leaves
    all buffers full; the line is used by half at least, and flows get about as much."""
    topology = replace(star(senders=8, rate_bps=40e9, delay_s=2e-6), flow_control=flow_control)
    queues, received = {}, {}
    for scheme in ("ibcc", "pfc"):
        with VirtualNetwork(topology, find_scheme(scheme).configure()) as network:
            flows = [network.add_flow(flow) for flow in topology.flows]
            queue = network.sample(10e-6, [network.queue_bytes("s0", 9)])
            network.run(until_s=6e-3)
            before = [flow.stats().received_bytes for flow in flows]
            network.run(until_s=30e-3)
            received[scheme] = [
                flow.stats().received_bytes - was for flow, was in zip(flows, before, strict=True)
            ]
            queues[scheme] = queue.values[1000:, 0].mean()
            if scheme == "ibcc":
                assert all(flow.stats().cnps_sent == flow.stats().marked_ce > 0 for flow in flows)
    assert queues["ibcc"] < 2 * 28e3 < queues["pfc"] / 10
    share = 20e-3 * 40e9 / 8 / 8
    assert sum(received["ibcc"]) > 0.5 * 8 * share
    assert max(received["ibcc"]) < 2 * min(received["ibcc"])


# ---- with TCD ----


def test_with_tcd_a_becn_adds_two_and_ue_holds():
    rp = IbccTcdReactionPoint(LINE, IbccTcdParameters())
    rp.on_cnp(Cnp(Mark.UE), 0.0)
    assert (rp.ccti, rp.timer_s) == (0, None)
    becns(rp, 2)
    assert rp.ccti == 4
    rp.on_cnp(Cnp(Mark.UE), 140e-6)
    assert (rp.ccti, rp.timer_s) == (4, pytest.approx(140e-6 + TIMER))


def test_np_with_tcd_notifies_ue_for_a_period_with_ue_alone():
    np = IbccTcdNotificationPoint(IbccTcdParameters())
    assert np.on_window(Window(10, 0, 3, 10_000, 0.0, 1e-6)) == Cnp(Mark.UE)
    assert np.on_window(Window(10, 1, 3, 10_000, 0.0, 1e-6)) is None  # each CE was told at once
    assert np.on_window(Window(10, 0, 0, 10_000, 0.0, 1e-6)) is None
    assert np.on_marked(0.0) == Cnp(Mark.CE)


def test_with_tcd_a_victim_of_credits_keeps_its_rate():
    """TCD's Fig. 2 with credits: what all of a0 to a14 send at once stops t0, where s0's flow to r0
    has more queue than the threshold. IB CC slows s0 down, with TCD it stays at its rate, and no
    packet of it is marked CE."""
    topology = replace(head_of_line(), flow_control="credits")
    slowest, marked = {}, {}
    for scheme in ("ibcc", "ibcc-tcd"):
        with VirtualNetwork(topology, find_scheme(scheme).configure()) as network:
            victim = network.add_flow(FlowSpec(0, "s0", "r0", rate_bps=10e9))
            for burst in range(4):
                for i in range(15):
                    network.add_flow(
                        FlowSpec(100 * burst + 1 + i, f"a{i}", "r1", (1 + burst) * 1e-3, 128_000)
                    )
            for i in range(100):
                network.add_flow(FlowSpec(1000 + i, "s1", "r1", i * 60e-6, 128_000))
            rate = network.sample(20e-6, [network.flow_rate(0)])
            network.run(until_s=6e-3)
            slowest[scheme], marked[scheme] = rate.values.min(), victim.stats().marked_ce
            assert network.link_stats("t0", 3).starved_s > 0
            if scheme == "ibcc-tcd":
                assert victim.stats().marked_ue > 0
    assert marked["ibcc"] > 0 == marked["ibcc-tcd"]
    assert slowest["ibcc"] < 5e9 < 10e9 == slowest["ibcc-tcd"]
