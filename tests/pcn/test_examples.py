"""Every example of the documentation and of every command's help, as printed, on a network of their own.

Networks of other users of this machine aren't seen: a mount namespace of its own has its own /run/pcn-lab.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import needs
import pytest
from own_pids import OWN_PIDS
from waiting import LIMIT_S

import examples
from controller.units import quantity
from examples import ROOT
from pcn import cli
from pcn.commands.network import DEFAULT_DILATION
from topologies.compact import compact

# Few packets a second: here it matters that commands work, on any machine.
pytestmark = pytest.mark.long

NETWORK = "pcn up compact --set senders=4 --set rate_bps=5e9 --dilation 250 --network lab"
FLOWS = "pcn flow start h0 r0 --rate 200M --count 2"
ENDLESS = re.compile(r"pcn (run|figure|sweep)|pcn watch(?!.*--once)|pcn log.*--follow|pcn pcap(?!.*(--for|--count))")
LIFE = re.compile(r"pcn (up|down|run|figure|sweep)\b")
LAB_ONLY = re.compile(r"export CHASSIS_CONFIG=|start-stratum-container.sh |bfshell ")  # the switch's own system
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
        lines = "import sys\nsys.path.pop(0)\nfrom pcn.cli import main\nif __name__ == '__main__':\n    main()\n"
        command.write_text(f"#!{sys.executable}\n{lines}")
        command.chmod(0o755)
        (directory / ".config" / "fish" / "completions").mkdir(parents=True)
        (directory / "examples").symlink_to(ROOT / "examples")
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


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """No network is up."""
    yield from machine(tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The network that examples speak of is up, with flows."""
    for made in machine(tmp_path_factory.mktemp("network")):
        made.run(NETWORK)
        made.run(FLOWS)
        yield made


def machine(directory: Path) -> Iterator[Machine]:
    held = "mkdir -p /run/pcn-lab && mount -t tmpfs tmpfs /run/pcn-lab && echo ready && exec cat"
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", held]
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


COMMANDS = (ROOT / "docs" / "commands.md").read_text()
PRINTED = examples.commands()
OURS = {
    name: lines
    for name, all_lines in PRINTED.items()
    if (lines := [line for line in all_lines if re.match(r"pcn |echo .*\| pcn ", line)])
}
HELPS = helps()
LINES = [*HELPS.items(), *OURS.items()]


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


@pytest.mark.root
@pytest.mark.parametrize("lines", network_lines().values(), ids=network_lines())
def test_examples_on_a_network_that_is_up(network: Machine, lines: list[str]) -> None:
    for line in lines:
        network.run(line)
    if any(re.search("flow (start|stop)", line) for line in lines):
        network.run("pcn flow stop --all")
        network.run(FLOWS)


@pytest.mark.root
@pytest.mark.parametrize("line", sorted({line for _, lines in LINES for line in lines if LIFE.match(line)}))
def test_examples_that_bring_a_network_up_or_down(empty: Machine, line: str) -> None:
    try:
        if "bmv2" in line and subprocess.run(["which", "simple_switch_grpc"], check=False).returncode != 0:
            with pytest.raises(AssertionError, match="simple_switch_grpc is not installed"):
                empty.run(line)
        else:
            if line.startswith("pcn down "):
                empty.run(f"pcn up {line.removeprefix('pcn down ')} --set pairs=1")
            empty.run(line)
    finally:
        if line.startswith("pcn up"):
            empty.run("pcn down")


def test_the_tour_s_burst_is_there_when_one_looks() -> None:
    """Longer than the commands that look at it take, on `pcn up compact` as it is."""
    (size, count), *others = re.findall(r"pcn flow start h2 r1 --size (\S+) --count (\d+)", COMMANDS)
    assert not others
    rate_bps = compact().link_at("s1", 2).rate_bps
    assert quantity("size", size) * int(count) * 8 / rate_bps * DEFAULT_DILATION >= 20


OTHERS = sorted(
    {line for lines in PRINTED.values() for line in lines} - {one for lines in OURS.values() for one in lines}
)
MAKE = [line for line in OTHERS if line.startswith("make ")]
MININET = [line for line in OTHERS if line.startswith("mn ")]
JUDGES = [line for line in OTHERS if line.startswith("python tests/")]
SHORTER = {
    r"live.py --seeds 1:\d+": "live.py --seeds 6:6",
    r"1:\d+": "1:3",
    r"--updates \d+": "--updates 300 --program bench",
    r"--target \S+": "--target embedded --updates 100",
    r"--each \d+": "--each 0",
    r"--jobs \d+": "--jobs 1",
}


@pytest.mark.root
@pytest.mark.parametrize("line", MININET)
def test_mininet_s_own_command(empty: Machine, tmp_path: Path, line: str) -> None:
    """In the checkout, where a file that a page says to save is."""
    (tmp_path / "lab").symlink_to(ROOT / "lab")
    (page,) = [page for page, lines in PRINTED.items() if line in lines]
    for name, text in examples.files(f"{page}-1").items():
        (tmp_path / name).write_text(text)
    assert "Starting CLI" in empty.run(f"cd {tmp_path} && {' '.join(OWN_PIDS)} {line}")


@pytest.mark.root
@pytest.mark.parametrize("line", JUDGES)
def test_judges_of_trust_md_for_a_moment(line: str, tmp_path: Path) -> None:
    """They take hours: here, that they go."""
    for pattern, short in SHORTER.items():
        line = re.sub(pattern, short, line)
    _, script, *words = shlex.split(line)
    command = [sys.executable, ROOT / script, *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "--p4testgen FILE" in line:  # which this project hasn't
        assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "sweep.py: error: there is no FILE")
    else:
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line", [line for line in OTHERS if line not in (*MAKE, *MININET, *JUDGES)])
def test_what_only_a_switch_s_own_system_has(line: str) -> None:
    """In a lab, by hand: nothing here can run it."""
    assert LAB_ONLY.match(line), f"no test runs {line!r}"
    needs.missing(needs.TOFINO)


@pytest.mark.parametrize("line", [*MAKE, *examples.inline("make")])
def test_what_make_is_asked_for_is_there(line: str) -> None:
    """Targets are minutes each, and tested as what they call: here, that they are."""
    dry = {**os.environ, "MAKEFLAGS": "n"}  # not `-n` behind the line: the make before an && would be real
    done = subprocess.run(line, shell=True, env=dry, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", examples.inline("pcn"))
def test_commands_in_running_text_have_these_names_and_options(line: str) -> None:
    _, *words = line.split()
    command: click.Command = cli.pcn
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        assert found or words[0].isupper(), f"no command {words[0]}"
        if found is None:
            return
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("line", examples.inline("python"))
def test_programs_in_running_text_are_there(line: str) -> None:
    _, first, *rest = line.split()
    path = Path(*rest[0].split(".")) if first == "-m" else Path(first)
    assert (ROOT / path).exists() or (ROOT / path.with_suffix(".py")).exists()


def test_every_page_was_found() -> None:
    assert {"README.md", "bmv2.md", "commands.md"} <= set(OURS)
    assert {"python.md-1", "virtualnet.md-1"} <= set(examples.python())
    assert all(HELPS.values()), [name for name, lines in HELPS.items() if not lines]
    assert all(f"docs/{name.rpartition('-')[0]}" in test.read_text() for name, test in ELSEWHERE.items())
    for page in examples.PAGES:
        for block in examples.blocks(page):
            assert not any(re.match(r" *(import|from \S+ import) ", line) for line in block), (
                f"{page}: fence it as python"
            )


ELSEWHERE = {"test-clock.md-1": ROOT / "tests" / "p4runtime" / "test_p4rt_clock.py"}
"""Blocks that another test runs."""
HERE = {name: block for name, block in examples.python().items() if name not in ELSEWHERE}
LIVE = {name: block for name, block in HERE.items() if re.search(r"\b(Lab|attach|find)\(", block)}


def save(name: str, place: Path) -> None:
    """The block as example.py, beside what its page says to save."""
    for file, text in examples.files(name).items():
        (place / file).write_text(text)
    (place / "example.py").write_text(examples.python()[name])


ALONE = {name: block for name, block in HERE.items() if name not in LIVE}


@pytest.mark.root
@pytest.mark.parametrize("name", LIVE)
def test_python_with_a_network_that_is_up(network: Machine, tmp_path: Path, name: str) -> None:
    save(name, tmp_path)
    network.run("pcn flow start h0 r1 --size 10KB")
    said = network.run(f"cd {tmp_path} && {sys.executable} example.py")
    assert said
    if "P4TableEntry" in LIVE[name]:
        assert "port=0x1 set_pfc(xoff_bytes=" in said
        assert re.search(r"^port 2, class 3: \d+ packets$", said, re.MULTILINE)


@pytest.mark.parametrize("name", ALONE)
def test_python_in_virtual_time(tmp_path: Path, name: str) -> None:
    """As any user."""
    save(name, tmp_path)
    command = [sys.executable, "example.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or name.startswith(("topologies.md-1", "schemes.md"))
