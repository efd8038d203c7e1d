"""The scenarios, by name."""

from __future__ import annotations

from experiments.scenarios.base import Headline, LiveLimits, Plan, Sampling, Scenario
from experiments.scenarios.dumbbell import Dumbbell
from experiments.scenarios.fig5 import Fig5
from experiments.scenarios.victim import Victim

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (Dumbbell(), Victim(), Fig5())}

__all__ = ["SCENARIOS", "Headline", "LiveLimits", "Plan", "Sampling", "Scenario"]
