"""The papers whose experiments run here, and these experiments by name."""

from __future__ import annotations

from experiments.experiment import Scenario
from experiments.outcomes import Figure
from experiments.papers import pcn

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in pcn.SCENARIOS}
FIGURES: dict[str, Figure] = {figure.name: figure for figure in pcn.FIGURES}
