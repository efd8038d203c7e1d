"""What the figures about victims have in common: their traffic, and what is kept of a run."""

from __future__ import annotations

from collections.abc import Mapping

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.papers.tcd.plans import victims_numbers, victims_plan


class Victims(Experiment):
    """One with `victims_plan`, which its runs' arguments are for."""

    draws = DRAWN_FLOWS

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return victims_plan(self.name, scheme, seed, values)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, victims_numbers(plan, recording))
