"""Metrics over arrays whose answer is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data import series_math
from pcn.experiments.run.pace import carried_share


def array(*values: float) -> series_math.Array:
    return np.array(values, dtype=float)


@given(
    st.lists(st.floats(-1e12, 1e12) | st.integers(0, 9).map(float), min_size=1, max_size=60),
    st.sampled_from([0, 5, 50, 95, 99, 99.9, 100]),
)
def test_percentiles_and_distinct_values_are_numpy_s(values, q):
    assert series_math.percentile(array(*values), q) == np.percentile(values, q)
    assert series_math.distinct(array(*values)).tolist() == np.unique(values).tolist()


def test_jain_of_equal_shares_is_one_and_of_one_taker_is_one_nth():
    assert series_math.jain([2.5, 2.5, 2.5, 2.5]) == pytest.approx(1)
    assert series_math.jain([10, 0, 0, 0]) == pytest.approx(0.25)
    assert series_math.jain([1, 2]) == pytest.approx(0.9)
    assert series_math.jain([0, 0]) == 1


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=30),
    st.integers(1, 20),
)
def test_link_carries_no_more_than_its_rate_to_the_last_bit(gaps, every):
    """One byte a second. Frames wait for each other; the counter has a frame whole as it starts."""
    starts, sizes, free = [], [], 0
    for gap, size in gaps:
        starts.append(free + gap)
        sizes.append(size)
        free = starts[-1] + size
    times = np.arange(0, free + every, every, dtype=float)
    started = np.array(
        [sum(n for at, n in zip(starts, sizes, strict=True) if at < time) for time in times], float
    )
    carried = series_math.carried(times, started, 1.0)
    true = [
        sum(min(max(time - at, 0), n) for at, n in zip(starts, sizes, strict=True))
        for time in times
    ]
    assert (np.diff(carried) <= every + 1e-9).all()
    assert (carried <= started + 1e-9).all()
    assert (carried >= np.array(true) - 1e-9).all(), "what has been carried has been counted"
    half = times.size // 2
    ahead = carried[half] - times[half]
    assert np.allclose(
        series_math.carried(times[half:], started[half:], 1.0, ahead), carried[half:]
    )


def test_jain_needs_a_flow():
    with pytest.raises(ValueError, match="no flow"):
        series_math.jain([])


@given(st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=50), st.floats(1e-3, 1e3))
def test_jain_does_not_depend_on_the_unit_and_has_its_bounds(shares, unit):
    index = series_math.jain(shares)
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert series_math.jain([share * unit for share in shares]) == pytest.approx(index)


def test_a_step_series_holds_its_value_until_the_next():
    times, values = array(1, 2, 4), array(10, 20, 5)
    assert series_math.step_at(times, values, array(0.5, 1, 1.9, 2, 3.9, 9)).tolist() == [
        0, 10, 10, 20, 20, 5,
    ]  # fmt: skip
    assert series_math.step_mean(times, values, 1, 4) == pytest.approx((10 + 20 + 20) / 3)
    assert series_math.step_mean(times, values, 0, 2) == pytest.approx(5)
    assert series_math.step_mean(times, values, 0, 2, before=6) == pytest.approx(8)
    with pytest.raises(ValueError, match="no time"):
        series_math.step_mean(times, values, 2, 2)


def test_a_step_series_without_values_is_what_comes_before_it():
    assert series_math.step_at(array(), array(), array(1, 2), before=7).tolist() == [7, 7]


def test_sum_of_steps_counts_each_from_its_start():
    times, total = series_math.sum_steps([(array(0, 2), array(10, 4)), (array(1), array(5))])
    assert times.tolist() == [0, 1, 2]
    assert total.tolist() == [10, 15, 9]
    assert series_math.sum_steps([])[0].size == 0


@pytest.mark.parametrize(
    ("values", "fall"),
    [
        ((30, 25, 10, 9, 12), 2.0),
        ((30, 25, 11, 11, 11), None),
        ((9, 8, 7, 6, 5), 0.0),
        ((5, 30, 25, 11, 9), 4.0),
    ],
)
def test_first_fall(values, fall):
    assert series_math.first_fall(array(0, 1, 2, 3, 4), array(*values), 10) == fall


def test_utilisation_from_a_counter_between_its_readings():
    times, total = array(0, 1, 2), array(0, 1.25e9, 1.25e9)
    assert series_math.utilisation(times, total, 10e9, 0, 1) == pytest.approx(1)
    assert series_math.utilisation(times, total, 10e9, 0.5, 1.5) == pytest.approx(0.5)
    assert series_math.utilisation(times, total, 10e9, 0, 2) == pytest.approx(0.5)


def test_binned_rate_has_a_short_last_bin():
    starts, rate = series_math.binned_rate(array(0, 10), array(0, 100), 4, 10)
    assert starts.tolist() == [0, 4, 8]
    assert rate.tolist() == pytest.approx([10, 10, 10])


def test_binned_share_is_unknown_where_nothing_was_sent():
    whole = (array(0, 1, 2, 3), array(0, 10, 10, 20))
    part = (array(0, 1, 2, 3), array(0, 5, 5, 15))
    _, share = series_math.binned_share(part, whole, 1, 3)
    assert share[[0, 2]].tolist() == pytest.approx([0.5, 1.0])
    assert np.isnan(share[1])


def test_binned_share_is_at_most_one_though_the_two_are_read_one_after_the_other():
    whole, part = (array(0, 1), array(0, 10)), (array(0, 1), array(0, 11))
    assert series_math.binned_share(part, whole, 1, 1)[1].tolist() == [1.0]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=20), st.integers(1, 40))
def test_binned_max_holds_the_last_sample_where_a_bin_has_none(samples, bins):
    samples.sort()
    times, values = array(*(time for time, _ in samples)), array(*(value for _, value in samples))
    edges = np.linspace(5, 35, bins + 1)
    for number, largest in enumerate(series_math.binned_max(times, values, edges)):
        low, high = edges[number : number + 2]
        inside = (times >= low) & ((times < high) | ((times == high) & (high == edges[-1])))
        before = values[times < low]
        last = before[-1] if before.size else 0.0
        assert largest == (values[inside].max() if inside.any() else last)


def test_spread_leaves_out_the_extremes():
    assert series_math.spread(np.concatenate([np.linspace(0, 1, 1001), [50]])) == pytest.approx(
        0.9, abs=0.01
    )


def queue_of(packets: float) -> tuple[series_math.Array, series_math.Array]:
    times = np.arange(0, 10e-3, 0.25e-3)
    return times, np.full(times.shape, packets)


def test_carried_share_of_a_busy_port():
    readings = np.arange(0, 10e-3, 1e-3)
    sent = (readings, readings * 9e9 / 8)
    paused = queue_of(0)
    assert carried_share(queue_of(100), paused, sent, 10e9) == pytest.approx(0.9)


def test_carried_share_leaves_out_idle_and_paused_time():
    readings = np.arange(0, 10e-3, 1e-3)
    sent = (readings, readings * 0.0)
    assert carried_share(queue_of(3), queue_of(0), sent, 10e9) is None
    assert carried_share(queue_of(100), queue_of(1), sent, 10e9) is None
