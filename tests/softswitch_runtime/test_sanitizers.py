"""This folder's tests again, with runtime and programs under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from softswitch.codegen.build import compiler

FLAGS = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"


@pytest.mark.root
@pytest.mark.timeout(280)
def test_everything_under_the_sanitizers() -> None:
    command = compiler()
    asan = subprocess.run([*command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    library = Path(asan.stdout.strip())
    if not library.is_absolute():
        missing = f"{command[0]} has no shared address sanitizer; gcc with libasan has"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}, and CI must not skip this")
        pytest.skip(missing)
    environment = {**os.environ, "CC": f"{shlex.join(command)} {FLAGS}", "PYTHONPATH": str(Path(__file__).parent)}
    # Built beforehand: the preloaded library would slow the compiler down as well.
    build = "import runtime as r; r.build_runtime(), r.build('probe'), r.build('tables')"
    subprocess.run([sys.executable, "-c", build], env=environment, check=True)
    environment |= {
        "LD_PRELOAD": str(library),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own; units/*.c look for leaks
        "SW_EXAMPLES": "8",
    }
    tests = ["test_runtime_live.py", "test_runtime_ports.py", "test_runtime_timing.py", "test_tables.py"]
    folder = Path(__file__).parent
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-p",
        "no:cacheprovider",
        "--durations=6",
        *(str(folder / name) for name in tests),
    ]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
