"""What an explained run logs and sums, as ctypes sees hosts/csrc/virtual/explain.h: without the
engine, which a reader of recordings doesn't need."""

from __future__ import annotations

import ctypes
from typing import Final

_u8, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64

PARTS: Final = (
    "own", "rate", "window", "recover", "paused", "nic",
    "contention", "pause_backlog", "pause_idle", "overtaken", "wire", "inside",
)  # fmt: skip
"""enum vn_part: those of a flow's sender first."""
SENDER_PARTS: Final = PARTS[:6]
WINDOW_PARTS: Final = (*PARTS[6:], "timer")
"""enum vn_window_part."""
(LOG_SENT, LOG_HOP, LOG_LINE, LOG_CAUSE) = range(4)
"""enum vn_explain_logs."""
(XOFF, XON, WAITS, CLOSES, OPENS) = range(5)
"""enum vn_explain_what."""


class Explained(ctypes.Structure):
    """struct vn_explained."""

    _fields_ = [
        ("start_ps", _u64),
        ("complete_ps", _u64),
        ("parts_ps", _u64 * len(PARTS)),
        ("window_ps", _u64 * len(WINDOW_PARTS)),
    ]


class ExplainSent(ctypes.Structure):
    """struct vn_explain_sent."""

    _fields_ = [
        ("time_ps", _u64),
        ("parts_ps", _u64 * len(SENDER_PARTS)),
        ("window_ps", _u64 * len(WINDOW_PARTS)),
        *[(name, _u32) for name in ("flow", "serial", "bytes", "link")],
    ]


class ExplainHop(ctypes.Structure):
    """struct vn_explain_hop."""

    _fields_ = [
        *[
            (name, _u64)
            for name in ("since_ps", "start_ps", "behind_ps", "without_ps", "idle_ps", "busy_ps")
        ],
        *[(name, _u32) for name in ("flow", "serial", "link", "queue_bytes", "bytes")],
        *[(name, _u8) for name in ("class", "ecn_before", "ecn_after", "reason")],
    ]


class ExplainLine(ctypes.Structure):
    """struct vn_explain_line."""

    _fields_ = [("start_ps", _u64), *[(name, _u32) for name in ("link", "flow", "bytes", "about")]]


class ExplainCause(ctypes.Structure):
    """struct vn_explain_cause."""

    _fields_ = [
        *[
            (name, _u64)
            for name in (
                "time_ps",
                "work_ps",
                "without_ps",
                "busy_ps",
                "bytes",
                "used",
                "threshold",
            )
        ],
        *[(name, _u32) for name in ("link", "out", "class", "kind")],
    ]


MARK_REASONS: Final = ("before", "here", "empty", "held", "other")
"""enum vn_mark_reason."""
MARK_AHEADS: Final = ("nothing", "frame", "more", "unknown")
"""enum vn_mark_ahead."""


class ExplainMarks(ctypes.Structure):
    """struct vn_explain_marks."""

    _fields_ = [("packets", _u64 * len(MARK_AHEADS) * len(MARK_REASONS))]


LOGS: Final = (ExplainSent, ExplainHop, ExplainLine, ExplainCause)
"""The entries of each log."""
