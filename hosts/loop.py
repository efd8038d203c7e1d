"""The loop between a host's sockets, its NICs and its receiving side: csrc/loop.h in Python."""

from __future__ import annotations

import errno
import math
import weakref
from collections.abc import Sequence
from typing import NamedTuple

from .clock import DilatedClock
from .memory_link import CHANNEL_BYTES
from .native import Events, library
from .nic import Nic
from .receiver import Receiver
from .structures import LoopSettings, LoopState, NativeLink, NativeLoopPort

_NO_DESCRIPTOR = -1
# Incoming frames may wait so long where they are dense (nominal, and at least real)
_RECEIVE_GAP_S = 2e-6
_LEAST_RECEIVE_GAP_REAL_S = 300e-6
# Outgoing ones leave so rarely: two at a time at 40 Gbit/s and k = 400; the more exactly, the
# larger k is
_TRANSMIT_GAP_REAL_S = 150e-6
_RETRY_REAL_S = 200e-6


def transmit_gap_s(k: float) -> float:
    """Returns how late a frame may leave a host, nominal, so that one wake-up serves several."""
    return _TRANSMIT_GAP_REAL_S / k


class HostLink(NamedTuple):
    """A link in memory: descriptors of `memory_link.Ends`, and the link's delay (nominal)."""

    memory: int
    bell: int
    delay_s: float


class LoopPort(NamedTuple):
    """A NIC of the host, its packet socket's descriptor, and its link in memory."""

    nic: Nic
    socket: int = _NO_DESCRIPTOR
    link: HostLink | None = None


class Loop:
    """Frames between packet sockets and a host. `wakeup`: a descriptor that ends `run` when it can
    be read."""

    def __init__(
        self, ip: bytes, clock: DilatedClock, ports: Sequence[LoopPort], receiver: Receiver,
        events: Events,
        wakeup: int = _NO_DESCRIPTOR, tolerance_s: float = math.inf,
    ) -> None:  # fmt: skip
        """`ports`: by their numbers, from 0. Frames that leave more than `tolerance_s` after they
        are due count as late. Raises BuildError; OSError where a link's memory is none."""
        self._library = library()
        native = (NativeLoopPort * len(ports))(*map(self._port, ports))
        settings = LoopSettings(
            origin_real_s=clock.origin,
            dilation=clock.dilation,
            receive_gap_s=max(_RECEIVE_GAP_S, _LEAST_RECEIVE_GAP_REAL_S / clock.dilation),
            transmit_gap_s=transmit_gap_s(clock.dilation),
            retry_s=_RETRY_REAL_S / clock.dilation,
            tolerance_s=tolerance_s,
            ip=int.from_bytes(ip, "big"),
            wakeup=wakeup,
        )
        self._used = ports, receiver, events  # the C side has their addresses
        self._events = events
        self._handle = self._library.loop_new(
            settings, native, len(ports), receiver.handle, events.list
        )
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, self._library.loop_free, self._handle)
        self.state: LoopState = self._library.loop_state(self._handle)[0]

    def _port(self, port: LoopPort) -> NativeLoopPort:
        nic, socket, link = port
        if link is None:
            return NativeLoopPort(
                nic=nic.handle, socket=socket, link=NativeLink(bell=_NO_DESCRIPTOR)
            )
        memory = self._library.sw_channels_map(link.memory)
        if not memory:
            raise OSError(errno.EINVAL, "the link's memory isn't that of a link")
        weakref.finalize(self, self._library.sw_channels_unmap, memory)
        native_link = NativeLink(out=memory, inward=memory + CHANNEL_BYTES, bell=link.bell)
        return NativeLoopPort(
            nic=nic.handle, lead_s=link.delay_s / 2, link=native_link, socket=socket
        )

    def run(self, until_s: float) -> bool:
        """Runs until then, or until an event that Python has to process, which it does. Returns
        whether `wakeup` can be read. Raises OSError if an interface failed: that of
        `state.failed_port`."""
        status: int = self._library.loop_run(self._handle, until_s)
        if status < 0:
            raise OSError(-status, "the interface failed")
        self._events.tell()
        return status > 0

    def frame(self, frame: bytes, now_s: float, port: int = 0) -> None:
        """A frame arrived, by another way than the socket."""
        while not self._library.loop_frame(self._handle, port, frame, len(frame), now_s):
            self._events.tell()  # its flow becomes known
        self._events.tell()

    def watch(self, port: int, watched: bool) -> None:
        """Whether a capture listens at the port's interface, where frames then come."""
        self._library.loop_watch(self._handle, port, watched)

    def reset_counters(self) -> None:
        """Counts start anew."""
        self.state.late_s = 0.0
        self.state.send_retries = self.state.other_frames = self.state.bad_frames = 0
