"""What connects a data-plane test with the switch: PTF's sockets and real time, or the switch's
manual clock."""

from __future__ import annotations

import re
import socket
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

from pcn.hosts import wire
from pcn.softswitch.clock import ManualClock

# ptf's own sockets would lose some of a burst that it is slow to read.
RECEIVE_BUFFER_BYTES = 64 << 20
_SO_RCVBUFFORCE = 33  # socket(7); the socket module has no name for it


@dataclass(frozen=True)
class Arrival:
    """A frame that left the switch; `at` in seconds of the wires' clock."""

    frame: bytes
    at: float

    @property
    def data(self) -> wire.DataPacket:
        packet = wire.decode(self.frame)
        if not isinstance(packet, wire.DataPacket):
            raise AssertionError(f"not a data packet: {packet}")
        return packet


class Wires(Protocol):
    """Ports by number, frames, and the clock that both belong to."""

    @property
    def now(self) -> float:
        """Seconds."""
        ...

    def send(self, port: int, *frames: bytes) -> None:
        """Frames into a port of the switch."""
        ...

    def receive(self, port: int, n: int, limit_s: float) -> list[Arrival]:
        """The next n frames out of a port, or those that come within a limit."""
        ...

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        ...


class LiveWires:
    """Interfaces, by ptf's data plane, and the machine's clock."""

    def __init__(self, dataplane: Any) -> None:
        self._dataplane = dataplane
        for port in dataplane.ports.values():
            port.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        dataplane.flush()

    @property
    def now(self) -> float:
        return time.time()  # as ptf notes arrivals

    def send(self, port: int, *frames: bytes) -> None:
        for frame in frames:
            self._dataplane.send(0, port, frame)

    def receive(self, port: int, n: int, limit_s: float) -> list[Arrival]:
        arrivals: list[Arrival] = []
        end = time.monotonic() + limit_s
        while len(arrivals) < n:
            timeout = max(0.0, end - time.monotonic())
            result = self._dataplane.poll(device_number=0, port_number=port, timeout=timeout)
            if not isinstance(result, self._dataplane.PollSuccess):
                break
            arrivals.append(Arrival(bytes(result.packet), result.time))
        return arrivals

    def advance(self, seconds: float) -> None:
        time.sleep(seconds)


class ClockWires:
    """Ports without interface of an embedded switch whose time only this moves. Begins a second or
    more after whatever was before, on a whole one, so that a test sees the same fractions of a
    second each time."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._waiting: dict[int, deque[Arrival]] = {}
        clock.advance((2_000_000_000 - clock.now_ns % 1_000_000_000) / 1e9)
        self._begin_ns = self._now_ns = clock.now_ns
        clock.departed()
        self.record: list[str] = []

    @property
    def now(self) -> float:
        return (self._now_ns - self._begin_ns) / 1e9

    @property
    def clock_s(self) -> float:
        """Of the switch, since it began."""
        return self._now_ns / 1e9

    def send(self, port: int, *frames: bytes) -> None:
        for frame in frames:
            self._note(self._now_ns, f"into {port}", frame)
        self._clock.send(port, *frames)
        self._take()

    def receive(self, port: int, n: int, limit_s: float) -> list[Arrival]:
        waiting = self._waiting.setdefault(port, deque())
        if len(waiting) < n:
            self._moved(self._clock.advance_until(port, n - len(waiting), limit_s))
        return [waiting.popleft() for _ in range(min(n, len(waiting)))]

    def advance(self, seconds: float) -> None:
        self._moved(self._clock.advance(seconds))

    def _moved(self, now: float) -> None:
        self._now_ns = round(now * 1e9)
        self._take()

    def _take(self) -> None:
        for port, time_ns, data in self._clock.departed():
            self._note(time_ns, f"out of {port}", data)
            arrival = Arrival(data, (time_ns - self._begin_ns) / 1e9)
            self._waiting.setdefault(port, deque()).append(arrival)

    def _note(self, time_ns: int, where: str, frame: bytes) -> None:
        self.record.append(note((time_ns - self._begin_ns) / 1e9, where, frame))


def note(at: float, where: str, frame: bytes) -> str:
    """Returns the line of a frame in a record."""
    return f"{at:.9f} {where}: {_short(frame)}"


def _short(frame: bytes) -> str:
    """All of a frame in hexadecimal digits; instead of many zeros their number."""
    parts = re.split(rb"(\0{16,})", frame)
    return " ".join(
        f"({len(part)} B of 0)" if part.startswith(bytes(16)) else part.hex()
        for part in parts
        if part
    )
