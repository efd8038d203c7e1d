"""Reports as the tests of this folder open them, and the browser that opens them."""

from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from browser import Browser
from pages import drawn

from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.page.report import render
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results.judged_run import Result
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual

SCHEMES = ("pfc", "pcn")
BY_SIZE = "[data-chart=slowdown_by_size]"
GLANCE = """
JSON.stringify($$('.glance tr').map(row =>
    [...row.cells].map(cell => cell.textContent)))
"""


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> dict[str, Path]:
    """The victim in virtual time: both schemes side by side, PFC alone, and one scheme's run over
    another seed's, as those of two clocks."""
    folder = tmp_path_factory.mktemp("pages")
    scenario = SCENARIOS["victim"]
    results = []
    for scheme in SCHEMES:
        plan = scenario.plan(scheme, 1, {"before": 1e-3, "duration": 5e-3})
        results.append(Result(scenario, plan, run_virtual(plan, Silent())))
    compared = scenario.checks(Outcomes(result.outcome for result in results))
    (folder / "both.html").write_text(render(results, compared), encoding="utf-8")
    plan = scenario.plan("pcn", 2, {"before": 1e-3, "duration": 5e-3, "phases": 1.0})
    live = Result(scenario, plan, run_virtual(plan, Silent()), "live")
    (folder / "over.html").write_text(render([live, results[1]]), encoding="utf-8")
    (folder / "one.html").write_text(render(results[:1]), encoding="utf-8")
    dumbbell = SCENARIOS["dumbbell"]
    many = dumbbell.plan("pcn", 1, {"pairs": 8, "duration": 5e-3})
    result = Result(dumbbell, many, run_virtual(many, Silent()))
    (folder / "many.html").write_text(render([result]), encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


def open_report(chromium: Browser, page: Path, width: int, dark: bool = False):
    """Opens a page, and all that it folds."""
    chromium.open(page, width, dark=dark)
    chromium.ask("$$('details.fold').forEach(fold => { fold.open = true; })")
    drawn(chromium)


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser.page() as running:
        yield running


OUTSIDE = """
JSON.stringify($$('.plot text').filter(text => {
    const label = text.getBoundingClientRect();
    const plot = text.closest('.plot').getBoundingClientRect();
    return label.width && (label.left < plot.left - 1 || label.right > plot.right + 1
        || label.top < plot.top - 2 || label.bottom > plot.bottom + 2);
}).map(text => text.textContent))
"""
"""Texts that a plot cuts."""
