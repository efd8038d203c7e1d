"""Every example of the documentation and of every command's help, as printed, on a network of their own.

Networks of other users of this machine aren't seen: a mount namespace of its own has its own /run/pcn-lab.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from controller import cli

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 120.0
# Few packets a second: here it matters that commands work, on any machine.
NETWORK = "pcn up compact --set senders=4 --set rate_bps=4e9 --dilation 200 --network lab"
ENDLESS = re.compile(r"pcn (run|figure)|pcn watch(?!.*--once)|pcn log.*--follow|pcn pcap(?!.*(--for|--count))")
LIFE = re.compile(r"pcn (up|down|run|figure)\b")
LAB = re.compile(r"pcn (deploy|host)\b")  # test_lab_examples.py has a lab for them


class Machine:
    """A shell's view: a directory, a home, `pcn` on the PATH, and a mount namespace."""

    def __init__(self, directory: Path, namespace_pid: int) -> None:
        self.directory = directory
        self._pid = namespace_pid
        binaries = directory / "bin"
        binaries.mkdir()
        command = binaries / "pcn"
        # Without the script's folder, as -P has it from Python 3.11 on.
        lines = "import sys\nsys.path.pop(0)\nfrom controller.cli import main\nmain()\n"
        command.write_text(f"#!{sys.executable}\n{lines}")
        command.chmod(0o755)
        (directory / ".config" / "fish" / "completions").mkdir(parents=True)
        path = f"{binaries}:{os.environ['PATH']}"
        cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # what is compiled already
        home = {"HOME": str(directory), "XDG_CACHE_HOME": cache}
        self._env = {**os.environ, "PATH": path, **home, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}

    def start(self, line: str) -> subprocess.Popen[str]:
        inside = ["nsenter", "-t", str(self._pid), "-m", "-n", "bash", "-c", f'cd "$0" && {line}', str(self.directory)]
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
        """To its end, or, what has none, until it said something and was interrupted; its output."""
        with self.start(line) as process:
            assert process.stdout is not None
            said, codes = "", {0}
            try:
                if ENDLESS.match(line) and "--help" not in line:
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


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """No network is up."""
    yield from machine(tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The network that examples speak of is up."""
    for made in machine(tmp_path_factory.mktemp("network")):
        made.run(NETWORK)
        yield made


def machine(directory: Path) -> Iterator[Machine]:
    held = "mkdir -p /run/pcn-lab && mount -t tmpfs tmpfs /run/pcn-lab && echo ready && exec sleep infinity"
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", held]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            made = Machine(directory, holder.pid)
            try:
                yield made
            finally:
                made.run("pcn down")
        finally:
            holder.terminate()


def helps() -> dict[str, list[str]]:
    """Examples of each command's help, by the command."""
    found: dict[str, list[str]] = {}

    def collect(words: str, command: click.Command) -> None:
        context = click.Context(command, info_name=words)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                sub = command.get_command(context, name)
                assert sub is not None
                collect(f"{words} {name}", sub)
        # A comment follows after two spaces.
        lines = [line.strip() for line in (command.help or "").split("Examples:")[-1].splitlines()]
        found[words] = [re.split(r" {2,}", line)[0] for line in lines if re.match(r"(pcn|echo) ", line)]

    collect("pcn", cli.pcn)
    return found


def documents() -> dict[str, list[str]]:
    """Lines with our command in the README and in docs/."""
    found = {}
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        lines = re.findall(r"^ {4}((?:\.venv/bin/)?pcn .*|echo .*\| pcn .*)$", path.read_text(), re.MULTILINE)
        if lines:
            found[path.name] = [line.removeprefix(".venv/bin/") for line in lines]
    return found


HELPS, DOCUMENTS = helps(), documents()
LINES = [*HELPS.items(), *DOCUMENTS.items()]


def on_a_network(line: str) -> bool:
    return not (LIFE.match(line) or LAB.match(line))


def network_lines() -> dict[str, list[str]]:
    """What needs a network, each line where it is first shown: commands take a second, and many are shown twice."""
    seen: set[str] = set()
    found = {}
    for name, lines in LINES:
        if new := [line for line in lines if on_a_network(line) and line not in seen]:
            found[name] = new
            seen.update(new)
    return found


@pytest.mark.parametrize("lines", network_lines().values(), ids=network_lines())
def test_examples_on_a_network_that_is_up(network: Machine, lines: list[str]) -> None:
    network.run("pcn flow start h0 r0 --rate 1G --duration 100ms --count 2")
    for line in lines:
        network.run(line)
    if any("flow start" in line for line in lines):
        network.run("pcn flow stop --all")


@pytest.mark.parametrize("line", sorted({line for _, lines in LINES for line in lines if LIFE.match(line)}))
def test_examples_that_bring_a_network_up_or_down(empty: Machine, line: str) -> None:
    try:
        if "bmv2" in line and subprocess.run(["which", "simple_switch_grpc"], check=False).returncode != 0:
            with pytest.raises(AssertionError, match="simple_switch_grpc is not installed"):
                empty.run(line)
        else:
            empty.run(line)
    finally:
        if line.startswith("pcn up"):
            empty.run("pcn down")


def test_every_page_was_found() -> None:
    assert {"README.md", "bmv2.md", "commands.md"} <= set(DOCUMENTS)
    assert all(HELPS.values()), [name for name, lines in HELPS.items() if not lines]


@pytest.mark.parametrize(
    "block", re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
)
def test_the_python_page(network: Machine, tmp_path: Path, block: str) -> None:
    (tmp_path / "example.py").write_text(block)
    assert network.run(f"cd {tmp_path} && {sys.executable} example.py")
