"""Frames at hosts with the endpoint "source": what they send at which times, and what arrives."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pcn.topologies.model import Endpoint
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.network_part import NetworkPart
from pcn.virtualnet.times import LONGEST_S, picoseconds

STORED_BYTES = 128
"""Of a frame that isn't stored whole: the first are stored, the others are zeros."""
Times: TypeAlias = Sequence[float] | npt.NDArray[np.float64]
Numbers: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]


class Arrived(NamedTuple):
    """A frame that has arrived at a host: simulated seconds, its first bytes (those that are
    stored), its length."""

    time_s: float
    start: bytes
    length: int


class Arrivals(NamedTuple):
    """What has arrived at a host, in sum. Delays are of frames that hosts sent, from the time at
    which each was to be sent, with its wait for the link, to its arrival. `marked_ce_frames`: those
    of IPv4 with that ECN codepoint."""

    frames: int
    bytes: int
    first_s: float
    last_s: float
    timed_frames: int
    mean_delay_s: float
    longest_delay_s: float
    marked_ce_frames: int


class Frames(NetworkPart):
    """The part of a TimedNetwork that sends and takes frames."""

    whole_bytes: int | None
    _numbered: Callable[[Callable[[], None]], int]

    def send(
        self,
        host: str,
        time_s: float,
        frame: bytes,
        *,
        length: int | None = None,
        traffic_class: int = 0,
        port: int | None = None,
    ) -> None:
        """A host sends a frame of `length` bytes (those of `frame`; the others are zeros) at that
        time, or as soon then as the class of its link may; by its first port, or `port`."""
        if length is not None and length < len(frame):
            raise VirtualError(f"{host}: a frame of {len(frame)} bytes in {length}")
        time = ctypes.c_uint64(picoseconds(time_s))
        buffers = self._keep(host, frame, length)
        self._check(
            self._library.vn_source_frames(
                self._changing(), self._link(host, port), traffic_class, 1, ctypes.byref(time),
                buffers, None, None,
            )
        )  # fmt: skip

    def send_all(
        self,
        host: str,
        times_s: Times,
        frames: Sequence[bytes],
        *,
        which: Numbers | None = None,
        lengths: Numbers | None = None,
        traffic_class: int = 0,
        port: int | None = None,
    ) -> None:
        """A host sends a frame at each of these times, in ascending order, or as soon then as the
        class of its link may: `frames[which[i]]` (default: the frames in turn) with `lengths[i]`
        bytes, which cut it or add zeros (default: its own), by its first port, or `port`. Raises
        VirtualError."""
        times = np.asarray(times_s, np.float64)
        if times.size and not (
            np.isfinite(times).all() and times.min() >= 0 and times.max() < LONGEST_S
        ):
            raise VirtualError(f"{host}: times in virtual time are from 0 to {LONGEST_S:g} s")
        if not frames:
            raise VirtualError(f"{host}: no frame to send")
        numbers = (
            np.arange(times.size) % len(frames) if which is None else np.asarray(which, np.int64)
        )
        if numbers.shape != times.shape or (
            numbers.size and not 0 <= numbers.min() <= numbers.max() < len(frames)
        ):
            raise VirtualError(f"{host}: `which` needs the number of a frame for each time")
        handles = np.array([self._keep(host, frame, None) for frame in frames], np.uint32)
        sizes = None if lengths is None else np.asarray(lengths, np.int64)
        if sizes is not None and (
            sizes.shape != times.shape
            or (sizes.size and not 1 <= sizes.min() <= sizes.max() < 2**16)
        ):
            raise VirtualError(f"{host}: `lengths` needs a length from 1 to 65535 for each time")
        if times.size:
            self._send(
                host,
                port,
                np.rint(times * 1e12).astype(np.uint64),
                handles[numbers],
                traffic_class,
                sizes,
            )

    def arrived(self, host: str) -> list[Arrived]:
        """Returns the frames that a host has taken so far, unless it counts them alone."""
        at, data = ctypes.POINTER(native.Taken)(), ctypes.POINTER(ctypes.c_uint8)()
        n = self._library.vn_taken(
            self._alive(), self._nodes[host], ctypes.byref(at), ctypes.byref(data)
        )
        return [self._arrived(data, taken) for taken in at[:n]] if n else []

    def new_arrivals(self, host: str, since: int) -> list[Arrived]:
        """Returns those of `arrived` from this number on."""
        at, data = ctypes.POINTER(native.Taken)(), ctypes.POINTER(ctypes.c_uint8)()
        n = self._library.vn_taken(
            self._alive(), self._nodes[host], ctypes.byref(at), ctypes.byref(data)
        )
        return [self._arrived(data, at[number]) for number in range(since, n)]

    def arrivals(self, host: str) -> Arrivals:
        """Returns what a host has taken so far, in sum."""
        raw = native.Arrivals()
        self._check(
            self._library.vn_source_arrivals(self._alive(), self._nodes[host], ctypes.byref(raw))
        )
        mean = raw.delay_ps / raw.timed / 1e12 if raw.timed else 0.0
        return Arrivals(
            raw.frames,
            raw.bytes,
            raw.first_ps / 1e12,
            raw.last_ps / 1e12,
            raw.timed,
            mean,
            raw.longest_ps / 1e12,
            raw.marked_ce,
        )

    def count_alone(self, host: str, alone: bool = True) -> None:
        """A host counts what arrives from now on, and doesn't keep it, or only until the function
        of `on_frames` has read it and called `forget_arrivals`."""
        self._check(self._library.vn_source_count(self._changing(), self._nodes[host], alone))

    def forget_arrivals(self, host: str) -> int:
        """Returns how many frames `arrived` has, after a host that counts alone has forgotten those
        that have come since."""
        return self._check(self._library.vn_source_forget(self._changing(), self._nodes[host]))

    def on_frames(self, host: str, function: Callable[[], None]) -> None:
        """Calls the function when frames have arrived at a host, at their simulated time. Raises
        VirtualError where events aren't in one order (queues="one")."""
        self._check(
            self._library.vn_source_call(
                self._changing(), self._nodes[host], self._numbered(function)
            )
        )

    def _arrived(self, data: Any, taken: native.Taken) -> Arrived:
        # a slice is a list of ints
        stored = ctypes.string_at(ctypes.addressof(data.contents) + taken.at, taken.stored)
        return Arrived(taken.time_ps / 1e12, stored, taken.length)

    def _keep(self, host: str, frame: bytes, length: int | None) -> int:
        stored = frame if self.whole_bytes is not None else frame[:STORED_BYTES]
        if any(frame[len(stored) :]):
            raise VirtualError(
                f"{host}: a frame's bytes behind the first {STORED_BYTES} are zeros: it isn't "
                "stored whole"
            )
        handle = self._changing()
        return self._check(
            self._library.vn_source_keep(handle, stored, len(stored), max(len(frame), length or 0))
        )

    def _send(
        self,
        host: str,
        port: int | None,
        times: npt.NDArray[np.uint64],
        handles: Any,
        traffic_class: int,
        lengths: Any = None,
    ) -> None:
        which = np.ascontiguousarray(handles, np.uint32)
        sizes = None if lengths is None else np.ascontiguousarray(lengths, np.uint16)
        single = bool((which == which[0]).all())
        self._check(
            self._library.vn_source_frames(
                self._changing(), self._link(host, port), traffic_class, times.size,
                times.ctypes.data, int(which[0]),
                None if single else which.ctypes.data, None if sizes is None else sizes.ctypes.data,
            )
        )  # fmt: skip

    def _link(self, host: str, port: int | None) -> int:
        """Returns the number of the direction that leaves by a port. Raises TopologyError."""
        end = Endpoint(host, self.topology.ports(host)[0] if port is None else port)
        self.topology.link_at(end.node, end.port)  # raises
        return self._links[end]
