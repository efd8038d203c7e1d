"""What passes a port, both ways, as a file that Wireshark opens.

capture(lab, "s1", 3, Path("s1-3.pcapng"), duration_s=10e-3)

A frame is taken where it arrives: at the port, or, if it went out, at the far end of the link, where it is put when
the link's delay is over; that delay is subtracted again. So stamps are those of the port: when the last bit came in, or
left. They are nominal, seconds of the modelled network since its time 0, as in the agents' logs, or real.
"""

from __future__ import annotations

import heapq
import math
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from controller.namespaces import in_namespace
from controller.pcapng import PcapngWriter
from controller.running import Running, endpoint, namespace_pid
from hosts import wire
from topologies.errors import LabError
from topologies.model import Endpoint
from topologies.network import DELAY_BY_AGENTS

_ETH_P_ALL = 0x0003
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 263, 6, 23
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_BUFFER_BYTES = 64 << 20
_KERNEL_STAMP = struct.Struct("@qq")
# Frames of the two directions come out of the kernel in no common order, but no later than this.
_LATE_S = 0.05
_LOOK_S = 0.2
_BATCH = 256


class CaptureError(LabError):
    """A capture that can't be made."""


@dataclass(frozen=True)
class Captured:
    """What a capture holds: frames by kind, and how many were lost because this process was too slow for them.
    `nominal_s` is how long it lasted."""

    port: str
    frames: int
    kinds: dict[str, int]
    lost: int
    nominal_s: float
    time: str  # of the stamps: "nominal" or "real"


def capture(
    lab: Running,
    node: str,
    port: int | None,
    file: Path | BinaryIO,
    *,
    duration_s: float | None = None,
    count: int | None = None,
    real_time: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> Captured:
    """Captures at a port of a switch or a host until `duration_s` (nominal) is over, `count` frames are written, or
    `stopped` says so, which is asked several times a second.

    A path must not exist yet. Raises UnknownNameError, TopologyError, CaptureError or NamespaceError.
    """
    end = endpoint(lab.topology, node, port)
    clock = _StampClock.now(lab, real_time)
    with ExitStack() as stack:
        link = lab.topology.link_at(end.node, end.port)
        peer = link.other(end.node)
        delayed = lab.record.features.get("link_delay") != DELAY_BY_AGENTS
        taps = [
            _Tap(stack.enter_context(_arriving(lab, end)), True, 0.0),
            _Tap(stack.enter_context(_arriving(lab, peer)), False, link.delay_s * lab.record.dilation * delayed),
        ]
        output = stack.enter_context(_opened(file)) if isinstance(file, Path) else file
        description = f"{end} to {peer} in {lab.record.name}, {link.rate_bps / 1e9:g} Gb/s"
        writer = PcapngWriter(output, end.interface, description, clock.explanation)
        kinds: Counter[str] = Counter()
        began = time.monotonic()
        until = math.inf if duration_s is None else began + duration_s * lab.record.dilation
        for stamp_ns, incoming, frame in _ordered(taps, until, stopped):
            writer.write(clock.stamp(stamp_ns), frame, incoming)
            kinds[kind(frame)] += 1
            if kinds.total() == count:
                break
        output.flush()
        nominal_s = (min(time.monotonic(), until) - began) / lab.record.dilation
        return Captured(
            str(end),
            kinds.total(),
            dict(kinds.most_common()),
            sum(tap.lost() for tap in taps),
            nominal_s,
            "real" if real_time else "nominal",
        )


def kind(frame: bytes) -> str:
    """What a frame is: "data", "data, CE", "CNP", "CNM", "ACK", "PAUSE", "RESUME" or "other"."""
    try:
        found = wire.decode(frame)
    except wire.WireError:
        return "other"
    if isinstance(found, wire.PfcFrame):
        return "PAUSE" if any(found.quanta.values()) else "RESUME"
    if isinstance(found, wire.DataPacket):
        return "data, CE" if found.ecn == wire.ECN_CE else "data"
    return type(found).__name__.removesuffix("Packet").upper()


@dataclass(frozen=True)
class _StampClock:
    """Kernel time (nanoseconds since 1970) to the stamps of the file."""

    origin_ns: float
    dilation: float
    explanation: str

    @classmethod
    def now(cls, lab: Running, real_time: bool) -> _StampClock:
        dilation = lab.record.dilation
        if real_time:
            return cls(0, 1, f"Time stamps are real. Nominal time passes {dilation:g} times slower.")
        before = time.time_ns()
        nominal_s = next(iter(lab.agents.values())).stats().now_s
        now_ns = (before + time.time_ns()) / 2
        # Stamps can't be negative: before the network's time 0 they count from now.
        offset_s = min(0.0, nominal_s)
        explanation = (
            f"Time stamps are nominal: seconds of the modelled network, since {offset_s:g} s of its time. "
            f"Real time passes {dilation:g} times slower."
        )
        return cls(now_ns - (nominal_s - offset_s) * 1e9 * dilation, dilation, explanation)

    def stamp(self, kernel_ns: int) -> int:
        return max(0, round((kernel_ns - self.origin_ns) / self.dilation))


class _Tap:
    """One direction: a socket where its frames arrive, and how long before that they were at the port."""

    def __init__(self, connection: socket.socket, incoming: bool, before_s: float) -> None:
        self.connection = connection
        self.incoming = incoming
        self.before_ns = round(before_s * 1e9)

    def read(self) -> Iterator[tuple[int, bytes]]:
        """What has come: times (kernel's, in nanoseconds) and frames."""
        for _ in range(_BATCH):
            try:
                frame, extra, _, _ = self.connection.recvmsg(wire.MAX_FRAME, 64)
            except BlockingIOError:
                return
            for level, what, data in extra:
                if (level, what) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, nanoseconds = _KERNEL_STAMP.unpack_from(data)
                    yield seconds * 10**9 + nanoseconds - self.before_ns, frame

    def lost(self) -> int:
        raw = self.connection.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        return int(struct.unpack("II", raw)[1])


@contextmanager
def _arriving(lab: Running, end: Endpoint) -> Iterator[socket.socket]:
    """What arrives at an interface: outgoing frames don't show everywhere, as programs bypass the queueing layer."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        made.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        made.setblocking(False)
        made.bind((end.interface, _ETH_P_ALL))
        return made

    with in_namespace(namespace_pid(lab, end.node), make) as made:
        yield made


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("xb") as output:
            yield output
    except FileExistsError:
        raise CaptureError(f"{path} is there already: choose another file, or remove it") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise CaptureError(f"can't write {path}: {error.strerror}") from None


def _ordered(taps: list[_Tap], until: float, stopped: Callable[[], bool]) -> Iterator[tuple[int, bool, bytes]]:
    """Frames of all taps in the order of their times; those that came until then."""
    waiting: list[tuple[int, int, bool, bytes]] = []
    late_ns = round(_LATE_S * 1e9) + max(tap.before_ns for tap in taps)
    end_ns = math.inf if until == math.inf else time.time_ns() + (until - time.monotonic()) * 1e9
    number = 0
    while True:
        over = stopped() or time.time_ns() > end_ns + late_ns
        left_s = max(0.0, min(_LOOK_S, (end_ns + late_ns - time.time_ns()) / 1e9))
        select.select([tap.connection for tap in taps], [], [], 0 if over else left_s)
        for tap in taps:
            for at_ns, frame in tap.read():
                number += 1
                if at_ns <= end_ns:
                    heapq.heappush(waiting, (at_ns, number, tap.incoming, frame))
        ripe_ns = math.inf if over else time.time_ns() - late_ns
        while waiting and waiting[0][0] <= ripe_ns:
            at_ns, _, incoming, frame = heapq.heappop(waiting)
            yield at_ns, incoming, frame
        if over:
            return
