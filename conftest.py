"""Fixtures of all tests, and their environment: as root, in a separate network namespace with a
separate /run."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import needs
import pytest
from hypothesis import HealthCheck, settings

# A slow example is no failure: machines are busy. Each run draws the same examples, so more of them
# find no more the second time; HYPOTHESIS_PROFILE=new draws new ones, four times as many, to find
# what nobody has met.
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("new"), derandomize=True, max_examples=25)
settings.register_profile("few", settings.get_profile("same"), max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

gc.disable()  # as modules and tests, which stay to the end, are collected

# as `pcn` does, for all processes that tests start
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PCN_ASSERTIONS", "1")  # in the engine of virtual time
# of the machine: for tests' own channels
os.environ.setdefault("no_grpc_proxy", "127.0.0.1,localhost")
# readline leaves those of the terminal to pytest-xdist's workers
for _name in (
    "COLUMNS",
    "LINES",
):
    os.environ.pop(_name, None)

_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000


if os.environ.get("PCN_TEST_ENGINE"):  # live switches of networks are on the engine, all of them
    from pcn.lab import target as _target

    _target.TARGETS["softswitch"] = type(
        "OnEngine", (_target.EngineTarget,), {"name": "softswitch"}
    )


def pytest_sessionstart() -> None:
    """Shells start background jobs with SIGINT ignored, nohup with SIGHUP, which programs inherit:
    then no test could interrupt one."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    if os.geteuid() == 0:
        _isolate()


def _isolate() -> None:
    """Networks, interfaces and ports of other tests, suites and users of this machine are out of
    sight, ours are out of theirs, and go with this process, however it ends. Each worker of
    pytest-xdist has its own.

    Where namespaces aren't allowed, in a plain container for instance, tests marked `root` fail by
    themselves."""
    if ctypes.CDLL(None).unshare(_CLONE_NEWNS | _CLONE_NEWNET) != 0:
        return
    for line in (
        "mount --make-rprivate /",
        "mount -t tmpfs tmpfs /run",
        "mount -t sysfs sysfs /sys",
        "ip link set lo up",
    ):
        subprocess.run(line.split(), check=True)


@pytest.fixture(autouse=True)
def _no_schemes_from_outside() -> Iterator[None]:
    """Forgets the schemes from files that a test has found: another one's copy of such a file has
    the same name."""
    yield
    if (algorithms := sys.modules.get("pcn.hosts.algorithms")) is not None:
        for name in [
            name for name, scheme in algorithms.schemes.items() if scheme.reference != name
        ]:
            del algorithms.schemes[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of several workers one that began a file that takes long last would end alone: such files go
    first."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: "long" not in item.keywords)


def pytest_collection_finish() -> None:
    """No collection of garbage looks at modules and tests again; each costs more than the little
    that a test leaves."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if "root" in item.keywords and os.geteuid() != 0:
        needs.missing(needs.ROOT)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped, by reason, with the command that would run it."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    if reasons:
        terminalreporter.section(f"{reasons.total()} tests skipped", sep="-")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:4} {reason}")
