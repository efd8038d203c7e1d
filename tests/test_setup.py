"""What `make setup` and the Makefile install by pip: hashes for all of it, tools that build sources
included."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from release import lock

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


def test_setup_builds_sources_by_locked_tools_alone():
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


def test_setup_takes_setuptools_from_the_lock_first():
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


@pytest.mark.parametrize("name", ["requirements.lock", "lowest.lock", "tools.lock"])
def test_lock_has_hashes_of_everything(name):
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    assert len(entries) > (20 if name in ("requirements.lock", "lowest.lock") else 0)
    assert not [
        entry for entry in entries if not re.match(r"[\w.-]+==\S+.*\\\n    --hash=sha256:", entry)
    ]


@pytest.mark.parametrize("name", ["image", "action"])
def test_part_of_the_lock_has_its_entries_whole(name, tmp_path):
    names = (ROOT / f"release/{name}.txt").read_text().split()
    command = ["sh", "release/part.sh", "requirements.lock", *names]
    (tmp_path / "part").write_bytes(subprocess.run(command, cwd=ROOT, check=True, stdout=-1).stdout)
    part = _entries(tmp_path / "part")
    assert part == [
        entry for entry in _entries(ROOT / "requirements.lock") if entry[0].split("==")[0] in names
    ]
    assert {entry.split("==")[0] for entry, _ in part} == set(names)


def _entries(path: Path) -> list[tuple[str, set[str]]]:
    """The packages of a lock with their versions, and their hashes."""
    entries = re.split(r"\n(?=\S)", path.read_text().strip())
    return [(entry.split()[0], set(re.findall(r"sha256:\w{64}", entry))) for entry in entries]


PACKAGES = """
[[packages]]
name = "a"
version = "1"
marker = "python_full_version < '3.11'"
sdist = {{ url = "https://x/a-1.tar.gz", size = 1, hashes = {{ sha256 = "{sources}" }} }}
wheels = [
    {{ url = "https://x/a-1-cp310-cp310-linux_x86_64.whl", hashes = {{ sha256 = "{wheel}" }} }},
    {{ url = "https://x/a-1-cp310-cp310-win_amd64.whl", hashes = {{ sha256 = "{windows}" }} }},
]

[[packages]]
name = "b"
version = "2"
wheels = [{{ url = "https://x/b-2-{b}.whl", hashes = {{ sha256 = "{wheel}" }} }}]
"""
HASHES = {
    name: letter * 64 for name, letter in (("sources", "c"), ("wheel", "b"), ("windows", "a"))
}


def test_lock_keeps_hashes_of_sources_and_of_wheels_for_linux():
    text = lock.lock(PACKAGES.format(**HASHES, b="py3-none-any"), ["cp310"])
    assert text == (
        "a==1 ; python_full_version < '3.11' \\\n"
        f"    --hash=sha256:{'b' * 64} \\\n    --hash=sha256:{'c' * 64}\n"
        f"b==2 \\\n    --hash=sha256:{'b' * 64}\n"
    )
    anywhere = PACKAGES.format(**HASHES, b="py3-none-any").replace(
        "cp310-cp310-win_amd64", "py3-none-any"
    )
    assert HASHES["sources"] not in lock.lock(anywhere, ["cp310"])
    assert lock.lock(anywhere, ["cp310"]).count("--hash") == 3
    with pytest.raises(lock.LockError, match="b 2 has neither sources nor a wheel for Linux"):
        lock.lock(PACKAGES.format(**HASHES, b="cp310-cp310-macosx_11_0_arm64"), ["cp310"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a-1.tar.gz", True),
        ("a-1-py2.py3-none-any.whl", True),
        ("a-1-py2-none-any.whl", False),
        ("a-1-cp39-abi3-manylinux_2_28_aarch64.whl", True),
        ("a-1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("a-1-py3-none-manylinux2010_x86_64.musllinux_1_1_x86_64.whl", True),
        ("a-1-cp314-cp314t-manylinux_2_28_x86_64.whl", False),
        ("a-1-cp39-cp39-manylinux_2_28_x86_64.whl", False),
        ("a-1-cp310-cp310-musllinux_1_2_x86_64.whl", False),
        ("a-1-cp310-cp310-manylinux_2_28_ppc64le.whl", False),
        ("a-1-cp310-cp310-macosx_11_0_arm64.whl", False),
    ],
)
def test_lock_takes_files_that_setup_can_install(name, expected):
    assert lock.installable(name, lock.supported()) == expected


@pytest.mark.parametrize(("name", "pythons"), [("requirements.lock", 5), ("lowest.lock", 1)])
def test_lock_is_no_larger_than_its_pythons_need(name, pythons):
    """A wheel for each Python and processor, and sources."""
    most = len(lock.MACHINES) * pythons
    entries = dict(_entries(ROOT / name))
    sizes = {package: len(hashes) for package, hashes in entries.items()}
    # arm64's and x86_64's may come for several versions of glibc
    assert {package: size for package, size in sizes.items() if size > 2 * most + 1} == {}
