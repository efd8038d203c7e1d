"""Frames that contradict themselves are dropped and counted by reason; what comes after them is
unharmed."""

import struct

from frames import cnp, data, forwarded, host_mac, patched, pfc
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from testbed import PcnTest, Reason, index

ETHERNET, IPV4, UDP_BYTES, BTH = 14, 20, 8, 12
# offsets in a frame
IP_LENGTH, FRAGMENT, CHECKSUM, UDP_PORT, UDP_LENGTH, BTH_VERSION = (
    16,
    20,
    24,
    36,
    38,
    43,
)
SHORTEST_FRAME = 60  # on a line


def u16(value: int) -> bytes:
    return struct.pack("!H", value)


class MalformedTest(PcnTest):
    """Sends frames into port 1 and expects each to be counted under one reason, and no trace of
    them elsewhere."""

    def check(self, reason: Reason, frames: dict[str, bytes]) -> None:
        cell = index(1, reason)
        for count, (fault, frame) in enumerate(frames.items(), start=1):
            self.send(1, frame)
            self.wait_for_value(
                lambda: self.counters("dropped"), {cell: count}, f"dropped by reason, after {fault}"
            )
        least = SHORTEST_FRAME if self.twin else 0  # a MAC pads what is shorter
        size = sum(max(least, len(frame)) for frame in frames.values())
        self.assertEqual(self.counter("dropped", cell).bytes, size)
        self.assertEqual(self.inside(), {})
        if not self.twin:
            self.assertEqual(self.counters("pause_received") | self.counters("resume_received"), {})
        self.expect_nothing()
        good = data(1, 2)
        self.send(1, good)
        self.expect(2, forwarded(good, 2))


class Ipv4(MalformedTest):
    not_on_chip = "Tofino's ingress has no frame length"

    def runTest(self) -> None:
        good = data(1, 2)
        options = bytes(
            Ether(dst=b"\x02" * 6, src=host_mac(1))
            / IP(src="10.0.0.1", dst="10.0.0.2", options=[IPOption_NOP()] * 4)
            / UDP()
        )
        frames = {f"a frame of {n} bytes": good[:n] for n in (15, 20, 33)}
        frames |= {
            "a total length beyond the frame": patched(
                good, IP_LENGTH, u16(len(good) - ETHERNET + 1)
            ),
            "the greatest total length": patched(good, IP_LENGTH, u16(0xFFFF)),
            "a total length below the header's": patched(good, IP_LENGTH, u16(19)),
            "a frame that lost its end": good[:-1],
            "version 6": patched(good, 14, b"\x65"),
            "a header of four words": patched(good, 14, b"\x44"),
            "options": options,
        }
        self.check(Reason.IPV4_MALFORMED, frames)


class Ipv4Checksum(MalformedTest):
    def runTest(self) -> None:
        good = data(1, 2)
        right = struct.unpack_from("!H", good, CHECKSUM)[0]
        frames = {
            f"checksum {wrong:#06x}": patched(good, CHECKSUM, u16(wrong), fix_checksum=False)
            for wrong in (right ^ 1, right ^ 0x8000, 0, 0xFFFF)
        }
        self.check(Reason.IPV4_CHECKSUM, frames)


class Roce(MalformedTest):
    def runTest(self) -> None:
        good = data(1, 2, payload=4)

        def shortened(ip_length: int) -> bytes:
            return patched(good[: ETHERNET + ip_length], IP_LENGTH, u16(ip_length))

        frames = {f"an IP length of {n}": shortened(n) for n in (20, 27, 28, 39)}
        frames |= {
            "UDP beyond the IP length, in the padding": patched(
                good, IP_LENGTH, u16(IPV4 + UDP_BYTES - 1)
            ),
            "BTH beyond the IP length, in the padding": patched(
                good, IP_LENGTH, u16(IPV4 + UDP_BYTES)
            ),
            "UDP to another port, in the padding": patched(
                patched(good, UDP_PORT, u16(53)), IP_LENGTH, u16(IPV4 + UDP_BYTES - 1)
            ),
            "a UDP length without ICRC": patched(good, UDP_LENGTH, u16(UDP_BYTES + BTH + 3)),
            "a UDP length beyond IP's": patched(
                good, UDP_LENGTH, u16(len(good) - ETHERNET - IPV4 + 1)
            ),
            "BTH version 1": patched(good, BTH_VERSION, b"\x01"),
            "BTH version 15": patched(cnp(1, 2), BTH_VERSION, b"\x0f"),
        }
        self.check(Reason.ROCE_MALFORMED, frames)


class Pfc(MalformedTest):
    """Neither truncated frames, nor other MAC control, nor other addresses pause anything."""

    not_on_chip = "Tofino's MACs take PFC frames"

    def runTest(self) -> None:
        good = pfc(1, {3: 100})
        plain_pause = bytes.fromhex("0180c2000001") + host_mac(1) + bytes.fromhex("88080001ffff")
        frames = {f"a PFC frame of {n} bytes": good[:n] for n in (14, 16, 18, 33)}
        frames |= {
            "PAUSE of 802.3x": plain_pause.ljust(60, b"\0"),
            "an unknown opcode": patched(good, 14, u16(0x0102), fix_checksum=False),
            "another multicast address": patched(
                good, 0, bytes.fromhex("0180c2000002"), fix_checksum=False
            ),
            "a unicast address": patched(good, 0, host_mac(2), fix_checksum=False),
        }
        self.check(Reason.PFC_MALFORMED, frames)


class UnknownEthertype(MalformedTest):
    def runTest(self) -> None:
        ether = Ether(dst="ff:ff:ff:ff:ff:ff", src=host_mac(1))
        frames = {
            "ARP": bytes(ether / ARP()).ljust(60, b"\0"),
            "IPv6": bytes(ether / IPv6() / UDP()),
            "LLDP": bytes.fromhex("0180c200000e") + host_mac(1) + bytes.fromhex("88cc") + bytes(46),
            "a tagged IPv4 packet": bytes(ether / Dot1Q(vlan=5) / data(1, 2)[14:]),
            "an ethertype next to IPv4's": patched(data(1, 2), 12, u16(0x0801), fix_checksum=False),
            "an ethertype of zero": patched(data(1, 2), 12, u16(0), fix_checksum=False),
        }
        self.check(Reason.UNKNOWN_ETHERTYPE, frames)


class PacketsInFlightSurvive(PcnTest):
    """A bad frame among good ones takes none of them along."""

    not_on_chip = "Tofino's MACs take PFC frames"

    def runTest(self) -> None:
        good = [data(1, 2, psn=psn) for psn in range(100)]
        bad = patched(data(1, 2), FRAGMENT + 4, b"\0\0", fix_checksum=False)
        for frame in good:
            self.send(1, frame, bad, data(1, 2)[:30], pfc(1, {3: 100})[:20])
        self.assertEqual(
            [arrival.data.psn for arrival in self.receive(2, len(good))], list(range(100))
        )
        reasons = (Reason.IPV4_CHECKSUM, Reason.IPV4_MALFORMED, Reason.PFC_MALFORMED)
        expected = {index(1, reason): len(good) for reason in reasons}
        self.wait_for_value(lambda: self.counters("dropped"), expected, "dropped by reason")
