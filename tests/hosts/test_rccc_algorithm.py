"""RCCC's RP and NP by themselves: credit that is spent, ended, granted and demanded."""

import pytest

from pcn.hosts.algorithms import Ack, Demand, Grant, Loss, Turn, find_scheme
from pcn.hosts.algorithms.rccc import RcccNotificationPoint, RcccReactionPoint

LINE, FRAME, MOST = 100e9, 1062, 16 * 1062
SCHEME = find_scheme("rccc").configure({"maxwnd_bytes": MOST, "frame_bytes": FRAME})
PULL = 4 * 1000 // 256 * 256


def started(left_bytes: int | None = None) -> RcccReactionPoint:
    rp = RcccReactionPoint(LINE, SCHEME.parameters)
    rp.left_bytes = left_bytes
    rp.on_start(0.0)
    return rp


def send(rp: RcccReactionPoint, packets: int):
    for _ in range(packets):
        rp.sent_bytes += FRAME
        rp.left_bytes = None if rp.left_bytes is None else rp.left_bytes - FRAME
        rp.on_bytes_sent(0.0)


def up(size_bytes: float) -> int:
    return int(-(-size_bytes // 256) * 256)


def test_flow_sends_its_first_credit_unasked_and_no_more():
    rp = started()
    send(rp, 15)
    assert rp.rate_bps == LINE
    send(rp, 1)
    assert rp.rate_bps == 1


def test_first_answer_ends_the_credit_that_is_left():
    for answer in (lambda rp: rp.on_ack(Ack(5e-6), 0.0), lambda rp: rp.on_grant(Grant(0), 0.0)):
        rp = started()
        send(rp, 3)
        answer(rp)
        assert (rp.credit_bytes, rp.rate_bps) == (0, 1)


def test_any_credit_lets_a_packet_go_which_is_paid():
    rp = started()
    rp.on_ack(Ack(5e-6), 0.0)
    rp.on_grant(Grant(256), 0.0)
    assert rp.rate_bps == LINE
    send(rp, 1)
    assert (rp.credit_bytes, rp.rate_bps) == (256 - FRAME, 1)
    rp.on_grant(Grant(256), 0.0)  # it comes twice
    assert rp.credit_bytes == 256 - FRAME


def test_credit_is_at_most_maxwnd():
    rp = started()
    rp.on_grant(Grant(256 * 1000), 0.0)
    assert rp.credit_bytes == MOST


def test_timer_without_credit_lets_one_packet_go():
    rp = started()
    send(rp, 16)
    rp.on_loss(Loss(FRAME, timeout=True), 0.0)
    assert rp.rate_bps == LINE
    send(rp, 1)
    assert rp.rate_bps == 1


def test_silence_without_credit_lets_one_packet_go():
    rp = started()
    send(rp, 16)
    rp.on_ack(Ack(5e-6), 0.0)
    first_s = rp.timer_s
    assert first_s == SCHEME.parameters.rto_s
    rp.on_timer(first_s)
    assert rp.rate_bps == 1
    assert rp.timer_s == 2 * first_s
    rp.on_timer(rp.timer_s)
    assert rp.rate_bps == LINE
    send(rp, 1)
    assert rp.rate_bps == 1


@pytest.mark.parametrize(
    ("left", "demand"), [(None, FRAME), (30 * FRAME, FRAME), (10 * FRAME, FRAME), (FRAME, 0)]
)
def test_first_packet_demands_a_frame_at_least_where_one_is_left(left, demand):
    assert started(left).demand_bytes == up(demand)


def test_packet_demands_the_rest_at_most_maxwnd():
    rp = started(100 * FRAME)
    rp.on_ack(Ack(5e-6), 0.0)
    assert rp.demand_bytes == up(MOST + FRAME)  # when it has gone, the credit is a frame below 0
    rp.on_grant(Grant(10 * 256), 0.0)
    assert rp.demand_bytes == up(10 * 256 + MOST - (10 * 256 - FRAME))
    rp.left_bytes = 3 * FRAME
    rp.on_ack(Ack(5e-6), 0.0)
    assert rp.demand_bytes == up(3 * FRAME)


def test_turns_grant_up_to_the_demand():
    np = RcccNotificationPoint(SCHEME.parameters)
    np.on_demand(Demand(2 * PULL + 256), 0.0)
    assert np.turn is Turn.ACTIVE
    granted = [(np.on_turn(Turn.ACTIVE, 0.0), np.turn, np.pace_bytes) for _ in range(3)]
    assert granted == [
        (PULL, Turn.ACTIVE, PULL / 0.99),
        (2 * PULL, Turn.ACTIVE, PULL / 0.99),
        (2 * PULL + 256, Turn.IDLE, 256 / 0.99),
    ]
    np.on_demand(Demand(2 * PULL), 0.0)
    assert np.turn is Turn.NONE


def test_trimmed_packet_wants_a_turn_that_may_grant_nothing():
    np = RcccNotificationPoint(SCHEME.parameters)
    np.on_demand(Demand(0, trimmed=True), 0.0)
    assert np.turn is Turn.ACTIVE
    assert (np.on_turn(Turn.ACTIVE, 0.0), np.turn, np.pace_bytes) == (0, Turn.IDLE, 1024 / 0.99)


def test_idle_turns_grant_maxwnd_beyond_the_demand():
    np = RcccNotificationPoint(SCHEME.parameters)
    turns = 0
    np.turn = Turn.IDLE
    while np.turn is Turn.IDLE:
        granted = np.on_turn(Turn.IDLE, 0.0)
        turns += 1
    assert turns == -(-(MOST // 256 * 256) // PULL)
    assert granted == turns * PULL


def test_flow_that_answers_no_grant_for_rto_has_no_turns_until_it_sends():
    rto_s = SCHEME.parameters.rto_s
    np = RcccNotificationPoint(SCHEME.parameters)
    np.on_demand(Demand(3 * PULL), 0.0)
    assert (np.on_turn(Turn.ACTIVE, 5 * rto_s), np.turn) == (PULL, Turn.ACTIVE)  # it had no credit
    for turn in (Turn.ACTIVE, Turn.IDLE):
        assert (np.on_turn(turn, 6.1 * rto_s), np.turn) == (PULL, Turn.NONE)
    np.on_demand(Demand(2 * PULL), 7 * rto_s)  # what it wanted before, it wants still
    assert np.turn is Turn.ACTIVE
    assert (np.on_turn(Turn.ACTIVE, 9 * rto_s), np.turn) == (2 * PULL, Turn.ACTIVE)
    np.on_demand(Demand(2 * PULL), 9 * rto_s)
    assert np.turn is Turn.NONE
