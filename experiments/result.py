"""A finished run with all that was made of it: what the summary, the pictures and the report show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

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
    folder: str = ""
    """Where it is below the directory of several runs, by what tells them apart: `pcn`, `live`, `pcn/live`."""

    @property
    def name(self) -> str:
        """The scheme's, as a report has it."""
        return "PFC alone" if self.plan.scheme == "pfc" else self.plan.scheme.upper()


def judge(scenario: Scenario, plan: Plan, recording: Recording, clock: str, target: str, folder: str = "") -> Result:
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
        folder=folder,
    )


def by_scheme(results: Sequence[Result]) -> list[tuple[Result, ...]]:
    """The runs of each scheme: one, or one by clock."""
    return [tuple(runs) for _, runs in groupby(results, lambda result: result.plan.scheme)]
