"""An embedded switch on the manual clock whose packets the engine of virtual time moves, in place
of the switch's own queues: for data-plane tests, whose records then are those of both.

It has ports without interface, rates, delays, depths and rates of queues, trimming, the packet
generator and the CPU port. A packet that is sent round is back at once (`--reentry 0`), and one
without end hangs."""

from __future__ import annotations

import ctypes
import errno
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pcn.controller.constants import RECIRCULATION_PORT
from pcn.softswitch.native import NativeError, NativeSwitch
from pcn.softswitch.native_types import PRIORITIES, TrimmingRecord
from pcn.softswitch.trimming import DEFAULT, Trimming
from pcn.virtualnet import native
from pcn.virtualnet.native import NO_QUEUE

_u16, _u32, _u64, _int = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
_switch, _bytes = ctypes.c_void_p, ctypes.c_char_p
_DEPTH = 64
"""Packets of a queue, where nothing sets another number."""
_LONGEST = 9216
_LINE_BPS = 10**9  # of a link until it is shaped
PART = native.Part(
    Path(__file__).with_name("ports.c"),
    signatures={
        "vn_add_edge": (ctypes.c_int64, [_switch, _u16, ctypes.c_bool]),
        "vn_shape_edge": (_int, [_u32, _u64, _u64]),
        "vn_edge_frame": (_int, [_u32, _u32, _bytes, _u32]),
        "vn_edge_packet_out": (_int, [_switch, _u32, _bytes, _u32]),
        "vn_edge_advance": (_int, [_switch, _u64, _u16, _u64]),
    },
)


class EngineSwitch(NativeSwitch):
    """As its base on the manual clock. Packets inside are dropped where a program is loaded, as
    there, and where ports or queues change."""

    def __init__(self, library: ctypes.CDLL, *, priorities: int = PRIORITIES, **more: Any) -> None:
        super().__init__(library, priorities=priorities, **more)
        if not self.manual:
            raise NativeError(errno.EINVAL, "the engine moves packets on the manual clock alone")
        self._engine = native.engine([PART])
        self._net: int | None = None
        self._using = threading.RLock()
        self._priorities = priorities
        self._shapes: dict[int, tuple[int, int]] = {}
        self._queues: list[tuple[int | None, int | None, int | None, int | None]] = []
        self._trimming: tuple[Sequence[int], Trimming] | None = None
        self._loaded = False

    def close(self) -> None:
        with self._using:
            self._drop()
        super().close()

    # ---- what the network is built of ----

    def port_add(self, port: int, interface: str | None, ring_frames: int = 0) -> None:
        if interface is not None:
            raise NativeError(errno.EINVAL, f"port {port}: the engine has none with an interface")
        with self._using:
            self._drop()
            super().port_add(port, None)
            self._shapes[port] = (0, 0)

    def port_shape(self, port: int, *, rate_bps: int, delay_ns: int = 0) -> None:
        with self._using:
            super().port_shape(port, rate_bps=rate_bps, delay_ns=delay_ns)
            self._shapes[port] = (rate_bps, delay_ns)
            if self._net is not None:
                self._check(
                    self._engine.vn_shape_edge(self._net, self._links[port], rate_bps, delay_ns)
                )

    def set_queue(
        self,
        port: int | None,
        queue: int | None,
        *,
        depth: int | None = None,
        rate_pps: int | None = None,
    ) -> None:
        with self._using:
            self._drop()
            super().set_queue(port, queue, depth=depth, rate_pps=rate_pps)
            self._queues.append((port, queue, depth, rate_pps))

    def set_trimming(self, queues: Iterable[int], trimming: Trimming = DEFAULT) -> None:
        with self._using:
            self._drop()
            self._trimming = tuple(queues), trimming
            super().set_trimming(*self._trimming)

    def set_reentry(self, ns: int) -> None:
        raise NativeError(errno.EINVAL, "the engine sends packets round at once: --reentry 0")

    def generate(self, port: int, period_ns: int, packet_ids: Sequence[int]) -> None:
        with self._using:
            self._drop()
            super().generate(port, period_ns, packet_ids)

    def load(self, program: Path, counts: ctypes.Array[ctypes.c_uint64] | None = None) -> None:
        with self._using:
            self._drop()
            super().load(program, counts)
            self._loaded = True

    # ---- packets and time ----

    def inject(self, port: int, frame: bytes) -> None:
        with self._using:
            net = self._running()
            if net is None or port not in self._edges or not 0 < len(frame) <= _LONGEST:
                super().inject(port, frame)  # counts it, or says what is wrong
                return
            edge = self._edges[port]
            self._check(self._engine.vn_edge_frame(net, self._node, edge, frame, len(frame)))

    def packet_out(self, port: int, frame: bytes) -> None:
        with self._using:
            net = self._running()
            if net is None:
                super().packet_out(port, frame)
                return
            self._check(
                self._engine.vn_edge_packet_out(net, self.handle, self._node, frame, len(frame))
            )

    def advance(self, until_ns: int, port: int = 0, frames: int = 0) -> bool:
        with self._using:
            net = self._running()
            if net is None:
                return super().advance(until_ns, port, frames)
            return not self._check(
                self._engine.vn_edge_advance(net, self.handle, until_ns, port, frames)
            )

    # ---- inside ----

    def _drop(self) -> None:
        """The next call makes another network, at this one's time."""
        if self._net is not None:
            self._engine.vn_destroy(self._net)
            self._net = None

    def _check(self, code: int) -> int:
        if code < 0:
            raise NativeError(-code, f"the engine: {self._engine.vn_error(self._net).decode()}")
        return code

    def _running(self) -> int | None:
        """Returns the network; None without a program."""
        if self._net is not None or not self._loaded:
            return self._net
        engine = self._engine
        net = self._net = engine.vn_create(False, False, 1, 0)
        self._check(engine.vn_store_whole(net, _LONGEST))
        self._node = self._check(engine.vn_add_switch(net, self.handle))
        self._edges, self._links = {}, {}
        # The program's internal port has a queue as all others, served in its turn.
        for port in (*self._shapes, RECIRCULATION_PORT):
            leads_out = port in self._shapes
            edge = self._check(engine.vn_add_edge(net, self.handle, port, leads_out))
            link = self._check(engine.vn_add_link(net, self._node, port, edge, 0, _LINE_BPS, 0))
            self._check(engine.vn_shape_edge(net, link, *self._shapes.get(port, (0, 0))))
            self._edges[port], self._links[port] = edge, link
        for port, link in self._links.items():
            for queue in range(PRIORITIES):
                self._check(engine.vn_set_queue(net, link, queue, *self._setting(port, queue)))
            if self._trimming is not None:
                raw = TrimmingRecord.of(*self._trimming)
                self._check(engine.vn_set_trimming(net, link, ctypes.byref(raw)))
        self._check(engine.vn_edge_advance(net, self.handle, self.now_ns, 0, 0))
        return net

    def _setting(self, port: int, queue: int) -> tuple[int, int]:
        """Returns a queue's depth and its rate in packets/s."""
        depth, rate_pps = _DEPTH if queue < self._priorities else NO_QUEUE, 0
        for of_port, of_queue, its_depth, its_rate in self._queues:
            if of_port not in (None, port) or of_queue not in (None, queue):
                continue
            if its_depth is not None and depth != NO_QUEUE:
                depth = its_depth
            rate_pps = rate_pps if its_rate is None else its_rate
        return depth, rate_pps
