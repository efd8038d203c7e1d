"""For tests of what runs in real time: they wait for what must come, with a limit that only a hang
can miss."""

import time
from collections.abc import Callable

import pytest

LIMIT_S = 120.0
"""For a single wait or a program that must end. pytest's own time limit for a test is above it."""


def wait_until(condition: Callable[[], object], awaited: str = "what the test waits for"):
    """Returns as soon as the condition holds."""
    began = time.monotonic()
    while not condition():
        waited_s = time.monotonic() - began
        if waited_s > LIMIT_S:
            pytest.fail(f"{awaited}: not within {LIMIT_S:g} s")
        # a late condition is polled less often, as each poll takes CPU
        time.sleep(min(0.01 + waited_s / 20, 0.1))
