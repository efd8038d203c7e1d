"""The NICs of a host, one a port, and by which of them a flow's frames leave: the route's choice,
as in virtual time.

A flow has one NIC at a time. `route` moves flows, and CNPs and ACKs that wait, away from a NIC that
leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .native import Events
from .nic import Nic, NicFlow
from .ports import choose

_DST_IP, _UDP_PORT = slice(30, 34), slice(34, 36)
"""Where a frame has them: behind Ethernet's header of 14 bytes and, of the UDP port, IPv4's of
20."""


@dataclass(frozen=True)
class Routes:
    """Ports of the host on a shortest path to others, in order, by IP address: `usual` with all
    links, `now` with those that are up. To any other address each port leads."""

    usual: Mapping[bytes, Sequence[int]] = field(default_factory=dict)
    now: Mapping[bytes, Sequence[int]] = field(default_factory=dict)


class Nics:
    """To a `Sender` and a `Receiver` as one NIC; `nics` by port, with the same events."""

    def __init__(self, ip: bytes, nics: Sequence[Nic]) -> None:
        self._ip = ip
        self._nics = tuple(nics)
        self._all = range(len(self._nics))
        self._routes = Routes()

    def __iter__(self) -> Iterator[Nic]:
        return iter(self._nics)

    def __len__(self) -> int:
        return len(self._nics)

    @property
    def events(self) -> Events:
        return self._nics[0].events

    @property
    def flows(self) -> tuple[NicFlow, ...]:
        """Flows that have not ended."""
        return tuple(flow for nic in self for flow in nic.flows)

    @property
    def line_rate_bps(self) -> float:
        """Of all together."""
        return sum(nic.line_rate_bps for nic in self)

    @property
    def allowed_bits(self) -> float:
        """What the rates allowed until the latest `account`."""
        return sum(nic.allowed_bits for nic in self)

    @property
    def started_bits(self) -> int:
        return sum(nic.started_bits for nic in self)

    @property
    def control_drops(self) -> int:
        """Control frames that found too many waiting."""
        return sum(nic.control_drops for nic in self)

    def by(self, dst_ip: bytes, udp_port: int) -> Nic:
        """Returns the NIC for frames to that address from that UDP port: of those on a shortest
        path one by the flow, and where that one leads nowhere now, one of the others."""
        usual = self._routes.usual.get(dst_ip) or self._all
        now = self._routes.now.get(dst_ip, usual)
        port = choose(usual, self._ip, dst_ip, udp_port)
        return self._nics[
            port if port in now or not now else choose(now, self._ip, dst_ip, udp_port)
        ]

    def route(self, routes: Routes, now_s: float) -> None:
        """Hosts go by these routes from now on. Call after `advance`."""
        self._routes = routes
        lead = {port for ports in routes.now.values() for port in ports}
        for nic in self:
            dead = bool(lead) and nic.port not in lead
            for flow in (*nic.flows, *(nic.departing if dead else ())):
                to = self.by(flow.dst_ip, flow.udp_port)
                if to is not nic:
                    nic.move(flow, to, dead, now_s)
            for frame in nic.take_control() if dead else ():
                self.send_control(frame, now_s)

    def add(self, flow: NicFlow, now_s: float) -> None:
        """A flow whose start is now or later."""
        self.by(flow.dst_ip, flow.udp_port).add(flow, now_s)

    def remove(self, flow: NicFlow, now_s: float) -> None:
        self._nics[flow.port].remove(flow, now_s)

    def set_rate(self, flow: NicFlow, rate_bps: float, now_s: float) -> None:
        self._nics[flow.port].set_rate(flow, rate_bps, now_s)

    def set_window(self, flow: NicFlow, window_bytes: float, now_s: float) -> None:
        self._nics[flow.port].set_window(flow, window_bytes, now_s)

    def acknowledge(self, flow: NicFlow, psn: int, now_s: float) -> int:
        return self._nics[flow.port].acknowledge(flow, psn, now_s)

    def answered(
        self, flow: NicFlow, psn: int, in_order: int, nak: bool, now_s: float
    ) -> tuple[int, int] | None:
        return self._nics[flow.port].answered(flow, psn, in_order, nak, now_s)

    def timeout(self, flow: NicFlow, timeout_s: float, now_s: float) -> int:
        return self._nics[flow.port].timeout(flow, timeout_s, now_s)

    def send_control(self, frame: bytes, now_s: float) -> None:
        """A CNP or an ACK, which leaves as a flow to its receiver would."""
        udp_port = int.from_bytes(frame[_UDP_PORT], "big")
        self.by(frame[_DST_IP], udp_port).send_control(frame, now_s)

    def advance(self, now_s: float) -> None:
        for nic in self:
            nic.advance(now_s)

    def account(self, now_s: float) -> None:
        for nic in self:
            nic.account(now_s)

    def shortfall_s(self, now_s: float) -> float:
        """Returns what the rates allowed until now and was not sent, as time at line rate: the most
        of any NIC."""
        return max(nic.shortfall_s(now_s) for nic in self)

    def reset_counters(self, now_s: float) -> None:
        for nic in self:
            nic.reset_counters(now_s)
