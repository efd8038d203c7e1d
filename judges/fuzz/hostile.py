"""Packets of any bytes and any length, through programs with entries, and through damaged programs:
a process's main.

    hostile.py SEED BURSTS   sends each program BURSTS bursts of packets; ends with 0 if the switch
                             outlived them

test_sanitizers.py runs it with runtime and programs under the sanitizers. Longer runs find more.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import Message

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "judges/differential"), str(ROOT / "tests/p4runtime")]

from drive import prepare  # noqa: E402
from generate import PROGRAMS, Entry, Setup, generate  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from p4rt_client import Names, update  # noqa: E402

from pcn.base import packed  # noqa: E402
from pcn.base.p4rt import p4i  # noqa: E402
from pcn.controller.constants import RECIRCULATION_PORT  # noqa: E402
from pcn.controller.pfc import PFC_CLONE_SESSION  # noqa: E402
from pcn.hosts import wire  # noqa: E402
from pcn.softswitch.codegen.build import build_program, build_runtime  # noqa: E402
from pcn.softswitch.native import NativeSwitch, load_library  # noqa: E402
from pcn.softswitch.p4runtime.binding import bind  # noqa: E402
from pcn.softswitch.p4runtime.entities import Forwarding  # noqa: E402
from pcn.softswitch.program.errors import ProgramError  # noqa: E402
from pcn.softswitch.program.load import load_program  # noqa: E402

MAX_FRAME = 9216
PORTS = (1, 2, 3, 4)
DAMAGED = 4  # programs a seed
BURST = 64


class Direct:
    """What `prepare` needs of a client, without a server."""

    def __init__(self, forwarding: Forwarding):
        self._forwarding = forwarding

    def insert(self, content: Message):
        self._forwarding.apply(update("INSERT", content))

    def modify(self, content: Message):
        self._forwarding.apply(update("MODIFY", content))


def pcn(rng: random.Random) -> tuple[Setup, list[bytes]]:
    """The lab's own program: routes, small thresholds; data, CNPs, PFC frames."""
    pfc = {
        "xoff_bytes": 3000,
        "xon_bytes": 1000,
        "quanta": 9,
        "refresh_us": 50,
        "quantum_q16_us": 1 << 16,
    }
    entries = [
        Entry("pfc_config", {"port": port}, "set_pfc", {**pfc, "lossless": 8}) for port in PORTS
    ]
    for port in PORTS:
        action = {"dst_mac": port, "port": port}
        entries.append(
            Entry("ipv4_lpm", {"dst_addr": [0x0A000000 | port, 32]}, "ipv4_forward", action)
        )
    frames = []
    for _ in range(200):
        ends = (
            rng.randbytes(6),
            rng.randbytes(6),
            bytes((10, 0, 0, 9)),
            bytes((10, 0, 0, rng.choice(PORTS))),
        )
        size = rng.choice((1, 8, 1000))
        data = wire.DataPacket(
            *ends, 1, rng.randrange(1 << 24), bytes(size), wire.ECN_ECT0, wire.DSCP_DATA
        )
        quanta = {number: rng.choice((0, 1, 65535)) for number in rng.sample(range(8), 3)}
        cnp = wire.CnpPacket(*ends, 1, rng.random() < 0.5, rng.randint(1, 40000))
        frames += [
            wire.encode_data(data),
            wire.encode_cnp(cnp),
            wire.encode_pfc(wire.PfcFrame(ends[0], quanta)),
        ]
    return Setup(entries, clones={str(PFC_CLONE_SESSION): [[RECIRCULATION_PORT, 0]]}), frames


def read(name: str) -> tuple[str, p4i.P4Info]:
    """A program's JSON and p4info."""
    folder = ROOT / "p4src/compiled" if name == "pcn" else ROOT / "judges/differential/programs"
    info = text_format.Parse(packed.read_text(folder / f"{name}.p4info.txtpb"), p4i.P4Info())
    return packed.read_text(folder / f"{name}.json"), info


def damaged(text: str, rng: random.Random) -> Iterator[str]:
    """The JSON of programs that were damaged in up to three places and are still accepted."""
    while True:
        document = json.loads(text)
        for _ in range(rng.randint(1, 3)):
            node = document
            while True:
                keys = list(node) if isinstance(node, dict) else list(range(len(node)))
                if not keys:
                    break
                key = rng.choice(keys)
                if isinstance(node[key], (dict, list)) and rng.random() < 0.95:
                    node = node[key]
                    continue
                node[key] = rng.choice(
                    (0, 1, 7, 64, 511, "0xffffffffff", '"; }', None, True, node[rng.choice(keys)])
                )
                break
        try:
            load_program(changed := json.dumps(document))
        except (ProgramError, RecursionError):
            continue
        yield changed


def hostile(frames: list[bytes], rng: random.Random) -> bytes:
    """A frame as it should be, changed, cut, drawn out, or noise."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.choice((0, 1, 13, 14, 63, MAX_FRAME, rng.randint(0, MAX_FRAME))))
    frame = bytearray(rng.choice(frames))
    if kind < 0.6 and frame:
        for _ in range(rng.randint(1, 4)):
            frame[rng.randrange(len(frame))] = rng.choice(
                (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
            )
    if kind > 0.5:
        frame = frame[: rng.randint(0, len(frame))] if kind < 0.75 else frame
    if kind > 0.9:
        frame += rng.randbytes(rng.randint(0, MAX_FRAME - len(frame)))
    return bytes(frame)


def cases(seed: int) -> Iterator[tuple[str, p4i.P4Info | None, Setup, list[bytes]]]:
    """Programs' JSON, with p4info if they have entries, and frames to start from; then the damaged
    ones."""
    rng = random.Random(seed)
    for name in ("pcn", *PROGRAMS):
        text, info = read(name)
        if name == "pcn":
            setup, frames = pcn(rng)
        else:
            setup, packets = generate(name, seed, 200)
            frames = [packet.frame for packet in packets]
        yield text, info, setup, frames
        if name == "headers":
            damaged_texts = damaged(text, rng)
            for _ in range(DAMAGED):
                yield next(damaged_texts), None, Setup(), frames


def main() -> int:
    seed, bursts = map(int, sys.argv[1:])
    rng = random.Random(seed)
    loaded = load_library(build_runtime())
    for number, (text, info, setup, frames) in enumerate(cases(seed)):
        with NativeSwitch(loaded) as native:
            native.load(build_program(text))
            native.start()
            if info is not None:
                prepare(
                    Direct(Forwarding(bind(info, load_program(text)), native)), Names(info), setup
                )
            for _ in range(bursts):
                for _ in range(BURST):
                    native.packet_out(rng.choice(PORTS), hostile(frames, rng))
        print(f"program {number}: {bursts * BURST} packets", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
