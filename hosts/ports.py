"""By which of its ports a host with several sends a flow's frames: as switches choose among equal
paths, by the five-tuple, but by another hash, so that the host's choice and those of switches are
independent."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import TypeVar

from pcn.hosts import wire

_T = TypeVar("_T")
_GOLDEN = 0x9E3779B1
"""2^32 by the golden ratio, odd (Knuth, TAOCP 3, 6.4): the product's upper bits depend on all bits
of the CRC, of which a switch takes some."""


def choose(ports: Sequence[_T], src_ip: bytes, dst_ip: bytes, udp_port: int) -> _T:
    """Returns one of the ports, which are in order, for frames with these addresses and this UDP
    source port."""
    if len(ports) == 1:
        return ports[0]
    five = src_ip + dst_ip + struct.pack("!BHH", wire.PROTOCOL_UDP, udp_port, wire.ROCE_PORT)
    mixed = zlib.crc32(five) * _GOLDEN & 0xFFFFFFFF
    return ports[mixed * len(ports) >> 32]
