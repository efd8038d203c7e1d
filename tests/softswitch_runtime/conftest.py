"""Makes this folder's helpers importable, and links for live tests."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import runtime
from links import Link


@pytest.fixture
def make_links() -> Iterator[Callable[..., list[Link]]]:
    """Makes n links; they are gone after the test."""
    with contextlib.ExitStack() as stack:

        def make(n: int, mtu: int = 1500) -> list[Link]:
            return [stack.enter_context(Link(mtu)) for _ in range(n)]

        yield make


@pytest.fixture(params=[False, True], ids=["queues", "engine"])
def both_ways(request, monkeypatch):
    """Live switches of the test have their own queues; an engine moves their packets."""
    monkeypatch.setattr(runtime, "BY_ENGINE", request.param)
