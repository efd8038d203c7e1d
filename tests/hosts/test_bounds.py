"""What a peer sends as fast as it can takes a bounded amount of memory and log; what isn't for a
host, nothing."""

import errno
import itertools
import json
import math
import socket
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st
from test_loop import IP, MAC, PEER, PEER_MAC, Host
from whole_host import LINE, WholeHost, fragile_np

from pcn.hosts import sender as sender_module, stats, wire
from pcn.hosts.algorithms import Cnp, Mark, find_scheme
from pcn.hosts.clock import DilatedClock
from pcn.hosts.control import CommandError, ControlServer
from pcn.hosts.log import EventLog
from pcn.hosts.nic import Nic
from pcn.hosts.sent_flow import FlowError
from pcn.hosts.structures import PAUSE, WINDOW, Event

# ---- memory ----


@pytest.fixture
def few(monkeypatch) -> int:
    """So few flows are kept."""
    monkeypatch.setattr(stats, "MOST_FLOWS", 8)
    return 8


def test_receiver_forgets_silent_flows_beyond_its_most():
    """A flow that receives packets between them stays."""
    host = WholeHost(find_scheme("pcn").configure())
    most, invented = stats.MOST_FLOWS, 3 * stats.MOST_FLOWS
    for number in range(invented):
        host.packet(number * 1e-5, flow=number, src=wire.parse_ip("10.6.6.6"), psn=number)
        if number % 1000 == 0:
            host.packet(number * 1e-5, flow=1, psn=number // 1000)
    flow_stats = host.receiver.stats()
    assert len(flow_stats) == most
    assert host.receiver.forgotten == invented + 1 - most
    assert [flow.packets for flow in flow_stats if flow.src_ip == wire.format_ip(PEER)] == [
        len(range(0, invented, 1000))
    ]
    host.receiver.reset()
    assert (host.receiver.stats(), host.receiver.forgotten) == ((), 0)


def test_receiver_forgets_ended_flows_before_others(few: int):
    host = WholeHost(find_scheme("pcn").configure())
    for flow in range(few):
        host.packet(1.0, flow=flow)
        host.packet(1.0, flow=flow, psn=1, last=flow in (2, 5))
    host.packet(2.0, flow=100)
    host.packet(2.0, flow=101)
    assert [flow.flow for flow in host.receiver.stats()] == [0, 1, 3, 4, 6, 7, 100, 101]


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from([0.0, 1e-6, 1e-5, 1e-4, 0.2])), max_size=120
    )
)
def test_flows_that_come_and_go_are_each_found_and_each_have_their_windows(packets):
    """Against a dict: removal keeps the hash table whole, and the heap of windows in order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stats, "MOST_FLOWS", 4)
        host = WholeHost(fragile_np(lambda: Cnp(Mark.NONE, 1e9)))
        known: Counter[int] = Counter()
        now_s = 1.0
        note = host.receiver._on_window

        def on_window(event: Event):
            flow = host.receiver._flows[event.flow]  # none that is gone
            windows = (event.at_s - flow.grid_s) / flow.period_s
            # at its end, not at another's
            assert windows == pytest.approx(round(windows), abs=1e-6)
            note(event)

        host.events.listen(WINDOW, on_window)
        for flow, step_s in packets:
            now_s += step_s
            host.timers(now_s)
            before = {stat.flow for stat in host.receiver.stats()}
            host.packet(now_s, flow=flow)
            after = {stat.flow: stat.packets for stat in host.receiver.stats()}
            for gone in before - after.keys():
                del known[gone]
            known[flow] += 1
            assert after == dict(known)
            assert len(after) <= 4
        host.timers(now_s + 1)
        for tracked in host.receiver._flows.values():
            assert tracked.window_end_s == -math.inf
            assert tracked.window_start.packets == tracked.packets
    assert host.receiver.timer_s == math.inf


def test_sender_refuses_more_flows_than_its_most(few: int):
    host = WholeHost(find_scheme("pcn").configure())
    for flow in range(few):
        host.start(flow)
    with pytest.raises(
        FlowError, match="8 flows wait or send already, as many as a host can: stop one first"
    ):
        host.start(few)
    host.sender.stop(0, 0.0)
    host.start(few)


def test_sender_forgets_the_flows_that_ended_first(few: int):
    host = WholeHost(find_scheme("pcn").configure())
    host.start(0, now_s=1000.0)
    for flow in range(1, 2 * few + 1):
        host.start(flow, size_bytes=1, now_s=float(flow))
        host.run(flow + 0.5)
    assert list(host.states()) == [0, *range(few + 1, 2 * few + 1)]
    assert host.sender.forgotten == few
    assert len(host.sender._by_address) == few + 1
    host.sender.on_cnp(1, PEER, Cnp(Mark.CE, 1e8), 100.0)
    assert host.sender.unknown_cnps == 1
    host.start(1, now_s=100.0, size_bytes=1)
    numbers = [
        packet.psn
        for packet in map(wire.decode, host.run(101.0))
        if isinstance(packet, wire.DataPacket)
    ]
    assert numbers == [1]  # they go on


def test_sender_bounds_the_acknowledgements_it_waits_for(monkeypatch):
    monkeypatch.setattr(sender_module, "_MOST_REQUESTED", 5)
    host = WholeHost(find_scheme("timely").configure({"segment_bytes": 1000}))
    host.start(1)
    host.run(1e-3)
    (flow,) = host.nic.flows
    last = flow.delivered - 1
    assert list(flow.requested) == list(range(last - 4, last + 1))


def test_acknowledgement_from_before_its_packet_left_changes_nothing():
    host = WholeHost(find_scheme("timely").configure({"segment_bytes": 1000}))
    host.start(1)
    host.run(1e-3)
    (flow,) = host.nic.flows
    psn, left_s = next(iter(flow.requested.items()))
    host.sender.on_ack(1, PEER, psn, Mark.NONE, left_s - 1e-9)
    assert host.sender.unknown_cnps == 1
    assert host.sender.stats()[0].rp["rtt_s"] == 0


def test_nic_drops_control_frames_beyond_its_most():
    nic = Nic(LINE)
    for _ in range(5000):
        nic.send_control(bytes(62), 0.0)
    assert nic.control_drops == 5000 - 4096
    now_s, left = 0.0, 0
    while (now_s := nic.wake()) < math.inf:
        nic.advance(now_s)
        left += sum(1 for _ in iter(lambda: nic.due(now_s), None))
    assert left == 4096
    nic.send_control(bytes(62), 1.0)
    assert nic.control_drops == 5000 - 4096
    nic.reset_counters(1.0)
    assert nic.control_drops == 0


def test_loop_hands_over_events_before_they_pile_up():
    """PAUSE frames of all classes, as fast as they are taken; nothing else makes the loop return
    for a second, in which all of them come; the last ones wait for its end."""
    frames, classes = 1000, 8
    pause = wire.encode_pfc(wire.PfcFrame(PEER_MAC, dict.fromkeys(range(classes), 1)))
    with Host() as host:
        turns: list[int] = []
        host.events.listen(PAUSE, lambda event: turns.append(turns.pop() + 1))
        feeder = threading.Thread(target=lambda: [host.far.send(pause) for _ in range(frames)])
        feeder.start()
        while sum(turns) < frames * classes:
            turns.append(0)
            host.loop.run(host.clock.now() + 1)
        feeder.join()
    assert max(turns) <= 1024 + 4 * 32 * classes * 2  # resumes by expiry are events, too


def test_log_ends_where_it_has_all_its_bytes(tmp_path):
    path = tmp_path / "log"
    log = EventLog(path, DilatedClock(1), most_bytes=1000)
    for number in range(100):
        log.write(0.0, "rate", flow=number)
        log.flush()
    log.close()
    assert log.errno == errno.EFBIG
    lines = path.read_text().splitlines()
    assert path.stat().st_size <= 1000 < path.stat().st_size + 100
    assert [json.loads(line)["flow"] for line in lines] == list(range(len(lines)))


# ---- frames ----


@pytest.mark.parametrize(
    "address", ["00:00:00:00:00:02", "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:02", "00:00:00:00:00:00"]
)
def test_pfc_to_another_address_is_a_bad_frame(address):
    """The host's own is among them."""
    frame = wire.parse_mac(address) + wire.encode_pfc(wire.PfcFrame(PEER_MAC, {3: 9}))[6:]
    with pytest.raises(wire.WireError, match=f"PFC frame to {address}, not to 01:80:c2:00:00:01"):
        wire.decode(frame)
    with Host() as host:
        host.loop.frame(frame, 1.0)
        assert host.loop.state.bad_frames == 1
        assert not any(pause.pause for pause in host.nic.pauses)


@given(st.binary(max_size=300))
def test_frames_for_no_flow_cost_no_python(frame):
    with Host() as host:
        host.loop.frame(frame, 1.0)
        assert not host.frames


@given(
    st.integers(0, 5),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), max_size=4),
    st.integers(0, 90),
)
def test_notification_is_decoded_or_refused(index, changes, length):
    """Whatever is changed, with checksums made right again: `WireError` or a packet, nothing
    else."""
    ends = (PEER_MAC, MAC, PEER, IP)
    frames = [
        wire.encode_cnp(wire.CnpPacket(*ends, 1, 3, 0)),
        wire.encode_ack(wire.AckPacket(*ends, 1, 2)),
        wire.encode_cnm(wire.CnmPacket(*ends, 1, 2, 3, 4)),
    ]
    frame = bytearray(frames[index % 3])
    for offset, value in changes:
        if offset < len(frame):
            frame[offset] = value
    del frame[max(length, 15) :]
    if len(frame) > 58:
        frame[24:26] = bytes(2)
        frame[24:26] = wire.ip_checksum(bytes(frame[14:34])).to_bytes(2, "big")
        frame[-4:] = wire.icrc(bytes(frame)).to_bytes(4, "little")
    with Host() as host:
        host.loop.frame(bytes(frame), 1.0)
        for delivered in host.frames:
            try:
                packet = wire.decode(delivered)
            except wire.WireError:
                continue
            assert isinstance(packet, (wire.CnpPacket, wire.AckPacket, wire.CnmPacket))


# ---- requests ----


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"[" * 100_000, "RecursionError"),
        (b'{"cmd": "divide"}', "ZeroDivisionError"),
        (b'{"cmd": "object"}', "TypeError"),
        (b'{"cmd": "refuse"}', "no"),
        (b'"\xff"', "decode"),
        (b"1" * 5000, "digits"),
        (b"7", "JSON object"),
    ],
)
def test_control_server_answers_whatever_it_gets(line, error, tmp_path):
    def handle(request: Mapping[str, Any]):
        if request["cmd"] == "divide":
            return 1 // 0
        if request["cmd"] == "refuse":
            raise CommandError("no")
        return object()

    with ControlServer(tmp_path / "socket", handle) as server:
        answer = json.loads(server._answer(line))
        assert not answer["ok"]
        assert error in answer["error"]


def test_control_server_bounds_its_clients(tmp_path):
    with ControlServer(tmp_path / "socket", lambda request: None) as server:
        clients = []
        for _ in range(70):
            client = socket.socket(socket.AF_UNIX)
            client.connect(str(tmp_path / "socket"))
            clients.append(client)
            server.serve()
        assert len(server._clients) == 64
        assert all(client.recv(1) == b"" for client in clients[64:])
        clients[0].close()
        server.serve()
        clients[1].sendall(b'{"cmd": "any"}\n')
        server.serve()
        assert clients[1].recv(100) == b'{"ok": true, "result": null}\n'
        for client in itertools.islice(clients, 1, None):
            client.close()
