"""The RDMA endpoint as ctypes sees it: hosts/csrc/virtual/api.h, and the engine that is built with it."""

from __future__ import annotations

import ctypes
import struct

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
NO_GROUP, OF_GROUP = 2**32 - 1, 1

_u8, _u16, _u32, _u64, _i64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
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
        *[(name, _u32) for name in ("frame_bytes", "last_frame_bytes", "payload_bytes", "last_payload_bytes", "every")],
        *[(name, _u64) for name in ("period_ps", "timeout_ps", "reordering_ps", "gap_ps")],
        *[(name, Template) for name in ("data", "last", "cnp", "ack")],
    ]


FLOW_CONFIG = struct.Struct("@4P7Q3d5I6s6s")
"""struct vn_flow_config."""


class FlowStats(ctypes.Structure):
    """struct vn_flow_stats."""

    _fields_ = [
        *[
            (name, _u64)
            for name in (
                "sent", "sent_bytes", "sent_payload", "received", "received_bytes", "received_payload", "marked_ce",
                "marked_ue", "out_of_order", "lost", "cnps_sent", "cnps_received", "start_ps", "ended_ps", "first_ps",
                "last_ps", "complete_ps",
            )
        ],
        ("rate_bps", _double),
        ("window_bytes", _double),
        *[(name, _u64) for name in ("in_flight_bytes", "repeated", "timeouts", "again", "refused")],
    ]  # fmt: skip


RDMA = native.Part(
    HOST_CSRC / "virtual" / "rdma.c",
    endpoints=("rdma",),
    includes=(HOST_CSRC,),
    signatures={
        "vn_rdma": (_int, [_object] * 3),
        "vn_rdma_calls": (None, [_object] * 3),
        "vn_add_flows": (_u32, [ctypes.c_char_p, _u32, _object, _object]),
        "vn_flow_after": (_int, [_u32, _u32, _u64, _u64]),
        "vn_stop_flow": (_int, [_u32]),
        "vn_set_cnp_delay": (_int, [_u64]),
        "vn_flow_ports": (_int, [_u32, _u32, _u32]),
        "vn_move_notifications": (_int, [_u32]),
        "vn_flow_stats": (_int, [_u32, _u32, ctypes.c_void_p]),
        "vn_measure_latency": (_int, []),
        "vn_latency": (ctypes.POINTER(_u64), [_u32]),
    },
)


def engine() -> ctypes.CDLL:
    """Returns the engine with RDMA. Raises BuildError."""
    return native.engine([RDMA])
