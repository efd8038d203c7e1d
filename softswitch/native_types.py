"""csrc/switch.h and csrc/front.h for ctypes: structures, and the functions' arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Final

from pcn.softswitch.trimming import Trimming

PRIORITIES: Final = 8


class CounterCell(ctypes.Structure):
    """struct sw_counter."""

    _fields_ = [("packets", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class MeterCell(ctypes.Structure):
    """struct sw_meter_config."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("cir", "cburst", "pir", "pburst", "per_us")]


class PortStatsRecord(ctypes.Structure):
    """struct sw_port_stats."""

    _fields_ = [
        *(
            (name, ctypes.c_uint64)
            for name in (
                "rx_packets",
                "rx_bytes",
                "tx_packets",
                "tx_bytes",
                "rx_dropped",
                "tx_dropped",
                "queue_dropped",
                "trimmed",
            )
        ),
        ("queue_packets", ctypes.c_uint32 * PRIORITIES),
        ("in_flight", ctypes.c_uint32),
        ("up", ctypes.c_uint8),
    ]


class TrimmingRecord(ctypes.Structure):
    """struct sw_trimming."""

    _fields_ = [
        ("size", ctypes.c_uint16),
        *[
            (name, ctypes.c_uint8)
            for name in ("dscp_value", "queue_index", "queues", "tail_percent")
        ],
        ("weight", ctypes.c_uint32),
        ("turns", ctypes.c_uint32),
        ("drawn", ctypes.c_uint64),
    ]

    @classmethod
    def of(cls, queues: Iterable[int], trimming: Trimming, drawn: int = 0) -> TrimmingRecord:
        """Returns it of a port whose `queues` trim what they refuse. `drawn`: where the random
        numbers of `tail_percent` begin, any."""
        return cls(
            size=trimming.size,
            dscp_value=trimming.dscp_value,
            queue_index=trimming.queue_index,
            queues=sum(1 << queue for queue in set(queues)),
            tail_percent=trimming.tail_percent,
            weight=trimming.weight,
            drawn=drawn,
        )


class ReplicaRecord(ctypes.Structure):
    """struct sw_replica."""

    _fields_ = [("port", ctypes.c_uint16), ("instance", ctypes.c_uint16)]


class EventHeader(ctypes.Structure):
    """struct sw_event."""

    _fields_ = [
        ("kind", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("length", ctypes.c_uint32),
        ("now_ns", ctypes.c_uint64),
    ]


class FrontLimits(ctypes.Structure):
    """struct sw_front_limits."""

    _fields_ = [
        *[
            (name, ctypes.c_uint32)
            for name in ("connections", "calls", "unfinished", "unfinished_of_one", "working")
        ],
        *[
            (name, ctypes.c_uint64)
            for name in (
                "bytes",
                "bytes_of_one",
                "favoured_bytes",
                "parsed",
                "favoured_parsed",
                "patience_ns",
                "room_ns",
            )
        ],
    ]


class FrontMethod(ctypes.Structure):
    """struct sw_front_method."""

    _fields_ = [
        ("path", ctypes.c_char_p),
        ("kind", ctypes.c_uint32),
        ("most", ctypes.c_uint32 * 2),
        *[(name, ctypes.c_uint32) for name in ("at_once", "begun")],
    ]


class FrontEvent(ctypes.Structure):
    """struct sw_front_event."""

    _fields_ = [
        *[(name, ctypes.c_uint64) for name in ("call", "connection")],
        ("data", ctypes.c_void_p),
        *[(name, ctypes.c_uint32) for name in ("length", "kind", "method", "idle", "is_private")],
    ]


_u16, _u32, _i32, _u64, _i64 = (
    ctypes.c_uint16,
    ctypes.c_uint32,
    ctypes.c_int32,
    ctypes.c_uint64,
    ctypes.c_int64,
)
_handle, _text, _data = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p

# name: (result, arguments after the handle of the switch or the front)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "sw_destroy": (None, []),
    "sw_port_add": (ctypes.c_int, [_u16, _text, _u32, _text]),
    "sw_port_remove": (ctypes.c_int, [_u16, _text]),
    "sw_port_shape": (ctypes.c_int, [_u16, _u64, _u64, _text]),
    "sw_queue_set": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, _u64, _u64, _text]),
    "sw_set_trimming": (ctypes.c_int, [ctypes.POINTER(TrimmingRecord)]),
    "sw_port_capture": (ctypes.c_int, [_u16, ctypes.c_bool, ctypes.c_int, _text]),
    "sw_port_stats": (ctypes.c_int, [_u16, ctypes.POINTER(PortStatsRecord)]),
    "sw_report_pace": (ctypes.c_int, [_handle, _handle]),
    "sw_set_slack": (ctypes.c_int, [_u64]),
    "sw_start": (ctypes.c_int, [_text]),
    "sw_connect": (ctypes.c_int, [_u16, _handle, _u16]),
    "sw_connect_process": (ctypes.c_int, [_u16, ctypes.c_int, ctypes.c_int, _u32]),
    "sw_keep_namespace": (ctypes.c_int, []),
    "sw_stop": (ctypes.c_int, []),
    "sw_load": (ctypes.c_int, [_text, _data, _u32, _text]),
    "sw_collect": (ctypes.c_int, []),
    "sw_table_add": (_i64, [_u32, _data, _data, _i32, _i32, _u32, _data, _u32, _text]),
    "sw_table_add_all": (ctypes.c_int, [_text, _u64, _u32, _data]),
    "sw_table_modify": (ctypes.c_int, [_u32, _u32, _u32, _data, _u32, _text]),
    "sw_table_delete": (ctypes.c_int, [_u32, _u32, _text]),
    "sw_table_set_default": (ctypes.c_int, [_u32, _u32, _data, _u32, _text]),
    "sw_member_put": (_i64, [_u32, _i64, _u32, _data, _u32, _text]),
    "sw_member_delete": (ctypes.c_int, [_u32, _u32, _text]),
    "sw_group_put": (_i64, [_u32, _i64, _data, _u32, _text]),
    "sw_group_delete": (ctypes.c_int, [_u32, _u32, _text]),
    "sw_table_counter_read": (ctypes.c_int, [_u32, _i64, ctypes.POINTER(CounterCell)]),
    "sw_table_idle": (ctypes.c_int, [_u32, _u32, ctypes.POINTER(_u64)]),
    "sw_table_counter_write": (ctypes.c_int, [_u32, _i64, ctypes.POINTER(CounterCell)]),
    "sw_counter_read": (ctypes.c_int, [_u32, _u32, _u32, _data]),
    "sw_counter_write": (ctypes.c_int, [_u32, _u32, _u32, _data]),
    "sw_register_read": (ctypes.c_int, [_u32, _u32, _u32, _data]),
    "sw_register_write": (ctypes.c_int, [_u32, _u32, _u32, _data]),
    "sw_meter_read": (ctypes.c_int, [_u32, _u32, ctypes.POINTER(MeterCell)]),
    "sw_meter_write": (ctypes.c_int, [_u32, _u32, ctypes.POINTER(MeterCell)]),
    "sw_table_meter_read": (ctypes.c_int, [_u32, _u32, ctypes.POINTER(MeterCell)]),
    "sw_table_meter_write": (ctypes.c_int, [_u32, _u32, ctypes.POINTER(MeterCell)]),
    "sw_clone_session": (ctypes.c_int, [_u32, _data, _u32, _u32, _text]),
    "sw_multicast_group": (ctypes.c_int, [_u32, _data, _u32, _text]),
    "sw_packet_out": (ctypes.c_int, [_u16, _data, _u32]),
    "sw_generate": (ctypes.c_int, [_u16, _u64, _data, _u32, _text]),
    "sw_next_event": (ctypes.c_int, [ctypes.c_int, ctypes.POINTER(EventHeader), _data, _u32]),
    "sw_fence": (ctypes.c_int, [_u32]),
    "sw_trace_start": (ctypes.c_int, [_u64, _data]),
    "sw_trace_take": (_i64, [ctypes.c_int, _data, _u64, ctypes.POINTER(_u64)]),
    "sw_time_ns": (_u64, []),
    "sw_set_time": (ctypes.c_int, [_u64]),
    "sw_advance": (ctypes.c_int, [_u64, _u16, _u64]),
    "sw_reentry": (ctypes.c_int, [_u64]),
    "sw_set_tick": (ctypes.c_int, [_u32]),
    "sw_tx_count": (_u64, [_u16]),
    "sw_inject": (ctypes.c_int, [_u16, _data, _u32, _text]),
    "sw_front_adopt": (None, [ctypes.c_int]),
    "sw_front_next": (ctypes.c_bool, [ctypes.POINTER(FrontEvent)]),
    "sw_front_active": (ctypes.c_bool, [_u64]),
    "sw_front_push": (ctypes.c_int, [_u64, _text, _u32, _u64, _u32]),
    "sw_front_finish": (None, [_u64, _text, _u32, _u32, _text, _text]),
    "sw_front_abort": (None, [_u64, _u32, _text]),
    "sw_front_favour": (None, [_u64, ctypes.c_bool]),
    "sw_front_refuse": (None, []),
    "sw_front_drain": (None, [_u32]),
    "sw_front_close": (None, []),
    "sw_front_free": (None, []),
    "sw_departed": (ctypes.c_int, [ctypes.POINTER(EventHeader), _data, _u32]),
}


def declare(library: ctypes.CDLL) -> None:
    """Declares the functions of the runtime."""
    library.sw_create.restype = _handle
    library.sw_create.argtypes = [_u32, _u32, _u16, _u16, _u64, _u32, _text]
    library.sw_front_open.restype = _handle
    library.sw_front_open.argtypes = [
        ctypes.POINTER(ctypes.c_int),
        _u32,
        ctypes.POINTER(FrontMethod),
        _u32,
        ctypes.POINTER(FrontLimits),
        _text,
    ]
    library.sw_start_together.argtypes = [ctypes.POINTER(_handle), _u32, _text]
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = [_handle, *arguments]
