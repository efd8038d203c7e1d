"""Coverage-guided fuzzing of the front of a P4Runtime server, under the sanitizers.

    fuzz_front.py SECONDS FOLDER     needs clang; FOLDER keeps the inputs, and starts the next run

Inputs are clients' frames and headers, and what workers do; fuzz_front.c checks the front's account
after each step. An input that fails is written to FOLDER/crash-*, and `FOLDER/fuzz_front
FOLDER/crash-...` repeats it.
"""

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
CONNECT, WAIT, FAVOUR, TAKE, HANG_UP, WORK, ANSWER, DONE, SEND = range(9)
DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 8, 9
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
FINISH, END, ABORT, PUSH = range(4)
"""What an answer does, in its lowest three bits."""


def step(action: int, client: int, data: bytes = b"", length: int | None = None) -> bytes:
    return bytes((client << 4 | action, len(data) if length is None else length)) + data


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (
        struct.pack("!I", len(payload))[1:]
        + bytes((kind, flags))
        + struct.pack("!I", stream)
        + payload
    )


def headers(method: str, *more: tuple[bytes, bytes]) -> bytes:
    """A block whose path is kept in the table."""
    indexed = b"\x83\x86\x44\x02/" + method.encode()
    fields = [(b"content-type", b"application/grpc"), *more]
    return indexed + b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in fields
    )


def seeds() -> list[bytes]:
    """Returns inputs that reach what coverage alone finds late: calls of each kind, pieces of
    messages, padding, windows, deadlines, ends."""
    begin = step(CONNECT, 0, length=1)
    whole = struct.pack("!BI", 0, 20) + bytes(20)
    half = step(SEND, 0, frame(DATA, 0, 1, struct.pack("!BI", 0, 190) + bytes(150)))
    no_window = step(SEND, 0, frame(SETTINGS, 0, 0, struct.pack("!HI", 4, 0)))
    window = step(SEND, 0, frame(WINDOW_UPDATE, 0, 1, struct.pack("!I", 60)))
    padded = step(
        SEND, 0, frame(DATA, PADDED, 1, b"\x09" + struct.pack("!BI", 0, 100) + bytes(109))
    )
    second = step(CONNECT, 1, length=1) + step(
        SEND, 1, frame(HEADERS, 0, 1, b"\x83") + frame(CONTINUATION, END_HEADERS, 1, b"\x86")
    )
    request = step(SEND, 0, frame(DATA, END_STREAM, 1, whole)) + step(WORK, 0)
    ends = (
        step(SEND, 0, frame(DATA, END_STREAM, 1, bytes(3))),
        step(SEND, 0, frame(RST_STREAM, 0, 1, bytes(4))),
        step(WAIT, 0, length=80),
        step(FAVOUR, 0, length=0) + half * 4,
        step(TAKE, 0) + step(HANG_UP, 0),
        request + step(ANSWER, 0, length=FINISH) + step(DONE, 0) + step(TAKE, 0),
        request + step(ANSWER, 0, length=6 << 3 | PUSH) * 5 + window + step(WAIT, 0, length=80),
        request + step(ANSWER, 0, length=ABORT) + step(DONE, 0),
        request + step(ANSWER, 0, length=END) + step(SEND, 0, frame(RST_STREAM, 0, 1, bytes(4))),
    )
    timed = headers("p", (b"grpc-timeout", b"1S"), (b"te", b"trailers"))
    inputs = []
    for block in (headers("u"), headers("s"), timed, headers("x"), headers("u") + b"\xbe" * 9):
        call = step(SEND, 0, frame(HEADERS, END_HEADERS, 1, block))
        inputs += [begin + call + half + second + end for end in ends]
        inputs += [begin + no_window + call + end for end in ends]
        inputs.append(begin + call + padded + step(WORK, 0) + step(DONE, 0) + step(WORK, 1))
    return inputs


def main(seconds: int, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "fuzz_front"
    inputs = folder / "inputs"
    inputs.mkdir(exist_ok=True)
    for number, data in enumerate(seeds()):
        (inputs / f"seed-{number}").write_bytes(data)
    words = ["clang", *FLAGS, f"-I{CSRC}", "-o", str(program.resolve()), str(HERE / "fuzz_front.c")]
    words.append(str(CSRC / "hpack.c"))
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
