"""`from pcn import ...`: every name exists in the module that type checkers read, and is loaded only when it is
used."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pcn


def _for_type_checkers() -> dict[str, str]:
    """The module of each name, from the imports under TYPE_CHECKING."""
    tree = ast.parse(Path(pcn.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(one.module) for one in imports for alias in one.names}


def test_every_name_is_there() -> None:
    assert sorted(_for_type_checkers()) == pcn.__all__
    for name, module in _for_type_checkers().items():
        home = importlib.import_module(module)
        found = getattr(home, name, None) or importlib.import_module(f"{module}.{name}")
        assert getattr(pcn, name) is found


def test_names_are_loaded_at_first_use() -> None:
    script = "import sys, pcn; before = set(sys.modules); pcn.dumbbell; print(sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "topologies.dumbbell" in loaded
    assert "grpc" not in loaded
