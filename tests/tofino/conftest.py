"""Stratum's stand-in, with counters that have counted, and a copy of the sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stratum import Serving, Stratum, serving

from controller.constants import index
from controller.control_plane import Counter
from controller.tofino.lab_file import SAMPLE

# What the ports have counted as soon as a program runs, as the chip does: with 4 bytes of FCS, and in egress with 4
# that ingress put in front.
TRAFFIC = {
    ("transmitted", index(136, 3)): Counter(1_000, 1_066_000),
    ("marked", index(136, 3)): Counter(400, 426_400),
    ("dropped", index(128, 0)): Counter(2, 128),
    ("transmitted", index(7, 3)): Counter(9, 9),  # of a port that ports.yaml doesn't have
}


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
