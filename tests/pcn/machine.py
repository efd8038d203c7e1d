"""Runs commands as a user types them, in a shell's view of a separate machine.

Networks of other users of this machine aren't seen: a separate mount namespace has its own /run/pcn-lab.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import planted_modules
from waiting import LIMIT_S

from examples import ROOT

ENDLESS = re.compile(
    r"pcn (run|figure|sweep|view(?!.*--save))|pcn p4 run(?!.*--clock virtual)|pcn p4 run.*--web|pcn watch(?!.*--once)|"
    r"pcn log.*--follow|pcn pcap(?!.*(--for|--count))"
)


class Machine:
    """A shell's view: a directory, a home, `pcn` on the PATH, and namespaces; `enter` begins a command in these."""

    def __init__(self, directory: Path, namespace_pid: int) -> None:
        self.directory = directory
        self.enter = ["nsenter", "-t", str(namespace_pid), "-m", "-n"]
        binaries = directory / "bin"
        binaries.mkdir()
        command = binaries / "pcn"
        # Without the script's folder, as -P has it from Python 3.11 on.
        lines = "import sys\nsys.path.pop(0)\nfrom pcn.cli import main\nif __name__ == '__main__':\n    main()\n"
        command.write_text(f"#!{sys.executable}\n{lines}")
        command.chmod(0o755)
        (directory / ".config" / "fish" / "completions").mkdir(parents=True)
        (directory / "examples").symlink_to(ROOT / "examples")
        path = f"{binaries}:{os.environ['PATH']}"
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # what is compiled already
        home = {"HOME": str(directory), "XDG_CACHE_HOME": cache}
        planted_modules.plant(directory)
        self._env = {**os.environ, "PATH": path, **home, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}

    def start(self, line: str) -> subprocess.Popen[str]:
        inside = [*self.enter, "bash", "-c", f'cd "$0" && {line}', str(self.directory)]
        return subprocess.Popen(
            inside,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",  # the one's words may come in the middle of the other's character
            start_new_session=True,
        )

    def run(self, line: str) -> str:
        """Runs a command to its end, or interrupts one without end after its first output; returns its output."""
        with self.start(line) as process:
            assert process.stdout is not None
            said, codes = "", {0}
            try:
                if ENDLESS.match(line) and "--help" not in line and "--list" not in line:
                    said = process.stdout.readline()
                    os.killpg(process.pid, signal.SIGINT)
                    codes = {0, 128 + signal.SIGINT}
                said += process.communicate(timeout=LIMIT_S)[0]
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            assert process.returncode in codes, f"{line}: status {process.returncode}: {said}"
            assert "Traceback" not in said
            return said


@contextmanager
def machine(directory: Path, *unshared: str, prepare: tuple[str, ...] = ()) -> Iterator[Machine]:
    """In a mount namespace; `unshared`: more namespaces, as unshare(1) has them; `prepare`: lines of sh in them. A
    network that is up at the end is taken down."""
    lines = (
        "mkdir -p /run/pcn-lab",
        "mount -t tmpfs -o mode=700 tmpfs /run/pcn-lab",
        *prepare,
        "echo ready",
        "exec cat",
    )
    command = ["unshare", "-m", *unshared, "--propagation", "private", "sh", "-c", " && ".join(lines)]
    # Ctrl-C isn't for the holder, as what is up in its namespace has to go down first; it ends with its stdin, too.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            made = Machine(directory, holder.pid)
            try:
                yield made
                planted_modules.check(directory)
            finally:
                made.run("pcn down --all")
        finally:
            holder.terminate()
