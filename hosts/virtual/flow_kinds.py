"""What flows have in common that differ by their ends, sizes and times: the templates of their
frames, and the rules of their transport."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import NamedTuple

from pcn.hosts import wire
from pcn.hosts.algorithms import NotificationPoint, ReactionPoint
from pcn.hosts.compiled import CompiledNotificationPoint
from pcn.hosts.paths import BY_FLOW, Paths
from pcn.hosts.reliability import LOSSLESS, Reliability, Repeats
from pcn.hosts.virtual import native
from pcn.topologies.lossless import CONTROL_CLASS
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.times import picoseconds

_ANY = wire.Ends(bytes(6), bytes(6), bytes(4), bytes(4))
"""The ends in templates: the engine writes each flow's."""


class Alike(NamedTuple):
    """What flows have in common that differ by their ends, sizes and times."""

    kind: native.FlowKind
    phase_spread: float
    paths: Paths


class FlowKinds:
    """The kinds of one scheme's flows. `paths` None: the RP's; `notification_class`: of CNPs and
    ACKs, None: the flow's."""

    def __init__(
        self,
        scheme: str,
        payload_bytes: int,
        paths: Paths | None,
        notification_class: int | None,
    ) -> None:
        self._scheme = scheme
        self._payload_bytes = payload_bytes
        self._paths = paths
        self._notification_class = notification_class
        self._kinds: dict[Hashable, tuple[native.FlowKind, Reliability, Paths]] = {}

    def alike(
        self,
        rp: ReactionPoint,
        np_: NotificationPoint,
        wants_acks: bool,
        spec: FlowSpec,
        reliability: Mapping[int, Reliability],
        paths: Paths | None,
    ) -> Alike:
        """Returns what a flow has in common with others. `reliability`: by class, as the network
        has it; `paths` None: the network's. Raises VirtualError."""
        repeats = reliability.get(spec.traffic_class) or rp.reliability or LOSSLESS
        paths = paths or self._paths or rp.paths or BY_FLOW
        if paths.sprays and rp.wants_telemetry:
            raise VirtualError(
                f"flow {spec.id}: {self._scheme} compares a link's telemetry from "
                "packet to packet, so packets of a flow need one path: leave its several paths out"
            )
        if has_credit(rp, np_) and rp.wants_telemetry:
            raise VirtualError(
                f"flow {spec.id}: packets have room for telemetry, or for a demand of an NP that "
                "grants, or for what the flow has left"
            )
        if np_.grants and rp.reports_left:
            raise VirtualError(
                f"flow {spec.id}: packets report what their NP, which grants, is to grant, or what "
                "the flow has left"
            )
        kind = self._kind(spec, rp, np_, wants_acks, repeats, paths)
        return Alike(kind, np_.phase_spread, paths)

    def _kind(
        self,
        spec: FlowSpec,
        rp: ReactionPoint,
        np: NotificationPoint,
        wants_acks: bool,
        reliability: Reliability,
        paths: Paths,
    ) -> native.FlowKind:
        rest = None if spec.size_bytes is None else spec.size_bytes % self._payload_bytes
        key = (
            spec.traffic_class, spec.colour, rp.segment_bytes, rp.exact_marks, rp.wants_telemetry,
            rp.needs_rec_rate, rp.reports_left, wants_acks, np.grants, np.period_s, type(np),
            id(reliability), id(paths),
        )  # fmt: skip
        if (rest, key) in self._kinds:
            return self._kinds[rest, key][0]
        try:
            headers = self._headers(spec, rp, np, reliability)
            endless = self._kinds.get((None, key))
            if endless is None:
                kind = self._new_kind(headers, spec, rp, np, wants_acks, reliability, paths)
                # which keep their ids so
                endless = self._kinds[None, key] = kind, reliability, paths
            if rest is None:
                return endless[0]
            kind = native.FlowKind.from_buffer_copy(endless[0])
            kind.last_payload_bytes = last_bytes = rest or self._payload_bytes
            kind.last_frame_bytes = wire.data_bytes(
                last_bytes, rp.wants_telemetry, has_credit(rp, np)
            )
            kind.last = _template(headers(last_bytes, last=True))
        except wire.WireError as error:
            raise VirtualError(f"flow {spec.id}: {error}") from None
        self._kinds[rest, key] = kind, reliability, paths
        return kind

    def _headers(
        self,
        spec: FlowSpec,
        rp: ReactionPoint,
        np: NotificationPoint,
        reliability: Reliability,
    ) -> Callable[..., bytes]:
        """Returns `wire.data_headers` with what a flow's packets have in common. Raises
        WireError."""
        return partial(
            wire.data_headers, _ANY, 0, dscp=wire.data_dscp(spec.traffic_class, spec.colour),
            reliable=reliability.repeats is not Repeats.NOTHING or rp.exact_marks,
            telemetry=bytes(wire.TELEMETRY_BYTES * rp.wants_telemetry), credit=has_credit(rp, np),
        )  # fmt: skip

    def _new_kind(
        self,
        headers: Callable[..., bytes],
        spec: FlowSpec,
        rp: ReactionPoint,
        np: NotificationPoint,
        wants_acks: bool,
        reliability: Reliability,
        paths: Paths,
    ) -> native.FlowKind:
        """Returns that of a flow without an end. Raises WireError."""
        payload_bytes = self._payload_bytes
        repeats = reliability.repeats is not Repeats.NOTHING
        if rp.segment_bytes is not None:
            every = max(1, round(rp.segment_bytes / payload_bytes))
        else:
            every = 1 if repeats else 0
        telemetry = bytes(wire.TELEMETRY_BYTES * rp.wants_telemetry)
        data = _template(headers(payload_bytes))
        # Among data they are Not-ECT unless they echo a mark: a switch would mark them for a queue
        # that isn't their flow's.
        notification_class = (
            spec.traffic_class if self._notification_class is None else self._notification_class
        )
        marking = (
            (wire.ECN_ECT0, wire.DSCP_CNP)
            if notification_class == CONTROL_CLASS
            else (wire.ECN_NOT_ECT, wire.data_dscp(notification_class))
        )
        ack = (
            wire.ack_start(_ANY, 0, *marking, telemetry=telemetry) if wants_acks or repeats else b""
        )
        frame_bytes = wire.data_bytes(payload_bytes, rp.wants_telemetry, has_credit(rp, np))
        return native.FlowKind(
            priority=spec.traffic_class,
            cnp_bytes=wire.CNP_BYTES,
            ack_bytes=wire.ack_bytes(rp.wants_telemetry),
            frame_bytes=frame_bytes,
            last_frame_bytes=frame_bytes,
            payload_bytes=payload_bytes,
            last_payload_bytes=payload_bytes,
            every=every,
            reliability=reliability.repeats,
            exact_marks=rp.exact_marks,
            avoids=paths.avoid,
            gap_ps=picoseconds(paths.gap_s) if paths.per == "flowlet" else 0,
            period_ps=0 if np.period_s is None else picoseconds(np.period_s),
            timeout_ps=picoseconds(reliability.timeout_s),
            reordering_ps=picoseconds(reliability.reordering_s),
            needs_rec_rate=rp.needs_rec_rate,
            wants_marked=wants_marked(np) and not np.grants,
            grants=np.grants,
            data=data,
            last=data,
            cnp=_template(wire.cnp_start(_ANY, 0, *marking, credit=np.grants)),
            ack=_template(ack),
        )


def has_credit(rp: ReactionPoint, np: NotificationPoint) -> bool:
    """Returns whether data has 4 bytes more: what it demands, or what its flow has left."""
    return np.grants or rp.reports_left


def wants_marked(np: NotificationPoint) -> bool:
    """Returns whether an NP has each marked packet."""
    if isinstance(np, CompiledNotificationPoint):
        return np.wants_marked
    return type(np).on_marked is not NotificationPoint.on_marked


def _template(start: bytes) -> ctypes.Array[ctypes.c_uint8]:
    size = ctypes.sizeof(native.Template)
    return native.Template.from_buffer_copy(start[:size].ljust(size, b"\0"))
