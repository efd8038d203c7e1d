"""The examples of a lab with a Tofino switch, as printed: where eth2 is cabled to another host, and Stratum's stand-in
answers at the switch's address."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Machine, machine

from examples import LAB, LINES, ROOT

pytestmark = pytest.mark.root
SWITCH = "192.0.2.10"
PORT = 9559
PREPARE = (
    "ip link set lo up",
    f"ip addr add {SWITCH}/32 dev lo",
    "ip link add eth2 type veth peer name far",
    "ip addr add 10.0.0.1/24 dev eth2",
    "ip link set eth2 up",
    "ip link set far up",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("lab"), "-n", prepare=PREPARE) as made:
        serve = [sys.executable, str(ROOT / "tests/tofino/stratum.py"), f"{SWITCH}:{PORT}"]
        with subprocess.Popen(
            [*made.enter, *serve],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        ) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield made


@pytest.mark.parametrize("where", [name for name, lines in LINES if any(map(LAB.match, lines))])
def test_examples_of_a_lab(lab: Machine, where: str) -> None:
    for line in dict(LINES)[where]:
        if LAB.match(line):
            lab.run(line)


def test_the_sample_names_what_the_hosts_have(lab: Machine) -> None:
    lab.run("pcn deploy --sample > ports.yaml")
    assert "to: 10.0.0.1, port: 128" in Path(lab.directory / "ports.yaml").read_text()
