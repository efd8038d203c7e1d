"""Frames against scapy's RoCE layer, and what the decoder refuses."""

import contextlib
import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from pcn.hosts import wire
from pcn.hosts.wire import AckPacket, CnmPacket, CnpPacket, DataPacket, PfcFrame, WireError

MACS = (wire.parse_mac("00:00:00:00:00:01"), wire.parse_mac("00:00:00:00:00:02"))
IPS = (wire.parse_ip("10.0.0.1"), wire.parse_ip("10.0.1.2"))

u24 = st.integers(0, (1 << 24) - 1)
macs = st.binary(min_size=6, max_size=6)
ips = st.binary(min_size=4, max_size=4)
data_packets = st.builds(
    DataPacket, macs, macs, ips, ips, u24, u24, st.binary(min_size=1, max_size=1500),
    st.integers(0, 3), reliable=st.booleans(),
    telemetry=st.none() | st.binary(min_size=44, max_size=44),
)  # fmt: skip


def data(payload: bytes = bytes(1000), **fields: int) -> DataPacket:
    return DataPacket(
        *MACS, *IPS, flow=fields.pop("flow", 7), psn=fields.pop("psn", 9), payload=payload, **fields
    )


def scapy_data(packet: DataPacket) -> bytes:
    padding = -len(packet.payload) % 4
    return bytes(
        Ether(dst=packet.dst_mac.hex(":"), src=packet.src_mac.hex(":"))
        / IP(
            src=wire.format_ip(packet.src_ip), dst=wire.format_ip(packet.dst_ip),
            tos=packet.dscp << 2 | packet.ecn, id=0, flags="DF", ttl=64,
        )
        / UDP(sport=wire.source_port(packet.flow), dport=4791, chksum=0)
        / BTH(
            opcode="RC_SEND_ONLY" if packet.reliable else "UC_SEND_ONLY",
            dqpn=packet.flow, psn=packet.psn, padcount=padding, solicited=int(packet.last),
        )
        / Raw(packet.payload + bytes(padding))
    )  # fmt: skip


plain_packets = data_packets.map(lambda packet: replace(packet, telemetry=None))


@given(plain_packets)
def test_data_is_what_scapy_builds_with_its_icrc(packet):
    assert wire.encode_data(packet) == scapy_data(packet)


@given(data_packets)
def test_data_survives_the_wire(packet):
    assert wire.decode(wire.encode_data(packet)) == packet


def test_1000_bytes_of_payload_make_1058():
    assert len(wire.encode_data(data())) == 1058


@given(u24, st.integers(0, 3), st.integers(1, (1 << 32) - 1))
def test_cnp_is_what_scapy_builds(flow, ecn, rate):
    frame = wire.encode_cnp(CnpPacket(*MACS, *IPS, flow=flow, ecn=ecn, rec_rate_mbps=rate))
    assert len(frame) == 74
    bth = cnp(flow)
    bth.payload.reserved1 = rate << 32
    expected = (
        Ether(dst=MACS[1].hex(":"), src=MACS[0].hex(":"))
        / IP(src="10.0.0.1", dst="10.0.1.2", tos=56 << 2 | ecn, id=0, flags="DF", ttl=64)
        / UDP(sport=wire.source_port(flow), dport=4791, chksum=0)
        / bth
    )
    assert frame == bytes(expected)
    assert wire.decode(frame) == CnpPacket(*MACS, *IPS, flow=flow, ecn=ecn, rec_rate_mbps=rate)


ack_packets = st.builds(
    AckPacket, macs, macs, ips, ips, u24, u24, st.integers(0, 3), in_order=u24, nak=st.booleans(),
    telemetry=st.none() | st.binary(min_size=44, max_size=44),
)  # fmt: skip


@given(ack_packets)
def test_an_acknowledgement_is_what_scapy_builds_with_its_icrc(packet):
    expected = (
        Ether(dst=packet.dst_mac.hex(":"), src=packet.src_mac.hex(":"))
        / IP(
            src=wire.format_ip(packet.src_ip), dst=wire.format_ip(packet.dst_ip),
            tos=wire.DSCP_CNP << 2 | packet.ecn, id=0, flags="DF", ttl=64,
        )
        / UDP(sport=wire.source_port(packet.flow), dport=4791, chksum=0)
        / BTH(opcode="RC_ACKNOWLEDGE", dqpn=packet.flow, psn=packet.psn)
        / AETH(syndrome=0x60 if packet.nak else 0x1F, msn=packet.in_order)
        / Raw(packet.telemetry or b"")
    )  # fmt: skip
    assert wire.encode_ack(packet) == bytes(expected)
    assert wire.decode(wire.encode_ack(packet)) == packet


def test_packet_with_ack_request_differs_in_a_bit_and_its_icrc():
    plain, asking = (bytearray(wire.encode_data(data(asks=asks))) for asks in (0, 1))
    packet = wire.decode(asking)
    assert isinstance(packet, DataPacket)
    assert packet.asks
    asking[50] &= 0x7F
    assert plain[:-4] == asking[:-4]


cnm_packets = st.builds(
    CnmPacket, macs, macs, ips, ips, u24, u24, st.integers(0, wire.MAX_FEEDBACK),
    st.integers(0, (1 << 32) - 1),
)  # fmt: skip


@given(cnm_packets)
def test_a_message_is_what_scapy_builds(packet):
    body = packet.feedback.to_bytes(2, "big") + packet.queue_bytes.to_bytes(4, "big")
    # Its BTH, without the ICRC that scapy adds to it.
    bth = bytes(BTH(opcode="UC_SEND_ONLY", dqpn=packet.flow, psn=packet.psn))[:12]
    expected = (
        Ether(dst=packet.dst_mac.hex(":"), src=packet.src_mac.hex(":"))
        / IP(
            src=wire.format_ip(packet.src_ip), dst=wire.format_ip(packet.dst_ip),
            tos=wire.DSCP_CNP << 2, id=0, flags="DF", ttl=64,
        )
        / UDP(sport=wire.source_port(packet.flow), dport=0x22E7, chksum=0)
        / Raw(body + bth)
    )  # fmt: skip
    assert wire.encode_cnm(packet) == bytes(expected)
    assert len(bytes(expected)) == 60


@given(cnm_packets)
def test_a_message_survives_the_wire(packet):
    frame = wire.encode_cnm(packet)
    assert wire.decode(frame) == packet


@pytest.mark.parametrize("change", [lambda frame: frame[:-1], lambda frame: frame + b"\0"])
def test_a_message_has_one_length(change):
    frame = bytearray(change(wire.encode_cnm(CnmPacket(*MACS, *IPS, 1, 2, 3, 4))))
    frame[16:18] = (len(frame) - 14).to_bytes(2, "big")
    frame[38:40] = (len(frame) - 34).to_bytes(2, "big")
    frame[24:26] = bytes(2)
    frame[24:26] = wire.ip_checksum(frame[14:34]).to_bytes(2, "big")
    with pytest.raises(WireError, match="congestion notification message of"):
        wire.decode(frame)


def test_a_message_of_another_version_is_refused():
    frame = bytearray(wire.encode_cnm(CnmPacket(*MACS, *IPS, 1, 2, 3, 4)))
    frame[42] = 0x10
    with pytest.raises(WireError, match="unknown version"):
        wire.decode(frame)


def test_rec_rate_is_at_least_one_or_none():
    assert [wire.rec_rate_mbps(rate) for rate in (0.0, 1.0, 1.4e6, 1.6e6, 2.0**32 * 1e6 - 1)] == [
        0, 1, 1, 2, 2**32 - 1,
    ]  # fmt: skip
    for rate in (-1.0, math.nan, math.inf, 2.0**32 * 1e6):
        with pytest.raises(WireError, match="rec_rate_bps is"):
            wire.rec_rate_mbps(rate)
    packet = wire.decode(
        wire.encode_cnp(CnpPacket(*MACS, *IPS, flow=1, ecn=wire.ECN_CE, rec_rate_mbps=0))
    )
    assert isinstance(packet, CnpPacket)
    assert packet.rec_rate_mbps == 0


@given(st.dictionaries(st.integers(0, 7), st.integers(0, 0xFFFF)))
def test_pfc_survives_the_wire(quanta):
    frame = wire.encode_pfc(PfcFrame(MACS[0], quanta))
    assert len(frame) == 60
    assert wire.decode(frame) == PfcFrame(MACS[0], quanta)


def test_pfc_bytes():
    frame = wire.encode_pfc(PfcFrame(MACS[0], {3: 0x1234, 6: 0}))
    assert frame.hex() == (
        "0180c2000001"
        + "000000000001"
        + "8808"
        + "0101"
        + "0048"
        + "000000000000"
        + "1234"
        + "00000000" * 2
        + "00" * 26
    )


@given(data_packets, st.integers(0, 3), st.integers(1, 255))
def test_switches_may_change_ecn_ttl_and_checksum_only(packet, ecn, ttl):
    frame = bytearray(wire.encode_data(packet))
    frame[15] = frame[15] & ~3 | ecn
    frame[22] = ttl
    frame[24:26] = bytes(2)
    frame[24:26] = wire.ip_checksum(frame[14:34]).to_bytes(2, "big")
    assert wire.decode(frame) == DataPacket(**{**vars(packet), "ecn": ecn})


@given(data_packets, st.binary(min_size=44, max_size=44))
def test_switches_may_write_telemetry_where_there_is_room(packet, written):
    """Room makes a frame 44 bytes longer, and no other byte different but BTH's bit, lengths and
    checksums."""
    frame = bytearray(wire.encode_data(replace(packet, telemetry=bytes(44))))
    assert len(frame) == wire.data_bytes(len(packet.payload), telemetry=True)
    frame[54:98] = written
    assert wire.decode(frame) == replace(packet, telemetry=written)
    without = wire.encode_data(replace(packet, telemetry=None))
    assert (frame[98:-4], frame[46] & ~1) == (without[54:-4], without[46])


@given(st.integers(1, 43), st.booleans())
def test_data_too_short_for_its_telemetry_is_refused(payload_bytes, reliable):
    frame = bytearray(wire.encode_data(replace(data(bytes(payload_bytes)), reliable=reliable)))
    frame[46] |= 1  # FECN's and BECN's byte isn't in the ICRC
    with pytest.raises(WireError, match=r"too short for its telemetry|wrong ICRC|without payload"):
        wire.decode(frame)


@given(st.binary(min_size=1, max_size=43) | st.binary(min_size=45, max_size=60))
def test_telemetry_of_another_length_is_refused(written):
    with pytest.raises(WireError, match="telemetry of"):
        wire.encode_data(replace(data(), telemetry=written))
    with pytest.raises(WireError, match="telemetry of"):
        wire.encode_ack(AckPacket(*MACS, *IPS, 7, 9, telemetry=written))


@given(st.integers(0, 8 * 1058 - 1))
def test_no_flipped_bit_goes_unseen(bit):
    frame = bytearray(wire.encode_data(data()))
    frame[bit // 8] ^= 1 << bit % 8
    byte = bit // 8
    covered = byte >= 12 and byte not in (40, 41, 46)  # MACs, UDP checksum, BTH's FECN and BECN
    if covered:
        with pytest.raises(WireError):
            wire.decode(frame)


@given(st.integers(0, 1057))
def test_truncated_data_is_refused(length):
    with pytest.raises(WireError):
        wire.decode(wire.encode_data(data())[:length])


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_decoded_but_never_crashes(garbage):
    head = bytes(12)
    for frame in (garbage, head + b"\x08\x00" + garbage, head + b"\x88\x08" + garbage):
        with contextlib.suppress(WireError):
            wire.decode(frame)


def test_ethernet_padding_is_not_payload():
    frame = wire.encode_data(data(b"x"))
    assert wire.decode(frame + bytes(20)) == data(b"x")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: wire.encode_data(data(b"")), "at least one byte"),
        (lambda: wire.encode_data(data(bytes(9200))), "longer than 9216"),
        (lambda: wire.encode_data(data(psn=1 << 24)), "psn is 16777216"),
        (lambda: wire.encode_data(data(flow=-1)), "flow is -1"),
        (lambda: wire.encode_data(data(dscp=64)), "dscp is 64"),
        (lambda: wire.encode_cnp(CnpPacket(*MACS, *IPS, 1, True, 1 << 32)), "rec_rate_mbps"),
        (lambda: wire.encode_pfc(PfcFrame(MACS[0], {8: 1})), "class is 8"),
        (lambda: wire.encode_pfc(PfcFrame(MACS[0], {1: 65536})), "quanta is 65536"),
        (lambda: wire.parse_mac("1:2"), "not a MAC address"),
        (lambda: wire.parse_ip("10.0.0"), "not an IPv4 address"),
        (lambda: wire.decode(bytes(12) + b"\x86\xdd" + bytes(60)), "0x86dd"),
        (lambda: wire.decode(bytes(12) + b"\x88\x08\x00\x01" + bytes(44)), "opcode 0x0001"),
    ],
)
def test_what_does_not_fit_is_named(make, message):
    with pytest.raises(WireError, match=message):
        make()
