"""Runs commands as a user types them, in a shell's view of a separate machine.

Networks of other users of this machine aren't seen: a separate mount namespace has its own
/run/pcn-lab.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import planted_modules
from forks import Forked, Forks, forks

from examples import ROOT

ENDLESS = re.compile(
    r"pcn (run|figure|sweep|view(?!.*--save))|pcn p4 run(?!.*--clock virtual)|pcn p4 "
    r"run.*--web|pcn watch(?!.*--once)|"
    r"pcn log.*--follow|pcn pcap(?!.*(--for|--count))"
)


PLAIN = re.compile(r"[\w ./:,=%@+-]+")
"""A line in which the shell has nothing to do but to find its words."""


class Machine:
    """A shell's view: a directory, a home, `pcn` on the PATH, and namespaces; `enter` begins a
    command in these. The first of a command's plain lines is a new process of bash and Python, the
    others are forks of one in `forks.py`."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.enter: list[str] = []
        self.forks: Forks
        self._begun: set[str] = set()
        binaries = directory / "bin"
        binaries.mkdir()
        command = binaries / "pcn"
        # Without the script's folder, as -P has it from Python 3.11 on.
        lines = (
            "import sys\nsys.path.pop(0)\nfrom pcn.cli import main\nif __name__ == '__main__':\n   "
            " main()\n"
        )
        command.write_text(f"#!{sys.executable}\n{lines}")
        command.chmod(0o755)
        (directory / ".config" / "fish" / "completions").mkdir(parents=True)
        (directory / "examples").symlink_to(ROOT / "examples")
        path = f"{binaries}:{os.environ['PATH']}"
        # what is compiled already
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        home = {"HOME": str(directory), "XDG_CACHE_HOME": cache}
        planted_modules.plant(directory)
        self.environment = {
            **os.environ, "PATH": path, **home, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80",
        }  # fmt: skip

    def start(self, line: str) -> subprocess.Popen[str]:
        inside = [*self.enter, "bash", "-c", f'cd "$0" && {line}', str(self.directory)]
        return subprocess.Popen(
            inside,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",  # the one's words may come in the middle of the other's character
            start_new_session=True,
        )

    def run(self, line: str, *, to_its_end: bool = False) -> str:
        """Runs a command to its end, or interrupts one that takes long after its first output;
        returns its output."""
        words = line.split()
        again = PLAIN.fullmatch(line) and words[0] == "pcn" and words[1] in self._begun
        self._begun.update(words[1:2] if words[0] == "pcn" else ())
        with self.forks.begin(words, self.directory) if again else self.start(line) as process:
            takes_long = (
                ENDLESS.match(line)
                and not to_its_end
                and "--help" not in line
                and "--list" not in line
            )
            return finish(process, line, interrupt=bool(takes_long))


def finish(
    process: Forked | subprocess.Popen[str], line: str, *, interrupt: bool = False, wanted: int = 0
) -> str:
    """Waits for the command's end, or interrupts it after its first output; returns its output."""
    output, code, codes = "", None, {wanted}
    assert process.stdout is not None
    try:
        if interrupt:
            output = process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
            codes = {0, 128 + signal.SIGINT}
        output += process.stdout.read()
        code = process.wait()
    finally:
        if code is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert code in codes, f"{line}: status {code}: {output}"
    assert "Traceback" not in output
    return output


@contextmanager
def machine(directory: Path, *unshared: str, prepare: tuple[str, ...] = ()) -> Iterator[Machine]:
    """In a mount namespace; `unshared`: more namespaces, as unshare(1) has them; `prepare`: lines
    of sh in them. A network that is up at the end is taken down."""
    lines = (
        "mkdir -p /run/pcn-lab",
        "mount -t tmpfs -o mode=700 tmpfs /run/pcn-lab",
        *prepare,
        'exec "$0" "$@"',
    )
    machine = Machine(directory)
    holder = (
        "unshare", "-m", *unshared, "--propagation", "private", "sh", "-c", " && ".join(lines),
    )  # fmt: skip
    with forks(directory, machine.environment, *holder) as machine.forks:
        machine.enter = ["nsenter", "-t", str(machine.forks.pid), "-m", "-n"]
        try:
            yield machine
            planted_modules.check(directory)
        finally:
            machine.run("pcn down --all")
