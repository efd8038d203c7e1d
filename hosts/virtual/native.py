"""The RDMA endpoint as ctypes sees it: hosts/csrc/virtual/api.h, and the engine that is built with
it."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from pcn.hosts.native import CSRC as HOST_CSRC
from pcn.virtualnet import native

(
    FLOW_RATE,
    FLOW_SENT_BYTES,
    FLOW_RECEIVED_PAYLOAD,
    FLOW_RECEIVED_PACKETS,
    FLOW_MARKED_PACKETS,
    FLOW_MARKED_UE_PACKETS,
    FLOW_IN_FLIGHT,
    FLOW_WINDOW,
) = range(native.OF_ENDPOINTS, native.OF_ENDPOINTS + 8)
"""enum vn_flow_source."""
SENDER_SOURCES: Final = (FLOW_RATE, FLOW_SENT_BYTES, FLOW_IN_FLIGHT, FLOW_WINDOW)
NO_GROUP, OF_GROUP = 2**32 - 1, 1

_u8, _u16, _u32, _u64, _i64 = (
    ctypes.c_uint8,
    ctypes.c_uint16,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_int64,
)
_double, _int, _object = ctypes.c_double, ctypes.c_int, ctypes.py_object

Template = _u8 * 64
"""The first bytes of a frame."""


class FlowKind(ctypes.Structure):
    """struct vn_flow_kind."""

    _fields_ = [
        *[
            (name, _u8)
            for name in (
                "priority",
                "wants_marked",
                "needs_rec_rate",
                "reliability",
                "avoids",
                "exact_marks",
                "grants",
            )
        ],
        ("cnp_bytes", _u16),
        ("ack_bytes", _u16),
        *[
            (name, _u32)
            for name in (
                "frame_bytes",
                "last_frame_bytes",
                "payload_bytes",
                "last_payload_bytes",
                "every",
            )
        ],
        *[(name, _u64) for name in ("period_ps", "timeout_ps", "reordering_ps", "gap_ps")],
        *[(name, Template) for name in ("data", "last", "cnp", "ack")],
    ]


FLOW_CONFIG = np.dtype(
    [
        *((name, np.uint64) for name in ("kind", "ports", "compiled", "np_in_c")),
        *(
            (name, np.uint64)
            for name in (
                "packets", "start_ps", "end_ps", "phase_ps", "timer_ps", "due_bytes",
                "demand_bytes",
            )
        ),
        *((name, np.float64) for name in ("rate_bps", "limit_bps", "window_bytes")),
        *((name, np.uint32) for name in ("port", "back_port", "group", "number", "n_ports")),
        ("src_mac", np.uint8, 6),
        ("dst_mac", np.uint8, 6),
    ]
)  # fmt: skip
"""struct vn_flow_config."""


class FlowStats(ctypes.Structure):
    """struct vn_flow_stats."""

    _fields_ = [
        *[
            (name, _u64)
            for name in (
                "sent", "sent_bytes", "sent_payload", "received", "received_bytes",
                "received_payload", "marked_ce",
                "marked_ue", "out_of_order", "lost", "cnps_sent", "cnps_received", "start_ps",
                "ended_ps", "first_ps",
                "last_ps", "complete_ps",
            )
        ],
        ("rate_bps", _double),
        ("window_bytes", _double),
        *[(name, _u64) for name in ("in_flight_bytes", "repeated", "timeouts", "again", "refused")],
    ]  # fmt: skip


OF_RECEIVERS: Final = (
    "received", "received_bytes", "received_payload", "marked_ce", "marked_ue", "out_of_order",
    "cnps_sent", "first_ps", "last_ps", "complete_ps", "again", "refused",
)  # fmt: skip
"""Fields of FlowStats that a flow's receiver counts; its sender counts the others."""


RDMA = native.Part(
    HOST_CSRC / "virtual" / "rdma.c",
    endpoints=("rdma",),
    includes=(HOST_CSRC,),
    signatures={
        "vn_rdma": (_int, [_object] * 3),
        "vn_rdma_calls": (None, [_object] * 4),
        "vn_add_flows": (_u32, [ctypes.c_void_p, _u32, _object, _object]),
        "vn_flow_after": (_int, [_u32, _u32, _u64, _u64, _u64]),
        "vn_flow_bytes": (_u32, []),
        "vn_stop_flow": (_int, [_u32]),
        "vn_set_cnp_delay": (_int, [_u64]),
        "vn_set_telemetry_tick": (_int, [ctypes.c_double]),
        "vn_flow_ports": (_int, [_u32, _u32, _u32]),
        "vn_move_notifications": (_int, [_u32]),
        "vn_flow_stats": (_int, [_u32, _u32, ctypes.c_void_p]),
        "vn_measure_latency": (_int, []),
        "vn_latency": (ctypes.POINTER(_u64), [_u32]),
    },
)


EXPLAIN = native.Part(
    HOST_CSRC / "virtual" / "explain.c",
    observers=("explain",),
    includes=(HOST_CSRC,),
    signatures={
        "vn_explain": (_int, [ctypes.c_bool]),
        "vn_explain_log": (
            _int,
            [ctypes.c_char_p, _u32, ctypes.c_char_p, _u32, _u64, _u64, *[ctypes.c_bool] * 2],
        ),
        "vn_explained": (_int, [_u32, _u32, ctypes.c_void_p]),
        "vn_explain_counted_marks": (_int, [_u32, ctypes.c_void_p]),
        "vn_explain_entries": (_u64, [_u32, _u32, ctypes.POINTER(ctypes.c_void_p)]),
        "vn_explain_whole": (_int, []),
    },
)
"""An observer that accounts for each flow's time."""


def parts(explain: bool = False) -> tuple[native.Part, ...]:
    """Returns what the engine of RDMA is built with; with `explain` the one that explains flows."""
    return (RDMA, EXPLAIN) if explain else (RDMA,)


def engine(explain: bool = False) -> ctypes.CDLL:
    """Returns the engine with these parts. Raises BuildError."""
    return native.engine(parts(explain))
