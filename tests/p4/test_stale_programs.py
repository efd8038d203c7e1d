"""Whether the compiled programs are those of the sources that are here."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from pcn.base.priority import REFUSED
from pcn.cli import run as pcn
from pcn.p4src import manifest

CHECKOUT = Path(__file__).resolve().parents[2]
LINE = "p4src/v1model/np_ecn.p4 was changed after p4src/compiled/pcn.json was made: make p4"


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    """p4src/v1model of a copy."""
    for folder in ("p4src", "examples"):
        shutil.copytree(
            CHECKOUT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    return tmp_path / "p4src/v1model"


def edit(source: Path):
    source.write_text(source.read_text() + "\n")


def test_what_is_committed_fits():
    assert manifest.stale() is None


def test_an_edited_source_is_named_with_what_was_made_of_it(sources: Path):
    edit(sources / "np_ecn.p4")
    line = "p4src/v1model/np_ecn.p4 was changed after p4src/compiled/{} made: make p4"
    assert manifest.stale("pcn") == line.format("pcn.json was")
    assert manifest.stale("pcn", "pcn_native") == line.format("pcn.json and 1 more were")
    assert manifest.stale("dcqcn", "nobody's") is None
    (sources / "pfc.p4").unlink()
    message = manifest.stale()
    assert message.endswith("more were made: make p4")
    assert message.startswith("p4src/v1model/")


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("x = 1;  // as it was", "x = 1;  // another word", True),
        ("// p4c's \"name\nx = 1;", "// gone\nx = 1;", True),
        ("x = 1;  // last", "x = 1;", True),
        ("x = 1;  // as it was", "x = 2;  // as it was", False),
        ("// a line\nx = 1;", "x = 1;", False),
        ('@name("a//b") x = 1;', '@name("a//c") x = 1;', False),
        ('@name("a\\"//b") x = 1;', '@name("a\\"//c") x = 1;', False),
        ("/* // */ x = 1;", "/* // */ x = 2;", False),
        ("/*\n// */ x = 1;", "/*\n// */ x = 2;", False),
    ],
)
def test_a_source_is_known_without_its_line_comments(tmp_path, before, after, same):
    source = tmp_path / "x.p4"
    source.write_text(before + "\nlast\n")
    known = manifest.source_digest(source)
    source.write_text(after + "\nlast\n")
    assert (manifest.source_digest(source) == known) is same


def test_run_and_its_page_report_stale_programs(sources: Path, tmp_path, capsys):
    edit(sources / "np_ecn.p4")
    out = tmp_path / "run"
    assert (
        pcn(["run", "dumbbell", "--clock", "virtual", "--set", "duration=2ms", "--out", str(out)])
        == 0
    )
    assert f"note: {LINE}" in capsys.readouterr().err.splitlines()
    assert LINE in (out / "report.html").read_text()


def test_result_records_its_provenance(tmp_path, monkeypatch):
    arguments = [
        "run", "dumbbell", "--clock", "virtual", "--set", "duration=2ms", "--out",
        str(tmp_path / "my run"),
    ]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["/usr/bin/pcn", *arguments])
    assert pcn(arguments) == 0
    provenance = json.loads((tmp_path / "my run" / "summary.json").read_text())["provenance"]
    assert set(provenance) == {"commit", "tree", "compiler", "command"}
    assert (
        provenance["command"]
        == f"pcn run dumbbell --clock virtual --set duration=2ms --out '{tmp_path}/my run'"
    )
    assert provenance["compiler"]
    assert (
        provenance["command"].replace("'", "&#39;")
        in (tmp_path / "my run" / "report.html").read_text()
    )


@pytest.mark.root
def test_pcn_up_reports_stale_programs(sources: Path, tmp_path, capsys):
    edit(sources / "np_ecn.p4")
    name = f"c{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        assert (
            pcn(
                ["up", "dumbbell", "--set", "pairs=1", "-n", name, "--logs", str(tmp_path / "logs")]
            )
            == 0
        )
        lines = [line for line in capsys.readouterr().err.splitlines() if REFUSED not in line]
        assert lines[-1] == f"note: {LINE}"
    finally:
        pcn(["down", name])


@pytest.mark.root
def test_ptf_reports_stale_programs(sources: Path):
    """Before it is refused: BMv2 has no manual clock."""
    edit(sources / "np_ecn.p4")
    script = (
        "import runpy, sys; from pathlib import Path; from pcn.p4src import manifest\n"
        "manifest.ROOT, sys.argv = Path(sys.argv[1]), sys.argv[2:]\n"
        "sys.path.insert(0, str(Path(sys.argv[0]).parent))\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    runner = str(CHECKOUT / "ptf-tests/run.py")
    done = subprocess.run(
        [
            sys.executable, "-c", script, str(manifest.ROOT), runner, "--target", "bmv2",
            "--clock", "manual",
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr.startswith(
        "note: p4src/v1model/np_ecn.p4 was changed after p4src/compiled/pcn.json and "
    )
