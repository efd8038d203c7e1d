"""A switch that strangers hold: what it grows by, and how long its primary waits.

    strangers.py [--seconds S] [--kinds KIND,...]     120 s a kind without it, so a quarter of an
                                                      hour; one line a kind

For each kind, 256 strangers hold a new switch, a connection each, which they make anew as soon as
it is closed. The 257th client is the primary: it writes every half second, and every five seconds a
new controller calls Capabilities and claims a role; where its call has to make room for a
stranger's, it connects again, as controllers do. It fails where the process is larger at the end
than in the first minute (in less than two: the first half) by more than 10 MB, larger than 400 MB
at any time, where a Write takes more than 2 s, or where a new controller gets no answer within
10 s. A line has each of these with its bound.
"""

import argparse
import multiprocessing
import resource
import signal
import struct
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/p4runtime")]

from p4rt_client import Client, RefusedError  # noqa: E402
from p4rt_process import Process  # noqa: E402
from p4rt_stranger import (  # noqa: E402
    END_HEADERS,
    HEADERS,
    SETTINGS,
    WINDOW_UPDATE,
    Stranger,
    frame,
    headers as header_block,
)
from p4rt_switch import PROGRAMS, load  # noqa: E402

from pcn.base.p4rt import p4r  # noqa: E402

STRANGERS = 256
PROCESSES = 2
CONTEXT = multiprocessing.get_context("spawn")  # gRPC's threads survive no fork
MOST_MB = 400.0
GROWTH_MB = 10.0
WRITE_S = 2.0
EARLY_S = 60.0
NEW_EVERY = 10  # Writes
NEW_S = 10.0
CALLS = 12
ANNOUNCED = b"\0" + struct.pack("!I", 1_000_000)
METHODS = (
    "Write",
    "Read",
    "SetForwardingPipelineConfig",
    "GetForwardingPipelineConfig",
    "Capabilities",
)


def idle(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Sends nothing, or the beginning of HTTP/2."""
    return stranger if stranger is not None else Stranger(port, begin=number % 2 == 0)


def headers(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Calls without a request, each made anew when it has ended."""
    if stranger is None:
        stranger = Stranger(port)
    for k in range(CALLS - (len(stranger._rooms) - len(stranger.ended))):
        stranger.call(METHODS[(number + k) % len(METHODS)])
    return stranger


def half(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Messages of 1 MB that are sent as far as they may be."""
    stranger = headers(stranger, port, number)
    for call in [call for call in stranger._rooms if call not in stranger.ended]:
        if not stranger.closed:
            stranger.give(
                call,
                (ANNOUNCED if stranger._rooms[call] == stranger._first_window else b"")
                + bytes(200_000),
            )
    return stranger


def streams(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Streams that are silent, or claim without an election id."""
    if stranger is None:
        stranger = Stranger(port)
    for k in range(CALLS - (len(stranger._rooms) - len(stranger.ended))):
        call = stranger.call("StreamChannel")
        if (number + k) % 2:
            claim = p4r.StreamMessageRequest(
                arbitration=p4r.MasterArbitrationUpdate(device_id=1)
            ).SerializeToString()
            stranger.give(call, b"\0" + struct.pack("!I", len(claim)) + claim)
    return stranger


def slow(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Requests of large answers, and a stream's messages, none of whose answers are read."""
    if stranger is None:
        stranger = Stranger(port)
        stranger.send(frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1 << 30)))
        for method in ("GetForwardingPipelineConfig", "Read", "StreamChannel"):
            message: object = p4r.GetForwardingPipelineConfigRequest(device_id=1)
            if method == "Read":
                everything = [p4r.Entity(table_entry=p4r.TableEntry())] * 1000
                message = p4r.ReadRequest(device_id=1, entities=everything)
            if method == "StreamChannel":
                message = p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=bytes(50_000)))
            data = message.SerializeToString()
            call = stranger.call(method)
            for _ in range(20 if method == "StreamChannel" else 1):
                stranger.give(call, b"\0" + struct.pack("!I", len(data)) + data)
    return stranger


def windows(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Streams whose messages are answered, by clients that give no window for it."""
    if stranger is None:
        stranger = Stranger(port)
        stranger.send(frame(SETTINGS, 0, 0, struct.pack("!HI", 4, 0)))
    packet = p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=b"x")).SerializeToString()
    for _ in range(CALLS - (len(stranger._rooms) - len(stranger.ended))):
        stranger.give(
            stranger.call("StreamChannel"), b"\0" + struct.pack("!I", len(packet)) + packet
        )
    return stranger


def hpack(stranger: Stranger | None, port: int, number: int) -> Stranger:
    """Blocks of headers each of whose octets stands for an entry of nearly 4 KB; then blocks of
    calls that there isn't room for."""
    if stranger is not None and stranger.ended:
        for _ in range(200):
            stranger.call("None")
        return stranger
    stranger = stranger or Stranger(port)
    entry = b"\x40\x01x\x7f" + bytes([(4000 - 127) % 128 | 128, (4000 - 127) // 128])
    block = header_block("None") + entry + bytes(4000)
    stranger.send(frame(HEADERS, END_HEADERS, 1, block))
    stranger.send(frame(HEADERS, END_HEADERS, 3, header_block("None") + b"\xbe" * 16_000))
    stranger._next = 5
    return stranger


KINDS = {
    "idle": idle,
    "headers": headers,
    "half": half,
    "streams": streams,
    "slow": slow,
    "windows": windows,
    "hpack": hpack,
}


def hold(kind: str, port: int, first: int, ending, stranger_count):
    """Holds a process's share of the strangers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    numbers = range(first, STRANGERS, PROCESSES)
    held = dict.fromkeys(numbers)
    while not ending.is_set():
        for number in numbers:
            stranger = held[number]
            if stranger is not None and kind != "slow":
                stranger.listen()
            elif stranger is not None:
                stranger.send(b"")
            if stranger is not None and stranger.closed:
                stranger.socket.close()
                stranger = None
            if ending.is_set():
                break
            try:
                if stranger is None:
                    with stranger_count.get_lock():
                        stranger_count.value += 1
                held[number] = KINDS[kind](stranger, port, number)
            except OSError:
                held[number] = None
        ending.wait(1.0)
    for stranger in held.values():
        if stranger is not None:
            stranger.socket.close()


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e6


def connect(port: int, election_id: int, faults: list[str]) -> int:
    """Returns how often a new controller connected until it was answered."""
    began, tries = time.monotonic(), 0
    while True:
        tries += 1
        try:
            with Client(port, election_id=election_id) as newcomer:
                newcomer.stub.Capabilities(p4r.CapabilitiesRequest(), timeout=NEW_S)
                newcomer.arbitrate()
            return tries
        except Exception as error:
            if time.monotonic() - began > NEW_S:
                faults.append(f"a new controller: {str(error)[:120]}")
                return tries


def judge(kind: str, seconds: float) -> bool:
    """Prints a line; returns whether the switch held."""
    process = Process("--no-p4", "--device-id", "1", "--cpu-port", "255")
    pid, ending, stranger_count, faults = (
        process.process.pid,
        CONTEXT.Event(),
        CONTEXT.Value("i", 0),
        list[str](),
    )
    drain = threading.Thread(
        target=lambda: sum(1 for _ in process.process.stderr or ()), daemon=True
    )
    drain.start()
    program = load(PROGRAMS / "bench")
    worst_s, early_mb, most_mb, newcomers, tries = 0.0, 0.0, 0.0, 0, 0
    try:
        with Client(process.port, election_id=1000) as client:
            # longer than a test's
            client._stream = client.stub.StreamChannel(iter(client._requests.get, None))
            client.arbitrate()
            client.set_pipeline(program.info, program.json)
            began = time.monotonic()
            holders = [
                CONTEXT.Process(
                    target=hold, args=(kind, process.port, first, ending, stranger_count)
                )
                for first in range(PROCESSES)
            ]
            for holder in holders:
                holder.start()
            for number in range(sys.maxsize):
                at_s = time.monotonic()
                if at_s - began >= seconds:
                    break
                try:
                    client.write()
                except RefusedError as error:
                    faults.append(f"Write: {error.message}")
                worst_s = max(worst_s, time.monotonic() - at_s)
                now_mb = resident_mb(pid)
                most_mb = max(most_mb, now_mb)
                if at_s - began < min(EARLY_S, seconds / 2):
                    early_mb = max(early_mb, now_mb)
                if number % NEW_EVERY == NEW_EVERY - 1:
                    newcomers += 1
                    tries += connect(process.port, number, faults)
                time.sleep(0.5)
            last_mb = resident_mb(pid)
            most_mb = max(most_mb, last_mb)
            ending.set()
            for holder in holders:
                holder.join()
    finally:
        ending.set()
        process.process.send_signal(signal.SIGKILL)
        process.process.wait()
    good = (
        worst_s <= WRITE_S and last_mb <= early_mb + GROWTH_MB and most_mb <= MOST_MB and not faults
    )
    print(
        f"{kind:8} {'held' if good else 'FAILED'}: resident {last_mb:.0f} MB at the end (at most "
        f"{early_mb + GROWTH_MB:.0f}: {early_mb:.0f} in the first {min(EARLY_S, seconds / 2):g} s "
        f"+ {GROWTH_MB:g}), {most_mb:.0f} MB at most (at most {MOST_MB:g}); slowest Write "
        f"{worst_s:.2f} s (at most {WRITE_S:g}); {newcomers} new controllers in {tries} tries; "
        f"{stranger_count.value} connections; {len(faults)} faults {faults[:2] or ''}",
        flush=True,
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="a kind (default: 120)")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"default: {','.join(KINDS)}")
    options = parser.parse_args()
    held = [judge(kind, options.seconds) for kind in options.kinds.split(",")]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
