"""Makes this folder's helpers importable, and links for live tests."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from links import Link


@pytest.fixture
def make_links() -> Iterator[Callable[..., list[Link]]]:
    """Makes n links; they are gone after the test."""
    with contextlib.ExitStack() as stack:

        def make(n: int, mtu: int = 1500) -> list[Link]:
            return [stack.enter_context(Link(mtu)) for _ in range(n)]

        yield make
