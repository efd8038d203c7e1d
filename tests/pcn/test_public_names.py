"""`from pcn import ...`: every name exists in the module that type checkers read, and is loaded
only when it is used."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pcn
from lint import public
from pcn.base.python_process import python_command


def _for_type_checkers() -> dict[str, str]:
    """The module of each name, from the imports under TYPE_CHECKING."""
    tree = ast.parse(Path(pcn.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(import_.module) for import_ in imports for alias in import_.names}


def test_every_name_is_there():
    assert sorted(_for_type_checkers()) == pcn.__all__
    for name, module in _for_type_checkers().items():
        home = importlib.import_module(module)
        exported = getattr(home, name, None) or importlib.import_module(f"{module}.{name}")
        assert getattr(pcn, name) is exported


def test_names_are_loaded_at_first_use():
    script = (
        "import sys, pcn; before = set(sys.modules); pcn.dumbbell; print(sorted(set(sys.modules) - "
        "before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "pcn.topologies.dumbbell" in loaded
    assert "grpc" not in loaded


def test_public_list_has_what_users_may_rely_on():
    """What is gone from it, users have lost: docs/stability.md has the rule."""
    now, listed = list(public.lines()), public.LIST.read_text().splitlines()
    assert len(public.names(now)) > 400
    assert public.names(listed) - public.names(now) == set(), (
        "gone: keep it for a release, with a warning, or note it in CHANGELOG.md"
    )
    assert now == listed, "new: .venv/bin/python lint/public.py > lint/public.txt"


def test_version_has_the_commit_in_a_checkout():
    root = Path(pcn.__file__).resolve().parents[1]
    printed = subprocess.run(
        python_command("pcn", "--version"), capture_output=True, text=True, check=True
    ).stdout
    version = metadata.version("pcn-lab")
    git = ["git", "-c", f"safe.directory={root}", "-C", str(root), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout[:12]
    assert re.fullmatch(
        rf"pcn {re.escape(version)}, commit {commit}, (clean|changed: .*)\n", printed
    )
