"""DCQCN's algorithms against the paper, step by step: claims 1.1 to 1.6, and invariants of any
sequence of events."""

import itertools
import math

import pytest
from hypothesis import given, settings, strategies as st
from rate_events import expire, send

from pcn.hosts.algorithms import Cnp, Mark, SchemeError, schemes
from pcn.hosts.algorithms.dcqcn import DcqcnNotificationPoint, DcqcnParameters, DcqcnReactionPoint

LINE = 40e9
K = T = 55e-6
B = 10_000_000
G = 1 / 256
R_AI, R_HAI = 40e6, 200e6
NOTICE = Cnp(Mark.CE)


def reaction_point(**parameters: float) -> DcqcnReactionPoint:
    """That of a flow which starts at time 0."""
    rp = DcqcnReactionPoint(LINE, DcqcnParameters(**parameters))
    rp.on_start(0.0)
    return rp


def run_until(rp: DcqcnReactionPoint, end_s: float):
    """All timers that fall due until then."""
    while rp.timer_s is not None and rp.timer_s <= end_s:
        rp.on_timer(rp.timer_s)


def test_a_flow_starts_at_line_rate_with_alpha_1():
    rp = reaction_point()
    assert (rp.rate_bps, rp.target_bps, rp.alpha) == (LINE, LINE, 1.0)
    assert rp.timer_s == K
    assert rp.due_bytes == B


def test_cnps_back_to_back_halve_the_rate():  # 1.2
    rp = reaction_point()
    rates = []
    for number in range(5):
        before = rp.rate_bps
        rp.on_cnp(NOTICE, number * 1e-9)
        assert rp.target_bps == before
        rates.append(rp.rate_bps)
    # From alpha = 1, which (1 - g) alpha + g leaves at 1.
    assert rates == pytest.approx([20e9, 10e9, 5e9, 2.5e9, 1.25e9])
    assert rp.alpha == pytest.approx(1.0)


def test_a_cut_takes_the_old_alpha():  # 1.2
    rp = reaction_point()
    expire(rp, 177)
    alpha = rp.alpha
    rp.on_cnp(NOTICE, 1.0)
    assert rp.rate_bps == pytest.approx(LINE * (1 - alpha / 2))
    assert rp.alpha == pytest.approx((1 - G) * alpha + G)


def test_alpha_halves_in_177_steps_without_cnp():  # 1.3: 177.1, that is 9.74 ms
    rp = reaction_point()
    expire(rp, 177)
    assert rp.alpha == pytest.approx(0.5, rel=1e-3)
    assert rp.alpha == pytest.approx((1 - G) ** 177)
    # The next one, without drift
    assert rp.timer_s == pytest.approx(178 * K)


def test_a_cnp_restarts_alphas_timer():  # Fig. 7
    rp = reaction_point()
    run_until(rp, 1.5 * K)
    alpha = rp.alpha
    rp.on_cnp(NOTICE, 1.5 * K)
    after = (1 - G) * alpha + G
    run_until(rp, 2.49 * K)
    assert rp.alpha == pytest.approx(after)
    run_until(rp, 2.51 * K)
    assert rp.alpha == pytest.approx((1 - G) * after)


def test_fast_recovery_has_five_iterations():  # 1.4
    rp = reaction_point()
    rp.on_cnp(NOTICE, 0.0)
    shares = []
    for _ in range(5):
        expire(rp)
        shares.append(rp.rate_bps / LINE)
        assert rp.target_bps == LINE
    assert shares == pytest.approx([0.75, 0.875, 0.9375, 0.96875, 0.984375])


def cut_twice() -> DcqcnReactionPoint:
    """RT 20 Gbit/s, RC 10 Gbit/s, to leave room above the target."""
    rp = reaction_point()
    rp.on_cnp(NOTICE, 0.0)
    rp.on_cnp(NOTICE, 0.0)
    assert (rp.target_bps, rp.rate_bps) == (LINE / 2, LINE / 4)
    return rp


@pytest.mark.parametrize("event", [expire, send], ids=["timer", "bytes"])
def test_additive_increase_follows_fast_recovery(event):  # 1.5, 1.6
    rp = cut_twice()
    event(rp, 5)
    assert rp.target_bps == LINE / 2
    rate = rp.rate_bps
    for step in range(1, 20):  # with one of the two counters alone there is no hyper increase
        event(rp)
        assert rp.target_bps == pytest.approx(LINE / 2 + step * R_AI)
        rate = (rp.target_bps + rate) / 2
        assert rp.rate_bps == pytest.approx(rate)


def test_hyper_increase_needs_both_counters_above_f():  # 1.6
    """FR while max(T, BC) < F, hyper increase when min(T, BC) > F, additive increase else."""
    for expiries in range(10):
        for counts in range(10):
            rp = cut_twice()
            expire(rp, expiries)
            send(rp, counts)
            before = rp.target_bps
            expire(rp)
            rise = rp.target_bps - before
            expected = (
                0.0 if max(expiries, counts) < 5 else R_HAI if min(expiries, counts) > 5 else R_AI
            )
            assert rise == pytest.approx(expected), (expiries, counts)


def test_a_cnp_resets_counters_and_byte_counter():  # Fig. 7
    rp = cut_twice()
    expire(rp, 8)
    send(rp, 8)
    assert (rp.timer_events, rp.byte_events) == (8, 8)
    rp.sent_bytes += B // 2
    rp.on_cnp(NOTICE, 1.0)
    assert (rp.timer_events, rp.byte_events) == (0, 0)
    assert rp.due_bytes == rp.sent_bytes + B
    assert rp.timer_s == 1.0 + T


def test_the_rate_never_exceeds_the_line():
    rp = reaction_point()
    expire(rp, 100)
    send(rp, 100)
    assert (rp.rate_bps, rp.target_bps) == (LINE, LINE)


def test_the_rate_has_a_floor():
    rp = reaction_point()
    for _ in range(100):
        rp.on_cnp(NOTICE, 0.0)
    assert rp.rate_bps == 1e6


def test_timers_of_different_length_keep_their_own_time():
    """Alpha every 55 us, the rate every 300 us."""
    rp = reaction_point(rate_timer_s=300e-6)
    rp.on_cnp(NOTICE, 0.0)
    run_until(rp, 299e-6)
    assert (rp.rate_bps, rp.timer_events) == (LINE / 2, 0)
    assert rp.alpha == pytest.approx((1 - G) ** 5)
    run_until(rp, 3000.1e-6)
    assert rp.timer_events == 10
    assert rp.alpha == pytest.approx((1 - G) ** 54)


# Times in microseconds: CNPs fall between the ticks, where nothing else happens.
@settings(max_examples=40)
@given(
    cnps=st.lists(st.integers(0, 999), max_size=20, unique=True),
    bytes_per_us=st.integers(0, 5000),
    rate_timer=st.integers(1, 200),
)
def test_any_run_is_that_of_a_model_that_ticks_each_microsecond(cnps, bytes_per_us, rate_timer):
    """Fig. 7 once more, written with counters that tick instead of times."""
    counter = 100_000
    rp = reaction_point(rate_timer_s=rate_timer * 1e-6, byte_counter_bytes=counter)
    rc = rt = LINE
    alpha = 1.0
    alpha_age = timer_age = t = bc = counted = 0

    def increase():
        nonlocal rc, rt
        if max(t, bc) >= 5:
            rt = min(LINE, rt + (R_HAI if min(t, bc) > 5 else R_AI))
        rc = (rc + rt) / 2

    for us in range(1000):
        if us in cnps:
            rp.on_cnp(NOTICE, (us + 0.5) * 1e-6)
            rt, rc = rc, max(rc * (1 - alpha / 2), 1e6)
            alpha = (1 - G) * alpha + G
            alpha_age = timer_age = t = bc = counted = 0
            # The model's timers start at the last tick, the RP's at the CNP: half a tick apart.
        now = us + 1
        run_until(rp, (now + 0.75) * 1e-6)
        alpha_age += 1
        timer_age += 1
        alpha_expired, timer_expired = alpha_age == 55, timer_age == rate_timer
        if alpha_expired:
            alpha *= 1 - G
            alpha_age = 0
        if timer_expired:
            increase()
            t += 1
            timer_age = 0
        rp.sent_bytes += bytes_per_us
        counted += bytes_per_us
        if counted >= counter:
            increase()
            bc += 1
            counted = 0
        if rp.due_bytes is not None and rp.sent_bytes >= rp.due_bytes:
            rp.on_bytes_sent(now * 1e-6)
        for actual, expected in ((rp.alpha, alpha), (rp.rate_bps, rc), (rp.target_bps, rt)):
            # a pytest.approx each would cost more than all else
            assert math.isclose(actual, expected, rel_tol=1e-9)


@given(st.lists(st.sampled_from(["cnp", "timer", "bytes"]), max_size=200), st.floats(0.1, 100))
def test_what_holds_after_any_events(events, spacing_us):
    rp = reaction_point()
    now = 0.0
    for event in events:
        before = rp.rate_bps
        if event == "cnp":
            now += spacing_us * 1e-6
            run_until(rp, now)
            before = rp.rate_bps
            rp.on_cnp(NOTICE, now)
            # claim 0.15: by half at most
            assert before / 2 <= rp.rate_bps < before or rp.rate_bps == before == 1e6
        elif event == "timer":
            now = rp.timer_s or math.nan
            expire(rp)
            assert rp.rate_bps >= before
        else:
            send(rp)
            assert rp.rate_bps >= before
        assert 1e6 <= rp.rate_bps <= rp.target_bps <= LINE
        assert 0 < rp.alpha <= 1
        assert rp.timer_s is not None
        assert rp.timer_s > now
        assert rp.due_bytes is not None
        assert rp.due_bytes > rp.sent_bytes


def test_the_first_marked_packet_is_notified_at_once_then_one_each_50_us():  # 1.1
    np = DcqcnNotificationPoint(DcqcnParameters())
    assert np.period_s is None
    sent = [at for at in range(1000) if np.on_marked(at * 1.000001e-6) is not None]
    assert sent == list(range(0, 1000, 50))
    assert np.on_marked(1.0) == Cnp(Mark.CE)


@given(st.lists(st.floats(0, 1e-3), min_size=1, max_size=300).map(sorted))
def test_cnps_are_never_closer_than_n_and_each_has_its_marked_packet(marked):  # 1.1
    np = DcqcnNotificationPoint(DcqcnParameters())
    sent = [at for at in marked if np.on_marked(at) is not None]
    assert sent[0] == marked[0]
    assert all(later >= earlier + 50e-6 for earlier, later in itertools.pairwise(sent))
    # A marked packet without a CNP had one less than N before.
    for at in set(marked) - set(sent):
        assert any(earlier <= at < earlier + 50e-6 for earlier in sent)


def test_the_usual_tuning_is_the_default():
    parameters = schemes["dcqcn"].configure().parameters
    assert parameters == DcqcnParameters(
        g=1 / 256, f=5, cnp_interval_s=50e-6, alpha_timer_s=55e-6, rate_timer_s=55e-6,
        byte_counter_bytes=10e6, r_ai_bps=40e6, r_hai_bps=200e6, k_min_bytes=5e3,
        k_max_bytes=200e3, p_max=0.01,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"g": 0}, "g = 0:"),
        ({"g": 1.1}, "g = 1.1"),
        ({"f": 1.5}, "f = 1.5"),
        ({"f": -1}, "f = -1:"),
        ({"alpha_timer_s": 50e-6}, "alpha's timer must be the longer one"),
        ({"rate_timer_s": 0}, "rate_timer_s = 0:"),
        ({"byte_counter_bytes": 0}, "byte_counter_bytes = 0:"),
        ({"min_rate_bps": 0}, "min_rate_bps = 0:"),
        ({"k_min_bytes": 300e3}, "K_min <= K_max"),
        ({"k_min_bytes": -1}, "k_min_bytes = -1:"),
        ({"p_max": 1.01}, "p_max = 1.01"),
        ({"p_max": -0.01}, "p_max = -0.01"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(SchemeError, match=message):
        schemes["dcqcn"].configure(values)
