"""Plans of figures for a part of their time, and outcomes of single runs."""

import functools
import math
from copy import copy
from dataclasses import replace
from typing import TypeVar

from pcn.experiments.data.plan import Plan
from pcn.experiments.define.experiment import Experiment
from pcn.experiments.define.outcomes import Key, Outcome
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual

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

    def short(*arguments) -> Plan:
        whole = plan(*arguments)
        return shortened(whole, min(ends_s, whole.duration_s))

    shorter.plan = short
    return shorter


@functools.cache
def outcome(kind: type[Experiment], ends_s: float = math.inf, **keys: Key) -> Outcome:
    """The outcome of the figure's run with these keys, by default with the first seed, until it
    ends or `ends_s`; run once for all that want it."""
    figure, keys = kind(), {"seed": 1, **keys}
    if ends_s < math.inf:
        figure = until(figure, ends_s)
    (run,) = (
        run
        for run in figure.runs(figure.schemes)
        if all(run.keys.get(name) == value for name, value in keys.items())
    )
    plan = figure.plan(run.scheme, run.seed, run.arguments)
    return figure.measure(run, plan, run_virtual(plan, Silent(), figure.variant(run)))


def number(of: Outcome, name: str) -> float:
    """A number that the run has."""
    value = of.numbers[name]
    assert value is not None
    return value
