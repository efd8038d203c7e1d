"""Programs of a network: started with a log, waited for until they are ready, ended for certain."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pcn.base.errors import LabError

LOG_TAIL_LINES = 12
_LOOK_MS = 10


class StartError(LabError):
    """A program didn't get ready: the text has its name, the reason, and its last output."""


def end_children(children: Sequence[subprocess.Popen[Any]], grace_s: float = 3.0) -> None:
    """SIGTERM to all, SIGKILL to those that outlive the grace, and waits for each. Last started,
    first ended."""
    left = [child for child in reversed(children) if child.poll() is None]
    for number, limit in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
        for child in left:
            with contextlib.suppress(ProcessLookupError):
                # The group: each child leads a session of its own, and may have children in it.
                os.killpg(child.pid, number)
        end = time.monotonic() + limit
        for child in left:
            _wait(child, end - time.monotonic())
        left = [child for child in left if child.poll() is None]


def _wait(child: subprocess.Popen[Any], limit_s: float) -> None:
    """Until it has ended, or the limit has passed. `Popen.wait` with a limit looks every 50 ms."""
    handle = os.pidfd_open(child.pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        poller.poll(max(0.0, limit_s) * 1000)
    finally:
        os.close(handle)
    child.poll()


def tail(path: Path) -> str:
    """Returns the last lines of a log, indented, for an error message."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:]
    except OSError:
        lines = []
    return "\n".join(f"    {line}" for line in lines) or "    (it wrote nothing)"


def wait_ready(
    name: str,
    process: subprocess.Popen[Any],
    log: Path,
    is_ready: Callable[[], bool],
    check: Callable[[], None],
    limit_s: float,
) -> None:
    """Waits until `is_ready`; `check` may raise to give up. StartError when the program ends or the
    limit passes."""
    end = time.monotonic() + limit_s
    handle = os.pidfd_open(process.pid)
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    try:
        while True:
            check()
            if is_ready():
                return
            if time.monotonic() > end:
                raise StartError(
                    f"{name} wasn't ready within {limit_s:g} s. It last wrote:\n{tail(log)}"
                )
            # Sleeps until the next try, or until the program ends.
            if poller.poll(_LOOK_MS):
                process.wait()
                raise StartError(
                    f"{name} ended with status {process.returncode} at its start:\n{tail(log)}"
                )
    finally:
        os.close(handle)
