"""Starting the child that runs a script, and reading what it reports, within bounds of time and
size."""

from __future__ import annotations

import json
import os
import pwd
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcn.base.python_process import python_command
from pcn.p4net.errors import P4NetError
from pcn.p4net.importing.record import NetworkRecord, RecordError

SECONDS = 60
"""That a script may run."""
_MORE_S = 15
"""Until the child has ended all of its children."""
_MEMORY = 2 * 2**30
_MOST_OUTPUT, _MOST_REPORT = 64 * 2**10, 16 * 2**20
_VARIABLES = ("PATH", "HOME", "LANG")
"""Of the environment."""
_OPTIONS = ("-E", "-s", "-B", "-u")
"""Of the child's Python: neither the environment nor the user's packages, no caches, no buffers.
Until it has taken the user's rights, it may be root's."""


@dataclass
class Ran:
    """What came of a script."""

    network: NetworkRecord | None = None
    output: str = ""
    """The begin of what it printed."""
    failure: Mapping[str, Any] | None = None
    timed_out: bool = False
    started: bool = False
    """Whether a network was up before the end."""
    code: int = 0
    refused: str = ""
    _lines: list[bytes] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        """Reads a line of the report. Raises RecordError."""
        try:
            report = json.loads(line)
            kind = report["kind"]
            if kind == "network":
                self.network = NetworkRecord.of_document(report["network"])
            elif kind == "ended":
                self.failure, self.started = report["failure"], bool(report["started"])
            elif kind == "closed":
                self.timed_out, self.code = bool(report["timed_out"]), int(report["code"])
            elif kind == "refused":
                self.refused = str(report["reason"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(str(error)) from None


def run(
    script: Path,
    arguments: Sequence[str] = (),
    *,
    with_network: bool = False,
    seconds: int | None = None,
) -> Ran:
    """Runs a script in a child. `with_network`: also where the system lets no process leave the
    network. `seconds`: SECONDS, where none are given. Raises P4NetError."""
    seconds = SECONDS if seconds is None else seconds
    read, write = os.pipe()
    ran = Ran()
    with os.fdopen(read, "rb", buffering=0) as report:
        try:
            process = _start(script, arguments, write, with_network=with_network, seconds=seconds)
        except OSError as error:
            raise P4NetError(f"{script}: {error.strerror}") from None
        finally:
            os.close(write)
        try:
            _read(process, report.fileno(), ran, seconds + _MORE_S)
        except RecordError as error:
            raise P4NetError(f"{script}: its record can't be read: {error}") from None
        finally:
            _end(process)
    if ran.refused:
        raise P4NetError(
            f"{script} isn't run: the system gives it no network namespace ({ran.refused}); `sudo` "
            "before the command can, or add --with-network to run it all the same"
        )
    return ran


def _user(script: Path) -> tuple[int, int] | None:
    """Returns the user that called sudo; None: this process isn't root's. Raises P4NetError."""
    if os.geteuid() != 0:
        return None
    numbers = [os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID")]
    if not all(text.isascii() and text.isdigit() for text in numbers) or int(numbers[0]) == 0:
        raise P4NetError(
            f"{script} isn't run as root: call `pcn` as another user; under `sudo` a script runs "
            "as the user who called it"
        )
    return int(numbers[0]), int(numbers[1])


def _command(request: str) -> list[str]:
    return python_command("pcn.p4net.importing.child", request, options=_OPTIONS)


def _start(
    script: Path, arguments: Sequence[str], write: int, *, with_network: bool, seconds: int
) -> subprocess.Popen[bytes]:
    user = _user(script)
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    groups: list[int] = []
    if user is not None:
        try:
            entry = pwd.getpwuid(user[0])
            environment["HOME"] = entry.pw_dir
            groups = os.getgrouplist(entry.pw_name, user[1])
        except KeyError:
            environment["HOME"] = "/"
    request = {
        "script": str(script),
        "arguments": list(arguments),
        "user": user,
        "groups": groups,
        "report": write,
        "with_network": with_network,
        "seconds": seconds,
        "memory": _MEMORY,
    }
    return subprocess.Popen(
        _command(json.dumps(request)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        pass_fds=(write,),
        start_new_session=True,
    )


def _read(process: subprocess.Popen[bytes], read: int, ran: Ran, seconds: float) -> None:
    """Reads report and output to their ends; a report's line when it is there. Raises
    RecordError."""
    assert process.stdout is not None
    output, report, size = bytearray(), bytearray(), 0
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(read, selectors.EVENT_READ)
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fd == read:
                    size += len(chunk)
                    if size > _MOST_REPORT:
                        raise RecordError(f"it has more than {_MOST_REPORT >> 20} MiB")
                    report += chunk
                    if b"\n" in chunk:  # else a long line would be looked through once a chunk
                        *lines, rest = report.split(b"\n")
                        report = bytearray(rest)
                        for line in lines:
                            ran.take(bytes(line))
                else:
                    output += chunk[: _MOST_OUTPUT - len(output)]
    ran.output = output.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the child, which ends its children first."""
    try:
        process.terminate()
        process.wait(_MORE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        assert process.stdout is not None
        process.stdout.close()
