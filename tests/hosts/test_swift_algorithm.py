"""Swift's RP (SIGCOMM'20, Algorithm 1) by the paper's lines, and the same in C."""

import math

import pytest

from pcn.hosts.algorithms import Ack, Loss, NetworkFacts, find_scheme
from pcn.hosts.algorithms.swift import SwiftReactionPoint

FRAME = 1058
LINE = 100e9
TARGET = 25e-6


def rp(cwnd: float = 10, **settings: float) -> SwiftReactionPoint:
    values = {"init_cwnd": cwnd, "fs_range_s": 0.0, "base_target_s": TARGET, **settings}
    point = find_scheme("swift").configure(values).new_rp(LINE)
    assert isinstance(point, SwiftReactionPoint)
    return point


def test_window_grows_by_ai_a_round_trip_below_the_target():
    reaction_point = rp(10)
    for _ in range(10):
        reaction_point.on_ack(Ack(TARGET * 0.9, acked_bytes=FRAME), 0.0)
    assert reaction_point.cwnd == pytest.approx(11, rel=0.01)
    small = rp(0.5)
    small.on_ack(Ack(TARGET * 0.9, acked_bytes=FRAME), 0.0)
    assert small.cwnd == 1.5


@pytest.mark.parametrize(("over", "factor"), [(1.25, 1 - 0.8 * 0.2), (2, 0.6), (10, 0.5)])
def test_window_falls_in_proportion_to_the_excess_once_a_round_trip(over, factor):
    """Of the delay, at most by max_mdf."""
    reaction_point = rp(10)
    reaction_point.on_ack(Ack(TARGET * over, acked_bytes=FRAME), 1.0)
    assert reaction_point.cwnd == pytest.approx(10 * factor)
    reaction_point.on_ack(Ack(TARGET * over, acked_bytes=FRAME), 1.0 + TARGET * over * 0.99)
    assert reaction_point.cwnd == pytest.approx(10 * factor)
    reaction_point.on_ack(Ack(TARGET * over, acked_bytes=FRAME), 1.0 + TARGET * over * 1.01)
    assert reaction_point.cwnd == pytest.approx(10 * factor**2)


@pytest.mark.parametrize(
    ("cwnd", "added"), [(0.05, 1), (0.1, 1), (1, 0.9 / (math.sqrt(10) - 0.1)), (100, 0), (1000, 0)]
)
def test_target_rises_as_the_window_falls(cwnd, added):
    """Flow scaling: by fs_range at fs_min, by nothing from fs_max on."""
    reaction_point = rp(cwnd, fs_range_s=50e-6)
    assert reaction_point.target_s() == pytest.approx(TARGET + 50e-6 * added, rel=1e-9)


def test_window_below_a_frame_is_a_frame_at_a_rate():
    reaction_point = rp(0.25)
    reaction_point.on_ack(Ack(TARGET, acked_bytes=0), 0.0)
    assert (reaction_point.cwnd, reaction_point.window_bytes) == (0.25, FRAME)
    assert reaction_point.rate_bps == pytest.approx(0.25 * FRAME * 8 / TARGET)
    assert rp(2).rate_bps == LINE


def test_recommended_target_is_two_round_trips():
    assert find_scheme("swift").recommended(NetworkFacts(4, 500e-6))["base_target_s"] == 1e-3


def test_losses_cut_once_a_round_trip_and_timers_in_a_row_reset():
    reaction_point = rp(100)
    reaction_point.on_loss(Loss(FRAME), 1.0)
    reaction_point.on_loss(Loss(FRAME), 1.0 + TARGET / 2)
    assert reaction_point.cwnd == 50
    for number in range(1, 5):
        reaction_point.on_loss(Loss(FRAME, timeout=True), 1.0 + number * 1e-3)
    assert reaction_point.cwnd == pytest.approx(50 / 2**4)
    reaction_point.on_loss(Loss(FRAME, timeout=True), 2.0)
    assert reaction_point.cwnd == 0.001
