"""Traffic by words, as the command line has it: SRC[,DST][,NAME=VALUE ...].

h1,h2                                              a datagram of 60 bytes
h1,h2,rate=500k,length=1000,times=poisson,tos=1    at random times, 500 kbit/s on average,
                                                   ECN-capable
h1,h2,tcp=dctcp,bytes=1MB                          a TCP connection, which reacts to loss and marks
h1,h2,ping=3,every=100ms                           echo requests of ICMP, which h2 answers
h1,10.0.0.100,rate=1M                              to any address of IPv4, or a multicast group
h1,hex=ffffffffffff0200000000018888,rate=1M        a frame, byte by byte
h1,pcap=ping.pcap,from=1ms                         frames of a capture, at their distances
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcn.base.errors import nearest
from pcn.base.units import Kind, quantity
from pcn.p4net import tcp, traffic
from pcn.p4net.arp import ARP
from pcn.p4net.errors import NoRouteError, P4NetError
from pcn.p4net.packets import NO_MAC, UDP_BYTES, udp
from pcn.p4net.ping import FRAME_BYTES, ping
from pcn.p4net.virtual import JUMBO_BYTES, VirtualP4

_KINDS: dict[str, Kind] = {
    "rate": "rate", "length": "count", "from": "time", "until": "time", "on": "time", "off": "time",
    "bytes": "size", "ecn": "count", "tos": "count", "sport": "count", "dport": "count", "ttl": (
        "count"
    ),
    "ping": "count", "every": "time",
}  # fmt: skip
TIMES = ("equal", "poisson", "bursts")
_MOST = {"ecn": 1, "tos": 255, "sport": 65535, "dport": 65535, "ttl": 255, "length": JUMBO_BYTES}
_SHORTEST, _ETHERNET = 60, 14
_TCP = {"tcp", "bytes", "ecn", "length", "from", "until", "sport", "dport", "tos"}
_UDP = {"rate", "length", "times", "from", "until", "on", "off", "tos", "sport", "dport", "ttl"}
_HEX = {"hex", "rate", "times", "from", "until", "on", "off"}
_PING = {"ping", "every", "length", "from"}
_OF = {
    "pcap": ({"pcap", "from", "until"}, "a capture's frames are sent as they are"),
    "hex": (_HEX, "a frame in hex is sent as it is"),
    "tcp": (_TCP, "a TCP connection has no such value"),
    "ping": (_PING, "a ping has no such value"),
}
_FOR_OTHERS = "for TCP alone: add tcp=reno, cubic or dctcp (`every`: for ping=COUNT)"


@dataclass(frozen=True)
class Source:
    """One source. `values`: by name, in SI units."""

    text: str
    src: str
    dst: str | None
    values: dict[str, Any]

    def start(self, network: VirtualP4, until_s: float, seed: int) -> None:
        """Gives the network what it sends until `until_s`. Raises LabError."""
        host = network.topology.host(self.src).name
        from_s, end_s = (
            self.values.get("from", 0.0),
            min(self.values.get("until", until_s), until_s),
        )
        if "pcap" in self.values:
            capture = traffic.capture(Path(self.values["pcap"]))
            times = capture.times_s + from_s
            count = int((times <= end_s).sum())
            self._require_room(network, max(map(len, capture.frames[:count]), default=0))
            if any(frame[12:14] == ARP for frame in capture.frames):
                network.arp.answer()
            if count:
                network.send_all(host, times[:count], capture.frames[:count], which=range(count))
            return
        if "tcp" in self.values:
            self._connect(network, from_s, end_s)
            return
        if "ping" in self.values:
            assert self.dst is not None
            count, every_s = self.values["ping"], self.values.get("every", 1.0)
            length = self.values.get("length", FRAME_BYTES)
            target = network.topology.host(self.dst).name
            ping(network, host, target, count=count, every_s=every_s, from_s=from_s, length=length)
            return
        frame = self.values["hex"] if "hex" in self.values else self._frame(network)
        self._require_room(network, len(frame))
        times = self._times(len(frame), from_s, end_s, seed)
        if self.dst is None:
            network.send_all(host, times, [frame])
        else:
            network.arp.send_all(host, times, self.dst, frame)

    def _require_room(self, network: VirtualP4, length: int) -> None:
        if length > network.frame_bytes:
            way = "" if network.frame_bytes >= JUMBO_BYTES else f"; --jumbo allows {JUMBO_BYTES}"
            raise P4NetError(
                f"{self.text}: a frame of {length} bytes: {network.frame_bytes} is the most{way}"
            )

    def _connect(self, network: VirtualP4, from_s: float, end_s: float) -> None:
        assert self.dst is not None
        ports = {
            name: self.values[name] for name in ("sport", "dport", "tos") if name in self.values
        }
        ports.setdefault("sport", tcp.FIRST_PORT + len(network.connections))
        tcp.connect(
            network,
            network.topology.host(self.src).name,
            network.topology.host(self.dst).name,
            algorithm=self.values["tcp"],
            size=int(self.values["bytes"]) if "bytes" in self.values else None,
            ecn=bool(self.values.get("ecn", 0)),
            mss=self.values.get("length", tcp.FRAME_BYTES + tcp.MSS) - tcp.FRAME_BYTES,
            from_s=from_s,
            until_s=end_s,
            **ports,
        )

    def _frame(self, network: VirtualP4) -> bytes:
        assert self.dst is not None
        length = self.values.get("length", _SHORTEST)
        if length < UDP_BYTES:
            raise P4NetError(f"{self.text}: a frame of UDP has at least {UDP_BYTES} bytes")
        fields = {
            name: self.values[name]
            for name in ("tos", "sport", "dport", "ttl")
            if name in self.values
        }
        return udp(
            network.value, self.src, self.dst, bytes(length - UDP_BYTES), mac=NO_MAC, **fields
        )

    def _times(self, length: int, from_s: float, end_s: float, seed: int) -> traffic.Times:
        if "rate" not in self.values:
            return traffic.at_rate(1.0, from_s, from_s + 1.0)
        rate, times = self.values["rate"] / (8 * length), self.values.get("times", "equal")
        if times == "poisson":
            return traffic.poisson(rate, from_s, end_s, seed)
        if times == "bursts":
            return traffic.on_off(
                rate, self.values.get("on", 0.0), self.values.get("off", 0.0), from_s, end_s, seed
            )
        return traffic.at_rate(rate, from_s, end_s)


def read(text: str) -> Source:
    """Reads one. Raises P4NetError."""
    src, *words = text.split(",")
    dst = words.pop(0) if words and "=" not in words[0] else None
    values: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not value or name in values:
            raise P4NetError(f"{text}: {word!r}: write NAME=VALUE, each name once")
        values[name] = _read(text, name, value)
    if not src or (dst is None) != bool(values.keys() & {"pcap", "hex"}):
        raise P4NetError(
            f"{text}: write SRC,DST,... or SRC,pcap=FILE or SRC,hex=FRAME: frames have their "
            "destination"
        )
    allowed, reason = next(
        (rule for name, rule in _OF.items() if name in values), (_UDP, _FOR_OTHERS)
    )
    if more := values.keys() - allowed:
        raise P4NetError(f"{text}: {', '.join(sorted(more))}: {reason}")
    if values.get("times", "equal") != "equal" and "rate" not in values:
        raise P4NetError(f"{text}: times={values['times']} needs a rate")
    return Source(text, src, dst, values)


def _read(text: str, name: str, value: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {
        "pcap": str,
        "hex": _hex,
        "times": _times,
        "tcp": _algorithm,
    }
    try:
        if name in _KINDS:
            number = quantity(_KINDS[name], value)
            if not 0 <= number <= _MOST.get(name, float("inf")) or (
                name in ("rate", "on", "off") and number == 0
            ):
                raise ValueError(f"{value!r} is out of range")
            return int(number) if _KINDS[name] == "count" else number
        if name in readers:
            return readers[name](value)
        raise ValueError(f"no such name; {nearest(name, [*_KINDS, *readers])}")
    except ValueError as error:
        raise P4NetError(f"{text}: {name}: {error}") from None


def _hex(value: str) -> bytes:
    try:
        frame = bytes.fromhex(value.removeprefix("0x").replace(":", ""))
    except ValueError:
        raise ValueError("write bytes of two digits, as ffffffffffff0200000000018888") from None
    if not _ETHERNET <= len(frame) <= JUMBO_BYTES:
        raise ValueError(
            f"a frame of {len(frame)} bytes: from {_ETHERNET} to {JUMBO_BYTES} are possible"
        )
    return frame


def _times(value: str) -> str:
    if value not in TIMES:
        raise ValueError(f"{value!r}: {', '.join(TIMES)} are possible")
    return value


def _algorithm(value: str) -> str:
    if value not in tcp.ALGORITHMS:
        raise ValueError(f"{value!r}: {', '.join(tcp.ALGORITHMS)} are possible")
    return value


def each_to_each(network: VirtualP4, gap_s: float = 1e-3) -> list[NoRouteError]:
    """Sends a datagram from each host to each other one, one after the other. Returns the reasons
    for those that aren't sent: hosts without a route. Raises LabError."""
    names = [host.name for host in network.topology.hosts]
    pairs = [(src, dst) for src in names for dst in names if src != dst]
    unreachable = list[NoRouteError]()
    for number, (src, dst) in enumerate(pairs):
        frame = udp(network.value, src, dst, bytes(_SHORTEST - UDP_BYTES), mac=NO_MAC)
        try:
            network.arp.send(src, network.now_s + number * gap_s, dst, frame)
        except NoRouteError as error:
            unreachable.append(error)
    return unreachable
