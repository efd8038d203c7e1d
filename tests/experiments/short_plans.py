"""Plans of figures for a part of their time."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from pcn.experiments.data.plan import Plan
from pcn.experiments.define.experiment import Experiment

_Figure = TypeVar("_Figure", bound=Experiment)


def shortened(plan: Plan, duration_s: float) -> Plan:
    """With the flows that run before time 0, but not for as long, and without those that start
    later."""
    start_s = max(plan.start_s, -duration_s)
    flows = []
    for flow in plan.topology.flows:
        if flow.start_s < duration_s:
            begins_s = max(flow.start_s, start_s)
            lasts_s = flow.duration_s and min(flow.duration_s, duration_s - begins_s)
            flows.append(replace(flow, start_s=begins_s, duration_s=lasts_s))
    topology = replace(plan.topology, flows=tuple(flows))
    return replace(plan, topology=topology, start_s=start_s, duration_s=duration_s)


def until(figure: _Figure, ends_s: float) -> _Figure:
    """With plans that are shortened where they are longer."""
    shorter, plan = copy(figure), figure.plan

    def short(*arguments: Any) -> Plan:
        whole = plan(*arguments)
        return shortened(whole, min(ends_s, whole.duration_s))

    shorter.plan = short  # type: ignore[method-assign]
    return shorter
