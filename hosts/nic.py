"""The NIC's model: what leaves the host, and when. Its rules are in csrc/nic.h; this is its
interface in Python.

No clock and no socket: the caller brings times, which never go back. Seconds are nominal.
`advance(now)` decides all up to now: call it before a change of state.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .native import Events, checked, library
from .reliability import Repeats
from .structures import (
    CLASSES,
    END,
    EXPIRY,
    Event,
    NativeNicFlow,
    NativeReliable,
    NativeTransport,
    NicAnswer,
    PauseState,
)
from .wire import MAX_FRAME

INFINITY = math.inf
_NO_END = -1
NEVER = (1 << 63) - 1


class NicFlow(NativeNicFlow):
    """A flow in the NIC. `packets` is its length, -1 if it has no end; `end_s` is when it ends at
    the latest. One packet in `every`, and the flow's last one, requests an acknowledgement; 0: only
    one that fills the window. `repeats`: nothing, or go-back-N; such a flow ends when all is
    acknowledged. Its frames have the address and the UDP port; `port` is of its NIC."""

    dst_ip: bytes = bytes(4)
    udp_port: int = 0
    port: int = 0

    def __init__(
        self,
        priority: int,
        frame_bits: int,
        rate_bps: float,
        start_s: float,
        *,
        packets: int | None = None,
        last_bits: int | None = None,
        end_s: float = INFINITY,
        every: int = 0,
        window_bytes: float = INFINITY,
        first_psn: int = 0,
        repeats: Repeats = Repeats.NOTHING,
    ) -> None:
        assert repeats is not Repeats.SELECTIVE
        last_bits = frame_bits if last_bits is None else last_bits
        transport = NativeTransport(
            window_bytes=window_bytes,
            packets=packets or 0,
            every=every,
            frame_bytes=frame_bits // 8,
            last_frame_bytes=last_bits // 8,
            first_psn=first_psn,
        )
        super().__init__(
            priority=priority,
            packets=_NO_END if packets is None else packets,
            frame_bits=frame_bits,
            last_bits=last_bits,
            start_s=start_s,
            end_s=end_s,
            rate_bps=rate_bps,
            due_bytes=NEVER,
            reliable=NativeReliable(flow=transport, kind=repeats),
        )

    @property
    def transport(self) -> NativeTransport:
        return self.reliable.flow


class Left(NamedTuple):
    """A delivered frame: packet `number` of a flow, or a control frame (None). `due_s` is when it
    was due."""

    due_s: float
    flow: NicFlow | None
    number: int
    frame: bytes


class Nic:
    """`on_end(flow, at_s)`: a flow has ended at that time (`EVENT_END` of csrc/events.h).
    `on_expiry(class, at_s)`: a PAUSE ran out without RESUME. Both are called by the methods here,
    or by `events.tell()` of the events given."""

    def __init__(
        self,
        line_rate_bps: float,
        *,
        port: int = 0,
        delay_s: float = 0.0,
        catch_up_s: float = 0.0,
        events: Events | None = None,
        on_end: Callable[[NicFlow, float], None] = lambda flow, at_s: None,
        on_expiry: Callable[[int, float], None] = lambda priority, at_s: None,
    ) -> None:
        """Raises BuildError."""
        self.line_rate_bps = line_rate_bps
        self.port = port
        self.events = events or Events()
        self._library = library()
        self.handle = self._library.nic_new(
            port, line_rate_bps, delay_s, catch_up_s, self.events.list
        )
        if not self.handle:
            raise MemoryError
        weakref.finalize(self, self._library.nic_free, self.handle)
        self._state = self._library.nic_state(self.handle)[0]
        self._on_end = on_end
        # The C side has their addresses: those that have not ended, and those of which frames are
        # still to leave
        self._flows: dict[int, NicFlow] = {}
        self._leaving: list[NicFlow] = []
        self._buffer = ctypes.create_string_buffer(MAX_FRAME)
        self.events.listen(END, self._ended, port)
        self.events.listen(EXPIRY, lambda event: on_expiry(event.priority, event.at_s), port)

    @property
    def flows(self) -> tuple[NicFlow, ...]:
        """Flows that have not ended."""
        return tuple(self._flows.values())

    @property
    def pauses(self) -> list[PauseState]:
        """By class."""
        return list(self._state.pauses)

    @property
    def allowed_bits(self) -> float:
        """What the rates allowed until the latest `account`."""
        return float(self._state.allowed_bits)

    @property
    def control_drops(self) -> int:
        """Control frames that found too many waiting."""
        return int(self._state.control_drops)

    @property
    def started_bits(self) -> int:
        return int(self._state.started_bits)

    def add(self, flow: NicFlow, now_s: float) -> None:
        """A flow whose start is now or later."""
        checked(self._library.nic_add(self.handle, flow, now_s))
        flow.port = self.port
        self._flows[ctypes.addressof(flow)] = flow

    def remove(self, flow: NicFlow, now_s: float) -> None:
        """The flow starts no further frame. What has started still leaves."""
        self._library.nic_remove(self.handle, flow, now_s)
        self.events.tell()

    def move(self, flow: NicFlow, to: Nic, started: bool, now_s: float) -> None:
        """The flow sends by another NIC of the host, which has the same events; with what has
        `started` and hasn't left, where this one's link is down."""
        checked(self._library.nic_move(self.handle, to.handle, flow, started, now_s))
        flow.port, address = to.port, ctypes.addressof(flow)
        if self._flows.pop(address, None) is not None:
            to._flows[address] = flow
        elif flow not in to._leaving:
            to._leaving.append(flow)
        others = [leaving for leaving in self._leaving if leaving is not flow]
        self._leaving = [
            leaving for leaving in (*others, flow) if leaving.delivered < leaving.started
        ]

    def by(self, dst_ip: bytes, udp_port: int) -> Nic:
        """Returns the NIC for frames to that address from that UDP port: this one."""
        return self

    @property
    def departing(self) -> tuple[NicFlow, ...]:
        """Flows that have ended, or moved to another NIC, when frames were still to leave."""
        return tuple(self._leaving)

    def take_control(self) -> list[bytes]:
        """Takes back the control frames that haven't left, the oldest first."""
        lengths = iter(lambda: int(self._library.nic_take_control(self.handle, self._buffer)), 0)
        return [self._buffer.raw[:length] for length in lengths]

    def set_rate(self, flow: NicFlow, rate_bps: float, now_s: float) -> None:
        """The gap after the flow's last frame follows the new rate at once."""
        self._library.nic_set_rate(self.handle, flow, rate_bps, now_s)

    def set_window(self, flow: NicFlow, window_bytes: float, now_s: float) -> None:
        """How many bytes of the flow's frames may be sent and not acknowledged; infinite: no
        limit."""
        self._library.nic_set_window(self.handle, flow, window_bytes, now_s)

    def acknowledge(self, flow: NicFlow, psn: int, now_s: float) -> int:
        """Acknowledges the flow's packets up to this PSN. Returns the bytes of those that weren't
        acknowledged before; -1: no such packet was sent."""
        return int(self._library.nic_acknowledge(self.handle, flow, psn, now_s))

    def answered(
        self, flow: NicFlow, psn: int, in_order: int, nak: bool, now_s: float
    ) -> tuple[int, int] | None:
        """Returns the bytes of frames that an answer to a flow that repeats acknowledges, and those
        that are lost: an acknowledgement of a packet and of the first `in_order` ones, modulo 2^24,
        or a NAK. None: no such packet was sent."""
        answer = NicAnswer(psn=psn, in_order=in_order, nak=nak)
        status = self._library.nic_answered(self.handle, flow, answer, now_s)
        self.events.tell()
        return None if status < 0 else (answer.acked, answer.lost)

    def timeout(self, flow: NicFlow, timeout_s: float, now_s: float) -> int:
        """Returns the bytes of frames that are lost, as nothing came of what is in flight for that
        long; 0: none are."""
        return int(self._library.nic_timeout(self.handle, flow, timeout_s, now_s))

    def send_control(self, frame: bytes, now_s: float) -> None:
        """A frame that goes before all others and obeys no PAUSE."""
        checked(self._library.nic_send_control(self.handle, frame, len(frame), now_s))

    def pfc(self, quanta: Mapping[int, int], now_s: float) -> None:
        """A PFC frame arrived: pause quanta of 512 bit times by class; 0 is RESUME."""
        values = (ctypes.c_uint16 * CLASSES)(
            *(quanta.get(priority, 0) for priority in range(CLASSES))
        )
        self._library.nic_pfc(self.handle, sum(1 << priority for priority in quanta), values, now_s)
        self.events.tell()

    def paused_s(self, priority: int, now_s: float) -> float:
        """Returns how long the class has been paused, until now."""
        return float(self._library.nic_paused_s(self.handle, priority, now_s))

    def advance(self, now_s: float) -> None:
        """Decides every start until now."""
        self._library.nic_advance(self.handle, now_s)
        self.events.tell()

    def due(self, now_s: float) -> Left | None:
        """Returns the next frame that must be on the wire by now; it leaves by this.
        `pcn.hosts.loop` does the same in C."""
        item = self._library.nic_due(self.handle, 0, now_s)
        if not item:
            return None
        address, number = item[0].flow, item[0].number
        flow = None if address is None else self._find(address)
        length = (
            0
            if flow is not None and flow.frame is None
            else self._library.nic_frame(item, self._buffer)
        )
        left = Left(item[0].due_ps / 1e12, flow, number, self._buffer.raw[:length])
        self._library.nic_delivered(self.handle, now_s)
        self.events.tell()
        return left

    def wake(self) -> float:
        """Returns when `advance` and `due` have something to do, if nothing happens before.
        Infinity if never."""
        return float(self._library.nic_wake(self.handle))

    def account(self, now_s: float) -> None:
        """Brings `allowed_bits` up to now: the sum of the flows' rates, at most line rate, while
        PFC allows them."""
        self._library.nic_account(self.handle, now_s)

    def shortfall_s(self, now_s: float) -> float:
        """Returns what the rates allowed until now and was not sent, as time at line rate: what
        lateness cost."""
        self.account(now_s)
        return max(0.0, self.allowed_bits - self.started_bits) / self.line_rate_bps

    def reset_counters(self, now_s: float) -> None:
        """Counts start anew; flows and pauses go on."""
        self._library.nic_reset_counters(self.handle, now_s)

    def _find(self, address: int) -> NicFlow:
        flow = self._flows.get(address)
        return flow or next(
            leaving for leaving in self._leaving if ctypes.addressof(leaving) == address
        )

    def _ended(self, event: Event) -> None:
        flow = self._flows.pop(event.flow)
        self._leaving = [
            leaving for leaving in (*self._leaving, flow) if leaving.delivered < leaving.started
        ]
        self._on_end(flow, event.at_s)
