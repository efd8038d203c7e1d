"""The study of static and dynamic thresholds: equal flows for all runs of a seed, the switches, what the page shows."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.papers.pcn.studies.shared_buffer import DYNAMIC, SCHEMES, SEEDS, STATIC, THRESHOLDS, SharedBuffers
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.hosts.algorithms import find_scheme

pytestmark = pytest.mark.long

_FEW = 400
"""Fewer take longer: they begin sooner, and samples are parts of the time in which they do."""


@functools.cache
def plan(thresholds: str, scheme: str, seed: int = 1) -> Plan:
    return SharedBuffers().plan(scheme, seed, {"dynamic": float(thresholds == DYNAMIC), "count": _FEW})


@functools.cache
def outcome(thresholds: str, scheme: str) -> Outcome:
    figure = SharedBuffers()
    (run,) = (one for one in figure.runs((scheme,)) if (one.keys["thresholds"], one.seed) == (thresholds, 1))
    small = plan(thresholds, scheme)
    return figure.measure(run, small, run_virtual(small, Silent()))


def scaled(run: Outcome, factor: float, **keys: Key) -> Outcome:
    """As of another run, with these keys and `factor` times the numbers."""
    numbers = {name: None if number is None else factor * number for name, number in run.numbers.items()}
    return replace(run, keys={**run.keys, **keys}, numbers=numbers)


def test_study_runs_each_scheme_with_both_thresholds_and_all_seeds() -> None:
    runs = [(run.keys["thresholds"], run.scheme, run.seed) for run in SharedBuffers().runs(SCHEMES)]
    assert sorted(runs) == sorted((one, scheme, seed) for one in THRESHOLDS for scheme in SCHEMES for seed in SEEDS)


def test_study_gives_all_runs_of_a_seed_the_same_flows() -> None:
    flows = {seed: plan(STATIC, "pcn", seed).topology.flows for seed in SEEDS}
    assert len(set(flows.values())) == len(SEEDS)
    for thresholds in THRESHOLDS:
        for scheme in SCHEMES:
            assert plan(thresholds, scheme).topology.flows == flows[1]


def test_study_sets_buffers_by_thresholds_and_parameters_by_the_schemes_rules() -> None:
    for thresholds in THRESHOLDS:
        for scheme in SCHEMES:
            made = plan(thresholds, scheme)
            assert set(made.derived) == find_scheme(scheme).by_network.keys()
            assert bool(made.port_parameters) == scheme.startswith("dcqcn")
            for switch in made.topology.switches:
                assert (switch.buffer is not None) == (thresholds == DYNAMIC)
                assert not switch.ecn


def test_dynamic_thresholds_send_fewer_pauses_in_an_incast() -> None:
    static, dynamic = (outcome(one, "pcn").numbers for one in THRESHOLDS)
    assert static["unfinished"] == dynamic["unfinished"] == 0
    assert 0 <= (dynamic["pause"] or 0) < (static["pause"] or 0)
    assert (dynamic["p95 others"] or 0) < (static["p95 others"] or 0)


def test_page_shows_means_and_errors_of_the_runs() -> None:
    first = outcome(DYNAMIC, "pcn")
    found = [first, scaled(first, 1.25, seed=SEEDS[1])]
    figure = SharedBuffers()
    (table,) = figure.page_tables(Outcomes(found))
    mean, _, error = table.rows[0][list(table.columns).index("95%")].partition(" ± ")
    one, other = (run.numbers["p95 others"] or 0.0 for run in found)
    assert float(mean) == pytest.approx((one + other) / 2, rel=5e-3)
    assert float(error) == pytest.approx(abs(one - other) / 2, rel=5e-2)
    (chart,) = figure.charts(Outcomes(found))
    assert [line.label for line in chart.lines] == ["PCN"]


def test_rows_compare_thresholds_of_a_scheme_and_schemes_at_equal_thresholds() -> None:
    runs = {(one, "pcn"): outcome(one, "pcn") for one in THRESHOLDS}
    runs |= {(one, "pfc"): scaled(run, 1.5, scheme="pfc") for (one, _), run in runs.items()}
    rows = {check.what: check.measured for check in SharedBuffers().checks(Outcomes(runs.values()))}
    p95 = {key: run.numbers["p95 others"] or 0.0 for key, run in runs.items()}
    by_thresholds = rows["PCN: 95% slowdown, dynamic thresholds over static (met: at most 1)"]
    assert by_thresholds == pytest.approx(p95[DYNAMIC, "pcn"] / p95[STATIC, "pcn"])
    by_scheme = rows["static thresholds: 95% slowdown, PCN's over PFC alone's (met: at most 1)"]
    assert by_scheme == pytest.approx(p95[STATIC, "pcn"] / p95[STATIC, "pfc"])
