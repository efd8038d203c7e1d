"""The runtime's C interface for its tests, by ctypes: thin, apart from the switch's Python
(pcn.softswitch.native)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_int, c_int32, c_int64, c_uint16, c_uint32, c_uint64
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import needs
from links import Link

from pcn.softswitch.codegen.build import build_runtime, build_source
from pcn.softswitch.native_types import (
    CounterCell as Counter,
    EventHeader as Event,
    PortStatsRecord as PortStats,
    ReplicaRecord as Replica,
)

if TYPE_CHECKING:
    from pcn.virtualnet.native import Part

BY_ENGINE = needs.BY_ENGINE
"""Which the fixture `both_ways` sets."""
PROGRAMS = Path(__file__).with_name("programs")
DROP_PORT = 511
HANG_S = 60  # only what never happens takes so long
PACKET_IN, DIGEST, LOG, NOTICE = 1, 2, 3, 4
(
    FORWARD, CLONE, RESUBMIT, RECIRCULATE, CLONE_EGRESS, DIGESTED, TRUNCATE, DROP, MULTICAST,
    HOLD, CLONE_BARE, LOGGED,
) = range(12)  # fmt: skip
"""Of programs/probe.c, in a frame behind its type."""


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """libsoftswitch, visible to the programs that are loaded later."""
    lib = ctypes.CDLL(str(build_runtime()), mode=ctypes.RTLD_GLOBAL)
    lib.sw_create.restype = ctypes.c_void_p
    lib.sw_create.argtypes = [
        c_uint32, c_uint32, c_uint16, c_uint16, c_uint64, c_uint32, ctypes.c_char_p,
    ]  # fmt: skip
    lib.sw_table_add.restype = c_int64
    lib.sw_time_ns.restype = lib.sw_tx_count.restype = c_uint64
    return lib


def live_engine(parts: Sequence[Part] = ()) -> ctypes.CDLL:
    """The engine, for the runtime's switches."""
    from pcn.virtualnet.live import PART  # late: most tests have the switch's own queues
    from pcn.virtualnet.native import engine

    library()
    return engine([PART, *parts])


@lru_cache
def build(name: str) -> Path:
    """The shared object of programs/<name>.c."""
    return build_source((PROGRAMS / f"{name}.c").read_text(encoding="utf-8"))


class SwitchError(Exception):
    """A call failed: the negative errno and the line that the switch wrote."""

    def __init__(self, code: int, text: str):
        super().__init__(f"{text} ({code})")
        self.code, self.text = code, text


class Departure(NamedTuple):
    """A frame that left a port without interface, and when."""

    port: int
    at_ns: int
    frame: bytes


class Switch:
    """A live switch with one program of programs/; or, `manual`, one whose time stands."""

    def __init__(
        self,
        program: str | None = "probe",
        *,
        depth: int = 64,
        cpu_port: int = 0,
        priorities: int = 8,
        manual: bool = False,
        by_engine: bool | None = None,
        parts: Sequence[Part] = (),
    ):
        """`parts`: of its engine, beside its own."""
        self.lib = library()
        error = ctypes.create_string_buffer(256)
        handle = self.lib.sw_create(priorities, depth, cpu_port, DROP_PORT, 1, int(manual), error)
        if not handle:
            raise SwitchError(0, error.value.decode())
        self.handle = ctypes.c_void_p(handle)
        if BY_ENGINE if by_engine is None else by_engine:
            assert live_engine(parts).vn_live(self.handle) == 0
        try:
            if program is not None:
                self.load(program)
            self.call("sw_start")
        except SwitchError:
            self.close()
            raise

    def __enter__(self) -> Switch:
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Stops the switch and frees it."""
        self.lib.sw_destroy(self.handle)

    def call(self, name: str, *args) -> int:
        """A call that takes an error buffer last."""
        error = ctypes.create_string_buffer(256)
        status = int(getattr(self.lib, name)(self.handle, *args, error))
        if status < 0:
            raise SwitchError(status, error.value.decode())
        return status

    def load(self, program: str):
        """Loads programs/<program>.c."""
        self.call("sw_load", c_char_p(str(build(program)).encode()), None, c_uint32(0))

    def port_add(self, port: int, interface: str | None = None):
        name = None if interface is None else c_char_p(interface.encode())
        self.call("sw_port_add", c_uint16(port), name, c_uint32(2000))

    def join(self, a: Link, b: Link):
        """Port 1 is at the one link, port 2 at the other, and what comes in at 1 leaves by 2."""
        self.port_add(1, a.near)
        self.port_add(2, b.near)
        self.forward(1, 2)

    @property
    def now_ns(self) -> int:
        return int(self.lib.sw_time_ns(self.handle))

    def step(self, until_ns: int, port: int = 0, frames: int = 0) -> int:
        """One call of sw_advance."""
        return int(
            self.lib.sw_advance(self.handle, c_uint64(until_ns), c_uint16(port), c_uint64(frames))
        )

    def advance(self, seconds: float):
        """Moves the manual clock."""
        until = self.now_ns + round(seconds * 1e9)
        while (status := self.step(until)) != 0:
            if status < 0:
                raise SwitchError(status, "")

    def inject(self, port: int, *frames: bytes):
        """Into a port without interface."""
        for frame in frames:
            self.call("sw_inject", c_uint16(port), frame, c_uint32(len(frame)))

    def departed(self) -> list[Departure]:
        """What left ports without interface since the last call."""
        event, data, departures = Event(), ctypes.create_string_buffer(9300), []
        while self.lib.sw_departed(self.handle, byref(event), data, len(data)) == 1:
            departures.append(Departure(event.id, event.now_ns, data.raw[: event.length]))
        return departures

    def shape(self, port: int, rate_bps: float = 0, delay_s: float = 0, depth: int = 0):
        self.call(
            "sw_port_shape", c_uint16(port), c_uint64(int(rate_bps)), c_uint64(round(delay_s * 1e9))
        )
        if depth:
            self.call(
                "sw_queue_set", c_int32(port), c_int32(-1), c_uint64(depth), c_uint64(2**64 - 1)
            )

    def stats(self, port: int) -> PortStats:
        stats = PortStats()
        self.lib.sw_port_stats(self.handle, c_uint16(port), byref(stats))
        return stats

    def forward(self, port: int, to: int) -> int:
        """probe.c: what comes in on `port` leaves by `to`."""
        args = (c_uint64 * 1)(to)
        return self.table_add(0, bytes([port]), args=args)

    def table_add(self, table: int, key: bytes, *, action: int = 0, args=None) -> int:
        count = 0 if args is None else len(args)
        return self.call(
            "sw_table_add", c_uint32(table), key, None, c_int32(0), c_int32(0), c_uint32(action),
            args, c_uint32(count),
        )  # fmt: skip

    def table_delete(self, handle: int, table: int = 0):
        self.call("sw_table_delete", c_uint32(table), c_uint32(handle))

    def group(self, kind: str, number: int, replicas: list[tuple[int, int]], truncate: int = 0):
        """kind: clone_session or multicast_group."""
        array = (Replica * max(1, len(replicas)))(*[Replica(*replica) for replica in replicas])
        more = (c_uint32(truncate),) if kind == "clone_session" else ()
        self.call(f"sw_{kind}", c_uint32(number), array, c_uint32(len(replicas)), *more)

    def counter(self, counter: int, index: int = 0) -> Counter:
        cell = Counter()
        assert self.lib.sw_counter_read(self.handle, counter, index, 1, byref(cell)) == 0
        return cell

    def write_register(self, register: int, value: int, index: int = 0):
        cell = (c_uint64 * 1)(value)
        assert self.lib.sw_register_write(self.handle, register, index, 1, cell) == 0

    def packet_out(self, port: int, frame: bytes) -> int:
        return int(self.lib.sw_packet_out(self.handle, c_uint16(port), frame, len(frame)))

    def event(self, timeout_s: float = HANG_S) -> tuple[int, int, bytes] | None:
        """The next event's kind, id and data, or None."""
        event, data = Event(), ctypes.create_string_buffer(9300)
        status = self.lib.sw_next_event(
            self.handle, c_int(int(timeout_s * 1000)), byref(event), data, len(data)
        )
        return (event.kind, event.id, data.raw[: event.length]) if status == 1 else None


def frame(
    opcode: int = FORWARD, argument: int = 0, priority: int = 0, length: int = 1000, mark: int = 0
) -> bytes:
    """A frame for programs/probe.c, cut or filled to its length."""
    head = (
        bytes(range(12))
        + b"\x88\xb5"
        + bytes([opcode, argument, priority])
        + bytes(6)
        + bytes([mark])
    )
    return head.ljust(length, b".")[:length]


def wait(condition: Callable[[], bool], limit_s: float = HANG_S) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True
