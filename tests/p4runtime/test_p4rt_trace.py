"""A switch's steps in its log and in a file of JSON lines, and captures: the real process on the
manual clock."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from p4rt_client import Client, update
from p4rt_process import Process
from p4rt_switch import PROGRAMS, Program

from pcn.base.p4rt import p4r
from pcn.softswitch.clock import ManualClock

MULTICAST, UNICAST = 0xAA, 0xBB
_BMV2_LINE = re.compile(
    r"\[\d\d:\d\d:\d\d\.\d{3}\] \[bmv2\] \[([DT])\] \[thread 1\] \[(\d+\.\d+)\] \[cxt 0\] (.*)"
)


def frame(destination: int, length: int = 60) -> bytes:
    return (destination.to_bytes(6, "big") + bytes(5) + b"\x01\x08\x00").ljust(length, b"\0")


def passes(
    program: Program, *frames: bytes, options: tuple[str, ...], prefix: tuple[str, ...] = ()
) -> Process:
    """Sends frames through the bench program of a switch with these options, at one time."""
    names = program.names
    process = Process(
        "--no-p4", "--clock", "manual", "-i", "1", "-i", "2", "-i", "3", *options, prefix=prefix
    )
    with (
        Client(process.port, device_id=0) as client,
        ManualClock(f"127.0.0.1:{process.port}") as clock,
    ):
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        group = p4r.MulticastGroupEntry(multicast_group_id=5)
        group.replicas.add(egress_port=2, instance=1)
        group.replicas.add(egress_port=3, instance=2)
        client.write(
            update(
                "INSERT",
                group,
            )
        )
        entries = {
            MULTICAST: names.action("multicast", group=5),
            UNICAST: names.action("forward", port=2),
        }
        for destination, action in entries.items():
            client.insert(names.entry("l2", {"dst_addr": destination}, action))
        for frame in frames:
            clock.send(1, frame)
    assert process.end() == 0
    return process


def steps(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_trace_file_has_each_step_of_a_packet(program: Program, tmp_path):
    path = tmp_path / "steps"
    passes(program, frame(UNICAST), options=("--trace", str(path)))
    trace = steps(path)
    assert {step["packet"] for step in trace} == {1}
    assert trace[0] == {
        "switch": "0", "packet": 1, "time_ns": 0, "step": "received", "port": 1, "instance": (
            "normal"
        ), "length": 60,
        "frame": frame(UNICAST).hex(),
    }  # fmt: skip
    (state,) = [
        step["state"] for step in trace if step["step"] == "state" and step["state"] != "start"
    ]
    assert state == "parse_ethernet"
    (extracted,) = [step for step in trace if step["step"] == "extracted"]
    assert extracted["header"] == "ethernet"
    assert extracted["fields"] == {"dst_addr": "0xbb", "src_addr": "0x1", "ether_type": "0x800"}
    table = next(
        i
        for i, step in enumerate(trace)
        if step["step"] == "table" and step["table"] == "BenchIngress.l2"
    )
    kinds = [(step["step"], step.get("action")) for step in trace[table : table + 4]]
    forward = "BenchIngress.forward"
    assert kinds == [("table", None), ("entry", None), ("action", forward), ("primitive", forward)]
    lookup, entry, action, primitive = trace[table : table + 4]
    assert lookup["key"] == {"dst_addr": "0000000000bb"}
    assert entry["hit"] is True
    assert action["arguments"] == {"port": "0x2"}
    assert (primitive["source"], primitive["text"]) == (
        primitive["source"],
        "standard.egress_spec = port",
    )
    assert re.fullmatch(r".*bench\.p4\(\d+\)", primitive["source"])
    assert [step["step"] for step in trace[-5:]] == ["decided", "stage", "emitted", "stage", "sent"]
    assert (trace[-1]["port"], trace[-1]["length"], trace[-1]["frame"]) == (
        2,
        60,
        frame(UNICAST).hex(),
    )


def test_trace_distinguishes_replicas(program: Program, tmp_path):
    path = tmp_path / "steps"
    process = passes(
        program, frame(MULTICAST), frame(MULTICAST), options=("--trace", str(path), "-L", "debug")
    )
    left = [
        (step["packet"], step["port"], step["egress_rid"])
        for step in steps(path)
        if step["step"] == "dequeued"
    ]
    assert left == [(1, 2, 1), (1, 3, 2), (2, 2, 1), (2, 3, 2)]
    lines = [_BMV2_LINE.match(line) for line in process.lines]
    sent = [
        (line[2], line[3])
        for line in lines
        if line is not None and line[3].startswith("Transmitting")
    ]
    assert sent == [
        (f"{packet - 1}.{copy}", f"Transmitting packet of size 60 out of port {copy + 1}")
        for packet in (1, 2)
        for copy in (1, 2)
    ]


@pytest.mark.parametrize(
    ("level", "kinds"), [("debug", {"D"}), ("trace", {"D", "T"}), ("info", set())]
)
def test_log_has_lines_of_its_level(program: Program, level, kinds):
    process = passes(program, frame(UNICAST), options=("-L", level))
    matches = [match for line in process.lines if (match := _BMV2_LINE.match(line))]
    assert {match[1] for match in matches} == kinds
    texts = [match[3] for match in matches]
    if kinds:
        assert texts[0] == "Processing packet received on port 1"
        assert "Parser 'parser' entering state 'parse_ethernet'" in texts
        assert "Action entry is BenchIngress.forward - 2," in texts
        assert texts[-1] == "Transmitting packet of size 60 out of port 2"


def test_captures_have_frames_whole_and_in_order(program: Program, tmp_path):
    sent = [frame(UNICAST, length) for length in (60, 1514, 61)]
    passes(program, *sent, frame(0xEE), frame(MULTICAST), options=("--pcap", str(tmp_path)))
    captured = {path.name: pcap(path) for path in sorted(tmp_path.iterdir())}
    assert captured == {
        "1_in.pcap": [*sent, frame(0xEE), frame(MULTICAST)],
        "1_out.pcap": [],
        "2_in.pcap": [],
        "2_out.pcap": [*sent, frame(MULTICAST)],
        "3_in.pcap": [],
        "3_out.pcap": [frame(MULTICAST)],
    }


def test_switch_survives_a_capture_without_room(program: Program, tmp_path):
    """Files of 100 bytes: a header, and one frame of 60."""
    process = passes(
        program,
        *[frame(UNICAST)] * 3,
        frame(MULTICAST),
        options=("--pcap", str(tmp_path)),
        prefix=("prlimit", "--fsize=100:100"),
    )
    assert pcap(tmp_path / "3_out.pcap") == [frame(MULTICAST)]
    for name, words in (("1_in", "port 1: cannot write the capture of frames that come in"),
                        ("2_out", (
                            "port 2: cannot write the capture of frames that leave"
                        ))):  # fmt: skip
        assert (tmp_path / f"{name}.pcap").stat().st_size <= 100
        assert (
            len([line for line in process.lines if f"{words}: File too large; it ends" in line])
            == 1
        )
    assert not [line for line in process.lines if "Traceback" in line]


def test_capture_that_begins_without_room_is_refused(tmp_path):
    (tmp_path / "1_in.pcap").symlink_to("/dev/full")
    with pytest.raises(AssertionError, match=r"1_in\.pcap: port 1: No space left on device"):
        Process("--no-p4", "--clock", "manual", "-i", "1", "--pcap", str(tmp_path))


def test_captures_need_a_folder(tmp_path):
    with pytest.raises(AssertionError, match="name a folder that is there"):
        Process(
            str(PROGRAMS / "bench.json"), "--clock", "manual", "-i", "1", "--pcap",
            str(tmp_path / "none"),
        )  # fmt: skip


def pcap(path: Path) -> list[bytes]:
    data = path.read_bytes()
    assert struct.unpack_from("=I", data)[0] == 0xA1B23C4D
    at, frames = 24, []
    while at < len(data):
        _seconds, _ns, captured, length = struct.unpack_from("=IIII", data, at)
        assert captured == length
        frames.append(data[at + 16 : at + 16 + captured])
        at += 16 + captured
    return frames
