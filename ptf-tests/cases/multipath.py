"""ECMP: a flow's five-tuple chooses among the ports of a group."""

import struct
import zlib
from collections.abc import Sequence

from frames import host_ip, host_mac, patched, port_mac
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from testbed import FAST_PORTS, PORTS, PcnTest, Reason, index

from pcn.controller.control_plane import TableActions, TableEntry, TableMatch
from pcn.controller.entities import ProfileGroup
from pcn.controller.routes import MultipathRoute, PortGroup, group_entry, route_entry
from pcn.hosts import wire

FAR = bytes((198, 51, 100, 1))
NEXT_MAC = bytes.fromhex("020000001234")
GROUP = 7
FLOWS = range(1, 61)
TTL, PROTOCOL, SOURCE, UDP_PORTS = 22, 23, 26, 34  # offsets in a frame


def packet(flow: int, psn: int = 0) -> bytes:
    """From the host at the slow port to the far address. Not to be marked where packets wait."""
    data = wire.DataPacket(
        host_mac(4), port_mac(4), host_ip(4), FAR, flow, psn, bytes(64), wire.ECN_NOT_ECT
    )
    return wire.encode_data(data)


def chosen(frame: bytes, ports: Sequence[int], shift: int = 0) -> int:
    """The port that the program's hash gives: CRC-32 of addresses, protocol and UDP ports."""
    udp = frame[UDP_PORTS : UDP_PORTS + 4] if frame[PROTOCOL] == wire.PROTOCOL_UDP else bytes(4)
    addresses = frame[SOURCE : SOURCE + 8]
    return ports[
        (zlib.crc32(addresses + frame[PROTOCOL : PROTOCOL + 1] + udp) >> shift) % len(ports)
    ]


def sent_on(frame: bytes, port: int) -> bytes:
    """What becomes of a frame that leaves by a port of the group."""
    expected = patched(frame, 0, NEXT_MAC + port_mac(port), fix_checksum=False)
    return patched(expected, TTL, bytes((frame[TTL] - 1,)))


class MultipathTest(PcnTest):
    """Programs a route to FAR, by GROUP."""

    not_on_chip = "Tofino's programs have no groups of ports"
    shift = 0

    def setUp(self) -> None:
        super().setUp()
        route = MultipathRoute(wire.format_ip(FAR), wire.format_mac(NEXT_MAC), GROUP, self.shift)
        self.switch.insert([route_entry(route)])

    def check(self, ports: Sequence[int]) -> dict[int, int]:
        """Sends three packets of each flow; the port that each flow takes."""
        frames = [packet(flow, psn) for psn in range(3) for flow in FLOWS]
        expected: dict[int, list[bytes]] = {port: [] for port in FAST_PORTS}
        for frame in frames:
            port = chosen(frame, ports, self.shift)
            expected[port].append(sent_on(frame, port))
        self.send(4, *frames)
        for port, due in expected.items():
            self.expect(port, *due)
        return {flow: chosen(packet(flow), ports, self.shift) for flow in FLOWS}


class FlowsShareTheGroup(MultipathTest):
    """All packets of a flow leave by one port, in order; flows spread over all ports, whichever
    bits choose."""

    def runTest(self) -> None:
        self.switch.insert([group_entry(PortGroup(GROUP, FAST_PORTS))])
        taken = list(self.check(FAST_PORTS).values())
        self.assertGreater(
            min(taken.count(port) for port in FAST_PORTS), len(FLOWS) // len(FAST_PORTS) // 2
        )
        self.expect_nothing()


class OtherBitsChooseOtherwise(MultipathTest):
    """A switch that takes other bits of the hash splits again what another one has sent by one
    port."""

    shift = 8

    def runTest(self) -> None:
        self.switch.insert([group_entry(PortGroup(GROUP, FAST_PORTS))])
        taken = self.check(FAST_PORTS)
        for before in FAST_PORTS:
            arriving = [flow for flow in FLOWS if chosen(packet(flow), FAST_PORTS) == before]
            self.assertEqual({taken[flow] for flow in arriving}, set(FAST_PORTS))


class PortLeavesAndComesBack(MultipathTest):
    """The flows of a port that left go by the others, and each flow has its old port once all are
    there again."""

    def runTest(self) -> None:
        self.switch.insert([group_entry(PortGroup(GROUP, FAST_PORTS))])
        before = self.check(FAST_PORTS)
        self.switch.modify([group_entry(PortGroup(GROUP, FAST_PORTS[:2]))])
        self.assertEqual(set(self.check(FAST_PORTS[:2]).values()), set(FAST_PORTS[:2]))
        self.switch.modify([group_entry(PortGroup(GROUP, FAST_PORTS))])
        self.assertEqual(self.check(FAST_PORTS), before)


class NoPortInTheGroup(MultipathTest):
    """A group that isn't programmed, and one without members, which BMv2 refuses to an entry: there
    is no route, and nothing counts as inside."""

    def runTest(self) -> None:
        cell = index(4, Reason.NO_ROUTE)
        self.send(4, packet(1))
        self.wait_for_value(lambda: self.counters("dropped"), {cell: 1}, "dropped by reason")
        if self.target == "bmv2":
            return
        empty = ProfileGroup("next_hops", group_id=1, max_size=8, members=[])
        entry = TableEntry(
            "next_hop_group", match=TableMatch(group=GROUP), action=TableActions(group_id=1)
        )
        self.switch.insert([empty, entry])
        self.send(4, packet(2))
        self.wait_for_value(lambda: self.counters("dropped"), {cell: 2}, "dropped by reason")
        self.expect_nothing(*PORTS)


class WithoutUdpByThreeTuple(MultipathTest):
    """TCP's ports aren't parsed: its packets go by addresses and protocol, all one way."""

    def runTest(self) -> None:
        self.switch.insert([group_entry(PortGroup(GROUP, FAST_PORTS))])
        for source in range(1, 9):
            ip = IP(src=f"10.0.0.{source}", dst=wire.format_ip(FAR))
            for port in (80, 443):
                frame = bytes(
                    Ether(dst=b"\x02" * 6, src=host_mac(4))
                    / ip
                    / TCP(dport=port)
                    / Raw(struct.pack("!I", port))
                )
                self.send(4, frame)
                out = chosen(frame, FAST_PORTS)
                self.expect(out, sent_on(frame, out))
