"""A flow that a host sends: its request, its RP, and its packets ready to be stamped."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, replace

from . import wire
from .algorithms import Configured, SchemeError
from .algorithms.base import check_rate, check_timer, check_window
from .nic import INFINITY, NEVER, NicFlow
from .reliability import LOSSLESS, Repeats

_PSN_MASK = 0xFFFFFF
_BYTES_BOUND = 1 << 60


class FlowError(ValueError):
    """A flow that can't be started or is missing."""


@dataclass(frozen=True)
class FlowRequest:
    """What to send. `start_s` and `duration_s` are nominal; `size_bytes` is payload; None: no
    limit."""

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
        for name, least, most in (
            ("flow", 0, _PSN_MASK),
            ("payload_bytes", 1, 9000),
            ("dscp", 0, 63),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise FlowError(f"{name} is {value}: it must be from {least} to {most}")
        for name, bound in (
            ("size_bytes", _BYTES_BOUND),
            ("duration_s", math.inf),
            ("rate_bps", math.inf),
        ):
            value = getattr(self, name)
            if value is not None and not 0 < value < bound:
                raise FlowError(
                    f"{name} is {value}: it must be above 0 and below {bound:g}, or null for no "
                    "limit"
                )


class SentFlow(NicFlow):
    """A flow with its RP and its packets ready to be stamped."""

    def __init__(
        self, request: FlowRequest, packet: wire.DataPacket, configured: Configured, line_bps: float
    ) -> None:
        self.request = request
        self.dst_ip, self.udp_port = packet.dst_ip, wire.source_port(request.flow)
        self.rp = configured.new_rp(line_bps)
        self.rp_rate_bps = line_bps
        self.rp_state: dict[str, float] = {}
        self.error: str | None = None
        self.reliability = self.rp.reliability or LOSSLESS
        self.repeats = self.reliability.repeats is not Repeats.NOTHING
        self.timeouts = 0  # in a row
        # for a timeout
        self.look_s = request.start_s + self.reliability.timeout_s if self.repeats else INFINITY
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
            every=int(self.repeats)
            if segment_bytes is None
            else max(1, round(segment_bytes / request.payload_bytes)),
            first_psn=packet.psn,
            repeats=Repeats.GO_BACK_N if self.repeats else Repeats.NOTHING,
        )
        if self.rp.exact_marks:
            raise SchemeError(
                f"{configured.scheme.name}: its RP has exact_marks, and receivers here acknowledge "
                "what requests it alone: use an acknowledgement of each packet, or virtual time"
            )
        if configured.new_np().grants:
            raise SchemeError(
                f"{configured.scheme.name}: its NP grants, and receivers here give no turns: use "
                "virtual time"
            )
        if self.rp.reports_left:
            raise SchemeError(
                f"{configured.scheme.name}: its packets report what their flow has left, "
                "which senders here can't: use virtual time"
            )
        if self.rp.paths is not None and self.rp.paths.sprays:
            raise SchemeError(
                f"{configured.scheme.name}: its RP sends a flow's packets over several paths, and "
                "receivers here take packets in order: use one path (the parameter `paths`), or "
                "virtual time"
            )
        if self.reliability.repeats is Repeats.SELECTIVE:
            raise SchemeError(
                f"{configured.scheme.name}: its RP has selective repeat, and receivers here take "
                "packets in order: use go-back-N (Repeats.GO_BACK_N), or virtual time"
            )
        self._frames = [ctypes.create_string_buffer(raw, len(raw)) for raw in (frame, last_frame)]
        self.frame, self.last_frame = map(ctypes.addressof, self._frames)
        self.wants_acks = False
        self.requested: dict[
            int, float
        ] = {}  # PSNs of packets that ask for an acknowledgement, and when they left

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
        """What the RP wants from now on. The NIC reports when the flow has sent what it waits for.
        Raises what an RP can raise."""
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
        """Returns those of frames that have started and await an acknowledgement."""
        flow = self.transport
        packets = flow.sent - flow.acked
        short = packets and flow.sent == flow.packets
        return int(
            packets * flow.frame_bytes - (flow.frame_bytes - flow.last_frame_bytes if short else 0)
        )

    def sent_bytes(self) -> tuple[int, int]:
        """Returns the bytes of the frames and of the payload."""
        if self.once == self.packets:
            assert self.request.size_bytes is not None
            return self.started_bytes, self.request.size_bytes
        return self.started_bytes, self.once * self.request.payload_bytes
