"""A finished run with all that was made of it: what the summary, the pictures and the report show."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.analysis import Steady, steady_state
from experiments.charts import Chart
from experiments.checks import Check
from experiments.recording import Recording
from experiments.scenarios.base import Plan, Scenario


@dataclass(frozen=True)
class Result:
    """One scheme's run."""

    scenario: Scenario
    plan: Plan
    recording: Recording
    clock: str
    target: str
    steady: Steady
    checks: tuple[Check, ...]
    charts: tuple[Chart, ...]


def judge(scenario: Scenario, plan: Plan, recording: Recording, clock: str, target: str) -> Result:
    """Checks and charts of a recording."""
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
    return Result(
        scenario=scenario,
        plan=plan,
        recording=recording,
        clock=clock,
        target=target,
        steady=steady,
        checks=tuple(scenario.checks(plan, recording, steady)),
        charts=tuple(scenario.charts(plan, recording)),
    )
