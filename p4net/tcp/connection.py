"""Connections between hosts of a network in virtual time."""

from __future__ import annotations

from typing import Any, Final

from pcn.base.frames import MAX_FRAME
from pcn.p4net.errors import P4NetError
from pcn.p4net.hosts import HostNetwork
from pcn.p4net.tcp.congestion import ALGORITHMS
from pcn.p4net.tcp.receiver import Receiver
from pcn.p4net.tcp.segments import FRAME_BYTES, Addresses, Segment, decode, encode
from pcn.p4net.tcp.sender import Sender
from pcn.virtualnet.frames import Arrived

MSS: Final = 1460
FIRST_PORT: Final = 49152
SERVER_PORT: Final = 5001
_MOST_BYTES: Final = MAX_FRAME - FRAME_BYTES
_ROUNDING_S: Final = 1e-11
"""The engine's times are whole picoseconds."""


class Connection:
    """A connection that sends bytes from host to host. Made by `connect`."""

    def __init__(
        self,
        network: HostNetwork,
        addresses: Addresses,
        sender: Sender,
        receiver: Receiver,
        from_s: float,
    ) -> None:
        self.addresses = addresses
        self.sender = sender
        self.receiver = receiver
        self.from_s = from_s
        self._network = network
        self._back = Addresses(
            addresses.dst, addresses.src, addresses.dport, addresses.sport, addresses.tos
        )
        self._alarm_s: float | None = None  # when the network calls `_expire`
        network.react(addresses.src, self._take_acknowledgement)
        network.react(addresses.dst, self._take_data)
        network.at(from_s, self._start)

    def stop(self) -> None:
        """Sends no new bytes from now on."""
        self.sender.stop()

    def summary(self) -> dict[str, Any]:
        """Returns what it came to, in SI units. `goodput_bps`: of the time until all was
        acknowledged, or until now."""
        sender = self.sender
        end_s = self._network.now_s if sender.finished_s is None else sender.finished_s
        return {
            "from": f"{self.addresses.src}:{self.addresses.sport}",
            "to": f"{self.addresses.dst}:{self.addresses.dport}",
            "algorithm": sender.congestion.name,
            "acknowledged_bytes": sender.acknowledged,
            "goodput_bps": 8 * sender.acknowledged / (end_s - self.from_s)
            if end_s > self.from_s
            else 0.0,
            "retransmitted_segments": sender.retransmitted,
            "timeouts": sender.timeouts,
            "marked_segments": self.receiver.marked,
            "round_trip_s": sender.rtt_s,
            "finished_s": sender.finished_s,
        }

    # ---- inside ----

    def _start(self) -> None:
        self._send(self.sender.start(self._network.now_s))

    def _take_acknowledgement(self, frame: Arrived) -> None:
        decoded = decode(frame.start, self.receiver.next, self.sender.first)
        if (
            decoded is not None
            and decoded[:2] == (self.addresses.dport, self.addresses.sport)
            and self._is(frame, False)
        ):
            self._send(self.sender.take(decoded[2], self._network.now_s))

    def _take_data(self, frame: Arrived) -> None:
        decoded = decode(frame.start, self.receiver.next, 0)
        if (
            decoded is not None
            and decoded[:2] == (self.addresses.sport, self.addresses.dport)
            and self._is(frame, True)
        ):
            answer = self.receiver.take(decoded[2])
            if answer is not None:
                self._transmit(self._back, answer)

    def _is(self, frame: Arrived, forth: bool) -> bool:
        """Returns whether a frame has the addresses of the connection."""
        names = (
            (self.addresses.src, self.addresses.dst)
            if forth
            else (self.addresses.dst, self.addresses.src)
        )
        ips = [bytes(map(int, self._network.topology.host(name).ip.split("."))) for name in names]
        return frame.start[26:34] == ips[0] + ips[1]

    def _send(self, segments: list[Segment]) -> None:
        for segment in segments:
            self._transmit(self.addresses, segment)
        due_s = self.sender.due_s
        if due_s is not None and (self._alarm_s is None or self._alarm_s > due_s):
            self._alarm_s = due_s
            self._network.at(due_s, self._expire)

    def _transmit(self, addresses: Addresses, segment: Segment) -> None:
        frame = encode(self._network.value, addresses, segment, self.sender.mss)
        self._network.arp.send(addresses.src, self._network.now_s, addresses.dst, frame)

    def _expire(self) -> None:
        """One call for many segments: it looks whether the time is over by now."""
        self._alarm_s = None
        due_s, now_s = self.sender.due_s, self._network.now_s
        over = due_s is not None and now_s > due_s - _ROUNDING_S
        self._send(self.sender.expire(max(now_s, due_s)) if over and due_s is not None else [])


def connect(
    network: HostNetwork,
    src: str,
    dst: str,
    *,
    algorithm: str = "reno",
    size: int | None = None,
    ecn: bool = False,
    mss: int = MSS,
    from_s: float = 0.0,
    until_s: float | None = None,
    sport: int = FIRST_PORT,
    dport: int = SERVER_PORT,
    tos: int = 0,
) -> Connection:
    """Opens a connection from host `src` at `from_s`, which sends `size` bytes (None: without end)
    and closes it, or stops at `until_s`. `algorithm`: reno, cubic or dctcp, which uses ECN in any
    case. `mss`: bytes of a segment. Raises LabError."""
    if algorithm not in ALGORITHMS:
        raise P4NetError(f"no TCP algorithm {algorithm!r}: {', '.join(ALGORITHMS)} are possible")
    if not 1 <= mss <= _MOST_BYTES or FRAME_BYTES + mss > (network.whole_bytes or 0):
        raise P4NetError(
            f"segments of {mss} bytes: frames with {FRAME_BYTES + mss} are too long for the network"
        )
    if src == dst or size == 0:
        raise P4NetError(f"{src} to {dst}: a connection has two hosts and at least one byte")
    congestion = ALGORITHMS[algorithm](mss)
    sender = Sender(congestion, mss, size, ecn or algorithm == "dctcp")
    addresses = Addresses(src, dst, sport, dport, tos)
    connection = Connection(network, addresses, sender, Receiver(congestion.exact_echo), from_s)
    network.connections.append(connection)
    if until_s is not None:
        network.at(until_s, connection.stop)
    return connection
