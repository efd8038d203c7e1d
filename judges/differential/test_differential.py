"""The embedded switch against BMv2: every byte out of every port, counters, registers and digests.

BMv2's answers are recorded (by drive.py). PCN_DIFFERENTIAL_SEED=7 runs new cases of that seed
through the BMv2 that is installed, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from recording import read
from replay import replay

HERE = Path(__file__).resolve().parent
SEED = os.environ.get("PCN_DIFFERENTIAL_SEED")
RECORDINGS = sorted((HERE / "recordings").glob("*.recording"))


def compare(path: Path):
    known, case = read(path)
    replayed = replay(known, case)
    for number, (packet, expected, got) in enumerate(
        zip(case[1], known["outputs"], replayed["outputs"], strict=True)
    ):
        assert got == expected, (
            f"packet {number} of {path.name}, into port {packet.port}: {packet.frame.hex()}"
        )
    assert replayed["digests"] == known["digests"]
    assert replayed["state"] == known["state"]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_as_bmv2_did(recording):
    compare(recording)


@pytest.mark.root
@pytest.mark.parametrize("program", sorted({path.stem.partition("-")[0] for path in RECORDINGS}))
def test_as_bmv2_does(program, tmp_path):
    if SEED is None:
        needs.missing(needs.NEW_CASES)
    assert shutil.which("simple_switch_grpc"), "BMv2 is not installed, or not on PATH"
    command = [
        sys.executable, str(HERE / "drive.py"), "--program", program, "--seed", SEED, "--out",
        str(tmp_path),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    compare(tmp_path / f"{program}-{SEED}.recording")
