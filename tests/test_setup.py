"""What `make setup` and the Makefile install by pip: hashes for all of it, tools that build sources
included."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETUP, MAKEFILE = ((ROOT / name).read_text() for name in ("setup.sh", "Makefile"))


def installs() -> list[str]:
    """Each command that installs, with what `install` stands for."""
    (install,) = re.findall(r"^install=\((.*)\)$", SETUP, re.MULTILINE)
    lines = [
        line.replace('"${install[@]}"', install)
        for line in SETUP.splitlines()
        if line.startswith('"${install[@]}"')
    ]
    return [*lines, *re.findall(r"\S*pip -q install .*", MAKEFILE)]


def test_setup_builds_sources_by_locked_tools_alone() -> None:
    """pip fetches build tools without a hash, unless it takes what is there or builds nothing."""
    commands = installs()
    assert len(commands) == 4
    for line in commands:
        assert re.search("--no-build-isolation|--only-binary :all:", line), line
        assert re.search("--require-hashes|--no-deps", line), line
    others = [
        line for line in (SETUP + MAKEFILE).splitlines() if re.search(r"pip.* install\b", line)
    ]
    assert len(others) == 2, "the others' start, and tools.lock's"


def test_setup_takes_setuptools_from_the_lock_first() -> None:
    (select,) = re.findall(r"-r <\((.*)\)$", SETUP, re.MULTILINE)
    chosen = subprocess.run(
        ["bash", "-c", select],
        env={**os.environ, "lock": "requirements.lock"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.fullmatch(r"setuptools==\S+ \\\n(    --hash=sha256:\w{64}( \\)?\n)+", chosen)
    assert chosen in (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize(
    "name",
    ["requirements.lock", "lowest.lock", "tools.lock", "release/image.lock", "release/action.lock"],
)
def test_lock_has_hashes_of_everything(name: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    assert len(entries) > (20 if name in ("requirements.lock", "lowest.lock") else 0)
    assert not [
        entry for entry in entries if not re.match(r"[\w.-]+==\S+.*\\\n    --hash=sha256:", entry)
    ]


@pytest.mark.parametrize("name", ["release/image.lock", "release/action.lock"])
def test_smaller_lock_is_a_part_of_the_first_one(name: str) -> None:
    first, part = (dict(_entries(ROOT / path)) for path in ("requirements.lock", name))
    assert {entry: part[entry] - first.get(entry, set()) for entry in part} == {
        entry: set() for entry in part
    }


def _entries(path: Path) -> list[tuple[str, set[str]]]:
    """The packages of a lock with their versions, and their hashes."""
    entries = re.split(r"\n(?=\S)", path.read_text().strip())
    return [(entry.split()[0], set(re.findall(r"sha256:\w{64}", entry))) for entry in entries]
