"""Stratum's stand-in, with counters that have counted, and a copy of the sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stratum import TRAFFIC, Serving, Stratum, serving

from controller.tofino.lab_file import SAMPLE


@pytest.fixture
def stratum() -> Iterator[Serving]:
    service = Stratum(TRAFFIC)
    with serving(service) as address:
        yield Serving(service, address)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "ports.yaml"
    path.write_text(SAMPLE.read_text())
    return path
