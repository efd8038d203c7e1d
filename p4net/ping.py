"""Ping in virtual time: echo requests of ICMP (RFC 792), which the pinged host answers as its
kernel would.

with VirtualP4(read_exercise(Path("examples/router"))) as network:
    sent = ping(network, "h1", "h3", count=3)
    network.run(until_s=5.0)
    print(sent.round_trips_s)
"""

from __future__ import annotations

import struct
from typing import Any

from pcn.p4net.errors import P4NetError
from pcn.p4net.hosts import HostNetwork
from pcn.p4net.packets import IPV4_BYTES, NO_MAC, checksum, ipv4
from pcn.virtualnet.frames import Arrived

ICMP = 1
LEAST_BYTES = IPV4_BYTES + 8
FRAME_BYTES = LEAST_BYTES + 56
"""Of ping's default: 56 bytes of data."""
_REQUEST, _REPLY = 8, 0
_MOST = 1 << 16  # identifiers and sequence numbers have 16 bits


class Ping:
    """Requests from host to host, and their answers. `sent_s`: when each was sent."""

    def __init__(self, network: HostNetwork, src: str, dst: str, identifier: int) -> None:
        self.src, self.dst, self.sent_s = src, dst, list[float]()
        self.round_trips_s: dict[int, float] = {}
        """Of requests that were answered, by their number from 0."""
        self._network, self._identifier = network, identifier
        network.react(dst, self._answer)
        network.react(src, self._note)

    def send(self, time_s: float, length: int) -> None:
        """Sends the next request, a frame of `length` bytes, at that time."""
        frame = self._frame(
            self.src, self.dst, _REQUEST, len(self.sent_s), bytes(length - LEAST_BYTES)
        )
        self._network.arp.send(self.src, time_s, self.dst, frame)
        self.sent_s.append(time_s)

    def summary(self) -> dict[str, Any]:
        """Returns hosts, counts, and round-trip times in seconds (None: none)."""
        times = self.round_trips_s.values()
        round_trips = (
            (min(times), sum(times) / len(times), max(times)) if times else (None, None, None)
        )
        counts = {
            "from": self.src,
            "to": self.dst,
            "requests": len(self.sent_s),
            "answers": len(times),
        }
        return counts | dict(
            zip(("rtt_least_s", "rtt_mean_s", "rtt_most_s"), round_trips, strict=True)
        )

    def _frame(self, src: str, dst: str, kind: int, number: int, data: bytes) -> bytes:
        icmp_checksum = checksum(struct.pack(">BBHHH", kind, 0, 0, self._identifier, number) + data)
        message = struct.pack(">BBHHH", kind, 0, icmp_checksum, self._identifier, number) + data
        return ipv4(self._network.value, src, dst, message, protocol=ICMP, mac=NO_MAC)

    def _answer(self, frame: Arrived) -> None:
        read = self._read(frame, self.dst, _REQUEST)
        if read is not None:
            answer = self._frame(self.dst, self.src, _REPLY, *read)
            self._network.arp.send(self.dst, frame.time_s, self.src, answer)

    def _note(self, frame: Arrived) -> None:
        read = self._read(frame, self.src, _REPLY)
        if read is not None and read[0] < len(self.sent_s):
            self.round_trips_s.setdefault(read[0], frame.time_s - self.sent_s[read[0]])

    def _read(self, frame: Arrived, host: str, kind: int) -> tuple[int, bytes] | None:
        """Returns number and data of this ping's message of a kind, if a kernel would take it; else
        None."""
        data, topology_host = frame.start, self._network.topology.host(host)
        if (
            len(data) < LEAST_BYTES
            or data[:6] != bytes.fromhex(topology_host.mac.replace(":", ""))
            or data[12:15] != b"\x08\0\x45"
        ):
            return None
        length = struct.unpack_from(">H", data, 16)[0]
        message = data[IPV4_BYTES : 14 + length]
        if (
            data[30:34] != bytes(map(int, topology_host.ip.split(".")))
            or data[23] != ICMP
            or checksum(data[14:IPV4_BYTES])
            or len(message) != length - 20
            or len(message) < 8
            or checksum(message)
        ):
            return None
        icmp_type, code, _, identifier, number = struct.unpack_from(">BBHHH", message)
        return (
            (number, message[8:])
            if (icmp_type, code, identifier) == (kind, 0, self._identifier)
            else None
        )


def ping(
    network: HostNetwork, src: str, dst: str, *, count: int = 1, every_s: float = 1.0,
    from_s: float = 0.0,
    length: int = FRAME_BYTES,
) -> Ping:  # fmt: skip
    """Sends `count` echo requests, frames of `length` bytes, `every_s` apart. Raises LabError."""
    if not 1 <= count < _MOST or len(network.pings) >= _MOST:
        raise P4NetError(f"{src}: {count} echo requests: from 1 to {_MOST - 1} are possible")
    if not LEAST_BYTES <= length <= network.frame_bytes or every_s <= 0:
        raise P4NetError(
            f"{src}: echo requests have {LEAST_BYTES} to {network.frame_bytes} bytes, and some "
            "time between"
        )
    if src == dst:
        raise P4NetError(f"{src}: a host pings another one")
    ping = Ping(network, src, dst, len(network.pings))
    for number in range(count):
        ping.send(from_s + number * every_s, length)
    network.pings.append(ping)
    return ping
