"""What tests of runs share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result has all its files but pictures: to draw them takes a hundred times as long as a short run in virtual
    time."""
    monkeypatch.setattr("experiments.pictures.pictures", lambda chart: {})
