"""Flows that start after others: each behind those that it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcn.base.errors import TopologyError

if TYPE_CHECKING:
    from pcn.topologies.flow import FlowSpec

_MOST_NAMED = 5
"""Flows of a circle that an error names."""


def in_order(flows: Sequence[FlowSpec]) -> Sequence[FlowSpec]:
    """Returns the flows, each behind those of its `after`, else in their order. Raises
    TopologyError where a flow waits for itself, for one that is missing or has no size, for others
    with as many times or none, for acknowledgements of one that isn't in `after`, or where flows
    wait for each other."""
    if uneven := next(
        (flow for flow in flows if flow.after_s and len(flow.after_s) != len(flow.after)), None
    ):
        raise TopologyError(
            f"flow {uneven.id} waits for {len(uneven.after)} flows, for {len(uneven.after_s)} times"
        )
    for flow in flows:
        if flow.acknowledged and (rest := set(flow.acknowledged).difference(flow.after)):
            raise TopologyError(
                f"flow {flow.id} waits for acknowledgements of flow {min(rest)}, which isn't in "
                "its `after`: name it there, too"
            )
    if not any(flow.after for flow in flows):
        return flows
    by_id = {flow.id: flow for flow in flows}
    if len(by_id) < len(flows):
        raise TopologyError("flows wait for others by their ids, and an id is used twice")
    followers: dict[int, list[FlowSpec]] = {}
    left: dict[int, int] = {}
    for flow in flows:
        for predecessor in flow.after:
            if predecessor == flow.id:
                raise TopologyError(f"flow {flow.id} waits for itself")
            if predecessor not in by_id:
                raise TopologyError(
                    f"flow {flow.id} waits for flow {predecessor}, which is missing"
                )
            if by_id[predecessor].size_bytes is None:
                raise TopologyError(
                    f"flow {flow.id} waits for flow {predecessor}, which has no size, so never "
                    "arrives whole"
                )
            followers.setdefault(predecessor, []).append(flow)
        left[flow.id] = len(flow.after)
    ordered = [flow for flow in flows if not flow.after]
    for flow in ordered:  # it grows
        for follower in followers.get(flow.id, ()):
            left[follower.id] -= 1
            if not left[follower.id]:
                ordered.append(follower)
    if len(ordered) < len(flows):
        circle = _circle([flow for flow in flows if left[flow.id]], left)
        names = " -> ".join(map(str, circle[:_MOST_NAMED])) + (
            " -> ..." if len(circle) > _MOST_NAMED else ""
        )
        raise TopologyError(f"flows wait for each other: {names} -> {circle[0]}")
    return ordered


def _circle(stuck: Sequence[FlowSpec], left: dict[int, int]) -> list[int]:
    """Returns the numbers of flows that wait for each other, each for the next, of flows that never
    start."""
    waits = {
        flow.id: next(predecessor for predecessor in flow.after if left[predecessor])
        for flow in stuck
    }
    seen: dict[int, int] = {}
    at = stuck[0].id
    while at not in seen:
        seen[at] = len(seen)
        at = waits[at]
    return list(seen)[seen[at] :]
