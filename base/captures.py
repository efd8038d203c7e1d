"""Reads captures of Ethernet: pcap with time stamps in micro- or nanoseconds, and pcapng.

pcap: IETF draft-ietf-opsawg-pcap. pcapng: draft-ietf-opsawg-pcapng; of its blocks sections,
interfaces, enhanced packets and their predecessor (10.1) are read, and simple packets, which have
no time, are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

_ETHERNET: Final = 1
_MOST: Final = 2**20  # bytes of a record or block: what a file of others may make us read at once
# by magic number: units of a time stamp's fraction a second
_PCAP: Final = {
    0xA1B2C3D4: 10**6,
    0xA1B23C4D: 10**9,
}
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER: Final = 0x1A2B3C4D
_END, _RESOLUTION, _OFFSET = 0, 9, 14  # options of an interface
_NS: Final = 10**9


class CaptureError(Exception):
    """The file is no capture of Ethernet; the message is the reason."""


class Frame(NamedTuple):
    """A captured frame. `data` are the bytes that were captured of `length`."""

    time_ns: int
    data: bytes
    length: int


class _Interface(NamedTuple):
    """How time stamps of an interface count: units a second, from `offset_s` on."""

    units: int
    offset_s: int

    def time_ns(self, stamp: int) -> int:
        return self.offset_s * _NS + (stamp * _NS + self.units // 2) // self.units


def is_capture(head: bytes) -> bool:
    """Returns whether a file that begins so is a capture."""
    numbers = {int.from_bytes(head[:4], "little"), int.from_bytes(head[:4], "big")}
    return len(head) >= 4 and bool(numbers & {*_PCAP, _SECTION})


def frames(file: BinaryIO, *, whole: bool = False) -> Iterator[Frame]:
    """Yields the frames of a capture in the file's order.

    A last frame that isn't whole in the file, as a capture has that was ended, is left out. With
    `whole` it is refused, and so is a frame of which less than its length was captured. Raises
    CaptureError, OSError.
    """
    head = file.read(4)
    records = _pcapng(file) if int.from_bytes(head, "little") == _SECTION else _pcap(head, file)
    for number, frame in enumerate(records, 1):
        if frame is None:
            if whole:
                raise CaptureError(f"frame {number} is cut off")
            return
        if whole and len(frame.data) != frame.length:
            raise CaptureError(
                f"of frame {number}, {len(frame.data)} of {frame.length} bytes were captured: "
                "capture it whole"
            )
        yield frame


def _pcap(head: bytes, file: BinaryIO) -> Iterator[Frame | None]:
    """Yields frames, and None for one that is cut off."""
    order = "<" if int.from_bytes(head, "little") in _PCAP else ">"
    units = _PCAP.get(struct.unpack(f"{order}I", head)[0] if len(head) == 4 else 0)
    rest = file.read(20)
    if units is None or len(rest) < 20:
        raise CaptureError("this is neither pcap nor pcapng")
    if struct.unpack(f"{order}I", rest[16:])[0] & 0xFFFF != _ETHERNET:
        raise CaptureError("its frames aren't Ethernet's")
    record = struct.Struct(f"{order}IIII")
    while header := file.read(record.size):
        if len(header) < record.size:
            yield None
            return
        seconds, fraction, captured, length = record.unpack(header)
        data = _part(file, captured)
        if len(data) < captured:
            yield None
            return
        yield Frame(seconds * _NS + fraction * (_NS // units), data, length)


def _part(file: BinaryIO, length: int) -> bytes:
    if length > _MOST:
        raise CaptureError(f"a frame or block of {length:,} bytes: at most {_MOST:,} are possible")
    return file.read(length)


def _pcapng(file: BinaryIO) -> Iterator[Frame | None]:
    """Yields from behind the first four bytes, which begin a section; None for a block that is cut
    off."""
    kind, order = _SECTION, "<"
    interfaces: list[_Interface] = []
    while True:
        lengths = file.read(4)
        if kind == _SECTION:
            magic = file.read(4)
            order = "<" if int.from_bytes(magic, "little") == _BYTE_ORDER else ">"
            if len(magic) == 4 and struct.unpack(f"{order}I", magic)[0] != _BYTE_ORDER:
                raise CaptureError("a section without its byte order")
            interfaces = []
        if len(lengths) < 4:
            yield None
            return
        length = int(struct.unpack(f"{order}I", lengths)[0])
        known = 12 if kind == _SECTION else 8
        if length < known + 4:
            raise CaptureError(f"a block of {length} bytes")
        body = _part(file, length - known)
        if len(body) < length - known:
            yield None
            return
        body = body[:-4]
        if kind == _INTERFACE:
            interfaces.append(_interface(body, order))
        elif kind in (_PACKET, _OLD_PACKET) and len(body) >= 20:
            # The older block has 16 bits of the interface, then 16 of losses.
            number, high, low, captured, wire = struct.unpack(f"{order}IIIII", body[:20])
            if kind == _OLD_PACKET:
                number = struct.unpack(f"{order}H", body[:2])[0]
            if number >= len(interfaces):
                raise CaptureError(f"a frame of interface {number}, which isn't described")
            data = body[20 : 20 + captured]
            if len(data) < captured:
                raise CaptureError(f"a block of {length} bytes with a frame of {captured}")
            yield Frame(interfaces[number].time_ns(high << 32 | low), data, wire)
        elif kind == _SIMPLE:
            raise CaptureError("its packets are simple ones, which have no time")
        head = file.read(4)
        if not head:
            return
        if len(head) < 4:
            yield None
            return
        kind = struct.unpack(f"{order}I", head)[0]


def _interface(body: bytes, order: str) -> _Interface:
    if len(body) < 8 or struct.unpack(f"{order}H", body[:2])[0] != _ETHERNET:
        raise CaptureError("its frames aren't Ethernet's")
    units, offset_s, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack(f"{order}HH", body[at : at + 4])
        text = body[at + 4 : at + 4 + length]
        if code == _RESOLUTION and len(text) == 1:
            units = 2 ** (text[0] & 0x7F) if text[0] & 0x80 else 10 ** text[0]
        elif code == _OFFSET and len(text) == 8:
            offset_s = struct.unpack(f"{order}q", text)[0]
        elif code == _END:
            break
        at += 4 + length + -length % 4
    return _Interface(units, offset_s)
