"""Flows of a network in virtual time: their RP and NP, and their counts."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pcn.hosts.algorithms import (
    NotificationPoint,
    ReactionPoint,
)
from pcn.hosts.compiled import (
    EndsInC,
)
from pcn.hosts.virtual import native
from pcn.topologies.flow_columns import FlowColumns
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.native import NEVER


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

    __slots__ = ("_alive", "_library", "back_port", "index", "np", "port", "rp", "spec")

    def __init__(
        self,
        library: ctypes.CDLL,
        alive: Callable[[], int],
        index: int,
        spec: FlowSpec,
        ports: tuple[int, int],
        rp: ReactionPoint,
        np: NotificationPoint,
    ) -> None:
        self._library, self._alive = library, alive
        self.index = index
        self.spec = spec
        self.port, self.back_port = ports
        self.rp = rp
        self.np = np

    def stats(self) -> FlowStats:
        """Returns its counts. Raises VirtualError once the network is closed."""
        raw = native.FlowStats()
        self._library.vn_flow_stats(self._alive(), self.index, 1, ctypes.byref(raw))
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


class FlowBatch:
    """Flows that were made together: what the engine needs of them (`native.FLOW_CONFIG`), and of
    each what its RP and NP live in: themselves, or EndsInC with their structs. `keeps`: what the
    configurations point to. `in_python`: the first flow, by its place, that has methods in Python
    which a run calls; None: none has."""

    def __init__(
        self,
        specs: Sequence[FlowSpec],
        columns: Callable[[], FlowColumns],
        ports: NDArray[np.int32],
    ) -> None:
        """`columns`: makes those of the specs, when they are first read; `ports`: those of both
        ends, a row a flow."""
        self.specs, self._new_columns, self.ports = specs, columns, ports
        self.configs = np.zeros(len(specs), native.FLOW_CONFIG)
        self.rps: list[object] = [None] * len(specs)
        self.nps: list[object] = [None] * len(specs)
        self.keeps: list[object] = []
        self.in_python: int | None = None

    @cached_property
    def columns(self) -> FlowColumns:
        return self._new_columns()

    def added(self) -> None:
        """Once the engine has them: leaves of the configurations what `rp` and `np` need."""
        self._rp_at, self._np_at = (self.configs[name].copy() for name in ("compiled", "np_in_c"))
        self.configs = np.zeros(0, native.FLOW_CONFIG)
        self.keeps.clear()

    def rp(self, place: int) -> ReactionPoint:
        """Returns that of a flow that the engine has, by its place."""
        rp: ReactionPoint = _end(self.rps[place], int(self._rp_at[place]))
        return rp

    def np(self, place: int) -> NotificationPoint:
        """Returns that of a flow that the engine has, by its place."""
        np_: NotificationPoint = _end(self.nps[place], int(self._np_at[place]))
        return np_


def _end(held: Any, address: int) -> Any:
    return held.at(address) if isinstance(held, EndsInC) else held


class FlowList(Sequence[VirtualFlow]):
    """Flows by their index, some of them or all: each is made when it is first read, as most
    runs never look at theirs."""

    def __init__(self, library: ctypes.CDLL, alive: Callable[[], int]) -> None:
        """`alive`: returns the network's handle while it is open, and raises VirtualError then."""
        self._library, self._alive = library, alive
        self._batches: list[FlowBatch] = []
        self._starts: list[int] = []
        self._counts: list[int] = []
        self._flows: dict[int, VirtualFlow] = {}
        self._places = range(0)

    def add(self, batch: FlowBatch, n: int) -> None:
        """Appends the first `n` of these."""
        if n:
            first = len(self._places)
            self._starts.append(first)
            self._counts.append(n)
            self._batches.append(batch)
            self._places = range(first + n)

    def spec(self, index: int) -> FlowSpec:
        """Returns that of a flow of all."""
        batch, place = self._at(index)
        return batch.specs[place]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> VirtualFlow: ...
    @overload
    def __getitem__(self, place: slice) -> FlowList: ...
    def __getitem__(self, place: int | slice) -> VirtualFlow | FlowList:
        if isinstance(place, slice):
            some = copy(self)
            some._places = self._places[place]
            return some
        index = self._places[place]
        flow = self._flows.get(index)
        if flow is None:
            batch, at = self._at(index)
            src_port, dst_port = batch.ports[at].tolist()
            flow = self._flows[index] = VirtualFlow(
                self._library, self._alive, index, batch.specs[at], (src_port, dst_port),
                batch.rp(at), batch.np(at),
            )  # fmt: skip
        return flow

    def _at(self, index: int) -> tuple[FlowBatch, int]:
        which = bisect_right(self._starts, index) - 1
        return self._batches[which], index - self._starts[which]

    def columns(self) -> Iterator[FlowColumns]:
        """Yields those of all flows, in their order."""
        for batch, n in zip(self._batches, self._counts, strict=True):
            yield batch.columns.part(0, n)

    def ports(self) -> NDArray[np.int32]:
        """Returns by which ports data leaves senders now, CNPs and ACKs receivers: a row a flow of
        all."""
        parts = [batch.ports[:n] for batch, n in zip(self._batches, self._counts, strict=True)]
        ports = np.concatenate([np.zeros((0, 2), np.int32), *parts])
        for index, flow in self._flows.items():
            ports[index] = flow.port, flow.back_port
        return ports


class VirtualFlows(Mapping[int, VirtualFlow]):
    """Flows by their numbers, in the order in which they were added. `places`: the index of each in
    `by_index`."""

    def __init__(self, by_index: FlowList, unknown: Callable[[int], Exception]) -> None:
        self._by_index, self._unknown = by_index, unknown
        self.places: dict[int, int] = {}

    def __getitem__(self, number: int) -> VirtualFlow:
        return self._by_index[self.place(number)]

    def place(self, number: int) -> int:
        """Returns a flow's index. Raises what `unknown` makes of a number that no flow has."""
        place = self.places.get(number)
        if place is None:
            raise self._unknown(number)
        return place

    def get(self, number: int, default: Any = None) -> Any:
        return self[number] if number in self.places else default

    def __contains__(self, number: object) -> bool:
        return number in self.places

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def _seconds(time_ps: int) -> float | None:
    return None if time_ps == NEVER else float(time_ps / 1e12)
