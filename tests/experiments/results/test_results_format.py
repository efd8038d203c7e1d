"""docs/results-format.md has what runs write, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import results_format
from short_plans import shortened

from pcn.cli import run as pcn
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.records import FlowChoice, Records
from pcn.experiments.define.experiment import Experiment
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.papers.unbiased.fig7 import Fig7
from pcn.experiments.run.execute import execute
from pcn.experiments.run.progress import Silent
from pcn.hosts.algorithms import find_scheme, schemes

ROOT = Path(__file__).resolve().parents[3]
SHORT = {
    "dumbbell": {"duration": 2e-3},
    "victim": {"before": 1e-3, "duration": 3.5e-3},
    "unbiased": {},
    "tcd": {},
    "fig5": {},
    "traffic": {"count": 20},
}
FIXED = {"fig5": ("pfc",)}
"""Scenarios that have only their own schemes."""
LONGEST_S = 10e-3
"""What is written doesn't depend on how long a run goes on."""


def test_every_scenario_is_run_here():
    assert SHORT.keys() == SCENARIOS.keys()


def plans() -> Iterator[Plan]:
    """Of one scenario with each scheme, of each other one with two; with a scheme that has a
    window; of inputs and output buffers. Scenarios share what records a scheme: the two show what
    is a scenario's own."""
    find_scheme("pcn")
    for name, scenario in SCENARIOS.items():
        for scheme in FIXED.get(name, sorted(schemes) if name == "dumbbell" else ("pcn", "swift")):
            plan = scenario.plan(scheme, 1, SHORT[name])
            yield shortened(plan, min(plan.duration_s, LONGEST_S))
    window = find_scheme(f"{ROOT}/examples/aimd_window/aimd_window.py:AIMD_WINDOW").name
    yield SCENARIOS["dumbbell"].plan(window, 1, SHORT["dumbbell"])
    yield from figure(Fig7())


def figure(experiment: Experiment) -> Iterator[Plan]:
    for run in {
        run.scheme: run for run in experiment.runs(experiment.schemes) if run.seed == 1
    }.values():
        yield shortened(experiment.plan(run.scheme, run.seed, run.arguments), 0.2e-3)


def test_series_are_those_of_the_page():
    seen: set[tuple[str, str]] = set()
    undocumented: dict[tuple[str, str], str] = {}
    page = results_format.series()
    for plan in plans():
        _, recording = execute(
            replace(plan, records=Records(flows=FlowChoice(every=True))), Silent()
        )
        kinds = results_format.kinds(recording.series)
        seen |= kinds
        undocumented |= dict.fromkeys(kinds - page, f"{plan.scenario}, {plan.scheme}")
    assert undocumented == {}
    assert page - seen == set(), "no run writes these"


@pytest.mark.parametrize("scheme", ["pfc", "pcn"])
def test_tables_have_the_columns_of_the_page(scheme, tmp_path):
    out = tmp_path / "out"
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "star", "--set", "count=20",
        "--scheme", scheme,
    ]  # fmt: skip
    assert pcn([*command, "--events", "--queues", "10us", "-q", "--out", str(out)]) == 0
    written = {path.name for path in out.glob("*.parquet")}
    assert written == {"series.parquet", "flows.parquet", "events.parquet", "queues.parquet"}
    for name in written - {"series.parquet"}:
        assert pq.read_schema(out / name).names == results_format.columns(name)
    assert pq.read_schema(out / "series.parquet").names == ["time_s", "entity", "metric", "value"]
