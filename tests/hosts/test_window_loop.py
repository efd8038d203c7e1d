"""Windows of live hosts."""

from pathlib import Path

import pytest
from host_pair import DATA, LINE, RTT, Pair
from hypothesis import given, strategies as st

from pcn.hosts import telemetry, wire
from pcn.hosts.algorithms import Hop, Mark, Telemetry, find_scheme

WINDOW = f"{Path(__file__).resolve().parents[2]}/examples/aimd_window/aimd_window.py:AIMD_WINDOW"
PACKETS = (1, 2, 5, 12, 13, 14, 100)
"""Windows: RTT * C is 12.9 packets."""


@pytest.mark.parametrize("packets", PACKETS)
def test_live_hosts_send_a_window_a_round_trip_or_line_rate(packets):
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": packets * DATA}))
    pair.start()
    pair.run(10 * RTT)
    (before,) = pair.hosts[1].receiver.stats()
    pair.run(210 * RTT)
    (after,) = pair.hosts[1].receiver.stats()
    throughput = (after.bytes - before.bytes) * 8 / (200 * RTT)
    assert throughput == pytest.approx(min(LINE, packets * DATA * 8 / RTT), rel=1e-3)
    assert pair.largest <= packets * DATA


def test_live_rp_gets_what_each_acknowledgement_acknowledges():
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": 4 * DATA}))
    seen = []
    flow = pair.start(size_bytes=9_001)
    on_ack = flow.rp.on_ack
    flow.rp.on_ack = lambda ack, now_s: (seen.append(ack), on_ack(ack, now_s))
    pair.run(20 * RTT)
    assert [ack.psn for ack in seen] == list(range(len(seen)))
    assert {(ack.acked_bytes, ack.mark, ack.path, ack.telemetry) for ack in seen} == {
        (DATA, Mark.NONE, wire.source_port(1), None)
    }
    assert [ack.rtt_s for ack in seen] == pytest.approx([RTT - DATA * 8 / LINE] * len(seen))
    assert (flow.state, flow.started, flow.transport.acked) == ("done", 10, 10)


def test_live_windows_fall_at_marks_and_rise_again():
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": 8 * DATA}))
    flow = pair.start()
    pair.run(10 * RTT)
    pair.hosts[0].marks = 1
    pair.run(11 * RTT)
    assert 4 * DATA <= flow.transport.window_bytes < 6 * DATA  # halved, and a round trip later
    pair.run(14 * RTT)
    assert flow.transport.sent - flow.transport.acked <= 8
    pair.run(40 * RTT)
    assert flow.transport.window_bytes == flow.rp.window_bytes == 8 * DATA
    assert pair.hosts[0].sender.stats()[0].rp == {"window_bytes": 8 * DATA}


def test_live_flow_that_waits_for_its_window_is_not_late():
    """Its rate allows more than its window: that isn't a host that falls behind."""
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": 2 * DATA}))
    pair.start()
    pair.run(1000 * RTT)
    assert pair.hosts[0].nic.shortfall_s(pair.now) == 0


def test_live_flow_without_acknowledgements_stops_at_its_window_and_can_be_stopped():
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": 3 * DATA}))
    flow = pair.start()
    host = pair.hosts[0]
    for round_trip in range(10):
        host.leave(round_trip * RTT)
    assert flow.started == 3
    host.sender.on_ack(1, pair.hosts[1].ip, 77, Mark.NONE, 10 * RTT)  # of a packet that wasn't sent
    host.leave(11 * RTT)
    assert (flow.started, host.sender.unknown_cnps) == (3, 1)
    host.sender.stop(1, 12 * RTT)
    assert flow.state == "stopped"


def test_live_hosts_bring_back_telemetry():
    """What is written into packets, in nominal time: U is the load of a link, twice its rate or
    half of it, by which HPCC's window falls and rises."""
    rtt_s, stretch = 15e-6, 50
    pair = Pair(find_scheme("hpcc").configure({"base_rtt_s": rtt_s, "w_ai_bytes": 100}), stretch)
    load, sent_bytes, before = 2.0, 0.0, 0.0

    def write(frame: bytes, now: float) -> bytes:
        nonlocal sent_bytes, before
        packet = wire.decode(frame)
        if not isinstance(packet, wire.DataPacket):
            return frame
        sent_bytes, before = sent_bytes + load * LINE / 8 * (now - before), now
        assert packet.telemetry == bytes(wire.TELEMETRY_BYTES)
        ticks = round(now * stretch * 1e6)
        hop = Hop(LINE, ticks % 2**24, round(sent_bytes) // 128 * 128 % 2**27, 0)
        written = telemetry.encode(Telemetry(3, 0, (hop,)))
        return frame[: wire.PAYLOAD_OFFSET] + written + frame[wire.PAYLOAD_OFFSET + len(written) :]

    pair.on_the_way = write
    flow = pair.start()
    pair.run(20 * rtt_s)
    assert flow.rp.state()["u"] == pytest.approx(2, rel=0.05)
    assert flow.window_bytes < 0.02 * LINE * rtt_s / 8
    load = 0.5
    pair.run(400 * rtt_s)
    assert flow.rp.state()["u"] == pytest.approx(0.5, rel=0.05)
    assert flow.window_bytes == LINE * rtt_s / 8
    (received,) = pair.hosts[1].receiver.stats()
    assert received.packets > 1000
    assert received.payload_bytes == 1000 * received.packets


@given(st.binary(min_size=44, max_size=44))
def test_receiver_takes_telemetry_as_it_is(written):
    """Any bytes, and the packet counts as one without."""
    pair = Pair(find_scheme("hpcc").configure())
    here, there = pair.hosts
    packet = wire.DataPacket(
        here.mac, there.mac, here.ip, there.ip, 1, 0, bytes(8), asks=True, telemetry=written
    )
    there.loop.frame(wire.encode_data(packet), 0.0)
    (answer,) = there.leave(1.0)
    echo = wire.decode(answer)
    assert isinstance(echo, wire.AckPacket)
    assert echo.telemetry == written
    here.loop.frame(answer, 1.0)
    assert [flow.payload_bytes for flow in there.receiver.stats()] == [8]


def test_stats_have_the_window_and_what_is_in_flight():
    """As bytes of frames; the last packet is shorter. A flow without a window has None."""
    pair = Pair(find_scheme(WINDOW).configure({"window_bytes": 5 * DATA}))
    pair.start(size_bytes=2500)
    pair.run(0.7 * RTT)  # the last one has left, no acknowledgement has come
    (sent,) = pair.hosts[0].sender.stats()
    last = wire.data_bytes(500)
    assert (sent.window_bytes, sent.packets) == (5 * DATA, 3)
    assert sent.in_flight_bytes == 2 * DATA + last
    pair.run(2 * RTT)
    (sent,) = pair.hosts[0].sender.stats()
    assert sent.in_flight_bytes == 0
    unwindowed = Pair(find_scheme("pfc").configure())
    unwindowed.start()
    unwindowed.run(2 * RTT)
    (sent,) = unwindowed.hosts[0].sender.stats()
    assert (sent.window_bytes, sent.in_flight_bytes) == (None, 0)
