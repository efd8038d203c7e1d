"""Experiments: scenarios of the paper, run, measured, and held against it.

from experiments import run
result = run("dumbbell", settings=["duration=50ms"])
"""

from experiments.errors import ExperimentError
from experiments.papers import SCENARIOS
from experiments.runner import run

__all__ = ["SCENARIOS", "ExperimentError", "run"]
