"""Reads captures: pcap with time stamps in micro- or nanoseconds, and pcapng, of Ethernet.

pcap: IETF draft-ietf-opsawg-pcap. pcapng: draft-ietf-opsawg-pcapng; of its blocks section, interface, enhanced and
simple packets count. A last frame that isn't whole is left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from pcn.topologies.errors import LabError

_ETHERNET = 1
_MOST = 2**20
"""Bytes of a record or block."""
_PCAP = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Magic numbers, and the unit of their time stamps' fraction in ns."""
_SECTION, _INTERFACE, _SIMPLE, _PACKET = 0x0A0D0D0A, 1, 3, 6
_BYTE_ORDER = 0x1A2B3C4D
_RESOLUTION = 9


class CaptureError(LabError):
    """A file that is no capture of Ethernet."""


def is_capture(head: bytes) -> bool:
    """Returns whether a file that begins so is a capture."""
    numbers = {int.from_bytes(head[:4], "little"), int.from_bytes(head[:4], "big")}
    return len(head) >= 4 and bool(numbers & {*_PCAP, _SECTION})


def frames(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the time of each frame, ns, and its bytes as far as they were captured. Raises CaptureError, OSError."""
    head = file.read(4)
    if int.from_bytes(head, "little") == _SECTION:
        yield from _pcapng(file)
        return
    order = "<" if int.from_bytes(head, "little") in _PCAP else ">"
    unit = _PCAP.get(struct.unpack(f"{order}I", head)[0] if len(head) == 4 else 0)
    rest = file.read(20)
    if unit is None or len(rest) < 20:
        raise CaptureError("this is neither pcap nor pcapng")
    if struct.unpack(f"{order}I", rest[16:])[0] & 0xFFFF != _ETHERNET:
        raise CaptureError("its frames aren't Ethernet's")
    record = struct.Struct(f"{order}IIII")
    while len(found := file.read(record.size)) == record.size:
        seconds, fraction, length, _ = record.unpack(found)
        data = _part(file, length)
        if len(data) < length:
            return
        yield seconds * 10**9 + fraction * unit, data


def _part(file: BinaryIO, length: int) -> bytes:
    if length > _MOST:
        raise CaptureError(f"a frame or block of {length:,} bytes: at most {_MOST:,} are possible")
    return file.read(length)


def _pcapng(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields from behind the first four bytes, which begin a section."""
    kind, order = _SECTION, "<"
    units: list[float] = []
    while True:
        lengths = file.read(4)
        if kind == _SECTION:
            magic = file.read(4)
            order = "<" if int.from_bytes(magic, "little") == _BYTE_ORDER else ">"
            if len(magic) == 4 and struct.unpack(f"{order}I", magic)[0] != _BYTE_ORDER:
                raise CaptureError("a section without its byte order")
            units = []
        if len(lengths) < 4:
            return
        length = int(struct.unpack(f"{order}I", lengths)[0])
        known = 12 if kind == _SECTION else 8
        if length < known + 4:
            raise CaptureError(f"a block of {length} bytes")
        body = _part(file, length - known)
        if len(body) < length - known:
            return
        body = body[:-4]
        if kind == _INTERFACE:
            units.append(_unit_ns(body, order))
        elif kind == _PACKET and len(body) >= 20:
            interface, high, low, captured, _ = struct.unpack(f"{order}IIIII", body[:20])
            if interface >= len(units):
                raise CaptureError(f"a frame of interface {interface}, which isn't described")
            yield round((high << 32 | low) * units[interface]), body[20 : 20 + captured]
        head = file.read(4)
        if len(head) < 4:
            return
        kind = struct.unpack(f"{order}I", head)[0]


def _unit_ns(body: bytes, order: str) -> float:
    """Returns the unit of an interface's time stamps, ns."""
    if len(body) < 8 or struct.unpack(f"{order}H", body[:2])[0] != _ETHERNET:
        raise CaptureError("its frames aren't Ethernet's")
    at = 8
    while at + 4 <= len(body):
        code, length = struct.unpack(f"{order}HH", body[at : at + 4])
        if code == _RESOLUTION and length == 1 and at + 4 < len(body):
            exponent = body[at + 4]
            return 1e9 / (2.0 ** (exponent & 0x7F) if exponent & 0x80 else 10.0**exponent)
        if code == 0:
            break
        at += 4 + length + -length % 4
    return 1e3
