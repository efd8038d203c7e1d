"""HPCC's RP (SIGCOMM'19, Algorithm 1) by the paper's equations, and the same in C."""

import pytest

from pcn.hosts.algorithms import Ack, Hop, Mark, NetworkFacts, Telemetry, find_scheme
from pcn.hosts.algorithms.hpcc import HpccReactionPoint

LINE, T = 100e9, 10e-6
W_INIT = LINE * T / 8
TICK = 1e-9
PER_T = round(T / TICK)


def rp(**settings: float) -> HpccReactionPoint:
    point = (
        find_scheme("hpcc").configure({"base_rtt_s": T, "w_ai_bytes": 100, **settings}).new_rp(LINE)
    )
    assert isinstance(point, HpccReactionPoint)
    return point


def hop(tick: int, load: float, queue_bytes: int = 0, rate_bps: float = LINE) -> Hop:
    """Of a link that carries this share of its rate from tick 0 on."""
    return Hop(
        rate_bps, tick % 2**24, round(load * rate_bps / 8 * tick * TICK) % 2**27, queue_bytes
    )


def ack(of: HpccReactionPoint, *hops: Hop, acked: int = 1000, path: int = 7):
    of.sent_bytes += acked
    of.on_ack(Ack(T, Mark.NONE, acked, telemetry=Telemetry(path, TICK, hops)), 0.0)


def test_flow_begins_with_a_bdp_at_line_rate():
    reaction_point = rp()
    assert (reaction_point.window_bytes, reaction_point.rate_bps) == (W_INIT, LINE)


def test_first_acknowledgement_measures_nothing():
    reaction_point = rp()
    ack(reaction_point, hop(0, 2))
    assert (reaction_point.u, reaction_point.window_bytes) == (1, W_INIT)


@pytest.mark.parametrize("load", [1.0, 1.5, 2.0])
def test_u_is_the_busiest_link_s_rate_and_queue(load):
    """After a T whatever was before has weight 0: U = min(q, q') / (B T) + tx / B."""
    reaction_point = rp()
    ack(reaction_point, hop(0, 0.5), hop(0, load, 40_000))
    ack(reaction_point, hop(PER_T, 0.5), hop(PER_T, load, 25_000))
    assert reaction_point.u == pytest.approx(load + 25_000 / W_INIT, rel=1e-4)


def test_u_is_a_moving_average_of_weight_tau_over_t():
    reaction_point = rp()
    ack(reaction_point, hop(0, 2))
    ack(reaction_point, hop(PER_T // 4, 2))
    assert reaction_point.u == pytest.approx(0.75 * 1 + 0.25 * 2, rel=1e-4)


def test_window_is_the_reference_over_the_load_and_updates_it_once_an_rtt():
    """W = W_c / (U / eta) + W_AI; W_c stays until what was sent at its latest update is
    acknowledged."""
    reaction_point = rp()
    ack(reaction_point, hop(0, 2), acked=100_000)
    ack(reaction_point, hop(PER_T, 2), acked=100_000)
    assert reaction_point.window_bytes == pytest.approx(W_INIT / (2 / 0.95) + 100, rel=1e-4)
    assert reaction_point.rate_bps == pytest.approx(reaction_point.window_bytes * 8 / T)
    reference = reaction_point.w_c
    assert reference == reaction_point.window_bytes
    reaction_point.sent_bytes += 100_000
    ack(reaction_point, hop(2 * PER_T, 2), acked=0)  # the same round trip
    assert reaction_point.w_c == reference
    assert reaction_point.window_bytes == pytest.approx(reference / (2 / 0.95) + 100, rel=1e-4)


def test_window_rises_by_steps_and_then_multiplies():
    """maxStage steps of W_AI below eta, then W_c eta / U."""
    reaction_point = rp(max_stage=3)
    reaction_point.w_c = reaction_point.window_bytes = 10_000
    windows = []
    for tick in range(7):
        ack(reaction_point, hop(tick * PER_T, 0.5))
        windows.append(reaction_point.window_bytes)
    assert windows[1:4] == pytest.approx([10_100, 10_200, 10_300])
    assert windows[4] == pytest.approx(10_300 * 0.95 / 0.5 + 100, rel=1e-3)
    assert windows[5] == pytest.approx(windows[4] + 100)


def test_window_is_at_most_the_first_one():
    reaction_point = rp()
    for tick in range(100):
        ack(reaction_point, hop(tick * PER_T, 0.1))
    assert (reaction_point.window_bytes, reaction_point.w_c, reaction_point.rate_bps) == (
        W_INIT,
        W_INIT,
        LINE,
    )


def test_window_of_payload_is_its_frames_bytes():
    """The reference and the rate are those of a window of frames; the window is longer by what
    frames have beside."""
    plain, payload = rp(), rp(frame_per_payload=1.102)
    assert payload.window_bytes == pytest.approx(1.102 * W_INIT)
    for tick in (0, PER_T, 2 * PER_T):
        for point in (plain, payload):
            ack(point, hop(tick, 2))
        assert payload.window_bytes == pytest.approx(1.102 * plain.window_bytes)
        assert (payload.w_c, payload.rate_bps) == (plain.w_c, plain.rate_bps)


def test_rate_and_window_have_a_least_value():
    reaction_point = rp(min_rate_bps=1e9)
    for tick in range(40):
        ack(reaction_point, hop(tick * PER_T, 1, 16_000_000), acked=1_000_000)
    assert reaction_point.rate_bps == pytest.approx(1e9)
    assert reaction_point.window_bytes == reaction_point.w_c == pytest.approx(W_INIT / 100)


def test_first_rtt_may_begin_with_the_first_acknowledgement():
    """The second one, which measures first, then is in the first RTT: the reference stays."""
    for first, reference in ((0, pytest.approx(W_INIT / (2 / 0.95) + 100, rel=1e-4)), (1, W_INIT)):
        reaction_point = rp(first_rtt=first)
        reaction_point.sent_bytes = 100_000
        ack(reaction_point, hop(0, 2))
        ack(reaction_point, hop(PER_T, 2))
        assert reaction_point.window_bytes == pytest.approx(W_INIT / (2 / 0.95) + 100, rel=1e-4)
        assert reaction_point.w_c == reference


def test_clock_that_has_not_advanced_changes_nothing():
    """The record stays, too: the next tick measures all that was sent since."""
    reaction_point = rp()
    ack(reaction_point, hop(0, 2))
    before = reaction_point.u, reaction_point.window_bytes
    ack(reaction_point, hop(0, 2)._replace(sent_bytes=64_000))
    assert (reaction_point.u, reaction_point.window_bytes) == before
    ack(reaction_point, hop(PER_T, 2))
    assert reaction_point.u == pytest.approx(2, rel=1e-4)


def test_link_whose_clock_has_not_advanced_keeps_its_load():
    reaction_point = rp()
    ack(reaction_point, hop(0, 2), hop(0, 0.5))
    ack(reaction_point, hop(PER_T, 2), hop(PER_T, 0.5))
    before = reaction_point.u, reaction_point.window_bytes
    ack(reaction_point, hop(PER_T, 2), hop(2 * PER_T, 0.5))
    assert (reaction_point.u, reaction_point.window_bytes) == before


def test_another_path_is_measured_anew():
    reaction_point = rp()
    ack(reaction_point, hop(0, 2))
    ack(reaction_point, hop(PER_T, 0.1), path=8)
    assert reaction_point.u == 1
    ack(reaction_point, hop(2 * PER_T, 0.1), hop(2 * PER_T, 0.1), path=8)  # more hops
    assert reaction_point.u == 1
    ack(reaction_point, hop(3 * PER_T, 0.1), hop(3 * PER_T, 0.1), path=8)
    assert reaction_point.u == pytest.approx(0.1, rel=1e-3)


def test_clocks_and_counters_start_again():
    reaction_point = rp()
    last = 2**24 - PER_T // 2
    ack(reaction_point, hop(last, 0.75))
    ack(reaction_point, hop(last + PER_T, 0.75))
    assert reaction_point.u == pytest.approx(0.75, rel=1e-3)


def test_links_of_unknown_rate_and_older_records_are_ignored():
    reaction_point = rp()
    ack(reaction_point, hop(5 * PER_T, 2), Hop(0, 0, 0, 0))
    ack(reaction_point, hop(4 * PER_T, 2), Hop(0, 9, 128, 0))
    assert (reaction_point.u, reaction_point.window_bytes) == (1, W_INIT)


def test_recommended_w_ai_is_the_paper_s_on_its_network():
    """80 bytes at 100 Gbit/s and 13 us; with more than 100 flows a flow's part is less."""
    facts = NetworkFacts(16, 12e-6, 13e-6 / 1.02, LINE)
    recommended = find_scheme("hpcc").recommended(facts)
    assert recommended["base_rtt_s"] == pytest.approx(13e-6)
    assert recommended["w_ai_bytes"] == pytest.approx(80, rel=0.02)
    assert find_scheme("hpcc").recommended(facts._replace(flows=200))[
        "w_ai_bytes"
    ] == pytest.approx(40, rel=0.02)
