"""The sending side: flows, each with its RP, its packets and its place in the NIC. No clock and no
socket."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from pcn.base.errors import error_text
from pcn.softswitch.tick import TICK_NS

from . import stats, telemetry, wire
from .algorithms import Ack, Cnm, Cnp, Configured, Loss, Mark, ReactionPoint, SchemeError
from .algorithms.base import check_timer
from .clock import DilatedClock
from .log import EventLog
from .nic import INFINITY, Nic, NicFlow
from .nics import Nics
from .sent_flow import FlowError, FlowRequest, SentFlow
from .structures import REQUESTED, SENT, Event

_PSN_MASK = 0xFFFFFF
_MOST_REQUESTED = 4096
"""Acknowledgements that a flow waits for: a receiver that sends none costs no more memory."""
_MOST_TIMEOUTS = 7
"""In a row, InfiniBand's largest Retry Count: with one more a flow that repeats has failed."""
_MOST_NUMBERS = 16 * stats.MOST_FLOWS
"""Flow numbers whose next PSN is kept."""


class Sender:
    """Flows by number. `timer_s` is when `on_timer` must be called. `switch_tick_s`: of the
    switches' clock, real time.

    What an RP raises ends its flow, which has `failed`; the others go on.
    """

    def __init__(
        self,
        mac: bytes,
        ip: bytes,
        configured: Configured,
        nic: Nic | Nics,
        clock: DilatedClock,
        log: EventLog,
        switch_tick_s: float = TICK_NS / 1e9,
    ) -> None:
        self.timer_s = INFINITY
        self.unknown_cnps = self.unusable_cnps = self.forgotten = 0
        self._mac = mac
        self._ip = ip
        self._configured = configured
        self._nic = nic
        self._clock = clock
        self._tick_s = switch_tick_s / clock.dilation
        self._log = log
        self._running: dict[int, SentFlow] = {}
        self._ended: dict[int, SentFlow] = {}  # in the order in which they did
        self._by_address: dict[int, SentFlow] = {}
        self._next_psn: dict[int, int] = {}
        nic.events.listen(SENT, self._on_sent)
        nic.events.listen(REQUESTED, self._on_asked)

    def room_bytes(self, max_frame: int) -> int:
        """Returns the largest payload of a packet in a frame of that length, in bytes. Raises
        SchemeError."""
        return (
            max_frame - wire.DATA_OVERHEAD - wire.TELEMETRY_BYTES * self._configured.wants_telemetry
        )

    def start(self, request: FlowRequest, now_s: float) -> None:
        """Raises FlowError, SchemeError or WireError."""
        request.check()
        running = self._running.get(request.flow)
        if running is not None:
            raise FlowError(
                f"flow {request.flow} is {running.state} already: stop it first, or take another "
                "number"
            )
        if len(self._running) == stats.MOST_FLOWS:
            raise FlowError(
                f"{stats.MOST_FLOWS} flows wait or send already, as many as a host can: stop one "
                "first"
            )
        packet = wire.DataPacket(
            self._mac,
            wire.parse_mac(request.dst_mac),
            self._ip,
            wire.parse_ip(request.dst_ip),
            request.flow,
            self._next_psn.get(request.flow, 0),
            bytes(request.payload_bytes),
            dscp=request.dscp,
        )
        try:
            line_bps = self._nic.by(packet.dst_ip, wire.source_port(request.flow)).line_rate_bps
            flow = SentFlow(request, packet, self._configured, line_bps)
            flow.rp.on_start(request.start_s)
            flow.read_rp()
        except (SchemeError, wire.WireError):
            raise
        except Exception as error:
            raise FlowError(
                f"flow {request.flow}: its RP begins wrongly: {error_text(error)}"
            ) from error
        flow.rate_bps = flow.allowed_bps
        flow.wants_acks = flow.rp.wants_acks or flow.repeats
        flow.transport.window_bytes = flow.window_bytes
        self._nic.add(flow, now_s)
        self._forget(self._ended.pop(request.flow, None))
        self._running[request.flow] = self._by_address[ctypes.addressof(flow)] = flow
        self._log.write(
            request.start_s,
            "start",
            flow=request.flow,
            dst_ip=request.dst_ip,
            rate_bps=flow.rp.rate_bps,
        )
        self._set_timer()

    def stop(self, number: int, now_s: float) -> None:
        """Raises FlowError."""
        flow = self._find(number)
        if flow is None:
            known = ", ".join(map(str, sorted({**self._running, **self._ended}))) or "none"
            raise FlowError(f"no flow {number} here; known: {known}")
        if flow.end_at_s is None:
            flow.stopped = True
            self._nic.remove(flow, now_s)

    def on_end(self, flow: NicFlow, at_s: float) -> None:
        """The NIC sends no more of this flow."""
        assert isinstance(flow, SentFlow)
        flow.end_at_s = at_s
        number = flow.request.flow
        self._ended[number] = self._running.pop(number)
        if len(self._ended) > stats.MOST_FLOWS:
            self._forget(self._ended.pop(next(iter(self._ended))))
            self.forgotten += 1
        self._next_psn.pop(number, None)
        self._next_psn[number] = (flow.transport.first_psn + flow.once) & _PSN_MASK
        _keep(self._next_psn, _MOST_NUMBERS)
        self._log.write(at_s, "end", flow=number, packets=flow.started)

    def on_cnp(self, number: int, src_ip: bytes, cnp: Cnp, now_s: float) -> None:
        """A CNP for a flow came from its receiver."""
        flow = self._notified(number, src_ip)
        if flow is not None and flow.rp.needs_rec_rate and not cnp.rec_rate_bps:
            self.unusable_cnps += 1
        elif flow is not None:
            self._react(flow, now_s, lambda rp: rp.on_cnp(cnp, now_s))

    def on_cnm(self, number: int, src_ip: bytes, cnm: Cnm, now_s: float) -> None:
        """A switch notified the source of a packet of a flow; `src_ip` is where the packet went."""
        flow = self._notified(number, src_ip)
        if flow is not None:
            self._react(flow, now_s, lambda rp: rp.on_cnm(cnm, now_s))

    def on_ack(
        self, number: int, src_ip: bytes, psn: int, mark: Mark, now_s: float,
        brought: bytes | None = None,
        in_order: int = 0, nak: bool = False,
    ) -> None:  # fmt: skip
        """A packet that requested it was acknowledged; `mark` is the worst since the one before,
        `brought` its telemetry as it arrived. Of a flow that repeats `in_order` counts what has
        come; or, `nak`, the packet is missing."""
        flow = self._find(number)
        if flow is None or flow.dst_ip != src_ip:
            self.unknown_cnps += 1
            return
        left_s = INFINITY if nak else flow.requested.pop(psn, INFINITY)
        if left_s <= now_s:
            flow.rtt_s = now_s - left_s
        known: tuple[int, int] | None = None
        if flow.repeats:
            known = self._nic.answered(flow, psn, in_order, nak, now_s)
        elif left_s <= now_s:
            known = self._nic.acknowledge(flow, psn, now_s), 0
        if known is None:
            self.unknown_cnps += 1
            return
        acked_bytes, lost_bytes = known
        if acked_bytes or lost_bytes:
            flow.timeouts = 0
        if lost_bytes:
            self._react(flow, now_s, lambda rp: rp.on_loss(Loss(lost_bytes, False), now_s))
        elif left_s <= now_s or acked_bytes:
            hops = None if brought is None else telemetry.decode(brought, self._tick_s)
            ack = Ack(flow.rtt_s, mark, acked_bytes, psn, wire.source_port(number), hops)
            self._react(flow, now_s, lambda rp: rp.on_ack(ack, now_s))

    def on_timer(self, now_s: float) -> None:
        """Runs the RPs' timers that are due, and repeats what nothing came of."""
        for flow in list(self._running.values()):
            if flow.look_s <= now_s:
                self._look(flow, now_s)
            self._run_rp(flow, now_s)
        self._set_timer()

    def _look(self, flow: SentFlow, now_s: float) -> None:
        timeout_s = flow.reliability.timeout_s
        lost_bytes = self._nic.timeout(flow, timeout_s, now_s)
        flow.timeouts += lost_bytes > 0
        if flow.timeouts > _MOST_TIMEOUTS:
            self._fail(
                flow,
                f"nothing was acknowledged after {_MOST_TIMEOUTS} timeouts of {timeout_s:g} s",
                now_s,
            )
        elif lost_bytes:
            self._run_rp(flow, now_s, lambda rp: rp.on_loss(Loss(lost_bytes, True), now_s))
        due_s = flow.progress_ps / 1e12 + timeout_s if flow.in_flight_bytes() else now_s + timeout_s
        flow.look_s = max(due_s, now_s + timeout_s / 1000)

    def reset(self) -> None:
        """Forgets flows that ended."""
        for flow in self._ended.values():
            self._forget(flow)
        self._ended.clear()
        self.unknown_cnps = self.unusable_cnps = self.forgotten = 0

    def progress(self) -> dict[int, int]:
        """Returns the bytes of the frames sent so far, by flow."""
        return {flow.request.flow: flow.sent_bytes()[0] for flow in self._by_address.values()}

    def stats(self) -> tuple[stats.SentFlow, ...]:
        since = self._clock.since_epoch
        result = []
        for number, flow in sorted({**self._ended, **self._running}.items()):
            frame_bytes, payload_bytes = flow.sent_bytes()
            result.append(
                stats.SentFlow(
                    flow=number,
                    dst_ip=flow.request.dst_ip,
                    state=flow.state,
                    packets=flow.started,
                    bytes=frame_bytes,
                    payload_bytes=payload_bytes,
                    rate_bps=flow.rp_rate_bps,
                    limit_bps=flow.request.rate_bps,
                    rp=flow.rp_state,
                    cnps=flow.cnps,
                    start_s=since(flow.request.start_s),
                    end_s=None if flow.end_at_s is None else since(flow.end_at_s),
                    error=flow.error,
                    window_bytes=None
                    if flow.window_bytes == INFINITY
                    else float(flow.window_bytes),
                    in_flight_bytes=flow.in_flight_bytes() if flow.wants_acks else 0,
                    repeated_packets=int(flow.reliable.repeated),
                    timeouts=int(flow.reliable.timeouts),
                    port=flow.port,
                )
            )
        return tuple(result)

    def _notified(self, number: int, src_ip: bytes) -> SentFlow | None:
        """Returns the flow that a CNP or CNM is for; counts it."""
        flow = self._find(number)
        if flow is None or flow.dst_ip != src_ip:
            self.unknown_cnps += 1
            return None
        flow.cnps += 1
        return flow

    def _on_asked(self, event: Event) -> None:
        """A packet that requests an acknowledgement has left."""
        flow = self._by_address.get(event.flow)
        if flow is not None:
            flow.requested[(flow.transport.first_psn + event.count) & _PSN_MASK] = event.at_s
            _keep(flow.requested, _MOST_REQUESTED)

    def _on_sent(self, event: Event) -> None:
        """A flow has sent the bytes that its RP waits for."""
        flow = self._by_address.get(event.flow)
        if flow is not None:
            self._react(flow, event.at_s, lambda rp: rp.on_bytes_sent(event.at_s), event.count)

    def _react(
        self,
        flow: SentFlow,
        now_s: float,
        react: Callable[[ReactionPoint], None],
        sent_bytes: int | None = None,
    ) -> None:
        self._run_rp(flow, now_s, react, sent_bytes)
        self._set_timer()

    def _run_rp(
        self, flow: SentFlow, now_s: float, react: Callable[[ReactionPoint], None] | None = None,
        sent_bytes: int | None = None,
    ) -> None:  # fmt: skip
        """Timers that are due, each at the time that the RP named, however late this process is;
        then an event. A flow that has ended meanwhile doesn't care."""
        if flow.end_at_s is not None or flow.error is not None:
            return
        rp = flow.rp
        try:
            while rp.timer_s is not None and rp.timer_s <= now_s:
                due_s = rp.timer_s
                rp.sent_bytes = flow.started_bytes
                rp.on_timer(due_s)
                check_timer(rp.timer_s, due_s)
                self._obey(flow, now_s)
            if react is not None:
                rp.sent_bytes = flow.started_bytes if sent_bytes is None else sent_bytes
                react(rp)
                self._obey(flow, now_s)
        except Exception as error:
            self._fail(flow, f"its RP raised {error_text(error)}", now_s)

    def _fail(self, flow: SentFlow, error: str, now_s: float) -> None:
        flow.error = error
        self._log.write(now_s, "failed", flow=flow.request.flow, error=flow.error)
        self._nic.remove(flow, now_s)

    def _obey(self, flow: SentFlow, now_s: float) -> None:
        flow.read_rp()
        rate_bps = flow.allowed_bps
        if rate_bps != flow.rate_bps:
            self._nic.set_rate(flow, rate_bps, now_s)
        if flow.window_bytes != flow.transport.window_bytes:
            self._nic.set_window(flow, flow.window_bytes, now_s)
        self._log.write(
            now_s, "rate", flow=flow.request.flow, rate_bps=flow.rp.rate_bps, **flow.rp_state
        )

    def _find(self, number: int) -> SentFlow | None:
        return self._running.get(number) or self._ended.get(number)

    def _forget(self, flow: SentFlow | None) -> None:
        if flow is not None:
            del self._by_address[ctypes.addressof(flow)]

    def _set_timer(self) -> None:
        self.timer_s = min(
            (
                min(flow.look_s, INFINITY if flow.rp.timer_s is None else flow.rp.timer_s)
                for flow in self._running.values()
                if flow.error is None
            ),
            default=INFINITY,
        )


def _keep(latest: dict[int, Any], most: int) -> None:
    """The newest entries alone."""
    if len(latest) > most:
        del latest[next(iter(latest))]
