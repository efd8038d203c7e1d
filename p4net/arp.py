"""ARP in virtual time (RFC 826): a host without a static entry requests the MAC of a next hop, and
what it sends there waits for the answer, as in Linux. Hosts answer for their own address alone.

A host sends three requests, a second apart; then what waits is lost, and the next frame begins
anew. Of what waits for an address, 101 frames are kept, the latest. Answers hold for the whole run.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Address
from typing import Any, Final

import numpy as np

from pcn.p4net.neighbours import Neighbours, address_of, group_mac, neighbours
from pcn.p4net.network import P4Network
from pcn.virtualnet.frames import Arrived, Times
from pcn.virtualnet.timed import TimedNetwork

React = Callable[[str, Callable[[Arrived], None]], None]
REQUESTS: Final = 3
EVERY_S: Final = 1.0
MOST_WAITING: Final = 101
"""Linux's mcast_solicit, retrans_time and unres_qlen."""
ARP: Final = b"\x08\x06"
"""Ethernet's type."""
_REQUEST, _REPLY = 1, 2
_MESSAGE: Final = struct.Struct(">HHBBH6s4s6s4s")
_IPV4_OVER_ETHERNET: Final = (1, 0x0800, 6, 4)
_ALL: Final = b"\xff" * 6
_NOBODY: Final = bytes(6)


@dataclass
class _Entry:
    """What a host has of a next hop. `waiting`: times and the frame that is sent at them."""

    mac: bytes | None = None
    tries: int = 0  # requests, since the latest that had no answer at all
    requests: int = 0
    waiting: list[tuple[np.ndarray[Any, np.dtype[np.float64]], bytes]] = field(default_factory=list)


class Arp:
    """ARP of all hosts of the network `value`, which is timed as `network`; `react` has a host
    call a function with each frame. Hosts answer from the first request on, or from `answer` on."""

    def __init__(self, network: TimedNetwork, value: P4Network, react: React) -> None:
        self._network, self._value, self._react = network, value, react
        self._static: dict[str, Neighbours] = {}
        self._entries: dict[tuple[str, IPv4Address], _Entry] = {}
        self._answering = False

    def send(self, host: str, time_s: float, dst: str, frame: bytes) -> None:
        """Sends a frame to the host or the IPv4 address `dst` at a time, with its next hop's MAC.
        Raises LabError."""
        hop, mac = self._next_hop(host, dst)
        if mac is not None:
            self._network.send(host, time_s, mac + frame[6:])
        else:
            self._network.at(time_s, partial(self._begin, host, hop, np.array([time_s]), frame))

    def send_all(self, host: str, times_s: Times, dst: str, frame: bytes) -> None:
        """Sends a frame at each of these times, in ascending order, as `send`."""
        times = np.asarray(times_s, np.float64)
        hop, mac = self._next_hop(host, dst)
        if mac is not None:
            self._network.send_all(host, times, [mac + frame[6:]])
        elif times.size:
            self._network.at(float(times[0]), partial(self._begin, host, hop, times, frame))

    def answer(self) -> None:
        """Has all hosts answer requests."""
        if self._answering:
            return
        self._answering = True
        for host in self._network.topology.hosts:
            self._react(host.name, partial(self._take, host.name))

    def unanswered(self) -> Iterator[tuple[str, str]]:
        """Yields the hosts whose requests had no answer, and for which address."""
        for (host, hop), entry in self._entries.items():
            if entry.requests and entry.mac is None:
                yield host, str(hop)

    # ---- inside ----

    def _next_hop(self, host: str, dst: str) -> tuple[IPv4Address, bytes | None]:
        if host not in self._static:
            self._static[host] = neighbours(self._value, host)
        known = self._static[host]
        hop = known.next_hop(address_of(self._value, dst))
        entry = self._entries.get((host, hop))
        mac = group_mac(hop) or known.macs.get(hop)
        return hop, _bytes(mac) if mac is not None else entry.mac if entry is not None else None

    def _begin(self, host: str, hop: IPv4Address, times: Any, frame: bytes) -> None:
        """At the first of the times."""
        entry = self._entries.setdefault((host, hop), _Entry())
        if entry.mac is not None:
            self._network.send_all(host, times, [entry.mac + frame[6:]])
            return
        entry.waiting.append((times, frame))
        if len(entry.waiting) == 1:
            entry.tries = 0
            self.answer()
            self._request(host, hop, entry)

    def _request(self, host: str, hop: IPv4Address, entry: _Entry) -> None:
        if entry.mac is not None:
            return
        now_s = self._network.now_s
        if entry.tries == REQUESTS:
            waiting, entry.waiting = entry.waiting, []
            for times, frame in waiting:
                later = times[times > now_s]
                if later.size:
                    self._network.at(float(later[0]), partial(self._begin, host, hop, later, frame))
            return
        entry.tries += 1
        entry.requests += 1
        sender = self._network.topology.host(host)
        message = _message(
            _REQUEST, _bytes(sender.mac), IPv4Address(sender.ip).packed, _NOBODY, hop.packed
        )
        self._network.send(host, now_s, _ALL + _bytes(sender.mac) + ARP + message)
        self._network.at(now_s + EVERY_S, partial(self._request, host, hop, entry))

    def _take(self, host: str, arrived: Arrived) -> None:
        frame, receiver = arrived.start, self._network.topology.host(host)
        mac, ip = _bytes(receiver.mac), IPv4Address(receiver.ip).packed
        if frame[12:14] != ARP or len(frame) < 14 + _MESSAGE.size or frame[:6] not in (mac, _ALL):
            return
        *kind, operation, sender_mac, sender_ip, _, target_ip = _MESSAGE.unpack_from(frame, 14)
        if tuple(kind) != _IPV4_OVER_ETHERNET or target_ip != ip or sender_mac[0] & 1:
            return
        if operation == _REQUEST:
            reply = _message(_REPLY, mac, ip, sender_mac, sender_ip)
            self._network.send(host, arrived.time_s, sender_mac + mac + ARP + reply)
        self._learn(host, IPv4Address(sender_ip), sender_mac)

    def _learn(self, host: str, address: IPv4Address, mac: bytes) -> None:
        entry = self._entries.setdefault((host, address), _Entry())
        entry.mac, waiting, entry.waiting = mac, entry.waiting, []
        now_s = self._network.now_s
        held: list[bytes] = []
        for times, frame in waiting:
            held += [mac + frame[6:]] * min(int((times <= now_s).sum()), MOST_WAITING)
        for frame in held[-MOST_WAITING:]:
            self._network.send(host, now_s, frame)
        for times, frame in waiting:
            if (later := times[times > now_s]).size:
                self._network.send_all(host, later, [mac + frame[6:]])


def _message(operation: int, *addresses: bytes) -> bytes:
    return _MESSAGE.pack(*_IPV4_OVER_ETHERNET, operation, *addresses)


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
