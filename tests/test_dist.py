"""What `make dist` builds: the same bytes each time, and a wheel whose runs need no compiler."""

import ctypes
import json
import os
import platform
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import needs
import pytest
import warm_compiler
from test_installed import STAYS_HERE, copy_tracked, tracked

from pcn.base import packed
from pcn.base.packed import pack
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.native import library
from pcn.hosts.virtual.native import engine
from pcn.softswitch.codegen.build import build_runtime
from release import dist as release_files

pytestmark = pytest.mark.long
SCHEMES = ("pcn", "timely")
"""With RP and NP in C, and with neither."""
PROGRAMS = {find_scheme(name).program + end for name in SCHEMES for end in ("", "_native")}


NOT_OF_A_RUN = {
    "docs/figures",
    "docs/tutorial",
    "docs/notebook",
    "p4src/tna",
    "p4net/commands",
    "p4net/tcp",
    "pcn/web",
}
LEFT_OUT = tuple(
    f"{folder}/" for folder in ({*STAYS_HERE} - {"docs", "lint", "release"}) | NOT_OF_A_RUN
)


@pytest.fixture(scope="module")
def commit(tmp_path_factory) -> Path:
    """A repository with this checkout's files as they are, committed. It lacks what runs here don't
    need: LEFT_OUT, and programs, each of which takes a second to compile."""
    folder = tmp_path_factory.mktemp("commit")
    copy_tracked(folder, (name for name in tracked() if not name.startswith(LEFT_OUT)))
    compiled = folder / "p4src/compiled"
    programs = {
        f"{name}{end}": packed.read_bytes(compiled / f"{name}{end}")
        for name in PROGRAMS
        for end in (".json", ".p4info.txtpb")
    }
    (compiled / packed.ARCHIVE).write_bytes(pack(programs))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(
        folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m",
        "all",
    )  # fmt: skip
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


HERE = platform.machine()
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
"""EM_X86_64, EM_AARCH64: in an object's header."""
(FOREIGN, *_) = (machine for machine in ELF_MACHINES if machine != HERE)
ZIG = Path(__file__).resolve().parents[1] / ".venv/tools/bin/python"

MAKE = """
import json, sys
from pathlib import Path
from release import dist
dist.make(Path(sys.argv[1]), json.loads(sys.argv[2]))
"""
"""With the compilers of some machines."""
MAKE_WITH_ZIG = """
import sys
from pathlib import Path
from release import dist
dist.make(Path(sys.argv[1]), {"aarch64": dist.zig_compilers(sys.argv[2])["aarch64"]})
"""
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


def dist(
    commit: Path,
    out: Path,
    argument: str | Path,
    script: str = MAKE,
    mask: int = 0o022,
    **more: str,
) -> list[Path]:
    """Runs the checkout's release/dist.py in a process."""
    command, environment = (
        [sys.executable, "-c", script, out, argument],
        {"PYTHONPATH": str(commit), **more},
    )
    subprocess.run(command, cwd=commit, env={**os.environ, **environment}, umask=mask, check=True)
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def release(commit: Path, tmp_path_factory) -> list[Path]:
    """With programs, RPs and NPs that the machine's compiler made, with less work than for a
    release, and this user's libraries, which take longest: that a wheel's sources compile is
    `test_installed`'s."""
    libraries = {
        "libsoftswitch": build_runtime(),
        "libvirtualnet": engine()._name,
        "libhosts": library()._name,
    }
    folder = tmp_path_factory.mktemp("compilers")
    native = warm_compiler.write(folder / "cc", libraries, 'exec cc "$@" -Og')
    compilers = {HERE: str(native), FOREIGN: str(foreign_compiler(folder))}
    return dist(commit, tmp_path_factory.mktemp("release"), json.dumps(compilers))


def foreign_compiler(folder: Path) -> Path:
    """Writes a compiler whose objects this machine can't load: copies of one that names the other
    processor."""
    header = bytearray(Path(library()._name).read_bytes())
    struct.pack_into("=H", header, 18, ELF_MACHINES[FOREIGN])
    (folder / "foreign.so").write_bytes(header)
    with pytest.raises(OSError, match=r"foreign\.so"):
        ctypes.CDLL(str(folder / "foreign.so"))
    return warm_compiler.write(folder / "foreign-cc", {"*": folder / "foreign.so"})


@pytest.fixture(scope="module")
def clone(commit: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "clone"
    git(commit, "clone", "-q", ".", str(folder))
    return folder


def test_dist_builds_equal_bytes_from_an_equal_commit_and_its_source_archive(
    clone: Path, release: list[Path], tmp_path
):
    *same, source = (path for path in release if "manylinux" not in path.name)
    again = dist(clone, tmp_path / "again", source, OF_ARCHIVE, mask=0o077, TZ="Asia/Tokyo")
    assert [path.name for path in again] == [path.name for path in (*same, source)]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in (*same, source)]


def test_wheels_have_the_manual_page(release: list[Path]):
    for wheel in release[:-1]:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (
                path
                for path in archive.namelist()
                if path.endswith(".data/data/share/man/man1/pcn.1")
            )
            assert '.SS "pcn run"' in archive.read(name).decode()


def test_wheels_have_the_messages_stubs(release: list[Path]):
    for wheel in release[:-1]:
        with zipfile.ZipFile(wheel) as archive:
            assert b"class TableEntry" in archive.read("pcn/base/p4rt/p4r.pyi")


def test_source_archive_has_the_commit(commit: Path, release: list[Path]):
    source = release[-1]
    with tarfile.open(source) as archive:
        names = archive.getnames()
    added = ("PKG-INFO", "experiments/run/commit.txt")
    folder = source.name.removesuffix(".tar.gz")
    assert names == sorted(
        f"{folder}/{name}" for name in (*git(commit, "ls-files").splitlines(), *added)
    )


def test_release_has_figures_once_all_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(release_files, "ROOT", tmp_path)
    folder = tmp_path / "docs/figures"
    folder.mkdir(parents=True)
    (folder / "numbers.tar.xz").write_bytes(pack({"a.json": b"a", "b.json": b"b"}))
    (folder / "a.png").write_text("a.png")
    assert release_files.figures() == {}
    (folder / "b.png").write_text("b.png")
    release_files.pack_zip(tmp_path / "x.zip", release_files.figures(), 0)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.namelist() == ["a.json", "a.png", "b.json", "b.png"]
        assert archive.read("a.json") == b"a"


def test_dist_refuses_a_file_that_is_not_committed(clone: Path, tmp_path):
    (clone / "note.txt").write_text("mine\n")
    command = [sys.executable, str(clone / "release/dist.py"), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    (clone / "note.txt").unlink()
    assert done.returncode == 1
    assert (
        done.stderr
        == "dist: note.txt isn't as committed: a release is of a commit, so commit or stash it\n"
    )
    assert not (tmp_path / "out").exists()


def wheel_for(release: list[Path], machine: str) -> Path:
    (wheel,) = (path for path in release if path.name.endswith(f"_{machine}.whl"))
    return wheel


def objects(wheel: Path) -> dict[str, int]:
    """Returns the machine that each shared object in a wheel is for, by its path."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".so")]
        return {name: struct.unpack_from("=H", archive.read(name), 18)[0] for name in names}


@pytest.fixture(scope="module")
def installed(release: list[Path], tmp_path_factory) -> Path:
    """The files of this machine's wheel with objects."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel_for(release, HERE)) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("machine", [HERE, FOREIGN])
def test_wheel_with_objects_names_its_platform(release: list[Path], machine):
    with zipfile.ZipFile(wheel_for(release, machine)) as archive:
        (tags,) = (name for name in archive.namelist() if name.endswith("/WHEEL"))
        text = archive.read(tags).decode()
    assert f"Root-Is-Purelib: false\nTag: py3-none-manylinux_2_28_{machine}\n" in text


def test_wheel_for_another_processor_has_objects_of_the_same_names(release: list[Path]):
    """An installation finds them by name; and none was loaded, as this machine can't."""
    native, foreign = (objects(wheel_for(release, machine)) for machine in (HERE, FOREIGN))
    assert native.keys() == foreign.keys()
    assert {name.partition("-")[0].rpartition("/")[2] for name in native} >= {
        "libsoftswitch",
        "libvirtualnet",
        "libhosts",
    }
    engines = [name for name in native if "/libvirtualnet-" in name]
    assert len(engines) == 3  # alone, with RDMA, and with the observer that explains flows
    assert set(native.values()) == {ELF_MACHINES[HERE]}
    assert set(foreign.values()) == {ELF_MACHINES[FOREIGN]}


def test_zig_compiles_the_objects_of_aarch64_on_any_machine(
    commit: Path, release: list[Path], tmp_path
):
    if not ZIG.exists():
        needs.missing(needs.ZIG)
    artifacts = dist(commit, tmp_path / "out", f"{ZIG} -m ziglang cc", MAKE_WITH_ZIG)
    assert objects(wheel_for(artifacts, "aarch64")) == dict.fromkeys(
        objects(wheel_for(release, HERE)), ELF_MACHINES["aarch64"]
    )


def pcn(
    installed: Path, home: Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the wheel's `pcn` where there is no program on PATH, thus no compiler."""
    home.mkdir(exist_ok=True)
    environment = {
        "PATH": "/nonexistent",
        "HOME": str(home),
        "PYTHONPATH": str(installed),
        **environment,
    }
    command = [sys.executable, "-m", "pcn", *words]
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False
    )


RUN = ("run", "dumbbell", "--clock", "virtual", "--set", "duration=1ms", "--out", "mine")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_wheel_with_objects_runs_without_a_compiler(
    installed: Path, commit: Path, tmp_path, scheme
):
    done = pcn(installed, tmp_path, *RUN, "--scheme", scheme)
    assert done.returncode == 0, done.stderr
    provenance = json.loads((tmp_path / "mine/summary.json").read_text())["provenance"]
    assert provenance["commit"] == git(commit, "rev-parse", "HEAD")
    assert (
        provenance["compiler"]
        in (installed / "pcn/softswitch/cache/shipped/compiler.txt").read_text()
    )
    assert list(tmp_path.rglob("*.so")) == []


def test_wheel_with_objects_builds_a_damaged_program_again(installed: Path, tmp_path):
    before = {
        path: path.read_bytes()
        for path in (installed / "pcn/softswitch/cache/shipped").glob("json-*.so")
    }
    for program, content in before.items():
        program.write_bytes(content[:4096])
    try:
        done = pcn(installed, tmp_path, *RUN)
        assert done.returncode == 1
        assert done.stderr.endswith("install gcc or clang, or set CC\n")
        done = pcn(installed, tmp_path, *RUN, PATH=os.environ["PATH"])
        assert done.returncode == 0, done.stderr
        assert sorted(path.name.partition("-")[0] for path in tmp_path.rglob("*.so")) == [
            "json",
            "program",
        ]
    finally:
        for program, content in before.items():
            program.write_bytes(content)


def test_own_compiler_is_used_in_place_of_the_wheels_objects(installed: Path, tmp_path):
    done = pcn(installed, tmp_path, *RUN, CC="nosuch-cc")
    assert done.returncode == 1
    assert "nosuch-cc" in done.stderr


def test_doctor_needs_no_compiler_beside_a_wheels_objects(installed: Path, tmp_path):
    script = (
        "import pcn.doctor as d; print(*[(c.name, c.needed, c.present) for c in d.checks()], "
        "sep='\\n')"
    )
    environment = {"PATH": "/nonexistent", "HOME": str(tmp_path), "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", script]
    output = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert "('cc', False, False)" in output
    assert "('C libraries', True, True)" in output
