"""Runs that the tests of `pcn explain` share, and their explanations."""

from pathlib import Path

import pytest

from pcn.cli import run as pcn
from pcn.experiments.explain import answers
from pcn.experiments.explain.again import KeptResult
from pcn.experiments.explain.explanation import Explanation
from pcn.experiments.run.progress import Silent

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
BURSTS = (0.0, 3.25e-3)


def kept_run(out: Path, *command: str) -> Path:
    assert pcn(["run", *command, "--clock", "virtual", "-q", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def victim(tmp_path_factory) -> Path:
    return kept_run(
        tmp_path_factory.mktemp("victim") / "run", "victim", "--scheme", "pfc,dcqcn,pcn"
    )


@pytest.fixture(scope="session")
def mixed(tmp_path_factory) -> Path:
    words = [
        "traffic", "--topology", "fat-tree", "--workload", "websearch", "--set", "count=80",
        "--set", "xoff_bytes=60KB",
    ]  # fmt: skip
    return kept_run(tmp_path_factory.mktemp("mixed") / "run", *words, "--scheme", "pfc,pcn")


def explained(place: Path, *numbers: int, span_s: answers.Span | None = None) -> list[Explanation]:
    return list(answers.of_flows(KeptResult(place), numbers, span_s, Silent()).flows)
