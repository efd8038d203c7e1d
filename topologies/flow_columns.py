"""Flows by columns, for what handles many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from pcn.topologies.flow import FlowSpec

NO_SIZE = -1
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class FlowColumns:
    """The flows `specs`, an item each of every array. `src` and `dst`: hosts by their places in a
    topology; NOWHERE: it has none of that name. `sizes`: payload in bytes, NO_SIZE: without an end.
    `start_s` as in FlowSpec; `duration_s`: NaN: none; `limit_bps`: infinite: none. `group`: the
    place in `groups`, which are in the order of their first flows; `colour` likewise in `colours`.
    `waits`: those with an `after`."""

    specs: Sequence[FlowSpec]
    ids: NDArray[np.int64]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    start_s: NDArray[np.float64]
    sizes: NDArray[np.int64]
    limit_bps: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    group: NDArray[np.int32]
    traffic_class: NDArray[np.int64]
    colour: NDArray[np.int32]
    waits: NDArray[np.bool_]
    groups: tuple[str, ...]
    colours: tuple[str, ...]

    @classmethod
    def of(cls, specs: Sequence[FlowSpec], places: Mapping[str, int]) -> FlowColumns:
        """Returns columns of flows; `places`: of hosts by name. Raises OverflowError for numbers
        beyond 64 bits."""
        groups: dict[str, int] = {}
        colours: dict[str, int] = {}
        group = [groups.setdefault(flow.group, len(groups)) for flow in specs]
        none, endless = float("nan"), float("inf")
        size = [NO_SIZE if flow.size_bytes is None else flow.size_bytes for flow in specs]
        limit = [endless if flow.rate_bps is None else flow.rate_bps for flow in specs]
        lasting = [none if flow.duration_s is None else flow.duration_s for flow in specs]
        return cls(
            specs,
            np.array([flow.id for flow in specs], np.int64),
            np.array([places.get(flow.src, NOWHERE) for flow in specs], np.int32),
            np.array([places.get(flow.dst, NOWHERE) for flow in specs], np.int32),
            np.array([flow.start_s for flow in specs], np.float64),
            np.array(size, np.int64),
            np.array(limit, np.float64),
            np.array(lasting, np.float64),
            np.array(group, np.int32),
            np.array([flow.traffic_class for flow in specs], np.int64),
            np.array([colours.setdefault(flow.colour, len(colours)) for flow in specs], np.int32),
            np.array([bool(flow.after) for flow in specs], np.bool_),
            tuple(groups),
            tuple(colours),
        )

    def __len__(self) -> int:
        return len(self.specs)

    def part(self, first: int, last: int) -> FlowColumns:
        """Returns the flows from the place `first` to before `last`, which share memory."""
        if first == 0 and last >= len(self):
            return self
        columns = {field.name: getattr(self, field.name) for field in fields(self)[:-2]}
        return replace(self, **{name: column[first:last] for name, column in columns.items()})
