"""Structures of the C side in Python: they mirror csrc/*.h field by field, and `native.library`
compares sizes."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_double,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

from .wire import TELEMETRY_BYTES

CLASSES = 8
EVENT_FRAME_BYTES = 256
PSN_MEMORY = 4096
LOOP_MOST_PORTS = 64

# enum event_kind
END, PAUSE, RESUME, EXPIRY, SENT, FRAME, UNKNOWN, WINDOW, MARKED, LAST, REQUESTED, ACK_REQUEST = (
    range(12)
)


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
    _fields_ = (
        ("window", CountedWindow),
        ("frame", c_uint8 * EVENT_FRAME_BYTES),
        ("request", _AckRequest),
    )


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


class EventList(ctypes.Structure):
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
        *(
            (name, c_uint64)
            for name in ("until_ps", "since_ps", "paused_ps", "pause", "resume", "expired")
        ),
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
    requested: int
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
        *((name, c_int64) for name in ("delivered", "due_bytes")),
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
        *(
            (name, c_uint64)
            for name in ("packets", "bytes", "payload_bytes", "marked_ce", "marked_ue")
        ),
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
        *(
            (name, c_double)
            for name in ("origin_real_s", "dilation", "receive_gap_s", "transmit_gap_s", "retry_s")
        ),
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
        *(
            (name, c_uint64)
            for name in ("send_retries", "other_frames", "bad_frames", "sent_frames", "late_frames")
        ),
        ("failed_port", c_uint64),
    )
