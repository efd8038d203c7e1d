"""What `make dist` builds: the same bytes each time, and a wheel whose runs need no compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import warm_compiler
from test_installed import STAYS_HERE, copy_tracked, tracked

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.native import library
from pcn.lab.virtual.native import engine
from pcn.softswitch.codegen.build import build_runtime

pytestmark = pytest.mark.long
SCHEMES = ("pcn", "timely")
"""With RP and NP in C, and with neither."""
PROGRAMS = {"manifest", *(find_scheme(name).program + end for name in SCHEMES for end in ("", "_native"))}


NOT_OF_A_RUN = {"docs/figures", "docs/tutorial", "docs/notebook", "p4src/tna", "p4net/commands", "p4net/tcp", "pcn/web"}
LEFT_OUT = tuple(f"{one}/" for one in ({*STAYS_HERE} - {"docs", "release"}) | NOT_OF_A_RUN)


@pytest.fixture(scope="module")
def commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with this checkout's files as they are, committed. It lacks what runs here don't need: LEFT_OUT, and
    programs, each of which takes a second to compile."""
    folder = tmp_path_factory.mktemp("commit")
    names = (name for name in tracked() if not name.startswith(LEFT_OUT))
    compiled = "p4src/compiled/"
    copy_tracked(
        folder,
        (name for name in names if not name.startswith(compiled) or Path(name).name.partition(".")[0] in PROGRAMS),
    )
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "all")
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


MAKE = "import sys; from pathlib import Path; from release import dist; dist.make(Path(sys.argv[1]), sys.argv[2])"
OF_ARCHIVE = """
import sys, tarfile
from pathlib import Path
from release import dist
committed, seconds = dist.committed()
with tarfile.open(sys.argv[2]) as archive:
    files = {name.partition("/")[2]: file for name, file in dist.unpacked(archive).items()}
assert files == {**committed, "PKG-INFO": files["PKG-INFO"]}
dist.committed = lambda: (files, seconds)
dist.make(Path(sys.argv[1]))
"""
"""From the source archive's files, if these are the commit's."""


def dist(commit: Path, out: Path, given: str | Path, script: str = MAKE, mask: int = 0o022, **more: str) -> list[Path]:
    """Runs the checkout's release/dist.py in a process."""
    command, environment = [sys.executable, "-c", script, out, given], {"PYTHONPATH": str(commit), **more}
    subprocess.run(command, cwd=commit, env={**os.environ, **environment}, umask=mask, check=True)
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def release(commit: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """With programs, RPs and NPs that the machine's compiler made, with less work than for a release, and this user's
    libraries, which take longest: that a wheel's sources compile is `test_installed`'s."""
    libraries = {"libsoftswitch": build_runtime(), "libvirtualnet": engine()._name, "libhosts": library()._name}
    compiler = warm_compiler.write(tmp_path_factory.mktemp("compiler") / "cc", libraries, 'exec cc "$@" -Og')
    return dist(commit, tmp_path_factory.mktemp("release"), compiler)


@pytest.fixture(scope="module")
def clone(commit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "clone"
    git(commit, "clone", "-q", ".", str(folder))
    return folder


def test_dist_builds_equal_bytes_from_an_equal_commit_and_its_source_archive(
    clone: Path, release: list[Path], tmp_path: Path
) -> None:
    *same, source = (path for path in release if "manylinux" not in path.name)
    again = dist(clone, tmp_path / "again", source, OF_ARCHIVE, mask=0o077, TZ="Asia/Tokyo")
    assert [path.name for path in again] == [path.name for path in (*same, source)]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in (*same, source)]


def test_source_archive_has_the_commit(commit: Path, release: list[Path]) -> None:
    source = release[-1]
    with tarfile.open(source) as archive:
        names = archive.getnames()
    added = ("PKG-INFO", "experiments/run/commit.txt")
    folder = source.name.removesuffix(".tar.gz")
    assert names == sorted(f"{folder}/{name}" for name in (*git(commit, "ls-files").splitlines(), *added))


def test_dist_refuses_a_file_that_is_not_committed(clone: Path, tmp_path: Path) -> None:
    (clone / "note.txt").write_text("mine\n")
    command = [sys.executable, str(clone / "release/dist.py"), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    (clone / "note.txt").unlink()
    assert done.returncode == 1
    assert done.stderr == "dist: note.txt isn't as committed: a release is of a commit, so commit or stash it\n"
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def installed(release: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel with objects."""
    folder = tmp_path_factory.mktemp("installed")
    (wheel,) = (path for path in release if "manylinux" in path.name)
    with zipfile.ZipFile(wheel) as archive:
        (tags,) = (name for name in archive.namelist() if name.endswith("/WHEEL"))
        assert "Root-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n" in archive.read(tags).decode()
        archive.extractall(folder)
    return folder


def pcn(installed: Path, home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the wheel's `pcn` where there is no program on PATH, thus no compiler."""
    home.mkdir(exist_ok=True)
    environment = {"PATH": "/nonexistent", "HOME": str(home), "PYTHONPATH": str(installed), **environment}
    command = [sys.executable, "-m", "pcn", *words]
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)


RUN = ("run", "dumbbell", "--clock", "virtual", "--set", "duration=1ms", "--out", "mine")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_wheel_with_objects_runs_without_a_compiler(installed: Path, commit: Path, tmp_path: Path, scheme: str) -> None:
    done = pcn(installed, tmp_path, *RUN, "--scheme", scheme)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "mine/summary.json").read_text())["provenance"]
    assert made["commit"] == git(commit, "rev-parse", "HEAD")
    assert made["compiler"] in (installed / "pcn/softswitch/cache/shipped/compiler.txt").read_text()
    assert list(tmp_path.rglob("*.so")) == []


def test_wheel_with_objects_builds_a_damaged_program_again(installed: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (installed / "pcn/softswitch/cache/shipped").glob("json-*.so")}
    for program, content in before.items():
        program.write_bytes(content[:4096])
    try:
        done = pcn(installed, tmp_path, *RUN)
        assert done.returncode == 1
        assert done.stderr.endswith("install gcc or clang, or set CC\n")
        done = pcn(installed, tmp_path, *RUN, PATH=os.environ["PATH"])
        assert done.returncode == 0, done.stderr
        assert sorted(path.name.partition("-")[0] for path in tmp_path.rglob("*.so")) == ["json", "program"]
    finally:
        for program, content in before.items():
            program.write_bytes(content)


def test_own_compiler_is_used_in_place_of_the_wheels_objects(installed: Path, tmp_path: Path) -> None:
    done = pcn(installed, tmp_path, *RUN, CC="nosuch-cc")
    assert done.returncode == 1
    assert "nosuch-cc" in done.stderr


def test_doctor_needs_no_compiler_beside_a_wheels_objects(installed: Path, tmp_path: Path) -> None:
    script = "import pcn.doctor as d; print(*[(c.name, c.needed, c.present) for c in d.checks()], sep='\\n')"
    environment = {"PATH": "/nonexistent", "HOME": str(tmp_path), "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert "('cc', False, False)" in said
    assert "('C libraries', True, True)" in said
