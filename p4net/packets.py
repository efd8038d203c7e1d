"""Frames of IPv4 and UDP, as a host's kernel would write them."""

from __future__ import annotations

import struct

from pcn.p4net.neighbours import address_of, mac_of
from pcn.p4net.network import P4Network

UDP = 17
IPV4_BYTES = 14 + 20
UDP_BYTES = IPV4_BYTES + 8
_TYPE_IPV4 = 0x0800
NO_MAC = "00:00:00:00:00:00"
"""In place of the destination that ARP sets (p4net/arp.py)."""


def ipv4(
    network: P4Network, src: str, dst: str, payload: bytes, *, protocol: int, tos: int = 0,
    ttl: int = 64,
    mac: str | None = None,
) -> bytes:  # fmt: skip
    """Returns a frame from a host to a host or an IPv4 address. `mac`: its destination; None: the
    next hop's, as `mac_of` has it without ARP. `tos`: DSCP and ECN. Raises LabError."""
    source, target = network.topology.host(src), address_of(network, dst)
    header = struct.pack(
        ">BBHHHBBH4s4s", 0x45, tos, 20 + len(payload), 0, 0x4000, ttl, protocol, 0,
        address_of(network, src).packed, target.packed,
    )  # fmt: skip
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    to = _mac(mac_of(network, src, str(target)) if mac is None else mac)
    ethernet = to + _mac(source.mac) + struct.pack(">H", _TYPE_IPV4)
    return ethernet + header + payload


def udp(
    network: P4Network, src: str, dst: str, payload: bytes = b"", *, sport: int = 49152,
    dport: int = 9, tos: int = 0,
    ttl: int = 64, mac: str | None = None,
) -> bytes:  # fmt: skip
    """Returns a UDP datagram from a host to a host or an IPv4 address, with its checksum; `mac` as
    of `ipv4`. Raises LabError."""
    addresses = address_of(network, src).packed + address_of(network, dst).packed
    length = 8 + len(payload)
    start = struct.pack(">HHH", sport, dport, length)
    udp_checksum = (
        checksum(addresses + struct.pack(">BBH", 0, UDP, length) + start + b"\0\0" + payload)
        or 0xFFFF
    )
    return ipv4(
        network,
        src,
        dst,
        start + struct.pack(">H", udp_checksum) + payload,
        protocol=UDP,
        tos=tos,
        ttl=ttl,
        mac=mac,
    )


def checksum(data: bytes) -> int:
    """Returns the Internet checksum (RFC 1071)."""
    whole = int.from_bytes(data + b"\0" if len(data) % 2 else data, "big")
    return (
        ~(whole % 0xFFFF or (0xFFFF if whole else 0)) & 0xFFFF
    )  # a sum of 16-bit words with carries is one modulo 2^16 - 1


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
