"""TIMELY's RP against its Algorithm 1, step by step, where its authors' code differs, and what
holds after any RTTs."""

import itertools

import pytest
from hypothesis import given, strategies as st

from pcn.hosts.algorithms import Ack, SchemeError, find_scheme
from pcn.hosts.algorithms.timely import TimelyParameters, TimelyReactionPoint

LINE = 40e9
DELTA = 10e6
US = 1e-6
_MS = itertools.count()


def reaction_point(rate: float = 1e9, **parameters: float) -> TimelyReactionPoint:
    rp = TimelyReactionPoint(LINE, TimelyParameters(**parameters))
    rp.rate_bps = rate
    return rp


def after(rp: TimelyReactionPoint, *rtts_us: float) -> float:
    """The rate after these RTTs, each a millisecond after the one before."""
    for rtt in rtts_us:
        rp.on_ack(Ack(rtt * US), next(_MS) * 1e-3)
    return rp.rate_bps


def test_a_flow_starts_at_line_rate_and_wants_an_rtt_each_64_kb():  # 0.14
    rp = find_scheme("timely").configure().new_rp(LINE)
    assert rp.rate_bps == LINE
    assert rp.segment_bytes == 64_000


def test_below_t_low_the_rate_rises_whatever_the_gradient():
    assert after(reaction_point(), 20, 30, 40, 49.9) == pytest.approx(1e9 + 4 * DELTA)


def test_above_t_high_the_rate_falls_whatever_the_gradient():
    rp = reaction_point()
    assert after(rp, 1000) == pytest.approx(1e9 * (1 - 0.8 * (1 - 500 / 1000)))
    assert after(rp, 625) == pytest.approx(0.6e9 * (1 - 0.8 * (1 - 500 / 625)))


def test_the_gradient_is_the_mean_of_differences_over_the_least_rtt():
    rp = reaction_point()
    after(rp, 100)
    assert rp.rtt_diff_s == 0
    rate = after(reaction_point(), 100)
    assert rate == 1e9 + DELTA  # no gradient yet
    # 0.875 * 4 us / 20 us
    assert after(rp, 104) == pytest.approx((1e9 + DELTA) * (1 - 0.8 * 0.175))
    diff = 0.125 * 3.5 + 0.875 * 2
    assert after(rp, 106) == pytest.approx(
        (1e9 + DELTA) * (1 - 0.8 * 0.175) * (1 - 0.8 * diff / 20)
    )
    assert rp.rtt_diff_s == pytest.approx(diff * US)


def test_a_falling_rtt_raises_the_rate_by_delta_from_the_fifth_on_by_five():
    rp = reaction_point()
    rates = [after(rp, rtt) for rtt in (200, 199, 198, 197, 196, 195, 194)]
    steps = [
        round((rate - before) / DELTA) for before, rate in zip([1e9, *rates], rates, strict=False)
    ]
    assert steps == [1, 1, 1, 1, 5, 5, 5]
    # One that rises ends it.
    after(rp, 215)
    before = after(rp, 150)
    assert after(rp, 149) - before == pytest.approx(DELTA)


def test_gradients_of_other_bands_count_for_the_fifth():
    rp = reaction_point()
    before = after(rp, 600, 590, 580, 570)
    assert after(rp, 400) - before == pytest.approx(5 * DELTA)


def test_a_steep_rise_takes_half_of_the_rate_or_as_printed_leaves_the_lowest():  # 0.15
    assert after(reaction_point(), 60, 400) == pytest.approx((1e9 + DELTA) / 2)
    assert after(reaction_point(max_decrease=1), 60, 400) == 10e6
    assert after(reaction_point(15e6), 60, 400, 1000) == 10e6


def test_updates_more_frequent_than_the_least_rtt_add_and_take_in_proportion_to_their_time():
    rp = reaction_point()
    rp.on_ack(Ack(30 * US), 1.0)
    assert rp.rate_bps == 1e9 + DELTA
    for packet in range(1, 101):
        rp.on_ack(Ack(30 * US), 1.0 + packet * 0.5 * US)
    assert rp.rate_bps == pytest.approx(1e9 + DELTA + 50 / 20 * DELTA)
    before = rp.rate_bps
    rp.on_ack(Ack(1000 * US), 1.0 + 50 * US + 5 * US)
    assert rp.rate_bps == pytest.approx(before * (1 - 5 / 20 * 0.8 * 0.5))


@given(st.lists(st.floats(1, 10_000), max_size=100), st.floats(10e6, LINE))
def test_what_holds_after_any_rtts(rtts, rate):
    rp = reaction_point(rate)
    for rtt in rtts:
        before = rp.rate_bps
        after(rp, rtt)
        assert rp.rate_bps <= LINE
        assert max(10e6, before / 2 * (1 - 1e-9)) <= rp.rate_bps <= before + 5 * DELTA
        if rtt < 50:
            assert rp.rate_bps == pytest.approx(min(before + DELTA, LINE))
        if rtt > 500:
            assert rp.rate_bps <= before
        assert rp.timer_s is None
        assert rp.due_bytes is None


def test_its_own_values_are_the_defaults():
    configured = find_scheme("timely").configure()
    assert configured.parameters == TimelyParameters(
        alpha=0.875, beta=0.8, delta_bps=10e6, t_low_s=50e-6, t_high_s=500e-6, min_rtt_s=20e-6,
        segment_bytes=64e3,
        hai_events=5, hai_factor=5, max_decrease=0.5,
    )  # fmt: skip
    assert configured.new_np().period_s is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpha": 0}, "alpha = 0:"),
        ({"beta": 1.1}, "beta = 1.1"),
        ({"delta_bps": 0}, "delta_bps = 0:"),
        ({"t_low_s": 600e-6}, "T_low <= T_high"),
        ({"t_low_s": -1e-6}, "t_low_s = -1e-06: it must be from 0 to 1"),
        ({"min_rtt_s": 0}, "min_rtt_s = 0:"),
        ({"segment_bytes": 0}, "segment_bytes = 0:"),
        ({"hai_events": 0}, "hai_events = 0:"),
        ({"max_decrease": 0}, "max_decrease = 0:"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(SchemeError, match=message):
        find_scheme("timely").configure(values)
