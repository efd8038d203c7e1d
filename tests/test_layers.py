"""Which package may import which, and of the switch what; which room of `experiments` which other
ones. Arrows run down only, as docs/ARCHITECTURE.md draws them."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pcn.softswitch import embed

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (
    ("base",), ("softswitch",), ("topologies", "p4src"), ("virtualnet",), ("controller",),
    ("hosts", "p4net"), ("lab",), ("experiments",), ("pcn",),
)  # fmt: skip
"""From the bottom up. A package imports those of lower rows."""
ROOMS = {
    "experiments": {
        "data": "", "define": "data", "traffic": "data define", "papers": "data define traffic",
        "draw": "data define", "run": "data define", "results": "data define",
        "sweep": "data define papers draw run results",
        "page": "data define papers draw results sweep",
        "compare": "data define papers draw results page",
        "explain": "data define papers run results page",
        "runner": "data define papers run results page",
    },
    "experiments.papers.pcn": {
        "claims": "", "scenarios": "claims", "plans": "scenarios", "variants": "",
        "figures": "claims scenarios plans variants",
        "studies": "claims plans variants figures scenarios",
    },
}  # fmt: skip
"""By package: its rooms (folders, modules) from the bottom up, each with those that it imports."""
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def rows() -> dict[str, int]:
    return {package: row for row, packages in enumerate(LAYERS) for package in packages}


def sources() -> list[Path]:
    """All Python and C of the packages."""
    return [
        path
        for package in rows()
        for path in (ROOT / package).rglob("*.*")
        if path.suffix in (".py", ".c", ".h")
    ]


@cache
def names(text: str) -> frozenset[str]:
    """All that a module imports, anywhere in it: modules, and names of modules that may be
    modules."""
    imports = set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            imports |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(_in_the_tree(name) for name in imports)


def _in_the_tree(name: str) -> str:
    """A module of `pcn` by the folder that it lies in: `pcn.hosts.wire` is hosts.wire, `pcn.cli` is
    pcn.cli."""
    inner = name.removeprefix("pcn.")
    return inner if inner.partition(".")[0] in rows() else name


def tops(text: str) -> Iterator[str]:
    """The top packages that a module imports."""
    yield from (name.partition(".")[0] for name in names(text))


def room_arrows(package: str) -> dict[str, set[str]]:
    """By room of a package: the other rooms that its modules import, anywhere in them."""
    folder, by_room = ROOT / package.replace(".", "/"), dict[str, set[str]]()
    for path in folder.rglob("*.py"):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        by_room.setdefault(room, set())
        inside = (
            name.removeprefix(f"{package}.")
            for name in names(path.read_text())
            if name.startswith(f"{package}.")
        )
        by_room[room] |= {name.partition(".")[0] for name in inside} - {room}
    return by_room


def included(path: Path, owners: dict[str, set[str]]) -> Iterator[str]:
    """The packages whose headers a C file includes; one in its folder goes first, as for a
    compiler."""
    for name in _INCLUDE.findall(path.read_text()):
        if not (path.parent / name).is_file():
            yield from owners.get(name, ())


def arrows() -> dict[str, set[str]]:
    """By file: the packages beside and above its own that it imports or includes."""
    rank, owners, all_sources = rows(), dict[str, set[str]](), sources()
    for path in all_sources:
        package, *parts = path.relative_to(ROOT).parts
        # as it may be named from any folder
        for first in range(len(parts) if path.suffix == ".h" else 0):
            owners.setdefault("/".join(parts[first:]), set()).add(package)
    by_file: dict[str, set[str]] = {}
    for path in all_sources:
        name, top = path.relative_to(ROOT).as_posix(), path.relative_to(ROOT).parts[0]
        known = (
            set(tops(path.read_text()) if path.suffix == ".py" else included(path, owners))
            & rank.keys()
        )
        if up := {package for package in known if package != top and rank[package] >= rank[top]}:
            by_file[name] = up
    return by_file


def test_packages_import_from_below_alone():
    assert arrows() == {}


def of_the_switch(path: Path) -> Iterator[str]:
    """What a file of another package uses of softswitch: modules (with a name of theirs behind) and
    headers."""
    if path.suffix == ".py":
        inside = "softswitch."
        yield from (
            name.removeprefix(inside) for name in names(path.read_text()) if name.startswith(inside)
        )
        return
    folders = (path.parent, ROOT / path.relative_to(ROOT).parts[0] / "csrc")
    for name in _INCLUDE.findall(path.read_text()):
        if (ROOT / "softswitch/csrc" / name).is_file() and not any(
            (folder / name).is_file() for folder in folders
        ):
            yield name


def test_switch_declares_what_others_use_of_it():
    declared, used = (*embed.MODULES, *embed.HEADERS), set[str]()
    for path in (path for path in sources() if path.relative_to(ROOT).parts[0] != "softswitch"):
        for name in of_the_switch(path):
            undeclared = f"{path.relative_to(ROOT)}: {name}"
            used.add(
                next(
                    (
                        declaration
                        for declaration in declared
                        if f"{name}.".startswith(f"{declaration}.")
                    ),
                    undeclared,
                )
            )
    assert used == set(declared)


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_of_package_import_as_in_the_table(package):
    table = {room: set(others.split()) for room, others in ROOMS[package].items()}
    assert room_arrows(package) == table
    rooms = list(table)
    assert all(
        rooms.index(imported) < rooms.index(room)
        for room, others in table.items()
        for imported in others
    )


@pytest.mark.parametrize(
    "text",
    [
        "import pcn.cli",
        "from pcn import cli",
        "def f():\n    from pcn.cli import run",
        "if x:\n    import os, pcn",
    ],
)
def test_imports_are_found_wherever_they_are(text):
    assert "pcn" in set(tops(text))


def test_every_package_has_a_row():
    outside = {"tests", "docs", "examples", "judges", "ptf-tests", "bench", "lint", "release"}
    packages = {path.parent.name for path in ROOT.glob("*/*.py")} - outside
    assert packages == rows().keys()


def test_packages_are_imported_as_of_pcn():
    """By another name a module would be loaded twice. (ruff's TID251 takes relative imports for
    such.)"""
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    paths = [path for path in map(ROOT.joinpath, listed.splitlines()) if path.is_file()]
    assert len(paths) > 900
    pattern = re.compile(
        rf"^\s*(?:from|import) (?:{'|'.join(rows().keys() - {'pcn'})})[. ]", re.MULTILINE
    )
    assert {
        str(path.relative_to(ROOT)): match[0]
        for path in paths
        if (match := pattern.search(path.read_text()))
    } == {}
