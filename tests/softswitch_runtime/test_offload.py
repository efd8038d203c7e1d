"""Checksums and segmentation that a kernel leaves to the switch, against packets that are made
field by field."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path as FilePath

import pytest
from hypothesis import assume, example, given, strategies as st
from links import Link
from runtime import Switch
from segments import ACK, CWR, FIN, PSH, Packet

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("both_ways")]

SOL_PACKET, PACKET_VNET_HDR, PACKET_QDISC_BYPASS = 263, 15, 20
TAG, OUTER_TAG = b"\x81\x00\x60\x05", b"\x88\xa8\x0f\xff"
MTU = 1500
# by UDP or not: what follows
HOP_BY_HOP = {False: b"\x06\0\x01\x04\0\0\0\0", True: b"\x11\0\x01\x04\0\0\0\0"}


class Path:
    """A sender that declares its offloads, a switch that is a wire, and a receiver."""

    def __init__(self, stack: ExitStack):
        self.a, self.b = (stack.enter_context(Link(MTU)) for _ in range(2))
        self.switch = stack.enter_context(Switch("wire", depth=4096))
        self.switch.port_add(1, self.a.near)
        self.switch.port_add(2, self.b.near)
        self.switch.forward(1, 2)
        self._sender = stack.enter_context(
            closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        )
        self._sender.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self._sender.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        self._sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._sender.bind((self.a.far, 0))

    def send(self, descriptor: bytes, frame: bytes):
        self._sender.send(descriptor + frame)

    def frames_sent(self) -> int:
        """As the interface counts them: before they are cut."""
        return int(FilePath(f"/sys/class/net/{self.a.near}/statistics/rx_packets").read_text())


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    with ExitStack() as stack:
        yield Path(stack)


@st.composite
def packets(draw: st.DrawFn) -> Packet:
    ipv6, udp = draw(st.booleans()), draw(st.booleans())
    options = st.sampled_from([b"", b"\x01" * 4, b"\x01" * 12])
    return Packet(
        ipv6=ipv6,
        udp=udp,
        tags=draw(st.sampled_from([(), (TAG,), (OUTER_TAG, TAG)])),
        network_options=draw(st.sampled_from([b"", HOP_BY_HOP[udp]]) if ipv6 else options),
        transport_options=b"" if udp else draw(options),
        flags=ACK | draw(st.sampled_from([0, PSH, PSH | FIN, CWR, CWR | PSH])),
        sequence=draw(st.integers(0, 2**32 - 1)),
        identification=draw(st.integers(0, 2**16 - 1)),
        payload=draw(st.binary(min_size=1, max_size=300)) * draw(st.integers(1, 200)),
    )


LARGE = Packet(False, False, (), b"", b"", ACK, 2**32 - 1, 2**16 - 1, bytes(range(251)) * 258)


@given(packets(), st.integers(1, 1400))
@example(LARGE, 1448)
@example(LARGE, 1)
def test_switch_cuts_frames_as_the_kernel_would(path: Path, packet, segment):
    if packet.udp:
        # the kernel takes 64 datagrams at most
        segment = max(segment, len(packet.payload) // 60 + 1)
    # The kernel refuses a frame with TCP options whose payload is one segment: ENOBUFS
    # (tcp_gso_segment).
    assume(len(packet.payload) > 1)
    segment = min(segment, len(packet.payload) - 1)
    starts = range(0, len(packet.payload), segment)
    expected = [packet.frame(start, start + segment, number) for number, start in enumerate(starts)]
    before = path.switch.stats(2).tx_bytes
    uncut = path.frames_sent()
    path.send(packet.descriptor(segment), packet.frame(uncut=True))
    got = path.b.receive(len(expected))
    assert got == [without_outer_tag(frame) for frame in expected]
    assert path.frames_sent() == uncut + 1, "the kernel has cut it"
    assert path.switch.stats(2).tx_bytes - before == sum(map(len, expected)), "with tags"


@given(packets().map(lambda p: Packet(**{**p.__dict__, "payload": p.payload[:1300]})))
@example(Packet(False, True, (), b"", b"", 0, 0, 0, b"\x9a\xbb"))
def test_switch_completes_checksums(path: Path, packet):
    path.send(packet.descriptor(0), packet.frame(uncut=True))
    assert path.b.receive(1) == [without_outer_tag(packet.frame())]


def without_outer_tag(frame: bytes) -> bytes:
    """As the test's own socket gets it: the kernel takes the outer tag off."""
    return frame[:12] + frame[16:] if frame[12:14] in (TAG[:2], OUTER_TAG[:2]) else frame


def test_udp_checksum_of_zero_is_sent_as_ffff(path: Path):
    """RFC 768: 0 means no checksum."""
    packet = next(p for n in range(2**16) if (p := udp_of(n)).frame()[40:42] == b"\xff\xff")
    path.send(packet.descriptor(0), packet.frame(uncut=True))
    assert path.b.receive(1) == [packet.frame()]


def udp_of(number: int) -> Packet:
    return Packet(False, True, (), b"", b"", 0, 0, 0, number.to_bytes(2, "big"))
