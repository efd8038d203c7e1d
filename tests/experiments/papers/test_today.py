"""The study of PCN beside today's transports: equal flows for all schemes, numbers of small runs,
the page's tables."""

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.flows_by_size import FLOWS, INCAST
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.define.tables import Table
from pcn.experiments.page.figures_page import figure_page, page, sections
from pcn.experiments.papers import FIGURES
from pcn.experiments.papers.pcn.studies.today import SCHEMES, SETTINGS, Today
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.figures import judge, write
from pcn.experiments.traffic import flows
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import round_trip_s

pytestmark = pytest.mark.long

_FEW = 40


@functools.cache
def plan(setting: str, scheme: str, count: int = _FEW, seed: int = 1) -> Plan:
    return Today().plan(scheme, seed, {"setting": list(SETTINGS).index(setting), "count": count})


@functools.cache
def recording(setting: str, scheme: str, count: int = _FEW, seed: int = 1) -> Recording:
    return run_virtual(plan(setting, scheme, count, seed), Silent())


@functools.cache
def outcome(setting: str, scheme: str, count: int = _FEW, seed: int = 1) -> Outcome:
    figure = Today()
    (run,) = (
        run for run in figure.runs((scheme,))
        if run.keys["setting"] == setting and run.keys["seed"] == seed
    )  # fmt: skip
    measured = figure.measure(
        run, plan(setting, scheme, count, seed), recording(setting, scheme, count, seed)
    )
    return replace(measured, numbers={**measured.numbers, "lost": 0.0, "inside": 0.0})


def slowdowns(setting: str, scheme: str, count: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Returns a row a flow of all seeds: its group, size and slowdown."""
    rows = []
    for seed in seeds:
        ended = flows.ended(
            plan(setting, scheme, count, seed), recording(setting, scheme, count, seed)
        )
        specs = plan(setting, scheme, count, seed).topology.flows
        rows += [
            {"group": flow.group, "size": flow.size_bytes, "slowdown": value, "seed": seed}
            for flow, value in zip(specs, ended.slowdown, strict=True)
        ]
    return pd.DataFrame(rows)


def test_study_runs_each_scheme_once_in_each_setting():
    """Of DCQCN's two the one that is made for the hosts' rate."""
    runs = Counter(
        (run.keys["setting"], run.scheme) for run in Today().runs(SCHEMES) if run.seed == 1
    )
    assert set(runs.values()) == {1}
    assert len(runs) == len(SETTINGS) * (len(SCHEMES) - 1)
    assert {setting for setting, scheme in runs if scheme == "dcqcn"} == {"W1", "W2"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_study_gives_every_scheme_the_same_flows(setting):
    flows = plan(setting, "pcn").topology.flows
    assert flows
    for scheme in ("dctcp", "hpcc", "nscc"):
        assert plan(setting, scheme).topology.flows == flows


@pytest.mark.parametrize("setting", ["W1", "WebSearch"])
def test_flows_begin_with_a_bandwidth_delay_product(setting):
    for scheme in ("dctcp", "swift", "hpcc"):
        run_plan = plan(setting, scheme)
        line_bps, rtt_s = (
            run_plan.topology.link_at("h0", 0).rate_bps,
            round_trip_s(run_plan.topology),
        )
        rp = find_scheme(scheme).configure(run_plan.scheme_parameters).new_rp(line_bps)
        assert rp.window_bytes == pytest.approx(line_bps * rtt_s / 8, rel=0.05)


def test_page_has_a_table_of_each_setting_with_the_runs_numbers(tmp_path, monkeypatch):
    monkeypatch.setitem(FIGURES, "today", Today())
    outcomes = tuple(outcome("WebSearch", scheme) for scheme in ("pcn", "dctcp", "dcqcn-ns3"))
    assert not any(run.numbers["unfinished"] for run in outcomes)
    result = judge(Today(), outcomes)
    (table,) = result.tables
    assert [row[0] for row in table.rows] == ["PCN", "DCQCN (ns-3)", "DCTCP"]
    assert {len(row) for row in table.rows} == {len(table.columns)}
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert float(cells["largest queue, KB"].replace(",", "")) == pytest.approx(
        outcomes[0].numbers["largest_kb"] or 0, rel=5e-3
    )
    write(result, tmp_path / "today")
    page_sections = sections(tmp_path)
    assert page_sections[0].tables == [
        Table(table.title, list(table.columns), [list(row) for row in table.rows], [])
    ]
    assert f"| {' | '.join(table.rows[1])} |" in figure_page(page_sections[0])
    html = page(page_sections)
    assert all(cell in html for row in table.rows for cell in row)


def test_curves_and_cells_are_of_all_seeds_flows_with_in_casts_apart():
    """Against pandas, of two seeds: a bin of fewer than 100 flows has no point, and none has a flow
    of an in-cast."""
    setting, count, seeds = "FbHdp", 1_500, (1, 2)
    outcomes = Outcomes([outcome(setting, "pcn", count, seed) for seed in seeds])
    flows = slowdowns(setting, "pcn", count, seeds)
    drawn = flows[flows["group"] != INCAST]
    assert len(drawn) < len(flows)
    (chart,) = Today().charts(outcomes)
    assert f"2 seeds, {len(drawn):,} flows" in chart.x_label
    (line,) = chart.lines
    limits = limits_of_bins(outcomes)
    bins = pd.cut(drawn["size"], [0, *limits], labels=False)
    counts = bins.value_counts()
    assert line.x.tolist() == [place for place in range(len(limits)) if counts.get(place, 0) >= 100]
    assert line.x.size
    assert line.low is not None
    assert line.high is not None
    for place, value, flows_of, low, high in zip(
        line.x, line.y, line.counts, line.low, line.high, strict=True
    ):
        of_bin = drawn[bins == place]
        assert flows_of == len(of_bin)
        assert value == pytest.approx(of_bin["slowdown"].quantile(0.99), rel=1e-5)
        by_seed = of_bin.groupby("seed")["slowdown"]
        if by_seed.size().min() >= 100:
            percentiles = by_seed.quantile(0.99)
            assert low == pytest.approx(min(percentiles.min(), value), rel=1e-5)
            assert high == pytest.approx(max(percentiles.max(), value), rel=1e-5)
        else:
            assert math.isnan(low)
            assert math.isnan(high)
    (table,) = Today().page_tables(outcomes)
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    for group, size in (
        ("S, up to 10 KB", "S"),
        ("M, 10 to 100 KB", "M"),
        ("XL, above 1 MB", "XL"),
        ("incast", INCAST),
    ):
        of_group = flows[flows["group"] == size]["slowdown"]
        half, most = cells[group].split(" / ")
        assert float(half) == pytest.approx(of_group.median(), rel=5e-3)
        assert (most == "–") == (len(of_group) < 100)
        assert most == "–" or float(most.split(" [")[0]) == pytest.approx(
            of_group.quantile(0.99), rel=5e-3
        )
    assert cells["XL, above 1 MB"].endswith("/ –"), "too few of them for a 99%"


def limits_of_bins(outcomes: Outcomes) -> Sequence[float]:
    (limits,) = {sample.groups[FLOWS].limits for sample in outcomes.samples()}
    return limits


def test_rows_compare_pcn_with_dcqcn_and_with_the_best_window():
    names = ("pcn", "dctcp", "hpcc", "dcqcn-ns3")
    pcn_run = outcome("WebSearch", "pcn")
    outcomes = Outcomes(
        Outcome({**pcn_run.keys, "scheme": name}, {"mean_ms all": 1.0 / number})
        for number, name in enumerate(names, 1)
    )
    number = {name: outcomes.mean("mean_ms all", scheme=name) or 0.0 for name in names}
    rows = {check.what: check.measured for check in Today().checks(outcomes)}
    text = "WebSearch: mean completion time (ms), PCN's over {} (met: at most 1)"
    assert rows[text.format("DCQCN's")] == pytest.approx(number["pcn"] / number["dcqcn-ns3"])
    windows = min(number["dctcp"], number["hpcc"])
    best = rows[text.format("the least of DCTCP, HPCC, Swift and NSCC")]
    assert best == pytest.approx(number["pcn"] / windows)
