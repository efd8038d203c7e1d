"""Captures of virtual time: both ways in one file, in order; a file of the engine that had no room
is no capture."""

import errno
import struct
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from scapy.utils import RawPcapNgReader

from pcn.experiments.data.capture import Capture
from pcn.topologies.model import Endpoint
from pcn.topologies.star import star

TIMES = st.lists(st.integers(0, 10**12), max_size=8).map(sorted)
TOPOLOGY = star(2, delay_s=3e-6)


def pcap(times_ns: list[int], length: int) -> bytes:
    """As the engine writes it."""
    head = struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 16384, 1)
    records = (
        struct.pack("=IIII", at // 10**9, at % 10**9, length, length) + bytes(length)
        for at in times_ns
    )
    return head + b"".join(records)


def capture_of(folder: Path, out: bytes, come_in: bytes) -> Capture:
    capture = Capture.of(Endpoint("s0", 1), TOPOLOGY, folder)
    capture.ways[False].write_bytes(out)
    capture.ways[True].write_bytes(come_in)
    return capture


@given(out=TIMES, come_in=TIMES)
def test_capture_merges_both_ways_by_the_port_s_time(out, come_in, tmp_path_factory):
    folder = tmp_path_factory.mktemp("capture")
    capture = capture_of(folder, pcap(out, 60), pcap(come_in, 100))
    with (folder / capture.name).open("wb") as file:
        capture.write(file)
    frames = [
        (meta.tshigh << 32 | meta.tslow, len(data))
        for data, meta in RawPcapNgReader(str(folder / capture.name))
    ]
    assert [at for at, _ in frames] == sorted(at for at, _ in frames)
    assert sorted(frames) == sorted([(at, 60) for at in out] + [(at + 3000, 100) for at in come_in])
    capture.discard()
    assert [path.name for path in folder.iterdir()] == ["s0-1.pcapng"]


@given(data=st.data())
def test_capture_that_the_engine_had_no_room_for_is_an_error(data, tmp_path_factory):
    folder, record = tmp_path_factory.mktemp("capture"), 16 + 60
    whole = pcap([1, 2, 3], 60)
    cut = data.draw(st.integers(24, len(whole) - 1).filter(lambda size: (size - 24) % record))
    capture = capture_of(folder, whole, whole[:cut])
    with (
        (folder / "file").open("wb") as file,
        pytest.raises(OSError, match="No space left") as caught,
    ):
        capture.write(file)
    assert caught.value.errno == errno.ENOSPC
