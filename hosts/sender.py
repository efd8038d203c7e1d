"""The sending side: flows, each with its RP, its packets and its place in the NIC. No clock and no socket."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from . import stats, wire
from .algorithms import Cnp, Configured
from .clock import DilatedClock
from .log import EventLog
from .nic import INFINITY, Nic, NicFlow

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

    __slots__ = ("cnps", "end_at_s", "first_psn", "last_template", "payload", "request", "rp", "state", "template")

    def __init__(self, request: FlowRequest, packet: wire.DataPacket, configured: Configured, line_bps: float) -> None:
        self.request = request
        self.rp = configured.new_rp(line_bps)
        self.first_psn = packet.psn
        self.template = wire.DataTemplate(packet)
        self.last_template = self.template
        self.payload = request.payload_bytes
        packets = None
        if request.size_bytes is not None:
            packets = -(-request.size_bytes // self.payload)
            rest = request.size_bytes - (packets - 1) * self.payload
            self.last_template = wire.DataTemplate(replace(packet, payload=packet.payload[:rest], last=True))
        self.cnps = 0
        self.end_at_s: float | None = None
        self.state = "waiting"
        super().__init__(
            request.dscp >> 3,
            self.template.length * 8,
            self.allowed_bps,
            request.start_s,
            packets=packets,
            last_bits=self.last_template.length * 8,
            end_s=INFINITY if request.duration_s is None else request.start_s + request.duration_s,
        )

    @property
    def allowed_bps(self) -> float:
        """The RP's rate, or the application's limit if that is lower."""
        limit = self.request.rate_bps
        return self.rp.rate_bps if limit is None else min(limit, self.rp.rate_bps)

    def frame(self, number: int) -> memoryview:
        """Packet `number` of the flow, from 0; valid until the next call."""
        template = self.last_template if number + 1 == self.packets else self.template
        return template.stamp((self.first_psn + number) & _PSN_MASK)

    def sent_bytes(self) -> tuple[int, int]:
        """Bytes of the frames and of the payload."""
        frames = self.sent * self.template.length
        payload = self.sent * self.payload
        if self.packets is not None and self.sent == self.packets:
            assert self.request.size_bytes is not None
            frames += self.last_template.length - self.template.length
            payload = self.request.size_bytes
        return frames, payload


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

    def start(self, request: FlowRequest, now_s: float) -> None:
        """Raises FlowError or WireError."""
        request.check()
        running = self._flows.get(request.flow)
        if running is not None and running.state in ("waiting", "sending"):
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
        self._flows[request.flow] = flow
        self._nic.add(flow, now_s)
        self._log.write(request.start_s, "start", flow=request.flow, dst_ip=request.dst_ip, rate_bps=flow.rate_bps)
        self._set_timer()

    def stop(self, number: int, now_s: float) -> None:
        """Raises FlowError."""
        flow = self._find(number)
        if flow.state in ("waiting", "sending"):
            flow.state = "stopped"
            self._nic.remove(flow, now_s)

    def on_end(self, flow: NicFlow, at_s: float) -> None:
        """The NIC sends no more of this flow."""
        assert isinstance(flow, SentFlow)
        flow.end_at_s = at_s
        if flow.state != "stopped":
            flow.state = "done"
        self._next_psn[flow.request.flow] = (flow.first_psn + flow.sent) & _PSN_MASK
        self._log.write(at_s, "end", flow=flow.request.flow, packets=flow.sent)

    def on_cnp(self, number: int, src_ip: bytes, cnp: Cnp, now_s: float) -> None:
        """A CNP for a flow came from its receiver."""
        flow = self._flows.get(number)
        if flow is None or wire.parse_ip(flow.request.dst_ip) != src_ip:
            self.unknown_cnps += 1
            return
        flow.cnps += 1
        if flow.end_at_s is None:
            flow.rp.on_cnp(cnp, now_s)
            self._update(flow, now_s)

    def on_sent(self, flow: NicFlow, now_s: float) -> None:
        """A frame of the flow was put on the wire."""
        assert isinstance(flow, SentFlow)
        if flow.state == "waiting":
            flow.state = "sending"
        rp = flow.rp
        rp.sent_bytes += flow.template.length  # the last frame may be shorter, but no event comes after it
        if rp.due_bytes is not None and rp.sent_bytes >= rp.due_bytes and flow.end_at_s is None:
            rp.on_bytes_sent(now_s)
            self._update(flow, now_s)

    def on_timer(self, now_s: float) -> None:
        """Run the RPs' timers that are due."""
        for flow in self._flows.values():
            while flow.end_at_s is None and flow.rp.timer_s is not None and flow.rp.timer_s <= now_s:
                flow.rp.on_timer(flow.rp.timer_s)
                self._update(flow, now_s)
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
                    packets=flow.sent,
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

    def _find(self, number: int) -> SentFlow:
        try:
            return self._flows[number]
        except KeyError:
            known = ", ".join(map(str, sorted(self._flows))) or "none"
            raise FlowError(f"there is no flow {number} here; there are: {known}") from None

    def _update(self, flow: SentFlow, now_s: float) -> None:
        rate_bps = flow.allowed_bps
        if rate_bps != flow.rate_bps:
            self._nic.set_rate(flow, rate_bps, now_s)
        self._log.write(now_s, "rate", flow=flow.request.flow, rate_bps=flow.rp.rate_bps, **flow.rp.state())
        self._set_timer()

    def _set_timer(self) -> None:
        self.timer_s = min(
            (flow.rp.timer_s for flow in self._flows.values() if flow.end_at_s is None and flow.rp.timer_s is not None),
            default=INFINITY,
        )
