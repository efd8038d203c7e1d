"""The sending side: flows, each with its RP, its packets and its place in the NIC. No clock and no socket."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from . import stats, wire
from .algorithms import Ack, Cnm, Cnp, Configured, Mark, ReactionPoint
from .algorithms.base import check_rate
from .clock import DilatedClock
from .log import EventLog
from .native import SEGMENT, SENT, Event
from .nic import INFINITY, NEVER, Nic, NicFlow

_PSN_MASK = 0xFFFFFF


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
        for name in ("size_bytes", "duration_s", "rate_bps"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise FlowError(f"{name} is {value}: it must be above 0, or null for no limit")


class SentFlow(NicFlow):
    """A flow with its RP and its packets ready to be stamped."""

    def __init__(self, request: FlowRequest, packet: wire.DataPacket, configured: Configured, line_bps: float) -> None:
        self.request = request
        self.rp = configured.new_rp(line_bps)
        frame = last_frame = wire.encode_data(packet)
        packets = None
        if request.size_bytes is not None:
            packets = -(-request.size_bytes // request.payload_bytes)
            rest = request.size_bytes - (packets - 1) * request.payload_bytes
            last_frame = wire.encode_data(replace(packet, payload=packet.payload[:rest], last=True))
        self.cnps = 0
        self.end_at_s: float | None = None
        self.stopped = False
        super().__init__(
            request.dscp >> 3,
            len(frame) * 8,
            self.allowed_bps,
            request.start_s,
            packets=packets,
            last_bits=len(last_frame) * 8,
            end_s=INFINITY if request.duration_s is None else request.start_s + request.duration_s,
        )
        self._frames = [ctypes.create_string_buffer(one, len(one)) for one in (frame, last_frame)]
        self.frame, self.last_frame = map(ctypes.addressof, self._frames)
        self.first_psn = packet.psn
        if self.rp.segment_bytes is not None:
            self.segment = max(1, round(self.rp.segment_bytes / request.payload_bytes))
        self.asked: dict[int, float] = {}  # PSNs of packets that ask for an acknowledgement, and when they left

    @property
    def state(self) -> str:
        """As in `stats.SentFlow`."""
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

    def wait_for_bytes(self) -> None:
        """The NIC tells when the flow has sent what its RP waits for."""
        self.due_bytes = NEVER if self.rp.due_bytes is None else self.rp.due_bytes

    def sent_bytes(self) -> tuple[int, int]:
        """Bytes of the frames and of the payload."""
        frames = self.started * self.frame_bits
        payload = self.started * self.request.payload_bytes
        if self.started == self.packets:
            assert self.request.size_bytes is not None
            frames += self.last_bits - self.frame_bits
            payload = self.request.size_bytes
        return frames // 8, payload


class Sender:
    """Flows by number. `timer_s` is when `on_timer` must be called."""

    def __init__(
        self, mac: bytes, ip: bytes, line_rate_bps: float, configured: Configured, nic: Nic, clock: DilatedClock,
        log: EventLog,
    ) -> None:  # fmt: skip
        self.timer_s = INFINITY
        self.unknown_cnps = 0
        self._mac = mac
        self._ip = ip
        self._line_rate_bps = line_rate_bps
        self._configured = configured
        self._nic = nic
        self._clock = clock
        self._log = log
        self._flows: dict[int, SentFlow] = {}
        self._next_psn: dict[int, int] = {}
        nic.events.listen(SENT, self._on_sent)
        nic.events.listen(SEGMENT, self._on_segment)

    def start(self, request: FlowRequest, now_s: float) -> None:
        """Raises FlowError or WireError."""
        request.check()
        running = self._flows.get(request.flow)
        if running is not None and running.end_at_s is None:
            raise FlowError(f"flow {request.flow} is {running.state} already: stop it first, or take another number")
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
        flow = SentFlow(request, packet, self._configured, self._line_rate_bps)
        flow.rp.on_start(request.start_s)
        check_rate(flow.rp.rate_bps)
        flow.wait_for_bytes()
        self._flows[request.flow] = flow
        self._nic.add(flow, now_s)
        self._log.write(request.start_s, "start", flow=request.flow, dst_ip=request.dst_ip, rate_bps=flow.rp.rate_bps)
        self._set_timer()

    def stop(self, number: int, now_s: float) -> None:
        """Raises FlowError."""
        flow = self._find(number)
        if flow.end_at_s is None:
            flow.stopped = True
            self._nic.remove(flow, now_s)

    def on_end(self, flow: NicFlow, at_s: float) -> None:
        """The NIC sends no more of this flow."""
        assert isinstance(flow, SentFlow)
        flow.end_at_s = at_s
        self._next_psn[flow.request.flow] = (flow.first_psn + flow.started) & _PSN_MASK
        self._log.write(at_s, "end", flow=flow.request.flow, packets=flow.started)

    def on_cnp(self, number: int, src_ip: bytes, cnp: Cnp, now_s: float) -> None:
        """A CNP for a flow came from its receiver."""
        self._notified(number, src_ip, now_s, lambda rp: rp.on_cnp(cnp, now_s))

    def on_cnm(self, number: int, src_ip: bytes, cnm: Cnm, now_s: float) -> None:
        """A switch notified the source of a packet of a flow; `src_ip` is where the packet went."""
        self._notified(number, src_ip, now_s, lambda rp: rp.on_cnm(cnm, now_s))

    def on_ack(self, number: int, src_ip: bytes, psn: int, mark: Mark, now_s: float) -> None:
        """A packet that asked for it was acknowledged; `mark` is the worst since the one before."""
        flow = self._flows.get(number)
        if flow is None or wire.parse_ip(flow.request.dst_ip) != src_ip or psn not in flow.asked:
            self.unknown_cnps += 1
            return
        rtt_s = now_s - flow.asked.pop(psn)
        if flow.end_at_s is None:
            self._run_timers(flow, now_s)
            flow.rp.sent_bytes = flow.delivered_bytes
            flow.rp.on_ack(Ack(rtt_s, mark), now_s)
            self._update(flow, now_s)

    def on_timer(self, now_s: float) -> None:
        """Run the RPs' timers that are due."""
        for flow in self._flows.values():
            self._run_timers(flow, now_s)
        self._set_timer()

    def reset(self) -> None:
        """Forget flows that ended."""
        self._flows = {number: flow for number, flow in self._flows.items() if flow.end_at_s is None}
        self.unknown_cnps = 0

    def progress(self) -> dict[int, int]:
        """Bytes of the frames sent so far, by flow."""
        return {number: flow.sent_bytes()[0] for number, flow in self._flows.items()}

    def stats(self) -> tuple[stats.SentFlow, ...]:
        since = self._clock.since_epoch
        result = []
        for number, flow in sorted(self._flows.items()):
            frame_bytes, payload_bytes = flow.sent_bytes()
            result.append(
                stats.SentFlow(
                    flow=number,
                    dst_ip=flow.request.dst_ip,
                    state=flow.state,
                    packets=flow.started,
                    bytes=frame_bytes,
                    payload_bytes=payload_bytes,
                    rate_bps=flow.rp.rate_bps,
                    limit_bps=flow.request.rate_bps,
                    rp=flow.rp.state(),
                    cnps=flow.cnps,
                    start_s=since(flow.request.start_s),
                    end_s=None if flow.end_at_s is None else since(flow.end_at_s),
                )
            )
        return tuple(result)

    def _notified(self, number: int, src_ip: bytes, now_s: float, tell: Callable[[ReactionPoint], None]) -> None:
        flow = self._flows.get(number)
        if flow is None or wire.parse_ip(flow.request.dst_ip) != src_ip:
            self.unknown_cnps += 1
            return
        flow.cnps += 1
        if flow.end_at_s is None:
            self._run_timers(flow, now_s)
            flow.rp.sent_bytes = flow.delivered_bytes
            tell(flow.rp)
            self._update(flow, now_s)

    def _on_segment(self, event: Event) -> None:
        """The last packet of a segment has left."""
        flow = self._by_address(event.flow)
        if flow is not None:
            flow.asked[(flow.first_psn + event.count) & _PSN_MASK] = event.at_s

    def _by_address(self, address: int) -> SentFlow | None:
        return next((flow for flow in self._flows.values() if ctypes.addressof(flow) == address), None)

    def _on_sent(self, event: Event) -> None:
        """A flow has sent the bytes that its RP waits for. One that ended meanwhile doesn't care."""
        flow = self._by_address(event.flow)
        if flow is not None and flow.end_at_s is None:
            self._run_timers(flow, event.at_s)
            flow.rp.sent_bytes = event.count
            flow.rp.on_bytes_sent(event.at_s)
            self._update(flow, event.at_s)

    def _run_timers(self, flow: SentFlow, now_s: float) -> None:
        """Each at the time that the RP named, however late this process is."""
        while flow.end_at_s is None and flow.rp.timer_s is not None and flow.rp.timer_s <= now_s:
            flow.rp.sent_bytes = flow.delivered_bytes
            flow.rp.on_timer(flow.rp.timer_s)
            self._update(flow, now_s)

    def _find(self, number: int) -> SentFlow:
        try:
            return self._flows[number]
        except KeyError:
            known = ", ".join(map(str, sorted(self._flows))) or "none"
            raise FlowError(f"there is no flow {number} here; there are: {known}") from None

    def _update(self, flow: SentFlow, now_s: float) -> None:
        check_rate(flow.rp.rate_bps)
        rate_bps = flow.allowed_bps
        if rate_bps != flow.rate_bps:
            self._nic.set_rate(flow, rate_bps, now_s)
        flow.wait_for_bytes()
        self._log.write(now_s, "rate", flow=flow.request.flow, rate_bps=flow.rp.rate_bps, **flow.rp.state())
        self._set_timer()

    def _set_timer(self) -> None:
        self.timer_s = min(
            (flow.rp.timer_s for flow in self._flows.values() if flow.end_at_s is None and flow.rp.timer_s is not None),
            default=INFINITY,
        )
