"""The compile tools as modules, since p4src is a folder of P4 and not a package; and the driver of
programs without a switch."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in ("softswitch_program", "np_ecn"):
    sys.path.insert(0, str(ROOT / "tests" / folder))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"p4src_{name}", ROOT / f"p4src/{name}.py")
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """p4src/build.py."""
    return load("build")


@pytest.fixture(scope="session")
def build_tofino(build: ModuleType) -> ModuleType:
    """p4src/build_tofino.py, which imports build.py as its neighbour."""
    sys.modules["build"] = build
    return load("build_tofino")
