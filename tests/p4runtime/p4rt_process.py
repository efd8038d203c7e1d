"""The `softswitch` command as a process, for the tests."""

import signal
import subprocess
import sys

from needs import BY_ENGINE
from p4rt_client import WAIT_S

COMMAND = [sys.executable, "-m", "pcn.switch_command" if BY_ENGINE else "pcn.softswitch"]


class Process:
    """A switch process that was seen to be ready."""

    def __init__(self, *arguments: str, prefix: tuple[str, ...] = ()):
        engine = ("--engine",) if BY_ENGINE and "manual" not in arguments else ()
        self.process = subprocess.Popen(
            [*prefix, *COMMAND, "--grpc-server-addr", "127.0.0.1:0", *engine, *arguments],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        try:
            self.port = self._read_port()
        except BaseException:  # pytest's time limit included
            self.process.kill()
            self.process.wait()
            raise

    def _read_port(self) -> int:
        """Waits until the switch is ready."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if "listening" in line:
                return int(line.split(", ports")[0].rpartition(":")[2])
        raise AssertionError(f"the switch ended with {self.process.wait(WAIT_S)}: {self.lines}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and returns the exit status."""
        assert self.process.stderr is not None
        if self.process.stderr.closed:
            return self.process.wait(WAIT_S)
        self.process.send_signal(number)
        with self.process.stderr:
            self.lines += self.process.stderr
        return self.process.wait(WAIT_S)
