"""PCN's algorithms against the paper's closed forms: claims 0.3 to 0.11 and Fig. 10."""

import pytest
from hypothesis import given, strategies as st

from pcn.hosts.algorithms import Cnp, Mark, SchemeError, Window, find_scheme, schemes
from pcn.hosts.algorithms.pcn import PcnNotificationPoint, PcnParameters, PcnReactionPoint

LINE = 40e9
T = 50e-6

# k: rate / line rate and w after k CNPs that notify rate increase, from rate 0 (w_min 1/128, w_max
# 0.5)
FIG_10 = {
    1: (0.007812, 0.011658), 2: (0.019379, 0.017351), 3: (0.036394, 0.025725),
    4: (0.061182, 0.037926), 5: (0.096788, 0.055450), 6: (0.146871, 0.080100),
    7: (0.215207, 0.113735), 8: (0.304465, 0.157666), 9: (0.414128, 0.211641),
    10: (0.538122, 0.272669), 11: (0.664062, 0.334656), 12: (0.776486, 0.389989),
    13: (0.863654, 0.432892), 14: (0.922677, 0.461943), 15: (0.958396, 0.479523),
    16: (0.978346, 0.489342), 17: (0.988942, 0.494557), 18: (0.994411, 0.497249),
    20: (0.998591, 0.499307), 25: (0.999956, 0.499978),
}  # fmt: skip

# (w_min, w_max): CNPs until the rate reaches 50, 90, 95 and 99% of line rate
CNPS_TO_REACH = {
    (1 / 16, 0.5): (5, 9, 10, 12),
    (1 / 32, 0.5): (7, 11, 12, 14),
    (1 / 64, 0.5): (9, 12, 13, 16),
    (1 / 128, 0.5): (10, 14, 15, 18),
    (1 / 256, 0.5): (12, 16, 17, 19),
    (1 / 512, 0.5): (14, 17, 19, 21),
    (1 / 1024, 0.5): (15, 19, 20, 23),
    (1 / 128, 1 / 8): (24, 41, 46, 59),
    (1 / 128, 1 / 4): (16, 24, 26, 32),
    (1 / 128, 1.0): (7, 9, 9, 10),
}


def reaction_point(
    w_min: float = 1 / 128, w_max: float = 0.5, rate: float | None = None
) -> PcnReactionPoint:
    rp = PcnReactionPoint(LINE, PcnParameters(w_min=w_min, w_max=w_max))
    if rate is not None:
        rp.on_cnp(Cnp(Mark.CE, rec_rate_bps=rate / (1 - w_min)), 0.0)
    return rp


def increase(rp: PcnReactionPoint, times: int = 1):
    for _ in range(times):
        rp.on_cnp(Cnp(Mark.NONE, rec_rate_bps=1e6), 0.0)


def cnps_to_reach(rp: PcnReactionPoint, share: float) -> int:
    count = 0
    while rp.rate_bps < share * LINE:
        increase(rp)
        count += 1
    return count


def window(packets: int, marked: int, at: float = 0.0, size: int = 1058) -> Window:
    return Window(packets, marked, 0, packets * size, at, at)


def test_a_flow_starts_at_line_rate_with_w_min():  # 0.7
    rp = reaction_point()
    assert rp.rate_bps == LINE
    assert rp.w == 1 / 128


@given(
    st.lists(st.tuples(st.booleans(), st.floats(1e6, 100e9)), max_size=40), st.floats(1 / 2048, 0.5)
)
def test_decrease_never_increases_and_resets_w(events, w_min):  # 0.8
    rp = reaction_point(w_min)
    for decrease, rec_rate in events:
        before, w = rp.rate_bps, rp.w
        rp.on_cnp(Cnp(Mark.CE if decrease else Mark.NONE, rec_rate), 0.0)
        if decrease:
            assert rp.rate_bps == min(before, rec_rate * (1 - w_min))
            assert rp.w == w_min
        else:
            assert rp.rate_bps == before * (1 - w) + LINE * w
            assert rp.w == w * (1 - w) + 0.5 * w
            assert before * (1 - 1e-12) <= rp.rate_bps <= LINE * (1 + 1e-12)
            assert w_min <= rp.w * (1 + 1e-12)
            assert rp.w <= 0.5 * (1 + 1e-12)


def test_increase_uses_the_old_w():  # 0.9
    rp = reaction_point(rate=10e9)
    increase(rp)
    assert rp.rate_bps == pytest.approx(10e9 * 127 / 128 + 40e9 / 128)
    assert rp.w == pytest.approx(1 / 128 * 127 / 128 + 0.5 / 128)


def test_w_max_is_the_fixed_point():  # 0.9
    rp = reaction_point()
    increase(rp, 200)
    assert rp.w == pytest.approx(0.5, abs=1e-12)


def test_fig_10():  # 0.10
    rp = reaction_point(rate=0.0)
    for k in range(1, 26):
        increase(rp)
        if k in FIG_10:
            assert rp.rate_bps / LINE == pytest.approx(FIG_10[k][0], abs=1e-6)
            assert rp.w == pytest.approx(FIG_10[k][1], abs=1e-6)


def test_at_most_a_tenth_after_5_cnps_and_95_percent_after_15():  # 0.10
    rp = reaction_point(rate=0.0)
    increase(rp, 5)
    assert rp.rate_bps / LINE == pytest.approx(0.09679, abs=1e-5)
    increase(rp, 9)
    assert rp.rate_bps / LINE == pytest.approx(0.92268, abs=1e-5)
    increase(rp, 1)
    assert rp.rate_bps / LINE == pytest.approx(0.95840, abs=1e-5)


@pytest.mark.parametrize(("weights", "counts"), CNPS_TO_REACH.items())
def test_cnps_to_reach_a_share_of_line_rate(weights, counts):  # Fig. 10
    reached = [
        cnps_to_reach(reaction_point(*weights, rate=0.0), share) for share in (0.5, 0.9, 0.95, 0.99)
    ]
    assert reached == list(counts)


def test_cnps_to_reach_from_a_sixteenth():  # Fig. 10
    reached = [cnps_to_reach(reaction_point(rate=2.5e9), share) for share in (0.5, 0.9, 0.95, 0.99)]
    assert reached == [10, 14, 15, 18]


@pytest.mark.parametrize("flows", [1, 2, 4, 16])
def test_equal_flows_from_0_overshoot_within_10_loops_except_one(flows):  # 0.11
    rp = reaction_point(rate=0.0)
    sums = []
    for _ in range(10):
        increase(rp)
        sums.append(flows * rp.rate_bps)
    assert (sums[-1] > LINE) is (flows >= 2)
    increase(rp, 1000)
    assert rp.rate_bps <= LINE


@pytest.mark.parametrize(
    ("packets", "marked", "congested"),
    [
        *(
            (1, 1, True),
            (1, 0, False),
            (19, 18, False),
            (19, 19, True),
            (20, 19, True),
            (20, 18, False),
        ),
        *(
            (60, 57, True),
            (100, 95, True),
            (100, 94, False),
            (180, 171, True),
            (250, 238, True),
            (250, 237, False),
        ),
    ],
)
def test_congested_is_95_percent_marked(packets, marked, congested):  # 0.3
    cnp = PcnNotificationPoint(PcnParameters()).on_window(window(packets, marked))
    assert cnp.mark is (Mark.CE if congested else Mark.NONE)


def test_one_unmarked_packet_is_tolerated_from_20_packets_a_period():  # 0.3
    np = PcnNotificationPoint(PcnParameters(period_s=T))
    tolerated = [
        n
        for n in range(1, 40)
        if (cnp := np.on_window(window(n, n - 1, size=1000))) and cnp.mark is Mark.CE
    ]
    assert min(tolerated) == 20
    rate_bps = 20 * 1000 * 8 / T
    assert rate_bps == pytest.approx(3.2e9)


@given(st.integers(2, 500), st.integers(1, 9216), st.floats(1e-6, 1e-2))
def test_receiving_rate_is_bytes_by_period(packets, size, period):  # 0.4, 0.6
    cnp = PcnNotificationPoint(PcnParameters(period_s=period)).on_window(
        window(packets, 0, size=size)
    )
    exact = packets * size * 8 / period
    assert cnp.rec_rate_bps % 1e6 == 0
    assert cnp.rec_rate_bps >= 1e6
    assert abs(cnp.rec_rate_bps - exact) <= 0.5e6 * (1 + 1e-9) or exact < 0.5e6


def test_no_cnp_without_packets():  # 0.4
    assert PcnNotificationPoint(PcnParameters()).on_window(window(0, 0)) is None


@pytest.mark.parametrize(("size", "starts_below"), [(1000, 160e6), (1500, 240e6)])
def test_inter_arrival_replaces_the_period_when_longer(size, starts_below):  # 0.4
    assert size * 8 / T == pytest.approx(starts_below)
    for periods, divisor in ((0.5, 1), (1, 1), (2, 2), (10, 10)):
        np = PcnNotificationPoint(PcnParameters(period_s=T))
        np.on_window(window(1, 0, at=1.0, size=size))
        cnp = np.on_window(window(1, 0, at=1.0 + periods * T, size=size))
        assert cnp.rec_rate_bps == pytest.approx(starts_below / divisor, abs=0.5e6)


def test_inter_arrival_is_from_the_last_packet_of_an_earlier_window():  # 0.4
    np = PcnNotificationPoint(PcnParameters(period_s=T))
    np.on_window(Window(20, 0, 0, 20_000, 1.0, 1.0 + 0.9 * T))
    cnp = np.on_window(window(1, 0, at=1.0 + 2.9 * T, size=1000))
    assert cnp.rec_rate_bps == pytest.approx(80e6)


def test_empty_windows_do_not_forget_the_last_arrival():  # 0.4
    np = PcnNotificationPoint(PcnParameters(period_s=T))
    np.on_window(window(3, 0, at=1.0))
    for _ in range(3):
        assert np.on_window(window(0, 0)) is None
    cnp = np.on_window(window(1, 0, at=1.0 + 4 * T, size=1000))
    assert cnp.rec_rate_bps == pytest.approx(40e6)


def test_a_silence_before_many_packets_does_not_hide_their_rate():
    np = PcnNotificationPoint(PcnParameters(period_s=T))
    np.on_window(window(3, 0, at=1.0))
    cnp = np.on_window(window(100, 0, at=1.0 + 100 * T, size=1000))
    assert cnp.rec_rate_bps == pytest.approx(16e9)


def test_rounding_keeps_1024_flows_on_10g_near_their_share():  # 0.6
    share = 10e9 / 1024
    np = PcnNotificationPoint(PcnParameters(period_s=500e-6))
    cnp = np.on_window(Window(2, 2, 0, round(share * 500e-6 / 8), 0.0, 400e-6))
    assert cnp.rec_rate_bps == 10e6


def test_the_paper_recommends_these_defaults():  # 0.5, 0.10
    assert PcnParameters() == PcnParameters(
        w_min=1 / 128, w_max=0.5, period_s=50e-6, congested_fraction=0.95
    )


def test_settings_are_text_numbers_or_fractions():
    configured = schemes["pcn"].configure({"w_min": "0.1/4", "period_s": "500us", "w_max": 0.25})
    assert configured.parameters == PcnParameters(w_min=0.025, w_max=0.25, period_s=500e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"w_mim": 1}, "pcn has no parameter 'w_mim'; did you mean 'w_min'"),
        ({"w_min": "small"}, "w_min=small: 'small' is no number: write it like 0.025, 1% or 1/128"),
        ({"w_min": "1/0"}, "is too much"),
        ({"w_min": "1/2/3"}, "is no number"),
        ({"w_min": "nan"}, "is no number"),
        ({"period_s": "5e-4"}, "period_s=5e-4: '5e-4' has no unit: write 500us"),
        ({"w_min": 0.6}, "w_min <= w_max"),
        ({"w_max": 1.5}, "w_max = 1.5: it must be from 1e-06 to 1"),
        ({"period_s": 0}, "period_s = 0:"),
        ({"congested_fraction": 1.1}, "congested_fraction = 1.1"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(SchemeError, match=message.replace("(", r"\(")):
        schemes["pcn"].configure(settings)


def test_unknown_schemes_are_named_with_the_nearest():
    with pytest.raises(SchemeError, match=r"no scheme 'pcnn'; did you mean 'pcn'"):
        find_scheme("pcnn")
    with pytest.raises(SchemeError, match="pfc has no parameter 'w_min'"):
        find_scheme("pfc").configure({"w_min": 1})


def test_pfc_stays_at_line_rate_and_sends_no_notification():
    configured = find_scheme("pfc").configure()
    rp, np = configured.new_rp(LINE), configured.new_np()
    rp.on_cnp(Cnp(Mark.CE, rec_rate_bps=1e6), 0.0)
    assert rp.rate_bps == LINE
    assert np.period_s is None
    assert np.on_window(window(10, 10)) is None
