"""TCD's schemes (SIGCOMM'21, 5.2): UE holds a rate, CE cuts it as the scheme alone does, and their
NP notifies both."""

import pytest
from hypothesis import given, strategies as st

from pcn.hosts.algorithms import Ack, Cnp, Mark, Window, find_scheme
from pcn.hosts.algorithms.dcqcn import DcqcnParameters, DcqcnReactionPoint
from pcn.hosts.algorithms.dcqcn_tcd import DcqcnTcdParameters, DcqcnTcdReactionPoint
from pcn.hosts.algorithms.tcd import TcdNotificationPoint
from pcn.hosts.algorithms.timely import TimelyParameters, TimelyReactionPoint
from pcn.hosts.algorithms.timely_tcd import TimelyTcdParameters, TimelyTcdReactionPoint

LINE, US = 40e9, 1e-6
CE, UE = Cnp(Mark.CE), Cnp(Mark.UE)


def window(ce: int = 0, ue: int = 0) -> Window:
    return Window(10, ce, ue, 10_000, 0.0, 1e-5)


def dcqcn_tcd(**parameters: float) -> DcqcnTcdReactionPoint:
    rp = DcqcnTcdReactionPoint(LINE, DcqcnTcdParameters(**parameters))
    rp.on_start(0.0)
    return rp


def test_the_first_cut_leaves_four_tenths():  # 3.6
    rp = dcqcn_tcd()
    rp.on_cnp(CE, 0.0)
    assert rp.rate_bps == pytest.approx(0.4 * LINE)
    assert find_scheme("dcqcn").configure().new_rp(LINE).state()["alpha"] == 1.0  # DCQCN's paper


def test_ue_keeps_the_rate_and_starts_all_anew():  # 3.6
    rp = dcqcn_tcd()
    rp.on_cnp(CE, 0.0)
    rate, alpha = rp.rate_bps, rp.alpha
    assert rp.target_bps > rate
    rp.on_cnp(UE, 40 * US)
    assert (rp.rate_bps, rp.target_bps, rp.alpha) == (rate, rate, alpha)
    assert (rp.timer_events, rp.byte_events) == (0, 0)
    assert rp.timer_s == pytest.approx(40 * US + 55 * US)
    assert rp.due_bytes == rp.sent_bytes + 10_000_000


def test_while_ue_comes_in_time_the_rate_stays():
    rp = dcqcn_tcd()
    rp.on_cnp(CE, 0.0)
    rate = rp.rate_bps
    for period in range(1, 200):
        rp.on_cnp(UE, period * 50 * US)
        assert rp.timer_s is not None
        assert rp.timer_s > (period + 1) * 50 * US
    assert rp.rate_bps == rate


@given(st.lists(st.sampled_from(["cnp", "timer", "bytes"]), max_size=60), st.floats(0.1, 1.5))
def test_without_ue_it_is_dcqcn(events, alpha):
    ours = dcqcn_tcd(initial_alpha=alpha)
    plain = DcqcnReactionPoint(LINE, DcqcnParameters(initial_alpha=alpha))
    plain.on_start(0.0)
    now_s = 0.0
    for event in events:
        for rp in (ours, plain):
            assert rp.timer_s is not None
            if event == "timer":
                now_s = max(now_s, rp.timer_s)
                rp.on_timer(now_s)
            elif event == "cnp":
                rp.on_cnp(CE, now_s)
            else:
                rp.on_bytes_sent(now_s)
    assert (ours.rate_bps, ours.target_bps, ours.alpha, ours.timer_s) == (
        plain.rate_bps, plain.target_bps, plain.alpha, plain.timer_s,
    )  # fmt: skip


def test_np_notifies_ue_once_a_window_and_ce_at_once():
    np = TcdNotificationPoint(DcqcnTcdParameters())
    assert np.period_s == 50e-6
    assert np.on_window(window()) is None
    assert np.on_window(window(ue=1)) == UE
    assert np.on_window(window(ce=1, ue=5)) is None  # its first packet with CE was told at once
    assert np.on_marked(1.0) == CE
    assert np.on_marked(1.0 + 49 * US) is None


@given(st.lists(st.tuples(st.floats(10, 900), st.sampled_from([Mark.NONE, Mark.CE])), max_size=40))
def test_timely_without_ue_is_timely(acks):
    ours = TimelyTcdReactionPoint(LINE, TimelyTcdParameters())
    plain = TimelyReactionPoint(LINE, TimelyParameters())
    for number, (rtt_us, mark) in enumerate(acks):
        for rp in (ours, plain):
            rp.on_ack(Ack(rtt_us * US, mark), number * 1e-3)
    assert ours.rate_bps == plain.rate_bps


@given(st.lists(st.floats(10, 900), min_size=1, max_size=40))
def test_timely_keeps_its_rate_at_ue(rtts_us):
    rp = TimelyTcdReactionPoint(LINE, TimelyTcdParameters())
    rp.rate_bps = 5e9
    for number, rtt_us in enumerate(rtts_us):
        rp.on_ack(Ack(rtt_us * US, Mark.UE), number * 1e-3)
        assert rp.rate_bps == 5e9
        assert rp.falls == 0


@pytest.mark.parametrize("scheme", ["dcqcn", "dcqcn-tcd", "timely-tcd", "red", "tcd", "tcd-time"])
def test_thresholds_that_cannot_be_are_refused(scheme):
    with pytest.raises(ValueError, match="K_min <= K_max must hold"):
        find_scheme(scheme).configure({"k_min_bytes": 2, "k_max_bytes": 1})
