"""Hostile frames at a live agent: a process's main, as root, in .venv.

    fuzz_frames.py SCHEMES SECONDS [SEED]    for SECONDS at an agent of each scheme: `pcn,qcn`, or
                                             `all`

Two agents at the ends of a veth pair send to each other. Past one of them this sends the other one
rounds of frames, each of a kind of KINDS, as fast as it can. After each round, and a RESUME, has to
hold:

- the agent runs and answers; no RP or NP of it has raised;
- a flow that no frame names goes on, in both directions;
- memory is at most ROOM_KB above what it was at first, and GROWN_KB above the least that a cycle of
  kinds before had;
- its log has at most the bytes that a log may have.

Ends with 1 and a line if one doesn't. The same seed draws the same frames.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
sys.path[:0] = [path for path in map(str, (TESTS / "hosts", TESTS, ROOT)) if path not in sys.path]

import pytest  # noqa: E402
from agent_pair import Pair, run  # noqa: E402
from waiting import LIMIT_S, wait_until  # noqa: E402

from pcn.base.namespaces import in_namespace  # noqa: E402
from pcn.hosts import wire  # noqa: E402
from pcn.hosts.algorithms import schemes  # noqa: E402
from pcn.hosts.client import AgentClient, AgentError  # noqa: E402
from pcn.hosts.log import MOST_BYTES  # noqa: E402

MTU = 9000
FRAMES = 20_000  # a round
# cycles differ by 2 MB, however many there were: pages that malloc keeps
ROOM_KB, GROWN_KB = (16 << 10, 4 << 10)
NAMED, UNNAMED = 1, 2  # flows: which the frames name, and which they don't
VICTIM, ATTACKER = 0, 1


@dataclass
class Hostile:
    """Draws frames to `victim` (MAC, IP), as from `peer`."""

    rng: random.Random
    victim: tuple[bytes, bytes]
    peer: tuple[bytes, bytes]

    def ends(self) -> wire.Ends:
        return wire.Ends(self.peer[0], self.victim[0], self.peer[1], self.victim[1])

    def notification(self) -> bytes:
        """A right CNP, CNM or acknowledgement for the flow, with any content."""
        rng, ends = self.rng, self.ends()
        match rng.randrange(3):
            case 0:
                rate = rng.choice((0, 1, 2**32 - 1, rng.randrange(2**32)))
                return wire.encode_cnp(wire.CnpPacket(*ends, NAMED, rng.randrange(4), rate))
            case 1:
                feedback, queue = rng.choice((0, 63, rng.randrange(64))), rng.choice((0, 2**32 - 1))
                return wire.encode_cnm(
                    wire.CnmPacket(*ends, NAMED, rng.randrange(1 << 24), feedback, queue)
                )
            case _:
                return wire.encode_ack(
                    wire.AckPacket(*ends, NAMED, rng.randrange(1 << 12), rng.randrange(4))
                )

    def data(self) -> bytes:
        """A valid packet of an invented flow, or of the peer's."""
        rng, ends = self.rng, self.ends()
        if rng.random() < 0.9:
            ends = ends._replace(src_mac=rng.randbytes(6), src_ip=rng.randbytes(4))
        payload = bytes(rng.choice((1, 1000, rng.randrange(1, MTU - 100))))
        flags = {"last": rng.random() < 0.1, "asks": rng.random() < 0.5}
        psn, ecn = rng.choice((0, 1, 2**24 - 1, rng.randrange(1 << 24))), rng.randrange(4)
        flow = rng.choice((NAMED, rng.randrange(UNNAMED + 1, 1 << 24)))
        return wire.encode_data(wire.DataPacket(*ends, flow, psn, payload, ecn, **flags))

    def pause(self) -> bytes:
        """PFC, right or to another address; or 802.3x PAUSE."""
        rng = self.rng
        quanta = {
            rng.randrange(8): rng.choice((0, 1, 65535, rng.randrange(65536)))
            for _ in range(rng.randrange(9))
        }
        frame = wire.encode_pfc(wire.PfcFrame(self.peer[0], quanta))
        match rng.randrange(10):
            case 0:
                return rng.choice((self.victim[0], rng.randbytes(6))) + frame[6:]
            case 1:
                return frame[:14] + b"\x00\x01\xff\xff" + frame[18:]
            case _:
                return frame

    def noise(self) -> bytes:
        kind = self.rng.choice(
            (b"\x08\x00", b"\x86\xdd", b"\x88\x08", b"\x08\x06", self.rng.randbytes(2))
        )
        return (
            self.rng.randbytes(12)
            + kind
            + self.rng.randbytes(self.rng.choice((0, 44, 300, 1400, MTU - 14)))
        )

    def damaged(self) -> bytes:
        """One of the others: cut, lengthened, tagged, with other bytes and lengths, its checksums
        often made right."""
        rng = self.rng
        frame = bytearray(rng.choice((self.notification, self.data, self.pause))())
        match rng.randrange(6):
            case 0:
                del frame[rng.randrange(14, len(frame) + 1) :]
            case 1:
                frame += bytes(rng.randrange(1, 1400))
            case 2:
                frame[12:12] = struct.pack(
                    "!HH", rng.choice((0x8100, 0x88A8)), rng.randrange(1 << 16)
                )
        for _ in range(rng.randrange(4)):
            frame[rng.randrange(12, len(frame))] = rng.choice((0, 1, 255, rng.randrange(256)))
        for offset in (16, 20, 38):  # IPv4's length and fragment, UDP's length
            if rng.random() < 0.1 and len(frame) > offset + 2:
                lie = rng.choice(
                    (0, 8, 20, 28, 44, 0x2000, 65535, len(frame) - 14, len(frame) - 34)
                )
                struct.pack_into("!H", frame, offset, lie & 0xFFFF)
        return right(frame) if rng.random() < 0.7 else bytes(frame[: MTU + 14])


def right(frame: bytearray) -> bytes:
    """With the correct IPv4 checksum and ICRC of its bytes."""
    end = 14 + struct.unpack_from("!H", frame, 16)[0] if len(frame) > 18 else 0
    if frame[12:14] == b"\x08\x00" and wire.DATA_OVERHEAD <= end <= len(frame):
        frame[24:26] = bytes(2)
        struct.pack_into("!H", frame, 24, wire.ip_checksum(frame[14:34]))
        struct.pack_into("<I", frame, end - 4, wire.icrc(frame[:end]))
    return bytes(frame[: MTU + 14])


KINDS = {
    "notifications": Hostile.notification,
    "data": Hostile.data,
    "pauses": Hostile.pause,
    "noise": Hostile.noise,
    "damaged": Hostile.damaged,
}


class Attack:
    """A pair of agents of a scheme, one of which is sent rounds of frames."""

    def __init__(self, scheme: str, folder: Path):
        self.pair = Pair(folder)
        self.scheme = scheme
        self.frames = 0
        self._first_kb = self._most_kb = 0

    def __enter__(self) -> Attack:
        pair = self.pair
        try:
            pair.up()
            for namespace, interface in zip(pair.namespaces, pair.interfaces, strict=True):
                run(*f"ip -n {namespace} link set {interface} mtu {MTU}".split())
            pair.start_agents("--scheme", self.scheme)
            pair.clients = [AgentClient(client.path, LIMIT_S) for client in pair.clients]
            macs, ips = (
                [wire.parse_mac(mac) for mac in pair.macs],
                [wire.parse_ip(ip) for ip in pair.ips],
            )
            self._ends = tuple(zip(macs, ips, strict=True))
            self._out = in_namespace(pair.processes[ATTACKER].pid, self._open)
            for side in (VICTIM, ATTACKER):
                for flow in (NAMED, UNNAMED):
                    self.pair.start_flow(flow, side)
            self._first_kb = self.memory_kb()
            self._most_kb = self._first_kb + ROOM_KB
        except BaseException:
            self.pair.down()
            raise
        return self

    def __exit__(self, *_):
        self._out.close()
        self.pair.down()

    def _open(self) -> socket.socket:
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        out.bind((self.pair.interfaces[ATTACKER], 0))
        return out

    def cycle(self, seed: int, frames: int = FRAMES):
        """A round of each kind. Fails by `pytest.fail`."""
        had_kb = [self._round(kind, frames, f"{seed}-{kind}") for kind in KINDS]
        self._most_kb = min(self._most_kb, max(had_kb) + GROWN_KB)

    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.pair.processes[VICTIM].pid}/status").read_text()
        match = re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)
        assert match
        return int(match[1])

    def log_bytes(self) -> int:
        return self.pair.logs[VICTIM].stat().st_size

    def _round(self, kind: str, frames: int, seed: str) -> int:
        """The victim's memory afterwards."""
        where = f"{self.scheme}, {kind}, seed {seed}"
        try:
            self._send(kind, frames, seed)
            sent, came = self._sent(), self._came()
            wait_until(lambda: self._sent() > sent, f"{where}: the other flow")
            wait_until(lambda: self._came() > came, f"{where}: the peer's other flow")
            failed = "; ".join(self.pair.clients[VICTIM].stats().failed())
        except AgentError as error:
            process, failed = self.pair.processes[VICTIM], str(error)
            with contextlib.suppress(subprocess.TimeoutExpired):
                failed = (
                    f"the agent ended with {process.wait(10)}: {process.communicate()[1][-300:]}"
                )
        if failed:
            pytest.fail(f"{where}: {failed}")
        if (has_kb := self.memory_kb()) > self._most_kb:
            pytest.fail(
                f"{where}: {has_kb} KB of memory, of {self._most_kb}; at first {self._first_kb}"
            )
        if self.log_bytes() > MOST_BYTES:
            pytest.fail(f"{where}: a log of {self.log_bytes()} bytes")
        return has_kb

    def _send(self, kind: str, frames: int, seed: str):
        hostile = Hostile(random.Random(seed), *self._ends)
        for _ in range(frames):
            self._out.send(KINDS[kind](hostile))
        self._out.send(wire.encode_pfc(wire.PfcFrame(hostile.peer[0], dict.fromkeys(range(8), 0))))
        self.frames += frames

    def _sent(self) -> int:
        """Packets of the victim's other flow that have come to its peer, which isn't flooded."""
        return sum(
            flow.packets
            for flow in self.pair.clients[ATTACKER].stats().received
            if flow.flow == UNNAMED
        )

    def _came(self) -> int:
        """Packets of the peer's other flow that have come to the victim."""
        received, peer = self.pair.clients[VICTIM].stats().received, self.pair.ips[ATTACKER]
        return sum(flow.packets for flow in received if (flow.flow, flow.src_ip) == (UNNAMED, peer))


def attack(scheme: str, seconds: float, seed: int, frames: int = FRAMES) -> str:
    """Runs for `seconds`, and at least a cycle. Returns a line of counts; fails by
    `pytest.fail`."""
    end = time.monotonic() + seconds
    with (
        tempfile.TemporaryDirectory(prefix="pcn-frames-") as folder,
        Attack(scheme, Path(folder)) as session,
    ):
        session.cycle(seed, frames)
        warm_kb, cycles = session.memory_kb(), 1
        while time.monotonic() < end:
            session.cycle(seed + cycles, frames)
            cycles += 1
        refused = "; ".join(session.pair.clients[VICTIM].stats().refused())
        return (
            f"{scheme}: {cycles} cycles, {session.frames} frames, memory {warm_kb} to "
            f"{session.memory_kb()} KB, log {session.log_bytes() >> 20} MiB; {refused}"
        )


def main(words: list[str]) -> int:
    """See above."""
    match words:
        case [names, seconds, *rest]:
            seed, frames = map(int, (*rest, *("1", str(FRAMES))[len(rest) :]))
            for scheme in schemes if names == "all" else names.split(","):
                try:
                    print(attack(scheme, float(seconds), seed, frames), flush=True)
                except pytest.fail.Exception as failure:
                    print(f"VIOLATION {failure}", flush=True)
                    return 1
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
