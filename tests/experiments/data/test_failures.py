"""A text, a picture or a check that fails: numbers and everything else are kept, and one line names
what is missing."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from fluid import fluid

from pcn.cli import run as pcn
from pcn.experiments.data.failures import Failures
from pcn.experiments.data.records import FlowChoice, Records
from pcn.experiments.data.series import Series
from pcn.experiments.define.charts import Chart
from pcn.experiments.draw import pictures
from pcn.experiments.papers import FIGURES, SCENARIOS
from pcn.experiments.papers.pcn.scenarios import dumbbell_story
from pcn.experiments.results.atomic_folder import result_directory
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.traffic import single_flows
from pcn.hosts.algorithms import schemes

SHORT = ("--clock", "virtual", "--set", "duration=5ms")
CHARTS = {"rates", "queue", "pause", "marked"}
NUMBERS = {"summary.json", "series.parquet", "topology.json"}


def files(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


@pytest.fixture
def stranger(monkeypatch) -> str:
    """A scheme bound to a program without a text."""
    mine = dataclasses.replace(
        schemes["pcn"], name="mine", summary="a user's", program="pcn_waited"
    )
    monkeypatch.setitem(schemes, "mine", mine)
    return "mine"


@pytest.mark.parametrize("scenario", ["dumbbell", "victim"])
def test_report_describes_a_program_without_a_text(stranger: str, scenario, tmp_path):
    assert (
        pcn(["run", scenario, *SHORT, "--scheme", stranger, "--out", str(tmp_path / "mine")]) == 0
    )
    page = (tmp_path / "mine" / "report.html").read_text()
    assert "Missing here" not in page
    if scenario == "dumbbell":
        assert "A port marks by the program pcn_waited." in page


def errors_in(text: str) -> list[str]:
    """Lines of stderr, without progress."""
    return [line for line in text.splitlines() if line.startswith("pcn: ")]


def test_a_text_that_fails_costs_nothing_else(monkeypatch, capsys, tmp_path):
    def broken(*_) -> list[tuple[str, str]]:
        return {}["mine"]

    monkeypatch.setattr(dumbbell_story, "_marked", broken)
    place = tmp_path / "mine"
    assert pcn(["run", "dumbbell", *SHORT, "--out", str(place)]) == 1
    output = capsys.readouterr()
    (error,) = errors_in(output.err)
    assert error.startswith(
        f"pcn: {place} is incomplete: without text: KeyError: 'mine' (tests/experiments/"
    )
    assert "packets lost" in output.out
    assert files(place) == NUMBERS | {"report.html"}
    page = (place / "report.html").read_text()
    assert "Missing here: text: KeyError" in page
    assert page.count('data-chart="') == len(CHARTS)


def test_a_picture_that_fails_costs_no_other(monkeypatch, capsys, tmp_path):
    real = pictures.pictures

    def broken(charts: Sequence[Chart]) -> dict[str, bytes]:
        return real(charts) if charts[0].name != "queue" else {"png": bytes(1 // 0)}

    monkeypatch.setattr(pictures, "pictures", broken)
    page = SCENARIOS["dumbbell"].page
    monkeypatch.setattr(
        type(SCENARIOS["dumbbell"]), "page", dataclasses.replace(page, charts=page.charts[:2])
    )
    place = tmp_path / "two"
    assert (
        pcn(["run", "dumbbell", *SHORT, "--pictures", "--scheme", "pfc,pcn", "--out", str(place)])
        == 1
    )
    (error,) = errors_in(capsys.readouterr().err)
    assert error.startswith(
        f"pcn: {place} is incomplete: without pfc/queue.png, pcn/queue.png: ZeroDivisionError"
    )
    assert files(place) == {"pfc", "pcn", "comparison.json", "report.html"}
    assert list(json.loads((place / "comparison.json").read_text())["runs"]) == ["pfc", "pcn"]
    for scheme in ("pfc", "pcn"):
        assert files(place / scheme) == NUMBERS | {"rates.png", "rates.svg", "report.html"}
    assert (
        "Missing here: pfc/queue.png, pcn/queue.png: ZeroDivisionError"
        in (place / "report.html").read_text()
    )


def rates(*_) -> Chart:
    raise ValueError("no such series")


def test_data_of_a_picture_that_fail_cost_no_other(monkeypatch, capsys, tmp_path):
    page = SCENARIOS["dumbbell"].page
    broken = dataclasses.replace(page, charts=(rates, page.charts[1]))
    monkeypatch.setattr(type(SCENARIOS["dumbbell"]), "page", broken)
    place = tmp_path / "mine"
    assert pcn(["run", "dumbbell", *SHORT, "--pictures", "--out", str(place)]) == 1
    assert "without chart rates: ValueError: no such series" in capsys.readouterr().err
    assert files(place) == NUMBERS | {"queue.png", "queue.svg", "report.html"}
    assert (place / "report.html").read_text().count('data-chart="') == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_charts_have_the_names_of_what_draws_them(scenario):
    """By which their failures are identified."""
    experiment = SCENARIOS[scenario]
    plan = experiment.plan(experiment.schemes[0], 1, {})
    recording = fluid(plan) if scenario == "dumbbell" else run_virtual(plan, Silent())
    drawn = [(draw.__name__, draw(plan, recording)) for draw in experiment.page.charts]
    assert [name for name, chart in drawn if chart] == [chart.name for _, chart in drawn if chart]
    assert any(chart for _, chart in drawn)


@pytest.mark.parametrize(
    ("scheme", "variable"),
    [("pcn", "w"), ("dcqcn", "alpha"), ("timely", "rtt_s"), ("ibcc", "ccti")],
)
def test_charts_of_single_flows_have_the_names_of_what_draws_them(scheme, variable):
    traffic = SCENARIOS["traffic"]
    plan = dataclasses.replace(
        traffic.plan(scheme, 1, {"count": 20}), records=Records(flows=FlowChoice(every=True))
    )
    recording = run_virtual(plan, Silent())
    drawn = {draw.__name__: draw(plan, recording) for draw in single_flows.CHARTS}
    assert {name for name, chart in drawn.items() if chart} == {
        "single_rates",
        "single_marks",
        f"single_{variable}",
    }
    assert all(
        name == chart.name and len(chart.lines) == 8 for name, chart in drawn.items() if chart
    )


def test_checks_and_charts_that_fail_leave_the_numbers(monkeypatch, capsys, tmp_path):
    for name in ("settled", "measure"):
        monkeypatch.setattr(type(SCENARIOS["dumbbell"]), name, rates)
    broken = dataclasses.replace(SCENARIOS["dumbbell"].page, charts=(rates,), headlines=rates)
    monkeypatch.setattr(type(SCENARIOS["dumbbell"]), "page", broken)
    place = tmp_path / "mine"
    assert pcn(["run", "dumbbell", *SHORT, "--out", str(place)]) == 1
    assert (
        "without chart rates, checks, measures, headlines: ValueError: no such series"
        in capsys.readouterr().err
    )
    assert files(place) == NUMBERS | {"report.html"}
    assert json.loads((place / "summary.json").read_text())["packets"]["sent"] > 0
    assert Series.read(place / "series.parquet").get("s0:4", "waiting_bytes")[1].max() > 0
    with result_directory(place) as work:  # it is a result as any other: moved aside, not refused
        (work / "summary.json").touch()
    assert (tmp_path / "mine.1" / "series.parquet").exists()


def test_a_figure_whose_picture_fails_keeps_its_numbers(monkeypatch, capsys, tmp_path):
    def broken(*_) -> list[Chart]:
        raise KeyError("mine")

    place = tmp_path / "figures"
    assert pcn(["figure", "fig10", "--out", str(place)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(type(FIGURES["fig10"]), "charts", broken)
        assert pcn(["figure", "fig10", "--out", str(place)]) == 1
    (error,) = errors_in(capsys.readouterr().err)
    assert error.startswith(
        f"pcn: {place} is incomplete: without fig10/figure.png: KeyError: 'mine' (tests/"
    )
    assert files(place) == {"fig10", "fig10.1", "report.html"}
    assert files(place / "fig10") == {"figure.json", "outcomes.json"}
    assert "Its charts are missing: " in (place / "report.html").read_text()
    assert pcn(["figure", "fig10", "--redraw", "--out", str(place)]) == 0
    assert (place / "fig10" / "figure.png").exists()
    assert "Its charts are missing: " not in (place / "report.html").read_text()
    capsys.readouterr()
    for name, text in (
        ("figure.json", "[]"),
        ("outcomes.json", '[{"keys": 1}]'),
        ("outcomes.json", "{}x"),
    ):
        (place / "fig10" / name).write_text(text)
        assert pcn(["figure", "fig10", "--redraw", "--out", str(place)]) == 1
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith(f"pcn: {place / 'fig10' / name}: no figure's")


def test_failures_are_reported_once_and_by_reason():
    failures = Failures()
    below = failures.below("pcn")
    for _ in range(2):
        below.note("queue.png", OSError(28, "x"))
    failures.note("report.html", OSError(28, "x"))
    assert below.attempt("text", lambda: 1) == 1
    assert below.attempt("text", lambda: {}["a"]) is None
    assert failures.lines()[0] == "pcn/queue.png, report.html: No space left on device"
    assert failures.lines()[1].startswith(
        "pcn/text: KeyError: 'a' (tests/experiments/data/test_failures.py, line "
    )
    assert below.lines()[0] == "pcn/queue.png: No space left on device"
    assert failures
    assert not Failures()
