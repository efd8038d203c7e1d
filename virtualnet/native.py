"""The engine as ctypes sees it: csrc/virtualnet.h, struct by struct and call by call. Structs of
counts are declared in counts.py, and written to C from here (`counts_in_c`).

A caller with further kinds of endpoints, flow controls, schedulers or nodes names their files:
`engine(parts)` is built with them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pcn.softswitch.cache.objects import COMMON_FLAGS, build, digest, load
from pcn.softswitch.embed.library import CSRC as SWITCH_CSRC, build_runtime, load_library
from pcn.softswitch.native_types import TrimmingRecord
from pcn.virtualnet import counts
from pcn.virtualnet.counts import CLASSES as CLASSES, structure

CSRC = Path(__file__).resolve().parent / "csrc"
FLAGS = (*COMMON_FLAGS, "-fno-semantic-interposition", f"-I{SWITCH_CSRC}", "-lm", "-pthread")

ASSERTIONS = "PCN_ASSERTIONS"
"""In the environment, and not empty: the engine checks its parts' invariants, and ends the process
where one doesn't hold."""
FRAMES: Final = ("flow control", "notifications", "data")
"""enum vn_frames."""
NEVER: Final = 2**64 - 1
NO_QUEUE: Final = 2**16 - 1
"""A depth."""
MOST_THREADS: Final = 64
FAILED, UNTIL, BUDGET, FINISHED, RETURN, CALLBACK = range(6)
(
    REGISTER, COUNTER_PACKETS, COUNTER_BYTES, QUEUE_PACKETS, QUEUE_BYTES, HELD_BYTES, XOFF_SENT,
    PAUSE_SENT,
    RESUME_SENT, LINK_BYTES, OUTPUT_BYTES, POOL_USED, THRESHOLD, HEADROOM_BYTES,
) = range(14)  # fmt: skip
SOURCES_OF_NODES: Final = (REGISTER, COUNTER_PACKETS, COUNTER_BYTES, POOL_USED)
SOURCES_OF_ENDS: Final = (HELD_BYTES, THRESHOLD, HEADROOM_BYTES)
"""Of links, where these end."""
OF_ENDPOINTS: Final = 32
"""The first source of those that endpoints have."""

_u8, _u16, _u32, _u64, _i64 = (
    ctypes.c_uint8,
    ctypes.c_uint16,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_int64,
)
_double, _handle, _text, _int, _bool = (
    ctypes.c_double,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_bool,
)


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


PACE_BUCKETS: Final = 48


class Pace(ctypes.Structure):
    """struct vn_pace."""

    _fields_ = [
        ("k", _double),
        *[(name, _u64) for name in ("from_ps", "from_ns", "slack_ns")],
        *[(name, _handle) for name in ("release", "acquire", "lock")],
        ("looked_ns", _u64),
        ("late", _u64 * PACE_BUCKETS),
        *[(name, _u64) for name in ("worst_ns", "batches")],
        ("left", _handle),
    ]


class FabricConfig(ctypes.Structure):
    """struct vn_fabric_config."""

    _fields_ = [
        ("buffer_bytes", _u64),
        ("latency_ps", _u64),
        ("speed_up", _double),
        ("reliable", _bool),
    ]


class WatchdogConfig(ctypes.Structure):
    """struct vn_watchdog_config."""

    _fields_ = [
        *[(name, _u64) for name in ("poll_ps", "detect_ps", "restore_ps")],
        ("forward", _bool),
        ("classes", _u8),
    ]


class WatchdogStats(ctypes.Structure):
    """struct vn_watchdog_stats."""

    _fields_ = structure(counts.WatchdogStats)


class ShareConfig(ctypes.Structure):
    """struct vn_share_config."""

    _fields_ = [
        ("fixed", _u64),
        ("headroom", _u64),
        *[(name, _u32) for name in ("alpha", "reserve", "resume")],
    ]


class SharedBufferStats(ctypes.Structure):
    """struct vn_shared_buffer_stats."""

    _fields_ = structure(counts.BufferStats)


class LinkStats(ctypes.Structure):
    """struct vn_link_stats."""

    _fields_ = structure(counts.LinkStats)


class Disturbance(ctypes.Structure):
    """struct vn_disturbance."""

    _fields_ = [
        *[(name, _u32) for name in ("lose", "repeat", "late")],
        *[(name, _u64) for name in ("late_ps", "seed")],
        ("p_lose", _double),
    ]


class Deadlock(ctypes.Structure):
    """struct vn_deadlock."""

    _fields_ = [("members", _u32), ("circle", _u32), ("since_ps", _u64), ("held_bytes", _u64)]


class Totals(ctypes.Structure):
    """struct vn_totals."""

    _fields_ = structure(counts.Totals)


class Sizes(ctypes.Structure):
    """struct vn_sizes."""

    _fields_ = [(name, _u64) for name in ("node", "link", "port", "event", "packet", "in_flight")]


class PfcEvent(ctypes.Structure):
    """struct vn_pfc_event."""

    _fields_ = [
        ("time_ps", _u64),
        ("link", _u32),
        ("class", ctypes.c_uint16),
        ("kind", ctypes.c_uint16),
    ]


class Taken(ctypes.Structure):
    """struct vn_taken."""

    _fields_ = [("time_ps", _u64), ("at", _u64), ("length", _u32), ("stored", _u32)]


class Arrivals(ctypes.Structure):
    """struct vn_arrivals."""

    _fields_ = [
        (name, _u64)
        for name in (
            "frames", "bytes", "first_ps", "last_ps", "timed", "delay_ps", "longest_ps",
            "marked_ce",
        )
    ]  # fmt: skip


class Threads(ctypes.Structure):
    """struct vn_threads."""

    _fields_ = [
        *[
            (name, _u64)
            for name in ("n", "wall_ns", "answering_ns", "questions", "passes", "longest_ns")
        ],
        ("busy_ns", _u64 * MOST_THREADS),
    ]


class Mail(ctypes.Structure):
    """struct vn_mail."""

    _fields_ = [("at", _handle), ("bytes", _u64)]


Exchanging = ctypes.PYFUNCTYPE(_int, _u32, ctypes.POINTER(Mail), ctypes.POINTER(Mail))
"""What vn_split calls, with Python's lock."""


class PartStats(ctypes.Structure):
    """struct vn_part_stats."""

    _fields_ = structure(counts.PartStats)


# name: (result, arguments after the network's handle)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "vn_destroy": (None, []),
    "vn_error": (_text, []),
    "vn_exchange_of": (ctypes.POINTER(Exchange), []),
    "vn_add_switch": (_i64, [_handle]),
    "vn_set_scheduler": (_int, [_u32, _text]),
    "vn_reads_left": (_bool, [_u32]),
    "vn_set_fabric": (_int, [_u32, ctypes.POINTER(FabricConfig)]),
    "vn_set_shared_buffer": (_int, [_u32, _u64]),
    "vn_set_share": (_int, [_u32, _u32, ctypes.POINTER(ShareConfig)]),
    "vn_buffer_stats": (_int, [_u32, ctypes.POINTER(SharedBufferStats)]),
    "vn_add_host": (_i64, [_text]),
    "vn_add_endpoint": (_int, [_u32, _text]),
    "vn_source_keep": (_i64, [_text, _u32, _u32]),
    "vn_source_frames": (_int, [_u32, _u8, _u32, _handle, _u32, _handle, _handle]),
    "vn_taken": (
        _u64,
        [_u32, ctypes.POINTER(ctypes.POINTER(Taken)), ctypes.POINTER(ctypes.POINTER(_u8))],
    ),
    "vn_source_count": (_int, [_u32, _bool]),
    "vn_source_forget": (_i64, [_u32]),
    "vn_source_call": (_int, [_u32, _u32]),
    "vn_source_arrivals": (_int, [_u32, ctypes.POINTER(Arrivals)]),
    "vn_call_for_cpu": (_int, [_u32, _u32]),
    "vn_store_whole": (_int, [_u32]),
    "vn_set_queue": (_int, [_u32, _u32, _u32, _u64]),
    "vn_count_waiting": (_int, [_u32, _u32, _u32]),
    "vn_set_trimming": (_int, [_u32, ctypes.POINTER(TrimmingRecord)]),
    "vn_set_weights": (_int, [_u32, ctypes.c_uint16 * CLASSES]),
    "vn_set_caps": (_int, [_u32, _u64 * CLASSES]),
    "vn_set_watchdog": (_int, [_u32, ctypes.POINTER(WatchdogConfig)]),
    "vn_watchdog_of": (_int, [_u32, ctypes.POINTER(WatchdogStats)]),
    "vn_now": (_u64, []),
    "vn_survive": (_int, []),
    "vn_unable": (_i64, [_u32]),
    "vn_add_link": (_i64, [_u32, _u16, _u32, _u16, _u64, _u64]),
    "vn_set_link": (_int, [_u32, _u64, _bool]),
    "vn_discard": (_int, [_u32, _bool]),
    "vn_pfc_arrives": (_int, [_u32, _text, _u32, ctypes.c_uint16]),
    "vn_set_latency": (_int, [_u32, _u64, _bool]),
    "vn_set_pfc": (_int, [_u32, _u32, _u32, _u16, _u64, _u8, _text]),
    "vn_set_credits": (_int, [_u32, _u64, _u64, _u64]),
    "vn_disturb": (_int, [_u32, _u32, ctypes.POINTER(Disturbance)]),
    "vn_packet_out": (_int, [_u32, _text, _u32]),
    "vn_trace": (_int, [_u32]),
    "vn_link_stats": (_int, [_u32, ctypes.c_void_p]),
    "vn_deadlock": (_int, [ctypes.POINTER(Deadlock), ctypes.POINTER(_u32)]),
    "vn_add_sampler": (_i64, [_u64, _u64, _u64, ctypes.c_void_p, _u32, _u64, _bool]),
    "vn_samples": (
        _u64,
        [_u32, ctypes.POINTER(ctypes.POINTER(_u64)), ctypes.POINTER(ctypes.POINTER(_double))],
    ),
    "vn_return_at": (_int, [_u64, _u32]),
    "vn_log_pfc": (_int, []),
    "vn_log_paths": (_int, []),
    "vn_set_tick": (_int, [_u64]),
    "vn_set_path": (_int, [_u32, _u32]),
    "vn_path": (_u32, [_u32, ctypes.POINTER(ctypes.POINTER(_u32))]),
    "vn_pfc_events": (_i64, [ctypes.POINTER(ctypes.POINTER(PfcEvent))]),
    "vn_capture": (_int, [_u32, _int]),
    "vn_capture_stop": (_int, [_u32]),
    "vn_captures_end": (_int, [ctypes.POINTER(_u32)]),
    "vn_run": (_int, []),
    "vn_run_paced": (_int, [ctypes.POINTER(Pace)]),
    "vn_totals": (None, [ctypes.POINTER(Totals)]),
    "vn_rounds": (_u64, []),
    "vn_partition_of": (_int, [_u32, _handle]),
    "vn_split": (_int, [_u32, _u32, _handle, _u32, Exchanging]),
    "vn_add_elsewhere": (_i64, []),
    "vn_part_stats": (None, [ctypes.POINTER(PartStats)]),
    "vn_digests": (None, [_handle, _bool]),
    "vn_threads": (None, [ctypes.POINTER(Threads)]),
}


def counts_in_c() -> str:
    """Returns the definitions of the structs that virtualnet/counts.py declares."""
    lines = ["#include <stdint.h>"]
    for name, record in {
        "vn_watchdog_stats": WatchdogStats,
        "vn_shared_buffer_stats": SharedBufferStats,
        "vn_link_stats": LinkStats,
        "vn_totals": Totals,
        "vn_part_stats": PartStats,
    }.items():
        fields = (
            f"uint64_t {field}{'' if kind is _u64 else f'[{CLASSES}]'};"
            for field, kind, *_ in record._fields_
        )
        lines.append(f"struct {name} {{ {' '.join(fields)} }};")
    return "\n".join(lines)


@lru_cache(maxsize=1)
def switch_library() -> ctypes.CDLL:
    """Returns the switch's runtime, which programs and the engine find their functions in."""
    return load_library(build_runtime())


class Part(NamedTuple):
    """What an engine is built with beside its own kinds: the C file `source`, which may include
    others of its folder, and the names of the kinds in it (csrc/register.h). `lent`: packets are a
    live switch's (VN_LENT of csrc/base.h). `signatures`: of its functions, as `_SIGNATURES`."""

    source: Path
    endpoints: tuple[str, ...] = ()
    flow_controls: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()
    lent: bool = False
    includes: tuple[Path, ...] = ()
    signatures: Mapping[str, tuple[Any, list[Any]]] = MappingProxyType({})

    def files(self) -> list[Path]:
        """Returns all that decides about its code."""
        folders = (self.source.parent, *self.includes)
        return [
            self.source,
            *(path for folder in folders for path in sorted(folder.glob("*.[ch]"))),
        ]


_LOADED: dict[tuple[Any, ...], ctypes.CDLL] = {}


def engine(parts: Sequence[Part] = ()) -> ctypes.CDLL:
    """Returns the engine, with these parts, compiled when it isn't in the cache. Raises
    BuildError."""
    # signatures follow from the source, which a notebook's user edits and uses again
    key = tuple((*part[:-1], part.source.stat().st_mtime_ns) for part in parts)
    if key not in _LOADED:
        _LOADED[key] = _load(parts)
    return _LOADED[key]


def engine_path(parts: Sequence[Part] = ()) -> Path:
    """Returns the engine, with these parts, as a shared object; compiled if it isn't yet. Raises
    BuildError."""
    text = engine_text(parts)
    files = [
        *sorted(CSRC.rglob("*.[ch]")),
        *sorted(SWITCH_CSRC.glob("*.h")),
        *(f for part in parts for f in part.files()),
    ]
    identity = f"{digest(files)} {text}"
    return build("libvirtualnet", [text], identity, engine_flags(parts), CSRC)


def engine_text(parts: Sequence[Part] = ()) -> str:
    """Returns the C file that includes the engine and these parts."""
    lines = [counts_in_c()]
    for kinds in ("endpoints", "flow_controls", "schedulers", "observers"):
        names = [name for part in parts for name in getattr(part, kinds)]
        lines.append(
            f"#define VN_MORE_{kinds.upper()}(X) {' '.join(f'X({name})' for name in names)}"
        )
    if any(part.lent for part in parts):
        lines.append("#define VN_LENT true")
    lines += [f'#include "{path}"' for path in ("engine.c", *(part.source for part in parts))]
    return "\n".join([*lines, ""])


def engine_flags(parts: Sequence[Part] = ()) -> list[str]:
    """Returns the compiler's options of `engine_text`, without the engine's folder."""
    folders = [f"-I{folder}" for part in parts for folder in part.includes]
    return [*FLAGS, *folders, *(["-DVN_ASSERTIONS"] if os.environ.get(ASSERTIONS) else [])]


def _load(parts: Sequence[Part]) -> ctypes.CDLL:
    switch_library()
    # PyDLL: a run keeps Python's lock, as endpoints may call Python; what that raises, the call
    # raises.
    library = load(engine_path(parts), ctypes.PyDLL)
    library.vn_sizes.restype = None
    library.vn_sizes.argtypes = [ctypes.POINTER(Sizes)]
    library.vn_create.restype = _handle
    library.vn_create.argtypes = [_bool, _bool, _u32, _u64]
    for signatures in (_SIGNATURES, *(part.signatures for part in parts)):
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = [_handle, *arguments]
    return library
