"""What can be seen of a network that runs: its state, its packets, its logs, its namespaces."""

import fcntl
import math
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import forks
import needs
import pytest
from held import held
from small_lab import TOGETHER
from waiting import LIMIT_S, wait_until

from pcn.controller.constants import index
from pcn.controller.errors import UnknownNameError
from pcn.hosts import wire
from pcn.lab import flows, logs
from pcn.lab.capture import Captured, CaptureError, capture
from pcn.lab.lab import Lab
from pcn.lab.observe import Observer
from pcn.lab.pause import SOURCE_MAC, pause

pytestmark = pytest.mark.root
by_command = pytest.mark.parametrize("dcqcn_lab", [*needs.TARGETS[1:], TOGETHER], indirect=True)
"""A command reads from switches and agents by their addresses, whether a process has one or
several."""
StartFlow = Callable[[float], int]
RATE_BPS = 2e9


@pytest.fixture
def flow(start_flow: StartFlow) -> int:
    """2 Gbit/s from h0 to r0."""
    return start_flow(RATE_BPS)


@pytest.fixture(scope="module")
def tshark() -> str:
    return needs.program("tshark", needs.TSHARK)


def dissect(tshark: str, path: Path, *fields: str) -> list[list[str]]:
    command = [tshark, "-r", str(path), "-T", "fields", "-E", "separator=|"]
    for name in fields:
        command += ["-e", name]
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=LIMIT_S
    ).stdout
    return [line.split("|") for line in output.splitlines()]


class Hands:
    """A clock that only the test moves."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_rates_are_nominal_and_of_the_time_between_two_looks(dcqcn_lab: Lab):
    """100 packets in 1.5 s, which are 3 ms nominal."""
    clock = Hands()
    observer = Observer(dcqcn_lab, clock)
    (number,) = flows.start(dcqcn_lab.topology, dcqcn_lab.agents, "h0", "r0", size_bytes=100_000)
    wait_until(lambda: received(dcqcn_lab, number) == 100, "100 packets")
    clock.now_s += 1.5
    now = observer.look()
    assert now.over_s == pytest.approx(3e-3)
    for port in ("s0:2", "s1:1"):
        state = now.port(port)
        assert state.rate_bps == pytest.approx(100 * 1058 * 8 / 3e-3)
        assert state.utilisation == pytest.approx(state.rate_bps / 10e9)
        assert (state.paused, state.pauses_received_per_s) == (False, 0)
        assert (state.sent_packets_total, state.sent_bytes_total) == (100, 100 * 1058)
        assert state.pauses_received_total == 0
    assert now.port("s1:2").rate_bps < state.rate_bps / 10  # CNPs at most
    clock.now_s += 1.5
    assert observer.look().port("s1:1").rate_bps == 0
    with pytest.raises(UnknownNameError, match="no port 's1:9'"):
        now.port("s1:9")


def test_goodput_is_over_the_receiver_s_own_time(dcqcn_lab: Lab, flow: int):
    def looked() -> tuple[float, int]:
        """When, at the receiver, and what had come."""
        return dcqcn_lab.agents["r0"].stats().now_s, received(dcqcn_lab, flow)

    observer = Observer(dcqcn_lab)
    wait_until(lambda: received(dcqcn_lab, flow), "the flow")
    from_s, least_before = looked()
    observer.look()
    until_s, most_before = looked()
    wait_until(lambda: received(dcqcn_lab, flow) >= most_before + 100, "100 packets")
    again_s, least = looked()
    now = observer.look()
    last_s, most = looked()
    (state,) = [candidate for candidate in now.flows if candidate.id == flow]
    assert (state.src, state.dst, state.state) == ("h0", "r0", "sending")
    assert state.marked_share is not None
    assert (least - most_before) * 8000 / (last_s - from_s) <= state.goodput_bps
    assert state.goodput_bps <= (most - least_before) * 8000 / (again_s - until_s)


def received(lab: Lab, number: int) -> int:
    return sum(flow.packets for flow in lab.agents["r0"].stats().received if flow.flow == number)


def test_what_a_pause_does_is_seen(dcqcn_lab: Lab, flow: int):
    switch, cell = dcqcn_lab.switches["s1"], index(1)
    observer = Observer(dcqcn_lab)
    with held(dcqcn_lab, "s1", 1):
        wait_until(lambda: switch.read_register("waiting_packets", cell) > 100, "packets that wait")
        state = observer.look().port("s1:1")
        assert state.paused
        assert state.queue_packets > 100
        assert state.pauses_received_per_s > 0
        counted = state.pauses_received_total
        assert counted == switch.read_counter("pause_received", cell).packets > 0
        flows.stop(dcqcn_lab.agents, [flow])
    wait_until(lambda: not switch.read_register("waiting_packets", cell), "the drain")
    after = observer.look().port("s1:1")
    assert (after.paused, after.queue_packets, after.queue_bytes) == (False, 0, 0)
    # A PAUSE that is over before the next look has a rate of that look alone, and stays in the
    # total.
    assert observer.look().port("s1:1").pauses_received_per_s == 0
    assert (
        observer.look().port("s1:1").pauses_received_total == after.pauses_received_total >= counted
    )


def test_a_capture_is_what_wireshark_reads(dcqcn_lab: Lab, tshark: str, tmp_path):
    """Data towards r0 goes out of s1:1; the PAUSE that comes in there differs from a neighbour's by
    its source."""
    path, captures, begun, over = (
        tmp_path / "s1-1.pcapng",
        list[Captured](),
        threading.Event(),
        threading.Event(),
    )

    def stopped() -> bool:
        begun.set()
        return over.is_set()

    began_s = dcqcn_lab.agents["r0"].stats().now_s
    thread = threading.Thread(
        target=lambda: captures.append(capture(dcqcn_lab, "s1", 1, path, stopped=stopped))
    )
    thread.start()
    assert begun.wait(LIMIT_S)
    resumed = dcqcn_lab.switches["s1"].read_counter("resume_received", index(1)).packets
    pause(dcqcn_lab, "s1", 1, duration_s=0.2e-3)
    wait_until(
        lambda: dcqcn_lab.switches["s1"].read_counter("resume_received", index(1)).packets > resumed
    )
    (number,) = flows.start(dcqcn_lab.topology, dcqcn_lab.agents, "h0", "r0", size_bytes=200_000)
    wait_until(lambda: received(dcqcn_lab, number) == 200, "200 packets")
    over.set()
    thread.join(LIMIT_S)
    took_s = dcqcn_lab.agents["r0"].stats().now_s - began_s
    (captured,) = captures
    assert (captured.port, captured.time, captured.lost) == ("s1:1", "nominal", 0)
    assert 0 < captured.nominal_s <= took_s
    kinds = Counter(captured.kinds)
    assert (kinds["data"] + kinds["data, CE"], kinds["PAUSE"], kinds["RESUME"]) == (200, 1, 1)
    assert captured.frames == 202 + kinds["CNP"]
    fields = (
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "_ws.col.Protocol",
        "eth.src",
        "frame.interface_name",
    )
    rows = dissect(tshark, path, *fields)
    assert len(rows) == captured.frames
    assert [int(row[1], 0) for row in rows if row[2] == "RRoCE"].count(2) == 200
    control = [row for row in rows if row[2] == "MAC CTRL"]
    assert [(int(row[1], 0), row[3]) for row in control] == [(1, wire.format_mac(SOURCE_MAC))] * 2
    assert {row[4] for row in rows} == {"s1-eth1"}
    stamps = [float(row[0]) for row in rows]
    assert stamps == sorted(stamps)
    assert stamps[-1] - stamps[0] <= took_s
    assert abs(stamps[0] - began_s) <= took_s
    opcodes = dissect(
        tshark, path, "infiniband.bth.opcode", "macc.cbfc.pause_time.c3", "ip.dsfield.ecn"
    )
    assert {row[0] for row in opcodes if row[0]} - {str(wire.OPCODE_CNP)} == {
        str(wire.OPCODE_UC_SEND_ONLY)
    }
    quanta = math.ceil(0.2e-3 * 10e9 / 512)
    assert [int(row[1]) for row in opcodes if row[1]] == [quanta, 0]


def test_a_capture_ends_by_count_and_takes_real_time(
    dcqcn_lab: Lab, flow: int, tshark: str, tmp_path
):
    path = tmp_path / "h0.pcapng"
    before = time.time()
    captured = capture(dcqcn_lab, "h0", None, path, count=25, real_time=True)
    after = time.time()
    assert (captured.port, captured.frames, captured.time) == ("h0:0", 25, "real")
    stamps = [float(row[0]) for row in dissect(tshark, path, "frame.time_epoch")]
    delay_s = dcqcn_lab.topology.link_at("h0", 0).delay_s * 500
    assert before - delay_s <= stamps[0] < stamps[-1] <= after
    output = subprocess.run(
        [shutil.which("capinfos") or "true", path], capture_output=True, text=True, check=True
    ).stdout
    assert not output or "Time stamps are real" in output


def test_captures_that_cannot_be(dcqcn_lab: Lab, tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(CaptureError, match="is there already"):
        capture(dcqcn_lab, "s0", 1, tmp_path / "there", count=1)
    with pytest.raises(CaptureError, match="can't write"):
        capture(dcqcn_lab, "s0", 1, tmp_path / "no" / "file", count=1)
    assert (tmp_path / "there").read_text() == "mine"
    assert (
        capture(dcqcn_lab, "s0", 1, tmp_path / "there", duration_s=1e-6, overwrite=True).port
        == "s0:1"
    )
    assert (tmp_path / "there").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_a_capture_can_be_stopped(dcqcn_lab: Lab, tmp_path):
    captured = capture(dcqcn_lab, "s0", 1, tmp_path / "x.pcapng", stopped=lambda: True)
    assert (captured.frames, captured.lost) == (0, 0)


def test_logs_of_all_and_of_one(dcqcn_lab: Lab, flow: int):
    dcqcn_lab.agents["h0"].stats()  # which flushes
    lines = logs.read(dcqcn_lab.record, ["h0"])
    starts = [
        line
        for line in lines
        if line.event == "start" and line.fields and line.fields["flow"] == flow
    ]
    assert starts[0].fields["dst_ip"] == dcqcn_lab.topology.host("r0").ip
    assert starts[0].time_s is not None
    times = [line.time_s for line in lines if line.time_s is not None]
    assert times == sorted(times)
    assert {line.node for line in logs.read(dcqcn_lab.record, last=1)} >= {"h0"}
    with pytest.raises(UnknownNameError, match="no node 'h7'"):
        logs.read(dcqcn_lab.record, ["h7"])
    following = logs.follow(dcqcn_lab.record, ["h0"], last=1)
    next(following)
    (number,) = flows.start(dcqcn_lab.topology, dcqcn_lab.agents, "h0", "r0", size_bytes=1000)
    for line in following:
        if line.event == "start":
            break
    assert line.fields["flow"] == number


@by_command
@pytest.mark.parametrize("key", [b"q", b"\x03"], ids=["q", "Ctrl-C"])
def test_watch_on_a_terminal_ends_as_it_came(dcqcn_lab: Lab, flow: int, key):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(theirs)
    watching = ["-c", "from pcn.cli import main; main()", "watch", "-n", dcqcn_lab.network.name]
    command = ["setsid", "--ctty", "--wait", sys.executable, *watching]
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as watch:
        shown = b""
        while b"goodput" not in shown or b"s1:1" not in shown:
            shown += os.read(ours, 65536)
        # At once, before the alternate screen; and there is something on that one, too, before the
        # first look.
        assert shown.startswith(b"connecting ...")
        screen = shown.index(b"\x1b[?1049h")
        assert screen < shown.index(b": looking ...") < shown.index(b"goodput")
        os.write(ours, key)
        while b"\x1b[?1049l" not in shown:
            shown += os.read(ours, 65536)
        assert watch.wait(LIMIT_S) == 0
    assert termios.tcgetattr(theirs)[:4] == before[:4]
    assert b"Traceback" not in shown
    os.close(ours)
    os.close(theirs)


def test_log_without_periodic_events_keeps_the_rare_ones(dcqcn_lab: Lab, flow: int):
    wait_until(
        lambda: any(line.event == "rate" for line in logs.read(dcqcn_lab.record, ["h0"], last=1)),
        "a rate",
    )
    (line,) = logs.Reader(dcqcn_lab.record, ["h0"], without=logs.PERIODIC).new(1)
    assert line.event == "start"
    assert line.fields["flow"] == flow


@by_command
def test_watch_on_a_terminal_shows_the_chosen_flow(dcqcn_lab: Lab, flow: int):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command = [
        "setsid", "--ctty", "--wait", sys.executable, "-m", "pcn", "watch", "-n",
        dcqcn_lab.network.name,
    ]  # fmt: skip
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as watch:

        def until(text: bytes):
            shown = b""
            while text not in shown:
                shown += os.read(ours, 65536)

        until(b"? lists the keys")
        os.write(ours, b"\x1b[C")
        until(f"{flow} h0 r0".encode())
        until(b"sends   ")
        until(b"most ")
        os.write(ours, b"?")
        until(b"its series stand below")
        os.write(ours, b"?q")
        until(b"\x1b[?1049l")
        assert watch.wait(LIMIT_S) == 0
    os.close(ours)
    os.close(theirs)


@by_command
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tables", "s"], ["s0", "s1"]),
        (["tables", "s0", "ipv"], ["ipv4_lpm"]),
        (["counters", "s0", "pause_r"], ["pause_received"]),
        (["registers", "s0", "waiting_b"], ["waiting_bytes"]),
        (["flow", "start", ""], ["h0", "r0"]),
        (["set", "s0", "xo"], ["xoff=", "xon="]),
        (["pause", "h0", ""], ["0"]),
        (["pause", "s1", ""], ["1", "2"]),
        (["res"], ["resume"]),
        (["up", "fat"], ["fat-tree"]),
        (["up", "dumbbell", "--set", "rate"], ["rate_bps="]),
        (["up", "dumbbell", "--scheme", "dcq"], ["dcqcn", "dcqcn-ns3", "dcqcn-tcd"]),
    ],
    ids=" ".join,
)
def test_completion_offers_existing_names(dcqcn_lab: Lab, words, offered):
    known = (
        ["-n", dcqcn_lab.network.name]
        if words[0] in ("tables", "counters", "registers", "set", "pause")
        else []
    )
    typed = ["pcn", words[0], *known, *words[1:]] if known else ["pcn", *words]
    if words[0] == "flow":
        typed = ["pcn", "flow", "start", "-n", dcqcn_lab.network.name, ""]
    assert complete(typed) == offered


@by_command
def test_completion_offers_flows_and_networks(dcqcn_lab: Lab, flow: int):
    name = dcqcn_lab.network.name
    assert str(flow) in complete(["pcn", "flow", "stop", "-n", name, ""])
    assert name in complete(["pcn", "watch", "-n", name[:4]])
    assert complete(["pcn", "tables", "-n", "nothere", ""]) == []


def complete(words: list[str]) -> list[str]:
    """As bash calls it."""
    environment = {
        "_PCN_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    completed = forks.run("pcn", environment=environment)
    assert (completed.returncode, completed.stderr) == (0, "")
    return [line.partition(",")[2] for line in completed.stdout.split()]
