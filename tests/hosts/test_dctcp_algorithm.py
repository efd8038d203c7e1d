"""DCTCP's RP (SIGCOMM'10, 3.1) by the paper's equations, and the same in C."""

import itertools

import pytest

from pcn.hosts.algorithms import Ack, Loss, Mark, find_scheme
from pcn.hosts.algorithms.dctcp import DctcpReactionPoint

FRAME = 1058
LINE = 10e9


def rp(**settings: float) -> DctcpReactionPoint:
    point = find_scheme("dctcp").configure(settings).new_rp(LINE)
    assert isinstance(point, DctcpReactionPoint)
    return point


def window(of: DctcpReactionPoint, marked: int, frames: int):
    """A window of packets is acknowledged, the first ones marked; the next window has been sent by
    then."""
    sent = of.sent_bytes
    of.sent_bytes = sent + frames * FRAME
    for number in range(frames):
        of.on_ack(Ack(1e-4, Mark.CE if number < marked else Mark.NONE, FRAME), 0.0)


def test_alpha_is_the_moving_average_of_the_share_of_marked_packets():
    """Equation 1: it converges to the share, by 1 - g a window."""
    reaction_point = rp(init_window_bytes=100 * FRAME)
    window(reaction_point, 25, 100)
    alphas = [reaction_point.alpha]
    for _ in range(60):
        window(reaction_point, 25, 100)
        alphas.append(reaction_point.alpha)
    assert alphas[-1] == pytest.approx(0.25, rel=0.1)
    steps = [(after - 0.25) / (before - 0.25) for before, after in itertools.pairwise(alphas[5:21])]
    assert steps == pytest.approx([1 - 1 / 16] * 15, abs=0.02)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.1])
def test_window_falls_by_half_of_alpha_once_a_window(alpha):
    """Equation 2."""
    reaction_point = rp(init_window_bytes=100 * FRAME, g=1e-6)
    reaction_point.alpha, reaction_point.sent_bytes = alpha, 100 * FRAME
    for number in range(50):
        reaction_point.on_ack(Ack(1e-4, Mark.CE, FRAME), 0.0)
        assert reaction_point.window_bytes == pytest.approx(
            100 * FRAME * (1 - alpha / 2), rel=1e-4
        ), number
    for _ in range(50):
        reaction_point.on_ack(Ack(1e-4, Mark.NONE, FRAME), 0.0)
    before = reaction_point.window_bytes
    reaction_point.on_ack(Ack(1e-4, Mark.CE, FRAME), 0.0)  # of the next window
    assert reaction_point.window_bytes == pytest.approx(before * (1 - alpha / 2), rel=1e-4)


def test_window_grows_by_what_is_acknowledged_and_then_by_a_frame_a_window():
    reaction_point = rp(init_window_bytes=10 * FRAME)
    for _ in range(10):
        reaction_point.on_ack(Ack(1e-4, Mark.NONE, FRAME), 0.0)
    assert reaction_point.window_bytes == 20 * FRAME
    reaction_point.on_ack(Ack(1e-4, Mark.CE, FRAME), 0.0)  # the end of slow start
    before = reaction_point.window_bytes
    for _ in range(round(before / FRAME)):
        reaction_point.on_ack(Ack(1e-4, Mark.NONE, FRAME), 0.0)
    assert reaction_point.window_bytes == pytest.approx(before + FRAME, rel=0.01)


def test_loss_halves_the_window_once_and_the_timer_leaves_a_frame():
    reaction_point = rp(init_window_bytes=100 * FRAME)
    reaction_point.sent_bytes = 100 * FRAME
    reaction_point.on_ack(Ack(1e-4, Mark.NONE, 0), 0.0)
    reaction_point.on_ack(Ack(1e-4, Mark.NONE, FRAME), 0.0)
    reaction_point.on_loss(Loss(FRAME), 0.0)
    halved = reaction_point.window_bytes
    assert halved == pytest.approx(101 * FRAME / 2)
    reaction_point.on_loss(Loss(FRAME), 0.0)
    assert reaction_point.window_bytes == halved
    reaction_point.on_loss(Loss(50 * FRAME, timeout=True), 0.0)
    assert reaction_point.window_bytes == FRAME
    for _ in range(40):
        reaction_point.on_ack(Ack(1e-4, Mark.NONE, FRAME), 0.0)
    assert reaction_point.window_bytes < halved  # slow start ends at half of the window before
    assert reaction_point.window_bytes > halved / 2


def test_first_window_is_not_above_the_largest():
    with pytest.raises(ValueError, match="init_window <= max_window must hold"):
        rp(init_window_bytes=2000, max_window_bytes=1000)
