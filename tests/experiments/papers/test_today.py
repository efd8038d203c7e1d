"""The study of PCN beside today's transports: equal flows for all schemes, numbers of small runs, the page's tables."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.define.tables import Table
from pcn.experiments.page.figures_page import markdown, page, sections
from pcn.experiments.papers import FIGURES
from pcn.experiments.papers.pcn.studies.today import SCHEMES, SETTINGS, Today
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.figures import judge, write
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import round_trip_s

pytestmark = pytest.mark.long

_FEW = 40


@functools.cache
def plan(setting: str, scheme: str, count: int = _FEW) -> Plan:
    return Today().plan(scheme, 1, {"setting": list(SETTINGS).index(setting), "count": count})


@functools.cache
def outcome(setting: str, scheme: str) -> Outcome:
    figure = Today()
    (run,) = (
        one for one in figure.runs((scheme,)) if one.keys["setting"] == setting and one.keys["seed"] == 1
    )  # fmt: skip
    small = plan(setting, scheme)
    made = figure.measure(run, small, run_virtual(small, Silent()))
    return Outcome(made.keys, {**made.numbers, "lost": 0.0, "inside": 0.0}, made.curves)


def test_study_runs_each_scheme_once_in_each_setting() -> None:
    """Of DCQCN's two the one that is made for the hosts' rate."""
    runs = Counter((run.keys["setting"], run.scheme) for run in Today().runs(SCHEMES) if run.seed == 1)
    assert set(runs.values()) == {1}
    assert len(runs) == len(SETTINGS) * (len(SCHEMES) - 1)
    assert {setting for setting, scheme in runs if scheme == "dcqcn"} == {"W1", "W2"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_study_gives_every_scheme_the_same_flows(setting: str) -> None:
    flows = plan(setting, "pcn").topology.flows
    assert flows
    for scheme in ("dctcp", "hpcc", "nscc"):
        assert plan(setting, scheme).topology.flows == flows


@pytest.mark.parametrize("setting", ["W1", "WebSearch"])
def test_flows_begin_with_a_bandwidth_delay_product(setting: str) -> None:
    for scheme in ("dctcp", "swift", "hpcc"):
        made = plan(setting, scheme)
        line_bps, rtt_s = made.topology.link_at("h0", 0).rate_bps, round_trip_s(made.topology)
        rp = find_scheme(scheme).configure(made.scheme_parameters).new_rp(line_bps)
        assert rp.window_bytes == pytest.approx(line_bps * rtt_s / 8, rel=0.05)


def test_page_has_a_table_of_each_setting_with_the_runs_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FIGURES, "today", Today())
    outcomes = tuple(outcome("WebSearch", scheme) for scheme in ("pcn", "dctcp", "dcqcn-ns3"))
    assert not any(one.numbers["unfinished"] for one in outcomes)
    result = judge(Today(), outcomes)
    (table,) = result.tables
    assert [row[0] for row in table.rows] == ["PCN", "DCQCN (ns-3)", "DCTCP"]
    assert {len(row) for row in table.rows} == {len(table.columns)}
    own = dict(zip(table.columns, table.rows[0], strict=True))
    assert float(own["largest queue, KB"].replace(",", "")) == pytest.approx(
        outcomes[0].numbers["largest_kb"] or 0, rel=5e-3
    )
    write(result, tmp_path / "today")
    made = sections(tmp_path)
    assert made[0].tables == [Table(table.title, list(table.columns), [list(row) for row in table.rows], [])]
    assert f"| {' | '.join(table.rows[1])} |" in markdown(made)
    html = page(made)
    assert all(cell in html for row in table.rows for cell in row)


def test_rows_compare_pcn_with_dcqcn_and_with_the_best_window() -> None:
    names = ("pcn", "dctcp", "hpcc", "dcqcn-ns3")
    one = outcome("WebSearch", "pcn")
    outcomes = Outcomes(
        Outcome({**one.keys, "scheme": name}, {"mean_ms all": 1.0 / number}) for number, name in enumerate(names, 1)
    )
    number = {name: outcomes.mean("mean_ms all", scheme=name) or 0.0 for name in names}
    rows = {check.what: check.measured for check in Today().checks(outcomes)}
    text = "WebSearch: mean completion time (ms), PCN's over {} (met: at most 1)"
    assert rows[text.format("DCQCN's")] == pytest.approx(number["pcn"] / number["dcqcn-ns3"])
    windows = min(number["dctcp"], number["hpcc"])
    best = rows[text.format("the least of DCTCP, HPCC, Swift and NSCC")]
    assert best == pytest.approx(number["pcn"] / windows)
