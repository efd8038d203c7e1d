"""`pcn deploy` in this process."""

import contextlib
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from pcn import cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Returns exit code, output and errors, without the switch's progress."""
    code = cli.run(["deploy", *map(str, arguments)])
    captured = capsys.readouterr()
    errors = [
        line for line in captured.err.splitlines(keepends=True) if not line.startswith("tofino: ")
    ]
    return code, captured.out, "".join(errors)


def interrupt(capsys: pytest.CaptureFixture[str], option: str, sample: Path) -> tuple[int, str]:
    """Returns exit code and errors of one that waits for a server at the option's address, which
    takes the connection and doesn't answer, and is interrupted then."""
    with socket.create_server(("127.0.0.1", 0)) as silent, contextlib.ExitStack() as connections:

        def signal_deploy():
            connections.enter_context(silent.accept()[0])
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=signal_deploy)
        thread.start()
        code, _, err = run(capsys, option, "{}:{}".format(*silent.getsockname()), "--ports", sample)
        thread.join()
    return code, err.strip()
