"""NSCC's RP (Ultra Ethernet 1.0, 3.6.13) by its four cases and quick adapt, and the same in C."""

import pytest

from pcn.hosts.algorithms import Ack, Loss, Mark, NetworkFacts, find_scheme
from pcn.hosts.algorithms.nscc import NsccReactionPoint
from pcn.hosts.paths import Paths

FRAME, LINE, RTT = 4150, 100e9, 12e-6
SEGMENT = FRAME - 58
BDP = RTT * LINE / 8
TARGET = 0.75 * RTT
FRAME_S = 8 * FRAME / LINE
"""Of a round trip, which an `Ack`'s doesn't have: it begins when the frame has left the NIC."""


def rp(window: float = BDP, **settings: float) -> NsccReactionPoint:
    """The reference network, of which the increases' scale is 1."""
    point = (
        find_scheme("nscc")
        .configure({"network_rtt_s": RTT, "frame_bytes": FRAME, **settings})
        .new_rp(LINE)
    )
    assert isinstance(point, NsccReactionPoint)
    assert point.window_bytes == 1.5 * BDP
    point.window_bytes = window
    return point


def ack(delay: float, mark: Mark = Mark.NONE, acked: int = FRAME) -> Ack:
    return Ack(RTT - FRAME_S + delay, mark, acked)


def grown(point: NsccReactionPoint, ack: Ack, packets: int, now_s: float = 1e-6) -> float:
    """What a window gains by a number of acknowledgements, within a round trip."""
    before = point.window_bytes
    for _ in range(packets):
        point.on_ack(ack, now_s)
    return point.window_bytes - before


def test_window_grows_in_proportion_to_what_the_delay_lacks():
    """alpha: four segments a window and target, at an adjustment after more than eight frames."""
    for share in (0.25, 0.5, 0.9):
        gain = 4 * SEGMENT * 9 * FRAME / BDP * (TARGET / 12e-6) * (1 - share)
        assert grown(rp(), ack(share * TARGET), 9) == pytest.approx(gain)
    assert grown(rp(), ack(0.5 * TARGET), 8) == 0


def test_window_grows_fairly_above_the_target():
    """fi: five segments a window."""
    assert grown(rp(), ack(1.5 * TARGET), 9) == pytest.approx(5 * SEGMENT * 9 * FRAME / BDP)


def test_round_trip_adds_eta():
    reaction_point = rp()
    reaction_point.on_ack(ack(TARGET, acked=0), 1.1 * RTT)
    assert reaction_point.window_bytes == pytest.approx(BDP + 0.15 * SEGMENT)
    reaction_point.on_ack(ack(TARGET, acked=0), 1.2 * RTT)
    assert reaction_point.window_bytes == pytest.approx(BDP + 0.15 * SEGMENT)


def test_window_grows_fast_when_the_queue_was_empty_for_a_window():
    reaction_point = rp(10 * FRAME)
    assert grown(reaction_point, ack(0.9e-6), 8) == 0
    before = reaction_point.window_bytes
    grown(reaction_point, ack(0.9e-6), 6)
    assert reaction_point.window_bytes > before + 3 * FRAME * 0.25
    before = reaction_point.window_bytes
    assert grown(reaction_point, ack(1.1e-6), 1) == 0, "a queue ends it"
    assert grown(reaction_point, ack(0.9e-6), 2) == 0


def test_mark_below_the_target_changes_nothing():
    assert grown(rp(), ack(0.5 * TARGET, Mark.CE), 20) == 0


def test_window_falls_by_the_mean_delay_once_a_round_trip():
    reaction_point = rp(delay_alpha=1.0)
    excess = (3 * TARGET - TARGET) / (3 * TARGET)
    for now in (2 * RTT, 2.9 * RTT):
        reaction_point.on_ack(ack(3 * TARGET, Mark.CE, 0), now)
        assert reaction_point.window_bytes == pytest.approx(
            BDP * max(1 - 0.8 * excess, 0.5) + 0.15 * SEGMENT, rel=1e-3
        )
    before = reaction_point.window_bytes
    reaction_point.on_ack(ack(3 * TARGET, Mark.CE, 0), 3.1 * RTT)
    assert reaction_point.window_bytes == pytest.approx(0.5 * before + 0.15 * SEGMENT, rel=1e-2)


def test_mean_delay_takes_an_unmarked_delay_above_the_target_for_a_quarter_of_the_round_trip():
    reaction_point = rp()
    reaction_point.on_ack(ack(2 * TARGET), 0.0)
    assert reaction_point.avg_delay_s == pytest.approx(0.0125 * RTT / 4)
    reaction_point.on_ack(ack(2 * TARGET, Mark.CE), 0.0)
    assert reaction_point.avg_delay_s == pytest.approx(
        0.0125 * RTT / 4 * (1 - 0.0125) + 0.0125 * 2 * TARGET
    )


def test_trimmed_packet_takes_its_bytes_off_the_window():
    reaction_point = rp()
    reaction_point.on_loss(Loss(FRAME), 1e-6)
    assert reaction_point.window_bytes == BDP - FRAME
    reaction_point.on_loss(Loss(10 * FRAME, timeout=True), 2e-6)
    assert reaction_point.window_bytes == BDP - 11 * FRAME
    reaction_point.on_loss(Loss(1000 * FRAME), 3e-6)
    assert reaction_point.window_bytes == FRAME


def test_round_trip_of_a_trimmed_packet_is_among_the_least():
    """It passes the queue, and acknowledgements of packets that waited count as much more delay.
    What a timer found has no round trip."""
    passing, waiting = RTT / 3, RTT - FRAME_S
    delays = []
    for loss in (Loss(FRAME, rtt_s=passing - FRAME_S), Loss(FRAME), Loss(FRAME, True)):
        reaction_point = rp()
        reaction_point.on_loss(loss, 1e-6)
        before = reaction_point.avg_delay_s
        reaction_point.on_ack(Ack(waiting, Mark.CE, FRAME, 0, 0), 2e-6)
        delays.append((reaction_point.avg_delay_s - before) / 0.0125 + before)
    assert delays == pytest.approx([RTT - passing, 0, 0], abs=1e-12)


def test_window_adapts_to_what_arrived_when_little_did():
    """A round trip and a target after the time before: a packet was trimmed, and less than an
    eighth of the largest window was acknowledged. What is in flight then is left out of account."""
    reaction_point = rp()
    reaction_point.sent_bytes = 30 * FRAME
    reaction_point.on_ack(ack(0), 1e-6)  # the time begins
    for _ in range(3):
        reaction_point.on_ack(ack(0), 2e-6)
    reaction_point.on_loss(Loss(FRAME), 3e-6)
    assert reaction_point.window_bytes == BDP - FRAME
    reaction_point.on_loss(Loss(FRAME), 2e-6 + RTT + TARGET)
    assert reaction_point.window_bytes == 3 * FRAME
    reaction_point.on_ack(ack(3 * TARGET, Mark.CE), 40e-6)
    assert reaction_point.window_bytes == 3 * FRAME
    reaction_point.on_loss(Loss(FRAME), 41e-6)
    assert reaction_point.window_bytes == 3 * FRAME, "of what was in flight"


def test_window_does_not_adapt_when_enough_arrived():
    reaction_point = rp()
    reaction_point.on_ack(ack(0), 1e-6)
    grown(reaction_point, ack(0.5 * TARGET), 8, 2e-6)
    reaction_point.on_loss(Loss(FRAME), 2e-6 + RTT + TARGET)
    assert reaction_point.window_bytes == pytest.approx(BDP - FRAME, rel=0.03)


def test_largest_window_falls_with_the_least_round_trip():
    reaction_point = rp()
    reaction_point.on_ack(ack(-RTT / 2, acked=0), 1e-6)
    assert reaction_point.window_bytes == pytest.approx(0.75 * BDP)
    reaction_point.on_ack(ack(0, acked=0), 1e-6)
    assert reaction_point.window_bytes == pytest.approx(0.75 * BDP)


def test_flow_sprays_over_as_many_ports_as_the_parameter_has():
    assert rp().paths == Paths("packet", 64)
    assert rp(paths=8, flowlet_gap_s=1e-5).paths == Paths("flowlet", 8, 1e-5)
    assert (rp(paths=1).paths, rp(paths=1).reliability) == (None, None)


def test_network_s_round_trip_is_recommended():
    recommended = find_scheme("nscc").recommended(NetworkFacts(4, 13e-6))
    assert (recommended["network_rtt_s"], recommended["target_qdelay_s"]) == (13e-6, 13e-6)
