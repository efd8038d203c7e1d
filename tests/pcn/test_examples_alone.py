"""Every example of the documentation and of every command's help that needs no network that is up,
as printed: they bring one up themselves, run in virtual time, or call make, Mininet and the judges
of docs/trust.md."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
import sanitizers
from chakra_trace import ALL_REDUCE, COLLECTIVE, Node, trace
from machine import Machine, finish, machine
from own_pids import OWN_PIDS

import examples
from examples import LIFE, LINES, OURS, PRINTED, ROOT
from pcn.base.units import quantity
from pcn.hosts.algorithms import find_scheme
from pcn.lab.inside.log import End, Head, Writer
from pcn.topologies.compact import compact
from pcn.topologies.serialise import to_dict

pytestmark = pytest.mark.long

LAB_ONLY = re.compile(  # the switch's own system, and the way to it
    r"export (CHASSIS_CONFIG|SDE_INSTALL|LD_LIBRARY_PATH)=|start-stratum-container.sh |bfshell "
    r"|ssh -f -N -L "
    r"|\$EDITOR ports.yaml$|echo '\{\"PortToVeth\"|tofino-model --no-cli |bf_switchd --install-dir "
)
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
OTHERS = sorted(
    {line for lines in PRINTED.values() for line in lines}
    - {line for lines in OURS.values() for line in lines}
)
MAKE = [line for line in OTHERS if line.startswith("make ")]
MININET = [line for line in OTHERS if line.startswith("mn ")]
ACTION = [line for line in OTHERS if line.startswith("bash ptf-tests/action.sh ")]
JUDGES = [line for line in OTHERS if line.startswith("python judges/")]
RESULT = (
    "pcn run traffic --clock virtual --topology star --set count=20 --scheme pcn,pfc --out "
    "results/mine"
)
"""What examples compare."""
EXPLAINED = (
    "pcn run traffic --topology star --set count=300 --scheme dctcp --clock virtual --out "
    "results/star"
)
"""What examples explain."""
COVERED = "pcn p4 run examples/router --clock virtual --coverage coverage"
"""What examples merge."""
SHORTER = {
    r"live.py --seeds 1:\d+": "live.py --seed 21",
    r"1:\d+": "1:1",
    r"--updates \d+": "--updates 300 --program bench",
    r"--target \S+": "--target embedded --updates 100",
    r"--each \d+": "--each 0",
    r"--minutes \d+": "--minutes 0.01 --topology star",
    r"fuzz_frames.py all \d+": "fuzz_frames.py pcn 0 1 100",
    r"fuzz SECONDS ": "fuzz 0.2 ",
    r"(fuzz_(?:formats|flows|traces|switches|results)).py SECONDS": r"\1.py 0.1",
    r"--jobs \d+": "--jobs 1",
    "test_virtual_threads.py": (
        "test_virtual_threads.py -k nodes"
    ),  # judges/test_sanitizers.py runs all of it
}


def _session(path: Path):
    """Writes the log of a session that changed nothing."""
    scheme = find_scheme("pcn").configure()
    head = Head("mine", to_dict(compact()), "pcn", vars(scheme.parameters), [], 1, 60.0)
    with path.open("wb") as file:
        Writer(file, head).end(End(1e-3, "0" * 16, 0))


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Iterator[Machine]:
    """No network is up; files that pages use are there."""
    with machine(tmp_path_factory.mktemp("empty")) as test_machine:
        for name, text in examples.files("topologies.md-1").items():
            (test_machine.directory / name).write_text(text)
        for file in (ROOT / "tests/topologies/files").iterdir():
            shutil.copy(file, test_machine.directory)
        shutil.copy(ROOT / "tests/topologies/files/racks.yaml", test_machine.directory / "net.yaml")
        (test_machine.directory / "trace").mkdir()
        work = {"comm_type": ALL_REDUCE, "comm_size": 1_000_000}
        trace(
            test_machine.directory / "trace",
            [[Node(0, COLLECTIVE, values=work)] for _ in range(8)],
            name="allreduce",
        )
        _session(test_machine.directory / "commands.jsonl")
        test_machine.run(RESULT, to_its_end=True)
        test_machine.run(EXPLAINED, to_its_end=True)
        test_machine.run(COVERED, to_its_end=True)
        for name in ("ping.json", "data.json"):
            shutil.copy(
                test_machine.directory / "coverage/coverage.json", test_machine.directory / name
            )
        yield test_machine


FEWER = {"pcn up compact": "--set senders=2", "pcn up dumbbell": "--set pairs=1"}
"""Hosts of networks that come up to go down at once."""
ENDS = {"pcn down", "pcn down dumbbell", "pcn down --all"}
"""Of what has come up; the last one that of the machine."""
LIFE_LINES = {line for _, lines in LINES for line in lines if LIFE.match(line)} - ENDS
UP = [set(line.split()) for line in LIFE_LINES if line.startswith("pcn up")]
"""A line whose words are all in another of these is run as that one."""


@pytest.mark.root
@pytest.mark.parametrize(
    "line",
    sorted(line for line in LIFE_LINES if not any(set(line.split()) < words for words in UP)),
)
def test_examples_that_bring_a_network_up_or_down(empty: Machine, line):
    fewer = next(
        (more for begin, more in FEWER.items() if line.startswith(begin) and "--set" not in line),
        "",
    )
    try:
        if "bmv2" in line and shutil.which("simple_switch_grpc") is None:
            with pytest.raises(AssertionError, match="simple_switch_grpc is not installed"):
                empty.run(line, to_its_end=True)
        else:
            empty.run(f"{line} {fewer}".strip())
    finally:
        if line.startswith("pcn up"):
            named = "dumbbell" if line.startswith("pcn up dumbbell") and "bmv2" not in line else ""
            output = empty.run(f"pcn down {named}".strip())
            assert ("removed network" in output) == (
                "bmv2" not in line or shutil.which("simple_switch_grpc") is not None
            )


def test_the_tour_s_burst_is_there_when_one_looks():
    """Longer than the commands that look at it take, at the tour's k."""
    (size, count), *others = re.findall(
        r"pcn flow start h2 r1 --size (\S+) --count (\d+)", COMMANDS
    )
    assert not others
    (k,) = re.findall(r"pcn up compact --scheme pcn -k (\d+)", COMMANDS)
    rate_bps = compact().link_at("s1", 2).rate_bps
    assert quantity("size", size) * int(count) * 8 / rate_bps * int(k) >= 20


@pytest.mark.root
@pytest.mark.parametrize("line", MININET)
def test_mininet_s_own_command(empty: Machine, tmp_path, line):
    """In the checkout, with the files that a page names for saving."""
    (tmp_path / "lab").symlink_to(ROOT / "lab")
    (page,) = [page for page, lines in PRINTED.items() if line in lines]
    for name, text in examples.files(f"{page}-1").items():
        (tmp_path / name).write_text(text)
    assert "Starting CLI" in empty.run(f"cd {tmp_path} && {' '.join(OWN_PIDS)} {line}")


@pytest.mark.root
@pytest.mark.parametrize("line", ACTION)
def test_action_s_script_runs_as_printed(line):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        line, shell=True, cwd=ROOT, env={**os.environ, "PATH": path}, check=True,
        capture_output=True,
    )  # fmt: skip


@pytest.mark.root
@pytest.mark.parametrize("line", JUDGES)
def test_judges_of_trust_md_for_a_moment(empty: Machine, line, tmp_path):
    """They take hours: here, that they go."""
    for pattern, short in SHORTER.items():
        line = re.sub(pattern, short, line)
    words = [
        str(ROOT / word) if (ROOT / word).is_file() else word for word in shlex.split(line)[1:]
    ]
    if "sanitizers.py" in line and sanitizers.environment() is None:
        needs.missing(needs.SANITIZERS)
    there_is_none = "--p4testgen FILE" in line  # this project hasn't got it
    with empty.forks.begin(words, tmp_path) as process:
        output = finish(process, line, wanted=2 if there_is_none else 0)
    assert not there_is_none or output.splitlines()[-1] == "sweep.py: error: there is no FILE"


@pytest.mark.parametrize(
    "line", [line for line in OTHERS if line not in (*MAKE, *MININET, *JUDGES, *ACTION)]
)
def test_what_only_a_switch_s_own_system_has(line):
    """In a lab, by hand: nothing here can run it."""
    assert LAB_ONLY.match(line), f"no test runs {line!r}"
    needs.missing(needs.TOFINO)


@pytest.mark.parametrize("line", [*MAKE, *examples.inline("make")])
def test_make_targets_of_pages_exist(line):
    """Targets are minutes each, and tested as what they call: here, that they are."""
    # not `-n` behind the line: the make before an && would be real
    dry = {**os.environ, "MAKEFLAGS": "n"}
    line = line.removesuffix(" && . .venv/bin/activate")  # which a dry run hasn't made
    done = subprocess.run(
        line, shell=True, env=dry, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
