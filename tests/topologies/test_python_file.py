"""Users' Python files: what they find beside them, and what a digest of them covers."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from pcn import topologies
from pcn.topologies import python_file

MODULES = {
    "scheme.py": (
        "import near, numpy\nfrom pack import deep\nfrom pcn.topologies import ecmp\nVALUE = "
        "near.VALUE"
    ),
    "near.py": "from far_away import VALUE\ndef late():\n    import last\n",
    "far_away.py": "VALUE = 1",
    "last.py": "import importlib\nimportlib.import_module('by_name')\n",
    "by_name.py": "",
    "pack/__init__.py": "from . import inner",
    "pack/inner.py": "from .deeper import core",
    "pack/deep.py": "",
    "pack/deeper/__init__.py": "",
    "pack/deeper/core.py": (
        "from ..up import there\ntry:\n    import nosuch_module\nexcept ImportError:\n    pass\n"
    ),
    "pack/up.py": "there = 1",
    "unused.py": "",
}


@pytest.fixture
def scheme(tmp_path) -> Path:
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "scheme.py"


def test_sources_are_the_file_and_all_that_it_imports_from_outside(scheme: Path):
    files = {str(path.relative_to(scheme.parent)) for path in python_file.sources(scheme)}
    assert files == MODULES.keys() - {"unused.py"}


def test_package_and_environment_are_not_outside(tmp_path):
    for module in (topologies, python_file, np, sys.modules["json"]):
        assert not python_file.is_outside(Path(str(module.__file__)))
    assert python_file.is_outside(tmp_path)
    assert python_file.is_outside(
        Path(__file__).resolve().parents[2] / "examples" / "aimd" / "aimd.py"
    )


def test_file_imports_what_lies_beside_it(scheme: Path):
    before = list(sys.path)
    assert python_file.load(scheme).VALUE == 1
    assert sys.path == before


def test_file_imports_what_lies_beside_it_though_another_folder_has_that_name(tmp_path):
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "scheme.py").write_text("import constants_beside\nVALUE = constants_beside.VALUE")
        (folder / "constants_beside.py").write_text(f"VALUE = {number}")
    assert [python_file.load(tmp_path / str(number) / "scheme.py").VALUE for number in (1, 2)] == [
        1,
        2,
    ]


def test_file_lies_in_a_folder_of_any_name(tmp_path):
    folder = tmp_path / os.fsdecode(b"\xe9t\xe9")
    folder.mkdir()
    (folder / "scheme.py").write_text("VALUE = 2")
    assert python_file.load(folder / "scheme.py").VALUE == 2


def test_sources_of_a_file_with_an_error_are_the_file(tmp_path):
    (tmp_path / "broken.py").write_text("import\n")
    assert python_file.sources(tmp_path / "broken.py") == [tmp_path / "broken.py"]
