"""The C runtime as Python sees it: `NativeSwitch` wraps csrc/switch.h, call by call.

Any thread may call any method; the C side locks. The only rule is that no call follows `close()`,
which every method checks. Numbers are host integers; keys and frames are bytes, big endian as on
the wire.
"""

from __future__ import annotations

import ctypes
import errno as errno_names
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pcn.base import owner_only
from pcn.softswitch.cache.objects import load
from pcn.softswitch.native_state import NativeState
from pcn.softswitch.native_types import (
    PRIORITIES,
    EventHeader,
    PortStatsRecord,
    ReplicaRecord,
    TrimmingRecord,
    declare,
)
from pcn.softswitch.tick import TICK_NS
from pcn.softswitch.trimming import DEFAULT, Trimming

if TYPE_CHECKING:
    from pcn.softswitch.pace import Board

ERROR_BYTES: Final = 256
MAX_FRAME: Final = 16384  # bytes that one event may carry
RING_FRAMES: Final = (
    2000  # 0.4 s of 5,000 packets a second, which a sender that was late brings all at once
)

TRACE_BYTES: Final = 1 << 20  # of steps that one call takes
_CALLBACK: Final = ctypes.CFUNCTYPE(None)

EVENT_PACKET_IN: Final = 1
EVENT_DIGEST: Final = 2
EVENT_LOG: Final = 3
EVENT_NOTICE: Final = 4
EVENT_FENCE: Final = 5

CLOCK_LIVE: Final = 0
CLOCK_MANUAL: Final = 1


class NativeError(Exception):
    """The C runtime refused a call. `code` is a positive errno; the message is the runtime's own
    line."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


# NamedTuples, here and in options.py: a start takes 0.1 ms to make one, and 0.8 or more for a
# frozen dataclass.
class PortStats(NamedTuple):
    """A port's counts since it was made (csrc/switch.h describes them); `queue_packets`: those that
    wait now, by queue; `up`, 1 or 0: frames can leave by it."""

    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    rx_dropped: int
    tx_dropped: int
    queue_dropped: int
    trimmed: int
    queue_packets: Sequence[int]
    up: int


class Replica(NamedTuple):
    """Where the replication engine sends one copy."""

    port: int
    instance: int


class Event(NamedTuple):
    """A frame for the CPU port (`EVENT_PACKET_IN`), a packed digest of list `id` (`EVENT_DIGEST`),
    or a line of text from the program (`EVENT_LOG`) or the switch (`EVENT_NOTICE`), or what `fence`
    put there (`EVENT_FENCE`)."""

    kind: int
    id: int
    now_ns: int
    data: bytes


class Departed(NamedTuple):
    """A frame that left a port without interface, `now_ns` after the switch was made."""

    port: int
    now_ns: int
    data: bytes


def load_library(path: Path) -> ctypes.CDLL:
    """Loads the runtime with its symbols visible to the programs it will dlopen, and declares its
    functions. Raises BuildError."""
    library = load(path, mode=ctypes.RTLD_GLOBAL)
    declare(library)
    return library


class NativeSwitch(NativeState):
    """One switch of the C runtime. A context manager: leaving it stops the switch and closes its
    ports.

    `priorities`: queues a port, 1 to 8. `queue_depth`: packets a queue. `cpu_port` 0: none.
    `manual`: its clock stands at 0 until `advance` moves it. `tick_ns`: of the clock that programs
    read, 1 to 1,000. Raises NativeError.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        *,
        priorities: int = PRIORITIES,
        queue_depth: int = 64,
        cpu_port: int = 0,
        drop_port: int = 511,
        seed: int = 1,
        manual: bool = False,
        tick_ns: int = TICK_NS,
    ) -> None:
        self._lib = library
        self.manual = manual
        # C writes into them for as long as the switch is
        self._counts: list[ctypes.Array[ctypes.c_uint64]] = []
        self._handle: int | None = None
        self._close_lock = threading.Lock()
        self._event_lock = threading.Lock()
        self._departed_lock = threading.Lock()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        clock = CLOCK_MANUAL if manual else CLOCK_LIVE
        self._handle = library.sw_create(
            priorities, queue_depth, cpu_port, drop_port, seed & (2**64 - 1), clock, error
        )
        if not self._handle:
            raise NativeError(errno_names.EINVAL, _line(error) or "the switch could not be made")
        try:
            self._call("sw_set_tick", tick_ns)
        except NativeError:
            self.close()
            raise NativeError(
                errno_names.EINVAL, f"a tick of {tick_ns} ns: 1 to {TICK_NS} ns are possible"
            ) from None

    # made where they are read: a network may have thousands of switches that send nothing up
    @cached_property
    def _event_buffer(self) -> ctypes.Array[ctypes.c_char]:
        return ctypes.create_string_buffer(MAX_FRAME)

    @cached_property
    def _departed_buffer(self) -> ctypes.Array[ctypes.c_char]:
        return ctypes.create_string_buffer(MAX_FRAME)

    def close(self) -> None:
        """Stops the switch, closes its ports and frees it. Later calls raise; closing again does
        nothing."""
        with self._close_lock:
            handle, self._handle = self._handle, None
        if handle:
            self._lib.sw_stop(handle)  # wakes whoever waits in next_event
            with self._event_lock:
                self._lib.sw_destroy(handle)

    @property
    def library(self) -> ctypes.CDLL:
        """The runtime, for what needs no switch of it."""
        return self._lib

    @property
    def handle(self) -> int:
        """The C switch, for other C code of this process. Raises NativeError once it is closed."""
        if self._handle is None:
            raise NativeError(errno_names.ESHUTDOWN, "the switch is closed")
        return self._handle

    def __enter__(self) -> NativeSwitch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- ports ----

    def port_add(self, port: int, interface: str | None, ring_frames: int = RING_FRAMES) -> None:
        """Attaches an interface as a port, with a ring of `ring_frames` frames that have come and
        aren't read yet.

        None, with the manual clock alone: a port without interface, for `inject` and `departed`.
        """
        name = None if interface is None else os.fsencode(interface)
        self._call("sw_port_add", port, name, ring_frames, explain=True)

    def port_remove(self, port: int) -> None:
        """Detaches a port's interface."""
        self._call("sw_port_remove", port, explain=True)

    def port_shape(self, port: int, *, rate_bps: int, delay_ns: int = 0) -> None:
        """Sets a port's rate (0: unshaped) and link delay."""
        self._call("sw_port_shape", port, rate_bps, delay_ns, explain=True)

    def set_queue(
        self,
        port: int | None,
        queue: int | None,
        *,
        depth: int | None = None,
        rate_pps: int | None = None,
    ) -> None:
        """Sets a queue's depth in packets and its rate in packets/s (0: unlimited); None: as it is.
        `port` None: all ports, and those to come; `queue` None: all queues."""
        interval_ns = _AS_IT_IS if rate_pps is None else 10**9 // rate_pps if rate_pps else 0
        self._call(
            "sw_queue_set",
            -1 if port is None else port,
            -1 if queue is None else queue,
            _AS_IT_IS if depth is None else depth,
            interval_ns,
            explain=True,
        )

    def set_trimming(self, queues: Iterable[int], trimming: Trimming = DEFAULT) -> None:
        """Packets that these queues of a port refuse are trimmed, at all ports."""
        self._call("sw_set_trimming", ctypes.byref(TrimmingRecord.of(queues, trimming)))

    def port_capture(self, port: int, *, out: bool, path: Path) -> None:
        """Captures the frames that come in by a port, or leave by it, from now on. Raises
        NativeError."""
        try:
            descriptor = owner_only.output(path)
        except (OSError, owner_only.NotPrivateError) as error:
            code = getattr(error, "errno", None) or errno_names.EACCES
            raise NativeError(
                code, f"cannot write {path}: {getattr(error, 'strerror', error)}"
            ) from None
        try:
            self._call("sw_port_capture", port, out, descriptor, explain=True)
        except NativeError as error:
            raise NativeError(error.code, f"cannot write {path}: {error}") from None

    def port_stats(self, port: int) -> PortStats:
        """Returns what a port has counted; nothing, where there is no such port."""
        raw = PortStatsRecord()
        self._call("sw_port_stats", port, ctypes.byref(raw))
        return PortStats._make(getattr(raw, name) for name in PortStats._fields)

    # ---- running ----

    def report_pace(self, board: Board, slot: int) -> None:
        """Before `start`: reports whether it keeps pace in a slot of the board, which must outlive
        the switch."""
        self._call("sw_report_pace", board.address, board.slot_address(slot))

    def start(self) -> None:
        """Starts the worker thread."""
        self._call("sw_start", explain=True)

    @staticmethod
    def start_together(switches: Sequence[NativeSwitch]) -> None:
        """Starts one worker thread for several switches."""
        first, error = switches[0], ctypes.create_string_buffer(ERROR_BYTES)
        handles = (ctypes.c_void_p * len(switches))(*(switch.handle for switch in switches))
        result = first._lib.sw_start_together(handles, len(switches), error)
        if result < 0:
            raise NativeError(-result, _line(error) or os.strerror(-result))

    def connect(self, port: int, peer: NativeSwitch, peer_port: int) -> None:
        """Before `start_together`, and before the ports are added: the link between the two is in
        memory. Connected switches are stopped before any is closed."""
        self._call("sw_connect", port, peer.handle, peer_port)

    def connect_process(self, port: int, memory: int, bell: int, end: int) -> None:
        """Likewise: the link to another process, a host's agent or a switch, is in memory, and the
        port is that `end` of it. The switch closes the socket `bell`."""
        self._call("sw_connect_process", port, memory, bell, end)

    def set_slack(self, ns: int) -> None:
        """Before `start`: the worker may do what is due so late, for fewer wake-ups."""
        self._call("sw_set_slack", ns)

    def keep_namespace(self) -> None:
        """Interfaces that return are opened in the network namespace of this thread."""
        self._call("sw_keep_namespace")

    def stop(self) -> None:
        """Stops the worker thread and wakes all threads that wait for an event."""
        self._call("sw_stop")

    def load(self, program: Path, counts: ctypes.Array[ctypes.c_uint64] | None = None) -> None:
        """Loads a program's shared object, with empty tables and zeroed state. On failure the old
        one goes on. What a covered program counts is added to `counts`, one for each of its points,
        by `collect` and at its end."""
        self._call(
            "sw_load", os.fsencode(program), counts, len(counts) if counts else 0, explain=True
        )
        if counts is not None and counts not in self._counts:
            self._counts.append(counts)

    def collect(self) -> None:
        """Adds what the covered program has counted to the counts of `load`."""
        self._call("sw_collect")

    # ---- the clock ----

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the switch was made, by its clock."""
        return int(self._lib.sw_time_ns(self.handle))

    def set_time(self, now_ns: int) -> None:
        """With the manual clock, where an engine moves packets: what it is now, for calls. Nothing
        is processed."""
        self._call("sw_set_time", now_ns)

    def timestamp_ns(self) -> int:
        """Returns the time for messages: nanoseconds since 1970, or with the manual clock
        `now_ns`."""
        return self.now_ns if self.manual else time.time_ns()

    def advance(self, until_ns: int, port: int = 0, frames: int = 0) -> bool:
        """Moves the manual clock towards `until_ns` and does what is due on the way. Whether it is
        there.

        It isn't yet if something is due at this moment that `next_event` returns, or another caller
        may have waited;
                nor if the number of frames have left by a port that `left_by` counts.
        """
        return not self._call("sw_advance", until_ns, port, frames)

    def set_reentry(self, ns: int) -> None:
        """With the manual clock: how long resubmitted and recirculated packets are on their way
        back to the parser."""
        self._call("sw_reentry", ns)

    def left_by(self, port: int) -> int:
        """Returns how many frames have left by a port so far."""
        return int(self._lib.sw_tx_count(self.handle, port))

    def inject(self, port: int, frame: bytes) -> None:
        """A frame comes in at a port without interface. What it causes at this time is done on
        return."""
        self._call("sw_inject", port, frame, len(frame), explain=True)

    def departed(self) -> list[Departed]:
        """Returns the frames that left ports without interface since the last call, in order."""
        raw, frames = EventHeader(), []
        with self._departed_lock:
            while self._call("sw_departed", ctypes.byref(raw), self._departed_buffer, MAX_FRAME):
                data = ctypes.string_at(self._departed_buffer, raw.length)
                frames.append(Departed(raw.id, raw.now_ns, data))
        return frames

    # ---- replication, packets ----

    def clone_session(
        self, session: int, replicas: Sequence[Replica], truncate_to: int = 0
    ) -> None:
        """Sets a clone session; no replica: removes it if it is there. `truncate_to` bytes; 0:
        whole packets."""
        self._set_group("sw_clone_session", session, replicas, truncate_to)

    def multicast_group(self, group: int, replicas: Sequence[Replica]) -> None:
        """Sets a multicast group; no replica: removes it if it is there."""
        self._set_group("sw_multicast_group", group, replicas)

    def packet_out(self, port: int, frame: bytes) -> None:
        """Injects a frame as if it came in on `port`."""
        self._call("sw_packet_out", port, frame, len(frame))

    def generate(self, port: int, period_ns: int, packet_ids: Sequence[int]) -> None:
        """Every `period_ns` from now on, a frame of the switch's own comes in on `port` for each
        packet id (16 bits); csrc/generator.h has its header. No id: none does."""
        packed = (ctypes.c_uint16 * len(packet_ids))(*packet_ids)
        self._call("sw_generate", port, period_ns, packed, len(packet_ids), explain=True)

    def next_event(self, timeout_ms: int) -> Event | None:
        """Waits for a packet-in or a digest; None after `timeout_ms`. Raises NativeError once the
        switch stopped."""
        raw = EventHeader()
        with self._event_lock:
            got = self._call(
                "sw_next_event", timeout_ms, ctypes.byref(raw), self._event_buffer, MAX_FRAME
            )
            if not got:
                return None
            return Event(
                raw.kind, raw.id, raw.now_ns, ctypes.string_at(self._event_buffer, raw.length)
            )

    def fence(self, number: int) -> None:
        """Puts an event behind those there are: who reads it has read all of them."""
        self._call("sw_fence", number)

    # ---- steps of a traced program ----

    def trace(self, most_bytes: int, full: Callable[[], None] | None = None) -> None:
        """Keeps the steps of traced programs from now on, in at most `most_bytes`. `full` is called
        where there is no room, and takes them: where one thread moves packets and reads. None: what
        finds no room is lost."""
        self._trace_full = _CALLBACK(full) if full is not None else None
        self._trace_buffer = ctypes.create_string_buffer(TRACE_BYTES)
        self._call("sw_trace_start", most_bytes, self._trace_full)

    def take_trace(self, timeout_ms: int) -> tuple[bytes, int]:
        """Waits for steps (csrc/switch.h, struct sw_trace_step) and takes some, and the number of
        those lost before. Raises NativeError once the switch stopped and all are taken. One caller
        at a time."""
        lost = ctypes.c_uint64()
        got = self._call(
            "sw_trace_take", timeout_ms, self._trace_buffer, TRACE_BYTES, ctypes.byref(lost)
        )
        return ctypes.string_at(self._trace_buffer, got), lost.value

    def _set_group(self, name: str, number: int, replicas: Sequence[Replica], *more: int) -> None:
        try:
            self._call(name, number, _replicas(replicas), len(replicas), *more, explain=True)
        except NativeError as error:
            if replicas or error.code != errno_names.ENOENT:
                raise

    def _call(self, name: str, *arguments: Any, explain: bool = False) -> int:
        handle = self.handle
        function = getattr(self._lib, name)
        if not explain:
            result: int = function(handle, *arguments)
            if result < 0:
                raise NativeError(-result, f"{name}: {os.strerror(-result)}")
            return result
        error = ctypes.create_string_buffer(ERROR_BYTES)
        result = function(handle, *arguments, error)
        if result < 0:
            raise NativeError(-result, _line(error) or f"{name}: {os.strerror(-result)}")
        return result


_AS_IT_IS: Final = 2**64 - 1  # of a queue


def _replicas(replicas: Sequence[Replica]) -> Any:
    return (ReplicaRecord * len(replicas))(
        *[ReplicaRecord(replica.port, replica.instance) for replica in replicas]
    )


def _line(error: ctypes.Array[ctypes.c_char]) -> str:
    return error.value.decode("utf-8", "replace").strip()
