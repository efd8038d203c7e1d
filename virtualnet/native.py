"""The engine as ctypes sees it: csrc/virtualnet.h, struct by struct and call by call."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from hosts.native import CSRC as HOST_CSRC
from softswitch.codegen.build import CSRC as SWITCH_CSRC
from softswitch.codegen.build import build_runtime
from softswitch.codegen.compiling import COMMON_FLAGS, build, digest
from softswitch.native import load_library

CSRC = Path(__file__).resolve().parent / "csrc"
FLAGS = (*COMMON_FLAGS, "-fno-semantic-interposition", f"-I{SWITCH_CSRC}", f"-I{HOST_CSRC}", "-lm")

FRAMES: Final = ("flow control", "notifications", "data")
"""enum vn_frames."""
NEVER: Final = 2**64 - 1
CLASSES: Final = 8
FAILED, UNTIL, BUDGET, FINISHED, RETURN, CALLBACK = range(6)
(
    REGISTER, COUNTER_PACKETS, COUNTER_BYTES, QUEUE_PACKETS, QUEUE_BYTES, HELD_BYTES, XOFF_SENT, PAUSE_SENT,
    RESUME_SENT, LINK_BYTES, OUTPUT_BYTES, FLOW_RATE, FLOW_SENT_BYTES, FLOW_RECEIVED_PAYLOAD, FLOW_RECEIVED_PACKETS,
    FLOW_MARKED_PACKETS, FLOW_MARKED_UE_PACKETS,
) = range(17)  # fmt: skip

_u8, _u16, _u32, _u64, _i64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
_double, _handle, _text, _int, _bool = ctypes.c_double, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_bool
_object = ctypes.py_object


Template = _u8 * 64
"""The first bytes of a frame."""


class Exchange(ctypes.Structure):
    """struct vn_exchange."""

    _fields_ = [
        ("reason", _u32),
        ("flow", _u32),
        ("np", _u32),
        ("now_s", _double),
        ("until_ps", _u64),
        ("budget", _u64),
        ("finish", _u32),
    ]


class FlowConfig(ctypes.Structure):
    """struct vn_flow_config."""

    _fields_ = [
        ("src", _u32),
        ("dst", _u32),
        ("priority", _u8),
        ("wants_marked", _u8),
        ("needs_rec_rate", _u8),
        ("cnp_bytes", _u16),
        ("ack_bytes", _u16),
        *[
            (name, _u32)
            for name in ("frame_bytes", "last_frame_bytes", "payload_bytes", "last_payload_bytes", "segment")
        ],
        *[(name, _u64) for name in ("packets", "start_ps", "end_ps", "period_ps", "phase_ps", "timer_ps", "due_bytes")],
        ("rate_bps", _double),
        ("limit_bps", _double),
        *[(name, Template) for name in ("data", "last", "cnp", "ack")],
    ]


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
    ]  # fmt: skip


class FabricConfig(ctypes.Structure):
    """struct vn_fabric_config."""

    _fields_ = [("buffer_bytes", _u64), ("latency_ps", _u64), ("speed_up", _double), ("reliable", _bool)]


class LinkStats(ctypes.Structure):
    """struct vn_link_stats."""

    _fields_ = [
        *[
            (name, _u64)
            for name in (
                "packets", "bytes", "pause", "resume", "paused_ps", "refused", "expired", "fc_packets", "starved_ps",
                "output_bytes", "held_max", "held_limit", "held_bytes", "lost", "repeated", "overrun",
            )
        ],
        ("pause_by_class", _u64 * CLASSES),
    ]  # fmt: skip


class Disturbance(ctypes.Structure):
    """struct vn_disturbance."""

    _fields_ = [("lose", _u32), ("repeat", _u32), ("late", _u32), ("late_ps", _u64)]


class Deadlock(ctypes.Structure):
    """struct vn_deadlock."""

    _fields_ = [("members", _u32), ("circle", _u32), ("since_ps", _u64), ("held_bytes", _u64)]


class SourceSpec(ctypes.Structure):
    """struct vn_source_spec."""

    _fields_ = [(name, _u32) for name in ("source", "object", "number", "index")]


class Totals(ctypes.Structure):
    """struct vn_totals."""

    _fields_ = [
        (name, _u64)
        for name in (
            "now_ps", "events", "digest", "traversals", "data_traversals", "packets", "packets_most", "dropped",
            "bad_frames", "stray_frames", "unusable_cnps",
        )
    ]  # fmt: skip


# name: (result, arguments after the network's handle)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "vn_destroy": (None, []),
    "vn_error": (_text, []),
    "vn_exchange_of": (ctypes.POINTER(Exchange), []),
    "vn_add_switch": (_i64, [_handle]),
    "vn_set_round_robin": (_int, [_u32]),
    "vn_set_fabric": (_int, [_u32, ctypes.POINTER(FabricConfig)]),
    "vn_add_host": (_i64, [_text]),
    "vn_add_link": (_i64, [_u32, _u16, _u32, _u16, _u64, _u64]),
    "vn_set_link": (_int, [_u32, _u64, _bool]),
    "vn_set_pfc": (_int, [_u32, _u32, _u32, _u16, _u64, _u8, _text]),
    "vn_set_credits": (_int, [_u32, _u64, _u64, _u64]),
    "vn_disturb": (_int, [_u32, _u32, ctypes.POINTER(Disturbance)]),
    "vn_add_flow": (_i64, [ctypes.POINTER(FlowConfig), _object, _object]),
    "vn_stop_flow": (_int, [_u32]),
    "vn_packet_out": (_int, [_u32, _text, _u32]),
    "vn_flow_stats": (_int, [_u32, ctypes.POINTER(FlowStats)]),
    "vn_link_stats": (_int, [_u32, ctypes.POINTER(LinkStats)]),
    "vn_deadlock": (_int, [ctypes.POINTER(Deadlock), ctypes.POINTER(_u32)]),
    "vn_add_sampler": (_i64, [_u64, _u64, ctypes.POINTER(SourceSpec), _u32]),
    "vn_samples": (_u64, [_u32, ctypes.POINTER(ctypes.POINTER(_u64)), ctypes.POINTER(ctypes.POINTER(_double))]),
    "vn_return_at": (_int, [_u64, _u32]),
    "vn_capture": (_int, [_u32, _text]),
    "vn_run": (_int, [_object, _object, _object]),
    "vn_totals": (None, [ctypes.POINTER(Totals)]),
}


@lru_cache(maxsize=1)
def switch_library() -> ctypes.CDLL:
    """The switch's runtime, which programs and the engine find their functions in."""
    return load_library(build_runtime())


@lru_cache(maxsize=1)
def engine() -> ctypes.CDLL:
    """The engine, compiled when it isn't in the cache. Raises BuildError."""
    switch_library()
    sources = sorted(CSRC.glob("*.c"))
    headers = [header for folder in (CSRC, SWITCH_CSRC, HOST_CSRC) for header in sorted(folder.glob("*.h"))]
    identity = digest([*sources, *headers])
    # PyDLL: a run keeps Python's lock, as it calls the algorithms; what they raise, the call raises.
    library = ctypes.PyDLL(str(build("libvirtualnet", [CSRC / "engine.c"], identity, FLAGS, CSRC)))
    library.vn_create.restype = _handle
    library.vn_create.argtypes = [_bool, _bool, _u64, *[_object] * 5]
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = [_handle, *arguments]
    return library
