"""Tasks that the tests of sweeps run, and progress that they read."""

from pathlib import Path

from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep.task import Task

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[2]
SHORT = ["--set", "duration=2ms"]


def task_for(name: str, **arguments) -> Task:
    return Task(f"sweep_functions:{name}", arguments, {"function": name, **arguments})


class Telling(Silent):
    def __init__(self):
        self.texts: list[str] = []

    def advance(self, share: float, text: str):
        self.texts.append(text)
