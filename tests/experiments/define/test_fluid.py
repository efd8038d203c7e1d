"""The fluid model (equations 3 to 7) against what appendix A derives from it. Claims 0.28 to 0.35,
and 0.10."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.define import theory
from pcn.experiments.define.fluid import Fluid, Loops

C = 40e9
T = 50e-6


def steady_cycle(flows: int, w_min: float, capacity: float = C, period: float = T) -> Loops:
    """One cycle of N loops of equal flows, from an increase on, long after the start."""
    loops = Fluid(capacity, period, w_min).run([capacity / flows * 1.1] * flows, 200 * flows)
    increases = np.flatnonzero(~loops.congested) + 1
    first = int(increases[increases <= loops.rates.shape[0] - flows][-1])
    part = slice(first, first + flows)
    queue = loops.queue[first : first + flows + 1]
    return Loops(
        period, loops.rates[part], loops.received[part], queue, loops.w[part], loops.congested[part]
    )


@given(st.lists(st.floats(1e9, C), min_size=3, max_size=20), st.floats(1e-4, 0.2))
def test_one_loop_brings_any_overload_to_just_below_the_capacity(rates, w_min):
    if sum(rates) <= 1.01 * C:
        rates = [3 * C / len(rates)] * len(rates)
    loops = Fluid(C, T, w_min).run(rates, 2)
    assert loops.aggregate[1] == pytest.approx(theory.aggregate_after_decrease(C, w_min))  # 0.28
    assert loops.shares[1] == pytest.approx(loops.shares[0])
    assert loops.queue[1] == pytest.approx((sum(rates) - C) * T / 8)  # eq. 8


@pytest.mark.parametrize(
    ("overload", "w_min", "loops"),
    [(3, 1 / 128, 257), (3, 1 / 30, 61), (2, 1 / 128, 129), (16, 1 / 128, 1921), (3, 0.025, 81)],
)
def test_queue_of_an_overload_is_gone_after_the_loops_of_a_2_1(overload, w_min, loops):
    simulated = Fluid(10e9, 500e-6, w_min).run([10e9] * overload, loops + 1)
    assert int(np.flatnonzero(simulated.queue[1:] == 0)[0]) + 1 == loops  # 0.29, 0.30
    assert theory.loops_to_drain(overload * 10e9, 10e9, w_min) == loops
    assert simulated.congested[: loops - 1].all()


@pytest.mark.parametrize(
    ("flows", "w_min", "factor", "half_life"),
    [
        (2, 1 / 128, 0.98438, 88.0),
        (4, 1 / 128, 0.96923, 88.7),
        (16, 1 / 128, 0.88733, 92.8),
        (2, 0.05, 0.90025, 13.2),
        (4, 0.025, 0.90482, 27.7),
        (16, 0.00625, 0.90805, 115),
    ],
)
def test_distance_from_the_fair_share_shrinks_by_a_in_each_cycle(flows, w_min, factor, half_life):
    start = np.linspace(0.5, 1.5, flows) * 1.5 * C / flows
    loops = Fluid(C, T, w_min).run(start, 80 * flows)
    increases = np.flatnonzero(~loops.congested)
    cycles = increases[np.diff(increases, append=0) == flows]
    distance = loops.shares - 1 / flows
    for k in cycles[:5]:
        # 0.31
        assert distance[k + flows] == pytest.approx(distance[k] * factor, rel=2e-5, abs=1e-12)
    assert theory.fairness_factor(flows, w_min) == pytest.approx(factor, abs=1e-5)
    assert theory.fairness_half_life_loops(flows, w_min) == pytest.approx(half_life, rel=2e-3)


@given(st.lists(st.floats(1e6, C), min_size=2, max_size=8))
def test_any_start_ends_in_equal_shares(rates):
    flows = len(rates)
    loops = Fluid(C, T, 0.1 / flows).run(
        rates, round(30 * theory.fairness_half_life_loops(flows, 0.1 / flows))
    )
    assert loops.shares[-1] == pytest.approx(1 / flows, rel=1e-4)  # Prop. 2, eq. 14


@pytest.mark.parametrize(
    ("flows", "w_min", "capacity", "period", "queue"),
    [
        (2, 1 / 128, 40e9, 50e-6, 15.26),
        (4, 1 / 128, 40e9, 50e-6, 3.92e3),
        (16, 1 / 128, 40e9, 50e-6, 27.36e3),
        (4, 1 / 128, 10e9, 500e-6, 9.80e3),
        (4, 0.025, 10e9, 500e-6, 31.64e3),
        (64, 0.1 / 64, 10e9, 500e-6, 60.55e3),
    ],
)
def test_swing_of_the_queue(flows, w_min, capacity, period, queue):
    cycle = steady_cycle(flows, w_min, capacity, period)
    closed = theory.queue_oscillation(flows, w_min, capacity, period)
    assert cycle.queue.max() - cycle.queue.min() == pytest.approx(closed, abs=1)  # 0.32, to a byte
    assert closed == pytest.approx(queue, rel=2e-3)


@pytest.mark.parametrize(("flows", "swing"), [(2, 0.1575e9), (16, 0.2931e9)])
def test_swing_of_a_rate_is_equation_16_with_the_factor_that_a_2_3_drops(flows, swing):
    cycle = steady_cycle(flows, 1 / 128)
    measured = float(np.ptp(cycle.rates[:, 0]))
    assert measured == pytest.approx(theory.rate_oscillation(flows, 1 / 128, C), rel=1e-6)  # 0.33
    assert measured == pytest.approx(swing, rel=1e-3)
    assert measured < C / 128


def aggregate_peak(flows: int, w_min: float, capacity_bps: float) -> float:
    """Largest sum of the rates in the steady state: (1 + (N - 2 + w_min) w_min) C. The least: (1 -
    w_min) C. [A.2.2]"""
    return (1 + (flows - 2 + w_min) * w_min) * capacity_bps


@pytest.mark.parametrize("flows", [2, 4, 16])
def test_a_cycle_is_one_increase_and_n_minus_1_decreases(flows):
    cycle = steady_cycle(flows, 1 / 128)
    assert cycle.congested.tolist() == [True] * (flows - 1) + [False]  # 0.34
    assert cycle.aggregate[0] == pytest.approx(aggregate_peak(flows, 1 / 128, C))
    assert cycle.aggregate[1:] == pytest.approx(theory.aggregate_after_decrease(C, 1 / 128))


def test_sum_of_four_flows_exceeds_the_capacity_as_printed():
    assert steady_cycle(4, 1 / 128).aggregate[0] / C == pytest.approx(1.0157, abs=1e-4)  # 0.34


@pytest.mark.parametrize("flows", [2, 4, 64, 512])
def test_the_recommended_w_min_bounds_both_swings(flows):
    w_min = 0.1 / flows
    # 0.35
    assert aggregate_peak(flows, w_min, 1.0) - theory.aggregate_after_decrease(1.0, w_min) <= 0.1
    assert theory.queue_oscillation(flows, w_min, 10e9, 500e-6) <= 62.5e3
    cycle = steady_cycle(flows, w_min, 10e9, 500e-6) if flows <= 64 else None
    if cycle is not None:
        assert np.ptp(cycle.aggregate) <= 0.1 * 10e9
        assert np.ptp(cycle.queue) <= 62.5e3


def test_idle_link_is_filled_as_in_figure_10():
    loops = Fluid(C, T, 1 / 128).run([0.0], 26)
    for k, (rate, w) in enumerate(islice(theory.increase(), 25), start=1):
        assert loops.rates[k, 0] == pytest.approx(rate * C)  # 0.10
        assert loops.w[k] == pytest.approx(w)
    assert not loops.congested.any()


@pytest.mark.parametrize("flows", [2, 4, 16])
def test_from_zero_the_sum_is_over_the_capacity_within_ten_loops(flows):
    loops = Fluid(C, T, 1 / 128).run([0.0] * flows, 12)
    assert 0 < int(np.argmax(loops.aggregate > C)) <= 10  # 0.11


def test_a_single_flow_never_congests():
    assert not Fluid(C, T, 1 / 128).run([0.0], 100).congested.any()


def test_the_queue_between_two_loops():
    loops = Fluid(10e9, 500e-6, 0.025).run([10e9] * 3, 3)
    assert loops.queue_at(np.array([0, 250e-6, 500e-6])) == pytest.approx(
        [0, 10e9 * 500e-6 / 8, 2 * 10e9 * 500e-6 / 8]
    )
