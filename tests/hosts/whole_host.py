"""A complete host except socket and clock, and schemes that fail on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from test_loop import IP, MAC, PEER, PEER_MAC

from pcn.hosts import wire
from pcn.hosts.algorithms import (
    Cnp,
    Configured,
    Mark,
    NotificationPoint,
    ReactionPoint,
    Scheme,
    Window,
)
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.loop import Loop, LoopPort
from pcn.hosts.native import Events
from pcn.hosts.nic import Nic
from pcn.hosts.receiver import Receiver
from pcn.hosts.sender import Sender
from pcn.hosts.sent_flow import FlowRequest

LINE = 1e9
BAD_BPS = 7e6  # of a CNP that `Fragile` doesn't bear


@dataclass(frozen=True)
class NoParameters:
    pass


class Fragile(ReactionPoint):
    """Does `wrong` at a CNP with BAD_BPS."""

    wrong: Callable[[Fragile], None]

    def __init__(self, line_rate_bps: float, parameters: NoParameters):
        self.rate_bps = line_rate_bps
        self.variables: dict[str, Any] = {}

    def on_cnp(self, cnp: Cnp, now_s: float):
        if cnp.rec_rate_bps == BAD_BPS:
            type(self).wrong(self)

    def state(self) -> dict[str, float]:
        return self.variables


class WholeHost:
    """A host without its socket: what it sends back is in `sent`."""

    def __init__(self, configured: Configured, log: Path | None = None):
        self.clock = DilatedClock(1, origin=0.0)
        self.log = EventLog(log, self.clock)
        self.events = Events()
        self.sent: list[object] = []
        self.nic = Nic(
            LINE, events=self.events, on_end=lambda flow, at_s: self.sender.on_end(flow, at_s)
        )
        self.sender = Sender(MAC, IP, configured, self.nic, self.clock, self.log)
        self.receiver = Receiver(MAC, IP, configured, self.clock, self.log, self.events, self._send)
        self.loop = Loop(IP, self.clock, [LoopPort(self.nic)], self.receiver, self.events)

    def _send(self, frame: bytes, now_s: float):
        self.sent.append(wire.decode(frame))

    def start(self, flow: int, now_s: float = 0.0, **limits):
        self.sender.start(
            FlowRequest(flow, wire.format_ip(PEER), wire.format_mac(PEER_MAC), now_s, **limits),
            now_s,
        )

    def packet(self, now_s: float, flow: int = 1, psn: int = 0, src: bytes = PEER, **fields):
        packet = wire.DataPacket(PEER_MAC, MAC, src, IP, flow, psn, b"x", **fields)
        self.loop.frame(wire.encode_data(packet), now_s)

    def timers(self, until_s: float):
        while self.receiver.timer_s <= until_s:
            self.receiver.on_timer(self.receiver.timer_s)

    def run(self, until_s: float) -> list[bytes]:
        """What leaves until then."""
        left = []
        while (now_s := min(self.nic.wake(), until_s)) < until_s:
            self.nic.advance(now_s)
            left += [due.frame for due in iter(lambda: self.nic.due(now_s), None)]
        self.nic.advance(until_s)
        return left

    def states(self) -> dict[int, str]:
        return {flow.flow: flow.state for flow in self.sender.stats()}


def fragile(
    wrong: Callable[[Fragile], None], np: type[NotificationPoint] = NotificationPoint
) -> Configured:
    rp = type("Rp", (Fragile,), {"wrong": wrong})
    return Scheme("fragile", "", "pcn", NoParameters, rp, lambda _: np()).configure()


class FragileNp(NotificationPoint):
    """Makes CNPs, and does `wrong` for a window of three packets; at packets that are marked,
    too."""

    period_s = 1e-3
    wrong: Callable[[], Cnp | None]

    def on_window(self, window: Window) -> Cnp | None:
        return type(self).wrong() if window.packets == 3 else Cnp(Mark.NONE, 1e9)

    def on_marked(self, now_s: float) -> Cnp | None:
        return type(self).wrong()


def fragile_np(wrong: Callable[[], Any]) -> Configured:
    return fragile(lambda rp: None, type("Np", (FragileNp,), {"wrong": staticmethod(wrong)}))
