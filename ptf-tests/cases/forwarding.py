"""Forwarding: routes, next hops, TTL, classes and their order."""

from frames import (
    CNP_CLASS,
    OTHER_CLASS,
    ROCE_CLASS,
    cnp,
    data,
    device_port,
    forwarded,
    host_ip,
    host_mac,
    patched,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from testbed import FAST_PORTS, PORTS, SLOW_PORT, PcnTest, Reason, index

from pcn.controller.constants import RECIRCULATION_PORT
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.routes import Route, route_entry
from pcn.hosts import wire

TTL, DESTINATION = 22, 30  # offsets in a frame


class EveryPair(PcnTest):
    """A data packet between any two ports: addresses, TTL and checksum change, nothing else; it is
    counted once."""

    def runTest(self) -> None:
        for source in PORTS:
            for destination in PORTS:
                frame = data(source, destination)
                self.send(source, frame)
                self.expect(destination, forwarded(frame, destination))
        self.expect_nothing()
        expected = {index(port, ROCE_CLASS): len(PORTS) for port in PORTS}
        self.assertEqual(self.counters("transmitted", expected), expected)
        bytes_out = self.counter("transmitted", index(2, ROCE_CLASS)).bytes
        self.assertEqual(bytes_out, len(PORTS) * len(data(1, 2)))
        self.assertEqual(self.counters("dropped"), {})


class LongestPrefixWins(PcnTest):
    def runTest(self) -> None:
        via = {"10.9.9.9/32": 3, "10.9.0.0/16": 2, "8.0.0.0/5": 4}
        for prefix, port in via.items():
            action = TableAction(
                "ipv4_forward", dst_mac=wire.format_mac(host_mac(port)), port=device_port(port)
            )
            self.switch.insert(
                [TableEntry("ipv4_lpm", match=TableMatch(dst_addr=prefix), action=action)]
            )
        for address, port in (((10, 9, 9, 9), 3), ((10, 9, 9, 8), 2), ((10, 8, 0, 1), 4)):
            frame = patched(data(1, 2), DESTINATION, bytes(address))
            self.send(2, frame)
            self.expect(port, forwarded(frame, port))


class OtherProtocolsPass(PcnTest):
    """Plain UDP, TCP, ICMP, a later fragment and what only looks like RoCE in a fragment are
    forwarded."""

    def runTest(self) -> None:
        ip = IP(src=wire.format_ip(host_ip(1)), dst=wire.format_ip(host_ip(2)))
        packets = [
            ip / UDP(dport=53) / Raw(b"x" * 30),
            ip / TCP(dport=80) / Raw(b"x" * 30),
            ip / ICMP() / Raw(b"x" * 30),
            IP(src=ip.src, dst=ip.dst, proto=wire.PROTOCOL_UDP, frag=100) / (b"\x12\xb7" * 30),
        ]
        for packet in packets:
            frame = bytes(Ether(dst=b"\x02" * 6, src=host_mac(1)) / packet)
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
        cell = index(2, OTHER_CLASS)
        self.assertEqual(self.counters("transmitted", [cell]), {cell: len(packets)})


class PaddedFrame(PcnTest):
    """A short IP packet in a frame of 60 bytes keeps its padding; the longest frame passes."""

    def runTest(self) -> None:
        padded = data(1, 2, payload=4, dscp=0)[:62]
        ip = bytes(
            Ether(dst=b"\x02" * 6, src=host_mac(1))
            / IP(src="10.0.0.1", dst="10.0.0.2")
            / UDP()
            / b"ab"
        )
        for frame in (padded, ip.ljust(60, b"\0"), data(1, 2, payload=1456)):
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))


class UnknownDestination(PcnTest):
    def runTest(self) -> None:
        frame = patched(data(1, 2), DESTINATION, bytes((203, 0, 113, 1)))
        self.send(1, frame)
        cell = index(1, Reason.NO_ROUTE)
        self.wait_for_value(lambda: self.counters("dropped"), {cell: 1}, "dropped by reason")
        self.assertEqual(self.counter("dropped", cell).bytes, len(frame))
        self.expect_nothing()


class RouteToInternalPort(PcnTest):
    """The recirculation port and the drop port are no next hops: packets sent there would count as
    inside without end."""

    not_on_chip = "Tofino's own ports have other numbers"

    def runTest(self) -> None:
        for number, port in enumerate((RECIRCULATION_PORT, 511), start=1):
            address = bytes((198, 51, 100, number))
            self.switch.insert(
                [route_entry(Route(wire.format_ip(address), wire.format_mac(host_mac(2)), port))]
            )
            self.send(1, patched(data(1, 2), DESTINATION, address))
        self.wait_for_value(
            lambda: self.counters("dropped"), {index(1, Reason.NO_ROUTE): 2}, "dropped by reason"
        )
        self.assertEqual(self.inside(), {})
        self.expect_nothing()


class TtlExpires(PcnTest):
    def runTest(self) -> None:
        for ttl in (0, 1):
            self.send(1, patched(data(1, 2), TTL, bytes((ttl,))))
        self.wait_for_value(
            lambda: self.counters("dropped"), {index(1, Reason.TTL_EXPIRED): 2}, "dropped by reason"
        )
        self.expect_nothing()
        frame = patched(data(1, 2), TTL, bytes((2,)))
        self.send(1, frame)
        self.expect(2, forwarded(frame, 2))


class ClassesByDscp(PcnTest):
    """The upper three bits of the DSCP are the class."""

    def runTest(self) -> None:
        for dscp in range(64):
            frame = data(1, 2, dscp=dscp)
            self.send(1, frame)
            self.expect(2, forwarded(frame, 2))
        expected = {index(2, number): 8 for number in range(8)}
        self.assertEqual(self.counters("transmitted", expected), expected)


class CnpOvertakesData(PcnTest):
    """CNPs have the highest priority: one that comes last to a port where data waits leaves before
    some of it."""

    def runTest(self) -> None:
        if self.twin and self.live:
            self.skipTest("an unmodified model of the chip has no rates")
        frames = [data(1, SLOW_PORT, psn=psn) for psn in range(20)]
        notice = cnp(1, SLOW_PORT)
        self.send(1, *frames, notice)
        arrivals = self.receive(SLOW_PORT, len(frames) + 1)
        place = [arrival.frame for arrival in arrivals].index(forwarded(notice, SLOW_PORT))
        self.assertLess(place, len(frames) // 2)
        self.assertEqual(
            self.counters("transmitted", [index(SLOW_PORT, CNP_CLASS)]),
            {index(SLOW_PORT, CNP_CLASS): 1},
        )
        psns = [arrival.data.psn for arrival in arrivals[:place] + arrivals[place + 1 :]]
        self.assertEqual(psns, list(range(20)), "order of a flow")


class CnpIsUntouched(PcnTest):
    """Its ECN field means decrease or increase and RecRate is the rate: the switch changes
    neither."""

    def runTest(self) -> None:
        for port in FAST_PORTS:
            for ecn in (wire.ECN_ECT0, wire.ECN_ECT1, wire.ECN_CE):
                notice = cnp(1, port, ecn, 0x01020304)
                self.send(1, notice)
                (arrival,) = self.expect(port, forwarded(notice, port))
                packet = wire.decode(arrival.frame)
                assert isinstance(packet, wire.CnpPacket)
                self.assertEqual((packet.ecn, packet.rec_rate_mbps), (ecn, 0x01020304))
