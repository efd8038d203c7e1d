"""Several schemes in one run: a directory each, and a report and a summary that put them side by
side."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from summary_shape import mismatches

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.page.terminal import show
from pcn.experiments.runner import place_of, run

SHORT = ("before=1ms", "duration=5ms")


def test_a_directory_each_and_one_report(tmp_path):
    settings = [*SHORT, "w_min=0.04"]
    place = run(
        "victim", scheme="pfc,pcn", clock="virtual", seed=3, settings=settings,
        out=tmp_path / "victim",
    ).folder  # fmt: skip
    assert {path.name for path in place.iterdir()} == {
        "pfc",
        "pcn",
        "report.html",
        "comparison.json",
    }
    together = json.loads((place / "comparison.json").read_text())
    assert (together["seed"], list(together["runs"])) == (3, ["pfc", "pcn"])
    for scheme in ("pfc", "pcn"):
        alone = json.loads((place / scheme / "summary.json").read_text())
        assert mismatches(alone) == []
        assert (alone["scheme"], alone["seed"]) == (scheme, 3)
        assert together["runs"][scheme]["measures"] == alone["measures"]
        assert alone["packets"]["lost"] == 0
        assert (place / scheme / "report.html").stat().st_size < 1_000_000
    # a parameter goes to the scheme that has it
    assert together["runs"]["pcn"]["parameters"]["w_min"] == 0.04
    assert "w_min" not in together["runs"]["pfc"]["parameters"]
    assert [check["verdict"] for check in together["checks"]] == ["met", "met"]

    console = Console(width=140, record=True, file=(tmp_path / "out").open("w"))
    show(place, together, console)
    text = console.export_text()
    for part in ("victim: checks", "across the runs", "Packets lost: pfc 0 of"):
        assert part in text


def test_an_earlier_result_of_several_or_of_one_moves_aside(tmp_path):
    place = tmp_path / "victim"
    run("victim", scheme="pfc", clock="virtual", settings=SHORT, out=place / "pfc")
    run("victim", scheme="pfc,pcn", clock="virtual", settings=SHORT, out=place)
    assert (tmp_path / "victim.1" / "pfc" / "summary.json").is_file()
    assert (place / "pcn" / "summary.json").is_file()


@pytest.mark.parametrize(
    ("scheme", "setting", "message"),
    [
        ("pfc,dcqcnn", "payload=1KB", "no scheme 'dcqcnn'; did you mean 'dcqcn'"),
        ("pfc,pcn", "K_max=400KB", "K_max is a parameter of dcqcn, .*: no such scheme runs here"),
        ("pfc", "K_mx=400KB", "did you mean 'K_max'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(tmp_path, scheme, setting, message):
    with pytest.raises(ExperimentError, match=message):
        run("victim", scheme=scheme, clock="virtual", settings=[setting], out=tmp_path / "victim")
    assert list(tmp_path.iterdir()) == []


def test_each_clock_has_its_place(tmp_path, monkeypatch):
    places = {
        ("pcn", "live"): "results/victim/pcn",
        ("pcn", "virtual"): "results/victim-virtual/pcn",
        ("pcn", "live,virtual"): "results/victim-live-virtual/pcn",
        ("pfc,pcn", "live"): "results/victim",
        ("pfc,pcn", "virtual"): "results/victim-virtual",
    }
    for (schemes, clocks), place in places.items():
        assert place_of("victim", schemes, clocks) == Path(place)
    monkeypatch.chdir(tmp_path)
    assert (
        pcn(
            [
                "run", "victim", "--scheme", "pfc", "--clock", "virtual",
                *(f"--set={text}" for text in SHORT),
            ]
        )
        == 0
    )  # fmt: skip
    assert (tmp_path / "results/victim-virtual/pfc/summary.json").is_file()
