"""Coverage-guided fuzzing of the front of a P4Runtime server, under the sanitizers.

    fuzz_front.py SECONDS FOLDER     needs clang; FOLDER keeps the inputs, and starts the next run

fuzz_front.c compares the front's account of unfinished messages with a separate one. An input that
fails is written to FOLDER/crash-*, and `FOLDER/fuzz_front FOLDER/crash-...` repeats it.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CSRC = HERE.parents[1] / "softswitch/csrc"
FLAGS = (
    "-g",
    "-O1",
    "-pthread",
    "-fsanitize=address,undefined,fuzzer",
    "-fno-sanitize-recover=all",
)
LONGEST = 4000  # octets of an input
CONNECT, WAIT, ANSWER, FAVOUR, TAKE, END, SEND = range(7)
DATA, HEADERS, RST_STREAM, CONTINUATION = 0, 1, 3, 9
END_STREAM, END_HEADERS, PADDED = 1, 4, 8


def step(action: int, client: int, data: bytes = b"", length: int | None = None) -> bytes:
    return bytes((client << 3 | action, len(data) if length is None else length)) + data


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (
        struct.pack("!I", len(payload))[1:]
        + bytes((kind, flags))
        + struct.pack("!I", stream)
        + payload
    )


def seeds() -> list[bytes]:
    """Returns inputs that reach what coverage alone finds late: calls, pieces of messages, padding,
    ends."""
    begin = step(CONNECT, 0, length=1)
    call = step(SEND, 0, frame(HEADERS, END_HEADERS, 1, b"x"))
    half = step(SEND, 0, frame(DATA, 0, 1, struct.pack("!BI", 0, 1000) + bytes(200)))
    padded = step(SEND, 0, frame(DATA, PADDED, 1, struct.pack("!BBI", 9, 0, 60_000) + bytes(189)))
    padding = step(SEND, 0, frame(DATA, PADDED, 1, b"\x09" + bytes(200)))
    second = step(CONNECT, 1, length=1) + step(
        SEND, 1, frame(HEADERS, 0, 1) + frame(CONTINUATION, END_HEADERS, 1)
    )
    ends = (
        step(SEND, 0, frame(DATA, END_STREAM, 1, bytes(5))),
        step(SEND, 0, frame(RST_STREAM, 0, 1, bytes(4))),
        step(ANSWER, 0, bytes((1 << 4 | HEADERS, END_STREAM | END_HEADERS, 0))),
        step(WAIT, 0, length=80),
        step(FAVOUR, 0, length=0) + half * 4,
        step(TAKE, 0) + step(END, 0),
    )
    return [begin + call + padded + padding * 5] + [
        begin + call + half + second + end for end in ends
    ]


def main(seconds: int, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "fuzz_front"
    inputs = folder / "inputs"
    inputs.mkdir(exist_ok=True)
    for number, data in enumerate(seeds()):
        (inputs / f"seed-{number}").write_bytes(data)
    words = ["clang", *FLAGS, f"-I{CSRC}", "-o", str(program.resolve()), str(HERE / "fuzz_front.c")]
    subprocess.run(words, check=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        "-print_final_stats=1",
        "-verbosity=1",
    ]
    return subprocess.run(
        [program.resolve(), *options, "inputs"], cwd=folder, check=False
    ).returncode


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[1].isdecimal():
        sys.exit(__doc__)
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
