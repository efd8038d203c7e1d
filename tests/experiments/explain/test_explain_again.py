"""The run that `pcn explain` repeats: the same digest, or refused, and no code of a result."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from explained_runs import EXAMPLES, kept_run

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.records import LogChoice
from pcn.experiments.explain import keep
from pcn.experiments.explain.again import NAMES, KeptResult
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.run.progress import Silent

SHORT = {
    "dumbbell": ["--set", "duration=1ms"],
    "tcd": [],
    "unbiased": [],
    "fig5": [],
    "traffic": ["--topology", "star", "--set", "count=20"],
}


def test_folder_of_a_single_run_stands_for_it(mixed: Path, tmp_path):
    shutil.copytree(mixed / "pfc", tmp_path / "traffic" / "pfc")
    assert KeptResult(tmp_path / "traffic").place == tmp_path / "traffic" / "pfc"
    shutil.copytree(mixed / "pcn", tmp_path / "traffic" / "pcn")
    with pytest.raises(ExperimentError, match="name the run: "):
        KeptResult(tmp_path / "traffic")


@pytest.mark.parametrize("scenario", sorted(SHORT))
def test_every_scenario_is_run_again_with_its_digest(scenario, tmp_path):
    out = kept_run(
        tmp_path / "out",
        scenario,
        "--scheme",
        "pfc" if scenario == "fig5" else "pcn",
        *SHORT[scenario],
    )
    assert {*SHORT, "victim"} == set(SCENARIOS)
    KeptResult(out).run(LogChoice(causes=False), Silent())  # raises where it differs


def test_run_whose_queues_were_read_is_run_again_with_its_digest(tmp_path):
    short = ["traffic", *SHORT["traffic"], "--scheme", "dctcp"]
    plain = kept_run(tmp_path / "plain", *short)
    read = kept_run(tmp_path / "read", *short, "--queues", "5us")
    digests = {KeptResult(place).digest for place in (plain, read)}
    assert len(digests) == 1
    assert pcn(["explain", str(read), "-q"]) == 0


def changed(place: Path, **entries):
    file = place / "summary.json"
    result = {
        name: value
        for name, value in {**json.loads(file.read_text()), **entries}.items()
        if value is not None
    }
    file.write_text(json.dumps(result))


def line_of(place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert pcn(["explain", str(place), "--flow", "0", "-q"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert not (place / keep.FOLDER).exists()
    return line


def test_results_that_cannot_be_repeated_are_one_line(tmp_path, capsys):
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,start,size\nh0,r0,0us,20KB\nh1,r0,0us,20KB\n")
    out = kept_run(tmp_path / "out", "traffic", "--topology", "star", "--flows", str(flows))
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["files"]) == [str(flows)]
    text = flows.read_text()
    flows.write_text(text.replace("20KB", "30KB"))
    assert "flows.csv, which" in line_of(out, capsys)
    flows.unlink()
    assert "is missing" in line_of(out, capsys)
    flows.write_text(text)
    changed(out, digest="0" * 16)
    assert "it was made by another version of PCN Lab" in line_of(out, capsys)
    changed(out, files=None, digest=summary["digest"])
    assert "is of an older version, which kept no files" in line_of(out, capsys)
    changed(out, files={}, clock="live")
    assert "runs in virtual time alone" in line_of(out, capsys)
    (out / "summary.json").write_text("[]")
    assert "no result that can be read" in line_of(out, capsys)
    assert f"{out}/summary.json" in line_of(tmp_path, capsys), "a folder of one run stands for it"
    shutil.copytree(out, tmp_path / "second")
    assert f"has no summary.json: name the run: {out}, " in line_of(tmp_path, capsys)


def test_scheme_of_a_file_is_found_again(tmp_path, capsys):
    for name in ("aimd", "aimd_window"):
        shutil.copytree(
            EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    copy = tmp_path / "aimd_window"
    scheme = f"{copy}/aimd_window.py:AIMD_WINDOW"
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", scheme
    )
    assert pcn(["explain", str(out), "--flow", "0", "-q"]) == 0
    (copy / "aimd_window.py").write_text((copy / "aimd_window.py").read_text() + "\n")
    capsys.readouterr()
    assert pcn(["explain", str(out), "--flow", "0", "-q"]) == 1
    assert "aimd_window.py, which" in capsys.readouterr().err


def test_result_runs_no_code_that_it_names(tmp_path, capsys):
    """A result may be another user's."""
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", "pcn"
    )
    planted = tmp_path / "planted.py"
    planted.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "planted.c").write_text("#error it was compiled\n")
    reference = json.loads((out / "summary.json").read_text())["reference"]
    assert "star" in reference
    of_order = quote(f"order={tmp_path}/planted.c:planted")
    of_topology = reference.replace("star", f"{tmp_path}/planted%2Epy:star", 1)
    for names in (
        {"scheme_reference": f"{planted}:SCHEME"},
        {"scheme_reference": f"{tmp_path}/planted.c"},
        {"scheme_reference": "pcn", "reference": of_topology},
        {"scheme_reference": "pcn", "reference": of_topology.replace("%2E", ".")},
        {"scheme_reference": "pcn", "reference": f"{reference}&options={of_order}"},
    ):
        changed(out, **names)
        assert pcn(["explain", str(out), "-q"]) == 1
        line = capsys.readouterr().err
        assert len(line.splitlines()) == 1
        assert not (tmp_path / "ran").exists()
        assert "--allow-code runs it" in line or "%2Epy" in line
    changed(out, scheme_reference=f"{planted}:SCHEME", reference=reference)
    assert pcn(["explain", str(out), "-q", "--allow-code"]) == 1
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "files",
    [{"x.py": "0" * 12}, {"/dev/zero": ""}, {"/proc/self/mem": "x"}, {"a\0": "x"}, [[1, 2]], 1],
)
def test_result_names_no_file_that_ends_with_traceback(files, tmp_path, capsys):
    assert NAMES[0] == "reference"
    summary = dict.fromkeys(NAMES) | {"clock": "virtual", "provenance": {}, "files": files}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert pcn(["explain", str(tmp_path), "-q"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_table_of_others_has_rows_for_flows_alone(tmp_path, monkeypatch):
    """Compressed rows need no room: 300 KB have 20,000,000."""
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", "pcn"
    )
    result = KeptResult(out)
    columns = {"slowdown": [3.0, 2.0], "start_s": [0.0, 0.0], "id": [1, 0]}
    for repeats, numbers in ((1, (1, 0)), (3, None)):
        table = {name: values * repeats for name, values in columns.items()}
        pq.write_table(pa.table(table), out / "flows.parquet")
        assert result._of_table(2) == numbers
