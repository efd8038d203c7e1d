"""This folder's tests again, with runtime and programs under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import needs
import pytest

from softswitch.codegen.build import compiler

pytestmark = pytest.mark.long

FLAGS = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"


@pytest.fixture(scope="module")
def sanitized() -> dict[str, str]:
    """The environment to compile in."""
    command = compiler()
    library = sanitizer_library()
    if not Path(library).is_absolute():
        needs.missing(needs.SANITIZERS)
    folders = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2])]
    return {**os.environ, "CC": f"{shlex.join(command)} {FLAGS}", "PYTHONPATH": os.pathsep.join(folders)}


def sanitizer_library() -> str:
    words = [*compiler(), "-print-file-name=libasan.so"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def preloaded(environment: dict[str, str]) -> dict[str, str]:
    """The environment to run in. To compile in it would be slow, as the library would be in the compiler as well."""
    return environment | {
        "LD_PRELOAD": sanitizer_library(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own; units/*.c look for leaks
        "SW_EXAMPLES": "8",
    }


@pytest.mark.parametrize("seed", [1])
def test_hostile_packets_and_programs_under_the_sanitizers(sanitized: dict[str, str], seed: int) -> None:
    script = [sys.executable, str(Path(__file__).with_name("hostile.py"))]
    subprocess.run([*script, "build", str(seed)], env=sanitized, check=True)
    words = [*script, "run", str(seed), "60"]
    done = subprocess.run(words, env=preloaded(sanitized), capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_what_fuzzing_kept_under_the_sanitizers(sanitized: dict[str, str], tmp_path: Path) -> None:
    """The inputs that coverage-guided fuzzing of packets and of P4Runtime messages found worth keeping."""
    folder = Path(__file__).parents[1]
    packets, messages = folder / "softswitch_runtime/fuzz_packets.py", folder / "p4runtime/fuzz_messages.py"
    for script, *where in ((packets, tmp_path), (messages,)):
        subprocess.run([sys.executable, script, "build", *where], env=sanitized, check=True)
        words = [sys.executable, script, "replay", *where]
        done = subprocess.run(words, env=preloaded(sanitized), capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        assert " inputs" in done.stdout


@pytest.mark.root
def test_everything_under_the_sanitizers(sanitized: dict[str, str]) -> None:
    build = "import runtime as r; r.build_runtime(), r.build('probe'), r.build('tables')"
    subprocess.run([sys.executable, "-c", build], env=sanitized, check=True)
    tests = ["test_runtime_live.py", "test_runtime_ports.py", "test_runtime_timing.py", "test_manual_clock.py"]
    tests += ["test_tables.py", "test_table_arguments.py"]
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
    done = subprocess.run(words, env=preloaded(sanitized), capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
