"""Every example of the documentation and of every command's help that needs a network that is up,
as printed; Python's of all kinds; and what running text names. test_examples_alone.py and
test_lab_examples.py have the others."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import forks
import pytest
from machine import Machine, finish, machine

import examples
from examples import HELPS, IMPORT, LAB, LIFE, OURS, ROOT
from pcn import cli

# Few packets a second: here it matters that commands work, on any machine.
pytestmark = pytest.mark.long

NETWORK = "pcn up compact --set senders=4 --set rate_bps=5G --dilation 250 --network lab"
FLOWS = "pcn flow start h0 r0 --rate 50M --count 2"


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Iterator[Machine]:
    """The network that examples speak of is up, with flows."""
    with machine(tmp_path_factory.mktemp("network")) as test_machine:
        test_machine.run(NETWORK)
        test_machine.run(FLOWS)
        yield test_machine


def on_a_network(line: str) -> bool:
    return not (LIFE.match(line) or LAB.match(line) or IMPORT.match(line))


NETWORK_LINES = examples.each_once(on_a_network)


@pytest.mark.root
@pytest.mark.parametrize("lines", NETWORK_LINES.values(), ids=NETWORK_LINES)
def test_examples_on_a_network_that_is_up(network: Machine, lines):
    for line in lines:
        network.run(line)
    if any(re.search("flow (start|stop)", line) for line in lines):
        network.run("pcn flow stop --all")
        network.run(FLOWS)


@pytest.mark.parametrize("line", examples.inline("pcn"))
def test_commands_in_running_text_have_these_names_and_options(line):
    _, *words = line.split()
    command = cli.pcn
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        subcommand = command.get_command(click.Context(command), words[0])
        assert subcommand or words[0].isupper(), f"no command {words[0]}"
        if subcommand is None:
            return
        command, words = subcommand, words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("line", examples.inline("python"))
def test_programs_in_running_text_are_there(line):
    _, first, *rest = line.split()
    path = Path(*rest[0].split(".")) if first == "-m" else Path(first)
    assert (ROOT / path).exists() or (ROOT / path.with_suffix(".py")).exists()


def test_every_page_was_found():
    assert {"README.md", "bmv2.md", "commands.md"} <= set(OURS)
    assert {"python.md-1", "virtualnet.md-1"} <= set(examples.python())
    assert all(HELPS.values()), [name for name, lines in HELPS.items() if not lines]
    for name, test in ELSEWHERE.items():
        assert (
            "tutorial/" if name.startswith("tutorial/") else name.rpartition("-")[0]
        ) in test.read_text()
    for page in examples.PAGES:
        for block in examples.blocks(page):
            assert not any(re.match(r" *(import|from \S+ import) ", line) for line in block), (
                f"{page}: fence it as python"
            )


ELSEWHERE = {
    "test-clock.md-1": ROOT / "tests" / "p4runtime" / "test_p4rt_clock.py",
    "softswitch/README.md-1": ROOT / "tests" / "p4runtime" / "test_p4rt_readme.py",
    **{
        name: ROOT / "tests" / "pcn" / "test_tutorial.py"
        for name in examples.python()
        if name.startswith("tutorial/")
    },
}
"""Blocks that another test runs."""
HERE = {name: block for name, block in examples.python().items() if name not in ELSEWHERE}
LIVE = {name: block for name, block in HERE.items() if re.search(r"\b(Lab|attach|find)\(", block)}


def save(name: str, place: Path):
    """The block as example.py, beside the files that its page names for saving."""
    for file, text in examples.files(name).items():
        (place / file).write_text(text)
    (place / "example.py").write_text(examples.python()[name])
    (place / "examples").symlink_to(ROOT / "examples")


ALONE = {name: block for name, block in HERE.items() if name not in LIVE}


@pytest.mark.root
@pytest.mark.parametrize("name", LIVE)
def test_python_with_a_network_that_is_up(network: Machine, tmp_path, name):
    save(name, tmp_path)
    network.run("pcn flow start h0 r1 --size 10KB")
    with network.forks.begin(["example.py"], tmp_path) as process:
        output = finish(process, name)
    assert output
    if "P4TableEntry" in LIVE[name]:
        assert "port=0x1 set_pfc(xoff_bytes=" in output
        assert re.search(r"^port 2, class 3: \d+ packets$", output, re.MULTILINE)


@pytest.mark.parametrize("name", ALONE)
def test_python_in_virtual_time(tmp_path, name):
    save(name, tmp_path)
    done = forks.run("example.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout or name.startswith(("topologies.md-1", "schemes.md", "virtualnet.md-6"))
