"""Frames that data-plane tests send, and what becomes of them."""

from __future__ import annotations

import struct

import ptf.testutils

from pcn.controller.tofino.chips import CHIPS, TOFINO
from pcn.hosts import wire

ROCE_CLASS, CNP_CLASS, OTHER_CLASS = 3, 7, 0
PAYLOAD = 1000
FRAME = PAYLOAD + wire.DATA_OVERHEAD
LARGEST_FRAME = 1514
CHIP = CHIPS[ptf.testutils.test_params_get({}).get("chip", TOFINO.name)]
"""Of the twins, as run.py has it."""


def device_port(port: int) -> int:
    """Returns the switch's number of a test's port: those at the chip's front but its first. Tofino
    1's, as those of every other switch, have the same number."""
    return CHIP.first_port + port


def host_ip(port: int) -> bytes:
    return bytes((10, 0, 0, port))


def host_mac(port: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, port))


def port_mac(port: int) -> bytes:
    """PORT_MAC_BASE of p4src/shared/constants.p4 and the port."""
    return bytes.fromhex("0250434e0000")[:5] + bytes((device_port(port),))


def data(
    source: int,
    destination: int,
    psn: int = 0,
    ecn: int = wire.ECN_ECT0,
    dscp: int = wire.DSCP_DATA,
    payload: int = PAYLOAD,
) -> bytes:
    """A data packet from the host at a port to the host at another."""
    return wire.encode_data(
        wire.DataPacket(
            host_mac(source),
            port_mac(source),
            host_ip(source),
            host_ip(destination),
            1,
            psn,
            bytes(payload),
            ecn,
            dscp,
        )
    )


def cnp(source: int, destination: int, ecn: int = wire.ECN_CE, rate_mbps: int = 1000) -> bytes:
    return wire.encode_cnp(
        wire.CnpPacket(
            host_mac(source),
            port_mac(source),
            host_ip(source),
            host_ip(destination),
            1,
            ecn,
            rate_mbps,
        )
    )


def pfc(source: int, quanta: dict[int, int]) -> bytes:
    """From the host at a port: quanta by class, 0 resumes."""
    return wire.encode_pfc(wire.PfcFrame(host_mac(source), quanta))


def patched(frame: bytes, offset: int, value: bytes, fix_checksum: bool = True) -> bytes:
    """A frame with other bytes somewhere, and an IPv4 checksum that fits."""
    changed = bytearray(frame)
    changed[offset : offset + len(value)] = value
    if fix_checksum:
        changed[24:26] = bytes(2)
        changed[24:26] = struct.pack("!H", wire.ip_checksum(changed[14:34]))
    return bytes(changed)


def forwarded(frame: bytes, port: int, ce: bool = False) -> bytes:
    """What becomes of an IPv4 frame that the switch sends to the host at `port`: addresses, TTL,
    CE, checksum."""
    expected = patched(frame, 0, host_mac(port) + port_mac(port), fix_checksum=False)
    expected = patched(expected, 22, bytes((frame[22] - 1,)))
    return patched(expected, 15, bytes((frame[15] | 3,))) if ce else expected


def expected_pfc(port: int, quanta: int, number: int = ROCE_CLASS) -> bytes:
    """A PFC frame of the switch's own for one class, out of a port."""
    return wire.encode_pfc(wire.PfcFrame(port_mac(port), {number: quanta}))
