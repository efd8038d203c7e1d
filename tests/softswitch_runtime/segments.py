"""TCP and UDP packets field by field, to test offloads: a frame that is left uncut, and those that
it has to become.

Both are made from the same description; nothing here cuts."""

import struct
from dataclasses import dataclass

NEEDS_CHECKSUM = 1  # virtio_net_hdr's flags
WHOLE, TCP4, TCP6, UDP = 0, 1, 4, 5  # and gso_type
FIN, PSH, ACK, CWR = 0x01, 0x08, 0x10, 0x80
TCP_PROTOCOL, UDP_PROTOCOL = 6, 17


def ones_complement(data: bytes) -> int:
    """RFC 1071's sum, not inverted."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@dataclass(frozen=True)
class Packet:
    ipv6: bool
    udp: bool
    tags: tuple[bytes, ...]
    network_options: bytes  # IPv4's options, or one hop-by-hop header
    transport_options: bytes
    flags: int  # of TCP
    sequence: int
    identification: int
    payload: bytes

    def frame(
        self, start: int = 0, end: int | None = None, number: int = 0, *, uncut: bool = False
    ) -> bytes:
        """Frame `number`, with payload[start:end]. Uncut: its checksum is the pseudo header's."""
        payload = self.payload[start:end]
        last = start + len(payload) == len(self.payload)
        length = self.transport_bytes + len(payload)
        pseudo = ones_complement(self._addresses() + struct.pack("!II", length, self._protocol()))
        body = self._transport(start, number, last, length, pseudo if uncut else 0) + payload
        if not uncut:
            checksum = ~ones_complement(struct.pack("!H", pseudo) + body) & 0xFFFF or 0xFFFF
            body = self._transport(start, number, last, length, checksum) + payload
        return self.ethernet() + self._network(number, length) + body

    def ethernet(self) -> bytes:
        ethertype = b"\x86\xdd" if self.ipv6 else b"\x08\x00"
        return b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01" + b"".join(self.tags) + ethertype

    @property
    def transport_bytes(self) -> int:
        return 8 if self.udp else 20 + len(self.transport_options)

    @property
    def transport_at(self) -> int:
        return len(self.ethernet()) + (40 if self.ipv6 else 20) + len(self.network_options)

    def descriptor(self, segment: int) -> bytes:
        """struct virtio_net_hdr; segment 0: only the checksum is left to do."""
        kind = WHOLE if segment == 0 else UDP if self.udp else TCP6 if self.ipv6 else TCP4
        header = self.transport_at + self.transport_bytes
        return struct.pack(
            "=BBHHHH", NEEDS_CHECKSUM, kind, header, segment, self.transport_at,
            6 if self.udp else 16,
        )  # fmt: skip

    def _protocol(self) -> int:
        return UDP_PROTOCOL if self.udp else TCP_PROTOCOL

    def _addresses(self) -> bytes:
        return bytes(range(1, 33)) if self.ipv6 else b"\x0a\0\0\x01\x0a\0\0\x02"

    def _network(self, number: int, length: int) -> bytes:
        inner = len(self.network_options) + length
        if self.ipv6:
            following = 0 if self.network_options else self._protocol()
            return (
                struct.pack("!IHBB", 6 << 28, inner, following, 64)
                + self._addresses()
                + self.network_options
            )
        words = 5 + len(self.network_options) // 4
        identification = (self.identification + number) & 0xFFFF
        header = struct.pack(
            "!BBHHHBBH", 4 << 4 | words, 0, 20 + inner, identification, 0x4000, 64,
            self._protocol(), 0,
        )  # fmt: skip
        header += self._addresses() + self.network_options
        return header[:10] + struct.pack("!H", ~ones_complement(header) & 0xFFFF) + header[12:]

    def _transport(self, start: int, number: int, last: bool, length: int, checksum: int) -> bytes:
        if self.udp:
            return struct.pack("!HHHH", 1000, 2000, length, checksum)
        flags = self.flags & ~(0 if last else FIN | PSH) & ~(CWR if number else 0)
        sequence = (self.sequence + start) & 0xFFFFFFFF
        words = self.transport_bytes // 4
        return (
            struct.pack("!HHIIBBHHH", 1000, 2000, sequence, 7, words << 4, flags, 512, checksum, 0)
            + self.transport_options
        )
