"""The C side (csrc/) as Python sees it: its functions and its events."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from ctypes import (
    POINTER,
    c_bool,
    c_double,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import lru_cache
from pathlib import Path
from typing import Any

from pcn.softswitch.cache.objects import COMMON_FLAGS, build, digest, load

from .structures import (
    Event,
    EventList,
    LoopSettings,
    LoopState,
    NativeLoopPort,
    NativeNicFlow,
    NativeReceivedFlow,
    NativeReliable,
    NativeReliableReceiver,
    NativeTransport,
    NicAnswer,
    NicItem,
    NicState,
    ReceivedState,
)

CSRC = Path(__file__).resolve().parent / "csrc"
SWITCH = CSRC.parents[1] / "softswitch" / "csrc"
FLAGS = (*COMMON_FLAGS, "-lm")

_FLOW = POINTER(NativeNicFlow)
_ITEM = POINTER(NicItem)
# name: (result, arguments)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "events_new": (POINTER(EventList), []),
    "events_free": (None, [POINTER(EventList)]),
    "nic_new": (c_void_p, [c_uint32, c_double, c_double, c_double, POINTER(EventList)]),
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
    "received_new": (c_void_p, [POINTER(EventList)]),
    "received_free": (None, [c_void_p]),
    "received_state": (POINTER(ReceivedState), [c_void_p]),
    "received_add": (ctypes.c_int, [c_void_p, POINTER(NativeReceivedFlow)]),
    "received_remove": (None, [c_void_p, POINTER(NativeReceivedFlow)]),
    "received_clear": (None, [c_void_p]),
    "received_timers": (None, [c_void_p, c_double]),
    "loop_new": (
        c_void_p,
        [POINTER(LoopSettings), POINTER(NativeLoopPort), c_uint32, c_void_p, POINTER(EventList)],
    ),
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
    EventList,
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
    shared = [SWITCH / name for name in ("channel.h", "crc32.h", "icrc.h")]
    headers = [*sorted(CSRC.glob("*.h")), *shared]
    return build("libhosts", sources, digest([*sources, *headers]), FLAGS, CSRC)


@lru_cache(maxsize=1)
def library() -> Any:
    """Returns the compiled C side with its functions declared. Raises BuildError."""
    loaded = load(library_path())
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    sizes = (c_uint64 * len(_MIRRORED)).in_dll(loaded, "hosts_sizes")
    for structure, size in zip(_MIRRORED, sizes, strict=True):
        assert ctypes.sizeof(structure) == size, (
            f"{structure.__name__} differs from its struct in csrc"
        )
    return loaded


def checked(status: int) -> None:
    """Raises MemoryError if a C function had no memory."""
    if status < 0:
        raise MemoryError


class Events:
    """Distributes the C side's events to their listeners."""

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
        """Sets the listener of a kind of events, of a NIC's kinds that of a port. Events without a
        listener are dropped."""
        self._listeners[kind, port] = listener

    def tell(self) -> None:
        """Calls the listeners with the events since the last call; events that a listener causes
        come afterwards. Raises MemoryError."""
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
