"""Flows in virtual time: their frames, their RP and NP, their counts."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from hosts import compiled, wire
from hosts.algorithms import Configured, NotificationPoint, ReactionPoint, SchemeError, window_phase
from hosts.algorithms.base import check_rate, check_window
from hosts.paths import BY_FLOW, Paths
from hosts.reliability import LOSSLESS, Reliability, Repeats
from lab.virtual import native
from topologies.errors import error_text
from topologies.lossless import CONTROL_CLASS
from topologies.model import FlowSpec
from virtualnet.errors import VirtualError
from virtualnet.native import NEVER
from virtualnet.times import LONGEST_S, picoseconds

MAX_PAYLOAD = 9000


@dataclass(frozen=True)
class FlowStats:
    """Counts of one flow, as far as it has come. `bytes` are of frames; times are simulated seconds, None: not yet.
    `lost_packets`: by faults of links, by a program, by a full queue; what is neither received nor lost is on its way.
    Of a flow that repeats what is lost, `sent_packets` has the `repeated_packets`, too, and `timeouts` how often the
    retransmission timer ran out; `received_packets` has each once: beside them are `duplicate_packets` that had come
    before, and `refused_packets` that came out of order, which go-back-N doesn't take.
    `window_bytes`: infinite, if the flow has none; `in_flight_bytes`: of frames that aren't acknowledged, 0 where no
    packet requests it.
    """

    sent_packets: int
    sent_bytes: int
    sent_payload: int
    received_packets: int
    received_bytes: int
    received_payload: int
    marked_ce: int
    marked_ue: int
    out_of_order: int
    lost_packets: int
    cnps_sent: int
    cnps_received: int
    rate_bps: float
    window_bytes: float
    in_flight_bytes: int
    repeated_packets: int
    timeouts: int
    duplicate_packets: int
    refused_packets: int
    start_s: float | None
    ended_s: float | None
    first_s: float | None
    last_s: float | None
    complete_s: float | None


class Nic(NamedTuple):
    """What a flow needs of a host: its number in the engine, addresses, line rate."""

    node: int
    mac: bytes
    ip: bytes
    rate_bps: float


class VirtualFlow:
    """One flow. `rate_bps` of its spec limits it beside its RP."""

    __slots__ = ("_handle", "_library", "index", "np", "rp", "spec")

    def __init__(
        self, library: ctypes.CDLL, handle: int, index: int, spec: FlowSpec, rp: ReactionPoint, np: NotificationPoint
    ) -> None:
        self._library, self._handle = library, handle
        self.index = index
        self.spec = spec
        self.rp = rp
        self.np = np

    def stats(self) -> FlowStats:
        raw = native.FlowStats()
        self._library.vn_flow_stats(self._handle, self.index, 1, ctypes.byref(raw))
        return FlowStats(
            raw.sent, raw.sent_bytes, raw.sent_payload, raw.received, raw.received_bytes, raw.received_payload,
            raw.marked_ce, raw.marked_ue, raw.out_of_order, raw.lost, raw.cnps_sent, raw.cnps_received, raw.rate_bps,
            raw.window_bytes, raw.in_flight_bytes, raw.repeated, raw.timeouts, raw.again, raw.refused,
            *map(_seconds, (raw.start_ps, raw.ended_ps, raw.first_ps, raw.last_ps, raw.complete_ps)),
        )  # fmt: skip


def limit_bps(spec: FlowSpec) -> float:
    """Returns the application's limit; infinite if it has none."""
    return math.inf if spec.rate_bps is None else spec.rate_bps


def timer_ps(rp: ReactionPoint) -> int:
    """Returns when the RP wants its timer; NEVER if it doesn't."""
    return NEVER if rp.timer_s is None or rp.timer_s >= LONGEST_S else picoseconds(rp.timer_s)


def configure(
    src: Nic,
    dst: Nic,
    spec: FlowSpec,
    scheme: Configured,
    seed: int,
    payload_bytes: int,
    start_s: float | None,
    end_s: float | None = None,
    group: int = native.NO_GROUP,
    in_c: bool = True,
    reliability: Reliability | None = None,
    paths: Paths | None = None,
    notification_class: int | None = CONTROL_CLASS,
) -> tuple[native.FlowConfig, ReactionPoint, NotificationPoint]:
    """Returns what the engine needs of a flow, and the flow's two ends; `start_s` None: it waits for others; `end_s`
    None: its bytes alone end it; `in_c`: the RP in C, if the scheme has one; `reliability`, `paths` None: the RP's;
    `notification_class`: of CNPs and ACKs, None: the flow's. Raises VirtualError."""
    if not 1 <= payload_bytes <= MAX_PAYLOAD:
        raise VirtualError(f"flow {spec.id}: a payload of {payload_bytes} bytes: 1 to {MAX_PAYLOAD} are possible")
    try:
        make = partial(compiled.new_rp, scheme) if in_c else scheme.new_rp
        rp, np = make(src.rate_bps), scheme.new_np()
        # One that starts later is another: what it requests of the flow, an RP decides at its start.
        first = rp if start_s is not None else make(src.rate_bps)
    except SchemeError as error:
        raise VirtualError(f"flow {spec.id}: {error}") from error
    try:
        first.on_start(start_s or 0.0)
        check_rate(first.rate_bps)
        check_window(first.window_bytes)
    except Exception as error:
        raise VirtualError(f"flow {spec.id}: its RP begins wrongly: {error_text(error)}") from error
    reliability = reliability or rp.reliability or LOSSLESS
    repeats = reliability.repeats is not Repeats.NOTHING
    if rp.segment_bytes is not None:
        every = max(1, round(rp.segment_bytes / payload_bytes))
    else:
        every = 1 if repeats else 0
    packets = 0 if spec.size_bytes is None else -(-spec.size_bytes // payload_bytes)
    last_bytes = payload_bytes if spec.size_bytes is None else spec.size_bytes - (packets - 1) * payload_bytes
    ends, back = wire.Ends(src.mac, dst.mac, src.ip, dst.ip), wire.Ends(dst.mac, src.mac, dst.ip, src.ip)
    try:
        dscp = wire.data_dscp(spec.traffic_class)
        reliable = repeats or rp.exact_marks
        room = bytes(wire.TELEMETRY_BYTES * rp.wants_telemetry)
        headers = partial(wire.data_headers, ends, spec.id, dscp=dscp, reliable=reliable, telemetry=room)
        data = headers(payload_bytes)
        last = data
        if spec.size_bytes is not None:
            last = headers(last_bytes, last=True)
    except wire.WireError as error:
        raise VirtualError(f"flow {spec.id}: {error}") from None
    paths = paths or rp.paths or BY_FLOW
    src_ip = int.from_bytes(src.ip, "big")
    ports = paths.ports_of(seed, src_ip, spec.id) if paths.sprays else ()
    # Among data they are Not-ECT unless they echo a mark: a switch would mark them for a queue that isn't their flow's.
    own = spec.traffic_class if notification_class is None else notification_class
    marking = (wire.ECN_ECT0, wire.DSCP_CNP) if own == CONTROL_CLASS else (wire.ECN_NOT_ECT, wire.data_dscp(own))
    period_ps = 0 if np.period_s is None else picoseconds(np.period_s)
    config = native.FlowConfig(
        src=src.node,
        dst=dst.node,
        group=group,
        priority=spec.traffic_class,
        cnp_bytes=wire.CNP_BYTES,
        ack_bytes=wire.ack_bytes(rp.wants_telemetry),
        frame_bytes=wire.data_bytes(payload_bytes, rp.wants_telemetry),
        last_frame_bytes=wire.data_bytes(last_bytes, rp.wants_telemetry),
        payload_bytes=payload_bytes,
        last_payload_bytes=last_bytes,
        packets=packets,
        start_ps=NEVER if start_s is None else picoseconds(start_s),
        end_ps=NEVER if end_s is None else picoseconds(end_s),
        period_ps=period_ps,
        phase_ps=int(window_phase(np, seed, src_ip, spec.id) * period_ps) if period_ps else 0,
        timer_ps=NEVER if start_s is None else timer_ps(rp),
        due_bytes=NEVER if first.due_bytes is None else first.due_bytes,
        rate_bps=min(first.rate_bps, limit_bps(spec)),
        limit_bps=limit_bps(spec),
        window_bytes=first.window_bytes,
        compiled=rp.address if isinstance(rp, compiled.CompiledReactionPoint) else None,
        every=every,
        reliability=reliability.repeats,
        exact_marks=rp.exact_marks,
        avoids=paths.avoid,
        n_ports=len(ports),
        ports=(ctypes.c_uint16 * len(ports))(*ports) if ports else None,
        gap_ps=picoseconds(paths.gap_s) if paths.per == "flowlet" else 0,
        timeout_ps=picoseconds(reliability.timeout_s),
        reordering_ps=picoseconds(reliability.reordering_s),
        needs_rec_rate=rp.needs_rec_rate,
        wants_marked=type(np).on_marked is not NotificationPoint.on_marked,
        data=_template(data),
        last=_template(last),
        cnp=_template(wire.cnp_start(back, spec.id, *marking)),
        ack=_template(wire.ack_start(back, spec.id, *marking, telemetry=room) if first.wants_acks or repeats else b""),
    )
    return config, rp, np


def _template(start: bytes) -> ctypes.Array[ctypes.c_uint8]:
    size = ctypes.sizeof(native.Template)
    return native.Template.from_buffer_copy(start[:size].ljust(size, b"\0"))


def _seconds(time_ps: int) -> float | None:
    return None if time_ps == NEVER else float(time_ps / 1e12)
