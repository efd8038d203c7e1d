"""What a test may need of the machine, and what becomes of the test where that is missing."""

import os
import shutil
from dataclasses import dataclass
from typing import NoReturn

import pytest


@dataclass(frozen=True)
class Need:
    """`lacking` names what is missing, `command` runs the tests that need it. `optional`: no Debian
    package has it, so its tests are skipped; any other's fail, as `make test` installs it."""

    lacking: str
    command: str
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.lacking}: {self.command}"


def _package(program: str) -> Need:
    return Need(f"no {program}", "make test installs it")


BY_ENGINE = bool(os.environ.get("PCN_TEST_ENGINE"))
"""Whether the engine moves the packets of live switches that tests start."""
TARGETS = ("softswitch", "bmv2")
ROOT = Need("no root, for network namespaces", "sudo make unit", optional=True)
SYS_RESOURCE = Need(
    "root may not raise limits (CAP_SYS_RESOURCE)", "make unit, outside a container", optional=True
)
USER_NAMESPACES = Need(
    "users may make no namespaces", "docs/commands.md#in-a-container; make unit", optional=True
)
TSHARK, OPENSSL, CHROMIUM, PING = map(_package, ("tshark", "openssl", "chromium", "ping"))
SHELLS = {name: _package(name) for name in ("bash", "zsh", "fish")}
SANITIZERS = Need("the compiler has no shared address sanitizer", "CC=gcc make unit")
VLAN_DEVICES = Need(
    "no VLAN interfaces in this kernel (8021q); with them",
    "modprobe 8021q; make unit",
    optional=True,
)
VXLAN = Need(
    "no VXLAN interfaces in this kernel; with them", "modprobe vxlan; make unit", optional=True
)
BMV2 = Need(
    "no simple_switch_grpc on PATH (BMv2: docs/bmv2.md); with it", "make unit", optional=True
)
NEW_CASES = Need(
    "new cases for BMv2, which has to be on PATH", "make differential SEED=7", optional=True
)
FUSED = Need("a processor without fused operations; on another one", "make unit", optional=True)
SPEEDSCOPE = Need(
    "no speedscope among npm's global packages",
    "npm install -g speedscope; make unit",
    optional=True,
)
ZIG = Need("no zig in .venv/tools", "make dist; make unit ARGS=tests/test_dist.py", optional=True)
P4C = Need("no p4c-bm2-ss on PATH; with it", "make unit ARGS=tests/p4", optional=True)
P4NET = Need(
    "no p4net in .venv, which brings PyPI's p4runtime",
    ".venv/bin/pip install p4net==1.8.0; make unit ARGS=tests/p4runtime/test_p4rt_messages.py",
    optional=True,
)
TOFINO = Need(
    "no Tofino switch; in a lab that has one", "by hand, by docs/tofino.md", optional=True
)
MPI = Need(
    "no mpirun on PATH (Debian: openmpi-bin); with it",
    "make unit ARGS=tests/pcn/test_mpirun.py",
    optional=True,
)
P4C_TOFINO = Need(
    "no p4c-barefoot and bfas on PATH; with them", "make unit ARGS=tests/p4", optional=True
)


def missing(need: Need) -> NoReturn:
    """Skips the test if what it needs is optional; else it fails."""
    if need.optional:
        pytest.skip(str(need))
    pytest.fail(str(need))


def program(name: str, need: Need) -> str:
    """The path of a program that the test needs."""
    path = shutil.which(name)
    if path is None:
        missing(need)
    return path


def own_queues(why: str) -> pytest.MarkDecorator:
    """Returns the mark of a test of a start by the switch's queues alone."""
    return pytest.mark.skipif(BY_ENGINE, reason=f"{why}: make unit, without PCN_TEST_ENGINE")


def target(name: str) -> str:
    """One of TARGETS, for a test that needs its switch."""
    if name == "bmv2":
        program("simple_switch_grpc", BMV2)
    return name


def p4c_version(version: str, wanted: str):
    """Outputs are equal where versions are."""
    if version != wanted:
        missing(
            Need(
                f"p4c is {version}; with {wanted} on PATH", "make unit ARGS=tests/p4", optional=True
            )
        )
