"""The scenarios, by name."""

from __future__ import annotations

from experiments.scenarios.base import Plan, Sampling, Scenario
from experiments.scenarios.dumbbell import Dumbbell

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (Dumbbell(),)}

__all__ = ["SCENARIOS", "Plan", "Sampling", "Scenario"]
