"""ptf-tests/records.py, whose folder is no package."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

PTF = str(Path(__file__).resolve().parents[2] / "ptf-tests")


@pytest.fixture(scope="session")
def records() -> ModuleType:
    sys.path.insert(0, PTF)
    import records as module

    sys.path.remove(PTF)
    return module
