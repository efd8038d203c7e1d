"""The receiving side: NPs and their CNPs, acknowledgements. csrc/received.h counts the packets. No
clock, no socket."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections import OrderedDict
from collections.abc import Callable

from pcn.base.errors import error_text

from . import stats, wire
from .algorithms import Cnp, Configured, Mark, NotificationPoint, Window, window_phase
from .clock import DilatedClock
from .log import EventLog
from .native import Events, checked, library
from .structures import ACK_REQUEST, LAST, MARKED, UNKNOWN, WINDOW, Event, NativeReceivedFlow

_NOT_COMPLETE = -math.inf


class ReceivedFlow(NativeReceivedFlow):
    """A flow, its NP, and where its CNPs go."""

    def __init__(self, head: bytes, np: NotificationPoint, seed: int, now_s: float) -> None:
        """For the flow of a packet that begins so and arrives now."""
        self.reply_mac, self.src_ip, number = wire.data_source(head)
        super().__init__(src=int.from_bytes(self.src_ip, "big"), flow=number)
        self.complete_s = _NOT_COMPLETE
        self.np = np
        self.cnps = 0
        self.error: str | None = None
        self.looked = 1  # packets when the receiver looked for a flow to forget
        self.window_end_s = -math.inf
        self.wants_marked = type(np).on_marked is not NotificationPoint.on_marked
        if np.period_s is not None:
            self.period_s = np.period_s
            self.grid_s = (
                now_s - window_phase(np.phase_spread, seed, self.src, self.flow) * np.period_s
            )

    @property
    def silent(self) -> bool:
        """No packet has come since the receiver looked, or none after the last one."""
        return bool(self.packets == self.looked or self.last_s == self.complete_s)


class Receiver:
    """Flows by source and number. `send(frame, now)` takes what goes back; `timer_s` is when
    `on_timer` must be called.

    Takes the events of csrc/received.h. Packets from any sender make flows: beyond
    `stats.MOST_FLOWS` one that is silent is `forgotten`. What an NP raises ends that NP: its flow
    is counted, and gets no CNPs.
    """

    def __init__(
        self, mac: bytes, ip: bytes, configured: Configured, clock: DilatedClock, log: EventLog,
        events: Events,
        send: Callable[[bytes, float], None], seed: int = 1,
    ) -> None:  # fmt: skip
        """Raises BuildError."""
        self._mac = mac
        self._ip = ip
        self._configured = configured
        self._clock = clock
        self._log = log
        self._events = events
        self._send = send
        self._seed = seed
        self._library = library()
        self.handle = self._library.received_new(events.list)
        if not self.handle:
            raise MemoryError
        weakref.finalize(self, self._library.received_free, self.handle)
        self._state = self._library.received_state(self.handle)[0]
        self.forgotten = 0
        # By address, in the order in which they are looked at when one must be forgotten
        self._flows: OrderedDict[int, ReceivedFlow] = OrderedDict()
        events.listen(UNKNOWN, self._learn)
        events.listen(WINDOW, self._on_window)
        events.listen(MARKED, self._on_marked)
        events.listen(LAST, self._on_last)
        events.listen(ACK_REQUEST, self._on_ack_request)

    @property
    def timer_s(self) -> float:
        return float(self._state.timer_s)

    def on_timer(self, now_s: float) -> None:
        """Closes the windows that have ended."""
        self._library.received_timers(self.handle, now_s)
        self._events.tell()

    def reset(self) -> None:
        """Forgets all flows: their next packet is their first."""
        self._library.received_clear(self.handle)
        self._flows.clear()
        self.forgotten = 0

    def progress(self) -> dict[int, tuple[int, int, int, int]]:
        """Returns what has come so far, by flow: payload in bytes, packets, and how many of them
        marked CE and UE."""
        flows = self._flows.values()
        return {
            flow.flow: (flow.payload_bytes, flow.packets, flow.marked_ce, flow.marked_ue)
            for flow in flows
        }

    def stats(self) -> tuple[stats.ReceivedFlow, ...]:
        since = self._clock.since_epoch
        return tuple(
            stats.ReceivedFlow(
                flow=flow.flow,
                src_ip=wire.format_ip(flow.src_ip),
                packets=flow.packets,
                bytes=flow.bytes,
                payload_bytes=flow.payload_bytes,
                marked_ce=flow.marked_ce,
                marked_ue=flow.marked_ue,
                gaps=flow.gaps,
                duplicates=flow.duplicates,
                reordered=flow.reordered,
                cnps=flow.cnps,
                first_s=since(flow.first_s),
                last_s=since(flow.last_s),
                complete_s=None if flow.complete_s == _NOT_COMPLETE else since(flow.complete_s),
                error=flow.error,
            )
            for flow in sorted(self._flows.values(), key=lambda flow: (flow.src, flow.flow))
        )

    def _learn(self, event: Event) -> None:
        """A packet of a new flow waits to be taken."""
        if len(self._flows) == stats.MOST_FLOWS:
            self._forget()
        try:
            flow = ReceivedFlow(event.frame, self._configured.new_np(), self._seed, event.at_s)
        except Exception as error:
            flow = ReceivedFlow(event.frame, NotificationPoint(), self._seed, event.at_s)
            self._failed(flow, error, event.at_s)
        known = self._library.received_add(self.handle, flow)
        checked(known)
        if not known:  # since a packet that came another way in the same turn waited, too
            self._flows[ctypes.addressof(flow)] = flow

    def _forget(self) -> None:
        """Forgets the first flow in turn that is silent: since its last turn no packet of it has
        come."""
        while True:
            address, flow = self._flows.popitem(last=False)
            if flow.silent:
                break
            flow.looked = flow.packets
            self._flows[address] = flow
        self._library.received_remove(self.handle, flow)
        self.forgotten += 1

    def _on_window(self, event: Event) -> None:
        flow = self._flows.get(event.flow)
        if flow is None:
            return
        counted = event.window
        window = Window(
            counted.packets,
            counted.marked_ce,
            counted.marked_ue,
            counted.bytes,
            counted.first_s,
            counted.last_s,
        )
        try:
            cnp = flow.np.on_window(window)
            if cnp is not None:
                self._notify(flow, cnp, event.at_s)
        except Exception as error:
            self._failed(flow, error, event.at_s)
            return
        if cnp is None:
            return
        self._log.write(
            event.at_s,
            "np",
            flow=flow.flow,
            src_ip=wire.format_ip(flow.src_ip),
            packets=window.packets,
            marked=window.marked_ce,
            marked_ue=window.marked_ue,
            bytes=window.bytes,
            ce=int(cnp.mark is Mark.CE),
            ue=int(cnp.mark is Mark.UE),
            rec_rate_bps=float(cnp.rec_rate_bps),
        )

    def _on_marked(self, event: Event) -> None:
        flow = self._flows.get(event.flow)
        if flow is None:
            return
        try:
            cnp = flow.np.on_marked(event.at_s)
            if cnp is not None:
                self._notify(flow, cnp, event.at_s)
        except Exception as error:
            self._failed(flow, error, event.at_s)

    def _failed(self, flow: ReceivedFlow, error: Exception, now_s: float) -> None:
        flow.np, flow.wants_marked, flow.period_s = NotificationPoint(), False, 0.0
        flow.error = f"its NP raised {error_text(error)}"
        src_ip = wire.format_ip(flow.src_ip)
        self._log.write(now_s, "failed", flow=flow.flow, src_ip=src_ip, error=flow.error)

    def _on_last(self, event: Event) -> None:
        flow = self._flows.get(event.flow)
        if flow is not None:
            src_ip = wire.format_ip(flow.src_ip)
            self._log.write(event.at_s, "last", flow=flow.flow, src_ip=src_ip, packets=event.count)

    def _on_ack_request(self, event: Event) -> None:
        flow = self._flows.get(event.flow)
        if flow is not None:
            packet = wire.AckPacket(
                self._mac, flow.reply_mac, self._ip, flow.src_ip, flow.flow, event.count,
                event.mark,
                in_order=event.in_order, nak=event.nak, telemetry=event.telemetry,
            )  # fmt: skip
            self._send(wire.encode_ack(packet), event.at_s)

    def _notify(self, flow: ReceivedFlow, cnp: Cnp, now_s: float) -> None:
        """Raises WireError or TypeError for what is no CNP."""
        if not isinstance(cnp, Cnp) or not isinstance(cnp.mark, Mark):
            raise TypeError(f"{cnp!r}: an NP's answer is a Cnp with one of Mark, or None")
        packet = wire.CnpPacket(
            self._mac,
            flow.reply_mac,
            self._ip,
            flow.src_ip,
            flow.flow,
            cnp.mark,
            wire.rec_rate_mbps(cnp.rec_rate_bps),
        )
        frame = wire.encode_cnp(packet)
        flow.cnps += 1
        self._send(frame, now_s)
