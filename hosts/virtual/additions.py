"""Flows that are added to a network: one, many, or columns of hundreds of thousands; each with what
it may wait for."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pcn.hosts import wire
from pcn.hosts.lossy_classes import without_signal
from pcn.hosts.virtual.flow_maker import Array, FlowMaker, Wanted
from pcn.hosts.virtual.native import NO_GROUP
from pcn.topologies.ecn import COLOURS, GREEN
from pcn.topologies.flow_columns import FlowColumns
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.times import picoseconds

if TYPE_CHECKING:
    from pcn.hosts.algorithms import Configured
    from pcn.hosts.paths import Paths
    from pcn.hosts.reliability import Reliability
    from pcn.hosts.virtual.flows import FlowBatch, FlowList, VirtualFlow, VirtualFlows
    from pcn.hosts.virtual.nics import Nics
    from pcn.topologies.model import FlowSpec, Topology
    from pcn.virtualnet.parts import Part

_TOGETHER = 1 << 15
"""Flows that one call adds: what it needs of each is freed then."""


def _there_already(number: int) -> VirtualError:
    """Returns the error; so does `_over`."""
    return VirtualError(f"flow {number} is there already")


def _over(number: int, start_s: float) -> VirtualError:
    return VirtualError(f"flow {number} starts at {start_s:g} s, which is over")


class Additions:
    """The part of a VirtualNetwork that adds flows."""

    if TYPE_CHECKING:
        topology: Topology
        scheme: Configured
        flows: VirtualFlows
        _library: ctypes.CDLL
        _handle: int | None
        _by_index: FlowList
        _groups: dict[str, int]
        _maker: FlowMaker
        _nics: Nics
        _part: Part | None
        _reliability: Mapping[int, Reliability]

        @property
        def now_s(self) -> float: ...
        def holds(self, node: str) -> bool: ...
        def _changing(self) -> int: ...
        def _check(self, code: int) -> int: ...
        def _only_in_one(self, demand: str) -> None: ...

    def add_flow(
        self,
        spec: FlowSpec,
        start_s: float | None = None,
        end_s: float | None = None,
        paths: Paths | None = None,
    ) -> VirtualFlow:
        """Returns a flow between hosts of the topology, from `start_s` (simulated seconds; default:
        the spec's) to `end_s` (default: the spec's duration later). One that waits for others,
        which are there already and haven't arrived, starts `start_s` after them. `paths`: default:
        the network's."""
        if spec.after or self._part is not None:
            return self.add_flows([(spec, start_s, end_s)], paths)[0]
        handle, index = self._changing(), len(self._by_index)
        if spec.id in self.flows.places:
            raise _there_already(spec.id)
        start_s = spec.start_s if start_s is None else start_s
        if start_s < self.now_s:
            raise _over(spec.id, start_s)
        if end_s is None and spec.duration_s is not None:
            end_s = start_s + spec.duration_s
        self._require_class(spec)
        nics = self._nics.between(spec.src, spec.dst, spec.id)
        group = self._groups.get(spec.group, len(self._groups)) if spec.group else NO_GROUP
        batch = self._maker.make_single(
            spec, nics, (start_s, end_s), group, self.topology.host_places, self._reliability, paths
        )
        if not self._library.vn_add_flows(
            handle, batch.configs.ctypes.data, 1, batch.rps, batch.nps
        ):
            raise VirtualError(self._library.vn_error(handle).decode())
        batch.added()
        if spec.group:
            self._groups[spec.group] = group
        self._by_index.add(batch, 1)
        self.flows.places[spec.id] = index
        return self._by_index[index]

    def add_flows(
        self,
        flows: Iterable[tuple[FlowSpec, float | None, float | None]],
        paths: Paths | None = None,
    ) -> Sequence[VirtualFlow]:
        """Returns flows in their order, each as `add_flow` has it with a start and an end. Raises
        VirtualError; flows before the one that it names may be there then."""
        first, rest = len(self._by_index), iter(flows)
        while part := list(islice(rest, _TOGETHER)):
            specs = [spec for spec, _, _ in part]
            start_s = [spec.start_s if start is None else start for spec, start, _ in part]
            end_s = [math.nan if end is None else end for _, _, end in part]
            self._maker.check(specs)
            columns = FlowColumns.of(specs, self.topology.host_places)
            self.add_columns(columns, np.array(start_s, float), np.array(end_s, float), paths)
        return self._by_index[first:]

    def add_columns(
        self, columns: FlowColumns, start_s: Array, end_s: Array, paths: Paths | None = None
    ) -> Sequence[VirtualFlow]:
        """Returns flows as `add_flows` does, of which there may be hundreds of thousands; hosts are
        by their places in the topology. `end_s`: NaN: the spec's duration later. Raises
        VirtualError."""
        before = len(self._by_index)
        for first in range(0, len(columns), _TOGETHER):
            part = slice(first, first + _TOGETHER)
            self._add_together(columns.part(first, part.stop), start_s[part], end_s[part], paths)
        return self._by_index[before:]

    def _add_together(
        self, columns: FlowColumns, start_s: Array, end_s: Array, paths: Paths | None
    ) -> None:
        handle, first, n = self._changing(), len(self._by_index), 0
        places = dict(zip(columns.ids.tolist(), range(first, first + len(columns)), strict=True))
        self._require_new(columns, places)
        self.flows.places |= places  # those behind may wait for them
        try:
            batch = self._make(columns, first, start_s, end_s, paths)
            n = self._library.vn_add_flows(
                handle, batch.configs.ctypes.data, len(columns), batch.rps, batch.nps
            )
            batch.added()
            self._by_index.add(batch, n)
            if n < len(columns):
                raise VirtualError(self._library.vn_error(handle).decode())
        finally:
            if n < len(columns):
                for number in columns.ids[n:].tolist():
                    del self.flows.places[number]
                groups = {
                    part.groups[group]
                    for part in self._by_index.columns()
                    for group in np.unique(part.group).tolist()
                }
                self._groups = {
                    name: number for name, number in self._groups.items() if name in groups
                }
        for at in np.flatnonzero(columns.waits).tolist():
            self._wait(columns.specs[at], first + at, picoseconds(float(start_s[at])))

    def _wait(self, spec: FlowSpec, index: int, start_ps: int) -> None:
        """Has a flow that is there start after others."""
        if not self.holds(spec.src):
            return
        delays_s, least_ps = spec.after_s, start_ps if spec.after_s else 0
        acknowledged = frozenset(spec.acknowledged)
        for place, predecessor in enumerate(spec.after):
            delay_ps = picoseconds(delays_s[place]) if delays_s else start_ps
            before = self.flows.place(predecessor)
            back_ps = (
                self._back_ps(self._by_index.spec(before))
                if predecessor in acknowledged
                else native.NEVER
            )
            self._check(
                self._library.vn_flow_after(
                    self._handle, index, before, delay_ps, back_ps, least_ps
                )
            )

    def _require_new(self, columns: FlowColumns, places: Mapping[int, int]) -> None:
        """Raises VirtualError for the first flow whose number another one has."""
        if len(places) == len(columns) and self.flows.places.keys().isdisjoint(places):
            return
        seen = set(self.flows.places)
        for number in columns.ids.tolist():
            if number in seen:
                raise _there_already(number)
            seen.add(number)

    def _back_ps(self, spec: FlowSpec) -> int:
        """Returns how long an acknowledgement takes from a flow's receiver where nothing waits."""
        trail = self.topology.trail(spec.dst, spec.src)
        return picoseconds(
            sum(delay_s + 8 * wire.ACK_BYTES / rate_bps for rate_bps, delay_s in trail)
        )

    def _make(
        self, columns: FlowColumns, first: int, start_s: Array, end_s: Array, paths: Paths | None
    ) -> FlowBatch:
        """Returns flows to be added, `first` being the index of the first. Raises VirtualError."""
        specs, waits = columns.specs, columns.waits
        for at in np.flatnonzero(waits).tolist():
            self._require_waiting(columns, at, first, float(start_s[at]))
        if (over := ~waits & (start_s < self.now_s)).any():
            at = int(np.argmax(over))
            raise _over(specs[at].id, float(start_s[at]))
        lasting = ~waits & np.isnan(end_s)
        end_s = np.where(lasting, start_s + columns.duration_s, end_s)
        self._require_classes(columns)
        holds = self._hosts_here
        leaving, back = self._nics.of_flows(columns)
        here = holds[columns.src] | holds[columns.dst]
        groups = [
            self._groups.setdefault(name, len(self._groups)) if name else NO_GROUP
            for name in (columns.groups[group] for group in dict.fromkeys(columns.group.tolist()))
        ]
        numbers = np.zeros(len(columns.groups), np.uint32)
        numbers[[*dict.fromkeys(columns.group.tolist())]] = groups
        batch = self._maker.make(
            Wanted(
                columns, self._nics.columns, leaving, back, np.where(waits, np.nan, start_s),
                end_s, numbers[columns.group], here, self._reliability, paths,
            )
        )  # fmt: skip
        if self._part is not None and batch.in_python is not None:
            self._only_in_one(
                f"flow {specs[batch.in_python].id}: {self.scheme.scheme.name} runs in Python, "
                "where flows of several processes may share state"
            )
        return batch

    @cached_property
    def _hosts_here(self) -> NDArray[np.bool_]:
        """Whether this process has each host, in the topology's order."""
        return np.array([self.holds(host.name) for host in self.topology.hosts], bool)

    def _require_classes(self, columns: FlowColumns) -> None:
        """Raises VirtualError for a flow of a class or a colour that it can't have."""
        pairs = columns.traffic_class * len(columns.colours) + columns.colour
        for first in sorted(np.unique(pairs, return_index=True)[1].tolist()):
            self._require_class(columns.specs[first])

    def _require_class(self, spec: FlowSpec) -> None:
        traffic_class, colour = spec.traffic_class, spec.colour
        why = ""
        if not 0 <= traffic_class < native.CLASSES:
            why = f"class {traffic_class}: 0 to {native.CLASSES - 1} are possible"
        elif colour != GREEN and not (colour in COLOURS and 0 < traffic_class < 5):
            why = f"{colour} in class {traffic_class}: classes 1 to 4 have colours"
        why = why or without_signal(self.topology, self.scheme.scheme, traffic_class)
        if why:
            raise VirtualError(f"flow {spec.id}: {why}")

    def _require_waiting(self, columns: FlowColumns, at: int, first: int, delay_s: float) -> None:
        """Raises VirtualError where a flow can't wait for those of its `after`; `first`: the index
        of the first one of `columns`."""
        spec, index = columns.specs[at], first + at
        if spec.duration_s is not None:
            raise VirtualError(f"flow {spec.id} waits for others: it has a size, and no duration")
        for one_s in (delay_s, *spec.after_s):
            if not 0 <= one_s < math.inf:
                raise VirtualError(
                    f"flow {spec.id} starts {one_s:g} s after others: 0 or later is possible"
                )
        for predecessor in spec.after:
            before = self.flows.places.get(predecessor, index)
            if before >= index:
                raise VirtualError(
                    f"flow {spec.id} waits for flow {predecessor}: add that one before it"
                )
            there = before < len(self._by_index)
            earlier = self._by_index.spec(before) if there else columns.specs[before - first]
            ends = [earlier.dst, *[earlier.src] * (predecessor in spec.acknowledged)]
            for end in ends:
                if self._part and self._part.owner(end) != self._part.owner(spec.src):
                    self._only_in_one(
                        f"flow {spec.id} of {spec.src} starts when flow {predecessor} is over at "
                        f"{end}, in another process: no link's delay is between them"
                    )
            arrived = there and self.now_s > 0 and self.holds(earlier.dst)
            if earlier.size_bytes is None or (
                arrived and self._by_index[before].stats().complete_s is not None
            ):
                raise VirtualError(
                    f"flow {spec.id} waits for flow {predecessor}, which has arrived, or "
                    "never does whole"
                )
