"""Closed forms, against the figures that follow from the paper's equations (claims 0.10, 0.28 to
0.35)."""

from itertools import islice

import pytest

from pcn.experiments.define import theory

FIG_10 = {
    1: 0.007812,
    2: 0.019379,
    3: 0.036394,
    5: 0.096788,
    10: 0.538122,
    14: 0.922677,
    15: 0.958396,
    25: 0.999956,
}
FIG_10_W = {
    1: 0.011658,
    2: 0.017351,
    3: 0.025725,
    5: 0.055450,
    10: 0.272669,
    15: 0.479523,
    25: 0.499978,
}


def test_increase_is_figure_10():
    steps = list(islice(theory.increase(), 25))
    for loop, rate in FIG_10.items():
        assert steps[loop - 1][0] == pytest.approx(rate, abs=1e-6)
    for loop, w in FIG_10_W.items():
        assert steps[loop - 1][1] == pytest.approx(w, abs=1e-6)


@pytest.mark.parametrize(
    ("overload", "w_min", "loops"),
    [(3, 1 / 128, 257), (3, 1 / 30, 61), (2, 1 / 128, 129), (16, 1 / 128, 1921), (3, 0.025, 81)],
)
def test_loops_to_drain(overload, w_min, loops):
    assert theory.loops_to_drain(overload * 10e9, 10e9, w_min) == loops


def test_one_loop_brings_the_sum_below_the_capacity():
    assert theory.aggregate_after_decrease(10e9, 0.025) == pytest.approx(9.75e9)


@pytest.mark.parametrize(
    ("flows", "w_min", "capacity", "period", "queue"),
    [
        (2, 1 / 128, 40e9, 50e-6, 15.26),
        (4, 1 / 128, 40e9, 50e-6, 3.92e3),
        (16, 1 / 128, 40e9, 50e-6, 27.36e3),
        (4, 1 / 128, 10e9, 500e-6, 9.80e3),
        (4, 0.025, 10e9, 500e-6, 31.64e3),
        (64, 0.1 / 64, 10e9, 500e-6, 60.55e3),
        (1024, 0.1 / 1024, 10e9, 500e-6, 62.38e3),
    ],
)
def test_queue_oscillation(flows, w_min, capacity, period, queue):
    assert theory.queue_oscillation(flows, w_min, capacity, period) == pytest.approx(
        queue, rel=2e-3
    )


def test_rate_oscillation_is_equation_16_without_its_dropped_factor():
    assert theory.rate_oscillation(2, 1 / 128, 40e9) == pytest.approx(0.1575e9, rel=1e-3)
    assert theory.rate_oscillation(16, 1 / 128, 40e9) == pytest.approx(0.2931e9, rel=1e-3)


@pytest.mark.parametrize(
    ("flows", "w_min", "factor", "half_life"),
    [
        (2, 1 / 128, 0.98438, 88.0),
        (4, 1 / 128, 0.96923, 88.7),
        (16, 1 / 128, 0.88733, 92.8),
        (4, 0.025, 0.90482, 27.7),
    ],
)
def test_fairness(flows, w_min, factor, half_life):
    assert theory.fairness_factor(flows, w_min) == pytest.approx(factor, abs=1e-5)
    assert theory.fairness_half_life_loops(flows, w_min) == pytest.approx(half_life, rel=2e-3)
