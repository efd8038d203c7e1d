"""The scenarios, by name."""

from __future__ import annotations

from experiments.scenarios.base import Headline, Plan, Sampling, Scenario
from experiments.scenarios.dumbbell import Dumbbell
from experiments.scenarios.victim import Victim

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (Dumbbell(), Victim())}

__all__ = ["SCENARIOS", "Headline", "Plan", "Sampling", "Scenario"]
