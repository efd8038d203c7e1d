"""The compile tool as a module: p4src is a folder of P4, not a package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """p4src/build.py."""
    spec = importlib.util.spec_from_file_location("p4src_build", ROOT / "p4src/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
