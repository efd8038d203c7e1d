"""What hosts put on the wire: data packets, CNPs and PFC frames, byte for byte.

Data is RoCEv2 (InfiniBand Architecture Specification 1.2.1, Annexes A16 and A17): Ethernet / IPv4 /
UDP 4791 / BTH / payload / ICRC, as an unreliable connection's SEND Only. A CNP is Annex A17.9.3's:
BTH opcode 0x81, BECN set, 16 reserved bytes; PCN's section 5.2 adds RecRate, in Mbit/s and big
endian, in the first four of these, and means "decrease" by CE in the IP header; ECT(1) there means
UE, as in data packets and acknowledgements. An acknowledgement is a reliable connection's; data
packets request it by BTH's AckReq, if a scheme measures round trips. A congestion notification
message (CNM) is what a congestion point makes: IPv4 / UDP 0x22E7 / feedback as in IEEE 802.1Qau's
CNM PDU / queue / BTH of the packet that was sampled. PFC is IEEE 802.1Qbb's frame (802.3 Annex
31D). Frames are without FCS, as software sees them.

Bytes of a data packet:  0 Ethernet 14 | 14 IPv4 20 | 34 UDP 8 | 42 BTH 12 | 54 payload | ICRC 4.

Where the lowest bit of BTH's FECN/BECN byte is set, room for in-band telemetry stands before the
payload (hosts/telemetry.py has its format). Switches write there, so the ICRC takes it as ones, as
it does that byte. An acknowledgement may have the telemetry of a packet behind its AETH.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pcn.base import ipv4
from pcn.base.frames import MAX_FRAME as MAX_FRAME
from pcn.topologies.ecn import COLOURS, GREEN

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_FLOW_CONTROL = 0x8808
PROTOCOL_UDP = 17
ROCE_PORT = 4791
CNM_PORT = 0x22E7
OPCODE_UC_SEND_ONLY = 0x24
OPCODE_RC_SEND_ONLY = 0x04
OPCODE_ACKNOWLEDGE = 0x11
OPCODE_CNP = 0x81
PFC_OPCODE = 0x0101
PFC_DESTINATION = bytes.fromhex("0180c2000001")
PFC_LENGTH = 60
QUANTUM_BITS = 512
REC_RATE_UNIT_BPS = 1e6
CLASSES = 8
FLOWS = 1 << 24
"""Numbers of flows: a QP has 24 bits."""

ECN_NOT_ECT, ECN_ECT1, ECN_ECT0, ECN_CE = 0, 1, 2, 3
DSCP_DATA = 26
DSCP_CNP = 56
MAX_FEEDBACK = 63

PAYLOAD_OFFSET = 54
ICRC_LENGTH = 4
DATA_OVERHEAD = PAYLOAD_OFFSET + ICRC_LENGTH
CNP_RESERVED = 16

TELEMETRY_BYTES = 44
CNP_BYTES = PAYLOAD_OFFSET + CNP_RESERVED + ICRC_LENGTH
ACK_BYTES = PAYLOAD_OFFSET + 4 + ICRC_LENGTH

_IP_OFFSET, _BTH_OFFSET, _PSN_OFFSET = 14, 42, 50
_ETHERNET = struct.Struct("!6s6sH")
_UP_TO_UDP = struct.Struct("!6s6sH BBHHHBBH4s4s HHHH")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_BTH = struct.Struct("!BBHII")
_CNM = struct.Struct("!HI")
_U32_BE = struct.Struct("!I")
_U32_LE = struct.Struct("<I")
_PFC_HEAD = struct.Struct("!HH8H")
_DONT_FRAGMENT = 0x4000
_TTL = 64
_PKEY = 0xFFFF
_BECN, _TELEMETRY, _CREDIT = 0x40 << 24, 0x01 << 24, 0x02 << 24
CREDIT_BYTES = 4
"""Of a demand, before the payload of data (csrc/wire.h)."""
_ACK_REQUEST = 0x80 << 24
_AETH_ACK, _AETH_NAK = 0x1F, 0x60  # the syndromes: ACK without credits; PSN sequence error
_SOLICITED = 0x80
_U24 = 0xFFFFFF

Buffer = bytes | bytearray | memoryview


class Ends(NamedTuple):
    """From which host to which: MACs of six bytes and IPs of four."""

    src_mac: bytes
    dst_mac: bytes
    src_ip: bytes
    dst_ip: bytes


class WireError(ValueError):
    """A frame that isn't what it claims to be, or a field that doesn't fit."""


def parse_mac(text: str) -> bytes:
    """Returns six bytes from `aa:bb:cc:dd:ee:ff`. Raises WireError."""
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise WireError(f"{text!r} is not a MAC address: write it like 00:00:00:00:00:01")
    return bytes.fromhex(text.replace(":", ""))


def parse_ip(text: str) -> bytes:
    """Returns four bytes from `10.0.0.1`. Raises WireError."""
    try:
        return ipv4.octets(text)
    except ValueError as error:
        raise WireError(f"{text!r} is not an IPv4 address: write it like 10.0.0.1") from error


def format_mac(mac: bytes) -> str:
    return mac.hex(":")


def format_ip(ip: bytes) -> str:
    return ".".join(str(byte) for byte in ip)


@dataclass(frozen=True)
class DataPacket:
    """A packet of a flow. `flow` and `psn` have 24 bits; MACs and IPs are bytes; `last` is BTH's
    solicited event bit, which the last packet of a flow of known size carries; `asks` its AckReq.
    `reliable`: SEND Only of a reliable connection. `telemetry`: its 44 bytes, if it has room for
    that."""

    src_mac: bytes
    dst_mac: bytes
    src_ip: bytes
    dst_ip: bytes
    flow: int
    psn: int
    payload: bytes
    ecn: int = ECN_ECT0
    dscp: int = DSCP_DATA
    last: bool = False
    asks: bool = False
    reliable: bool = False
    telemetry: bytes | None = None


@dataclass(frozen=True)
class AckPacket:
    """The acknowledgement of packet `psn` of `flow` (24 bits each), to its source. `ecn`: the worst
    mark of what it acknowledges, in the IP header. `in_order`: AETH's MSN, how many packets a
    reliable connection has received in order, modulo 2^24. `nak`: instead, that the packet is
    missing. `telemetry`: a packet's, as it arrived."""

    src_mac: bytes
    dst_mac: bytes
    src_ip: bytes
    dst_ip: bytes
    flow: int
    psn: int
    ecn: int = ECN_ECT0
    dscp: int = DSCP_CNP
    in_order: int = 0
    nak: bool = False
    telemetry: bytes | None = None


@dataclass(frozen=True)
class CnpPacket:
    """A CNP for `flow` (24 bits). `ecn` is the flow's mark, in the IP header: CE means decrease.
    `rec_rate_mbps` has 32 bits and is at least 1."""

    src_mac: bytes
    dst_mac: bytes
    src_ip: bytes
    dst_ip: bytes
    flow: int
    ecn: int
    rec_rate_mbps: int
    dscp: int = DSCP_CNP


@dataclass(frozen=True)
class CnmPacket:
    """A switch's message to the source of packet `psn` of `flow` (24 bits each), from the address
    where that was sent. `feedback` is 802.1Qau's quantised F_b (6 bits), `queue_bytes` (32 bits)
    the queue that the packet found and joined."""

    src_mac: bytes
    dst_mac: bytes
    src_ip: bytes
    dst_ip: bytes
    flow: int
    psn: int
    feedback: int
    queue_bytes: int
    dscp: int = DSCP_CNP


@dataclass(frozen=True)
class PfcFrame:
    """Pause quanta (16 bits, of 512 bit times) by class, for the classes that the frame enables. 0
    quanta is RESUME."""

    src_mac: bytes
    quanta: Mapping[int, int] = field(default_factory=dict)


def data_dscp(traffic_class: int, colour: str = GREEN) -> int:
    """Returns the DSCP of data of a class: AF31, `DSCP_DATA`, in class 3. Switches take the class
    from its upper three bits, and the colour from the next two."""
    return traffic_class << 3 | COLOURS.index(colour) + 1 << 1


def source_port(flow: int) -> int:
    """Returns the UDP source port of a flow: in the dynamic range, as Annex A17 advises, so that
    ECMP can distinguish flows."""
    return 0xC000 | (flow & 0x3FFF)


def ip_checksum(header: Buffer) -> int:
    """Returns the RFC 1071 checksum of an IPv4 header whose checksum field is zero."""
    return _checksum(sum(struct.unpack(f"!{len(header) // 2}H", header)))


def _checksum(total: int) -> int:
    """Returns the checksum of a header whose 16-bit words add up to `total`."""
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def icrc(frame: Buffer) -> int:
    """Returns the invariant CRC of a RoCEv2 frame from Ethernet to the ICRC, which is not read
    (Annex A17.3.3).

    Eight bytes of ones stand for the local route header; what switches may change (TOS, TTL, both
    checksums, BTH's FECN/BECN byte, telemetry in data) counts as ones.
    """
    varies = TELEMETRY_BYTES if _has_telemetry(frame) else 0
    masked = bytearray(b"\xff" * 8)
    masked += frame[_IP_OFFSET:PAYLOAD_OFFSET]
    masked[8 + 1] = 0xFF
    masked[8 + 8] = 0xFF
    masked[8 + 10 : 8 + 12] = b"\xff\xff"
    masked[8 + 26 : 8 + 28] = b"\xff\xff"
    masked[8 + 32] = 0xFF
    masked += b"\xff" * varies
    return zlib.crc32(frame[PAYLOAD_OFFSET + varies : -ICRC_LENGTH], zlib.crc32(masked))


def _has_telemetry(frame: Buffer) -> bool:
    """Returns whether a RoCEv2 frame is data with room for telemetry. One that is too short for it
    has none."""
    return (
        frame[_BTH_OFFSET] in (OPCODE_UC_SEND_ONLY, OPCODE_RC_SEND_ONLY)
        and bool(frame[_PSN_OFFSET - 4] & _TELEMETRY >> 24)
        and len(frame) >= DATA_OVERHEAD + TELEMETRY_BYTES
    )


def _check(name: str, value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise WireError(f"{name} is {value}: it must fit into {bits} bits")


def _ends(packet: DataPacket | AckPacket | CnpPacket | CnmPacket) -> Ends:
    return Ends(packet.src_mac, packet.dst_mac, packet.src_ip, packet.dst_ip)


def _up_to_udp(ends: Ends, flow: int, port: int, dscp: int, ecn: int, body_bytes: int) -> bytes:
    """Returns the headers up to UDP, before `body_bytes` bytes."""
    _check("flow", flow, 24)
    _check("dscp", dscp, 6)
    _check("ecn", ecn, 2)
    udp_length = _UDP.size + body_bytes
    length = _IPV4.size + udp_length
    if _IP_OFFSET + length > MAX_FRAME:
        raise WireError(
            f"a frame of {_IP_OFFSET + length} bytes is longer than {MAX_FRAME}: use a smaller "
            "payload"
        )
    tos = dscp << 2 | ecn
    src, dst = int.from_bytes(ends.src_ip, "big"), int.from_bytes(ends.dst_ip, "big")
    checksum = _checksum(
        (0x4500 | tos) + length + _DONT_FRAGMENT + (_TTL << 8 | PROTOCOL_UDP)
        + (src >> 16) + (src & 0xFFFF) + (dst >> 16) + (dst & 0xFFFF)
    )  # fmt: skip
    return _UP_TO_UDP.pack(
        ends.dst_mac, ends.src_mac, ETHERTYPE_IPV4,
        0x45, tos, length, 0, _DONT_FRAGMENT, _TTL, PROTOCOL_UDP, checksum, ends.src_ip,
        ends.dst_ip,
        source_port(flow), port, udp_length, 0,
    )  # fmt: skip


def _roce_headers(
    ends: Ends,
    flow: int,
    opcode: int,
    dscp: int,
    ecn: int,
    body_bytes: int,
    flags: int = 0,
    becn: int = 0,
    psn: int = 0,
) -> bytes:
    """Returns the headers up to BTH, before a body of `body_bytes` bytes, a multiple of four, and
    the ICRC."""
    start = _up_to_udp(ends, flow, ROCE_PORT, dscp, ecn, _BTH.size + body_bytes + ICRC_LENGTH)
    return start + _BTH.pack(opcode, flags, _PKEY, becn | flow, psn)


def _with_icrc(frame: bytes) -> bytes:
    return frame + _U32_LE.pack(icrc(frame + bytes(ICRC_LENGTH)))


def data_bytes(payload_bytes: int, telemetry: bool = False, credit: bool = False) -> int:
    """Returns the length of a data packet's frame: its payload and 58 bytes, padding to four bytes,
    44 for telemetry, and 4 for a demand (`credit`)."""
    return (
        DATA_OVERHEAD
        + TELEMETRY_BYTES * telemetry
        + CREDIT_BYTES * credit
        + payload_bytes
        + -payload_bytes % 4
    )


def ack_bytes(telemetry: bool = False) -> int:
    """Returns the length of an acknowledgement's frame, in bytes."""
    return ACK_BYTES + TELEMETRY_BYTES * telemetry


def bytes_before_payload(opcode: int, bits: int) -> int:
    """Returns the bytes that BTH is followed by in data of this project's schemes before the
    payload, by the opcode and the byte that has FECN and BECN: telemetry, a demand."""
    if opcode not in (OPCODE_UC_SEND_ONLY, OPCODE_RC_SEND_ONLY):
        return 0
    return TELEMETRY_BYTES * bool(bits & _TELEMETRY >> 24) + CREDIT_BYTES * bool(
        bits & _CREDIT >> 24
    )


def data_headers(
    ends: Ends,
    flow: int,
    payload_bytes: int,
    last: bool = False,
    ecn: int = ECN_ECT0,
    dscp: int = DSCP_DATA,
    psn: int = 0,
    reliable: bool = False,
    telemetry: bytes = b"",
    credit: bool = False,
) -> bytes:
    """Returns what stands before the payload of a data packet: 54 bytes, telemetry, 44 or none, and
    with `credit` a demand of 0. Raises WireError."""
    if len(telemetry) not in (0, TELEMETRY_BYTES):
        raise WireError(f"telemetry of {len(telemetry)} bytes: it has {TELEMETRY_BYTES}")
    if payload_bytes < 1:
        raise WireError("a data packet needs at least one byte of payload")
    padding = -payload_bytes % 4
    flags = (_SOLICITED if last else 0) | padding << 4
    opcode = OPCODE_RC_SEND_ONLY if reliable else OPCODE_UC_SEND_ONLY
    if telemetry and credit:
        raise WireError("a data packet has telemetry or a demand, not both")
    more = telemetry or bytes(CREDIT_BYTES * credit)
    body = len(more) + payload_bytes + padding
    room = _TELEMETRY if telemetry else _CREDIT if credit else 0
    return _roce_headers(ends, flow, opcode, dscp, ecn, body, flags, room, psn) + more


def cnp_start(
    ends: Ends,
    flow: int,
    ecn: int = ECN_ECT0,
    dscp: int = DSCP_CNP,
    rec_rate_mbps: int = 0,
    credit: bool = False,
) -> bytes:
    """Returns what of a CNP stands before reserved bytes and ICRC; with `credit` it has a grant
    where others have RecRate. Raises WireError."""
    _check("rec_rate_mbps", rec_rate_mbps, 32)
    headers = _roce_headers(
        ends, flow, OPCODE_CNP, dscp, ecn, CNP_RESERVED, becn=_BECN | _CREDIT * credit
    )
    return headers + _U32_BE.pack(rec_rate_mbps)


def ack_start(
    ends: Ends,
    flow: int,
    ecn: int = ECN_ECT0,
    dscp: int = DSCP_CNP,
    psn: int = 0,
    in_order: int = 0,
    nak: bool = False,
    telemetry: bytes = b"",
) -> bytes:
    """Returns what of an acknowledgement stands before the ICRC. Raises WireError."""
    _check("psn", psn, 24)
    _check("in_order", in_order, 24)
    if len(telemetry) not in (0, TELEMETRY_BYTES):
        raise WireError(f"telemetry of {len(telemetry)} bytes: it has {TELEMETRY_BYTES}")
    body = _U32_BE.pack((_AETH_NAK if nak else _AETH_ACK) << 24 | in_order) + telemetry
    return _roce_headers(ends, flow, OPCODE_ACKNOWLEDGE, dscp, ecn, len(body), psn=psn) + body


def encode_data(packet: DataPacket) -> bytes:
    """Returns the frame of a data packet: `data_bytes` long. Raises WireError."""
    _check("psn", packet.psn, 24)
    size = len(packet.payload)
    psn = packet.psn | (_ACK_REQUEST if packet.asks else 0)
    flags = packet.reliable, packet.telemetry or b""
    headers = data_headers(
        _ends(packet), packet.flow, size, packet.last, packet.ecn, packet.dscp, psn, *flags
    )
    return _with_icrc(headers + packet.payload + bytes(-size % 4))


def encode_ack(packet: AckPacket) -> bytes:
    """Returns the frame of an acknowledgement: `ack_bytes` long. Raises WireError."""
    numbers = packet.psn, packet.in_order, packet.nak, packet.telemetry or b""
    return _with_icrc(ack_start(_ends(packet), packet.flow, packet.ecn, packet.dscp, *numbers))


def rec_rate_mbps(rec_rate_bps: float) -> int:
    """Returns RecRate as a CNP carries it: 0, for none, is 0; any other is rounded, to 1 Mbit/s at
    least. Raises WireError."""
    if not 0 <= rec_rate_bps < 2**32 * REC_RATE_UNIT_BPS:
        raise WireError(f"rec_rate_bps is {rec_rate_bps:g}: bit/s, from 0 (none) to {2**32 - 1}e6")
    return max(1, min(2**32 - 1, round(rec_rate_bps / REC_RATE_UNIT_BPS))) if rec_rate_bps else 0


def encode_cnp(packet: CnpPacket) -> bytes:
    """Returns the frame of a CNP: 74 bytes. Raises WireError."""
    start = cnp_start(_ends(packet), packet.flow, packet.ecn, packet.dscp, packet.rec_rate_mbps)
    return _with_icrc(start + bytes(CNP_RESERVED - 4))


def encode_cnm(packet: CnmPacket) -> bytes:
    """Returns the frame of a congestion notification message: 60 bytes. Raises WireError."""
    _check("flow", packet.flow, 24)
    _check("psn", packet.psn, 24)
    _check("feedback", packet.feedback, 6)
    _check("queue_bytes", packet.queue_bytes, 32)
    body = _CNM.pack(packet.feedback, packet.queue_bytes)
    body += _BTH.pack(OPCODE_UC_SEND_ONLY, 0, _PKEY, packet.flow, packet.psn)
    return (
        _up_to_udp(_ends(packet), packet.flow, CNM_PORT, packet.dscp, ECN_NOT_ECT, len(body)) + body
    )


def encode_pfc(frame: PfcFrame) -> bytes:
    """Returns a PFC frame, padded to 60 bytes. Raises WireError."""
    enabled = 0
    times = [0] * CLASSES
    for priority, quanta in frame.quanta.items():
        _check("class", priority, 3)
        _check("quanta", quanta, 16)
        enabled |= 1 << priority
        times[priority] = quanta
    head = _ETHERNET.pack(PFC_DESTINATION, frame.src_mac, ETHERTYPE_FLOW_CONTROL)
    return (head + _PFC_HEAD.pack(PFC_OPCODE, enabled, *times)).ljust(PFC_LENGTH, b"\0")


def decode(frame: Buffer) -> DataPacket | AckPacket | CnpPacket | CnmPacket | PfcFrame:
    """Decodes a frame and checks lengths, checksum and ICRC. Raises WireError, which names the
    fault."""
    frame = bytes(frame)
    if len(frame) < _ETHERNET.size:
        raise WireError(f"{len(frame)} bytes are too short for an Ethernet header")
    dst_mac, src_mac, ethertype = _ETHERNET.unpack_from(frame)
    if ethertype == ETHERTYPE_FLOW_CONTROL:
        return PfcFrame(src_mac, decode_pfc_quanta(frame))
    if ethertype != ETHERTYPE_IPV4:
        raise WireError(f"Ethernet type {ethertype:#06x} is neither IPv4 nor flow control")
    return _decode_udp(frame, dst_mac, src_mac)


def data_source(head: Buffer) -> tuple[bytes, bytes, int]:
    """Returns the source MAC and IP, and the flow, of a data packet that begins so and has been
    checked."""
    (flow,) = _U32_BE.unpack_from(head, _PSN_OFFSET - 4)
    return bytes(head[6:12]), bytes(head[_IP_OFFSET + 12 : _IP_OFFSET + 16]), flow & _U24


def decode_pfc_quanta(frame: Buffer) -> dict[int, int]:
    """Returns the quanta by enabled class of a frame of type 0x8808. Raises WireError.

    802.3 Annex 31D has PFC go to its group address alone, which no bridge forwards; 31B lets PAUSE,
    which isn't known here, go to a station's own address, too.
    """
    if len(frame) < _ETHERNET.size + _PFC_HEAD.size:
        raise WireError(f"PFC frame of {len(frame)} bytes is too short")
    opcode, enabled, *times = _PFC_HEAD.unpack_from(frame, _ETHERNET.size)
    if opcode != PFC_OPCODE:
        raise WireError(f"MAC control opcode {opcode:#06x} is not PFC's {PFC_OPCODE:#06x}")
    if frame[:6] != PFC_DESTINATION:
        raise WireError(
            f"PFC frame to {format_mac(bytes(frame[:6]))}, not to {format_mac(PFC_DESTINATION)}"
        )
    return {priority: times[priority] for priority in range(CLASSES) if enabled >> priority & 1}


def _decode_udp(
    frame: bytes, dst_mac: bytes, src_mac: bytes
) -> DataPacket | AckPacket | CnpPacket | CnmPacket:
    if len(frame) < DATA_OVERHEAD:
        raise WireError(f"{len(frame)} bytes are too short for a RoCEv2 packet")
    version_ihl, tos, length, _, fragment, _, protocol, _, src_ip, dst_ip = _IPV4.unpack_from(
        frame, _IP_OFFSET
    )
    if version_ihl != 0x45 or protocol != PROTOCOL_UDP or fragment & 0x3FFF:
        raise WireError("not a whole UDP packet in IPv4 without options")
    if not DATA_OVERHEAD <= _IP_OFFSET + length <= len(frame):
        raise WireError(f"IPv4 total length {length} doesn't fit a frame of {len(frame)} bytes")
    if ip_checksum(frame[_IP_OFFSET : _IP_OFFSET + _IPV4.size]):
        raise WireError("wrong IPv4 checksum")
    frame = frame[: _IP_OFFSET + length]
    _, dst_port, udp_length, _ = _UDP.unpack_from(frame, _IP_OFFSET + _IPV4.size)
    if dst_port not in (ROCE_PORT, CNM_PORT) or udp_length != length - _IPV4.size:
        raise WireError(
            f"not RoCEv2: UDP port {dst_port}, length {udp_length} in IPv4 length {length}"
        )
    if dst_port == CNM_PORT:
        cnm_offset = _IP_OFFSET + _IPV4.size + _UDP.size
        if len(frame) != cnm_offset + _CNM.size + _BTH.size:
            raise WireError(f"congestion notification message of {len(frame)} bytes")
        feedback, queue_bytes = _CNM.unpack_from(frame, cnm_offset)
        *_, flow, psn = _BTH.unpack_from(frame, cnm_offset + _CNM.size)
        if feedback > MAX_FEEDBACK:
            raise WireError(
                f"congestion notification message of an unknown version: {feedback:#06x}"
            )
        return CnmPacket(
            src_mac,
            dst_mac,
            src_ip,
            dst_ip,
            flow & _U24,
            psn & _U24,
            feedback,
            queue_bytes,
            tos >> 2,
        )
    opcode, flags, _, flow, psn = _BTH.unpack_from(frame, _BTH_OFFSET)
    if flags & 0xF:
        raise WireError(f"BTH version {flags & 0xF}: only 0 is known")
    if _U32_LE.unpack_from(frame, len(frame) - ICRC_LENGTH)[0] != icrc(frame):
        raise WireError("wrong ICRC")
    body = frame[PAYLOAD_OFFSET:-ICRC_LENGTH]
    ecn, dscp, parties = tos & 3, tos >> 2, (src_mac, dst_mac, src_ip, dst_ip, flow & _U24)
    if opcode == OPCODE_CNP:
        if len(body) != CNP_RESERVED:
            raise WireError(f"CNP with {len(body)} reserved bytes instead of {CNP_RESERVED}")
        rate: int = _U32_BE.unpack_from(body)[0]
        return CnpPacket(*parties, ecn, rate, dscp)
    if opcode == OPCODE_ACKNOWLEDGE:
        aeth, brought = body[: _U32_BE.size], body[_U32_BE.size :]
        if len(aeth) != _U32_BE.size or aeth[0] not in (_AETH_ACK, _AETH_NAK):
            raise WireError(f"acknowledgement with an AETH of {aeth.hex()}")
        if len(brought) not in (0, TELEMETRY_BYTES):
            raise WireError(
                f"acknowledgement with {len(brought)} bytes behind its AETH: telemetry has 44"
            )
        in_order, nak = int.from_bytes(aeth[1:], "big"), aeth[0] == _AETH_NAK
        return AckPacket(*parties, psn & _U24, ecn, dscp, in_order, nak, brought or None)
    if opcode not in (OPCODE_UC_SEND_ONLY, OPCODE_RC_SEND_ONLY):
        raise WireError(
            f"BTH opcode {opcode:#04x} is neither SEND Only of UC or RC, Acknowledge nor CNP"
        )
    room = flow & _TELEMETRY
    if room and not _has_telemetry(frame):
        raise WireError("data packet that is too short for its telemetry")
    telemetry = body[:TELEMETRY_BYTES] if room else None
    body = body[TELEMETRY_BYTES if room else 0 :]
    padding = flags >> 4 & 3
    if len(body) <= padding:
        raise WireError("data packet without payload")
    payload = body[: len(body) - padding]
    flags = (bool(flags & _SOLICITED), bool(psn & _ACK_REQUEST), opcode == OPCODE_RC_SEND_ONLY)
    return DataPacket(*parties, psn & _U24, payload, ecn, dscp, *flags, telemetry)
