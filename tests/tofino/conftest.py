"""Stratum's stand-in, with counters that have counted, and a copy of the sample."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from stratum import TRAFFIC, Serving, Stratum, serving

from pcn.controller.tofino.lab_file import SAMPLE
from pcn.controller.tofino.package import Package


@pytest.fixture(scope="package", autouse=True)
def _packages_are_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Package, "compiled", lru_cache(Package.compiled))
        yield


@pytest.fixture
def stratum() -> Iterator[Serving]:
    service = Stratum(TRAFFIC)
    with serving(service) as address:
        yield Serving(service, address)


@pytest.fixture
def sample(tmp_path) -> Path:
    path = tmp_path / "ports.yaml"
    path.write_text(SAMPLE.read_text())
    return path


@pytest.fixture
def sample_of_tofino2(tmp_path) -> Path:
    """The sample's lab with a Tofino 2: its ports at the front begin at 8, and have 400 Gbit/s."""
    text = (
        SAMPLE.read_text()
        .replace("chip: tofino ", "chip: tofino2 ")
        .replace("speed: 100G", "speed: 400G")
    )
    for number in (144, 136, 128):
        text = text.replace(f"port: {number}", f"port: {number + 8}")
    path = tmp_path / "ports2.yaml"
    path.write_text(text)
    return path
