"""Tables and titles of a report: numbers at a glance, limiters, hosts, the way to an interval."""

import json
from pathlib import Path

import forks
import numpy as np
import pytest
from browser import Browser
from report_pages import GLANCE, SCHEMES, open_report

from pcn.experiments.data.series import Series
from pcn.experiments.define.looks import label
from pcn.experiments.page.flow_rows import _span
from pcn.experiments.page.report import scheme_title
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.papers.pcn.scenarios.victim_setting import burst_s


def test_glance_at_victim_has_what_all_flows_got(chromium: Browser, tmp_path):
    """F0 and F1, the bursts' mean and the last of them, by series.parquet and summary.json
    alone."""
    settings = ["--set", "duration=6ms", "--set", "before=1ms"]
    words = ["run", "victim", "--clock", "virtual", "-q", "--scheme", "pfc,dcqcn,pcn", *settings]
    assert forks.run("pcn", *words, "--out", str(tmp_path / "run")).returncode == 0
    open_report(chromium, tmp_path / "run/report.html", 1400)
    heads, *rows = json.loads(chromium.ask(GLANCE))
    columns = dict(zip(heads, zip(*rows, strict=True), strict=True))

    def shown(name: str) -> tuple[str, ...]:
        (column,) = (cells for head, cells in columns.items() if head.startswith(name))
        return column

    plan = SCENARIOS["victim"].plan("pfc", 1, {"duration": 6e-3, "before": 1e-3})
    for column, scheme in enumerate(("pfc", "dcqcn", "pcn")):
        series = Series.read(tmp_path / "run" / scheme / "series.parquet")
        for flow in (0, 1):
            first, last = np.interp(
                [0.0, burst_s(plan)], *series.get(f"flow {flow}", "received_packets")
            )
            rate = (last - first) * 1058 * 8 / burst_s(plan) / 1e9
            assert float(shown(f"F{flow} during the bursts")[column].split()[0]) == pytest.approx(
                rate, rel=6e-3
            )
        flows = json.loads((tmp_path / "run" / scheme / "summary.json").read_text())["flows"]
        bursts = [flow["fct_s"] * 1e3 for flow in flows if flow["id"] > 1]
        for name, value in (("mean", np.mean(bursts)), ("last", max(bursts))):
            text = shown(f"flow completion time of the bursts, {name}")[column]
            assert float(text.split()[0]) == pytest.approx(value, rel=6e-3)


def test_span_names_hosts_so_that_from_and_to_are_clear():
    assert _span(["h0"]) == "h0"
    assert _span(["h0", "h1", "h0"]) == "h0 and h1"
    assert _span(["h0", "h1", "h2", "h3"]) == "h0, h1, h2 and h3"
    assert _span([f"h{i}" for i in range(9)]) == "9 hosts (h0, h1, ... h8)"
    assert all(" to " not in _span([f"h{i}" for i in range(count)]) for count in range(1, 20))


@pytest.mark.parametrize("scheme", ["pcn", "dcqcn-tcd", "ibcc", "aimd"])
def test_title_calls_a_scheme_as_the_rest_of_the_page_does(scheme):
    assert scheme_title(scheme).partition(":")[0] == label(scheme)


@pytest.mark.parametrize(("name", "scenario"), [("many", "dumbbell"), ("over", "victim")])
def test_page_of_single_runs_names_the_way_to_an_interval(pages: dict[str, Path], name, scenario):
    """Of runs that have chance in them, as one on the machine's clock has."""
    text = pages[name].read_text(encoding="utf-8")
    named = f"one run has no interval. <code>pcn sweep {scenario} --seeds 1:5</code>"
    assert text.count(named) == 1
    assert "no chance in" not in text


@pytest.mark.parametrize(("name", "subject"), [("one", "The run has"), ("both", "The runs have")])
def test_page_of_runs_whose_seed_decides_nothing_advises_no_sweep(
    pages: dict[str, Path], name, subject
):
    text = pages[name].read_text(encoding="utf-8")
    assert text.count(f"{subject} no chance in ") == 1
    assert "pcn sweep" not in text


def test_victim_s_page_and_command_end_with_the_way_to_explain_it(tmp_path):
    """And the command explains F0. Marks with PFC alone, to which no sender reacts, have a note."""
    place, settings = tmp_path / "run", ["--set", "duration=4ms"]
    words = ["run", "victim", "--clock", "virtual", "--scheme", "pfc,pcn", *settings]
    done = forks.run("pcn", *words, "--out", str(place))
    command = f"pcn explain {place / 'pfc'} --flow 0"
    of_code = SCENARIOS["victim"].page.explain_command("a b", ["net.yaml", "mine.py"])
    assert of_code == "pcn explain 'a b' --flow 0 --allow-code"
    assert f"Why flows were slow: {command}\n" in done.stdout
    assert forks.run(*command.split()).stdout.rstrip().endswith("(VICTIM).")
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "slow: <code>pcn explain pfc --flow 0</code>, in the folder of this page." in page
    assert "explain . --flow 0</code>" in (place / "pfc/report.html").read_text(encoding="utf-8")
    assert page.count("but no sender reacts to them") == 1
    assert "PFC alone: the switches&#39; program (pcn) marks, and receivers count" in page


LIMITS = """
$$('#flows table').map(table => [...table.querySelectorAll('tbody tr')]
    .map(row => row.querySelector('[data-name="its own limiter"]'))
    .filter(cell => cell).map(cell => cell.textContent))
"""


def test_flows_have_their_own_limiters_beside_their_shares(
    chromium: Browser, pages: dict[str, Path]
):
    """F0's share alone doesn't distinguish a victim from a flow that its limiter holds."""
    open_report(chromium, pages["both"], 1400)
    plans = [SCENARIOS["victim"].plan(scheme, 1, {}) for scheme in SCHEMES]
    expected = []
    for plan in plans:
        limits = {flow.group or flow.id: flow.rate_bps for flow in plan.topology.flows}
        texts = ["–" if of is None else f"{of / 1e9:g} Gbit/s" for of in limits.values()]
        expected.append(texts if any(of is not None for of in limits.values()) else [])
    assert chromium.ask(LIMITS) == expected
    assert expected[SCHEMES.index("pfc")][:2] == ["20 Gbit/s"] * 2
