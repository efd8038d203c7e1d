"""The base and its extras: which module may import what, and that what an extra brings is imported
late."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from distributions import PACKAGES, modules, required

from pcn.topologies import extras

ROOT = Path(__file__).resolve().parent.parent
OURS = {*PACKAGES, "pcn", "p4src"}
WITH_AN_EXTRA = {
    "pcn.experiments.data.parquet": "parquet",
    "pcn.experiments.draw.elsewhere": "figures",
    "pcn.experiments.draw.pictures": "figures",
    "pcn.lab.mininet_switch": "live",
    "pcn.lab.mn": "live",
    "pcn.lab.nodes": "live",
    "pcn.lab.thrift": "bmv2",
    "pcn.web.server": "web",
    "pcn.web.show": "web",
    "pcn.topologies.tree_yaml": "yaml",
}
"""Modules that can't be imported without an extra. Others import them in the function that uses
them."""
WITHOUT_EXTRAS = """
import importlib, json, pkgutil, sys
from pcn.topologies import extras
for module in extras.MODULES.values():
    sys.modules[module] = None  # as a missing one
failed = {}
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                failed[module.name] = extras.of_import(error)
print(json.dumps(failed))
"""


@cache
def brought() -> dict[str, set[str]]:
    """By extra, the modules of the distributions that it requires; the base's by the empty text."""
    by_extra: dict[str, set[str]] = {}
    for name, _, extra in required():
        by_extra.setdefault(extra, set()).update(modules(name))
    return by_extra


def imports(node: ast.AST) -> Iterator[str]:
    """The top modules that code imports when it runs, not those for annotations."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.partition(".")[0]
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.expr):
            yield from imports(inner)


def test_every_import_is_of_the_base_or_of_an_extra():
    known = {"pcn"} | sys.stdlib_module_names
    known |= {module for extra in ("", *extras.MODULES) for module in brought()[extra]}
    files = [path for package in OURS for path in (ROOT / package).rglob("*.py")]
    assert len(files) > 200
    unknown = {
        str(path.relative_to(ROOT)): imported
        for path in files
        if (imported := _imported(path) - known)
    }
    assert unknown == {}


def _imported(path: Path) -> set[str]:
    return set(imports(ast.parse(path.read_text())))


@pytest.mark.parametrize("extra", extras.MODULES)
def test_extra_brings_its_module(extra):
    assert extras.MODULES[extra] in brought()[extra]


def test_extras_are_those_of_pyproject():
    assert {*extras.MODULES, "dev", "docs", ""} == brought().keys()


def test_modules_import_without_extras():
    """All but those that are named above; and each of these fails by its own extra."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, "pcn"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == WITH_AN_EXTRA


def test_lists_of_experiments_load_no_p4runtime():
    """A command that lists or completes them starts in two thirds of the time."""
    script = (
        "import sys, pcn.experiments.runner, pcn.experiments.papers\n"
        "print(*{'google.protobuf', 'grpc', 'matplotlib'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
