"""Agents end to end: two network namespaces, a veth pair, real packets."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from hosts import wire
from hosts.client import AgentClient, AgentError
from hosts.wire import CnpPacket, DataPacket, PfcFrame

if TYPE_CHECKING:
    from conftest import Pair

pytestmark = pytest.mark.root

FRAME_BITS = 8464
LINE_RATE = 1e9


def wait_until(condition: object, what: str, limit_s: float = 40.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {limit_s} s")
        time.sleep(0.02)


def test_a_flow_arrives_whole_and_gets_its_cnps(pair: Pair) -> None:
    sender, receiver = pair.clients
    epoch = time.monotonic()
    for client in pair.clients:
        client.set_epoch(epoch)
    pair.start_flow(7, size_bytes=600_500)
    wait_until(lambda: receiver.stats().received and receiver.stats().received[0].complete_s, "the last packet")
    wait_until(lambda: sum(event["packets"] for event in pair.events(1, "np")) == 601, "the last window")
    wait_until(lambda: sender.stats().sent[0].cnps == receiver.stats().received[0].cnps, "all CNPs")
    a, b = sender.stats(), receiver.stats()
    (sent,), (received,) = a.sent, b.received
    assert sent.state == "done"
    assert sent.packets == received.packets == 601
    assert sent.bytes == received.bytes == 600 * 1058 + 558
    assert sent.payload_bytes == received.payload_bytes == 600_500
    assert (received.gaps, received.duplicates, received.reordered, received.marked_ce) == (0, 0, 0, 0)
    assert received.cnps >= 4
    assert (a.bad_frames, b.bad_frames, a.socket_drops, b.socket_drops) == (0, 0, 0, 0)
    assert (a.unknown_cnps, a.other_frames, b.other_frames) == (0, 0, 0)  # no ICMP "port unreachable" either
    assert sent.rate_bps == LINE_RATE
    assert 0 < sent.start_s <= received.first_s < received.last_s == received.complete_s
    assert received.last_s - received.first_s > 599 * FRAME_BITS / LINE_RATE * 0.9

    assert [event["packets"] for event in pair.events(0, "end")] == [601]
    assert [event["packets"] for event in pair.events(1, "last")] == [601]
    assert len(pair.events(1, "np")) == received.cnps
    rates = pair.events(0, "rate")
    assert received.cnps - 1 <= len(rates) <= received.cnps  # the last CNP may come after the end
    assert all(0 < event["t"] < 60 and "w" in event for event in rates)


def test_pacing_keeps_the_rate(pair: Pair) -> None:
    sender, receiver = pair.clients
    pair.start_flow(1, size_bytes=200_000, rate_bps=1e8)
    wait_until(lambda: receiver.stats().received and receiver.stats().received[0].complete_s, "the last packet")
    (received,) = receiver.stats().received
    assert 199 * FRAME_BITS / (received.last_s - received.first_s) == pytest.approx(1e8, rel=0.1)
    assert sender.stats().sent[0].packets == received.packets == 200


def test_pause_stops_a_flow_and_resume_starts_it(pair: Pair) -> None:
    sender = pair.clients[0]
    pair.start_flow(1)
    wait_until(lambda: sender.flows()[0].packets > 50, "the flow")
    # 65535 quanta at 1 Gb/s last 33.5 ms, 3.4 s here
    pair.inject(1, wire.encode_pfc(PfcFrame(bytes(6), {3: 0xFFFF})))
    wait_until(lambda: bool(sender.stats().pauses), "the PAUSE")
    before = sender.flows()[0].packets
    time.sleep(0.3)
    stats = sender.stats()
    assert stats.pauses[0].expired or stats.sent[0].packets <= before + 1
    assert stats.pauses[0].paused_s > 0
    pair.inject(1, wire.encode_pfc(PfcFrame(bytes(6), {3: 0})))
    wait_until(lambda: sender.flows()[0].packets > before + 50, "the flow after RESUME")
    stats = sender.stats()
    assert (stats.pauses[0].priority, stats.pauses[0].pause, stats.pauses[0].resume) == (3, 1, 1)
    assert [event["quanta"] for event in pair.events(0, "pause")] == [0xFFFF]
    assert [event["by"] for event in pair.events(0, "resume")][-1] == "frame"
    pair.clients[0].stop(1)
    assert sender.flows()[0].state == "stopped"


def test_quanta_run_out_without_resume(pair: Pair) -> None:
    sender = pair.clients[0]
    pair.start_flow(1)
    pair.inject(1, wire.encode_pfc(PfcFrame(bytes(6), {3: 4000})))
    wait_until(lambda: bool(sender.stats().pauses) and sender.stats().pauses[0].expired == 1, "the expiry")
    assert sender.stats().pauses[0].paused_s == pytest.approx(4000 * 512 / LINE_RATE)
    before = sender.flows()[0].packets
    wait_until(lambda: sender.flows()[0].packets > before + 50, "the flow after the expiry")


def test_cnps_pass_a_pause_of_all_classes(pair: Pair) -> None:
    receiver = pair.clients[1]
    pair.inject(0, wire.encode_pfc(PfcFrame(bytes(6), dict.fromkeys(range(8), 0xFFFF))))
    wait_until(lambda: len(receiver.stats().pauses) == 8, "the PAUSE")
    pair.start_flow(1)
    wait_until(lambda: pair.clients[0].flows()[0].cnps >= 2, "CNPs from a paused host")


def test_a_cnp_sets_the_rate(pair: Pair) -> None:
    pair.start_flow(1)
    macs, ips = [wire.parse_mac(mac) for mac in pair.macs], [wire.parse_ip(ip) for ip in pair.ips]
    cnp = CnpPacket(macs[1], macs[0], ips[1], ips[0], flow=1, decrease=True, rec_rate_mbps=128)
    pair.inject(1, wire.encode_cnp(cnp))
    wait_until(lambda: any(event["rate_bps"] == 127e6 for event in pair.events(0, "rate")), "the rate of the CNP")


def test_broken_and_foreign_frames_are_counted(pair: Pair) -> None:
    macs, ips = [wire.parse_mac(mac) for mac in pair.macs], [wire.parse_ip(ip) for ip in pair.ips]
    data = wire.encode_data(DataPacket(macs[1], macs[0], ips[1], ips[0], 1, 0, bytes(100)))
    foreign = wire.encode_data(DataPacket(macs[1], macs[0], ips[1], ips[1], 1, 0, bytes(100)))
    bad = [data[:80], data[:-1] + b"x", bytes(12) + b"\x88\x08\x00\x01" + bytes(46)]
    pair.inject(1, *bad, foreign, bytes(12) + b"\x08\x06" + bytes(46), data)
    client = pair.clients[0]
    wait_until(lambda: bool(client.stats().received), "the good frame")
    stats = client.stats()
    assert (stats.bad_frames, stats.other_frames, stats.received[0].packets) == (3, 2, 1)


def test_several_flows_both_ways(pair: Pair) -> None:
    for side in range(2):
        for flow in (1, 2):
            pair.start_flow(flow, side, duration_s=3e-3)
    wait_until(lambda: all(f.state == "done" for c in pair.clients for f in c.flows()), "all flows")
    for side in range(2):
        sent = [flow.packets for flow in pair.clients[side].stats().sent]
        wait_until(
            lambda side=side, sent=sent: [f.packets for f in pair.clients[1 - side].stats().received] == sent,
            "all packets",
        )
        assert abs(sent[0] - sent[1]) <= 0.2 * max(sent)


def test_a_flow_starts_at_its_time(pair: Pair) -> None:
    sender = pair.clients[0]
    at = time.monotonic() + 0.5
    sender.set_epoch(at)
    pair.start_flow(1, size_bytes=10_000, at=at)
    assert sender.flows()[0].state == "waiting"
    receiver = pair.clients[1]
    receiver.set_epoch(at)
    wait_until(lambda: receiver.stats().received and receiver.stats().received[0].complete_s, "the flow")
    assert sender.flows()[0].start_s == pytest.approx(0, abs=1e-9)
    assert receiver.stats().received[0].first_s >= 0


def test_reset_forgets(pair: Pair) -> None:
    pair.start_flow(1, size_bytes=10_000)
    wait_until(lambda: pair.clients[0].flows()[0].state == "done", "the flow")
    for client in pair.clients:
        client.reset()
        assert client.stats().sent == client.stats().received == ()
        assert client.stats().kept_pace


def test_bad_commands_are_answered(pair: Pair) -> None:
    client = pair.clients[0]
    with pytest.raises(AgentError, match="no flow 3 here"):
        client.stop(3)
    with pytest.raises(AgentError, match="'nowhere' is not an IPv4 address"):
        client.start(1, "nowhere", "00:00:00:00:00:01")
    with pytest.raises(AgentError, match="payload_bytes is 1457: ha carries 1456 at most"):
        pair.start_flow(1, payload_bytes=1457)
    with pytest.raises(AgentError, match="size_bytes is -1"):
        pair.start_flow(1, size_bytes=-1)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(20)
        raw.connect(str(client.path))
        answers = raw.makefile()
        for line, error in (
            ("nonsense", "Expecting value"),
            ("[]", "JSON object"),
            ('{"cmd": "fly"}', "no command 'fly'; there are clock, list, reset, shutdown, start, stats, stop"),
            ('{"cmd": "start"}', "start needs flow"),
            ('{"cmd": "start", "flow": "x"}', "flow is 'x': it must be a whole number"),
            ('{"cmd": "clock", "epoch": NaN}', "epoch is nan: it must be a number"),
            ('{"cmd": "stats", "of": 1}', "stats takes no 'of'"),
            ('{"cmd": "clock"}', "clock needs epoch"),
        ):
            raw.sendall(line.encode() + b"\n")
            answer = json.loads(answers.readline())
            assert not answer["ok"]
            assert error in answer["error"]
    assert client.stats().name == "a"


def test_it_ends_cleanly(pair: Pair) -> None:
    pair.start_flow(1)
    wait_until(lambda: pair.clients[0].flows()[0].packets > 10, "the flow")
    pair.processes[0].terminate()
    pair.clients[1].shutdown()
    for process, client in zip(pair.processes, pair.clients, strict=True):
        assert process.wait(20) == 0
        assert not client.path.exists()
    assert '"ev": "start"' in pair.logs[0].read_text()
    with pytest.raises(AgentError, match="no answer from the agent"):
        AgentClient(pair.clients[0].path).stats()


def test_it_ends_with_an_error_when_its_interface_goes(pair: Pair) -> None:
    subprocess.run(["ip", "-n", pair.namespaces[0], "link", "del", "ha"], check=True, timeout=20)
    for process, interface in zip(pair.processes, pair.interfaces, strict=True):
        error = process.communicate(timeout=20)[1]
        assert process.returncode == 1
        assert f"interface {interface} went down or was removed" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--iface", "ha-eth9"], "there is no interface 'ha-eth9' here; there are: lo, ha"),
        (["--scheme", "pnc"], "there is no scheme 'pnc'"),
        (["--param", "w_mni=1"], "pcn has no parameter 'w_mni': did you mean 'w_min'?"),
        (["--param", "w_min=2"], "w_min = 2.0"),
        (["--param", "w_min"], "write NAME=VALUE"),
        (["--mac", "1:2:3"], "'1:2:3' is not a MAC address"),
        (["--ip", "10.0.0"], "'10.0.0' is not an IPv4 address"),
        (["--control", "/nowhere/a.sock"], "control socket /nowhere/a.sock: No such file"),
        (["--log", "/nowhere/a.jsonl"], "No such file or directory: '/nowhere/a.jsonl'"),
    ],
)
def test_a_wrong_start_is_one_clear_line(bare_pair: Pair, options: list[str], message: str) -> None:
    result = subprocess.run(bare_pair.command(0, *options), capture_output=True, text=True, timeout=40)
    assert result.returncode == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(bare_pair.folder.glob("*.sock"))


def test_no_two_agents_on_one_control_socket(pair: Pair) -> None:
    result = subprocess.run(pair.command(0), capture_output=True, text=True, timeout=40)
    assert result.returncode == 1
    assert "an agent listens there already" in result.stderr
    assert pair.clients[0].stats().name == "a"


def test_a_socket_left_by_a_killed_agent_is_taken_over(bare_pair: Pair) -> None:
    bare_pair.start_agents()
    bare_pair.processes[0].kill()
    bare_pair.processes[0].wait()
    assert bare_pair.clients[0].path.exists()
    process = subprocess.Popen(bare_pair.command(0), stderr=subprocess.PIPE, text=True)
    bare_pair.processes.append(process)
    fresh = AgentClient(bare_pair.clients[0].path)

    def answers() -> bool:
        try:
            return fresh.stats().name == "a"
        except AgentError:
            return False

    wait_until(answers, "the second agent")
    fresh.close()


def test_without_permission_it_says_so(bare_pair: Pair) -> None:
    command = bare_pair.command(0)
    unprivileged = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", *command[4:]]
    result = subprocess.run([*command[:4], *unprivileged], capture_output=True, text=True, timeout=40)
    assert result.returncode == 1
    assert "raw sockets need root or CAP_NET_RAW" in result.stderr


def test_round_trips_are_measured(bare_pair: Pair) -> None:
    """TIMELY over links of 100 us: each end delays what it sends. The time that a process takes to answer is in it."""
    pair = bare_pair
    delay, line = 100e-6, LINE_RATE
    pair.start_agents("--scheme", "timely", "--delay", str(delay))
    sender, receiver = pair.clients
    pair.start_flow(7, size_bytes=640_000)
    wait_until(lambda: receiver.stats().received and receiver.stats().received[0].complete_s, "the last packet")
    rates = pair.events(0, "rate")
    assert len(rates) >= 8  # of ten; the last may come after the end
    acknowledgement = 62 * 8 / line
    for event in rates:
        assert event["rtt_s"] >= 2 * delay + acknowledgement
    assert min(event["rtt_s"] for event in rates) < 2 * delay + 50e-6
    assert (sender.stats().unknown_cnps, sender.stats().other_frames, receiver.stats().bad_frames) == (0, 0, 0)
