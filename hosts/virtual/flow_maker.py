"""Makes flows in virtual time from columns: what their RPs and NPs begin with, their ports of
several paths."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcn.base.errors import error_text
from pcn.hosts import wire
from pcn.hosts.algorithms import (
    Configured,
    NotificationPoint,
    ReactionPoint,
    SchemeError,
)
from pcn.hosts.algorithms.base import (
    PHASE_BYTES,
    check_rate,
    check_window,
    phase_drawn,
    window_phase,
)
from pcn.hosts.compiled import (
    RP,
    CompiledNotificationPoint,
    CompiledReactionPoint,
    Ends,
    EndsInC,
)
from pcn.hosts.paths import FIRST_PORT, Paths
from pcn.hosts.reliability import Reliability
from pcn.hosts.virtual import native
from pcn.hosts.virtual.flow_kinds import Alike, FlowKinds, wants_marked
from pcn.hosts.virtual.flows import FlowBatch
from pcn.hosts.virtual.nics import Nic, NicColumns
from pcn.topologies.flow_columns import NO_SIZE, FlowColumns
from pcn.topologies.lossless import CONTROL_CLASS
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import NEVER
from pcn.virtualnet.times import LONGEST_S, in_picoseconds, picoseconds

Array = NDArray[np.float64]
MAX_PAYLOAD = 9000
MAX_SIZE = 1 << 63
"""Below which sizes of flows are, in bytes."""


class _Decided(NamedTuple):
    """What an RP decides at its flow's start; NEVER: no timer, no counter of bytes."""

    rate_bps: float
    window_bytes: float
    timer_ps: int
    due_bytes: int
    wants_acks: bool
    demand_bytes: int


_CONFIG_NAMES = native.FLOW_CONFIG.names or ()


def _first_decided(rp: ReactionPoint, now_s: float, spec: FlowSpec) -> _Decided:
    """Returns what the RP of a flow decides that starts now. Raises VirtualError."""
    try:
        return _started(rp, now_s)
    except Exception as error:
        raise VirtualError(f"flow {spec.id}: its RP begins wrongly: {error_text(error)}") from error


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


class _Group(NamedTuple):
    """Flows on NICs of one rate, by their places, and the first RP and NP of that rate."""

    rate_bps: float
    members: NDArray[np.int64]
    rp: ReactionPoint
    np: NotificationPoint


class Wanted(NamedTuple):
    """Flows to be made, and of each: its NICs by their places in `nics`; its start, s, NaN: it
    waits for others; its end, s, NaN: its bytes alone end it; its group's number; whether this
    process has an end of it. `paths` None: the RP's."""

    columns: FlowColumns
    nics: NicColumns
    leaving: NDArray[np.int32]
    back: NDArray[np.int32]
    start_s: Array
    end_s: Array
    group: NDArray[np.uint32]
    here: NDArray[np.bool_]
    reliability: Mapping[int, Reliability]
    paths: Paths | None


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
        self._seed = seed
        self._payload_bytes = payload_bytes
        self._ends = Ends(scheme) if in_c else scheme
        self._kinds = FlowKinds(scheme.scheme.name, payload_bytes, paths, notification_class)

    def make(self, wanted: Wanted) -> FlowBatch:
        """Raises VirtualError, which names the first flow that can't be."""
        columns, nics = wanted.columns, wanted.nics
        self._check(columns)
        batch = FlowBatch(
            columns.specs,
            lambda: columns,
            np.stack((nics.port[wanted.leaving], nics.port[wanted.back]), axis=1),
        )
        alike: list[Alike] = []
        of = np.zeros(len(columns), np.int64)
        """Of each flow its place in `alike`."""
        rates = nics.rate_bps[wanted.leaving]
        for rate_bps in dict.fromkeys(rates.tolist()):
            members = np.flatnonzero(rates == rate_bps)
            spec = columns.specs[members[0]]
            try:
                rp, np_ = self._ends.new_rp(rate_bps), self._ends.new_np()
            except SchemeError as error:
                raise VirtualError(f"flow {spec.id}: {error}") from error
            together = isinstance(rp, CompiledReactionPoint) and (
                isinstance(np_, CompiledNotificationPoint) or type(np_) is NotificationPoint
            )
            begin = self._begin_together if together else self._begin_each
            begin(batch, wanted, _Group(rate_bps, members, rp, np_), alike, of)
        self._fill(batch, wanted, alike, of)
        return batch

    def make_single(
        self,
        spec: FlowSpec,
        nics: tuple[Nic, Nic],
        times_s: tuple[float, float | None],
        group: int,
        places: Mapping[str, int],
        reliability: Mapping[int, Reliability],
        paths: Paths | None,
    ) -> FlowBatch:
        """Returns a flow by itself, which waits for none, in a network that this process has whole:
        columns of one item would take ten times as long. `nics`: of its sender and its receiver;
        `times_s`: its start, and its end, None: its bytes alone end it; `places`: of hosts; the
        rest as in `Wanted`. Raises VirtualError."""
        self._check_spec(spec)
        (leaving, back), (start_s, end_s) = nics, times_s
        try:
            rp, np_ = self._ends.new_rp(leaving.rate_bps), self._ends.new_np()
        except SchemeError as error:
            raise VirtualError(f"flow {spec.id}: {error}") from error
        if np_.grants:
            rp.left_bytes = self._frames_bytes(spec)
        decided = _first_decided(rp, start_s, spec)
        kind, spread, along = self._kinds.alike(
            rp, np_, decided.wants_acks, spec, reliability, paths
        )
        batch = FlowBatch(
            [spec],
            partial(FlowColumns.of, [spec], places),
            np.array([[leaving.end.port, back.end.port]], np.int32),
        )
        batch.rps[0], batch.nps[0] = rp, np_
        batch.keeps.append(kind)
        src_ip = int.from_bytes(leaving.ip, "big")
        phase = window_phase(spread, self._seed, src_ip, spec.id) if kind.period_ps else 0
        rate_bps = decided.rate_bps
        limit_bps = math.inf if spec.rate_bps is None else spec.rate_bps  # the application's
        config = {
            "kind": ctypes.addressof(kind),
            "ports": 0,
            "compiled": rp.address if isinstance(rp, CompiledReactionPoint) else 0,
            "np_in_c": np_.address if isinstance(np_, CompiledNotificationPoint) else 0,
            "packets": -(-(spec.size_bytes or 0) // self._payload_bytes),
            "start_ps": picoseconds(start_s),
            "end_ps": NEVER if end_s is None else picoseconds(end_s),
            "phase_ps": int(phase * kind.period_ps),
            "timer_ps": decided.timer_ps,
            "due_bytes": decided.due_bytes,
            "demand_bytes": decided.demand_bytes,
            # min() would pass over a limit that is no number, which the engine refuses
            "rate_bps": rate_bps if rate_bps <= limit_bps else limit_bps,
            "limit_bps": limit_bps,
            "window_bytes": decided.window_bytes,
            "port": leaving.link,
            "back_port": back.link,
            "group": group,
            "number": spec.id,
            "n_ports": 0,
            "src_mac": tuple(leaving.mac),
            "dst_mac": tuple(back.mac),
        }
        if along.sprays:
            ports = np.array(along.ports_of(self._seed, src_ip, spec.id), np.uint16)
            batch.keeps.append(ports)
            config["ports"], config["n_ports"] = ports.ctypes.data, ports.size
        batch.configs[0] = tuple(config[name] for name in _CONFIG_NAMES)
        return batch

    def check(self, specs: Iterable[FlowSpec]) -> None:
        """Raises VirtualError for the first flow whose number or size no column has."""
        for spec in specs:
            size = spec.size_bytes
            if not 0 <= spec.id < wire.FLOWS or (size is not None and not 1 <= size < MAX_SIZE):
                self._check_spec(spec)

    def _check(self, columns: FlowColumns) -> None:
        wrong = (columns.ids < 0) | (columns.ids >= wire.FLOWS) | (columns.sizes == 0)
        wrong |= columns.sizes < NO_SIZE
        self._check_spec(columns.specs[int(np.argmax(wrong))])

    def _check_spec(self, spec: FlowSpec) -> None:
        """Raises VirtualError where no flow of this number, or this size, can be made."""
        if not 1 <= self._payload_bytes <= MAX_PAYLOAD:
            raise VirtualError(
                f"flow {spec.id}: a payload of {self._payload_bytes} bytes: 1 to {MAX_PAYLOAD} are "
                "possible"
            )
        if not 0 <= spec.id < wire.FLOWS:
            raise VirtualError(f"flow {spec.id}: numbers of flows are from 0 to {wire.FLOWS - 1}")
        if spec.size_bytes is not None and not 1 <= spec.size_bytes < MAX_SIZE:
            raise VirtualError(
                f"flow {spec.id}: a size of {spec.size_bytes} bytes: 1 to 2^63 - 1 are possible"
            )

    def _begin_together(
        self,
        batch: FlowBatch,
        wanted: Wanted,
        group: _Group,
        alike: list[Alike],
        of: NDArray[np.int64],
    ) -> None:
        """Has RPs in C begin, and NPs that are in C or none, of flows on NICs of one rate. Those of
        flows between hosts of other processes do nothing: they share one struct."""
        _, members, rp, np_ = group
        assert isinstance(rp, CompiledReactionPoint)
        columns, configs, here = batch.columns, batch.configs, wanted.here[members]
        place = np.where(here, np.cumsum(here) - 1, here.sum())
        n = int(here.sum()) + (not here.all())
        rps = rp.like(n)
        decided = _started_in_c(
            rps, place, wanted, members, self._left_bytes(np_, columns, members)
        )
        rate, window, timer_ps, due, demand = decided
        _check_start(columns, members, rate, window)
        configs["compiled"][members] = rps.structs.address + place * rps.structs.size
        if isinstance(np_, CompiledNotificationPoint):
            in_c = np_.like(n)
            configs["np_in_c"][members] = in_c.structs.address + place * in_c.structs.size
            nps: object = in_c
        else:
            nps = np_
        for at in members.tolist():
            batch.rps[at], batch.nps[at] = rps, nps
        for name, values in (
            ("rate_bps", rate), ("window_bytes", window), ("timer_ps", timer_ps),
            ("due_bytes", due), ("demand_bytes", demand),
        ):  # fmt: skip
            configs[name][members] = values
        acks = (window < math.inf) | (rp.segment_bytes is not None)
        size = columns.sizes[members]
        rest = np.where(size == NO_SIZE, NO_SIZE, size % self._payload_bytes)
        # classes and colours were checked: each fits into its digit
        key = ((rest * 8 + columns.traffic_class[members]) * 8 + columns.colour[members]) * 2 + acks
        _, firsts, which = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        numbers = np.empty(order.size, np.int64)
        numbers[order] = np.arange(order.size) + len(alike)
        of[members] = numbers[which]
        for first in firsts[order].tolist():
            spec = columns.specs[members[first]]
            alike.append(
                self._kinds.alike(
                    rp, np_, bool(acks[first]), spec, wanted.reliability, wanted.paths
                )
            )

    def _left_bytes(
        self, np_: NotificationPoint, columns: FlowColumns, members: NDArray[np.int64]
    ) -> list[int] | None:
        """Returns all that each flow has to send, in frames, if its NP grants; NEVER: no end."""
        if not np_.grants:
            return None
        left = (self._frames_bytes(columns.specs[at]) for at in members.tolist())
        return [NEVER if size is None else size for size in left]

    def _begin_each(
        self,
        batch: FlowBatch,
        wanted: Wanted,
        group: _Group,
        alike: list[Alike],
        of: NDArray[np.int64],
    ) -> None:
        """Has ends in Python begin, each by itself. Flows between hosts of other processes have the
        ends of the first one that is alike, which do nothing."""
        rate_bps, members, rp, np_ = group
        columns, configs = batch.columns, batch.configs
        elsewhere: dict[Hashable, int] = {}
        new: tuple[ReactionPoint, NotificationPoint] | None = (rp, np_)
        for at in members.tolist():
            spec, start_s = columns.specs[at], float(wanted.start_s[at])
            rest = spec.size_bytes and spec.size_bytes % self._payload_bytes
            key = rest, spec.traffic_class, spec.colour
            if not wanted.here[at] and key in elsewhere:
                first_at = elsewhere[key]
                configs[at], of[at] = configs[first_at], of[first_at]
                batch.rps[at], batch.nps[at] = batch.rps[first_at], batch.nps[first_at]
                continue
            rp, np_ = new or (self._ends.new_rp(rate_bps), self._ends.new_np())
            new = None
            # One that starts later is another: what it requests of the flow, an RP decides at its
            # start.
            waits = start_s != start_s
            first = self._ends.new_rp(rate_bps) if waits else rp
            if np_.grants:
                rp.left_bytes = first.left_bytes = self._frames_bytes(spec)
            decided = _first_decided(first, 0.0 if waits else start_s, spec)
            if isinstance(rp, CompiledReactionPoint):
                configs["compiled"][at] = rp.address
            if isinstance(np_, CompiledNotificationPoint):
                configs["np_in_c"][at] = np_.address
            for name in ("rate_bps", "window_bytes", "timer_ps", "due_bytes", "demand_bytes"):
                configs[name][at] = getattr(decided, name)
            batch.rps[at], batch.nps[at] = rp, np_
            of[at] = len(alike)
            alike.append(
                self._kinds.alike(
                    rp, np_, decided.wants_acks, spec, wanted.reliability, wanted.paths
                )
            )
            if not wanted.here[at]:
                elsewhere[key] = at
            elif batch.in_python is None and calls_python(rp, np_):
                batch.in_python = at

    def _fill(
        self, batch: FlowBatch, wanted: Wanted, alike: list[Alike], of: NDArray[np.int64]
    ) -> None:
        """Writes what doesn't depend on ends."""
        columns, configs, nics = batch.columns, batch.configs, wanted.nics
        batch.keeps.append([item.kind for item in alike])
        addresses = [ctypes.addressof(item.kind) for item in alike]
        configs["kind"] = np.array(addresses, np.uint64)[of]
        sizes, waits = columns.sizes, np.isnan(wanted.start_s)
        configs["packets"] = np.where(sizes == NO_SIZE, 0, -(-sizes // self._payload_bytes))
        configs["start_ps"] = in_picoseconds(wanted.start_s, waits)
        configs["end_ps"] = in_picoseconds(wanted.end_s, np.isnan(wanted.end_s))
        configs["timer_ps"][waits] = NEVER
        configs["limit_bps"] = columns.limit_bps  # the application's
        np.minimum(configs["rate_bps"], columns.limit_bps, out=configs["rate_bps"])
        for end, nic in (("src", wanted.leaving), ("dst", wanted.back)):
            configs[f"{end}_mac"] = nics.mac[nic]
        configs["port"], configs["back_port"] = nics.link[wanted.leaving], nics.link[wanted.back]
        configs["group"], configs["number"] = wanted.group, columns.ids
        src_ip = nics.ip[wanted.leaving]
        period_ps = np.array([item.kind.period_ps for item in alike], np.uint64)[of]
        spread = np.array([item.phase_spread for item in alike])[of]
        phased = (period_ps > 0) & wanted.here
        numbers = zip(src_ip[phased].tolist(), columns.ids[phased].tolist(), strict=True)
        drawn = b"".join([phase_drawn(self._seed, *number) for number in numbers])
        digits = np.frombuffer(drawn, np.uint8).reshape(-1, PHASE_BYTES)
        phases = digits @ (256.0 ** -np.arange(1, PHASE_BYTES + 1))  # exact: 48 bits of a float's
        configs["phase_ps"][phased] = spread[phased] * phases * period_ps[phased]
        self._spray(batch, wanted, alike, of, src_ip)

    def _spray(
        self,
        batch: FlowBatch,
        wanted: Wanted,
        alike: list[Alike],
        of: NDArray[np.int64],
        src_ip: NDArray[np.int64],
    ) -> None:
        """Writes the UDP source ports of flows of several paths."""
        for paths in {id(item.paths): item.paths for item in alike}.values():
            if not paths.sprays:
                continue
            takes = np.array([item.paths is paths for item in alike])[of]
            batch.configs["n_ports"][takes] = paths.entropies
            takes &= wanted.here
            numbers = zip(src_ip[takes].tolist(), batch.columns.ids[takes].tolist(), strict=True)
            drawn = b"".join(paths.drawn(self._seed, *number) for number in numbers)
            upper = np.frombuffer(drawn, np.uint8).reshape(-1, paths.entropies).astype(np.uint16)
            ports = FIRST_PORT | (upper & 0x3F) << 8 | np.arange(paths.entropies, dtype=np.uint16)
            batch.keeps.append(ports)
            batch.configs["ports"][takes] = (
                ports.ctypes.data + np.arange(len(ports)) * ports.strides[0]
            )

    def _frames_bytes(self, spec: FlowSpec) -> int | None:
        """Returns all that a flow whose NP grants has to send, in frames; None: it has no end."""
        if spec.size_bytes is None:
            return None
        whole, rest = divmod(spec.size_bytes, self._payload_bytes)
        frames_bytes = whole * wire.data_bytes(self._payload_bytes, credit=True)
        return frames_bytes + (wire.data_bytes(rest, credit=True) if rest else 0)


def _started_in_c(
    rps: EndsInC[CompiledReactionPoint],
    place: NDArray[np.int64],
    wanted: Wanted,
    members: NDArray[np.int64],
    left_bytes: list[int] | None,
) -> tuple[Array, Array, NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Returns what RPs in C decide at their flows' start, as `_Decided` has it, without
    `wants_acks`. `place`: of each of the flows `members` among the RPs."""
    size, fields = rps.structs.size, _rp_fields(rps.structs.size)
    memory = np.frombuffer(memoryview(rps.structs.memory), np.uint8)
    structs = memory.view(fields)
    if left_bytes is not None:
        structs["left_bytes"][place] = left_bytes
    decided = structs[place]
    on_start = rps.code.functions.get("on_start")
    if on_start is not None:
        start_s = wanted.start_s[members]
        # A flow that waits starts later: what it requests, another RP decides now.
        for at in np.flatnonzero(~np.isnan(start_s)).tolist():
            on_start(rps.structs.address + int(place[at]) * size, start_s[at])
        waiting = np.flatnonzero(np.isnan(start_s))
        others = memory.reshape(-1, size)[place[waiting]]  # whole: fields alone aren't all
        for at in range(waiting.size):
            on_start(others.ctypes.data + at * size, 0.0)
        decided = structs[place]
        decided[waiting] = others.view(fields)[:, 0]
    timer_s = decided["timer_s"]
    return (
        decided["rate_bps"], decided["window_bytes"], in_picoseconds(timer_s, timer_s >= LONGEST_S),
        decided["due_bytes"], decided["demand_bytes"],
    )  # fmt: skip


@lru_cache(maxsize=64)
def _rp_fields(size: int) -> np.dtype[np.void]:
    """Returns the fields of an RP's struct of this many bytes that all RPs have."""
    names = ("rate_bps", "window_bytes", "timer_s", "due_bytes", "left_bytes", "demand_bytes")
    kinds = {"due_bytes": np.uint64, "left_bytes": np.uint64, "demand_bytes": np.uint64}
    offsets = [getattr(RP.mirrored[0][1], name).offset for name in names]
    formats = [kinds.get(name, np.float64) for name in names]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _check_start(
    columns: FlowColumns, members: NDArray[np.int64], rate_bps: Array, window_bytes: Array
) -> None:
    """Raises VirtualError for the first flow whose RP can't begin like this."""
    wrong = ~((rate_bps > 0) & (rate_bps < math.inf) & (window_bytes > 0))
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    try:
        check_rate(float(rate_bps[at]))
        check_window(float(window_bytes[at]))
    except ValueError as error:
        number = columns.ids[members[at]]
        raise VirtualError(f"flow {number}: its RP begins wrongly: {error_text(error)}") from error


_RP_EVENTS = (
    "on_start", "on_cnp", "on_cnm", "on_ack", "on_loss", "on_grant", "on_timer", "on_bytes_sent",
)  # fmt: skip


def calls_python(rp: ReactionPoint, np: NotificationPoint) -> bool:
    """Returns whether an end has methods in Python that a run calls."""
    np_silent = np.period_s is None and not wants_marked(np) and not np.grants
    rp_silent = rp.timer_s is None and all(
        getattr(type(rp), name) is getattr(ReactionPoint, name) for name in _RP_EVENTS
    )
    return not (rp_silent or isinstance(rp, CompiledReactionPoint)) or not (
        np_silent or isinstance(np, CompiledNotificationPoint)
    )
