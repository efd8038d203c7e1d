"""The catalogue of figures: what it runs, what it keeps, and that verdicts come from the numbers
alone."""

import dataclasses
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from short_plans import shortened
from sweep_workers import alive, workers
from waiting import LIMIT_S, wait_until

from pcn.experiments.define import theory
from pcn.experiments.define.charts import curve
from pcn.experiments.define.checks import Check
from pcn.experiments.define.experiment import Run, Variant
from pcn.experiments.define.fluid import Fluid
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.draw.palette import LIGHT
from pcn.experiments.draw.pictures import draw, looks
from pcn.experiments.page.figures_page import documented, figure_page, page, sections, write_docs
from pcn.experiments.papers import EXPERIMENTS, FIGURES, SCENARIOS
from pcn.experiments.papers.pcn.figures import hadoop
from pcn.experiments.papers.pcn.figures.fig10 import Fig10
from pcn.experiments.papers.pcn.figures.fig11 import Fig11, settled_s
from pcn.experiments.papers.pcn.figures.fig12 import Fig12
from pcn.experiments.papers.pcn.figures.fig17 import FLOWS, Fig17
from pcn.experiments.papers.pcn.figures.fig19 import Fig19
from pcn.experiments.papers.pcn.figures.fluid_check import PERIOD_S, cycle_swing
from pcn.experiments.papers.pcn.studies.fairness import FROM_S
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.figures import (
    FigureResult,
    judge,
    run_figure,
    runs_of,
    stored_outcomes,
    write,
)
from pcn.experiments.sweep.run_task import outcome_of, task_of
from pcn.experiments.sweep.store import Store
from pcn.hosts.algorithms import schemes

pytestmark = pytest.mark.long

ALL = tuple(schemes)
SMALL = {
    **{figure: {"k": 4, "count": 200} for figure in ("tcd-fig16", "tcd-fig17")},
    **{
        figure: {"count": 40}
        for figure in ("fig14", "fig20", "silence", "today", "hpcc-fig11", "marks")
    },
    "shared-buffer": {"count": 500},
    "fig21": {"duration": 4e-3},
}
"""Instead of hundreds of switches, or thousands of flows."""


@pytest.mark.parametrize("name", FIGURES)
def test_runs_differ_by_their_keys_and_are_the_same_each_time(name):
    figure = FIGURES[name]
    runs, again = (list(figure.runs(figure.schemes)) for _ in range(2))
    assert len({run.label for run in runs}) == len(runs)
    assert runs == again
    assert [Run(**json.loads(json.dumps(dataclasses.asdict(run)))) for run in runs] == runs
    for run in runs:
        assert run.keys.get("scheme", run.scheme) == run.scheme
        assert run.seed == run.keys["seed"]
        assert not run.variant or figure.variant(run) != Variant()
    assert list(figure.runs(())) == []
    for run in runs[-1:]:
        arguments = {**run.arguments, **SMALL.get(name, {})}
        first, second = (figure.plan(run.scheme, run.seed, arguments) for _ in range(2))
        assert first.topology.flows == second.topology.flows
        assert first.scheme_parameters == second.scheme_parameters
        assert (first.scheme, first.seed) == (run.scheme, run.seed)


@pytest.mark.parametrize("name", ["fig11", "fig12", "fig17", "fig18", "fig19"])
def test_scheme_outside_the_paper_runs_without_claims(name):
    figure = FIGURES[name]
    runs = list(figure.runs(("pcn", "pcn-time")))
    strangers = [run for run in runs if run.scheme == "pcn-time"]
    assert len(strangers) >= 2
    assert figure.plan("pcn-time", 1, strangers[0].arguments).scheme == "pcn-time"
    assert figure.checks(Outcomes([Outcome(run.keys, {}) for run in strangers])) == figure.checks(
        Outcomes([])
    )


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "fig10"])
def test_a_short_run_gives_the_numbers_that_checks_and_picture_need(name):
    figure = FIGURES[name]
    # On its lossy class PCN has no signal, and is refused.
    run = next(figure.runs(("dctcp" if name == "dctcp-fig18" else "pcn",)))
    duration_s = FROM_S + 10e-3 if name in ("marking", "fairness", "pcn-x") else 4e-3
    plan = shortened(
        figure.plan(run.scheme, run.seed, {**run.arguments, **SMALL.get(name, {})}), duration_s
    )
    outcome = figure.measure(run, plan, run_virtual(plan, Silent(), figure.variant(run)))
    assert outcome.keys == run.keys
    assert all(value is None or math.isfinite(value) for value in outcome.numbers.values())
    outcomes = Outcomes([outcome])
    for check in figure.checks(outcomes):
        assert check.verdict != "met" or check.measured is not None
    assert all(isinstance(text, str) for text in figure.story(outcomes))
    picture = draw(figure.charts(outcomes))
    # it would draw all three times, and a title without a place all ticks twice
    picture.set_layout_engine("none")
    for axes in picture.axes:
        axes.set_title(axes.get_title(), y=1.0)
    picture.draw_without_rendering()


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "fig10"])
def test_without_runs_nothing_is_claimed(name):
    assert {check.verdict for check in FIGURES[name].checks(Outcomes([]))} <= {"not comparable"}
    assert FIGURES[name].story(Outcomes([])) == []


def of_17(jain: Callable[[int], float], scheme: str = "pcn") -> list[Outcome]:
    return [
        Outcome(
            {"scheme": scheme, "flows": flows, "seed": 1},
            {
                "queue_kb": 50.0, "utilisation": 0.99, "jain": jain(flows), "pause_per_s": 0.0,
                "lost": 0.0, "inside": 0.0,
            },
        )
        for flows in FLOWS
    ]  # fmt: skip


def by_what(checks: list[Check]) -> dict[str, Check]:
    return {check.what.split(" (")[0]: check for check in checks}


def test_fig_17_follows_its_numbers():
    fair = by_what(Fig17().checks(Outcomes(of_17(lambda flows: 0.99))))
    assert {check.verdict for check in fair.values()} == {"met"}
    unfair = by_what(Fig17().checks(Outcomes(of_17(lambda flows: 1 - flows / 1024))))
    assert unfair["PCN: least Jain's index"].verdict == "not met"
    assert unfair["PCN: Jain's index, 64 flows"].verdict == "met"
    assert unfair["PCN: Jain's index, 1024 flows"].measured == 0.0


def test_fig_11_sets_the_others_against_pcn():
    numbers = {
        "reached_ms": 1.0, "settled_ms": 2.0, "drained_ms": 5.0, "utilisation": 0.99,
        "queue_kb": 50.0,
        "queue_swing_kb": 100.0, "rate_swing_gbps": 2.0,
    }  # fmt: skip
    slow = numbers | {
        "settled_ms": 50.0, "drained_ms": 40.0, "queue_kb": 75.0, "queue_swing_kb": 400.0, (
            "rate_swing_gbps"
        ): 1.0,
    }  # fmt: skip
    outcomes = [
        Outcome({"scheme": "pcn", "seed": 1}, numbers),
        Outcome({"scheme": "dcqcn", "seed": 1}, slow),
    ]
    dcqcn_checks = [
        check for check in Fig11().checks(Outcomes(outcomes)) if check.what.startswith("DCQCN")
    ]
    assert [(check.measured, check.verdict) for check in dcqcn_checks] == [
        (25.0, "met"), (8.0, "met"), (1.5, "met"), (4.0, "met"), (0.5, "not met"),
    ]  # fmt: skip


def test_fig_12_ranks_qcn_only_beside_others():
    numbers = {f"{kind} {group}": 2.0 for kind in ("mean_ms", "p99_ms") for group in hadoop.GROUPS}
    runs = [
        Outcome({"scheme": scheme, "seed": 1}, numbers | {"pause_per_s": pause, "h1_of_fair": 1.0})
        for scheme, pause in (("qcn", 10.0), ("pcn", 9.0), ("dcqcn", 20.0))
    ]

    def least(*outcomes: Outcome) -> list[tuple[float | None, str]]:
        rows = Fig12().checks(Outcomes(outcomes))
        return [(row.measured, row.verdict) for row in rows if row.what.startswith("QCN: schemes")]

    assert least(*runs) == [(1.0, "not met")]
    assert least(runs[0], runs[2]) == [(1.0, "met")]
    assert least(runs[0]) == least(*runs[1:]) == []


def test_every_trend_row_of_the_page_has_its_definition():
    pages = map(figure_page, documented(Path(__file__).parents[3] / "docs"))
    rows = "".join(pages).splitlines()
    trend = [row for row in rows if row.endswith("| trend |")]
    assert len(trend) > 50
    assert [row for row in trend if "trend: " not in row] == []


def test_lines_of_a_chart_have_different_colours():
    lines = [
        curve(name, [], [], scheme)
        for name, scheme in (("PCN", "pcn"), ("PCN-X", "pcn-x"), ("TIMELY", "timely"))
    ]
    lines += [curve(f"rule {number}", [], []) for number in range(5)]
    line_looks = looks(lines)
    assert (
        len({LIGHT.colour(look.colour) for look in line_looks})
        == len({look.mark for look in line_looks})
        == len(lines)
    )
    assert [look.colour for look in line_looks[:3]] == ["flow0", "other4", "flow3"]


def test_a_scheme_without_a_look_has_the_same_one_in_every_chart():
    stranger, pcn, newcomer = (curve(name, [], [], name) for name in ("aimd", "pcn", "mine"))
    alone, beside = looks([stranger, pcn])[0], looks([pcn, stranger, newcomer])
    assert beside[1] == alone
    assert len({look.colour for look in beside}) == len({look.mark for look in beside}) == 3


def test_outcomes_take_seeds_together():
    runs = [
        Outcome({"n": n, "seed": seed}, {"x": float(n + seed), "y": None})
        for n in (1, 2)
        for seed in (0, 2)
    ]
    outcomes = Outcomes(runs)
    assert outcomes.by("n", "x") == ([1.0, 2.0], [2.0, 3.0])
    assert outcomes.extreme("x", True) == 4.0
    assert outcomes.mean("y", n=1) is None
    assert outcomes.mean("x", n=3) is None
    assert ratio(1.0, 0.0) is None


@pytest.mark.parametrize("flows", [4, 16])
def test_the_models_swing_in_a_cycle_is_the_theorys(flows):
    model = Fluid(10e9, PERIOD_S, 0.1 / flows).run([10e9 / flows] * flows, 2000)
    times = np.arange(2000) * PERIOD_S
    swing = cycle_swing(times, model.rates[:, 0], flows, 0.5, 1.0)
    assert swing == pytest.approx(theory.rate_oscillation(flows, 0.1 / flows, 10e9))
    drifting = cycle_swing(times, model.rates[:, 0] * np.linspace(1, 2, 2000), flows, 0.5, 1.0)
    assert drifting < 2 * swing < np.ptp(model.rates[:, 0] * np.linspace(1, 2, 2000))


def test_a_sum_has_settled_from_when_it_stays_near_the_capacity():
    times = np.array([0.0, 1.0, 2.0, 3.0, 7.0])
    assert settled_s(
        times, np.array([30.0, 10.5, 5.0, 9.5, 10.0]), 10.0, 1.0, 10.0
    ) == pytest.approx(2.9, abs=0.11)
    assert settled_s(times, np.array([30.0, 10.5, 5.0, 9.5, 20.0]), 10.0, 1.0, 10.0) is None


def test_figure_10_needs_no_run_and_is_met(tmp_path):
    result = run_figure(Fig10(), [], Store(tmp_path))
    assert result.outcomes == ()
    assert {check.verdict for check in result.checks} == {"met"}


def test_a_run_is_made_of_its_declaration_in_any_process(monkeypatch):
    from pcn.experiments.papers.pcn.figures import fig19

    monkeypatch.setitem(fig19.DURATIONS_S, "pcn", 3e-3)
    first, second = (outcome_of(Fig19(), next(Fig19().runs(("pcn",)))) for _ in range(2))
    assert first.numbers == second.numbers
    assert first.numbers["lost"] == 0
    assert 0.5 < (first.numbers["utilisation"] or 0) <= 1.0


def test_pages_have_the_values_of_the_summaries(tmp_path):
    outcomes = tuple(of_17(lambda flows: 0.5))
    checks = tuple(Fig17().checks(Outcomes(outcomes)))
    write(FigureResult(FIGURES["fig17"], checks, outcomes), tmp_path / "fig17")
    summary = json.loads((tmp_path / "fig17/figure.json").read_text())
    assert [run["keys"]["flows"] for run in summary["runs"]] == list(FLOWS)
    page_sections = sections(tmp_path)
    assert [section.figure.name for section in page_sections] == ["fig17"]
    text = figure_page(page_sections[0])
    assert (
        "| 0.55 | PCN: least Jain's index (met: 0.9 and more; trend: above 0.8) | 1 | 1 | 0.5 "
        "|  | not met, [known]"
    ) in text
    assert (
        "| not met, [known](../fairness.md#why-fairness-falls-with-the-number-of-flows) |" in text
    )
    html = page(page_sections)
    assert html.count('<td class="verdict') == len(checks)
    assert 'id="why-fairness-falls-with-the-number-of-flows"' in html
    assert "](" not in re.sub("<script>.*?</script>", "", html, flags=re.DOTALL)  # no Markdown
    assert "<code>pcn figure NAME</code>" in html
    # judged again, it is what it was
    assert judge(Fig17(), stored_outcomes(tmp_path / "fig17")).checks[: len(checks)] == checks
    write_docs(tmp_path, tmp_path / "docs")
    assert (tmp_path / "docs/figures/fig17.png").read_bytes().startswith(b"\x89PNG")
    picture = "![Flow scalability](../figures/fig17.png)\n\n"
    assert (tmp_path / "docs/results/fig17.md").read_text().replace(picture, "") == text
    # another figure, run elsewhere, comes to its place, and the first stays
    ours = FIGURES["fig10"].checks(Outcomes([]))
    write(FigureResult(FIGURES["fig10"], tuple(ours), ()), tmp_path / "other/fig10")
    write_docs(tmp_path / "other", tmp_path / "docs")
    both = (tmp_path / "docs/results.md").read_text()
    assert re.findall("^##+ (.*)", both, re.MULTILINE) == ["PCN (NSDI'20)", "fig10", "fig17"]
    assert both.endswith("Flow scalability (B.1, Fig. 17): 3 met, 6 not met.\n")
    assert (tmp_path / "docs/results/fig17.md").read_text().replace(picture, "") == text
    # verdicts go into the list of claims, and their counts on top of the page
    claims = "## 000 PCN (NSDI'20)\n\n| 0.55 | B.1 | PCN | ~100% | | S | [fig17](results.md) |\n"
    (tmp_path / "docs/claims.md").write_text(claims)
    write_docs(tmp_path / "other", tmp_path / "docs")
    cell = "[fig17](results.md#fig17): 1 met, 6 not met |\n"
    assert (tmp_path / "docs/claims.md").read_text() == claims.replace(
        "[fig17](results.md) |\n", cell
    )
    counted = (tmp_path / "docs/results.md").read_text()
    assert "\n| PCN | S | 1 | 0 | 1 | 0 | 0 | 1 | 0 | 6 | 0 |\n" in counted
    assert counted.endswith(both[both.index("## PCN") :])


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, "its start"), (signal.SIGTERM, "a run")]
)
def test_an_interrupted_figure_ends_at_once_and_goes_on_later(number, moment, tmp_path):
    place = tmp_path / "figures"
    done = place / "unbiased-fig5.runs" / "done.jsonl"
    command = (
        "import sys; from pcn.cli import run; sys.exit(run(['figure', 'unbiased-fig5', '--out', "
        f"{str(place)!r}]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", f"if __name__ == '__main__': {command}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # which the signal reaches whole, as Ctrl-C does
    )
    assert process.stderr.readline().startswith("unbiased-fig5")
    pids: list[int] = []

    def started() -> bool:
        pids[:] = workers(process.pid)
        return bool(pids) and (
            moment == "its start" or (done.is_file() and b"\n" in done.read_bytes())
        )

    wait_until(started, "the workers, or a run's end")
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + number, errors
    assert errors.splitlines()[-1] in ("pcn: interrupted", "pcn: ended by SIGTERM")
    assert not any(alive(pid) for pid in pids)
    if moment == "its start":
        assert not place.exists()
        return
    assert "runs are kept in" in errors
    assert {path.name for path in place.iterdir()} == {"unbiased-fig5.runs"}
    figure = FIGURES["unbiased-fig5"]
    store = Store(place / "unbiased-fig5.runs")
    first = [run for run in runs_of(figure) if task_of(figure, run).identity in store.done]
    assert first
    progress = Notes()
    assert len(run_figure(figure, first, store, progress=progress).outcomes) == len(first)
    assert progress.notes == [f"{len(first)} of {len(first)} runs were done before: {store.place}"]


class Notes(Silent):
    def __init__(self):
        self.notes: list[str] = []

    def note(self, text: str):
        self.notes.append(text)


def test_catalog_has_each_experiment_under_its_own_name():
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert (experiment.page is not None) == (name in SCENARIOS)
    assert len(EXPERIMENTS) == len(SCENARIOS) + len(FIGURES)


def test_runner_loads_the_experiment_that_is_looked_up():
    script = (
        "import sys, pcn.experiments.runner\n"
        "from pcn.experiments.papers import find_scenario\n"
        "assert find_scenario('victim').name == 'victim'\n"
        "print(*sorted(name for name in sys.modules if name.startswith('pcn.experiments.papers.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "pcn.experiments.papers.pcn.scenarios.victim" in loaded
    assert not [
        name for name in loaded if "dumbbell" in name or "figures" in name or "studies" in name
    ]
