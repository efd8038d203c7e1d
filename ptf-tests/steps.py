"""A model of the chip whose clock and queues a test moves: here is the traffic manager that the
model doesn't have.

The model shares a file with us (`Control`): we write the time and how many packets may leave each
queue, it writes what waits there. So a test's time passes as on the embedded switch's manual clock:
strict priorities, a rate for each port, PAUSE and RESUME by class, and each packet leaves at a
nanosecond that follows from the test's text alone.
"""

from __future__ import annotations

import contextlib
import heapq
import mmap
import struct
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wires import Arrival, note

from pcn.hosts import wire

CLASSES = 8
_PORTS = 72
_CELLS = struct.Struct("<Q")
_NUMBER = struct.Struct("<I")
_MAGIC, _NOW, _ENQUEUED, _DEQUEUED = 0, 8, 16, 24
_DEPTHS = 32  # then packets, then permits: each by port and class
_ARRAY = 4 * _PORTS * CLASSES
_PENDING = _DEPTHS + 3 * _ARRAY
_ARRIVED = _PENDING + 8
BYTES = _ARRIVED + 8
LIMIT_S = 30.0
_LOOK_S = 50e-6
_FLOW_CONTROL = struct.pack("!H", wire.ETHERTYPE_FLOW_CONTROL)
_QUANTUM_NS = 1_000_000  # of a PAUSE; testbed's
_SETTLED_LOOKS = 3


class Control:
    """The file that the model shares. Raises AssertionError if the model stands still for longer
    than a limit."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), BYTES)
        self._write(_MAGIC, 1)

    def close(self) -> None:
        self._memory.close()

    def _write(self, at: int, value: int) -> None:
        _CELLS.pack_into(self._memory, at, value)

    def _read(self, at: int) -> int:
        return int(_CELLS.unpack_from(self._memory, at)[0])

    @property
    def now_ns(self) -> int:
        return self._read(_NOW)

    @now_ns.setter
    def now_ns(self, value: int) -> None:
        self._write(_NOW, value)

    @property
    def arrived(self) -> int:
        return self._read(_ARRIVED)

    def packets(self, port: int, number: int) -> int:
        """Returns how many wait at a port and class."""
        return int(
            _NUMBER.unpack_from(self._memory, _DEPTHS + _ARRAY + 4 * (CLASSES * port + number))[0]
        )

    def _waiting(self) -> int:
        return sum(
            value
            for (value,) in _NUMBER.iter_unpack(
                self._memory[_DEPTHS + _ARRAY : _DEPTHS + 2 * _ARRAY]
            )
        )

    def permit(self, port: int, number: int) -> None:
        """Lets one packet leave its queue, and returns once it has."""
        before = self._read(_DEQUEUED)
        _NUMBER.pack_into(self._memory, _DEPTHS + 2 * _ARRAY + 4 * (CLASSES * port + number), 1)
        self.wait(
            lambda: self._read(_DEQUEUED) > before, f"no packet left queue {number} of port {port}"
        )

    def settle(self) -> None:
        """Returns once all that is inside waits in a queue for leave to go."""
        looks = 0

        def settled() -> bool:
            nonlocal looks
            looks = looks + 1 if self._read(_PENDING) == self._waiting() else 0
            return looks >= _SETTLED_LOOKS

        self.wait(settled, "packets are still on their way through the model")

    def wait(self, condition: Any, trouble: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"the model: {trouble}, for {LIMIT_S:g} s")
            time.sleep(_LOOK_S)


class SteppedWires:
    """Ports by number of such a model; ptf's data plane carries the frames."""

    def __init__(self, dataplane: Any, control: Control, rates_bps: Mapping[int, float]) -> None:
        self._dataplane, self._control, self._rates = dataplane, control, dict(rates_bps)
        dataplane.flush()
        # The chip's program counts 2^32 ns, and takes 0 for its first RESUME (docs/tofino.md): a
        # test begins a second after, and later than whatever was before.
        control.now_ns = self._begin_ns = ((control.now_ns >> 32) + 1 << 32) + 1_000_000_000
        self._free_ns = dict.fromkeys(self._rates, self._begin_ns)
        self._paused_until: dict[tuple[int, int], int] = {}
        self._leaving: list[tuple[int, int, int, bytes]] = []
        self._left = 0
        self._waiting: dict[int, deque[Arrival]] = {port: deque() for port in self._rates}
        self.record: list[str] = []
        control.settle()

    @property
    def now(self) -> float:
        return (self._control.now_ns - self._begin_ns) / 1e9

    @property
    def clock_s(self) -> float:
        """Of the chip, whose program counts its lower 32 bits of ns."""
        return self._control.now_ns / 1e9

    def send(self, port: int, *frames: bytes) -> None:
        for frame in frames:
            self.record.append(note(self.now, f"into {port}", frame))
            if frame[12:14] == _FLOW_CONTROL:
                self._obey(port, frame)
            else:
                before = self._control.arrived
                self._dataplane.send(0, port, frame)
                self._control.wait(
                    lambda before=before: self._control.arrived > before, "a frame doesn't arrive"
                )
                self._control.settle()
            self._serve()

    def _obey(self, port: int, frame: bytes) -> None:
        """Does with MAC control what a MAC does: only PFC comes through."""
        with contextlib.suppress(wire.WireError):
            packet = wire.decode(frame)
            if isinstance(packet, wire.PfcFrame):
                for number, quanta in packet.quanta.items():
                    self._paused_until[port, number] = self._control.now_ns + quanta * _QUANTUM_NS

    def receive(self, port: int, n: int, limit_s: float) -> list[Arrival]:
        waiting = self._waiting[port]
        self._until(self._control.now_ns + round(limit_s * 1e9), lambda: len(waiting) >= n)
        return [waiting.popleft() for _ in range(min(n, len(waiting)))]

    def advance(self, seconds: float) -> None:
        self._until(self._control.now_ns + round(seconds * 1e9), lambda: False)

    def packets(self, port: int, number: int) -> int:
        return self._control.packets(port, number)

    def _until(self, end_ns: int, done: Any) -> None:
        """Moves time from event to event."""
        while not done():
            then = min([end_ns, *self._events()])
            self._control.now_ns = then
            self._arrive()
            self._serve()
            if then == end_ns:
                return

    def _events(self) -> list[int]:
        """Returns when something may happen: a line is free, a pause runs out."""
        now = self._control.now_ns
        return [
            time_ns
            for time_ns in (*(entry[0] for entry in self._leaving), *self._paused_until.values())
            if time_ns > now
        ]

    def _arrive(self) -> None:
        while self._leaving and self._leaving[0][0] <= self._control.now_ns:
            at_ns, _, port, frame = heapq.heappop(self._leaving)
            at = (at_ns - self._begin_ns) / 1e9
            self.record.append(note(at, f"out of {port}", frame))
            self._waiting[port].append(Arrival(frame, at))

    def _serve(self) -> None:
        """Lets leave what may at this time: of each free port the highest class that isn't
        paused."""
        moved = True
        while moved:
            moved = False
            for port in self._rates:
                while self._free_ns[port] <= self._control.now_ns and self._dequeue(port):
                    moved = True
        self._arrive()

    def _dequeue(self, port: int) -> bool:
        now = self._control.now_ns
        for number in reversed(range(CLASSES)):
            if self._paused_until.get((port, number), 0) <= now and self._control.packets(
                port, number
            ):
                self._control.permit(port, number)
                result = self._dataplane.poll(device_number=0, port_number=port, timeout=LIMIT_S)
                if not isinstance(result, self._dataplane.PollSuccess):
                    raise AssertionError(
                        f"the model: a packet of class {number} doesn't leave port {port}"
                    )
                self._control.settle()
                frame = bytes(result.packet)
                self._free_ns[port] = now + round(8e9 * len(frame) / self._rates[port])
                self._left += 1
                heapq.heappush(self._leaving, (self._free_ns[port], self._left, port, frame))
                return True
        return False
