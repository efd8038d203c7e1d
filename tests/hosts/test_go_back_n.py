"""Live hosts that repeat what is lost: go-back-N."""

from collections.abc import Set
from dataclasses import replace
from pathlib import Path

import pytest
from host_pair import DATA, LINE, RTT, Pair
from hypothesis import example, given, strategies as st

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, Loss, Mark, find_scheme
from pcn.hosts.reliability import Reliability, Repeats

WINDOW = f"{Path(__file__).resolve().parents[2]}/examples/aimd_window/aimd_window.py:AIMD_WINDOW"
TIMEOUT = 20 * RTT
PAYLOAD = 1000


def configured(scheme: str = WINDOW, **parameters: float) -> Configured:
    """Of the scheme; its flows go back."""
    chosen = find_scheme(scheme)

    class Repeating(chosen.reaction_point):
        reliability = Reliability(Repeats.GO_BACK_N, TIMEOUT)

    return replace(chosen, reaction_point=Repeating).configure(parameters)


def lossy(pair: Pair, data: Set[int] = frozenset(), answers: Set[int] = frozenset()):
    """Loses these of the frames that pass, counted by kind."""
    seen = {"data": 0, "answers": 0}

    def pass_on(frame: bytes, now: float) -> bytes | None:
        kind = "data" if isinstance(wire.decode(frame), wire.DataPacket) else "answers"
        seen[kind] += 1
        return None if seen[kind] - 1 in (data if kind == "data" else answers) else frame

    pair.on_the_way = pass_on


@given(
    size=st.integers(1, 30_000),
    packets=st.integers(1, 20),
    data=st.sets(st.integers(0, 60), max_size=25),
    answers=st.sets(st.integers(0, 60), max_size=25),
    first=st.sampled_from((0, 1, 2**24 - 1, 2**24 - 7)),
)
@example(size=1000, packets=1, data={0, 1, 2}, answers={0}, first=0)
def test_flow_arrives_whole_whatever_is_lost(size, packets, data, answers, first):
    """Each packet once, in order; also where PSNs begin anew."""
    pair = Pair(configured(window_bytes=packets * DATA))
    lossy(pair, data, answers)
    pair.hosts[0].sender._next_psn[1] = first
    flow = pair.start(size_bytes=size)
    for _ in range(8):  # what is lost is at most 7 timeouts in a row
        pair.run(pair.now + 10 * TIMEOUT)
    if flow.error is not None:
        assert "timeouts" in flow.error
        return
    assert flow.state == "done"
    (received,) = pair.hosts[1].receiver.stats()
    assert (received.packets, received.payload_bytes, received.gaps) == (flow.packets, size, 0)
    (sent,) = pair.hosts[0].sender.stats()
    assert (sent.payload_bytes, sent.in_flight_bytes) == (size, 0)
    assert sent.packets - sent.repeated_packets == received.packets
    assert (sent.repeated_packets > 0) >= any(number < flow.packets for number in data)


def test_nak_goes_back_to_the_packet_that_is_missing():
    """It, and what has left since, is sent again, and the RP gets it as lost, without a timeout."""
    pair = Pair(configured(window_bytes=8 * DATA))
    lossy(pair, {20})
    flow = pair.start(size_bytes=100 * PAYLOAD)
    losses: list[Loss] = []
    flow.rp.on_loss = lambda loss, now_s: losses.append(loss)
    pair.run(100 * RTT)
    assert flow.state == "done"
    assert losses == [Loss(8 * DATA, False)]
    (received,) = pair.hosts[1].receiver.stats()
    (sent,) = pair.hosts[0].sender.stats()
    assert (received.packets, received.reordered, received.duplicates) == (100, 7, 0)
    assert (sent.packets, sent.repeated_packets, sent.timeouts) == (108, 8, 0)
    assert sent.bytes == 108 * DATA


def test_last_packet_that_is_lost_is_repeated_after_the_timeout():
    pair = Pair(configured(window_bytes=8 * DATA))
    lossy(pair, {9})
    flow = pair.start(size_bytes=9_500)
    losses: list[Loss] = []
    flow.rp.on_loss = lambda loss, now_s: losses.append(loss)
    pair.run(TIMEOUT)
    assert flow.state == "sending"
    pair.run(3 * TIMEOUT)
    assert flow.state == "done"
    assert losses == [Loss(wire.data_bytes(500), True)]
    assert flow.end_at_s == pytest.approx(TIMEOUT + 3 * RTT, abs=2 * RTT)


def test_flow_without_window_repeats_too():
    """Its packets request acknowledgements each, as the RP decides nothing about them."""
    pair = Pair(configured("pfc"))
    lossy(pair, {3, 40}, {5, 6, 7})
    flow = pair.start(size_bytes=200 * PAYLOAD)
    pair.run(100 * RTT)
    assert flow.state == "done"
    assert [stat.packets for stat in pair.hosts[1].receiver.stats()] == [200]


def test_flow_fails_where_nothing_is_acknowledged():
    """Seven timeouts in a row are borne; others go on."""
    pair = Pair(configured(window_bytes=3 * DATA))
    pair.on_the_way = lambda frame, now: None
    flow = pair.start()
    pair.run(7.5 * TIMEOUT)
    assert (flow.state, flow.started) == ("sending", 3 * 8)
    pair.run(9 * TIMEOUT)
    assert (flow.state, flow.started) == ("failed", 3 * 8)
    assert flow.error == f"nothing was acknowledged after 7 timeouts of {TIMEOUT:g} s"
    assert pair.hosts[0].nic.flows == ()


def test_flow_that_was_stopped_with_losses_starts_again():
    """The receiver counts from the new flow's first packet on."""
    pair = Pair(configured(window_bytes=8 * DATA))
    lossy(pair, set(range(5, 13)))
    pair.start(size_bytes=50 * PAYLOAD)
    pair.run(3 * RTT)
    pair.hosts[0].sender.stop(1, pair.now)
    pair.run(10 * RTT)
    (before,) = pair.hosts[1].receiver.stats()
    again = pair.start(size_bytes=50 * PAYLOAD)
    pair.run(100 * RTT)
    assert again.state == "done"
    (after,) = pair.hosts[1].receiver.stats()
    assert after.packets - before.packets == 50


def test_receiver_that_has_forgotten_a_flow_ends_it_and_no_other():
    """What comes before a first packet has no answer."""
    pair = Pair(configured(window_bytes=4 * DATA))
    flow = pair.start()
    pair.run(5 * RTT)
    pair.hosts[1].receiver.reset()
    pair.run(20 * TIMEOUT)
    assert flow.state == "failed"
    assert [stat.packets for stat in pair.hosts[1].receiver.stats()] == [0]


def test_nak_of_a_flow_that_repeats_nothing_is_counted():
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": 4 * DATA}))
    flow = pair.start()
    pair.run(5 * RTT)
    acked = flow.transport.acked
    sender = pair.hosts[0].sender
    sender.on_ack(1, pair.hosts[1].ip, acked, Mark.NONE, pair.now, nak=True)
    assert (sender.unknown_cnps, flow.transport.acked) == (1, acked)


@pytest.mark.parametrize("packets", [2, 8, 16])
def test_flow_that_loses_nothing_sends_as_one_that_repeats_nothing(packets):
    rates = []
    for of in (
        configured(window_bytes=packets * DATA),
        find_scheme(WINDOW).configure({"window_bytes": packets * DATA}),
    ):
        pair = Pair(of)
        pair.start()
        pair.run(200 * RTT)
        (received,) = pair.hosts[1].receiver.stats()
        rates.append(received.bytes * 8 / pair.now)
    assert rates[0] == rates[1]
    assert rates[0] == pytest.approx(min(LINE, packets * DATA * 8 / RTT), rel=0.02)
