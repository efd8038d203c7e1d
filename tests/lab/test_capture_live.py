"""A capture of a full link, beside two processes that compute: nothing of its time is missing in
the file."""

import json
import os
import resource
import struct
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import LIMIT_S, wait_until

from pcn.hosts import wire
from pcn.lab import flows
from pcn.lab.capture import CaptureError, capture
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell

pytestmark = [pytest.mark.root, pytest.mark.long]
K = 100
PACKETS = (
    4_000  # of a kilobyte: a socket's buffer has room for a few hundred, the capture's for them all
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Lab]:
    """h0 - s0 - s1 - r0, with PFC alone: h0 sends at line rate, 11,800 packets a second."""
    name = f"a{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(
        dumbbell(pairs=1),
        log_dir=tmp_path_factory.mktemp("logs"),
        name=name,
        dilation=K,
        scheme="pfc",
    ) as lab:
        yield lab


@pytest.fixture
def busy() -> Iterator[None]:
    """Two processes that compute."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_capture_that_is_read_only_at_its_end_is_complete(lab: Lab, busy: None, tmp_path):
    """All of a flow passes while the process doesn't read: as if it had got no CPU."""
    numbers: list[int] = []

    def stopped() -> bool:
        if not numbers:
            numbers.extend(start(lab, size_bytes=PACKETS * 1000))
            wait_until(lambda: arrived(lab, numbers[0])[1], "the last packet")
        return True

    path = tmp_path / "late.pcapng"
    before = came_to(lab, "s1", "s1-eth2")
    captured = capture(lab, "s0", 2, path, stopped=stopped)
    assert captured.lost == 0
    stamps, psns = read(path, numbers[0])
    assert stamps == sorted(stamps)
    assert captured.frames == len(stamps)
    # All that came to the far end, which is all of the flow but for what a network too busy lost
    # before.
    assert len(set(psns)) == came_to(lab, "s1", "s1-eth2") - before
    assert max(psns) == PACKETS - 1  # what was recirculated comes in any order


def test_a_capture_of_a_full_link_holds_what_arrived_before_its_end(lab: Lab, busy: None, tmp_path):
    """Packets that r0 reports received before the capture can have ended had left s1:1 before it
    ended."""
    duration_s = 5e-3
    (number,) = start(lab)
    known: list[int] = []
    ends = time.monotonic() + duration_s * K

    def ask():
        while time.monotonic() < ends:
            packets, _ = arrived(lab, number)
            if time.monotonic() < ends:
                known.append(packets)

    asking = threading.Thread(target=ask)
    asking.start()
    path = tmp_path / "full.pcapng"
    captured = capture(lab, "s1", 1, path, duration_s=duration_s)
    asking.join()
    flows.stop(lab.agents, [number])
    stamps, psns = read(path, number)
    assert stamps == sorted(stamps)
    assert captured.lost == 0
    assert max(psns) + 1 >= max(known, default=0)
    (got,) = (flow for flow in lab.agents["r0"].stats().received if flow.flow == number)
    # The network's own losses, and what was overtaken and passed after the end: recirculated
    # packets come in any order.
    assert max(psns) + 1 - min(psns) - len(set(psns)) <= got.gaps + got.reordered


def test_file_that_can_t_grow_keeps_whole_frames_and_counts_them(lab: Lab, tmp_path):
    """As on a full disk: the process may write no file beyond 50 kB."""
    (number,) = start(lab)
    path = tmp_path / "cut.pcapng"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(CaptureError) as refused:
            capture(lab, "s1", 1, path, duration_s=1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        flows.stop(lab.agents, [number])
    stamps, _ = read(path, number)
    text = (
        f"can't write {path} to its end: File too large; the first {len(stamps)} frames are in it"
    )
    assert str(refused.value) == text
    assert len(stamps) > 30  # of an earlier flow, too, which recirculates until it has drained
    assert 48_000 < path.stat().st_size <= 50_000


def start(lab: Lab, size_bytes: int | None = None) -> list[int]:
    return flows.start(lab.topology, lab.agents, "h0", "r0", size_bytes=size_bytes)


def arrived(lab: Lab, number: int) -> tuple[int, bool]:
    """How many packets of a flow, and whether that is all."""
    received = [flow for flow in lab.agents["r0"].stats().received if flow.flow == number]
    return (received[0].packets, received[0].complete_s is not None) if received else (0, False)


def came_to(lab: Lab, node: str, interface: str) -> int:
    """How many frames, by the kernel's count."""
    command = [
        "nsenter", "-n", "-t", str(lab.network.node_pid(node)), "ip", "-j", "-s", "link", "show",
        interface,
    ]  # fmt: skip
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=LIMIT_S
    ).stdout
    return int(json.loads(output)[0]["stats64"]["rx"]["packets"])


def read(path: Path, flow: int) -> tuple[list[int], list[int]]:
    """Time stamps of all frames of a pcapng file, and the PSNs of a flow's data packets."""
    data, at = path.read_bytes(), 0
    stamps, psns = [], []
    while at < len(data):
        block, length = struct.unpack_from("<II", data, at)
        if block == 6:
            _, high, low, size = struct.unpack_from("<IIII", data, at + 8)
            stamps.append(high << 32 | low)
            frame = wire.decode(data[at + 28 : at + 28 + size])
            if isinstance(frame, wire.DataPacket) and frame.flow == flow:
                psns.append(frame.psn)
        at += length
    return stamps, psns
