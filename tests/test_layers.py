"""Which package may import which: arrows run down only, as CONTRIBUTING.md draws them. The same of `experiments`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (
    ("softswitch",),
    ("topologies", "p4src"),
    ("virtualnet",),
    ("controller",),
    ("hosts",),
    ("lab",),
    ("experiments",),
    ("pcn",),
)
"""From the bottom up. A package imports those of lower rows."""
ROOMS = {
    "experiments": {
        "data": "",
        "define": "data",
        "traffic": "data define",
        "papers": "data define traffic",
        "draw": "data define",
        "run": "data define",
        "results": "data define",
        "sweep": "data define papers draw run results",
        "page": "data define papers draw results sweep",
        "runner": "data define papers run results page",
    },
    "experiments.papers.pcn": {
        "claims": "",
        "scenarios": "claims",
        "plans": "scenarios",
        "variants": "",
        "figures": "claims scenarios plans variants",
        "studies": "claims plans variants figures",
    },
}
"""By package: its rooms (folders, modules) from the bottom up, each with those that it imports."""
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def rows() -> dict[str, int]:
    return {package: row for row, packages in enumerate(LAYERS) for package in packages}


def imported(text: str) -> Iterator[str]:
    """The top packages that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def room_arrows(package: str) -> dict[str, set[str]]:
    """By room of a package: the other rooms that its modules import, anywhere in them."""
    folder, found = ROOT / package.replace(".", "/"), dict[str, set[str]]()
    for path in folder.rglob("*.py"):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        found.setdefault(room, set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            inside = (
                name.removeprefix(f"{package}.").partition(".")[0] for name in names if name.startswith(f"{package}.")
            )
            found[room] |= {other for other in inside if other != room}
    return found


def included(path: Path, owners: dict[str, set[str]]) -> Iterator[str]:
    """The packages whose headers a C file includes; one of its own folder goes first, as it does for a compiler."""
    for name in _INCLUDE.findall(path.read_text()):
        if not (path.parent / name).is_file():
            yield from owners.get(name, ())


def arrows() -> dict[str, set[str]]:
    """By file: the packages beside and above its own that it imports or includes."""
    rank, owners = rows(), dict[str, set[str]]()
    sources = [path for package in rank for path in (ROOT / package).rglob("*.*") if path.suffix in (".py", ".c", ".h")]
    for path in sources:
        package, *parts = path.relative_to(ROOT).parts
        for first in range(len(parts) if path.suffix == ".h" else 0):  # as it may be named from any folder
            owners.setdefault("/".join(parts[first:]), set()).add(package)
    found: dict[str, set[str]] = {}
    for path in sources:
        name, own = path.relative_to(ROOT).as_posix(), path.relative_to(ROOT).parts[0]
        known = set(imported(path.read_text()) if path.suffix == ".py" else included(path, owners)) & rank.keys()
        if up := {package for package in known if package != own and rank[package] >= rank[own]}:
            found[name] = up
    return found


def test_packages_import_from_below_alone() -> None:
    assert arrows() == {}


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_of_a_package_import_as_the_table_says(package: str) -> None:
    table = {room: set(others.split()) for room, others in ROOMS[package].items()}
    assert room_arrows(package) == table
    rooms = list(table)
    assert all(rooms.index(other) < rooms.index(room) for room, others in table.items() for other in others)


@pytest.mark.parametrize(
    "text",
    ["import pcn.cli", "from pcn import cli", "def f():\n    from pcn.cli import run", "if x:\n    import os, pcn"],
)
def test_imports_are_found_wherever_they_are(text: str) -> None:
    assert "pcn" in set(imported(text))


def test_every_package_has_a_row() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/*.py")} - {
        "tests",
        "docs",
        "examples",
        "judges",
        "ptf-tests",
        "bench",
    }
    assert packages == rows().keys()
