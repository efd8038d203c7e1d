"""TCP segments in frames (RFC 9293), with the bits of ECN (RFC 3168)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from pcn.p4net.network import P4Network
from pcn.p4net.packets import IPV4_BYTES, NO_MAC, checksum, ipv4

TCP: Final = 6
HEADER_BYTES: Final = 20
FRAME_BYTES: Final = IPV4_BYTES + HEADER_BYTES
FIN, SYN, ACK, ECE, CWR = 0x01, 0x02, 0x10, 0x40, 0x80
ECT, CE = 2, 3
MODULUS: Final = 2**32
_SYN_OPTIONS: Final = struct.Struct(">BBHBBBB")  # MSS; no operation, window scale
_WINDOW, _SCALE = 65535, 14
_TYPE_IPV4: Final = b"\x08\x00"


@dataclass(frozen=True)
class Segment:
    """A segment. `sequence` and `acknowledgement` count bytes of the stream from 0 on, SYN and FIN
    included, beyond 2^32 too. `ecn`: of its IP header."""

    sequence: int
    acknowledgement: int
    flags: int
    payload: bytes = b""
    ecn: int = 0

    @property
    def end(self) -> int:
        """The sequence number behind it."""
        return self.sequence + len(self.payload) + bool(self.flags & SYN) + bool(self.flags & FIN)


@dataclass(frozen=True)
class Addresses:
    """One direction of a connection: hosts and ports. `tos`: DSCP in the upper six bits."""

    src: str
    dst: str
    sport: int
    dport: int
    tos: int = 0


def encode(network: P4Network, addresses: Addresses, segment: Segment, mss: int) -> bytes:
    """Returns the frame of a segment. `mss` is announced in a SYN. Raises LabError."""
    options = _SYN_OPTIONS.pack(2, 4, mss, 1, 3, 3, _SCALE) if segment.flags & SYN else b""
    length = HEADER_BYTES + len(options)
    head = struct.pack(
        ">HHIIBBHHH", addresses.sport, addresses.dport, segment.sequence % MODULUS,
        segment.acknowledgement % MODULUS,
        length // 4 << 4, segment.flags, _WINDOW, 0, 0,
    )  # fmt: skip
    body = head + options + segment.payload
    frame = ipv4(
        network,
        addresses.src,
        addresses.dst,
        body,
        protocol=TCP,
        tos=addresses.tos & 0xFC | segment.ecn,
        mac=NO_MAC,
    )
    pseudo = frame[26:34] + struct.pack(">BBH", 0, TCP, len(body))
    at = IPV4_BYTES + 16
    return frame[:at] + struct.pack(">H", checksum(pseudo + body)) + frame[at + 2 :]


def decode(
    frame: bytes, sequence_near: int, acknowledgement_near: int
) -> tuple[int, int, Segment] | None:
    """Returns the source port, destination port and segment of a frame; None: it is no TCP over
    IPv4 with right checksums, so a kernel drops it. The numbers of the segment are those nearest to
    the two given."""
    if (
        len(frame) < FRAME_BYTES
        or frame[12:14] != _TYPE_IPV4
        or frame[14] >> 4 != 4
        or frame[23] != TCP
    ):
        return None
    start, total = 14 + 4 * (frame[14] & 15), int.from_bytes(frame[16:18], "big")
    body = frame[start : 14 + total]
    if start < IPV4_BYTES or len(body) < HEADER_BYTES or checksum(frame[14:start]):
        return None
    if checksum(frame[26:34] + struct.pack(">BBH", 0, TCP, len(body)) + body):
        return None
    sport, dport, sequence, acknowledgement, offset, flags = struct.unpack_from(">HHIIBB", body)
    length = 4 * (offset >> 4)
    if not HEADER_BYTES <= length <= len(body):
        return None
    segment = Segment(
        _nearest(sequence, sequence_near), _nearest(acknowledgement, acknowledgement_near), flags,
        body[length:],
        frame[15] & 3,
    )  # fmt: skip
    return sport, dport, segment


def _nearest(number: int, near: int) -> int:
    """Returns the number that is equal modulo 2^32 and nearest."""
    half = MODULUS // 2
    return max(near + (number - near + half) % MODULUS - half, 0)
