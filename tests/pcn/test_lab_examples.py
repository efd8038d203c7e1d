"""The examples of a lab with a Tofino switch, as printed: where eth2 is cabled to another host, and
stand-ins of Stratum and of the driver answer at the switch's address."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from machine import Machine, machine

from examples import LAB, ROOT, each_once

pytestmark = pytest.mark.root
SWITCH = "192.0.2.10"
TOFINO = ROOT / "tests/tofino"
LAB_LINES = each_once(LAB.match)
PREPARE = (
    "ip link set lo up",
    f"ip addr add {SWITCH}/32 dev lo",
    "ip link add eth2 type veth peer name far",
    "ip addr add 10.0.0.1/24 dev eth2",
    "ip link set eth2 up",
    "ip link set far up",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Machine]:
    sde = tmp_path_factory.mktemp("sde")
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.syspath_prepend(str(TOFINO))
        import_module("bfrt_description").install(sde)
        patch.setenv("SDE_INSTALL", str(sde))
        test_machine = stack.enter_context(
            machine(tmp_path_factory.mktemp("lab"), "-n", prepare=PREPARE)
        )
        for server, address in (
            ("stratum.py", f"{SWITCH}:9559"),
            ("bfrt_driver.py", "0.0.0.0:50052"),
        ):
            stack.enter_context(serving(test_machine, server, address))
        yield test_machine


@contextlib.contextmanager
def serving(machine: Machine, server: str, address: str) -> Iterator[None]:
    """Runs a stand-in of the switch in the machine's namespaces."""
    with subprocess.Popen(
        [*machine.enter, sys.executable, str(TOFINO / server), address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src")},
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield


@pytest.mark.parametrize("lines", LAB_LINES.values(), ids=LAB_LINES)
def test_examples_of_a_lab(lab: Machine, lines):
    for line in lines:
        lab.run(line)


def test_the_sample_names_what_the_hosts_have(lab: Machine):
    lab.run("pcn deploy --sample > ports.yaml")
    assert "to: 10.0.0.1, port: 128" in Path(lab.directory / "ports.yaml").read_text()
