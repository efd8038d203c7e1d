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


def test_one_loop_brings_the_sum_below_the_capacity():
    assert theory.aggregate_after_decrease(10e9, 0.025) == pytest.approx(9.75e9)


def test_queue_oscillation():
    """Of as many flows as Fig. 17's; test_fluid.py has it for fewer, beside the swing itself."""
    assert theory.queue_oscillation(64, 0.1 / 64, 10e9, 500e-6) == pytest.approx(60.55e3, rel=2e-3)
    swing = theory.queue_oscillation(1024, 0.1 / 1024, 10e9, 500e-6)
    assert swing == pytest.approx(62.38e3, rel=2e-3)


def test_rate_oscillation_is_equation_16_without_its_dropped_factor():
    assert theory.rate_oscillation(2, 1 / 128, 40e9) == pytest.approx(0.1575e9, rel=1e-3)
    assert theory.rate_oscillation(16, 1 / 128, 40e9) == pytest.approx(0.2931e9, rel=1e-3)
