"""The study of static and dynamic thresholds: equal flows for all runs of a seed, the switches,
what the page shows."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.series_math import Array
from pcn.experiments.define.flows_by_size import FLOWS, INCAST
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.papers.pcn.studies.shared_buffer import (
    DYNAMIC,
    SCHEMES,
    SEEDS,
    STATIC,
    THRESHOLDS,
    SharedBuffers,
)
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.hosts.algorithms import find_scheme

pytestmark = pytest.mark.long

_FEW = 400
"""Fewer take longer: they begin sooner, and samples are parts of the time in which they do."""


@functools.cache
def plan(thresholds: str, scheme: str, seed: int = 1) -> Plan:
    return SharedBuffers().plan(
        scheme, seed, {"dynamic": float(thresholds == DYNAMIC), "count": _FEW}
    )


@functools.cache
def outcome(thresholds: str, scheme: str) -> Outcome:
    figure = SharedBuffers()
    (run,) = (
        run
        for run in figure.runs((scheme,))
        if (run.keys["thresholds"], run.seed) == (thresholds, 1)
    )
    small = plan(thresholds, scheme)
    return figure.measure(run, small, run_virtual(small, Silent()))


def scaled(run: Outcome, factor: float, **keys: Key) -> Outcome:
    """As of another run, with these keys and `factor` times the numbers and slowdowns."""
    numbers = {
        name: None if number is None else factor * number for name, number in run.numbers.items()
    }
    run_samples = RunSamples.from_json(run.samples)
    groups = {
        group: replace(
            group_samples,
            values={
                unit: tuple(factor * bin_ for bin_ in of)
                for unit, of in group_samples.values.items()
            },
        )
        for group, group_samples in run_samples.groups.items()
    }
    return replace(
        run, keys={**run.keys, **keys}, numbers=numbers, samples=RunSamples(run_samples.digest,
        groups).to_json()
    )  # fmt: skip


def slowdowns(*runs: Outcome, group: str = FLOWS) -> Array:
    """Returns those of all flows of a group, in all runs."""
    samples = [RunSamples.from_json(run.samples).groups[group] for run in runs]
    return np.concatenate(
        [bin_ for run_samples in samples for bin_ in run_samples.values["slowdown"]]
    )


def test_study_runs_each_scheme_with_both_thresholds_and_all_seeds():
    runs = [(run.keys["thresholds"], run.scheme, run.seed) for run in SharedBuffers().runs(SCHEMES)]
    assert sorted(runs) == sorted(
        (threshold, scheme, seed)
        for threshold in THRESHOLDS
        for scheme in SCHEMES
        for seed in SEEDS
    )


def test_study_gives_all_runs_of_a_seed_the_same_flows():
    flows = {seed: plan(STATIC, "pcn", seed).topology.flows for seed in SEEDS}
    assert len(set(flows.values())) == len(SEEDS)
    for thresholds in THRESHOLDS:
        for scheme in SCHEMES:
            assert plan(thresholds, scheme).topology.flows == flows[1]


def test_study_sets_buffers_by_thresholds_and_parameters_by_the_schemes_rules():
    for thresholds in THRESHOLDS:
        for scheme in SCHEMES:
            run_plan = plan(thresholds, scheme)
            assert set(run_plan.derived) == find_scheme(scheme).by_network.keys()
            assert bool(run_plan.port_parameters) == scheme.startswith("dcqcn")
            for switch in run_plan.topology.switches:
                assert (switch.buffer is not None) == (thresholds == DYNAMIC)
                assert not switch.ecn


def test_dynamic_thresholds_send_fewer_pauses_in_an_incast():
    static, dynamic = (outcome(threshold, "pcn").numbers for threshold in THRESHOLDS)
    assert static["unfinished"] == dynamic["unfinished"] == 0
    assert 0 <= (dynamic["pause"] or 0) < (static["pause"] or 0)
    of_dynamic, of_static = (
        np.percentile(slowdowns(outcome(threshold, "pcn")), 95) for threshold in (DYNAMIC, STATIC)
    )
    assert of_dynamic < of_static


def test_page_shows_percentiles_of_all_seeds_flows_and_leaves_in_casts_out():
    first = outcome(DYNAMIC, "pcn")
    runs = [first, scaled(first, 1.25, seed=SEEDS[1])]
    figure = SharedBuffers()
    (table,) = figure.page_tables(Outcomes(runs))
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    value, _, interval = cells["95%"].partition(" [")
    assert float(value) == pytest.approx(np.percentile(slowdowns(*runs), 95), rel=5e-3)
    ends = [float(end) for end in interval.strip("]").split(", ")]
    assert ends == pytest.approx([np.percentile(slowdowns(run), 95) for run in runs], rel=5e-3)
    flows = [flow for flow in plan(DYNAMIC, "pcn").topology.flows if flow.group != INCAST]
    assert slowdowns(*runs).size == 2 * len(flows)
    assert float(cells["in-casts, 50%"].split(" [")[0]) == pytest.approx(
        np.percentile(slowdowns(*runs, group=INCAST), 50), rel=5e-3
    )  # fmt: skip
    (chart,) = figure.charts(Outcomes(runs))
    assert [line.label for line in chart.lines] == ["PCN"]
    assert sum(chart.lines[0].counts) <= 2 * len(flows)
    assert f"2 seeds, {2 * len(flows)} flows" in chart.x_label


def test_rows_compare_thresholds_of_a_scheme_and_schemes_at_equal_thresholds():
    runs = {(threshold, "pcn"): outcome(threshold, "pcn") for threshold in THRESHOLDS}
    runs |= {
        (threshold, "pfc"): scaled(run, 1.5, scheme="pfc") for (threshold, _), run in runs.items()
    }
    rows = {check.what: check.measured for check in SharedBuffers().checks(Outcomes(runs.values()))}
    p95 = {key: float(np.percentile(slowdowns(run), 95)) for key, run in runs.items()}
    by_thresholds = rows["PCN: 95% slowdown, dynamic thresholds over static (met: at most 1)"]
    assert by_thresholds == pytest.approx(p95[DYNAMIC, "pcn"] / p95[STATIC, "pcn"], rel=1e-5)
    by_scheme = rows["static thresholds: 95% slowdown, PCN's over PFC alone's (met: at most 1)"]
    assert by_scheme == pytest.approx(p95[STATIC, "pcn"] / p95[STATIC, "pfc"], rel=1e-5)
