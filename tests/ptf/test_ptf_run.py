"""ptf-tests/run.py on the manual clock: its records, and what it refuses."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "ptf-tests/run.py"
FRAME_NS = 8_464_000  # 1,058 bytes at 1 Mbit/s


@pytest.fixture(scope="module")
def module() -> Iterator[ModuleType]:
    sys.path.insert(0, str(RUN.parent))
    spec = importlib.util.spec_from_file_location("ptf_run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(RUN.parent))


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(RUN), *arguments]
    return subprocess.run(
        words, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_record_has_events_with_times(tmp_path):
    """40 packets of class 7 keep the slow port, 12 of class 3 wait behind them: each but the first
    found others."""
    record = tmp_path / "record"
    long = tmp_path / ("x" * 100)  # no Unix socket can be in there
    long.mkdir()
    done = call("--record", str(record), "np_ecn.CongestedPortMarks", TMPDIR=str(long))
    assert done.returncode == 0, done.stdout + done.stderr
    first, *lines = record.read_text().splitlines()
    assert first == "== np_ecn.CongestedPortMarks"
    times = [line.partition(" ")[0] for line in lines if " out of 4: " in line]
    assert times == [f"{n * FRAME_NS / 1e9:.9f}" for n in range(1, 53)]
    assert sum(" into 1: " in line for line in lines) == 12 + 1, "with the RESUME at the end"
    assert "marked {35: 11}" in lines


def test_the_first_difference_is_named(module: ModuleType):
    same = ["== a", "1 into 1: ff", "== b", "2 out of 1: ff"]
    assert module.first_difference(same, list(same)) == ""
    assert (
        module.first_difference(same, [*same[:3], "3 out of 1: ff"])
        == "b:\n  2 out of 1: ff\n  3 out of 1: ff"
    )
    assert module.first_difference(same, same[:3]) == "b:\n  2 out of 1: ff\n  (the end)"


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["--clock", "live", "--record", "x"], 2, "--record and --twice are for the manual clock"),
        (["--target", "bmv2", "--twice"], 2, "--record and --twice are for the manual clock"),
        (["--target", "bmv2", "--clock", "manual"], 1, "BMv2 has no manual clock"),
        (
            ["--target", "tofino-model"],
            1,
            "the model needs Intel's SDE: set SDE_INSTALL to the folder",
        ),
        (["--target", "tofino-model", "--twice"], 2, "--twice runs two switches beside each other"),
    ],
)
def test_what_is_refused(arguments, status, why):
    done = call(*arguments)
    assert done.returncode == status
    assert re.search(f"error: .*{re.escape(why)}", done.stderr)
    assert "Traceback" not in done.stderr
