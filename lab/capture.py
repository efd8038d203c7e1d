"""What passes a port, both ways, as a file that Wireshark opens.

capture(lab, "s1", 3, Path("s1-3.pcapng"), duration_s=10e-3)

A frame is taken where it arrives: at the port, or, if it went out, at the far end of the link,
where it is put when the link's delay is over; that delay is subtracted again. So stamps are those
of the port: when the last bit came in, or left. They are nominal, seconds of the modelled network
since its time 0, as in the agents' logs, or real.

A file holds its whole interval, in order: it ends when every frame until the end has been read,
however late this process is. What the kernel had no room for meanwhile is counted.
"""

from __future__ import annotations

import errno
import heapq
import io
import math
import os
import socket
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pcn.base import captures, owner_only
from pcn.base.errors import NO_ROOM, LabError
from pcn.base.namespaces import in_namespace, listen_to_all
from pcn.base.pcapng import PcapngWriter, keep_whole
from pcn.hosts import wire
from pcn.lab.inside.client import request
from pcn.lab.journal import BY_MININET, DELAY_BY_NOBODY
from pcn.lab.network import DELAY_BY_AGENTS
from pcn.lab.running import Running, endpoint, namespace_pid
from pcn.topologies.model import Endpoint

_ETH_P_ALL = 0x0003
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 263, 6, 23
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_BUFFER_BYTES = 64 << 20
_KERNEL_STAMP = struct.Struct("@qq")
# The kernel stamps a frame before it hands it to a socket. Another one, of another core, may come
# in between: for so long a frame waits for older ones. One that is later still is counted as lost.
_LATE_NS = 200_000_000
# The kernel stamps frames by the machine's clock. NTP slews that by 10 us between two looks; a
# clock that is set jumps.
_JUMP_NS = 10_000_000
# So rarely it reads, many frames at once where they are dense: to wake up for each costs four times
# as much CPU.
_LOOK_S = 0.02
_BATCH = 256


class CaptureError(LabError):
    """A capture that can't be made."""


@dataclass(frozen=True)
class Captured:
    """What a capture holds: frames by kind, and how many more passed while it lasted that aren't in
    it, because this process was too slow for them. `nominal_s` is how long it lasted: to its last
    frame, if `count` ended it."""

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
    overwrite: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> Captured:
    """Captures at a port of a switch or a host until `duration_s` (nominal) is over, `count` frames
    are written, `stopped` returns True (it is called several times a second), or the network ends.

    A path must not exist yet, unless `overwrite`. Raises UnknownNameError, TopologyError,
    CaptureError, NamespaceError.
    """
    end = endpoint(lab.topology, node, port)
    if lab.record.is_inside:
        if real_time:
            raise CaptureError("frames inside an engine have no real times: leave --real-time out")
        with ExitStack() as stack:
            output = (
                stack.enter_context(_opened(file, overwrite)) if isinstance(file, Path) else file
            )
            return _inside(lab, end, output, duration_s, count, stopped)
    clock = _StampClock.now(lab, real_time)
    dilation = lab.record.dilation
    with ExitStack() as stack:
        link = lab.topology.link_at(end.node, end.port)
        peer = link.far_end(end.node)
        delayed = _delays(lab, end.node)
        taps = [
            Tap(stack.enter_context(_arriving(lab, end)), True, 0.0),
            Tap(
                stack.enter_context(_arriving(lab, peer)), False, link.delay_s * dilation * delayed
            ),
        ]
        output = stack.enter_context(_opened(file, overwrite)) if isinstance(file, Path) else file
        description = f"{end} to {peer} in {lab.record.name}, {link.rate_bps / 1e9:g} Gbit/s"
        writer = PcapngWriter(output, end.interface, description, clock.explanation)
        kinds: Counter[str] = Counter()
        start_ns = time.time_ns()
        end_ns = math.inf if duration_s is None else start_ns + duration_s * dilation * 1e9
        merged = Merged(taps, start_ns, end_ns, lambda: stopped() or not lab.record.owner.alive())
        for stamp_ns, incoming, frame in merged:
            writer.write(clock.stamp(stamp_ns), frame, incoming)
            kinds[kind(frame)] += 1
            if kinds.total() == count:
                merged.end_ns = stamp_ns
                break
        output.flush()
        return Captured(
            str(end),
            kinds.total(),
            dict(kinds.most_common()),
            merged.lost(),
            (merged.end_ns - start_ns) / 1e9 / dilation,
            "real" if real_time else "nominal",
        )


def _inside(
    lab: Running,
    end: Endpoint,
    output: BinaryIO,
    duration_s: float | None,
    count: int | None,
    stopped: Callable[[], bool],
) -> Captured:
    """Captures in an engine, which writes each direction to a file; they are merged at the end."""
    link = lab.topology.link_at(end.node, end.port)
    place = {"node": end.node, "port": end.port}
    with tempfile.TemporaryFile() as leaving, tempfile.TemporaryFile() as coming:
        start_s = request(
            lab.record, "capture", **place, pid=os.getpid(), out=leaving.fileno(),
            into=coming.fileno(),
        )  # fmt: skip
        until_s, frames, now_s = start_s + (duration_s or math.inf), 0, start_s
        while (
            not stopped()
            and now_s < until_s
            and (count is None or frames < count)
            and lab.record.owner.alive()
        ):
            left_s = max(0.0, until_s - now_s) * lab.record.dilation
            # the engine writes the frames; it reports their number on request alone
            time.sleep(min(_LOOK_S, left_s))
            now_s, frames = request(lab.record, "captured", **place)
        until_s = min(until_s, request(lab.record, "uncapture", **place))
        writer = PcapngWriter(
            output,
            end.interface,
            f"{end} to {link.far_end(end.node)} in {lab.record.name}, {link.rate_bps / 1e9:g} "
            "Gbit/s",
            "Time stamps are simulated time.",
        )
        kinds: Counter[str] = Counter()
        delay_ns, last_ns = round(link.delay_s * 1e9), 0
        for at_ns, incoming, frame in heapq.merge(
            _stamped(leaving, 0, False), _stamped(coming, delay_ns, True)
        ):
            if start_s <= at_ns / 1e9 <= until_s and kinds.total() != count:
                writer.write(at_ns, frame, incoming)
                kinds[kind(frame)] += 1
                last_ns = at_ns
        output.flush()
    if kinds.total() == count:
        until_s = last_ns / 1e9
    return Captured(
        str(end), kinds.total(), dict(kinds.most_common()), 0, until_s - start_s, "nominal"
    )


def _stamped(file: BinaryIO, delay_ns: int, incoming: bool) -> Iterator[tuple[int, bool, bytes]]:
    """Yields when each frame was at the port, whether it came in, and it."""
    file.seek(0)
    for frame in captures.frames(file):
        yield frame.time_ns + delay_ns, incoming, frame.data


def _delays(lab: Running, node: str) -> bool:
    """Returns whether a node's frames reach the far end a link's delay after they left."""
    if lab.record.role == BY_MININET and lab.topology.is_host(node):  # the kernel sends
        return False
    return lab.record.features.get("link_delay") not in (DELAY_BY_AGENTS, DELAY_BY_NOBODY)


def kind(frame: bytes) -> str:
    """Returns what a frame is: "data", "data, CE", "CNP", "CNM", "ACK", "PAUSE", "RESUME" or
    "other"."""
    try:
        packet = wire.decode(frame)
    except wire.WireError:
        return "other"
    if isinstance(packet, wire.PfcFrame):
        return "PAUSE" if any(packet.quanta.values()) else "RESUME"
    if isinstance(packet, wire.DataPacket):
        return "data, CE" if packet.ecn == wire.ECN_CE else "data"
    return type(packet).__name__.removesuffix("Packet").upper()


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
            return cls(
                0, 1, f"Time stamps are real. Nominal time passes {dilation:g} times slower."
            )
        before = time.time_ns()
        # Time 0 is the agents'. Where there is none: now.
        nominal_s = next((agent.stats().now_s for agent in lab.agents.values()), 0.0)
        now_ns = (before + time.time_ns()) / 2
        # Stamps can't be negative: before the network's time 0 they count from now.
        offset_s = min(0.0, nominal_s)
        explanation = (
            f"Time stamps are nominal: seconds of the modelled network, since {offset_s:g} s of "
            f"its time. Real time passes {dilation:g} times slower."
        )
        return cls(now_ns - (nominal_s - offset_s) * 1e9 * dilation, dilation, explanation)

    def stamp(self, kernel_ns: int) -> int:
        return max(0, round((kernel_ns - self.origin_ns) / self.dilation))


class Tap:
    """One direction: a socket where its frames arrive, and how long before that they were at the
    port.

    `whole_ns`: every frame that was at the port until then has been read.
    """

    def __init__(self, connection: socket.socket, incoming: bool, before_s: float) -> None:
        self.connection = connection
        self.incoming = incoming
        self.before_ns = round(before_s * 1e9)
        self.whole_ns: float = -math.inf
        self._dropped: list[tuple[int, int, int]] = []
        self._looked_ns = 0

    def read(self, now_ns: int) -> list[tuple[int, bytes]]:
        """Returns what has come, a batch at most: when it was at the port (the kernel's time, in
        nanoseconds), and frames."""
        self._count_dropped(now_ns)
        frames: list[tuple[int, bytes]] = []
        until_ns = now_ns - self.before_ns
        for _ in range(_BATCH):
            try:
                frame, extra, _, _ = self.connection.recvmsg(wire.MAX_FRAME, 64)
            except BlockingIOError:
                break
            except OSError as error:
                # told once; a link that is down may come back
                if error.errno in (
                    errno.ENETDOWN,
                    errno.ENODEV,
                ):
                    continue
                raise
            for level, cmsg_type, data in extra:
                if (level, cmsg_type) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, nanoseconds = _KERNEL_STAMP.unpack_from(data)
                    frames.append((seconds * 10**9 + nanoseconds - self.before_ns, frame))
        else:
            until_ns = frames[-1][0] if frames else until_ns
        self.whole_ns = max(self.whole_ns, until_ns - _LATE_NS)
        return frames

    def dropped(self, start_ns: float, end_ns: float) -> int:
        """Returns the frames that were at the port in this time and found no room. As exact as the
        times between two reads."""
        start_ns, end_ns = start_ns + self.before_ns, end_ns + self.before_ns
        return sum(
            n
            for since_ns, until_ns, n in self._dropped
            if since_ns <= end_ns and until_ns >= start_ns
        )

    def _count_dropped(self, now_ns: int) -> None:
        """Reading resets the kernel's count: these are the losses since the last call."""
        raw = self.connection.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        if dropped := struct.unpack("II", raw)[1]:
            self._dropped.append((self._looked_ns, now_ns, dropped))
        self._looked_ns = now_ns


class Merged:
    """The frames of several taps in the order of their times, from the start to the end: when each
    was at the port, whether it came in, and it. `stopped` ends it now. `now_ns` is the clock of the
    kernel's stamps, `steady_ns` one that can't be set; raises CaptureError when the first was set
    meanwhile."""

    def __init__(
        self,
        taps: Sequence[Tap],
        start_ns: int,
        end_ns: float,
        stopped: Callable[[], bool],
        now_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.end_ns = end_ns
        self._taps = taps
        self._start_ns = start_ns
        self._stopped = stopped
        self._now_ns = now_ns
        self._steady_ns = steady_ns
        self._too_late = 0

    def __iter__(self) -> Iterator[tuple[int, bool, bytes]]:
        waiting: list[tuple[int, int, bool, bytes]] = []
        number, given_ns, whole_ns, backlog = 0, 0, -math.inf, False
        last_before_ns = max(tap.before_ns for tap in self._taps)
        ahead_ns = self._ahead_ns()
        while whole_ns < self.end_ns:
            if self._stopped():
                self.end_ns = min(self.end_ns, self._now_ns())
            if not backlog:
                left_s = (self.end_ns + _LATE_NS + last_before_ns - self._now_ns()) / 1e9
                # taps are read in one go, so that frames of both directions stand in order of time
                time.sleep(max(0.0, min(_LOOK_S, left_s)))
            backlog = False
            read = [(tap, tap.read(self._now_ns())) for tap in self._taps]
            ahead_ns = self._unset_since(ahead_ns)
            for tap, frames in read:
                backlog |= len(frames) >= _BATCH
                for at_ns, frame in frames:
                    number += 1
                    if not self._start_ns <= at_ns <= self.end_ns:
                        continue
                    if at_ns < given_ns:
                        self._too_late += 1
                    else:
                        heapq.heappush(waiting, (at_ns, number, tap.incoming, frame))
            whole_ns = min(tap.whole_ns for tap in self._taps)
            while waiting and waiting[0][0] <= whole_ns:
                given_ns, _, incoming, frame = heapq.heappop(waiting)
                if given_ns > self.end_ns:  # which `stopped` has set meanwhile
                    return
                yield given_ns, incoming, frame

    def _ahead_ns(self) -> tuple[int, int]:
        """Returns bounds on how far the stamps' clock is ahead of the steady one: wide after a
        preemption."""
        before = self._steady_ns()
        now = self._now_ns()
        return now - self._steady_ns(), now - before

    def _unset_since(self, last: tuple[int, int]) -> tuple[int, int]:
        """Returns the bounds of now; raises when the stamps' clock was set since `last`."""
        least, most = self._ahead_ns()
        if (jump := max(least - last[1], last[0] - most)) > _JUMP_NS:
            raise CaptureError(
                f"the machine's clock was set {'forward' if least > last[1] else 'back'} by "
                f"{jump / 1e9:.2f} s during the capture, and frames are stamped by it: what came "
                "before that is kept; capture again"
            )
        return least, most

    def lost(self) -> int:
        """Returns the frames of this time that weren't given out: the kernel had no room, or had
        them far too late."""
        return self._too_late + sum(tap.dropped(self._start_ns, self.end_ns) for tap in self._taps)


@contextmanager
def _arriving(lab: Running, end: Endpoint) -> Iterator[socket.socket]:
    """Yields what arrives at an interface: outgoing frames don't show everywhere, as programs
    bypass the queueing layer."""

    def make() -> socket.socket:
        connection = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        connection.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        connection.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        connection.setblocking(False)
        listen_to_all(connection, end.interface)
        connection.bind((end.interface, _ETH_P_ALL))
        return connection

    with in_namespace(namespace_pid(lab, end.node), make) as connection:
        yield connection


@contextmanager
def _opened(path: Path, overwrite: bool) -> Iterator[BinaryIO]:
    """Opens a capture's file for a block. Where the disk gets full, the file ends with a whole
    frame. Raises CaptureError."""
    try:
        raw = os.fdopen(owner_only.output(path, overwrite=overwrite), "wb", buffering=0)
    except FileExistsError:
        way_out = "choose another file, or overwrite it (--overwrite, in Python overwrite=True)"
        raise CaptureError(f"{path} is there already: {way_out}") from None
    except owner_only.NotPrivateError as error:
        raise CaptureError(f"can't write {error}") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise CaptureError(f"can't write {path}: {error.strerror}") from None
    with raw, io.BufferedWriter(raw) as output:
        try:
            yield output
            output.flush()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            frames = keep_whole(path)
            raw.close()  # else what has no room would be written again
            text = (
                f"can't write {path} to its end: {error.strerror}; the first {frames} frames are "
                "in it"
            )
            raise CaptureError(text) from None
