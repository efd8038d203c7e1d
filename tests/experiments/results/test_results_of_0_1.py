"""Results that 0.1 wrote: of_0_1.tar.xz has a run and a sweep, as its `pcn` left them, without
pages and pictures."""

import json
import tarfile
from pathlib import Path

import pytest

from pcn.cli import run as pcn

RESULTS = Path(__file__).with_name("of_0_1.tar.xz")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    with tarfile.open(RESULTS) as archive:
        for member in archive:
            if (content := archive.extractfile(member)) is not None:
                path = tmp_path / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("run", "run is of an earlier version, without its flows by size: run it again"),
        (
            "sweep",
            "sweep is a sweep of an earlier version, without its flows by size: the same `pcn "
            "sweep` with --fresh runs it anew",
        ),
    ],
)
def test_compare_refuses_results_of_0_1_in_a_line(place: Path, capsys, folder, line):
    before = files(place / folder)
    assert pcn(["compare", folder]) == 1
    assert capsys.readouterr() == ("", f"pcn: {line}\n")
    assert files(place / folder) == before


def test_view_reads_a_run_of_0_1(place: Path, capsys):
    assert pcn(["view", "run", "--save", "page.html", "--json"]) == 0
    page = place / "page.html"
    assert json.loads(capsys.readouterr().out) == {
        "file": "page.html",
        "bytes": page.stat().st_size,
    }
    assert "dumbbell" in page.read_text()


def test_run_keeps_a_result_of_0_1_beside_its_own(place: Path):
    before = files(place / "run")
    assert (
        pcn(
            ["run", "dumbbell", "--clock", "virtual", "--set", "duration=1ms", "-q", "--out", "run"]
        )
        == 0
    )
    assert files(place / "run.1") == before


def test_sweep_refuses_runs_of_0_1_in_a_line_and_leaves_them(place: Path, capsys):
    before = files(place / "sweep")
    command = [
        "sweep", "dumbbell", "--scheme", "pcn", "--seeds", "1:2", "--set", "duration=1ms",
        "--out", "sweep",
    ]  # fmt: skip
    assert pcn(command) == 1
    assert capsys.readouterr().err == (
        "pcn: sweep has runs of another version of the sources: give --fresh to run them anew, or "
        "another --out\n"
    )
    assert files(place / "sweep") == before
