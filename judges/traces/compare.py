"""A program beside BMv2: the same frames, one by one, through both switches. The steps in their
logs are compared, line by line, and the frames that leave, byte by byte.

    compare.py PROGRAM.json COMMANDS CAPTURE          needs simple_switch_grpc and simple_switch_CLI
                                                      on PATH
    compare.py ... --record router.json.xz             keeps what BMv2 does: test_traces.py compares
                                                      with it

COMMANDS: of simple_switch_CLI; CAPTURE: frames that come in by port 1. Exit code 1: the lines
differ; they are shown.
"""

import argparse
import difflib
import json
import lzma
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE.parents[1]),) if path not in sys.path]

from pcn.p4net.traffic import capture  # noqa: E402
from pcn.softswitch.clock import ManualClock  # noqa: E402

PORTS = (1, 2, 3)
_LINE = re.compile(r"\[[\d:.]+\] \[bmv2\] \[.\] \[thread \d+\] \[(\d+\.\d+)\] \[cxt 0\] (.*)")
_KEY = re.compile(r"\* (\S+)\s*: (\S+)$")
# One of the two has these alone, or in other words: what parsers assign, elements of stacks.
_BMV2_ALONE = re.compile(
    r"Dumping entry|Left queue|Replicating packet|Match key|Action entry: |Cloning packet to "
    r"egress port|Parser set|"
    r"Executing method|hash\(|Read register|Wrote register|Updated counter|Checksum '|"
    r"(Action|Primitive) (add_header|\(no source info\))|Extracting (to header stack|header '.*\[)"
)
LIMIT_S = 60.0


def lines_of(text: str) -> list[str]:
    """The lines of packets, in their order for each packet: number, text. Fields of keys follow
    their line."""
    by_packet: dict[str, list[str]] = {}
    packet, in_key = "", False
    for line in text.splitlines():
        if match := _LINE.match(line):
            packet = match[1]
            in_key = match[2].startswith("Looking up key")
            if not _BMV2_ALONE.match(match[2]):
                by_packet.setdefault(packet, []).append(
                    re.sub(r"^\S*/(?=[^/ ]+\.p4\()", "", match[2])
                )
        elif in_key and (match := _KEY.match(line)):
            by_packet[packet].append(f"key {match[1]} {match[2]}")
    return [
        f"{number} {line}" for number in sorted(by_packet, key=_order) for line in by_packet[number]
    ]


def _order(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


Behaviour = tuple[str, dict[int, list[bytes]]]
"""A log, and the frames that left, by port."""


def ours(program: Path, commands: Path, frames: Iterable[bytes], cli: list[str]) -> Behaviour:
    """The embedded switch's, on the manual clock."""
    options = [word for port in PORTS for word in ("-i", str(port))]
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        process = subprocess.Popen(
            [
                *(
                    sys.executable, "-m", "pcn.softswitch", str(program), "--clock", "manual",
                    *options, "-L", "trace",
                ),
                *(
                    "--log-file", str(log), "--thrift-port", "0", "--grpc-server-addr",
                    "127.0.0.1:0",
                ),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert process.stderr is not None
        thrift = grpc = ""
        left = {port: [] for port in PORTS}
        for line in process.stderr:
            if "runtime interface" in line:
                thrift = line.rpartition(":")[2].strip()
            elif "listening on" in line:
                grpc = line.split("listening on ")[1].split(",")[0]
                break
        try:
            _configure(cli, thrift, commands)
            with ManualClock(grpc) as clock:
                for frame in frames:
                    clock.send(1, frame)
                    for packet in clock.received():
                        left[packet.port].append(packet.data)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=LIMIT_S)
        return log.read_text(), left


def bmv2(program: Path, commands: Path, frames: Iterable[bytes], cli: list[str]) -> Behaviour:
    """BMv2's. It reads frames from files, some seconds after its start: the time that the commands
    have."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, sent = Path(scratch), list(frames)
        for port in PORTS:
            _write(folder / f"p{port}_in.pcap", sent if port == 1 else [])
        thrift = str(19000 + os.getpid() % 1000)
        ports = [word for port in PORTS for word in ("-i", f"{port}@p{port}")]
        log = folder / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [
                    *(
                        "simple_switch_grpc",
                        str(program.resolve()),
                        "--use-files",
                        "5",
                        *ports,
                        "--log-console",
                    ),
                    *("-L", "trace", "--thrift-port", thrift),
                    *("--", "--grpc-server-addr", f"127.0.0.1:{int(thrift) + 1000}"),
                    *("--priority-queues", "8"),  # the default here; BMv2's is one
                ],
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            _configure(cli, thrift, commands)
            last = f"[{len(sent) - 1}.0]"
            end_s = time.monotonic() + LIMIT_S
            while (
                last not in log.read_text() and process.poll() is None and time.monotonic() < end_s
            ):
                time.sleep(0.1)
            _wait_for_silence(log)  # what the last ones do in other threads
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=LIMIT_S)
        return log.read_text(), {port: _read(folder / f"p{port}_out.pcap") for port in PORTS}


def _wait_for_silence(log: Path, silent_s: float = 3.0):
    """Waits until a file has kept its size for a while."""
    size, since_s = -1, time.monotonic()
    while time.monotonic() - since_s < silent_s:
        if (now := log.stat().st_size) != size:
            size, since_s = now, time.monotonic()
        time.sleep(0.1)


def _configure(cli: list[str], port: str, commands: Path):
    """Waits for the server, and carries out the commands."""
    end_s = time.monotonic() + LIMIT_S
    while True:
        done = subprocess.run(
            [*cli, "--thrift-port", port], stdin=commands.open(), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if "Could not connect" not in done.stdout + done.stderr:
            break
        if time.monotonic() > end_s:
            raise SystemExit(f"no Thrift server at port {port}: {done.stdout}{done.stderr}")
        time.sleep(0.1)
    for word in ("Error", "Invalid", "Traceback"):
        if word in done.stdout + done.stderr:
            raise SystemExit(f"{commands}: {done.stdout}{done.stderr}")


def _write(path: Path, frames: list[bytes]):
    with path.open("wb") as file:
        file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("=IIII", 0, number * 1000, len(frame), len(frame)) + frame)


def _read(path: Path) -> list[bytes]:
    """Frames of a file of BMv2, which gives it no link type."""
    data, at, frames = path.read_bytes(), 24, []
    while at < len(data):
        (captured,) = struct.unpack_from("=I", data, at + 8)
        frames.append(data[at + 16 : at + 16 + captured])
        at += 16 + captured
    return frames


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("commands", type=Path)
    parser.add_argument("capture", type=Path)
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="keep frames, and what BMv2 makes of them"
    )
    args = parser.parse_args()
    cli = shutil.which("simple_switch_CLI")
    if cli is None or shutil.which("simple_switch_grpc") is None:
        raise SystemExit("simple_switch_grpc and simple_switch_CLI must be on PATH")
    frames = capture(args.capture).frames
    log, theirs = bmv2(args.program, args.commands, frames, [cli])
    if args.record is not None:
        recording = {
            "frames": [frame.hex() for frame in frames],
            "steps": lines_of(log),
            "left": shown(theirs),
        }
        text = json.dumps(recording, indent=1) + "\n"
        args.record.write_bytes(lzma.compress(text.encode()))
    text, mine = ours(args.program, args.commands, frames, [cli])
    pairs = [
        (lines_of(log), lines_of(text), "steps"),
        (shown(theirs), shown(mine), "frames that leave"),
    ]
    wrong = 0
    for a, b, label in pairs:
        different = list(
            difflib.unified_diff(a, b, f"BMv2, {label}", f"softswitch, {label}", lineterm="", n=2)
        )
        print(
            "\n".join(different)
            if different
            else f"{len(b)} {label} of {len(frames)} frames are equal"
        )
        wrong += bool(different)
    return int(wrong > 0)


def shown(left: dict[int, list[bytes]]) -> list[str]:
    return [f"port {port}: {frame.hex()}" for port, frames in left.items() for frame in frames]


if __name__ == "__main__":
    sys.exit(main())
