"""The client, the programs and the switch of P4Runtime's own tests serve here, too."""

import ctypes
import sys
from pathlib import Path

import pytest

from pcn.softswitch.codegen.build import build_runtime
from pcn.softswitch.native import load_library

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/p4runtime"))


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return load_library(build_runtime())
