"""Flows in virtual time: their frames, their RP and NP, their counts."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, replace

from hosts import wire
from hosts.algorithms import Configured, NotificationPoint, ReactionPoint, SchemeError, window_phase
from hosts.algorithms.base import check_rate
from hosts.algorithms.scheme import told
from topologies.model import FlowSpec, Topology
from virtualnet import native
from virtualnet.errors import VirtualError

MAX_PAYLOAD = 9000


@dataclass(frozen=True)
class FlowStats:
    """Counts of one flow, as far as it has come. `bytes` are of frames; times are simulated seconds, None: not yet."""

    sent_packets: int
    sent_bytes: int
    sent_payload: int
    received_packets: int
    received_bytes: int
    received_payload: int
    marked_ce: int
    marked_ue: int
    out_of_order: int
    cnps_sent: int
    cnps_received: int
    rate_bps: float
    start_s: float
    ended_s: float | None
    first_s: float | None
    last_s: float | None
    complete_s: float | None


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
        self._library.vn_flow_stats(self._handle, self.index, ctypes.byref(raw))
        return FlowStats(
            raw.sent, raw.sent_bytes, raw.sent_payload, raw.received, raw.received_bytes, raw.received_payload,
            raw.marked_ce, raw.marked_ue, raw.out_of_order, raw.cnps_sent, raw.cnps_received, raw.rate_bps,
            raw.start_ps / 1e12,
            *(_seconds(time) for time in (raw.ended_ps, raw.first_ps, raw.last_ps, raw.complete_ps)),
        )  # fmt: skip


def limit_bps(spec: FlowSpec) -> float:
    """The application's limit; infinite if it has none."""
    return math.inf if spec.rate_bps is None else spec.rate_bps


def picoseconds(seconds: float) -> int:
    return round(seconds * 1e12)


def timer_ps(rp: ReactionPoint) -> int:
    """When the RP wants its timer; NEVER if it doesn't."""
    return native.NEVER if rp.timer_s is None else picoseconds(rp.timer_s)


def configure(
    topology: Topology,
    spec: FlowSpec,
    scheme: Configured,
    seed: int,
    payload_bytes: int,
    start_s: float,
) -> tuple[native.FlowConfig, ReactionPoint, NotificationPoint]:
    """What the engine needs of a flow (but its hosts' indices), and the flow's two ends. Raises VirtualError."""
    if not 1 <= payload_bytes <= MAX_PAYLOAD:
        raise VirtualError(f"flow {spec.id}: a payload of {payload_bytes} bytes: 1 to {MAX_PAYLOAD} are possible")
    src, dst = topology.host(spec.src), topology.host(spec.dst)
    try:
        rp, np = scheme.new_rp(topology.link_at(spec.src, 0).rate_bps), scheme.new_np()
    except SchemeError as error:
        raise VirtualError(f"flow {spec.id}: {error}") from error
    try:
        rp.on_start(start_s)
        check_rate(rp.rate_bps)
    except Exception as error:
        raise VirtualError(f"flow {spec.id}: its RP begins wrongly: {told(error)}") from error
    try:
        packet = wire.DataPacket(
            wire.parse_mac(src.mac), wire.parse_mac(dst.mac), wire.parse_ip(src.ip), wire.parse_ip(dst.ip), spec.id, 0,
            bytes(payload_bytes),
        )  # fmt: skip
        frame = wire.encode_data(packet)
    except wire.WireError as error:
        raise VirtualError(f"flow {spec.id}: {error}") from None
    config = native.FlowConfig(
        priority=packet.dscp >> 3,
        frame_bytes=len(frame),
        last_frame_bytes=len(frame),
        payload_bytes=payload_bytes,
        last_payload_bytes=payload_bytes,
        start_ps=picoseconds(start_s),
        end_ps=native.NEVER if spec.duration_s is None else picoseconds(start_s + spec.duration_s),
        timer_ps=timer_ps(rp),
        due_bytes=native.NEVER if rp.due_bytes is None else rp.due_bytes,
        rate_bps=min(rp.rate_bps, limit_bps(spec)),
        limit_bps=limit_bps(spec),
        segment=0 if rp.segment_bytes is None else max(1, round(rp.segment_bytes / payload_bytes)),
        wants_marked=type(np).on_marked is not NotificationPoint.on_marked,
    )
    last = frame
    if spec.size_bytes is not None:
        config.packets = -(-spec.size_bytes // payload_bytes)
        config.last_payload_bytes = spec.size_bytes - (config.packets - 1) * payload_bytes
        last = wire.encode_data(replace(packet, payload=bytes(config.last_payload_bytes), last=True))
        config.last_frame_bytes = len(last)
    if np.period_s is not None:
        config.period_ps = picoseconds(np.period_s)
        config.phase_ps = int(window_phase(np, seed, int.from_bytes(packet.src_ip, "big"), spec.id) * config.period_ps)
    cnp = wire.CnpPacket(packet.dst_mac, packet.src_mac, packet.dst_ip, packet.src_ip, spec.id, wire.ECN_ECT0, 1)
    notice = wire.encode_cnp(cnp)
    config.cnp_bytes = len(notice)
    ack = wire.encode_ack(wire.AckPacket(packet.dst_mac, packet.src_mac, packet.dst_ip, packet.src_ip, spec.id, 0))
    config.ack_bytes = len(ack)
    for name, content in (("data", frame), ("last", last)):
        _fill(getattr(config, name), content[: wire.PAYLOAD_OFFSET])
    for name, content in (("cnp", notice), ("ack", ack)):
        _fill(getattr(config, name), content[: -wire.ICRC_LENGTH])
    return config, rp, np


def _fill(template: ctypes.Array[ctypes.c_uint8], content: bytes) -> None:
    assert not any(content[native.TEMPLATE_BYTES :]), "what isn't in a template is zero"
    ctypes.memmove(template, content, min(len(content), native.TEMPLATE_BYTES))


def _seconds(time_ps: int) -> float | None:
    return None if time_ps == native.NEVER else float(time_ps / 1e12)
