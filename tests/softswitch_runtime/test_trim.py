"""Packet trimming, csrc/trim.h: the lengths of a cut frame, whose turn is next, and the switch's
option."""

import ctypes
import struct
from ctypes import c_int32, c_uint64
from functools import lru_cache

import pytest
from hypothesis import given, strategies as st
from runtime import Switch

from pcn.hosts.native import FLAGS
from pcn.softswitch.cache.objects import build, digest
from pcn.softswitch.embed.library import CSRC
from pcn.softswitch.native_types import TrimmingRecord
from pcn.softswitch.options import OptionError, parse
from pcn.softswitch.trimming import Trimming

_FUNCTIONS = """
#include "trim.h"
bool trim(uint8_t *frame, uint32_t bytes, uint8_t dscp) { return sw_trim(frame, bytes, dscp); }
uint32_t turn(uint32_t *turns, uint32_t queue_index, uint32_t weight, uint32_t queues)
{
    struct sw_trimming trimming = {.queue_index = (uint8_t)queue_index, .weight = weight, .turns = *turns};
    uint32_t next = sw_trim_turn(&trimming, queues);
    *turns = trimming.turns;
    return next;
}
uint32_t tails(uint32_t percent, uint64_t drawn, uint32_t n)
{
    struct sw_trimming trimming = {.tail_percent = (uint8_t)percent, .drawn = drawn};
    uint32_t tails = 0;
    while (n-- != 0) tails += sw_trims_tail(&trimming);
    return tails;
}
"""  # noqa: E501
UDP, TCP = 17, 6


@lru_cache(maxsize=1)
def core() -> ctypes.CDLL:
    library = ctypes.CDLL(
        str(build("libtrim", [_FUNCTIONS], digest([CSRC / "trim.h"]) + _FUNCTIONS, FLAGS, CSRC))
    )
    library.trim.restype, library.trim.argtypes = (
        ctypes.c_bool,
        [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint8],
    )
    library.turn.restype = library.tails.restype = ctypes.c_uint32
    library.tails.argtypes = (ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)
    return library


def checksum(header: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def packet(
    protocol: int, options: int, fragment: int, payload: int, padding: int, ecn: int
) -> bytes:
    header = 20 + 4 * options
    ip = struct.pack(
        "!BBHHHBBH8s", 0x40 | header // 4, 8 | ecn, header + payload, 1, fragment, 64, protocol,
        0, b"\x0a\0\0\1\x0a\0\0\2",
    ) + bytes(range(1, 4 * options + 1))  # fmt: skip
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    body = struct.pack("!HHHH", 0xC001, 4791, payload, 0xBEEF)[:payload].ljust(payload, b"\x55")
    return b"\2" * 12 + b"\x08\0" + ip + body + bytes(padding)


@given(
    protocol=st.sampled_from([UDP, TCP]),
    options=st.integers(0, 10),
    fragment=st.sampled_from([0, 0x2000, 0x2001, 5]),
    payload=st.integers(0, 1500),
    padding=st.integers(0, 60),
    ecn=st.integers(0, 3),
    size=st.integers(64, 1024),
    dscp=st.integers(0, 63),
)
def test_cut_frame_is_a_packet_of_its_length(
    protocol, options, fragment, payload, padding, ecn, size, dscp
):
    frame = packet(protocol, options, fragment, payload, padding, ecn)
    size = min(size, len(frame))
    raw = (ctypes.c_uint8 * len(frame)).from_buffer_copy(frame)
    header = 20 + 4 * options
    trimmed = core().trim(raw, size, dscp)
    assert trimmed == (14 + header <= size)
    got = bytes(raw)
    assert got[size:] == frame[size:]
    if not trimmed:
        assert got == frame
        return
    ip, total = got[14 : 14 + header], min(header + payload, size - 14)
    assert checksum(ip) == 0
    assert (ip[1], struct.unpack("!H", ip[2:4])[0]) == (dscp << 2 | ecn, total)
    same = ip[:1] + ip[4:10] + ip[12:], frame[14:15] + frame[18:24] + frame[26 : 14 + header]
    assert same[0] == same[1]
    udp = protocol == UDP and fragment & 0x1FFF == 0 and 14 + header + 8 <= size
    wanted = frame[14 + header : size]
    if udp:
        wanted = wanted[:4] + struct.pack("!HH", total - header, 0) + wanted[8:]
    assert got[14 + header : size] == wanted


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f[:12] + b"\x86\xdd" + f[14:],
        lambda f: f[:14] + b"\x65" + f[15:],
        lambda f: f[:14] + b"\x44" + f[15:],
    ],
)
def test_other_frames_are_left_alone(change):
    frame = change(packet(UDP, 0, 0, 500, 0, 2))
    raw = (ctypes.c_uint8 * len(frame)).from_buffer_copy(frame)
    assert not core().trim(raw, 64, 48)
    assert bytes(raw) == frame


@given(st.integers(0, 7), st.integers(1, 4), st.lists(st.integers(1, 255), max_size=60))
def test_trimmed_packets_leave_at_most_a_weight_in_a_row_while_lower_queues_wait(
    queue, weight, waiting
):
    turns, row = ctypes.c_uint32(), 0
    for queues in waiting:
        taken = core().turn(ctypes.byref(turns), queue, weight, queues)
        assert queues >> taken & 1
        highest, lower = queues.bit_length() - 1, queues & (1 << queue) - 1
        if highest != queue:
            assert taken == highest
        limited = highest == queue and lower != 0
        row = row + 1 if limited and taken == queue else 0
        assert row <= weight
        if limited and taken != queue:
            assert taken == lower.bit_length() - 1


@given(st.integers(0, 100), st.integers(0, 2**64 - 1))
def test_coin_falls_as_often_as_its_percent(percent, drawn):
    """Within 6 standard deviations of 10,000 draws."""
    tails = core().tails(percent, drawn, 10_000)
    assert abs(tails - 100 * percent) <= 6 * (percent * (100 - percent)) ** 0.5
    assert core().tails(percent, drawn, 10_000) == tails


def ipv4_frame(mark: int) -> bytes:
    header = struct.pack("!BBHHHBBH8s", 0x45, 0, 186, 0, 0, 64, UDP, 0, bytes(8))
    return bytes(12) + b"\x08\x00" + header + bytes(8) + bytes([mark]).ljust(158, b".")


@pytest.mark.parametrize("percent", [0, 100])
def test_switch_trims_what_comes_or_what_waits_last(percent):
    """Eight frames for a queue of three, behind one that is on the line."""
    with Switch(manual=True) as switch:
        for port in (1, 2):
            switch.port_add(port)
        switch.forward(1, 2)
        ports_queue = (c_int32(2), c_int32(0))
        switch.call("sw_queue_set", *ports_queue, c_uint64(3), c_uint64(1_000_000))
        record = TrimmingRecord(64, 48, 6, 1, percent, 32)
        switch.call("sw_set_trimming", ctypes.byref(record))
        for mark in range(9):
            switch.inject(1, ipv4_frame(mark))
        switch.advance(1)
        frames = [data for _, _, data in switch.departed()]
        whole = [frame[42] for frame in frames if len(frame) == 200]
        trimmed = [frame[42] for frame in frames if len(frame) == 64]
        untrimmed = [0, 1, 2, 8] if percent else [0, 1, 2, 3]
        assert whole == untrimmed
        assert trimmed == [mark for mark in range(9) if mark not in untrimmed]


def options(*words: str) -> tuple[tuple[int, ...], Trimming] | None:
    return parse(["--no-p4", "-i", "1@one", *words]).trimming


def test_option_has_queues_and_settings_by_their_names():
    assert options() is None
    assert options("--trim", "1") == ((1,), Trimming())
    wanted = Trimming(size=128, dscp_value=40, queue_index=5, weight=7, tail_percent=50)
    words = "2,0,2:size=128,dscp_value=40,queue_index=5,weight=7,tail_percent=50"
    assert options("--trim", words) == ((0, 2), wanted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write QUEUE"),
        ("8x", "write QUEUE"),
        ("1:size", "write QUEUE"),
        ("1:length=64", "length: choose from size"),
        ("1:size=63", "size is 63: 64 to 1024"),
        ("1:weight=0", "weight is 0"),
        ("1:tail_percent=101", "tail_percent is 101: 0 to 100"),
        ("8", "queues are 0 to 7"),
        ("6", "another than those that trim"),
    ],
)
def test_option_refuses_what_cannot_be(text, message):
    with pytest.raises(OptionError, match=message):
        options("--trim", text)
