"""Files of an explanation: whole, or as they were before."""

import json
from pathlib import Path

import pyarrow.parquet as pq
from explained_runs import kept_run

from pcn.cli import run as pcn
from pcn.experiments.explain import keep
from pcn.hosts.explain_log import PARTS


def test_explanation_is_kept_whole_and_printed(mixed: Path, capsys):
    place = mixed / "pfc"
    assert pcn(["explain", str(place), "--worst", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    folder = place / keep.FOLDER
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [keep.JSON, keep.TEXT, keep.TABLE, keep.PAGE]
    )
    assert json.loads((folder / keep.JSON).read_text()) == printed
    rows = pq.read_table(folder / keep.TABLE).to_pylist()
    assert len(rows) == 80
    assert all(sum(row[f"{name}_ps"] for name in PARTS) == row["fct_ps"] for row in rows)
    first = printed["flows"][0]["id"]
    assert pcn(["explain", str(place), "--flow", str(first)]) == 0
    text = capsys.readouterr().out
    assert text == (folder / keep.TEXT).read_text()
    assert text.splitlines()[0].startswith(f"flow {first} ")
    assert text.splitlines()[-1].startswith("  WHY: ")


def test_a_result_that_cannot_be_written_is_explained_alone(mixed: Path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    before = sorted((mixed / "pcn").rglob("*"))
    monkeypatch.setattr(keep.owner_only, "scratch", refuse)
    assert pcn(["explain", str(mixed / "pcn"), "--flow", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("flow 3 ")
    assert "can't be written: Permission denied. The explanation is here alone" in shown.err
    assert sorted((mixed / "pcn").rglob("*")) == before


def test_an_explanation_leaves_files_of_others_and_names_them(tmp_path, capsys):
    place = kept_run(tmp_path / "out", "dumbbell", "--set", "duration=1ms", "--scheme", "pcn")
    (place / keep.FOLDER).mkdir()
    (place / keep.FOLDER / "mine.txt").write_text("mine")
    assert pcn(["explain", str(place), "--flow", "1", "-q"]) == 0
    assert f"{place / keep.FOLDER} has other files, as mine.txt" in capsys.readouterr().err
    assert [path.name for path in (place / keep.FOLDER).iterdir()] == ["mine.txt"]


def test_an_explanation_that_fails_leaves_the_earlier_one(mixed: Path, monkeypatch, capsys):
    assert pcn(["explain", str(mixed / "pcn"), "--flow", "3", "-q"]) == 0
    before = (mixed / "pcn" / keep.FOLDER / keep.TEXT).read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keep, "whole", full)
    assert pcn(["explain", str(mixed / "pcn"), "--flow", "4", "-q"]) == 0
    assert (mixed / "pcn" / keep.FOLDER / keep.TEXT).read_bytes() == before
    assert not [path for path in (mixed / "pcn").iterdir() if path.name.startswith(".")]
