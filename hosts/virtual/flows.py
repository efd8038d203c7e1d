"""Flows in virtual time: their frames, their RP and NP, their counts."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from pcn.base.errors import error_text
from pcn.hosts import wire
from pcn.hosts.algorithms import (
    Configured,
    NotificationPoint,
    ReactionPoint,
    SchemeError,
    window_phase,
)
from pcn.hosts.algorithms.base import check_rate, check_window
from pcn.hosts.compiled import CompiledNotificationPoint, CompiledReactionPoint, Ends
from pcn.hosts.paths import BY_FLOW, Paths
from pcn.hosts.reliability import LOSSLESS, Reliability, Repeats
from pcn.hosts.virtual import native
from pcn.hosts.virtual.nics import Nic
from pcn.topologies.lossless import CONTROL_CLASS
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import NEVER
from pcn.virtualnet.times import LONGEST_S, picoseconds

MAX_PAYLOAD = 9000
_ANY = wire.Ends(bytes(6), bytes(6), bytes(4), bytes(4))
"""The ends in templates: the engine writes each flow's."""


@dataclass(frozen=True)
class FlowStats:
    """Counts of one flow, as far as it has come. `bytes` are of frames; times are simulated
    seconds, None: not yet. `lost_packets`: by faults of links, by a program, by a full queue; what
    is neither received nor lost is on its way. Of a flow that repeats what is lost, `sent_packets`
    has the `repeated_packets`, too, and `timeouts` how often the retransmission timer ran out;
    `received_packets` has each once: beside them are `duplicate_packets` that had come before, and
    `refused_packets` that came out of order, which go-back-N doesn't take. `window_bytes`:
    infinite, if the flow has none; `in_flight_bytes`: of frames that aren't acknowledged, 0 where
    no packet requests it.
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


class VirtualFlow:
    """One flow. `rate_bps` of its spec limits it beside its RP. Its data leaves its sender by
    `port`, CNPs and ACKs its receiver by `back_port`."""

    __slots__ = ("_handle", "_library", "back_port", "index", "np", "port", "rp", "spec")

    def __init__(
        self,
        library: ctypes.CDLL,
        handle: int,
        index: int,
        spec: FlowSpec,
        ports: tuple[int, int],
        rp: ReactionPoint,
        np: NotificationPoint,
    ) -> None:
        self._library, self._handle = library, handle
        self.index = index
        self.spec = spec
        self.port, self.back_port = ports
        self.rp = rp
        self.np = np

    def stats(self) -> FlowStats:
        raw = native.FlowStats()
        self._library.vn_flow_stats(self._handle, self.index, 1, ctypes.byref(raw))
        return FlowStats(
            raw.sent, raw.sent_bytes, raw.sent_payload, raw.received, raw.received_bytes,
            raw.received_payload,
            raw.marked_ce, raw.marked_ue, raw.out_of_order, raw.lost, raw.cnps_sent,
            raw.cnps_received, raw.rate_bps,
            raw.window_bytes, raw.in_flight_bytes, raw.repeated, raw.timeouts, raw.again,
            raw.refused,
            *map(_seconds, (raw.start_ps, raw.ended_ps, raw.first_ps, raw.last_ps,
            raw.complete_ps)),
        )  # fmt: skip


class _Decided(NamedTuple):
    """What an RP decides at its flow's start; NEVER: no timer, no counter of bytes."""

    rate_bps: float
    window_bytes: float
    timer_ps: int
    due_bytes: int
    wants_acks: bool
    demand_bytes: int


def _started(rp: ReactionPoint, now_s: float) -> _Decided:
    """Raises what the RP does, and ValueError for what it can't decide."""
    rp.on_start(now_s)
    check_rate(rp.rate_bps)
    check_window(rp.window_bytes)
    timer_s, due_bytes = rp.timer_s, rp.due_bytes
    return _Decided(
        rp.rate_bps,
        rp.window_bytes,
        NEVER if timer_s is None or timer_s >= LONGEST_S else picoseconds(timer_s),
        NEVER if due_bytes is None else due_bytes,
        rp.wants_acks,
        rp.demand_bytes,
    )


class _Alike(NamedTuple):
    """What flows have in common that differ by their ends, sizes and times. `keeps`: what its key
    has the ids of."""

    kind: native.FlowKind
    address: int
    period_ps: int
    spread: float
    decided: _Decided
    paths: Paths
    sprays: bool
    keeps: object


FlowParts = tuple[bytes, tuple[int, int], ReactionPoint, NotificationPoint, object]
"""Of a flow: what the engine needs, its ports, its two ends, and what the first points to. A named
one takes six times as long to make."""


class FlowMaker:
    """Makes flows of one scheme. `in_c`: RP and NP in C, if their classes name files; `paths` None:
    the RP's; `notification_class`: of CNPs and ACKs, None: the flow's."""

    def __init__(
        self,
        scheme: Configured,
        seed: int,
        payload_bytes: int,
        in_c: bool = True,
        paths: Paths | None = None,
        notification_class: int | None = CONTROL_CLASS,
    ) -> None:
        self._scheme = scheme
        self._seed = seed
        self._payload_bytes = payload_bytes
        self._ends = Ends(scheme) if in_c else scheme
        self._paths = paths
        self._notification_class = notification_class
        self._kinds: dict[Hashable, tuple[native.FlowKind, Reliability, Paths]] = {}
        self._decided: dict[float, _Decided] = {}
        """By line rate, of RPs in C that don't react to the start: all decide alike."""
        self._elsewhere: dict[Hashable, FlowParts] = {}
        """By `_likeness`."""
        self._alike: dict[Hashable, _Alike] = {}
        """Likewise; of such RPs, with NPs in C: they have attributes of one Python text."""

    def make(
        self,
        src: Nic,
        dst: Nic,
        spec: FlowSpec,
        start_s: float | None,
        end_s: float | None = None,
        group: int = native.NO_GROUP,
        reliability: Reliability | None = None,
        paths: Paths | None = None,
    ) -> FlowParts:
        """Makes a flow. `start_s` None: it waits for others; `end_s` None: its bytes alone end it;
        `reliability`, `paths` None: the RP's. Raises VirtualError."""
        if not 1 <= self._payload_bytes <= MAX_PAYLOAD:
            raise VirtualError(
                f"flow {spec.id}: a payload of {self._payload_bytes} bytes: 1 to {MAX_PAYLOAD} are "
                "possible"
            )
        if not 0 <= spec.id < wire.FLOWS:
            raise VirtualError(f"flow {spec.id}: numbers of flows are from 0 to {wire.FLOWS - 1}")
        try:
            rp, np = self._ends.new_rp(src.rate_bps), self._ends.new_np()
            # One that starts later is another: what it requests of the flow, an RP decides at its
            # start.
            first = rp if start_s is not None else self._ends.new_rp(src.rate_bps)
        except SchemeError as error:
            raise VirtualError(f"flow {spec.id}: {error}") from error
        key = self._likeness(src, spec, reliability, paths)
        alike = self._alike.get(key)
        if alike is None:
            decided = self._start(rp, first, np, src.rate_bps, spec, start_s or 0.0)
            alike = self._new_alike(rp, np, decided, spec, reliability, paths)
            if _decides_alike(rp) and isinstance(np, CompiledNotificationPoint):
                self._alike[key] = alike
        decided = alike.decided
        src_ip = int.from_bytes(src.ip, "big")
        ports = alike.paths.ports_of(self._seed, src_ip, spec.id) if alike.sprays else ()
        room = (ctypes.c_uint16 * len(ports))(*ports) if ports else None
        phase_ps = (
            int(window_phase(alike.spread, self._seed, src_ip, spec.id) * alike.period_ps)
            if alike.period_ps
            else 0
        )
        most_bps = math.inf if spec.rate_bps is None else spec.rate_bps  # the application's limit
        config = native.FLOW_CONFIG.pack(
            alike.address,
            ctypes.addressof(room) if room else 0,
            rp.address if isinstance(rp, CompiledReactionPoint) else 0,
            np.address if isinstance(np, CompiledNotificationPoint) else 0,
            0 if spec.size_bytes is None else -(-spec.size_bytes // self._payload_bytes),
            NEVER if start_s is None else picoseconds(start_s),
            NEVER if end_s is None else picoseconds(end_s),
            phase_ps,
            NEVER if start_s is None else decided.timer_ps,
            decided.due_bytes,
            decided.demand_bytes,
            decided.rate_bps if decided.rate_bps < most_bps else most_bps,
            most_bps,
            decided.window_bytes,
            src.link,
            dst.link,
            group,
            spec.id,
            len(ports),
            src.mac,
            dst.mac,
        )
        return config, (src.end.port, dst.end.port), rp, np, room

    def elsewhere(
        self,
        src: Nic,
        dst: Nic,
        spec: FlowSpec,
        start_s: float | None,
        end_s: float | None = None,
        group: int = native.NO_GROUP,
        reliability: Reliability | None = None,
        paths: Paths | None = None,
    ) -> FlowParts:
        """Returns what `make` does, of a flow between hosts of other processes: it has the ends of
        the first such flow that is alike, which do nothing."""
        key = self._likeness(src, spec, reliability, paths)
        if key not in self._elsewhere:
            first = self.make(src, dst, spec, start_s, end_s, group, reliability, paths)
            self._elsewhere[key] = first
            return first
        config, _, rp, np, keeps = self._elsewhere[key]
        fields = list(native.FLOW_CONFIG.unpack(config))
        fields[_PLACE_OF_START] = NEVER if start_s is None else picoseconds(start_s)
        fields[_PLACE_OF_LINKS : _PLACE_OF_LINKS + 4] = src.link, dst.link, group, spec.id
        return native.FLOW_CONFIG.pack(*fields), (src.end.port, dst.end.port), rp, np, keeps

    def _likeness(
        self, src: Nic, spec: FlowSpec, reliability: Reliability | None, paths: Paths | None
    ) -> Hashable:
        """Returns what flows have in common that differ in their hosts and times alone."""
        rest = spec.size_bytes and spec.size_bytes % self._payload_bytes
        return src.rate_bps, rest, spec.traffic_class, spec.colour, id(reliability), id(paths)

    def _frames_bytes(self, spec: FlowSpec) -> int | None:
        """Returns all that a flow whose NP grants has to send, in frames; None: it has no end."""
        if spec.size_bytes is None:
            return None
        whole, rest = divmod(spec.size_bytes, self._payload_bytes)
        frames_bytes = whole * wire.data_bytes(self._payload_bytes, credit=True)
        return frames_bytes + (wire.data_bytes(rest, credit=True) if rest else 0)

    def _start(
        self,
        rp: ReactionPoint,
        first: ReactionPoint,
        np: NotificationPoint,
        rate_bps: float,
        spec: FlowSpec,
        start_s: float,
    ) -> _Decided:
        """Returns what `first`, which starts, decides for `rp`. Raises VirtualError."""
        decided = self._decided.get(rate_bps)
        if decided is None:
            if np.grants:
                rp.left_bytes = first.left_bytes = self._frames_bytes(spec)
            try:
                decided = _started(first, start_s)
            except Exception as error:
                raise VirtualError(
                    f"flow {spec.id}: its RP begins wrongly: {error_text(error)}"
                ) from error
            if _decides_alike(first):
                self._decided[rate_bps] = decided
        return decided

    def _new_alike(
        self,
        rp: ReactionPoint,
        np: NotificationPoint,
        decided: _Decided,
        spec: FlowSpec,
        given_reliability: Reliability | None,
        given_paths: Paths | None,
    ) -> _Alike:
        """Raises VirtualError."""
        reliability = given_reliability or rp.reliability or LOSSLESS
        paths = given_paths or self._paths or rp.paths or BY_FLOW
        if paths.sprays and rp.wants_telemetry:
            raise VirtualError(
                f"flow {spec.id}: {self._scheme.scheme.name} compares a link's telemetry from "
                "packet to packet, so packets of a flow need one path: leave its several paths out"
            )
        if np.grants and rp.wants_telemetry:
            raise VirtualError(
                f"flow {spec.id}: packets have room for telemetry, or for a demand of an NP that "
                "grants"
            )
        kind = self._kind(spec, rp, np, decided.wants_acks, reliability, paths)
        keeps = given_reliability, given_paths
        return _Alike(
            kind,
            ctypes.addressof(kind),
            kind.period_ps,
            np.phase_spread,
            decided,
            paths,
            paths.sprays,
            keeps,
        )

    def _kind(
        self,
        spec: FlowSpec,
        rp: ReactionPoint,
        np: NotificationPoint,
        wants_acks: bool,
        reliability: Reliability,
        paths: Paths,
    ) -> native.FlowKind:
        rest = spec.size_bytes and spec.size_bytes % self._payload_bytes
        key = (
            rest, spec.traffic_class, spec.colour, rp.segment_bytes, rp.exact_marks,
            rp.wants_telemetry,
            rp.needs_rec_rate, wants_acks, np.grants, np.period_s, type(np), id(reliability),
            id(paths),
        )  # fmt: skip
        cached = self._kinds.get(key)
        if cached is None:
            try:
                kind = self._new_kind(spec, rp, np, wants_acks, reliability, paths)
            except wire.WireError as error:
                raise VirtualError(f"flow {spec.id}: {error}") from None
            cached = self._kinds[key] = kind, reliability, paths  # which keep their ids so
        return cached[0]

    def _new_kind(
        self,
        spec: FlowSpec,
        rp: ReactionPoint,
        np: NotificationPoint,
        wants_acks: bool,
        reliability: Reliability,
        paths: Paths,
    ) -> native.FlowKind:
        """Raises WireError."""
        payload_bytes, last_bytes = self._payload_bytes, self._payload_bytes
        repeats = reliability.repeats is not Repeats.NOTHING
        if rp.segment_bytes is not None:
            every = max(1, round(rp.segment_bytes / payload_bytes))
        else:
            every = 1 if repeats else 0
        telemetry = bytes(wire.TELEMETRY_BYTES * rp.wants_telemetry)
        headers = partial(
            wire.data_headers, _ANY, 0, dscp=wire.data_dscp(spec.traffic_class, spec.colour),
            reliable=repeats or rp.exact_marks, telemetry=telemetry, credit=np.grants,
        )  # fmt: skip
        data = last = headers(payload_bytes)
        if spec.size_bytes is not None:
            last_bytes = spec.size_bytes % payload_bytes or payload_bytes
            last = headers(last_bytes, last=True)
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
        return native.FlowKind(
            priority=spec.traffic_class,
            cnp_bytes=wire.CNP_BYTES,
            ack_bytes=wire.ack_bytes(rp.wants_telemetry),
            frame_bytes=wire.data_bytes(payload_bytes, rp.wants_telemetry, np.grants),
            last_frame_bytes=wire.data_bytes(last_bytes, rp.wants_telemetry, np.grants),
            payload_bytes=payload_bytes,
            last_payload_bytes=last_bytes,
            every=every,
            reliability=reliability.repeats,
            exact_marks=rp.exact_marks,
            avoids=paths.avoid,
            gap_ps=picoseconds(paths.gap_s) if paths.per == "flowlet" else 0,
            period_ps=0 if np.period_s is None else picoseconds(np.period_s),
            timeout_ps=picoseconds(reliability.timeout_s),
            reordering_ps=picoseconds(reliability.reordering_s),
            needs_rec_rate=rp.needs_rec_rate,
            wants_marked=_wants_marked(np) and not np.grants,
            grants=np.grants,
            data=_template(data),
            last=_template(last),
            cnp=_template(wire.cnp_start(_ANY, 0, *marking, credit=np.grants)),
            ack=_template(ack),
        )


_PLACE_OF_START, _PLACE_OF_LINKS = 5, 14
"""In native.FLOW_CONFIG."""


_RP_EVENTS = (
    "on_start", "on_cnp", "on_cnm", "on_ack", "on_loss", "on_grant", "on_timer", "on_bytes_sent",
)  # fmt: skip


def calls_python(rp: ReactionPoint, np: NotificationPoint) -> bool:
    """Returns whether an end has methods in Python that a run calls."""
    np_silent = np.period_s is None and not _wants_marked(np) and not np.grants
    rp_silent = rp.timer_s is None and all(
        getattr(type(rp), name) is getattr(ReactionPoint, name) for name in _RP_EVENTS
    )
    return not (rp_silent or isinstance(rp, CompiledReactionPoint)) or not (
        np_silent or isinstance(np, CompiledNotificationPoint)
    )


def _decides_alike(rp: ReactionPoint) -> bool:
    """Returns whether flows of one line rate begin alike."""
    return isinstance(rp, CompiledReactionPoint) and not rp.reacts_to_start


def _wants_marked(np: NotificationPoint) -> bool:
    if isinstance(np, CompiledNotificationPoint):
        return np.wants_marked
    return type(np).on_marked is not NotificationPoint.on_marked


def _template(start: bytes) -> ctypes.Array[ctypes.c_uint8]:
    size = ctypes.sizeof(native.Template)
    return native.Template.from_buffer_copy(start[:size].ljust(size, b"\0"))


def _seconds(time_ps: int) -> float | None:
    return None if time_ps == NEVER else float(time_ps / 1e12)
