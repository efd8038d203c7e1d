"""Captures: the times of pcapng by blocks and options, and which parts of a capture are whole."""

import io
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from pcn.base.captures import CaptureError, Frame, frames
from pcn.base.pcapng import PcapngWriter

ORDERS = st.sampled_from("<>")
ENHANCED, OLD, SIMPLE = 6, 2, 3


def block(order: str, kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack(f"{order}II", kind, length) + body + struct.pack(f"{order}I", length)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str, options: Sequence[tuple[int, bytes]] = ()) -> bytes:
    """A section with an interface of these options."""
    text = b"".join(option(order, code, value) for code, value in options)
    head = block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    return head + block(
        order, 1, struct.pack(f"{order}HHI", 1, 0, 0) + text + option(order, 0, b"")
    )


def packet(
    order: str, stamp: int, data: bytes, *, kind: int = ENHANCED, length: int | None = None
) -> bytes:
    head = struct.pack(f"{order}III", 0, stamp >> 32, stamp & 0xFFFFFFFF)
    head += struct.pack(f"{order}II", len(data), len(data) if length is None else length)
    return block(order, kind, head + data + bytes(-len(data) % 4))


def read(data: bytes, *, whole: bool = False) -> list[Frame]:
    return list(frames(io.BytesIO(data), whole=whole))


@given(ORDERS, st.integers(0, 2**64 - 1), st.integers(0, 18), st.sampled_from([ENHANCED, OLD]))
def test_pcapng_times_keep_each_nanosecond(order, stamp, exponent, kind):
    """A float has 256 ns at this century's times."""
    data = section(order, [(9, bytes([exponent]))]) + packet(order, stamp, b"frame", kind=kind)
    (frame,) = read(data)
    assert abs(frame.time_ns * 10**exponent - stamp * 10**9) * 2 <= 10**exponent
    assert (frame.data, frame.length) == (b"frame", 5)


@given(ORDERS, st.integers(0, 2**40), st.integers(0, 32), st.integers(-(2**40), 2**40))
def test_pcapng_times_count_in_powers_of_two_and_from_an_offset(order, stamp, exponent, offset_s):
    options = [(9, bytes([0x80 | exponent])), (14, struct.pack(f"{order}q", offset_s))]
    (frame,) = read(section(order, options) + packet(order, stamp, b"frame"))
    assert abs((frame.time_ns - offset_s * 10**9) * 2**exponent - stamp * 10**9) * 2 <= 2**exponent


def test_simple_packets_are_refused():
    with pytest.raises(CaptureError, match="have no time"):
        read(section("<") + block("<", SIMPLE, struct.pack("<I", 4) + b"data"))


def test_block_with_less_than_its_frame_is_refused():
    data = bytearray(section("<") + packet("<", 0, b"data"))
    data[-8 - 8 : -8 - 4] = struct.pack("<I", 5)
    with pytest.raises(CaptureError, match="a frame of 5"):
        read(bytes(data))


def pcapng_of(data: Sequence[bytes]) -> bytes:
    file = io.BytesIO()
    writer = PcapngWriter(file, "eth0", "", "")
    for number, frame in enumerate(data):
        writer.write(number, frame, incoming=True)
    return file.getvalue()


def pcap_of(data: Sequence[bytes]) -> bytes:
    head = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(
        struct.pack("<IIII", 0, k, len(f), len(f)) + f for k, f in enumerate(data)
    )


@pytest.mark.parametrize("write", [pcap_of, pcapng_of])
def test_capture_that_ends_within_a_frame_is_cut_off(write):
    data, before = write([b"a" * 60, b"b" * 60]), len(write([b"a" * 60]))
    assert len(read(data, whole=True)) == 2
    for end in range(before + 1, len(data)):
        assert [frame.data for frame in read(data[:end])] == [b"a" * 60]
        with pytest.raises(CaptureError, match="frame 2 is cut off"):
            read(data[:end], whole=True)


def test_frame_of_which_a_part_was_captured_is_no_whole_one():
    data = section("<") + packet("<", 0, b"data", length=99)
    assert read(data) == [Frame(0, b"data", 99)]
    with pytest.raises(CaptureError, match="of frame 1, 4 of 99 bytes were captured"):
        read(data, whole=True)
    with pytest.raises(CaptureError, match="of frame 1, 4 of 2 bytes"):
        read(section("<") + packet("<", 0, b"data", length=2), whole=True)
