"""Sources that decide about a run: where one changes, the run is another."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

from sweep_tasks import ROOT, SHORT

from pcn.cli import run as pcn
from pcn.experiments.define.experiment import Run
from pcn.experiments.papers import find_experiment
from pcn.experiments.sweep import store as stores
from pcn.experiments.sweep.run_task import task_of
from pcn.experiments.sweep.task import Task, execute


def test_the_version_is_of_all_sources_that_decide(tmp_path, monkeypatch):
    for folder in stores._SOURCES:
        assert any(path.suffix in stores._KINDS for path in (ROOT / folder).rglob("*")), folder
    monkeypatch.setattr(stores, "ROOT", tmp_path)
    seen = {stores.version.__wrapped__()}
    for name in ("hosts/algorithms/pcn.py", "virtualnet/csrc/api/net.c", "p4src/compiled/pcn.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        for text in ("as it was", "changed"):
            (tmp_path / name).write_text(text)
            seen.add(stores.version.__wrapped__())
    assert len(seen) == 7
    (tmp_path / "hosts" / "README.md").touch()
    assert stores.version.__wrapped__() in seen


def test_a_scheme_from_outside_is_another_one_when_its_files_change(tmp_path, capsys):
    """Its reference, a path, stays: what was run before must not pass for what it is now."""
    shutil.copytree(ROOT / "examples" / "aimd", tmp_path / "aimd")
    file = tmp_path / "aimd" / "aimd.py"
    command = [
        "sweep", "dumbbell", "--scheme", f"{file}:AIMD", *SHORT, "--jobs", "1", "--out",
        str(tmp_path / "out"),
    ]  # fmt: skip

    assert pcn(command) == 0
    assert "were done before" not in capsys.readouterr().err
    assert pcn(command) == 0
    assert "1 of 1 runs were done before" in capsys.readouterr().err
    file.write_text(file.read_text() + "# another rule\n")
    words = [sys.executable, "-c", "from pcn.cli import main; main()", *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "dumbbell: 1 runs" in done.stderr
    assert "were done before" not in done.stderr


def test_files_that_aren_t_those_of_the_declaration_are_refused():
    task = task_of(find_experiment("dumbbell"), Run({"seed": 1}, "pcn", 1))
    assert task.arguments["files"] == {}
    stale = Task(
        task.function, {**task.arguments, "files": {"aimd.py": "0" * 12}}, task.keys, task.limits
    )
    assert "the files of pcn aren't those of when this run was declared" in execute(stale).error


def test_module_that_a_user_s_files_import_makes_a_run_another(tmp_path):
    """A scheme's file imports one that imports another, and so does a topology's. Each command is a
    process: a module is loaded once in each."""
    (tmp_path / "far.py").write_text("DELAY_S = 1e-6\nSTEP = 2e9\n")
    (tmp_path / "near.py").write_text("import far\n")
    (tmp_path / "net.py").write_text(
        "import near\nfrom pcn.topologies.star import star\ndef slow():\n    return "
        "star(delay_s=near.far.DELAY_S)\n"
    )
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\nimport near\nfrom pcn.hosts.algorithms import "
        "find_scheme\n"
        "MINE = replace(find_scheme('pfc'), name='mine')\n"
    )
    out = tmp_path / "out"
    command = [
        str(Path(sys.executable).parent / "pcn"),
        "sweep",
        "traffic",
        "--topology",
        f"{tmp_path}/net.py:slow",
    ]
    command += [
        "--scheme", f"{tmp_path}/mine.py:MINE,pfc", "--set", "count=12", "--jobs", "1", "--out",
        str(out),
    ]  # fmt: skip

    def means() -> dict[str, float]:
        subprocess.run(command, check=True, capture_output=True, cwd="/")
        rows = csv.DictReader((out / "means.csv").read_text().splitlines())
        return {row["scheme"]: float(row["mean"]) for row in rows if row["number"] == "mean_ms all"}

    before = means()
    assert before.keys() == {"mine", "pfc"}
    assert means() == before
    assert len((out / "done.jsonl").read_text().splitlines()) == 2
    (tmp_path / "far.py").write_text("DELAY_S = 50e-6\nSTEP = 2e9\n")
    after = means()
    assert all(after[scheme] > before[scheme] + 0.08 for scheme in before)
    assert len((out / "done.jsonl").read_text().splitlines()) == 4
