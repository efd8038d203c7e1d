"""The C side (csrc/) as Python sees it: its structures and functions, and the events that it tells.

Structures mirror csrc/*.h field by field; `library` refuses to go on where their sizes differ.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from ctypes import POINTER, c_bool, c_double, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from softswitch.cache.objects import COMMON_FLAGS, build, digest

from .wire import TELEMETRY_BYTES

CSRC = Path(__file__).resolve().parent / "csrc"
SWITCH = CSRC.parents[1] / "softswitch" / "csrc"
# Times are compared with a Python model's: no fused operations, which round differently
FLAGS = (*COMMON_FLAGS, "-ffp-contract=off", "-lm")

CLASSES = 8
EVENT_FRAME_BYTES = 256
PSN_MEMORY = 4096
LOOP_MOST_PORTS = 64

# enum event_kind
END, PAUSE, RESUME, EXPIRY, SENT, FRAME, UNKNOWN, WINDOW, MARKED, LAST, ASKED, ACK_REQUEST = range(12)


class CountedWindow(ctypes.Structure):
    """struct window"""

    packets: int
    marked_ce: int
    marked_ue: int
    bytes: int
    first_s: float
    last_s: float
    _fields_ = (
        *((name, c_uint64) for name in ("packets", "marked_ce", "marked_ue", "bytes")),
        *((name, c_double) for name in ("first_s", "last_s")),
    )


class _AckRequest(ctypes.Structure):
    """struct ack_request"""

    _fields_ = (
        *(("mark", c_int32), ("in_order", c_uint32), ("nak", c_bool)),
        *(("has_telemetry", c_bool), ("telemetry", c_uint8 * TELEMETRY_BYTES)),
    )


class _Content(ctypes.Union):
    _fields_ = (("window", CountedWindow), ("frame", c_uint8 * EVENT_FRAME_BYTES), ("request", _AckRequest))


class Event(ctypes.Structure):
    """struct event"""

    kind: int
    priority: int
    at_s: float
    flow: int
    count: int
    port: int
    content: Any
    _fields_ = (
        ("kind", c_int32),
        ("priority", c_int32),
        ("at_s", c_double),
        ("flow", c_void_p),
        ("count", c_uint64),
        ("port", c_uint64),
        ("content", _Content),
    )

    @property
    def window(self) -> CountedWindow:
        """A copy."""
        return CountedWindow.from_buffer_copy(self.content.window)

    @property
    def mark(self) -> int:
        return int(self.content.request.mark)

    @property
    def in_order(self) -> int:
        return int(self.content.request.in_order)

    @property
    def nak(self) -> bool:
        return bool(self.content.request.nak)

    @property
    def telemetry(self) -> bytes | None:
        request = self.content.request
        return bytes(request.telemetry) if request.has_telemetry else None

    @property
    def frame(self) -> bytes:
        return bytes(memoryview(self.content.frame)[: self.count])


class _EventList(ctypes.Structure):
    """struct events"""

    _fields_ = (
        ("all", POINTER(Event)),
        ("count", c_uint64),
        ("urgent", c_uint64),
        ("capacity", c_uint64),
        ("lost", c_uint64),
    )


class PauseState(ctypes.Structure):
    """PFC of one class (struct nic_pause). Counts frames and nominal picoseconds."""

    until_ps: int
    since_ps: int
    paused_ps: int
    pause: int
    resume: int
    expired: int
    paused: bool
    _fields_ = (
        *((name, c_uint64) for name in ("until_ps", "since_ps", "paused_ps", "pause", "resume", "expired")),
        ("paused", c_bool),
    )


class NicState(ctypes.Structure):
    """struct nic_state"""

    allowed_bits: float
    started_bits: int
    control_drops: int
    pauses: Any
    _fields_ = (
        *(("allowed_bits", c_double), ("started_bits", c_int64), ("control_drops", c_uint64)),
        ("pauses", PauseState * CLASSES),
    )


class NativeTransport(ctypes.Structure):
    """struct transport"""

    window_bytes: float
    packets: int
    sent: int
    asked: int
    acked: int
    aside: int
    every: int
    frame_bytes: int
    last_frame_bytes: int
    first_psn: int
    _fields_ = (
        ("window_bytes", c_double),
        *((name, c_uint64) for name in ("packets", "sent", "asked", "acked", "aside")),
        *((name, c_uint32) for name in ("every", "frame_bytes", "last_frame_bytes", "first_psn")),
    )


class _Ring(ctypes.Structure):
    """struct ring"""

    _fields_ = (
        *(("all", c_void_p), ("element", c_uint64)),
        *((name, c_uint32) for name in ("capacity", "head", "count")),
    )


class NativeReliable(ctypes.Structure):
    """struct reliable"""

    flow: NativeTransport
    kind: int
    end: int
    repeated: int
    timeouts: int
    _fields_ = (
        *(("flow", NativeTransport), ("kind", c_uint32)),
        *((name, c_uint64) for name in ("reordering", "end")),
        *(("fates", c_void_p), ("capacity", c_uint32), ("starts", _Ring)),
        *((name, c_uint64) for name in ("lost", "first_lost", "repeated", "timeouts")),
    )


class NicAnswer(ctypes.Structure):
    """struct nic_answer"""

    acked: int
    lost: int
    _fields_ = (
        *((name, c_uint32) for name in ("psn", "in_order")),
        ("nak", c_bool),
        *((name, c_uint64) for name in ("acked", "lost")),
    )


class NativeReliableReceiver(ctypes.Structure):
    """struct reliable_receiver"""

    _fields_ = (
        ("kind", c_uint32),
        *((name, c_bool) for name in ("exact", "refused", "waits", "ce")),
        *(("path", c_uint16), ("psn", c_uint32)),
        *((name, c_uint64) for name in ("left", "next", "beyond")),
        *(("came", c_void_p), ("capacity", c_uint32)),
        *((name, c_uint64) for name in ("again", "out_of_order")),
    )


class NativeNicFlow(ctypes.Structure):
    """struct nic_flow"""

    priority: int
    packets: int
    frame_bits: int
    last_bits: int
    start_s: float
    end_s: float
    rate_bps: float
    interval_ps: int
    base_ps: int
    started: int
    started_bytes: int
    progress_ps: int
    delivered: int
    delivered_bytes: int
    due_bytes: int
    reliable: NativeReliable
    frame: int | None
    last_frame: int | None
    _fields_ = (
        ("priority", c_int32),
        *((name, c_int64) for name in ("packets", "frame_bits", "last_bits")),
        *((name, c_double) for name in ("start_s", "end_s", "rate_bps")),
        *((name, c_uint64) for name in ("interval_ps", "base_ps")),
        *((name, c_int64) for name in ("started", "started_bytes")),
        ("progress_ps", c_uint64),
        *((name, c_int64) for name in ("delivered", "delivered_bytes", "due_bytes")),
        ("reliable", NativeReliable),
        *((name, c_void_p) for name in ("frame", "last_frame")),
    )


class NicItem(ctypes.Structure):
    """struct nic_item"""

    due_ps: int
    flow: int | None
    number: int
    control: int | None
    asks: bool
    _fields_ = (
        *(("due_ps", c_uint64), ("flow", c_void_p), ("number", c_int64)),
        *(("control", c_void_p), ("asks", c_bool)),
    )


class NativeReceivedFlow(ctypes.Structure):
    """struct received_flow"""

    src: int
    flow: int
    expected: int
    seen: bool
    wants_marked: bool
    mark: int
    period_s: float
    grid_s: float
    first_s: float
    last_s: float
    complete_s: float
    packets: int
    bytes: int
    payload_bytes: int
    marked_ce: int
    marked_ue: int
    gaps: int
    duplicates: int
    reordered: int
    advanced: int
    window_end_s: float
    place: int
    window_start: CountedWindow
    _fields_ = (
        *((name, c_uint32) for name in ("src", "flow", "expected")),
        *((name, c_bool) for name in ("seen", "wants_marked")),
        ("mark", c_uint8),
        *((name, c_double) for name in ("period_s", "grid_s", "first_s", "last_s", "complete_s")),
        *((name, c_uint64) for name in ("packets", "bytes", "payload_bytes", "marked_ce", "marked_ue")),
        ("gaps", c_int64),
        *((name, c_uint64) for name in ("duplicates", "reordered", "advanced")),
        ("window_end_s", c_double),
        ("place", c_uint32),
        ("window_start", CountedWindow),
        ("repeats", NativeReliableReceiver),
        ("base", c_uint32),
        ("missing", c_uint64 * (PSN_MEMORY // 64)),
    )


class ReceivedState(ctypes.Structure):
    """struct received_state"""

    timer_s: float
    _fields_ = (("timer_s", c_double),)


class NativeLink(ctypes.Structure):
    """struct link"""

    _fields_ = (("out", c_void_p), ("inward", c_void_p), ("bell", c_int32))


class LoopSettings(ctypes.Structure):
    """struct loop_settings"""

    _fields_ = (
        *((name, c_double) for name in ("origin_real_s", "dilation", "receive_gap_s", "transmit_gap_s", "retry_s")),
        ("tolerance_s", c_double),
        ("ip", c_uint32),
        ("wakeup", c_int32),
    )


class NativeLoopPort(ctypes.Structure):
    """struct loop_port"""

    _fields_ = (("nic", c_void_p), ("lead_s", c_double), ("link", NativeLink), ("socket", c_int32))


class LoopState(ctypes.Structure):
    """struct loop_state"""

    now_s: float
    late_s: float
    worst_s: float
    send_retries: int
    other_frames: int
    bad_frames: int
    sent_frames: int
    late_frames: int
    failed_port: int
    _fields_ = (
        *((name, c_double) for name in ("now_s", "late_s", "worst_s")),
        *((name, c_uint64) for name in ("send_retries", "other_frames", "bad_frames", "sent_frames", "late_frames")),
        ("failed_port", c_uint64),
    )


_FLOW = POINTER(NativeNicFlow)
_ITEM = POINTER(NicItem)
# name: (result, arguments)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "events_new": (POINTER(_EventList), []),
    "events_free": (None, [POINTER(_EventList)]),
    "nic_new": (c_void_p, [c_uint32, c_double, c_double, c_double, POINTER(_EventList)]),
    "nic_free": (None, [c_void_p]),
    "nic_state": (POINTER(NicState), [c_void_p]),
    "nic_add": (ctypes.c_int, [c_void_p, _FLOW, c_double]),
    "nic_remove": (None, [c_void_p, _FLOW, c_double]),
    "nic_move": (ctypes.c_int, [c_void_p, c_void_p, _FLOW, c_bool, c_double]),
    "nic_take_control": (c_uint32, [c_void_p, c_void_p]),
    "nic_set_rate": (None, [c_void_p, _FLOW, c_double, c_double]),
    "nic_set_window": (None, [c_void_p, _FLOW, c_double, c_double]),
    "nic_acknowledge": (c_int64, [c_void_p, _FLOW, c_uint32, c_double]),
    "nic_answered": (ctypes.c_int, [c_void_p, _FLOW, POINTER(NicAnswer), c_double]),
    "nic_timeout": (c_int64, [c_void_p, _FLOW, c_double, c_double]),
    "nic_send_control": (ctypes.c_int, [c_void_p, ctypes.c_char_p, c_uint32, c_double]),
    "nic_pfc": (None, [c_void_p, c_uint8, POINTER(c_uint16), c_double]),
    "nic_advance": (None, [c_void_p, c_double]),
    "nic_wake": (c_double, [c_void_p]),
    "nic_account": (None, [c_void_p, c_double]),
    "nic_paused_s": (c_double, [c_void_p, ctypes.c_int, c_double]),
    "nic_reset_counters": (None, [c_void_p, c_double]),
    "nic_due": (_ITEM, [c_void_p, c_uint32, c_double]),
    "nic_delivered": (None, [c_void_p, c_double]),
    "nic_frame": (c_uint32, [_ITEM, c_void_p]),
    "received_new": (c_void_p, [POINTER(_EventList)]),
    "received_free": (None, [c_void_p]),
    "received_state": (POINTER(ReceivedState), [c_void_p]),
    "received_add": (ctypes.c_int, [c_void_p, POINTER(NativeReceivedFlow)]),
    "received_remove": (None, [c_void_p, POINTER(NativeReceivedFlow)]),
    "received_clear": (None, [c_void_p]),
    "received_timers": (None, [c_void_p, c_double]),
    "loop_new": (c_void_p, [POINTER(LoopSettings), POINTER(NativeLoopPort), c_uint32, c_void_p, POINTER(_EventList)]),
    "loop_free": (None, [c_void_p]),
    "loop_state": (POINTER(LoopState), [c_void_p]),
    "loop_run": (ctypes.c_int, [c_void_p, c_double]),
    "loop_watch": (None, [c_void_p, c_uint32, c_bool]),
    "sw_channels_map": (c_void_p, [ctypes.c_int]),
    "sw_channels_unmap": (None, [c_void_p]),
    "loop_frame": (c_bool, [c_void_p, c_uint32, ctypes.c_char_p, c_uint32, c_double]),
}
# In the order of `hosts_sizes` (csrc/sizes.c)
_MIRRORED = (
    Event,
    _EventList,
    NicState,
    NativeNicFlow,
    NicItem,
    NativeTransport,
    NativeReliable,
    NicAnswer,
    NativeReliableReceiver,
    NativeReceivedFlow,
    LoopSettings,
    NativeLoopPort,
    LoopState,
)


def library_path() -> Path:
    """Returns the C side as a shared object; compiled if it isn't yet. Raises BuildError."""
    sources = [*sorted(CSRC.glob("*.c")), SWITCH / "channel.c"]
    headers = [*sorted(CSRC.glob("*.h")), SWITCH / "channel.h"]
    return build("libhosts", sources, digest([*sources, *headers]), FLAGS, CSRC)


@lru_cache(maxsize=1)
def library() -> Any:
    """Returns the compiled C side with its functions declared. Raises BuildError."""
    loaded = ctypes.CDLL(str(library_path()))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    sizes = (c_uint64 * len(_MIRRORED)).in_dll(loaded, "hosts_sizes")
    for structure, size in zip(_MIRRORED, sizes, strict=True):
        assert ctypes.sizeof(structure) == size, f"{structure.__name__} differs from {structure.__doc__} in csrc"
    return loaded


def checked(status: int) -> None:
    """Raises MemoryError if a C function had no memory."""
    if status < 0:
        raise MemoryError


class Events:
    """What the C side has to tell, and who listens."""

    def __init__(self) -> None:
        """Raises BuildError."""
        self._library = library()
        self.list = self._library.events_new()
        if not self.list:
            raise MemoryError
        weakref.finalize(self, self._library.events_free, self.list)
        self._listeners: dict[tuple[int, int], Callable[[Event], None]] = {}
        self._telling = False

    def listen(self, kind: int, listener: Callable[[Event], None], port: int = 0) -> None:
        """One listener a kind, of those of a NIC one a port; events that nobody listens to are dropped."""
        self._listeners[kind, port] = listener

    def tell(self) -> None:
        """Tells the listeners what has happened; what they cause is told afterwards. Raises MemoryError."""
        if self._telling or not self.list[0].count:
            return
        self._telling = True
        try:
            events, index = self.list[0], 0
            while index < events.count:
                event = Event.from_buffer_copy(events.all[index])
                index += 1
                listener = self._listeners.get((event.kind, event.port))
                if listener is not None:
                    listener(event)
            events.count = events.urgent = 0
            if events.lost:
                raise MemoryError("events were lost")
        finally:
            self._telling = False
