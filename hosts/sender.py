"""The sending side: flows, each with its RP, its packets and its place in the NIC. No clock and no socket."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from topologies.errors import error_text

from . import stats, telemetry, wire
from .algorithms import Ack, Cnm, Cnp, Configured, Loss, Mark, ReactionPoint, SchemeError
from .algorithms.base import check_rate, check_timer, check_window
from .clock import DilatedClock
from .log import EventLog
from .nic import INFINITY, NEVER, Nic, NicFlow
from .nics import Nics
from .reliability import LOSSLESS, Repeats
from .structures import ASKED, SENT, Event

_PSN_MASK = 0xFFFFFF
_BYTES_BOUND = 1 << 60
_MOST_ASKED = 4096
"""Acknowledgements that a flow waits for: a receiver that sends none costs no more memory."""
_MOST_TIMEOUTS = 7
"""In a row, InfiniBand's largest Retry Count: with one more a flow that repeats has failed."""
_SWITCH_TICK_S = 1e-6
"""Of a switch's clock, in real time."""
_MOST_NUMBERS = 16 * stats.MOST_FLOWS
"""Flow numbers whose next PSN is kept."""


class FlowError(ValueError):
    """A flow that can't be started or isn't there."""


@dataclass(frozen=True)
class FlowRequest:
    """What to send. `start_s` and `duration_s` are nominal; `size_bytes` is payload; None: no limit."""

    flow: int
    dst_ip: str
    dst_mac: str
    start_s: float
    size_bytes: int | None = None
    duration_s: float | None = None
    rate_bps: float | None = None
    payload_bytes: int = 1000
    dscp: int = wire.DSCP_DATA

    def check(self) -> None:
        """Raises FlowError, naming the field."""
        for name, least, most in (("flow", 0, _PSN_MASK), ("payload_bytes", 1, 9000), ("dscp", 0, 63)):
            value = getattr(self, name)
            if not least <= value <= most:
                raise FlowError(f"{name} is {value}: it must be from {least} to {most}")
        for name, bound in (("size_bytes", _BYTES_BOUND), ("duration_s", math.inf), ("rate_bps", math.inf)):
            value = getattr(self, name)
            if value is not None and not 0 < value < bound:
                raise FlowError(f"{name} is {value}: it must be above 0 and below {bound:g}, or null for no limit")


class SentFlow(NicFlow):
    """A flow with its RP and its packets ready to be stamped."""

    def __init__(self, request: FlowRequest, packet: wire.DataPacket, configured: Configured, line_bps: float) -> None:
        self.request = request
        self.dst_ip, self.udp_port = packet.dst_ip, wire.source_port(request.flow)
        self.rp = configured.new_rp(line_bps)
        self.rp_rate_bps = line_bps
        self.rp_state: dict[str, float] = {}
        self.error: str | None = None
        self.reliability = self.rp.reliability or LOSSLESS
        self.repeats = self.reliability.repeats is not Repeats.NOTHING
        self.timeouts = 0  # in a row
        self.look_s = request.start_s + self.reliability.timeout_s if self.repeats else INFINITY  # for a timeout
        self.rtt_s = 0.0  # the latest
        packet = replace(packet, reliable=self.repeats)
        if self.rp.wants_telemetry:
            packet = replace(packet, telemetry=bytes(wire.TELEMETRY_BYTES))
        frame = last_frame = wire.encode_data(packet)
        packets = None
        if request.size_bytes is not None:
            packets = -(-request.size_bytes // request.payload_bytes)
            rest = request.size_bytes - (packets - 1) * request.payload_bytes
            last_frame = wire.encode_data(replace(packet, payload=packet.payload[:rest], last=True))
        self.cnps = 0
        self.end_at_s: float | None = None
        self.stopped = False
        segment_bytes = self.rp.segment_bytes
        super().__init__(
            request.dscp >> 3,
            len(frame) * 8,
            self.allowed_bps,
            request.start_s,
            packets=packets,
            last_bits=len(last_frame) * 8,
            end_s=INFINITY if request.duration_s is None else request.start_s + request.duration_s,
            every=int(self.repeats) if segment_bytes is None else max(1, round(segment_bytes / request.payload_bytes)),
            first_psn=packet.psn,
            repeats=Repeats.GO_BACK_N if self.repeats else Repeats.NOTHING,
        )
        if self.rp.exact_marks:
            raise SchemeError(
                f"{configured.scheme.name}: its RP has exact_marks, and receivers here acknowledge what requests it "
                "alone: use an acknowledgement of each packet, or virtual time"
            )
        if self.rp.paths is not None and self.rp.paths.sprays:
            raise SchemeError(
                f"{configured.scheme.name}: its RP sends a flow's packets over several paths, and receivers here take "
                "packets in order: use one path (the parameter `paths`), or virtual time"
            )
        if self.reliability.repeats is Repeats.SELECTIVE:
            raise SchemeError(
                f"{configured.scheme.name}: its RP has selective repeat, and receivers here take packets in order: use "
                "go-back-N (Repeats.GO_BACK_N), or virtual time"
            )
        self._frames = [ctypes.create_string_buffer(one, len(one)) for one in (frame, last_frame)]
        self.frame, self.last_frame = map(ctypes.addressof, self._frames)
        self.wants_acks = False
        self.asked: dict[int, float] = {}  # PSNs of packets that ask for an acknowledgement, and when they left

    @property
    def state(self) -> str:
        """As in `stats.SentFlow`."""
        if self.error is not None:
            return "failed"
        if self.stopped:
            return "stopped"
        if self.end_at_s is not None:
            return "done"
        return "sending" if self.delivered else "waiting"

    @property
    def allowed_bps(self) -> float:
        """The RP's rate, or the application's limit if that is lower."""
        limit = self.request.rate_bps
        return self.rp.rate_bps if limit is None else min(limit, self.rp.rate_bps)

    @property
    def window_bytes(self) -> float:
        """The RP's window; infinite if no packet of the flow requests an acknowledgement."""
        return self.rp.window_bytes if self.wants_acks else INFINITY

    def read_rp(self) -> None:
        """What the RP wants from now on. The NIC reports when the flow has sent what it waits for. Raises what an RP
        can raise."""
        rp = self.rp
        check_rate(rp.rate_bps)
        check_window(rp.window_bytes)
        check_timer(rp.timer_s)
        self.rp_rate_bps = float(rp.rate_bps)
        self.due_bytes = NEVER if rp.due_bytes is None else rp.due_bytes
        self.rp_state = {name: float(value) for name, value in rp.state().items()}

    @property
    def once(self) -> int:
        """How many packets have started, each counted once."""
        return int(self.reliable.end) if self.repeats else self.started

    def in_flight_bytes(self) -> int:
        """Of frames that have started and aren't acknowledged."""
        flow = self.transport
        packets = flow.sent - flow.acked
        short = packets and flow.sent == flow.packets
        return int(packets * flow.frame_bytes - (flow.frame_bytes - flow.last_frame_bytes if short else 0))

    def sent_bytes(self) -> tuple[int, int]:
        """Returns the bytes of the frames and of the payload."""
        if self.once == self.packets:
            assert self.request.size_bytes is not None
            return self.started_bytes, self.request.size_bytes
        return self.started_bytes, self.once * self.request.payload_bytes


class Sender:
    """Flows by number. `timer_s` is when `on_timer` must be called.

    What an RP raises ends its flow, which has `failed`; the others go on.
    """

    def __init__(
        self, mac: bytes, ip: bytes, configured: Configured, nic: Nic | Nics, clock: DilatedClock, log: EventLog
    ) -> None:
        self.timer_s = INFINITY
        self.unknown_cnps = self.unusable_cnps = self.forgotten = 0
        self._mac = mac
        self._ip = ip
        self._configured = configured
        self._nic = nic
        self._clock = clock
        self._log = log
        self._running: dict[int, SentFlow] = {}
        self._ended: dict[int, SentFlow] = {}  # in the order in which they did
        self._by_address: dict[int, SentFlow] = {}
        self._next_psn: dict[int, int] = {}
        nic.events.listen(SENT, self._on_sent)
        nic.events.listen(ASKED, self._on_asked)

    def room_bytes(self, max_frame: int) -> int:
        """For a packet's payload, in a frame of that length. Raises SchemeError."""
        return max_frame - wire.DATA_OVERHEAD - wire.TELEMETRY_BYTES * self._configured.wants_telemetry

    def start(self, request: FlowRequest, now_s: float) -> None:
        """Raises FlowError, SchemeError or WireError."""
        request.check()
        running = self._running.get(request.flow)
        if running is not None:
            raise FlowError(f"flow {request.flow} is {running.state} already: stop it first, or take another number")
        if len(self._running) == stats.MOST_FLOWS:
            raise FlowError(f"{stats.MOST_FLOWS} flows wait or send already, as many as a host can: stop one first")
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
            raise FlowError(f"flow {request.flow}: its RP begins wrongly: {error_text(error)}") from error
        flow.rate_bps = flow.allowed_bps
        flow.wants_acks = flow.rp.wants_acks or flow.repeats
        flow.transport.window_bytes = flow.window_bytes
        self._nic.add(flow, now_s)
        self._forget(self._ended.pop(request.flow, None))
        self._running[request.flow] = self._by_address[ctypes.addressof(flow)] = flow
        self._log.write(request.start_s, "start", flow=request.flow, dst_ip=request.dst_ip, rate_bps=flow.rp.rate_bps)
        self._set_timer()

    def stop(self, number: int, now_s: float) -> None:
        """Raises FlowError."""
        flow = self._find(number)
        if flow is None:
            known = ", ".join(map(str, sorted({**self._running, **self._ended}))) or "none"
            raise FlowError(f"there is no flow {number} here; there are: {known}")
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
        self, number: int, src_ip: bytes, psn: int, mark: Mark, now_s: float, brought: bytes | None = None,
        in_order: int = 0, nak: bool = False,
    ) -> None:  # fmt: skip
        """A packet that requested it was acknowledged; `mark` is the worst since the one before, `brought` its
        telemetry as it arrived. Of a flow that repeats `in_order` counts what has come; or, `nak`, the packet is
        missing."""
        flow = self._find(number)
        if flow is None or flow.dst_ip != src_ip:
            self.unknown_cnps += 1
            return
        left_s = INFINITY if nak else flow.asked.pop(psn, INFINITY)
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
            tick_s = _SWITCH_TICK_S / self._clock.dilation
            hops = None if brought is None else telemetry.decode(brought, tick_s)
            ack = Ack(flow.rtt_s, mark, acked_bytes, psn, wire.source_port(number), hops)
            self._react(flow, now_s, lambda rp: rp.on_ack(ack, now_s))

    def on_timer(self, now_s: float) -> None:
        """Run the RPs' timers that are due, and repeat what nothing came of."""
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
            self._fail(flow, f"nothing was acknowledged after {_MOST_TIMEOUTS} timeouts of {timeout_s:g} s", now_s)
        elif lost_bytes:
            self._run_rp(flow, now_s, lambda rp: rp.on_loss(Loss(lost_bytes, True), now_s))
        due_s = flow.progress_ps / 1e12 + timeout_s if flow.in_flight_bytes() else now_s + timeout_s
        flow.look_s = max(due_s, now_s + timeout_s / 1000)

    def reset(self) -> None:
        """Forget flows that ended."""
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
                    window_bytes=None if flow.window_bytes == INFINITY else float(flow.window_bytes),
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
            flow.asked[(flow.transport.first_psn + event.count) & _PSN_MASK] = event.at_s
            _keep(flow.asked, _MOST_ASKED)

    def _on_sent(self, event: Event) -> None:
        """A flow has sent the bytes that its RP waits for."""
        flow = self._by_address.get(event.flow)
        if flow is not None:
            self._react(flow, event.at_s, lambda rp: rp.on_bytes_sent(event.at_s), event.count)

    def _react(
        self, flow: SentFlow, now_s: float, react: Callable[[ReactionPoint], None], sent_bytes: int | None = None
    ) -> None:
        self._run_rp(flow, now_s, react, sent_bytes)
        self._set_timer()

    def _run_rp(
        self, flow: SentFlow, now_s: float, react: Callable[[ReactionPoint], None] | None = None,
        sent_bytes: int | None = None,
    ) -> None:  # fmt: skip
        """Timers that are due, each at the time that the RP named, however late this process is; then an event. A flow
        that has ended meanwhile doesn't care."""
        if flow.end_at_s is not None or flow.error is not None:
            return
        rp = flow.rp
        try:
            while rp.timer_s is not None and rp.timer_s <= now_s:
                due_s = rp.timer_s
                rp.sent_bytes = flow.delivered_bytes
                rp.on_timer(due_s)
                check_timer(rp.timer_s, due_s)
                self._obey(flow, now_s)
            if react is not None:
                rp.sent_bytes = flow.delivered_bytes if sent_bytes is None else sent_bytes
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
        self._log.write(now_s, "rate", flow=flow.request.flow, rate_bps=flow.rp.rate_bps, **flow.rp_state)

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
