"""Hosts of a network in virtual time: each sends frames and reacts to those that arrive, by what
runs on it (ARP, pings, TCP)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from pcn.p4net.arp import Arp
from pcn.p4net.network import P4Network
from pcn.softswitch.embed.switch import NativeSwitch
from pcn.virtualnet.frames import Arrived
from pcn.virtualnet.timed import TimedNetwork

_STARTS = 128  # bytes that are kept of a frame without `whole_bytes`


class Application(Protocol):
    """What sends from a host to another one."""

    def summary(self) -> dict[str, Any]:
        """Returns what it came to, in SI units."""


class Requests(Application, Protocol):
    """Echo requests. `sent_s`: when each was sent."""

    sent_s: list[float]


class HostNetwork(TimedNetwork):
    """The network `value` with these switches, whose hosts run applications. `whole_bytes` and
    `queues` as `TimedNetwork` has them. Raises LabError."""

    def __init__(
        self,
        value: P4Network,
        switches: Mapping[str, NativeSwitch],
        *,
        queues: Literal["nodes", "one"],
        whole_bytes: int | None,
    ) -> None:
        self.value = value
        self.connections: list[Application] = []
        """Of TCP (pcn.p4net.tcp.connect)."""
        self.pings: list[Requests] = []
        self.frame_bytes = whole_bytes if whole_bytes is not None else _STARTS
        self._applications: dict[str, list[Callable[[Arrived], None]]] = {}
        self.arp = Arp(self, value, self.react)
        super().__init__(value.topology, switches, queues=queues, whole_bytes=whole_bytes)

    def react(self, host: str, application: Callable[[Arrived], None]) -> None:
        """Calls a function with each frame that arrives at a host, at its simulated time. It may
        send frames from then on. A host may have several such functions; one that counts alone
        forgets a frame when they have had it. Raises VirtualError."""
        applications = self._applications.setdefault(host, [])
        applications.append(application)
        if len(applications) > 1:
            return
        seen = len(self.arrived(host))

        def new() -> None:
            nonlocal seen
            for frame in self.new_arrivals(host, seen):
                seen += 1
                for application in applications:
                    application(frame)
            seen = self.forget_arrivals(host)

        self.on_frames(host, new)
