"""Removes an example's schemes before the next test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hosts.algorithms import schemes


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = dict(schemes)
    yield
    schemes.clear()
    schemes.update(before)
