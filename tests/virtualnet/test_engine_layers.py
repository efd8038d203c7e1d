"""Which C files use which: no circle of files is wider than a folder, neither by #include nor by
use.

A file uses another where one of its functions or tables calls one of that other's, or names it with
the engine's prefix, once macros are expanded; a call through a table of functions is a use of that
table alone.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from pcn.hosts.native import CSRC as HOST_CSRC
from pcn.softswitch.cache.objects import compiler
from pcn.softswitch.codegen.build import CSRC as SWITCH_CSRC
from pcn.virtualnet.native import CSRC

Arrows = Mapping[Path, set[Path]]
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|[{}();=,\[\]]|[^\s\w]')
RDMA = HOST_CSRC / "virtual"
WITH_RDMA = (
    "-DVN_MORE_ENDPOINTS(X)=X(rdma)",
    "-include",
    str(CSRC / "engine.c"),
    str(RDMA / "rdma.c"),
)
WITH_LIVE = ("-DVN_LENT=true", "-include", str(CSRC / "engine.c"), str(CSRC / "live" / "live.c"))
UNITS = {
    "engine": ((CSRC, RDMA), [WITH_RDMA, WITH_LIVE]),
    "switch": ((SWITCH_CSRC,), [(str(path),) for path in sorted(SWITCH_CSRC.glob("*.c"))]),
}
"""Folders, and the arguments with which the compiler sees their files, in units."""
PREFIXES = ("vn_", "sw_", "rules_")
INCLUDED_FROM = (CSRC, SWITCH_CSRC, HOST_CSRC)


def included(folders: Sequence[Path]) -> Arrows:
    """By #include."""
    arrows = defaultdict(set)
    for path in (path for folder in folders for path in folder.resolve().rglob("*.[ch]")):
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            files = [
                folder / name
                for folder in (path.parent, *INCLUDED_FROM)
                if (folder / name).exists()
            ]
            assert files, f"{path} includes {name}"
            if path.name != "engine.c":  # which is all of them
                arrows[path].add(files[0].resolve())
    return arrows


def tokens(unit: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Of a preprocessed unit, with the file that each stands in, without those of the system's
    headers."""
    command = [*compiler(), "-std=gnu11", "-E", *(f"-I{folder}" for folder in INCLUDED_FROM), *unit]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    at, system = Path(), False
    for line in done.stdout.splitlines():
        if marker := re.match(r'# \d+ "([^"]+)"(?: [124])*( 3)?', line):
            at, system = Path(marker[1]).resolve(), bool(marker[2])
        elif not system:
            yield from ((token, at) for token in TOKEN.findall(line))


def definitions(unit: Sequence[str]) -> Iterator[tuple[str, Path, set[str]]]:
    """Functions and initialised tables: the name, the file, the identifiers inside."""
    head: list[tuple[str, Path]] = []
    inside: set[str] = set()
    depth = 0
    before = word = ""
    for token, path in tokens(unit):
        if depth == 0 and token != "{":
            head = [] if token == ";" else [*head, (token, path)]
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                words = [word for word, _ in head]
                if named := _name(words):
                    yield named, head[0][1], inside
                    head = []
                inside = set()
        elif token == "(" and depth > 0 and before not in (".", ">"):
            inside.add(word)
        elif depth > 0 and token.startswith(PREFIXES) and word not in (".", ">"):
            inside.add(token)
        before, word = word, token


def _name(head: list[str]) -> str:
    """What stands before a body defines; "": a type, or part of something longer."""
    text = re.sub(r"__attribute__ ?\( ?\(.*?\) ?\)", "", " ".join(head))
    if match := re.search(r"(\w+)\s*=\s*$", re.sub(r"\[[^]]*\]", "", text)):
        return match[1]
    match = re.search(r"(\w+) \(", text)
    return match[1] if match and text.rstrip().endswith(")") else ""


def used(folders: Sequence[Path], units: Sequence[Sequence[str]]) -> Arrows:
    """By use of functions and tables."""
    arrows = defaultdict(set)
    ours = {folder.resolve() for folder in folders}
    our_definitions = [
        definition
        for unit in units
        for definition in definitions(unit)
        if ours & set(definition[1].parents)
    ]
    of = defaultdict(set)
    for name, path, _ in our_definitions:
        of[name].add(path)
    for _, path, inside in our_definitions:
        for name in inside & of.keys():
            if path not in of[name]:
                arrows[path] |= of[name]
    return arrows


def circles(arrows: Arrows) -> list[set[Path]]:
    """The largest sets of files each of which leads to each (strongly connected components), of two
    files or more."""

    def reached(start: Path) -> set[Path]:
        seen, todo = set[Path](), [start]
        while todo:
            new = arrows.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    reach = {path: reached(path) for path in arrows}
    components = {
        frozenset(reachable for reachable in reach[path] if path in reach.get(reachable, ()))
        for path in arrows
    }
    return [set(component) for component in components if len(component) > 1]


def wider_than_a_folder(arrows: Arrows) -> list[list[str]]:
    wide = [circle for circle in circles(arrows) if len({path.parent for path in circle}) > 1]
    return [sorted(str(path.relative_to(CSRC.parents[1])) for path in circle) for circle in wide]


def joined(*all_arrows: Arrows) -> Arrows:
    arrows = defaultdict(set)
    for arrow in all_arrows:
        for path, others in arrow.items():
            arrows[path] |= others
    return arrows


@cache
def arrows_of(name: str) -> Arrows:
    folders, units = UNITS[name]
    return joined(included(folders), used(folders, units))


@pytest.mark.parametrize("name", UNITS)
def test_files_make_no_circle_wider_than_a_folder(name):
    arrows = arrows_of(name)
    assert len(arrows) > 20
    assert wider_than_a_folder(arrows) == []


LAYERS = (("frames", "time"), ("links",), ("switches", "hosts"), ("virtual", "api"), ("live",))


def test_folders_of_the_engine_use_those_below_alone():
    """Switches and hosts don't use each other, nor RDMA and Python's api; the order of events uses
    frames alone."""
    level = {folder: height for height, folders in enumerate(LAYERS) for folder in folders}
    assert level.keys() == {RDMA.name, *(path.name for path in CSRC.iterdir() if path.is_dir())}
    up = []
    for path, targets in arrows_of("engine").items():
        for target in targets:
            pair = path.parent.name, target.parent.name
            if pair[0] != pair[1] and level.keys() >= set(pair):
                below = level[pair[1]] < level[pair[0]] or pair in (
                    ("time", "frames"),
                    ("api", "virtual"),
                )
                up += [] if below else [f"{path.name} -> {target.name}"]
    assert up == []


def test_circle_is_found_by_use_and_by_include(tmp_path):
    (tmp_path / "low").mkdir()
    (tmp_path / "high").mkdir()
    (tmp_path / "low/a.h").write_text(
        "void vn_b(void); static inline void vn_a(void) { vn_b(); }\n"
    )
    (tmp_path / "high/b.c").write_text(
        '#include "../low/a.h"\nvoid vn_b(void) { if (0) vn_a(); }\n'
    )
    a, b = (tmp_path / "low/a.h").resolve(), (tmp_path / "high/b.c").resolve()
    arrows = used([tmp_path], [[str(tmp_path / "high/b.c")]])
    assert (arrows, included([tmp_path])) == ({a: {b}, b: {a}}, {b: {a}})
    assert circles(arrows) == [{a, b}]
