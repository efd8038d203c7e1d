"""Commands as forks of a process that has imported what those before them imported: that takes most
commands longer than what they do. Each has its own session, exit code and end; the process that
forks has run none of them."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent

_MAIN = {"__main__", "__mp_main__"}
LIMIT_S = 120
"""For a command; a hang alone needs it."""


class Forked:
    """A command that runs: what `finish` uses of a Popen."""

    def __init__(self, requests: socket.socket, request, errors: IO[str] | None):
        (output, theirs), (status, theirs_too) = os.pipe(), os.pipe()
        try:
            passed = [theirs, errors.fileno() if errors else theirs, theirs_too]
            socket.send_fds(requests, [json.dumps(request).encode()], passed)
        finally:
            os.close(theirs)
            os.close(theirs_too)
        self.stdout = os.fdopen(output, errors="replace")
        self._status = os.fdopen(status)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_):
        self.stdout.close()
        self._status.close()

    def wait(self) -> int:
        """Waits for its end; returns its exit code, or minus the signal that ended it."""
        if self.returncode is None:
            self.returncode = int(self._status.readline())
        return self.returncode


class Forks:
    """The process that forks, as `forks` starts it; `pid`: its own, in its namespaces."""

    def __init__(self, requests: socket.socket, environment: Mapping[str, str], pid: int):
        self._requests, self._environment, self.pid = requests, environment, pid

    def begin(
        self,
        words: Sequence[str],
        directory: Path,
        environment: Mapping[str, str] | None = None,
        errors: IO[str] | None = None,
    ) -> Forked:
        """Begins `pcn`, or a file of Python, with these words, in this directory. `environment`: if
        it isn't that of all; `errors`: a file for its stderr, which is its stdout otherwise."""
        return Forked(
            self._requests, [words, str(directory), dict(environment or self._environment)], errors
        )


@contextlib.contextmanager
def forks(folder: Path, environment: Mapping[str, str], *prefix: str) -> Iterator[Forks]:
    """`prefix`: a command that begins what follows it, which a shell can name "$0" "$@"; `folder`:
    for its notes."""
    command = [*prefix, sys.executable, __file__, str(folder / "imported")]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Ctrl-C isn't for it, as what is up in its namespaces has to go down first; it ends with its
    # stdin, too.
    with (
        ours,
        subprocess.Popen(
            command,
            stdin=theirs,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        ) as process,
    ):
        theirs.close()
        try:
            assert process.stdout.readline() == "ready\n"
            yield Forks(ours, environment, process.pid)
        finally:
            process.terminate()


# Not atexit's alone: a fork of multiprocessing drops what that has, and so would remove the folder
# (Python 3.13).
_stack = contextlib.ExitStack()
atexit.register(_stack.close)


@cache
def _ours() -> Forks:
    """Of the tests' own namespaces."""
    folder = _stack.enter_context(tempfile.TemporaryDirectory())
    # by which tests look
    environment = {key: value for key, value in os.environ.items() if key != "PCN_TEST_MARK"}
    return _stack.enter_context(forks(Path(folder), environment))


def begin(*words: str, cwd: Path | None = None) -> Forked:
    """Begins `pcn`, or a file of Python, with these words."""
    return _ours().begin(words, cwd or Path.cwd(), {**os.environ, "PYTHONPATH": str(ROOT / "src")})


def run(
    *words: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `pcn`, a file of Python, or `-m` a module, with these words, to its end;
    `environment`: more than os.environ."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **(environment or {})}
    with (
        tempfile.TemporaryFile("w+") as errors,
        _ours().begin(words, cwd or Path.cwd(), environment, errors) as process,
    ):
        output, code = process.stdout.read(), process.wait()
        errors.seek(0)
        return subprocess.CompletedProcess(words, code, output, errors.read())


def _serve(imported: Path) -> tuple[list[str], str, dict[str, str]]:
    """Forks for each request; returns in each command's process, with its words and directory."""
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    print("ready", flush=True)
    known: set[str] = set()
    while True:
        message, passed, *_ = socket.recv_fds(requests, 1 << 16, 3)
        if not message:
            os._exit(0)
        output, errors, status = passed
        new = (
            [name for name in imported.read_text().split() if name not in known]
            if imported.exists()
            else []
        )
        for name in new:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        known.update(new)
        gc.freeze()
        if os.fork() == 0:
            break
        for descriptor in passed:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    requests.close()
    if command := os.fork():
        os.close(output)
        os.close(errors)
        os.write(status, b"%d\n" % command)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(command, signal.SIGKILL))
        signal.alarm(LIMIT_S)
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(command, 0)[1]))
        os._exit(0)
    os.close(status)
    os.setsid()
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    # The server's streams may have been of files, which have places; these are of pipes.
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    words, directory, environment = json.loads(message)
    return words, directory, environment


def main():
    imported = Path(sys.argv[1])
    words, directory, environment = _serve(imported)
    os.environ.clear()
    os.environ.update(environment)
    process, code = os.getpid(), list[int]()

    def end():
        """As the last one of what is to be done at the end: Python would take apart all that the
        server imported."""
        if os.getpid() == process:  # no fork of its own
            imported.write_text(" ".join(name for name in sys.modules if name not in _MAIN))
            sys.stdout.flush()
            if code:
                os._exit(code[0])

    atexit.register(end)
    os.chdir(directory)
    sys.argv = words
    try:
        if words[0] == "pcn":
            from pcn import cli

            cli.main()
        elif words[0] == "-m":
            sys.path.insert(0, directory)
            del words[0]
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(words[0]).resolve().parent))
            runpy.run_path(words[0], run_name="__main__")
        code.append(0)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            raise
        code.append(int(ended.code or 0))


if __name__ == "__main__":
    # As the checkout is installed: `softswitch`, say, is `pcn.softswitch` and nothing else
    sys.path[0] = str(ROOT / "src")
    main()
