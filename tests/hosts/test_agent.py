"""Agents end to end: two network namespaces, a veth pair, real packets."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from waiting import LIMIT_S, wait_until

from pcn.hosts import wire
from pcn.hosts.client import AgentClient, AgentError
from pcn.hosts.wire import AckPacket, CnpPacket, DataPacket, PfcFrame

if TYPE_CHECKING:
    from agent_pair import Pair

pytestmark = pytest.mark.root

FRAME_BITS = 8464
LINE_RATE = 1e9
DILATION = 100


def synchronise(pair: Pair):
    """Both agents' times count from now."""
    epoch = time.monotonic()
    for client in pair.clients:
        client.set_epoch(epoch)


def test_a_flow_arrives_whole(pair: Pair):
    sender, receiver = pair.clients
    synchronise(pair)
    pair.start_flow(7, size_bytes=600_500)
    wait_until(
        lambda: receiver.stats().received and receiver.stats().received[0].complete_s,
        "the last packet",
    )
    wait_until(
        lambda: sum(event["packets"] for event in pair.events(1, "np")) == 601, "the last window"
    )
    wait_until(lambda: sender.stats().sent[0].cnps == receiver.stats().received[0].cnps, "all CNPs")
    a, b = sender.stats(), receiver.stats()
    (sent,), (received,) = a.sent, b.received
    assert sent.state == "done"
    assert sent.packets == received.packets == 601
    assert sent.bytes == received.bytes == 600 * 1058 + 558
    assert sent.payload_bytes == received.payload_bytes == 600_500
    assert (received.gaps, received.duplicates, received.reordered, received.marked_ce) == (
        0,
        0,
        0,
        0,
    )
    assert (a.bad_frames, b.bad_frames, a.socket_drops, b.socket_drops) == (0, 0, 0, 0)
    # no ICMP "port unreachable" either
    assert (a.unknown_cnps, a.other_frames, b.other_frames) == (0, 0, 0)
    assert sent.rate_bps == LINE_RATE
    assert 0 < sent.start_s <= received.first_s < received.last_s == received.complete_s

    assert [event["packets"] for event in pair.events(0, "end")] == [601]
    assert [event["packets"] for event in pair.events(1, "last")] == [601]
    assert len(pair.events(1, "np")) == received.cnps


def test_every_cnp_changes_the_rate(pair: Pair):
    sender = pair.clients[0]
    synchronise(pair)
    pair.start_flow(7)
    wait_until(lambda: len(pair.events(0, "rate")) >= 4, "four CNPs")
    before = pair.events(0, "rate")
    cnps = sender.flows()[0].cnps
    assert len(before) <= cnps <= len(pair.events(0, "rate"))
    assert all(event["t"] > 0 and "w" in event for event in before)


def test_a_flow_is_never_faster_than_its_rate(pair: Pair):
    """The NIC's tests check, by their clock, that it isn't slower if the process runs in time."""
    sender, receiver = pair.clients
    synchronise(pair)
    pair.start_flow(1, size_bytes=200_000, rate_bps=1e8)
    wait_until(
        lambda: receiver.stats().received and receiver.stats().received[0].complete_s,
        "the last packet",
    )
    (received,), (sent,) = receiver.stats().received, sender.stats().sent
    assert received.last_s - sent.start_s >= 199 * FRAME_BITS / 1e8
    assert sent.packets == received.packets == 200


def test_pause_stops_a_flow_and_resume_starts_it(slow_pair: Pair):
    sender = slow_pair.clients[0]
    slow_pair.start_flow(1)
    wait_until(lambda: sender.flows()[0].packets > 3, "the flow")
    slow_pair.inject(1, wire.encode_pfc(PfcFrame(bytes(6), {3: 0xFFFF})))
    wait_until(lambda: bool(sender.stats().pauses), "the PAUSE")
    before = sender.flows()[0].packets
    wait_until(
        lambda: sender.stats().pauses[0].paused_s > 20 * FRAME_BITS / LINE_RATE,
        "time for 20 packets",
    )
    assert sender.flows()[0].packets <= before + 1
    slow_pair.inject(1, wire.encode_pfc(PfcFrame(bytes(6), {3: 0})))
    wait_until(lambda: sender.flows()[0].packets > before + 3, "the flow after RESUME")
    (pauses,) = sender.stats().pauses
    assert (pauses.priority, pauses.pause, pauses.resume, pauses.expired) == (3, 1, 1, 0)
    assert [event["quanta"] for event in slow_pair.events(0, "pause")] == [0xFFFF]
    assert [event["by"] for event in slow_pair.events(0, "resume")] == ["frame"]
    sender.stop(1)
    assert sender.flows()[0].state == "stopped"


def test_quanta_run_out_without_resume(pair: Pair):
    sender = pair.clients[0]
    pair.start_flow(1)
    pair.inject(1, wire.encode_pfc(PfcFrame(bytes(6), {3: 4000})))
    wait_until(
        lambda: bool(sender.stats().pauses) and sender.stats().pauses[0].expired == 1, "the expiry"
    )
    assert sender.stats().pauses[0].paused_s == pytest.approx(4000 * 512 / LINE_RATE)
    before = sender.flows()[0].packets
    wait_until(lambda: sender.flows()[0].packets > before + 50, "the flow after the expiry")


def test_cnps_pass_a_pause_of_all_classes(slow_pair: Pair):
    sender, receiver = slow_pair.clients
    slow_pair.inject(0, wire.encode_pfc(PfcFrame(bytes(6), dict.fromkeys(range(8), 0xFFFF))))
    wait_until(lambda: len(receiver.stats().pauses) == 8, "the PAUSE")
    slow_pair.start_flow(1)
    wait_until(lambda: sender.flows()[0].cnps >= 2, "CNPs from a paused host")
    assert not any(pauses.expired for pauses in receiver.stats().pauses)


def test_a_cnp_sets_the_rate(pair: Pair):
    pair.start_flow(1)
    macs, ips = [wire.parse_mac(mac) for mac in pair.macs], [wire.parse_ip(ip) for ip in pair.ips]
    cnp = CnpPacket(macs[1], macs[0], ips[1], ips[0], flow=1, ecn=wire.ECN_CE, rec_rate_mbps=128)
    pair.inject(1, wire.encode_cnp(cnp))
    wait_until(
        lambda: any(event["rate_bps"] == 127e6 for event in pair.events(0, "rate")),
        "the rate of the CNP",
    )


def test_broken_and_foreign_frames_are_counted(pair: Pair):
    macs, ips = [wire.parse_mac(mac) for mac in pair.macs], [wire.parse_ip(ip) for ip in pair.ips]
    data = wire.encode_data(DataPacket(macs[1], macs[0], ips[1], ips[0], 1, 0, bytes(100)))
    foreign = wire.encode_data(DataPacket(macs[1], macs[0], ips[1], ips[1], 1, 0, bytes(100)))
    bad = [data[:80], data[:-1] + b"x", bytes(12) + b"\x88\x08\x00\x01" + bytes(46)]
    # PAUSE alone may go to a station's own address
    bad += [macs[0] + wire.encode_pfc(PfcFrame(bytes(6), {3: 9}))[6:]]
    ends = macs[1], macs[0], ips[1], ips[0]
    # its flow's first one hasn't come
    late = wire.encode_data(DataPacket(*ends, 1, 0, bytes(100), reliable=True))
    nak = wire.encode_ack(AckPacket(*ends, 7, 0, nak=True))
    unusable = wire.encode_cnp(
        CnpPacket(macs[1], macs[0], ips[1], ips[0], flow=7, ecn=wire.ECN_CE, rec_rate_mbps=0)
    )
    pair.start_flow(7)
    pair.inject(1, *bad, late, nak, foreign, bytes(12) + b"\x08\x06" + bytes(46), unusable, data)
    client = pair.clients[0]
    wait_until(lambda: bool(client.stats().received), "the good frame")
    stats = client.stats()
    assert (stats.bad_frames, stats.other_frames, stats.received[0].packets) == (4, 2, 1)
    assert (stats.unusable_cnps, stats.unknown_cnps, stats.pauses) == (1, 1, ())
    assert set(stats.refused()) == {
        "a dropped 4 frames that are malformed or damaged",
        "a dropped 1 CNPs without the rate that pcn needs",
    }


FRAGILE = """
from pcn import Cnp, Mark, NotificationPoint, Parameters, ReactionPoint, Scheme


class Rp(ReactionPoint):
    def __init__(self, line_rate_bps, parameters):
        self.rate_bps = line_rate_bps

    def on_cnp(self, cnp, now_s):
        1 / (cnp.rec_rate_bps - 7e6)


FRAGILE = Scheme("fragile", "fails at CNPs with 7 Mbit/s", "pcn", Parameters, Rp, lambda _: NotificationPoint())
"""  # noqa: E501


def test_flow_that_fails_leaves_the_agent_and_its_other_flow(bare_pair: Pair):
    pair = bare_pair
    (pair.folder / "fragile.py").write_text(FRAGILE)
    pair.start_agents("--scheme", f"{pair.folder / 'fragile.py'}:FRAGILE")
    pair.start_flow(1)
    pair.start_flow(2)
    macs, ips = [wire.parse_mac(mac) for mac in pair.macs], [wire.parse_ip(ip) for ip in pair.ips]
    cnp = CnpPacket(macs[1], macs[0], ips[1], ips[0], flow=1, ecn=wire.ECN_CE, rec_rate_mbps=7)
    pair.inject(1, wire.encode_cnp(cnp))
    sender = pair.clients[0]
    wait_until(lambda: sender.flows()[0].state == "failed", "the failure")
    failed, survivor = sender.flows()
    assert failed.end_s is not None
    # Python 3.14 leaves "float" out.
    assert (
        failed.error.replace("float ", "")
        == "its RP raised ZeroDivisionError: division by zero (fragile.py, line 10)"
    )
    assert [(event["flow"], event["error"]) for event in pair.events(0, "failed")] == [
        (1, failed.error)
    ]
    assert list(sender.stats().failed()) == [f"flow 1 failed at a: {failed.error}"]
    wait_until(lambda: sender.flows()[1].packets > survivor.packets + 20, "the other flow")


BACK = """
from dataclasses import replace

from pcn.hosts.reliability import Reliability, Repeats
from pcn import ReactionPoint, find_scheme


class Rp(ReactionPoint):
    reliability = Reliability(Repeats.GO_BACK_N, 0.05)

    def __init__(self, line_rate_bps, parameters):
        self.rate_bps = line_rate_bps


BACK = replace(find_scheme("pfc"), name="back", reaction_point=Rp)
"""


def test_flow_that_repeats_ends_when_all_is_acknowledged(bare_pair: Pair):
    """A forged NAK of what was acknowledged changes nothing."""
    pair = bare_pair
    (pair.folder / "back.py").write_text(BACK)
    pair.start_agents("--scheme", f"{pair.folder / 'back.py'}:BACK")
    sender, receiver = pair.clients
    pair.start_flow(1, size_bytes=50_500)
    wait_until(lambda: sender.flows()[0].state == "done", "the flow's end")
    (sent,), (received,) = sender.stats().sent, receiver.stats().received
    assert (sent.payload_bytes, sent.in_flight_bytes) == (received.payload_bytes, 0) == (50_500, 0)
    assert sent.packets - sent.repeated_packets == received.packets == 51
    assert receiver.stats().bad_frames == 0
    macs, ips = [wire.parse_mac(mac) for mac in pair.macs], [wire.parse_ip(ip) for ip in pair.ips]
    pair.start_flow(2)
    wait_until(lambda: sender.flows()[1].packets > 20, "its first packets")
    nak = wire.encode_ack(AckPacket(macs[1], macs[0], ips[1], ips[0], 2, 10, nak=True))
    pair.inject(1, nak)
    wait_until(lambda: sender.flows()[1].packets > 200, "more packets")
    assert sender.flows()[1].state == "sending"


def test_several_flows_both_ways(pair: Pair):
    for side in range(2):
        for flow in (1, 2):
            pair.start_flow(flow, side, duration_s=1e-3 * flow)
    wait_until(lambda: all(f.state == "done" for c in pair.clients for f in c.flows()), "all flows")
    for side in range(2):
        sent = [flow.packets for flow in pair.clients[side].stats().sent]
        wait_until(
            lambda side=side, sent=sent: (
                [f.packets for f in pair.clients[1 - side].stats().received] == sent
            ),
            "all packets",
        )
        assert all(
            0 < packets <= 1e-3 * flow * LINE_RATE / FRAME_BITS + 1
            for flow, packets in enumerate(sent, 1)
        )


def test_a_flow_starts_at_its_time(pair: Pair):
    """Not before; one whose time is over starts at once."""
    sender, receiver = pair.clients
    at = time.monotonic() + 0.5
    for client in pair.clients:
        client.set_epoch(at)
    for flow, start in ((1, at), (2, at + 3600), (3, at - 3600)):
        pair.start_flow(flow, size_bytes=10_000, at=start)
    wait_until(
        lambda: sum(flow.complete_s is not None for flow in receiver.stats().received) == 2,
        "flows 1 and 3",
    )
    first, waiting, late = sender.flows()
    assert [flow.state for flow in (first, waiting, late)] == ["done", "waiting", "done"]
    assert waiting.start_s == pytest.approx(3600 / DILATION)
    assert first.start_s > -1e-9
    assert late.start_s > -0.5 / DILATION
    began = {flow.flow: flow.first_s for flow in receiver.stats().received}
    assert began[1] >= first.start_s
    assert began[3] >= late.start_s


def test_reset_forgets(pair: Pair):
    pair.start_flow(1, size_bytes=10_000)
    wait_until(lambda: pair.clients[0].flows()[0].state == "done", "the flow")
    for client in pair.clients:
        client.reset()
        assert client.stats().sent == client.stats().received == ()
        assert client.stats().kept_pace


def test_bad_commands_are_answered(pair: Pair):
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
        raw.settimeout(LIMIT_S)
        raw.connect(str(client.path))
        answers = raw.makefile()
        for line, error in (
            ("nonsense", "Expecting value"),
            ("[]", "JSON object"),
            ("[" * 100_000, "RecursionError"),
            (f'{{"cmd": "clock", "epoch": {"9" * 400}}}', "it must be a number"),
            (
                '{"cmd": "start", "flow": 1, "dst_ip": "10.9.0.2", "dst_mac": "02:00:00:00:00:0b", '
                f'"size_bytes": {"9" * 400}}}',
                "it must be above 0 and below",
            ),
            (
                '{"cmd": "fly"}',
                (
                    "no command 'fly'; choose from clock, list, reset, routes, shutdown, start, "
                    "stats, stop"
                ),
            ),
            ('{"cmd": "start"}', "start needs flow"),
            ('{"cmd": "start", "flow": "x"}', "flow is 'x': it must be a whole number"),
            ('{"cmd": "clock", "epoch": NaN}', "epoch is nan: it must be a number"),
            ('{"cmd": "stats", "of": 1}', "stats takes no 'of'"),
            ('{"cmd": "clock"}', "clock needs epoch"),
            ('{"cmd": "routes"}', "routes needs usual: lists of ports from 0 to 0, by IP address"),
            (
                '{"cmd": "routes", "usual": {"10.9.0.2": [0]}, "now": {"10.9.0.2": [1]}}',
                "routes needs now: lists",
            ),
            (
                '{"cmd": "routes", "usual": {"10.9.0.2": [true]}, "now": {}}',
                "routes needs usual: lists",
            ),
            (
                '{"cmd": "routes", "usual": {}, "now": {"nowhere": [0]}}',
                "'nowhere' is not an IPv4 address",
            ),
            ('{"cmd": "routes", "usual": {}, "now": {}, "of": 1}', "routes takes no 'of'"),
        ):
            raw.sendall(line.encode() + b"\n")
            answer = json.loads(answers.readline())
            assert not answer["ok"]
            assert error in answer["error"]
    assert client.stats().name == "a"


def test_it_ends_cleanly(pair: Pair):
    pair.start_flow(1)
    wait_until(lambda: pair.clients[0].flows()[0].packets > 10, "the flow")
    pair.processes[0].terminate()
    pair.clients[1].shutdown()
    for process, client in zip(pair.processes, pair.clients, strict=True):
        assert process.wait(LIMIT_S) == 0
        assert not client.path.exists()
    assert '"ev": "start"' in pair.logs[0].read_text()
    with pytest.raises(AgentError, match="no answer from the agent"):
        AgentClient(pair.clients[0].path).stats()


def test_it_ends_with_an_error_when_its_interface_goes(pair: Pair):
    subprocess.run(
        ["ip", "-n", pair.namespaces[0], "link", "del", "ha"], check=True, timeout=LIMIT_S
    )
    for process, interface in zip(pair.processes, pair.interfaces, strict=True):
        error = process.communicate(timeout=LIMIT_S)[1]
        assert process.returncode == 1
        assert f"interface {interface} went down or was removed" in error


def test_a_wrong_start_is_one_clear_line(bare_pair: Pair):
    """Each in turn of one process: what they import is the same."""
    wrong = (
        (
            ["--iface", "ha-eth9", "--line-rate", "1e9"],
            "no interface 'ha-eth9' here; choose from lo, ha",
        ),
        (["--scheme", "pnc"], "no scheme 'pnc'"),
        (["--param", "w_mni=1"], "pcn has no parameter 'w_mni'; did you mean 'w_min'?"),
        (["--param", "w_min=2"], "w_min = 2: it must be"),
        (["--param", "w_min"], "write NAME=VALUE"),
        (["--mac", "1:2:3"], "'1:2:3' is not a MAC address"),
        (["--ip", "10.0.0"], "'10.0.0' is not an IPv4 address"),
        (["--control", "/nowhere/a.sock"], "control socket /nowhere/a.sock: No such file"),
        (["--log", "/nowhere/a.jsonl"], "No such file or directory: '/nowhere/a.jsonl'"),
    )
    program = (
        "import json, sys; from pcn.hosts.agent import main; print([main(one) for one in "
        "json.loads(sys.argv[1])])"
    )
    inside, words = bare_pair.command(0)[:5], bare_pair.command(0)[7:]
    lines = json.dumps([[*words, *options] for options, _ in wrong])
    result = subprocess.run(
        [*inside, "-c", program, lines], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert result.stdout == f"{[1] * len(wrong)}\n", result.stderr
    for (_, message), line in zip(wrong, result.stderr.splitlines(), strict=True):
        assert message in line
    assert not list(bare_pair.folder.glob("*.sock"))


def test_no_two_agents_on_one_control_socket(pair: Pair):
    result = subprocess.run(pair.command(0), capture_output=True, text=True, timeout=LIMIT_S)
    assert result.returncode == 1
    assert "an agent listens there already" in result.stderr
    assert pair.clients[0].stats().name == "a"


def test_a_socket_left_by_a_killed_agent_is_taken_over(bare_pair: Pair):
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


def test_agent_without_permission_names_it(bare_pair: Pair):
    command = bare_pair.command(0)
    unprivileged = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", *command[4:]]
    result = subprocess.run(
        [*command[:4], *unprivileged], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert result.returncode == 1
    assert "raw sockets need root or CAP_NET_RAW" in result.stderr


def test_round_trips_are_measured(bare_pair: Pair):
    """TIMELY over links of 100 us: each end delays what it sends. The time that a process takes to
    answer is in it, so that real time bounds it from below alone, and the flow's life from
    above."""
    pair = bare_pair
    delay, line = 100e-6, LINE_RATE
    pair.start_agents("--scheme", "timely", "--delay", str(delay))
    sender, receiver = pair.clients
    pair.start_flow(7)
    wait_until(lambda: len(pair.events(0, "rate")) >= 8, "eight acknowledgements")
    rates, began_s = pair.events(0, "rate"), sender.flows()[0].start_s
    acknowledgement = 62 * 8 / line
    for event in rates:
        assert 2 * delay + acknowledgement <= event["rtt_s"] <= event["t"] - began_s
    assert (
        sender.stats().unknown_cnps,
        sender.stats().other_frames,
        receiver.stats().bad_frames,
    ) == (0, 0, 0)
