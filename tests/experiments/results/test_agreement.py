"""A plan on two clocks: how runs are compared, and how one is drawn over the other.

The live run itself is in test_live_run.py; two virtual ones stand here for both.
"""

import dataclasses
import json

import numpy as np
import pytest
from rich.console import Console

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.failures import Failures
from pcn.experiments.data.series import Series
from pcn.experiments.define import charts
from pcn.experiments.define.checks import Check
from pcn.experiments.page import report
from pcn.experiments.page.terminal import show
from pcn.experiments.page.write_run import write_together
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results import agreement, summary
from pcn.experiments.results.judged_run import Result, by_scheme
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.runner import run

PORT = "s0:4"


def result(clock: str, seed: int, scheme: str = "pcn") -> Result:
    scenario = SCENARIOS["dumbbell"]
    plan = scenario.plan(scheme, seed, {"duration": 60e-3})
    return Result(scenario, plan, run_virtual(plan, Silent()), clock, folder=clock)


@pytest.fixture(scope="module")
def both() -> tuple[Result, Result]:
    return result("live", 1), result("virtual", 2)


def scaled(result: Result, metric: str, factor: float) -> Result:
    """The result of a run in which one metric of the bottleneck was `factor` times as large."""
    series, old = Series(), result.recording.series
    for entity, name in old:
        times, values = old.get(entity, name)
        series.extend(
            times, entity, name, values * factor if (entity, name) == (PORT, metric) else values
        )
    recording = dataclasses.replace(result.recording, series=series)
    return dataclasses.replace(result, recording=recording)


def row(live: Result, virtual: Result, name: str) -> Check:
    (check,) = [check for check in agreement.agreement(live, virtual) if name in check.what]
    return check


def test_a_limited_flow_counts_with_its_limit():
    """With PFC alone a limiter holds F0 and F1 at 20 Gbit/s each, whatever their RPs allow."""
    scenario = SCENARIOS["victim"]
    plan = scenario.plan("pfc", 1, {"burst_flows": 1, "duration": 2e-3})
    result = Result(scenario, plan, run_virtual(plan, Silent()))
    assert row(result, result, "sending rates").measured == pytest.approx(40.0)


def test_a_run_agrees_with_itself_to_the_bit(both: tuple[Result, Result]):
    checks = agreement.agreement(both[0], both[0])
    assert [check.verdict for check in checks] == ["met"] * 4
    assert [check.measured for check in checks] == [check.theory for check in checks]


def test_rows_hold_the_live_figure_against_the_virtual_one(both: tuple[Result, Result]):
    live, virtual = both
    queue = row(live, virtual, "mean queue")
    assert (queue.measured, queue.theory) == (
        live.steady.queue_bytes_mean / 1e3,
        virtual.steady.queue_bytes_mean / 1e3,
    )
    assert queue.measured != queue.theory  # another seed
    assert row(live, virtual, "Jain").measured == live.steady.jain
    assert row(live, virtual, "utilisation").theory == virtual.steady.utilisation
    # four flows of which the bottleneck carries all: their rates add up to it, but for what they
    # try out
    assert row(live, virtual, "sum of the sending rates").measured == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(
    ("metric", "factor", "name", "verdict"),
    [
        ("waiting_bytes", 1.09, "mean queue", "met"),
        ("waiting_bytes", 0.91, "mean queue", "met"),
        ("waiting_bytes", 1.15, "mean queue", "trend"),
        ("waiting_bytes", 2.5, "mean queue", "not met"),
        ("transmitted_bytes", 0.91, "utilisation", "met"),
        ("transmitted_bytes", 0.85, "utilisation", "trend"),
    ],
)
def test_ten_percent_is_the_limit(both: tuple[Result, Result], metric, factor, name, verdict):
    checks = agreement.agreement(scaled(both[0], metric, factor), both[0])
    assert [check.verdict for check in checks if name in check.what] == [verdict]
    assert {check.verdict for check in checks if name not in check.what} == {"met"}


def test_queues_of_a_few_frames_are_equal_enough(both: tuple[Result, Result]):
    short = scaled(both[0], "waiting_bytes", 0.02)
    assert 0 < short.steady.queue_bytes_mean < 5 * short.plan.frame_bytes
    assert row(scaled(short, "waiting_bytes", 3.0), short, "mean queue").verdict == "met"
    assert row(scaled(short, "waiting_bytes", 6.0), short, "mean queue").verdict == "not met"


def test_an_overlay_has_both_runs_lines_and_shared_ones_once(both: tuple[Result, Result]):
    live, virtual = both
    told_apart = set()
    for chart, first, second in zip(
        agreement.charts(both), live.charts, virtual.charts, strict=True
    ):
        drawn = {line.label: line for line in chart.lines}
        assert len(drawn) == len(chart.lines), "no label twice"
        for line in first.lines:
            if line.label in drawn:  # the same in both
                (counterpart,) = [
                    candidate for candidate in second.lines if candidate.label == line.label
                ]
                assert np.array_equal(line.y, counterpart.y, equal_nan=True)
                assert not drawn[line.label].pale
                continue
            told_apart.add(line.label)
            below, above = drawn[f"{line.label}, live"], drawn[f"{line.label}, virtual"]
            assert (below.pale, above.pale) == (True, False)
            assert below.colour == above.colour == line.colour
            assert np.array_equal(below.y, line.y, equal_nan=True)
            assert any(np.array_equal(above.y, line.y, equal_nan=True) for line in second.lines)
    assert {"sum", "flow 1: h0 to r0", "waiting, sampled", "s0:4 (bottleneck)"} <= told_apart
    assert "capacity, 10 Gbit/s" not in told_apart
    assert agreement.charts(both[:1]) == live.charts


def test_a_line_that_one_run_alone_has_keeps_its_colour_and_a_cut_holds_both():
    x = np.array([0.0, 1.0])
    view = charts.View("whole", 0, 1, 3.0)
    chart = charts.Chart("C", charts.TIME, "y", (charts.Line("a", x, x, "flow0"),), views=(view,))
    virtual_chart = dataclasses.replace(
        chart,
        lines=(charts.Line("b", x, x, "other1"), charts.Line("a", x, x + 1, "other2")),
        views=(dataclasses.replace(view, top=4.0),),
        marks=(charts.Mark("m", 0.5),),
    )
    over = charts.overlay(("live", chart), ("virtual", virtual_chart))
    assert [(line.label, line.colour, line.pale) for line in over.lines] == [
        ("a, live", "flow0", True),
        ("b, virtual", "other1", False),
        ("a, virtual", "flow0", False),
    ]
    assert over.views[0].top == 4.0
    assert [mark.label for mark in over.marks] == ["m, virtual"]
    assert charts.overlay(("live", chart), ("virtual", chart)).lines == chart.lines


def test_one_page_and_one_summary_hold_both(both: tuple[Result, Result], tmp_path):
    compared = agreement.agreement(*both)
    together = summary.side_by_side(both, compared)
    assert {name: (run["clock"], run["k"]) for name, run in together["runs"].items()} == {
        "live": ("live", 1.0),
        "virtual": ("virtual", 1.0),
    }
    page = report.render(both, compared)
    for part in (
        "PCN, live",
        "PCN, virtual",
        "live against virtual",
        "Live: ",
        "Virtual: ",
        "In live/, beside",
    ):
        assert part in page, part
    assert page.count('data-chart="queue"') == 1
    assert page.count('class="replay"') == 2

    console = Console(width=140, record=True, file=(tmp_path / "out").open("w"))
    show(tmp_path, together, console)
    text = console.export_text()
    for part in (
        "dumbbell: checks",  # one table, with a column a run
        "across the runs",
        "Packets lost: live 0 of",
    ):
        assert part in text, part


def test_an_overlay_is_a_picture_beside_the_page_of_both(both: tuple[Result, Result], tmp_path):
    (tmp_path / "with").mkdir()
    write_together(both, tmp_path / "with", failures := Failures(), pictures=True)
    assert not failures
    figures = {f"{chart.name}.{kind}" for chart in both[0].charts for kind in ("png", "svg")}
    assert {path.name for path in (tmp_path / "with").iterdir()} == {
        "comparison.json",
        "report.html",
        *figures,
    }
    for chart in ("rates", "queue", "pause", "marked"):
        data = (tmp_path / "with" / f"{chart}.png").read_bytes()
        assert data.startswith(b"\x89PNG"), chart
        assert len(data) > 8000, chart
    (tmp_path / "without").mkdir()
    write_together(both, tmp_path / "without", failures)
    assert {path.name for path in (tmp_path / "without").iterdir()} == {
        "comparison.json",
        "report.html",
    }


def test_several_schemes_are_side_by_side_each_with_its_clocks(both: tuple[Result, Result]):
    four = (*both, result("live", 1, "pfc"), result("virtual", 1, "pfc"))
    assert [[run.name for run in runs] for runs in by_scheme(four)] == [
        ["PCN"] * 2,
        ["PFC alone"] * 2,
    ]
    page = report.render(four)
    assert page.count('data-chart="queue"') == 2
    for name in ("PCN, live", "PCN, virtual", "PFC alone, live", "PFC alone, virtual"):
        assert name in page


def test_clocks_by_name(tmp_path):
    with pytest.raises(ExperimentError, match=r"no clock 'virtal'; did you mean 'virtual'\?"):
        run("dumbbell", clock="live,virtal", out=tmp_path / "results")
    place = run(
        "dumbbell", clock=" virtual ,virtual", settings=["duration=2ms"], out=tmp_path / "results"
    )
    assert json.loads((place / "summary.json").read_text())["clock"] == "virtual"
