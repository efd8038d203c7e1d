"""All C of this project under gcc's address and undefined-behaviour sanitizers, or with --threads
under that of threads: what follows is as for `python`.

    python judges/sanitizers.py judges/swarm/swarm.py --seeds 1:500
    python judges/sanitizers.py -m pytest -s tests/virtualnet    # -s: else pytest keeps their
                                                                 output
    python judges/sanitizers.py --threads -m pytest -s tests/virtualnet/test_virtual_threads.py

A finding ends the process, and names its place. Objects are compiled anew, into the same cache; all
is some five times slower.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pcn.softswitch.cache.objects import compiler  # noqa: E402

FLAGS = ("-g1", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
THREAD_FLAGS = ("-g1", "-fsanitize=thread")
LESS_OPTIMISED = ("sh", "-c", 'exec "$@" -Og', "sh")
"""Before a compiler's command: -Og behind the project's -O2. With -g1 all compiles in a sixth less
time than with -O1, and runs as fast."""


def preloaded(libraries: str, command: Sequence[str]) -> dict[str, str]:
    """The environment of processes that have a sanitizer's libraries from the start, and compile
    with `command`, which runs without."""
    return {
        **os.environ,
        "CC": shlex.join(["env", "-u", "LD_PRELOAD", *LESS_OPTIMISED, *command]),
        "LD_PRELOAD": libraries,
        "PCN_ASSERTIONS": "1",  # of virtual time's engine
        # Python's own; tests/softswitch_runtime/units look for leaks
        "ASAN_OPTIONS": "detect_leaks=0",
    }


def environment(threads: bool = False) -> Mapping[str, str] | None:
    """None: the compiler has no shared library of them."""
    if threads:
        library = _library("libtsan.so")
        # Python isn't instrumented.
        options = {"TSAN_OPTIONS": "halt_on_error=1 ignore_noninstrumented_modules=1"}
        return {**preloaded(library, [*compiler(), *THREAD_FLAGS]), **options} if library else None
    # Without the second, C++'s, the first ends a process in which an exception is thrown.
    libraries = [_library("libasan.so"), _library("libstdc++.so.6")]
    if not libraries[0]:
        return None
    return preloaded(" ".join(filter(None, libraries)), [*compiler(), *FLAGS])


def _library(name: str) -> str:
    """Where the compiler has it; "" if nowhere."""
    try:
        words = [*compiler(), f"-print-file-name={name}"]
        path = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return path if Path(path).is_absolute() else ""


def main(arguments: list[str]):
    if not arguments or arguments[0] == "--help":
        print(__doc__)
        sys.exit(0 if arguments else 2)
    threads = arguments[0] == "--threads"
    arguments = arguments[threads:]
    variables = environment(threads)
    if variables is None:
        sys.exit(f"sanitizers: {compiler()[0]} has no shared sanitizer of this kind; CC=gcc has")
    os.execve(sys.executable, [sys.executable, *arguments], variables)


if __name__ == "__main__":
    main(sys.argv[1:])
