"""The C compiler as a child process: bounded in time and memory, gone with the process that started
it.

A compiler is several processes: a driver, and what it starts. Together they are one process group,
led by a shell that the kernel signals when this process ends, however it ends.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

SECONDS = 300  # processor time of a process
MEMORY_BYTES = 4 << 30  # address space of a process

# Runs "$@" within the limits $1 (s) and $2 (KiB). The soft one of time alone: past it the kernel
# says why it kills.
_GUARD = """trap 'kill -KILL 0' TERM
ulimit -S -t "$1" && ulimit -v "$2" || exit 126
shift 2
"$@" & wait $!"""
# What drivers report of a child that met a limit, in the C locale.
_SIGNS = (
    "CPU time limit exceeded",
    "out of memory",
    "memory exhausted",
    "Cannot allocate memory",
    "std::bad_alloc",
)

_FULL = "No space left on device"

_running: set[subprocess.Popen[str]] = set()
_ended = False


class BuildError(Exception):
    """The compiler is missing or refused (the text has its message), or the cache can't be
    written."""


class LimitError(BuildError):
    """The compiler met a limit."""


def end_compilers() -> None:
    """Ends the compilers of this process at once, for good. May be called by a signal's handler."""
    global _ended
    _ended = True
    for process in list(_running):
        _kill(process)


def run(commands: Sequence[Sequence[str]], scratch: Path) -> None:
    """Runs compilers, as many at once as there are processors, that write their own temporary files
    into `scratch`. Raises BuildError for the first that fails; LimitError at a limit."""
    import shutil  # late: it is slow to load, and few starts compile

    compiler = commands[0][0]
    if shutil.which(compiler) is None:
        raise missing(compiler, "not found")
    limits = [
        str(_limit(resource.RLIMIT_CPU, SECONDS)),
        str(_limit(resource.RLIMIT_AS, MEMORY_BYTES) // 1024),
    ]
    # which is for this process
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    environment |= {"LC_ALL": "C", "TMPDIR": str(scratch)}
    most = len(os.sched_getaffinity(0))
    at_work: deque[subprocess.Popen[str]] = deque()
    with ExitStack() as stack:
        for command in commands:
            if len(at_work) == most:
                _wait(at_work.popleft(), compiler, limits, scratch)
            words = ["setpriv", "--pdeathsig", "TERM", "sh", "-c", _GUARD, "sh", *limits, *command]
            at_work.append(stack.enter_context(_started(words, environment)))
        for process in at_work:
            _wait(process, compiler, limits, scratch)


@contextmanager
def _started(
    words: Sequence[str], environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Yields a compiler's process, of which nothing is left afterwards."""
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
            errors="replace", env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise BuildError(
            f"cannot run {words[0]!r}: {error.strerror}; install util-linux"
        ) from error
    with process:
        _running.add(process)
        try:
            if _ended:
                _kill(process)
            yield process
        finally:
            _kill(process)
            _running.discard(process)


def _wait(
    process: subprocess.Popen[str], compiler: str, limits: Sequence[str], scratch: Path
) -> None:
    """Waits until a compiler has ended. Raises what it failed with."""
    errors = process.communicate()[1].strip()
    if _ended:
        raise BuildError(f"{compiler} was ended")
    if process.returncode != 0 and any(sign in errors for sign in _SIGNS):
        raise LimitError(
            f"{compiler} needs more than {limits[0]} s of processor time, or {limits[1]} KiB of "
            "memory"
        )
    if process.returncode != 0 and _FULL in errors:
        raise BuildError(
            f"no space for compiled objects in {scratch.parent}: free some, or set XDG_CACHE_HOME "
            "to a folder that has it"
        )
    if process.returncode != 0:
        raise BuildError(f"{compiler} failed with exit code {process.returncode}:\n{errors}")


def missing(command: str, why: str | None) -> BuildError:
    """Returns the error of a C compiler that can't be started."""
    return BuildError(
        f"cannot run the C compiler {command!r}: {why}; install gcc or clang, or set CC"
    )


def _limit(kind: int, most: int) -> int:
    """Returns `most`, or the limit that this process has already."""
    return min(
        [most, *(value for value in resource.getrlimit(kind) if value != resource.RLIM_INFINITY)]
    )


def _kill(process: subprocess.Popen[str]) -> None:
    """Ends the rest of its group."""
    with suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
