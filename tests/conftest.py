"""What every test may use."""

from __future__ import annotations

import os
import signal

import pytest


def pytest_sessionstart() -> None:
    """Shells start background jobs with SIGINT ignored, nohup with SIGHUP, which programs inherit: then no test could
    interrupt one."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without root, tests marked `root` are skipped, visibly; where CI is set they fail instead: CI has to run them."""
    if os.geteuid() == 0 or os.environ.get("CI"):
        return
    skip = pytest.mark.skip(reason="needs root, for network namespaces and veth pairs: run it as root")
    for item in items:
        if "root" in item.keywords:
            item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if "root" in item.keywords and os.geteuid() != 0:
        pytest.fail("this test needs root, and CI must not skip it: run CI as root")
