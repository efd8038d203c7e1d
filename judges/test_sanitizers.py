"""The embedded switch and its programs under the address and undefined-behaviour sanitizers:
hostile packets, what fuzzing kept, and the tests of its runtime again."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import needs
import pytest
import sanitizers

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests/softswitch_runtime"
THREADED = (
    "groups-pcn or tree-dcqcn or error_of or been[3] or deadlock or end_with or forked or a_node"
)
"""Of test_virtual_threads.py: each way in which threads begin, wait, fail and end, once."""
LARGE = "1500 or 6000 or without_end or larger_pages"
"""Of the runtime's tests: tables and frames whose smaller ones go the same ways, a loop that only
counts, and tests in a process that preloads another library."""


@pytest.fixture(scope="module")
def sanitized() -> Mapping[str, str]:
    variables = sanitizers.environment() or needs.missing(needs.SANITIZERS)
    paths = os.pathsep.join([str(TESTS), str(HERE.parent)])
    return {**variables, "PYTHONPATH": paths, "SW_EXAMPLES": "8"}


def output(sanitized: Mapping[str, str], *words: str | Path) -> str:
    """Of a Python process that went well."""
    done = subprocess.run(
        [sys.executable, *words], env=sanitized, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.mark.parametrize("seed", [1])
def test_hostile_packets_and_programs_under_the_sanitizers(sanitized: Mapping[str, str], seed):
    output(sanitized, HERE / "fuzz/hostile.py", str(seed), "20")


@pytest.mark.parametrize("script", ["fuzz/fuzz_packets.py", "p4runtime/fuzz_messages.py"])
def test_what_fuzzing_kept_under_the_sanitizers(sanitized: Mapping[str, str], script):
    """The inputs that coverage-guided fuzzing of packets and of P4Runtime messages found worth
    keeping."""
    assert " inputs" in output(sanitized, HERE / script, "replay")


def test_threads_of_virtual_time_under_the_sanitizer_of_threads():
    variables = sanitizers.environment(threads=True) or needs.missing(needs.SANITIZERS)
    options = ["-x", "-s", "-p", "no:cacheprovider", "-k", THREADED]
    assert "9 passed" in output(
        variables,
        "-m",
        "pytest",
        *options,
        HERE.parent / "tests/virtualnet/test_virtual_threads.py",
    )


@pytest.mark.root
def test_everything_under_the_sanitizers(sanitized: Mapping[str, str]):
    tests = [
        "test_runtime_live.py",
        "test_runtime_ports.py",
        "test_runtime_timing.py",
        "test_manual_clock.py",
    ]
    tests += ["test_tables.py", "test_table_arguments.py", "test_kernel_hosts.py"]
    options = ["-x", "-p", "no:cacheprovider", "-k", f"not ({LARGE})"]
    print(output(sanitized, "-m", "pytest", *options, *(TESTS / name for name in tests)))
