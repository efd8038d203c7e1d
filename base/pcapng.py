"""Captures as Wireshark reads them: pcapng (IETF draft-ietf-opsawg-pcapng), one interface, time
stamps in nanoseconds, and of each frame whether it came in or went out."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import IO

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_END, _COMMENT, _IF_NAME, _IF_DESCRIPTION, _IF_RESOLUTION, _PACKET_FLAGS = 0, 1, 2, 3, 9, 2
_ETHERNET = 1
_INBOUND, _OUTBOUND = 1, 2
_MAX_FRAME = 0x40000


class PcapngWriter:
    """Writes to `file`, block by block; each `write` leaves the file whole."""

    def __init__(self, file: IO[bytes], interface: str, description: str, comment: str) -> None:
        self._file = file
        version = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
        self._block(_SECTION, version + _options((_COMMENT, comment.encode())))
        self._block(
            _INTERFACE,
            struct.pack("<HHI", _ETHERNET, 0, _MAX_FRAME)
            + _options(
                (_IF_NAME, interface.encode()),
                (_IF_DESCRIPTION, description.encode()),
                (_IF_RESOLUTION, b"\x09"),
            ),
        )

    def write(self, at_ns: int, frame: bytes, incoming: bool) -> None:
        """A frame, without FCS. Times have 64 bits and aren't negative."""
        head = struct.pack("<IIIII", 0, at_ns >> 32, at_ns & 0xFFFFFFFF, len(frame), len(frame))
        flags = struct.pack("<I", _INBOUND if incoming else _OUTBOUND)
        self._block(_PACKET, head + _padded(frame) + _options((_PACKET_FLAGS, flags)))

    def _block(self, kind: int, body: bytes) -> None:
        length = len(body) + 12
        self._file.write(struct.pack("<II", kind, length) + body + struct.pack("<I", length))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _options(*options: tuple[int, bytes]) -> bytes:
    return b"".join(
        struct.pack("<HH", code, len(value)) + _padded(value)
        for code, value in (*options, (_END, b""))
    )


def keep_whole(path: Path) -> int:
    """Cuts a file that ends within a block behind its last whole one. How many frames are left."""
    with path.open("r+b") as file:
        size, end, frames = file.seek(0, os.SEEK_END), 0, 0
        while end + 8 <= size:
            file.seek(end)
            kind, length = struct.unpack("<II", file.read(8))
            if end + length > size:
                break
            end, frames = end + length, frames + (kind == _PACKET)
        file.truncate(end)
    return frames
