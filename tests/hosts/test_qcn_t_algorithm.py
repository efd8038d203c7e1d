"""QCN-T's RP: QCN's closed forms with a timer alone (claims 4.2 to 4.4), and what holds after any
sequence."""

import pytest
from hypothesis import given, strategies as st
from rate_events import expire

from pcn.hosts.algorithms import Cnm
from pcn.hosts.algorithms.qcn_t import QcnTParameters, QcnTReactionPoint

LINE, TIMER, R_AI = 10e9, 1.2e-3, 5e6


def reaction_point(*messages: int, keep_target: int = 1) -> QcnTReactionPoint:
    """Of a flow that starts at 0 and is sent this feedback there."""
    rp = QcnTReactionPoint(LINE, QcnTParameters(keep_target=keep_target))
    rp.on_start(0.0)
    for feedback in messages:
        rp.on_cnm(Cnm(feedback), 0.0)
    return rp


def test_a_flow_is_not_limited_before_the_first_message():
    rp = reaction_point()
    assert (rp.rate_bps, rp.timer_s, rp.due_bytes) == (LINE, None, None)


def test_bytes_end_no_cycle():
    assert reaction_point(20).due_bytes is None


@given(st.integers(1, 63), st.integers(0, 5))
def test_fast_recovery_halves_the_distance(feedback, cycles):
    """After k cycles R_c = R_t - d / 2^k: after five, 31/32 of the cut are back."""
    rp = reaction_point(feedback)
    cut = LINE * feedback / 128
    expire(rp, cycles)
    assert rp.target_bps == LINE
    assert rp.rate_bps == pytest.approx(LINE - cut / 2**cycles, rel=1e-12)


@given(st.integers(1, 63), st.integers(1, 40))
def test_active_increase_lags_by_a_step(feedback, cycles):
    """k cycles later R_t has grown by k R_AI, and R_c lags by d / 2^k + R_AI (1 - 2^-k)."""
    rp = reaction_point(63, feedback, keep_target=0)
    start = LINE * 65 / 128
    expire(rp, 5)
    lag = rp.target_bps - rp.rate_bps
    expire(rp, cycles)
    assert rp.target_bps == pytest.approx(start + cycles * R_AI, rel=1e-12)
    assert rp.target_bps - rp.rate_bps == pytest.approx(
        lag / 2**cycles + R_AI * (1 - 2**-cycles), rel=1e-6
    )


def test_cycles_are_halved_after_fast_recovery():
    rp = reaction_point(20)
    expired = []
    for _ in range(8):
        assert rp.timer_s is not None
        expired.append(rp.timer_s)
        rp.on_timer(rp.timer_s)
    gaps = [later - earlier for earlier, later in zip([0.0, *expired], expired, strict=False)]
    assert gaps == pytest.approx([TIMER] * 5 + [TIMER / 2] * 3)


@given(st.lists(st.one_of(st.none(), st.integers(1, 63)), max_size=60), st.integers(0, 1))
def test_whatever_happens_rates_stay_in_bounds(events, keep_target):
    rp, now = reaction_point(keep_target=keep_target), 0.0
    for feedback in events:
        if feedback is not None:
            rp.on_cnm(Cnm(feedback), now)
        elif rp.timer_s is not None:
            now = rp.timer_s
            rp.on_timer(now)
        assert 5e6 <= rp.rate_bps <= rp.target_bps <= LINE or rp.target_bps < rp.rate_bps == 5e6
